//! The answer to an act.

use serde::Deserialize;
use utoipa::ToSchema;

/// The answer to an act.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ActAnswer {
    /// Where it stands.
    #[schema(example = "17")]
    pub position: String,
}

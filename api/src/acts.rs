//! The answer to an act.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer to an act.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ActAnswer {
    /// The position of its event.
    #[schema(example = "17")]
    pub position: String,
}

/// The body of an act that may have a reason in the words of its actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteRequest {
    /// The reason.
    pub note: String,
}

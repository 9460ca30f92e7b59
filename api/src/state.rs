//! The state that decides, by its digests.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state that decides, by its digests.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StateAnswer {
    /// The version of the rules that folded it.
    pub version: u32,
    /// The last event that concerns it, 0 before the first.
    #[schema(example = "17")]
    pub position: String,
    /// Of all of it, hexadecimal; a replay of the log up to that position comes to the same.
    pub digest: String,
    /// Of each part that holds anything, by its name.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub parts: IndexMap<String, String>,
}

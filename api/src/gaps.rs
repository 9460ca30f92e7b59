//! Calls of which half of the record is missing.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Gaps of coverage.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GapList {
    /// The newest first.
    pub gaps: Vec<GapAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A call of which half of the record is missing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GapAnswer {
    /// The position of the event that names the gap.
    #[schema(example = "918275")]
    pub position: String,
    /// The time of that event; of one that was recorded elsewhere, its time there.
    pub time: String,
    /// The time at which it was recorded.
    pub recorded: String,
    /// The call.
    #[schema(example = "c1")]
    pub call: String,
    /// `decision` or `outcome`.
    #[schema(example = "decision")]
    pub missing: String,
    /// The place where the call was seen, and the part of its record that was.
    pub evidence: String,
    /// The session that it was seen in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The actor that wrote the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

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
    /// Where the log says so.
    #[schema(example = "918275")]
    pub position: String,
    /// When that was; of what was recorded elsewhere, when it was there.
    pub time: String,
    /// When the log said so.
    pub recorded: String,
    /// The call.
    #[schema(example = "c1")]
    pub call: String,
    /// `decision` or `outcome`.
    #[schema(example = "decision")]
    pub missing: String,
    /// Where the call was seen, and what of it.
    pub evidence: String,
    /// The session that it was seen in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Who made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

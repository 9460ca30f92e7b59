//! Decisions, counted by minute.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of minutes in which something was decided, the newest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DecisionMinuteList {
    /// The minutes.
    pub minutes: Vec<DecisionMinuteAnswer>,
    /// The `after` of the next page. Absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The decisions of a minute, as they were recorded. A call that is asked about twice counts twice.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DecisionMinuteAnswer {
    /// Its beginning.
    #[schema(example = "2026-11-27T14:05:00Z")]
    pub minute: String,
    /// Those with the verdict `allow`.
    #[schema(example = 412)]
    pub allow: u64,
    /// Those with the verdict `review`.
    #[schema(example = 3)]
    pub review: u64,
    /// Those with the verdict `deny`.
    #[schema(example = 9)]
    pub deny: u64,
}

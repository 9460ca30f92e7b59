//! Tool usage in numbers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::CallEndsAnswer;

/// Calls of tools, summed up.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolUsageList {
    /// The sums, in the order of their groups.
    pub usage: Vec<ToolUsageAnswer>,
    /// All together.
    pub total: ToolCountsAnswer,
    /// The number of calls on other days. Present only if there are none on the days of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<u64>,
}

/// One sum.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolUsageAnswer {
    /// The tool, where it was asked for by tool; `-` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The context that trust was looked up in, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The role of the caller, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The agent, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The day, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-22")]
    pub day: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub counts: ToolCountsAnswer,
}

/// Counts of calls of tools.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCountsAnswer {
    /// Calls that have a decision or an outcome, each once however often it was asked for.
    #[schema(example = 200)]
    pub calls: u64,
    /// Those of which `allow` was said last.
    #[schema(example = 180)]
    pub allowed: u64,
    /// Those that were put before a person, whatever came of it.
    #[schema(example = 30)]
    pub reviewed: u64,
    /// Those that were denied at least once.
    #[schema(example = 10)]
    pub denied: u64,
    /// The share of calls that were put before a person.
    #[schema(example = 0.15)]
    pub review_rate: f64,
    /// The share of calls that were denied.
    #[schema(example = 0.05)]
    pub deny_rate: f64,
    /// The calls that ended.
    #[serde(flatten)]
    pub ends: CallEndsAnswer,
    /// Those that told how long they took.
    #[schema(example = 170)]
    pub timed: u64,
    /// Half of those took no longer, milliseconds; at most 1/32 more than the true number, never less. Absent where none told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// 95 of a hundred took no longer, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<u64>,
}

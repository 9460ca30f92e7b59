//! The record of one dimension, month by month.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Months of one dimension.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TrustMonthList {
    /// The newest first; months in which nothing was observed are left out.
    pub months: Vec<TrustMonthAnswer>,
}

/// The record of one dimension in one month.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustMonthAnswer {
    /// The month, UTC.
    #[schema(example = "2026-11")]
    pub month: String,
    /// Calls that went well after a person had approved them.
    #[schema(example = 12)]
    pub approved: u64,
    /// Calls that went well without one.
    #[schema(example = 40)]
    pub auto_approved: u64,
    /// Calls that a person rejected.
    #[schema(example = 1)]
    pub rejected: u64,
    /// Calls that failed.
    #[schema(example = 0)]
    pub errors: u64,
    /// Calls that took too long.
    #[schema(example = 0)]
    pub timeouts: u64,
    /// Calls whose program ended with another exit code than 0, where the policy does not count that.
    #[schema(example = 0)]
    pub exit_codes: u64,
    /// Those of all that did not pass the check after them.
    #[schema(example = 0)]
    pub failed_checks: u64,
    /// Those of all that were recorded elsewhere and brought here.
    #[schema(example = 0)]
    pub imported: u64,
    /// Those of these that count for nothing: nobody has accepted their import.
    #[schema(example = 0)]
    pub not_accepted: u64,
    /// The duration of its calls, milliseconds, as far as that was told.
    #[schema(example = "4100")]
    pub duration_ms: String,
    /// US dollars, likewise.
    #[schema(example = "0.31")]
    pub cost_usd: String,
    /// The tokens they took, likewise.
    #[schema(example = "11600")]
    pub tokens: String,
    /// The first position that counts in it.
    pub first: String,
    /// The last one.
    pub last: String,
}

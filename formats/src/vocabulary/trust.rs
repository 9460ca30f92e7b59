//! `trust.*`: what the outcome of a call says about its dimension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, Dimension, EventData, MicroUsd, Milliseconds, Name, Tokens};

/// `trust.observed`: one outcome in a dimension; at most one a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustObserved {
    /// Where it counts.
    pub dimension: Dimension,
    /// How the call ended.
    pub outcome: TrustOutcome,
    /// What the check after the call said, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_check_passed: Option<bool>,
    /// How long the call took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// The tokens it took, all kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
    /// How sure it is, where that is less than what this ledger saw itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Assurance>,
}

/// How a call ended, as far as trust goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustOutcome {
    /// Well, after a person had approved it.
    Approved,
    /// A person said no. It did not run, and did not fail.
    Rejected,
    /// It failed.
    Error,
    /// Its deadline passed.
    Timeout,
    /// Well, without a person.
    AutoApproved,
}

/// How sure an observation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Brought from elsewhere: it counts only once an operator has accepted the import.
    Imported,
}

/// `trust.set`: an operator's counts take the place of a dimension's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustSet {
    /// Where.
    pub dimension: Dimension,
    /// The counts from now on.
    pub counts: TrustCounts,
    /// On whose behalf, where that is not the event's actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// Why.
    pub reason: BoundedText<MAX_TRUST_REASON_BYTES>,
}

/// The longest reason of a `trust.set`, in bytes.
pub const MAX_TRUST_REASON_BYTES: usize = 2_048;

/// What trust is computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustCounts {
    /// Calls that went well, with a person or without.
    pub approvals: Count,
    /// Calls that a person rejected.
    pub rejections: Count,
    /// Calls that failed, took too long, or did not pass the check after them.
    pub failures: Count,
    /// Calls that went well since the last that did not.
    pub streak: Count,
}

impl EventData for TrustObserved {
    const KIND: &'static str = "trust.observed";
    const VERSION: u32 = 1;
}

impl EventData for TrustSet {
    const KIND: &'static str = "trust.set";
    const VERSION: u32 = 1;
}

//! `rate.configured`: how many calls are taken in a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, EventData, Milliseconds};

/// The most calls that a limit may let through at once, or let return in a period.
pub const MAX_RATE_CALLS: u32 = 1_000_000;
/// The longest period of a limit, in milliseconds: 30 days.
pub const MAX_RATE_PERIOD_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// `rate.configured`: a limit is set, changed or, without `limit`, taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateConfigured {
    /// Whose calls are counted together.
    pub scope: RateScope,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<RateLimit>,
}

/// Whose calls are counted together: those of one tool, agent or role, or of each one by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateScope {
    /// By what calls are counted.
    pub by: RateBy,
    /// The one that is meant. Without it: each by itself that has no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BoundedText<1024>>,
}

/// By what calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateBy {
    /// The tool that is called.
    Tool,
    /// The agent that calls.
    Agent,
    /// The role it calls in.
    Role,
}

/// A bucket of tokens, of which each call takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// Tokens that it holds at most, and at first. Without any no call passes.
    #[schemars(range(max = MAX_RATE_CALLS))]
    pub burst: u32,
    /// Tokens that come back in a period.
    #[schemars(range(max = MAX_RATE_CALLS))]
    pub refill: u32,
    /// The period.
    pub period_ms: Milliseconds,
}

impl EventData for RateConfigured {
    const KIND: &'static str = "rate.configured";
    const VERSION: u32 = 1;
}

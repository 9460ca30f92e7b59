//! `rate.configured`: limits on the number of calls in a period.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedNumber, BoundedText, EventData, Milliseconds, ZoneName};

/// The most calls that a limit may let through at once, or let return in a period.
pub const MAX_RATE_CALLS: u32 = 1_000_000;
/// The longest period of a limit, in milliseconds: 30 days.
pub const MAX_RATE_PERIOD_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Rolling windows of one limit.
pub const MAX_ROLLING_WINDOWS: usize = 4;
/// The most calls of a rolling window.
pub const MAX_ROLLING_CALLS: u32 = 100;
/// The longest rolling window, and the furthest that calls are kept apart, in seconds: 30 days.
pub const MAX_ROLLING_S: u32 = 30 * 86_400;
/// The most calls of a local day.
pub const MAX_DAY_CALLS: u32 = 1_000_000;
/// The zone of a day where none is named.
const UTC: &str = "UTC";

/// `rate.configured`: a limit is set, changed or, without `limit` and `rolling`, taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateConfigured {
    /// The calls that are counted together.
    pub scope: RateScope,
    /// The limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<RateLimit>,
    /// Limits in rolling windows, on a day, and on the distance of calls. They hold besides `limit` if both are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling: Option<RollingRate>,
}

/// Limits in rolling windows, on a day, and on the distance of calls. All members that are there hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollingRate {
    /// So many calls at most in each of these spans that end now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<BoundedList<RollingWindow, 1, MAX_ROLLING_WINDOWS>>,
    /// So many at most on one day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<DayLimit>,
    /// Seconds between two calls, at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_s: Option<BoundedNumber<1, MAX_ROLLING_S>>,
}

/// So many calls at most in a span that ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollingWindow {
    /// The number of calls.
    pub calls: BoundedNumber<1, MAX_ROLLING_CALLS>,
    /// The length of the window, in seconds.
    pub period_s: BoundedNumber<1, MAX_ROLLING_S>,
}

/// So many calls at most on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayLimit {
    /// The number of calls.
    pub calls: BoundedNumber<1, MAX_DAY_CALLS>,
    /// The time zone whose clocks show the day, such as `Europe/Madrid`; UTC without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
}

impl DayLimit {
    /// Returns the time zone whose clocks show the day.
    #[must_use]
    pub fn zone(&self) -> ZoneName {
        self.zone.clone().or_else(|| ZoneName::new(UTC).ok()).unwrap_or(ZoneName::LEAST)
    }
}

impl RollingRate {
    /// Returns `true` if it limits nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The calls that are counted together: those of one tool, agent or role, or of each one by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateScope {
    /// The property by which calls are counted.
    pub by: RateBy,
    /// The one that is meant. Without it: each by itself that has no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BoundedText<1024>>,
}

/// The property by which calls are counted.
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

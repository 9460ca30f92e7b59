//! `breaker.*`: a dimension that fails is stopped for a while, and tried again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedNumber, BoundedText, Dimension, EventData, Name};

/// The most outcomes that a breaker looks back on.
pub const MAX_BREAKER_WINDOW: u32 = 128;
/// The most good probes that may be asked for.
pub const MAX_RECOVERY_PROBES: u32 = 1_000;
/// The longest cooldown, in seconds: 366 days.
pub const MAX_COOLDOWN_S: u32 = 366 * 86_400;
/// The longest reason for closing a breaker, in bytes.
pub const MAX_BREAKER_REASON_BYTES: usize = 2_048;

/// How a breaker is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerSettings {
    /// How many outcomes it looks back on.
    pub window: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// With this many bad ones among them it opens; a window full of bad ones opens it in any case.
    pub failure_threshold: BoundedNumber<1, MAX_BREAKER_WINDOW>,
    /// After this many good probes it closes.
    pub recovery_probes: BoundedNumber<1, MAX_RECOVERY_PROBES>,
    /// How long it stays open before a request may be a probe, in seconds.
    pub cooldown_s: BoundedNumber<0, MAX_COOLDOWN_S>,
}

/// What holds where nobody says otherwise.
impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            window: BoundedNumber::clamped(20),
            failure_threshold: BoundedNumber::clamped(5),
            recovery_probes: BoundedNumber::clamped(3),
            cooldown_s: BoundedNumber::clamped(300),
        }
    }
}

/// `breaker.opened`: no call passes until the cooldown is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerOpened {
    /// Which breaker.
    pub dimension: Dimension,
    /// Outcomes in its window, the one that opened it included.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
    /// Governed time, in microseconds since 1970, from which on a request may be a probe.
    pub cooldown_until: u64,
}

/// `breaker.half_opened`: calls pass as probes, each reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerHalfOpened {
    /// Which breaker.
    pub dimension: Dimension,
}

/// `breaker.closed`: calls pass again, and its window is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerClosed {
    /// Which breaker.
    pub dimension: Dimension,
    /// The operator who closed it; left out where its probes did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// Why the operator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BoundedText<MAX_BREAKER_REASON_BYTES>>,
}

/// `breaker.configured`: how it is set from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerConfigured {
    /// Which breaker.
    pub dimension: Dimension,
    /// How.
    #[serde(flatten)]
    pub settings: BreakerSettings,
}

impl EventData for BreakerOpened {
    const KIND: &'static str = "breaker.opened";
    const VERSION: u32 = 1;
}

impl EventData for BreakerHalfOpened {
    const KIND: &'static str = "breaker.half_opened";
    const VERSION: u32 = 1;
}

impl EventData for BreakerClosed {
    const KIND: &'static str = "breaker.closed";
    const VERSION: u32 = 1;
}

impl EventData for BreakerConfigured {
    const KIND: &'static str = "breaker.configured";
    const VERSION: u32 = 1;
}

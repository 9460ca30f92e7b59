//! The clock that decides expiry: its jumps, and the acceptance of its time despite a jump.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EventData, FreeText, Name};
use bitacora_formats::limits::MAX_JSON_NUMBER;

/// Microseconds since 1970 as JSON can hold them: a clock that is set past the year 2255 shows the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClockTime(u64);

impl ClockTime {
    /// As a clock shows it, or the greatest.
    #[must_use]
    pub fn new(micros: u64) -> Self {
        Self(micros.min(MAX_JSON_NUMBER))
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The direction in which a clock jumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JumpDirection {
    /// It shows more time than has passed.
    Forward,
    /// It shows less.
    Back,
}

/// `ledger.clock-jumped`: the machine's clock did not go on evenly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerClockJumped {
    /// The expected time; at an opening, the time of the last event, which the clock must not be before.
    pub from: ClockTime,
    /// The time that it shows.
    pub to: ClockTime,
    /// The direction of the jump.
    pub direction: JumpDirection,
}

/// `clock.accepted`: the time that the clock shows is taken for the time, and calls are decided again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockAccepted {
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// `clock.corrected`: governed time goes on from the latest one at the pace of the clock that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockCorrected {
    /// Microseconds that governed time is ahead of the clock from here on; 0 where both are the same again.
    pub offset_us: ClockOffset,
}

/// Microseconds that governed time is ahead of the clock. It is capped at the greatest number that JSON can hold.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ClockOffset(u64);

impl ClockOffset {
    /// An offset of so many microseconds, or the greatest.
    #[must_use]
    pub fn new(micros: u64) -> Self {
        Self(micros.min(MAX_JSON_NUMBER))
    }

    /// Microseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl EventData for LedgerClockJumped {
    const KIND: &'static str = "ledger.clock-jumped";
    const VERSION: u32 = 1;
}

impl EventData for ClockAccepted {
    const KIND: &'static str = "clock.accepted";
    const VERSION: u32 = 1;
}

impl EventData for ClockCorrected {
    const KIND: &'static str = "clock.corrected";
    const VERSION: u32 = 1;
}

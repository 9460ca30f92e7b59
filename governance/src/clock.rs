//! Whether the time that decides can be believed.

use bitacora_formats::vocabulary::{ClockTime, JumpDirection, LedgerClockJumped};
use serde::{Deserialize, Serialize};

/// A jump of the ledger's clock that nobody has accepted, if there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockTrust {
    jump: Option<ClockJump>,
}

/// A jump of the ledger's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJump {
    /// The position of its event.
    pub position: u64,
    /// What the clock should have shown.
    pub from: ClockTime,
    /// What it showed.
    pub to: ClockTime,
    /// Which way it jumped.
    pub direction: JumpDirection,
}

impl ClockTrust {
    /// The newest jump, where none since was accepted. While there is one, calls are denied and nothing ends by time.
    #[must_use]
    pub const fn jump(&self) -> Option<&ClockJump> {
        self.jump.as_ref()
    }

    pub(crate) fn apply_jumped(&mut self, jumped: &LedgerClockJumped, position: u64) {
        let LedgerClockJumped { from, to, direction } = *jumped;
        self.jump = Some(ClockJump { position, from, to, direction });
    }

    pub(crate) fn apply_accepted(&mut self) {
        self.jump = None;
    }
}

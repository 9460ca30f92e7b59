//! Trust in the clock: a jump that nobody has accepted, and the correction that was accepted last.
//!
//! The time of a frame never goes back. Once a correction is accepted, the ledger adds the recorded offset to the clock's time. So
//! frames go on from the latest one at the pace of the clock. From a jump to its acceptance nothing is added.

use bitacora_formats::Micros;
use bitacora_vocabulary::{ClockOffset, ClockTime, JumpDirection, LedgerClockJumped};
use serde::{Deserialize, Serialize};

/// A jump of the ledger's clock that nobody has accepted, if there is one, and by how much governed time is ahead of the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockTrust {
    jump: Option<ClockJump>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correction: Option<Correction>,
}

/// A jump of the ledger's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJump {
    /// The position of its event.
    pub position: u64,
    /// The time that the clock should have shown.
    pub from: ClockTime,
    /// The time that it showed.
    pub to: ClockTime,
    /// The direction of the jump.
    pub direction: JumpDirection,
    /// The governed time of its event. Rules before version 6 did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Micros>,
}

/// A correction of the clock that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Correction {
    /// The microseconds by which governed time is ahead of the clock.
    offset: ClockOffset,
    /// The governed time of the acceptance.
    since: Micros,
}

impl ClockTrust {
    /// Returns the newest jump, where none since was accepted. While there is one, calls are denied and nothing ends by time.
    #[must_use]
    pub const fn jump(&self) -> Option<&ClockJump> {
        self.jump.as_ref()
    }

    /// Microseconds that governed time is ahead of the clock; 0 while a jump is not accepted.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.correction.filter(|_| self.jump.is_none()).map_or(0, |correction| correction.offset.get())
    }

    /// Returns the time of day at a governed time, as the accepted clock shows it.
    #[must_use]
    pub fn shown_at(&self, time: Micros) -> Micros {
        let correction = self.correction.filter(|correction| time >= correction.since);
        Micros(time.0.saturating_sub(correction.map_or(0, |correction| correction.offset.get())))
    }

    /// Returns the governed time at which a clock elsewhere showed a time, as far as that can be known at a governed time. A time
    /// from before the correction, or one in the future, stays as it is: an expired item does not become valid again.
    pub(crate) fn governed_at(&self, shown: Micros, now: Micros) -> Micros {
        let Some(Correction { offset, since }) = self.correction else { return shown };
        let corrected = Micros(since.0.saturating_sub(offset.get()));
        if shown > corrected && shown <= self.shown_at(now) {
            Micros(shown.0.saturating_add(offset.get()))
        } else {
            shown
        }
    }

    /// Returns the offset that an acceptance of the newest jump records: from the governed time at the jump to the clock's time.
    pub(crate) fn due_offset(&self, latest: Micros) -> ClockOffset {
        let Some(jump) = self.jump else { return ClockOffset::default() };
        let governed = match (jump.time, jump.direction) {
            (Some(time), _) => time,
            (None, JumpDirection::Back) => latest,
            (None, JumpDirection::Forward) => Micros(0),
        };
        ClockOffset::new(governed.0.saturating_sub(jump.to.get()))
    }

    /// Folds `ledger.clock-jumped`, with its governed time where the rules keep that.
    pub(crate) fn apply_jumped(&mut self, jumped: &LedgerClockJumped, position: u64, time: Option<Micros>) {
        let LedgerClockJumped { from, to, direction } = *jumped;
        self.jump = Some(ClockJump { position, from, to, direction, time });
    }

    /// Folds `clock.accepted`.
    pub(crate) fn apply_accepted(&mut self) {
        self.jump = None;
    }

    /// Folds `clock.corrected`.
    pub(crate) fn apply_corrected(&mut self, offset: ClockOffset, since: Micros) {
        self.correction = (offset.get() > 0).then_some(Correction { offset, since });
    }
}

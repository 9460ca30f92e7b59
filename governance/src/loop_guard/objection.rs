//! Objections to calls in a loop, and their verdicts.

use bitacora_vocabulary::{LoopKind, OnExceed, ReasonCode, Verdict};

use super::OngoingLoop;

/// An objection to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Objection {
    pub(crate) code: ReasonCode,
    /// The repetitions, the calls or steps, or the depth.
    pub(crate) count: u64,
    /// The limit that is met or exceeded.
    pub(crate) bound: u64,
    /// The cycle or the polls, in a loop of calls.
    pub(crate) ongoing_loop: Option<OngoingLoop>,
    /// The kind of loop that is to be told, where it was not yet.
    pub(crate) unreported: Option<LoopKind>,
    /// The consequence.
    pub(crate) on_exceed: OnExceed,
}

impl Objection {
    /// Returns the gravity: the graver the objection, the less.
    pub(super) const fn gravity(&self) -> u8 {
        match self.code {
            ReasonCode::DelegationTooDeep | ReasonCode::RunAborted => 0,
            ReasonCode::LoopDetected => 1,
            _ => 2,
        }
    }

    /// Returns the verdict on the call.
    pub(crate) const fn verdict(&self) -> Verdict {
        match self.on_exceed {
            OnExceed::Pause => Verdict::Review,
            OnExceed::Deny | OnExceed::Abort => Verdict::Deny,
        }
    }
}

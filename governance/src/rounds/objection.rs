//! What stands against a call that goes round, and what is said of it.

use bitacora_formats::vocabulary::{LoopKind, OnExceed, ReasonCode, Verdict};

use super::Turning;

/// What stands against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Objection {
    pub(crate) code: ReasonCode,
    /// How often, how many or how deep.
    pub(crate) count: u64,
    /// From where on, or up to where.
    pub(crate) bound: u64,
    /// What goes round, where calls do.
    pub(crate) turning: Option<Turning>,
    /// What is to be told, where it was not yet.
    pub(crate) untold: Option<LoopKind>,
    /// What follows.
    pub(crate) on_exceed: OnExceed,
}

impl Objection {
    /// The graver, the less.
    pub(super) const fn gravity(&self) -> u8 {
        match self.code {
            ReasonCode::DelegationTooDeep | ReasonCode::RunAborted => 0,
            ReasonCode::LoopDetected => 1,
            _ => 2,
        }
    }

    /// What is said of the call.
    pub(crate) const fn verdict(&self) -> Verdict {
        match self.on_exceed {
            OnExceed::Pause => Verdict::Review,
            OnExceed::Deny | OnExceed::Abort => Verdict::Deny,
        }
    }
}

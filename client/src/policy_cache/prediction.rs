//! What is predicted of a call, and what became of one that was looked at before it was asked for.

use std::time::Duration;

use bitacora_formats::vocabulary::{Mode, ReasonCode};
use bitacora_governance::Prediction;

use crate::answers::{Decision, Verdict};

/// What would be said of a call, as far as the cache can tell. Nothing is allowed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicted {
    pub(super) prediction: Prediction,
    pub(super) position: u64,
    pub(super) age: Duration,
}

impl Predicted {
    /// What would be said.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self.prediction.verdict {
            bitacora_governance::Verdict::Allow => Verdict::Allow,
            bitacora_governance::Verdict::Review => Verdict::Review,
            bitacora_governance::Verdict::Deny => Verdict::Deny,
        }
    }

    /// Whether it would be meant: in mode `observe` everything is allowed, whatever would be said.
    #[must_use]
    pub const fn is_enforced(&self) -> bool {
        matches!(self.prediction.mode, Mode::Enforce)
    }

    /// Why, in one word.
    #[must_use]
    pub const fn reason_code(&self) -> ReasonCode {
        self.prediction.reason_code
    }

    /// Why, in words that an agent can act on.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.prediction.reason
    }

    /// The last event that it rests on.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// How old what it rests on may be.
    #[must_use]
    pub const fn age(&self) -> Duration {
        self.age
    }

    /// Whether the call may be taken for denied without asking: the no is meant, and stands until something is recorded that takes it
    /// back. A rate that passes by itself is no such no.
    #[must_use]
    pub const fn denies(&self) -> bool {
        self.prediction.denies()
    }
}

/// What was said of a call.
#[derive(Debug, Clone)]
pub enum Said {
    /// By the ledger, which has recorded it.
    Decided(Box<Decision>),
    /// By the cache: a no that nobody has recorded.
    Denied(Denied),
}

/// A no of the cache's. The ledger does not know of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied(pub(crate) Predicted);

impl Denied {
    /// What it rests on.
    #[must_use]
    pub const fn predicted(&self) -> &Predicted {
        &self.0
    }
}

impl Said {
    /// Whether the call may begin now. Only the ledger says so.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match self {
            Self::Decided(decision) => decision.is_allowed(),
            Self::Denied(_) => false,
        }
    }

    /// Why, in words that an agent can act on.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Decided(decision) => &decision.reason,
            Self::Denied(denied) => denied.0.reason(),
        }
    }
}

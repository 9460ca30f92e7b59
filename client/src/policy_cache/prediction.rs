//! The prediction for a call, and the answer to a call that was checked by the cache first.

use std::time::Duration;

use bitacora_governance::Prediction;
use bitacora_vocabulary::{Mode, ReasonCode};

use crate::answers::{Decision, Verdict};

/// A predicted verdict, as far as the cache can tell. Nothing is allowed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedVerdict {
    pub(super) prediction: Prediction,
    pub(super) position: u64,
    pub(super) age: Duration,
}

impl PredictedVerdict {
    /// Returns the predicted verdict.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self.prediction.verdict {
            bitacora_governance::Verdict::Allow => Verdict::Allow,
            bitacora_governance::Verdict::Review => Verdict::Review,
            bitacora_governance::Verdict::Deny => Verdict::Deny,
        }
    }

    /// Returns `true` if the verdict would be enforced. In mode `observe` every call is allowed in spite of it.
    #[must_use]
    pub const fn is_enforced(&self) -> bool {
        matches!(self.prediction.mode, Mode::Enforce)
    }

    /// Returns the reason, in one word.
    #[must_use]
    pub const fn reason_code(&self) -> ReasonCode {
        self.prediction.reason_code
    }

    /// Returns the reason, in words that an agent can act on.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.prediction.reason
    }

    /// Returns the position of the last event that it rests on.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the age of the replica that it rests on, at most.
    #[must_use]
    pub const fn age(&self) -> Duration {
        self.age
    }

    /// Returns `true` if the call may be denied without asking the ledger. Then the denial is enforced, and stands
    /// until an event is recorded that lifts it. A rate limit that passes by itself is no such denial.
    #[must_use]
    pub const fn denies(&self) -> bool {
        self.prediction.denies()
    }
}

/// The answer to a call that was checked by the cache first.
#[derive(Debug, Clone)]
pub enum CheckedDecision {
    /// The ledger's decision, which it has recorded.
    Decided(Box<Decision>),
    /// The cache's denial, which nobody has recorded.
    Denied(CacheDenial),
}

/// A denial by the cache. The ledger does not know of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDenial(pub(crate) PredictedVerdict);

impl CacheDenial {
    /// Returns the prediction that it rests on.
    #[must_use]
    pub const fn predicted(&self) -> &PredictedVerdict {
        &self.0
    }
}

impl CheckedDecision {
    /// Returns `true` if the call may begin now. Only the ledger says so.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match self {
            Self::Decided(decision) => decision.is_allowed(),
            Self::Denied(_) => false,
        }
    }

    /// Returns the reason, in words that an agent can act on.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Decided(decision) => &decision.reason,
            Self::Denied(denied) => denied.0.reason(),
        }
    }
}

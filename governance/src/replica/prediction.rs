//! What would be decided, as far as a replica can tell.

use bitacora_formats::vocabulary::{DecisionMade, Mode, ReasonCode, Verdict};

/// What the ledger would decide of a call that stands where the replica does. It allows nothing: an allow comes from the ledger, with its
/// record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// What would be said.
    pub verdict: Verdict,
    /// Whether it would be meant.
    pub mode: Mode,
    /// Why, in one word.
    pub reason_code: ReasonCode,
    /// Why, in words.
    pub reason: String,
    denied_for: Option<ReasonCode>,
}

impl Prediction {
    /// Of what would be decided, and, where that is a no that may not last, what would be decided at the latest.
    pub(super) fn new(first: &DecisionMade, last: Option<&DecisionMade>, is_settled: bool) -> Self {
        let lasts = |last| standing(last, is_settled).is_some();
        let denied_for = standing(first, is_settled).filter(|_| last.is_none_or(lasts));
        Self {
            verdict: first.verdict,
            mode: first.mode,
            reason_code: first.reason_code,
            reason: first.reason.to_string(),
            denied_for,
        }
    }

    /// Whether the call may be taken for denied without asking: the verdict is meant, and rests on what only changes when something is
    /// recorded. What passes by itself in a moment, such as a rate, is no such reason, nor is what others have filled up.
    #[must_use]
    pub const fn denies(&self) -> bool {
        self.denied_for.is_some()
    }

    /// For which of its reasons it denies, where several steps said no.
    #[must_use]
    pub const fn denied_for(&self) -> Option<ReasonCode> {
        self.denied_for
    }
}

/// The first reason of a meant no that stands. What budgets hold back may be over without anybody telling: they are such a reason where
/// they are settled, and nothing is held back.
pub(super) fn standing(decision: &DecisionMade, is_settled: bool) -> Option<ReasonCode> {
    if decision.mode != Mode::Enforce || decision.verdict != Verdict::Deny {
        return None;
    }
    let denied = decision.ladder.iter().filter(|said| said.verdict == Verdict::Deny);
    denied
        .filter_map(|said| said.code)
        .find(|code| is_standing(*code) && (is_settled || *code != ReasonCode::BudgetSpent))
}

/// Whether a no for this reason stays one until something is recorded that takes it back.
const fn is_standing(code: ReasonCode) -> bool {
    matches!(
        code,
        ReasonCode::Panic
            | ReasonCode::AgentSuspended
            | ReasonCode::StateUnreadable
            | ReasonCode::ClockUntrusted
            | ReasonCode::ToolUnknown
            | ReasonCode::RoleNotAllowed
            | ReasonCode::ArgumentsInvalid
            | ReasonCode::ArgumentsTooLarge
            | ReasonCode::DigestOnly
            | ReasonCode::DestinationOutside
            | ReasonCode::PathOutside
            | ReasonCode::KeyRequired
            | ReasonCode::BudgetSpent
            | ReasonCode::BreakerOpen
            | ReasonCode::PolicyDeny
            | ReasonCode::PolicyUnreadable
            | ReasonCode::TrustBlocked
    )
}

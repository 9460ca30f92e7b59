//! The prediction of a decision, as far as a replica can tell.

use bitacora_vocabulary::{DecisionMade, Mode, ReasonCode, Verdict};

/// The decision of a ledger at the replica's position. It allows nothing: an allow comes from the ledger, with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The verdict.
    pub verdict: Verdict,
    /// The mode.
    pub mode: Mode,
    /// The reason, in one word.
    pub reason_code: ReasonCode,
    /// The reason, in words.
    pub reason: String,
    denied_for: Option<ReasonCode>,
}

impl Prediction {
    /// Makes a prediction of the first decision and, where that is a denial that may not last, of the decision at the latest time.
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

    /// Returns `true` if the call may be taken for denied without asking. The verdict is then enforced, and rests on state that
    /// only a recorded event changes. A reason that passes by itself in a moment, such as a rate, is none of these. Neither is a
    /// map that others have filled up.
    #[must_use]
    pub const fn denies(&self) -> bool {
        self.denied_for.is_some()
    }

    /// Returns the reason for which it denies, where several steps did.
    #[must_use]
    pub const fn denied_for(&self) -> Option<ReasonCode> {
        self.denied_for
    }
}

/// Returns the first lasting reason of an enforced denial. Reservations of budgets may end without an event. So a spent budget is
/// such a reason only where the budgets are settled, and nothing is reserved.
pub(super) fn standing(decision: &DecisionMade, is_settled: bool) -> Option<ReasonCode> {
    if decision.mode != Mode::Enforce || decision.verdict != Verdict::Deny {
        return None;
    }
    let denied = decision.ladder.iter().filter(|said| said.verdict == Verdict::Deny);
    denied
        .filter_map(|said| said.code)
        .find(|code| is_standing(*code) && (is_settled || *code != ReasonCode::BudgetSpent))
}

/// Returns `true` if a denial for this reason lasts until an event is recorded that takes it back.
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

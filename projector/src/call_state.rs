//! The state of a call without a recorded end.

use bitacora_vocabulary::{ReasonCode, Resolution, Verdict};
use serde::{Deserialize, Serialize};

/// The mode in which a verdict holds.
const ENFORCE: &str = "enforce";

/// The state of a call without a recorded end, by its last decision and a person's answer to that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallState {
    /// It may run, or does: its end is still to come.
    #[default]
    Open,
    /// It waits for a person.
    Waiting,
    /// It was denied, and that holds: nothing more is to come of it.
    Denied,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// It was taken back before anybody answered.
    Withdrawn,
}

impl CallState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Waiting, Self::Denied, Self::Rejected, Self::Expired, Self::Withdrawn];

    /// The state in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Denied => "denied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Returns the state after a decision. A call that is only observed runs, whatever the verdict.
    pub(crate) fn decided(mode: &str, verdict: Verdict, reason_code: &str) -> Self {
        match verdict {
            _ if mode != ENFORCE => Self::Open,
            Verdict::Allow => Self::Open,
            Verdict::Deny => Self::Denied,
            Verdict::Review if reason_code == ReasonCode::ApprovalRejected.as_str() => Self::Rejected,
            Verdict::Review => Self::Waiting,
        }
    }

    /// Returns the state after an answer, if the call waited for one. An approved call may be asked for again, and then runs.
    pub(crate) fn answered(self, resolution: &str) -> Self {
        if self != Self::Waiting {
            return self;
        }
        let is = |word: Resolution| resolution == word.as_str();
        match resolution {
            _ if is(Resolution::Rejected) => Self::Rejected,
            _ if is(Resolution::Expired) => Self::Expired,
            _ if is(Resolution::Withdrawn) => Self::Withdrawn,
            _ => Self::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_stands_as_what_was_said_of_it_holds_and_as_a_person_answered() {
        let said = |mode: &str, verdict| CallState::decided(mode, verdict, "any").as_str();
        let all = [Verdict::Allow, Verdict::Review, Verdict::Deny];
        assert_eq!(all.map(|verdict| said(ENFORCE, verdict)), ["open", "waiting", "denied"]);
        assert_eq!(all.map(|verdict| said("observe", verdict)), ["open"; 3]);
        let brought_a_no =
            CallState::decided(ENFORCE, Verdict::Review, &ReasonCode::ApprovalRejected.as_str());
        assert_eq!(brought_a_no, CallState::Rejected);
        let words = ["approved", "edited", "rejected", "expired", "withdrawn"];
        let answered = words.map(|word| CallState::Waiting.answered(word).as_str());
        assert_eq!(answered, ["open", "open", "rejected", "expired", "withdrawn"]);
        for state in CallState::ALL.into_iter().filter(|state| *state != CallState::Waiting) {
            assert_eq!(words.map(|word| state.answered(word)), [state; 5]);
        }
    }
}

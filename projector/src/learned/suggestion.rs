//! A suggestion: its row, its state, and its answers in the HTTP interface.

use bitacora_api::SuggestionAnswered;
use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::{Count, SuggestionMade};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MadeOf;

/// A suggestion that was made, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The position at which it was first made.
    pub first: u64,
    /// The position at which it was last made.
    pub position: u64,
    /// The time of that, microseconds since 1970.
    pub time: u64,
    /// The number of times that it was made.
    pub times: u32,
    /// The rule, as JSON.
    pub rule: String,
    /// The rest of the event that made it.
    pub made: MadeOf,
    /// Its state.
    pub state: SuggestionState,
    /// The answer that set the state.
    pub answer: Option<SuggestionAnswer>,
}

impl From<Suggestion> for bitacora_api::SuggestionAnswer {
    fn from(suggestion: Suggestion) -> Self {
        let Suggestion { position, time, rule, made, state, answer, .. } = suggestion;
        Self {
            suggestion: made.suggestion,
            state: state.as_str().to_owned(),
            kind: made.kind.map(|kind| kind.as_str().to_owned()),
            dimension: made.dimension.as_ref().map(Into::into),
            tags: Vec::new(),
            rule: serde_json::from_str(&rule).unwrap_or(Value::Null),
            reason: made.reason,
            evidence: made.evidence.iter().map(ToString::to_string).collect(),
            observations: made.observations.map(|observations| observations.to_string()),
            made: Some(position.to_string()),
            time: Some(format_time(Micros(time))),
            answer: answer.map(Into::into),
            import: None,
        }
    }
}

impl Suggestion {
    /// Returns the answer about a suggestion that holds and was not made, with the import that speaks for it, if one does.
    #[must_use]
    pub fn candidate_answer(
        made: &SuggestionMade,
        state: &str,
        import: Option<String>,
    ) -> bitacora_api::SuggestionAnswer {
        bitacora_api::SuggestionAnswer {
            suggestion: made.suggestion.to_string(),
            state: state.to_owned(),
            kind: made.kind.map(|kind| kind.as_str().to_owned()),
            dimension: made.dimension.as_ref().map(Into::into),
            tags: Vec::new(),
            rule: serde_json::to_value(&made.rule).unwrap_or(Value::Null),
            reason: made.reason.to_string(),
            evidence: made.evidence.iter().map(|position| position.get().to_string()).collect(),
            observations: made.observations.map(|observations| observations.get().to_string()),
            made: None,
            time: None,
            answer: None,
            import,
        }
    }

    /// Returns `true` if it is made again: one that was rejected is, once twice as much speaks for it as when it was made.
    pub(super) fn is_due_again(&self, now: &SuggestionMade) -> bool {
        let (before, now) = (self.made.observations.unwrap_or(0), now.observations.map_or(0, Count::get));
        self.state == SuggestionState::Rejected && now >= before.saturating_mul(2).max(1)
    }
}

/// The state of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SuggestionState {
    /// Nobody has answered it.
    Open,
    /// It was taken: a policy has its rule.
    Accepted,
    /// It was not.
    Rejected,
}

impl SuggestionState {
    /// The state in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

/// An answer to a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestionAnswer {
    /// The position of the answer.
    pub position: u64,
    /// The time of the answer, microseconds since 1970.
    pub time: u64,
    /// The person who answered.
    pub by: Option<String>,
    /// The reason.
    pub note: Option<String>,
}

impl From<SuggestionAnswer> for SuggestionAnswered {
    fn from(answer: SuggestionAnswer) -> Self {
        Self {
            position: answer.position.to_string(),
            time: format_time(Micros(answer.time)),
            by: answer.by,
            note: answer.note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A suggestion that rested on ten observations.
    fn known(state: SuggestionState) -> Suggestion {
        let made = MadeOf {
            suggestion: "s".to_owned(),
            evidence: Vec::new(),
            reason: "why".to_owned(),
            kind: None,
            dimension: None,
            observations: Some(10),
        };
        Suggestion {
            first: 1,
            position: 1,
            time: 0,
            times: 1,
            rule: String::new(),
            made,
            state,
            answer: None,
        }
    }

    #[test]
    fn only_what_was_rejected_is_due_again_and_only_once_twice_as_much_speaks_for_it() {
        let now = |observations: u64| -> SuggestionMade {
            let rule = serde_json::json!({"id": "s", "match": {}, "action": "deny", "reason": "why"});
            let made = serde_json::json!({"suggestion": "s", "evidence": [], "rule": rule, "reason": "why", "observations": observations});
            serde_json::from_value(made).unwrap()
        };
        let rejected = known(SuggestionState::Rejected);
        assert!(!rejected.is_due_again(&now(19)));
        assert!(rejected.is_due_again(&now(20)));
        for state in [SuggestionState::Open, SuggestionState::Accepted] {
            assert!(!known(state).is_due_again(&now(1_000)), "{state:?}");
        }
    }
}

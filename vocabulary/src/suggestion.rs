//! Suggestions of rules that the history supports, and the operator's answers to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{BoundedList, Count, Dimension, EventData, EventPosition, FreeText, Name, Rule};

/// Positions that one suggestion rests on.
pub const MAX_SUGGESTION_EVIDENCE: usize = 64;

/// `suggestion.made`: a rule is proposed. Nothing changes by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionMade {
    /// Its id.
    pub suggestion: Name,
    /// The events that speak for it.
    pub evidence: BoundedList<EventPosition, 0, MAX_SUGGESTION_EVIDENCE>,
    /// The rule, as a policy holds it.
    pub rule: Rule,
    /// The reason.
    pub reason: FreeText,
    /// The kind of suggestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SuggestionKind>,
    /// The dimension that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<Dimension>,
    /// Observations that it rests on, of which `evidence` names some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observations: Option<Count>,
}

/// The kind of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionKind {
    /// Calls of a dimension that nearly always went well need no review.
    Promote,
    /// Calls of a dimension that keeps failing, or that people always rejected, are denied.
    Block,
    /// Calls of a dimension that fails often are reviewed.
    Review,
    /// Calls by one model are reviewed, because a cheaper one does them as well.
    CheaperModel,
    /// Calls by one model that fails often are reviewed, because another one fails much less.
    BetterModel,
}

impl SuggestionKind {
    /// As events write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Block => "block",
            Self::Review => "review",
            Self::CheaperModel => "cheaper_model",
            Self::BetterModel => "better_model",
        }
    }
}

/// Hex digits of a suggestion's id behind its kind.
const ID_DIGITS: usize = 16;

/// Returns the id of a suggestion, the same each time it is found. It is its kind, and the first digits of a SHA-256
/// in hex. The hash covers kind, dimension, and the rule's match, action and constraints, as JSON. Texts do not count,
/// because they contain numbers that grow.
#[must_use]
pub fn suggestion_id(kind: SuggestionKind, dimension: &Dimension, rule: &Rule) -> Name {
    let Rule { matches, action, min_trust_score, never_auto_approve, trust, .. } = rule;
    let about = (kind, dimension, matches, action, min_trust_score, never_auto_approve, trust);
    let digest = Sha256::digest(serde_json::to_vec(&about).unwrap_or_default());
    let hex: String = digest.iter().take(ID_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    Name::new(format!("{}-{hex}", kind.as_str())).unwrap_or(Name::LEAST)
}

/// `suggestion.accepted`: an operator takes it. A policy that holds it is published by an event of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionAccepted {
    /// The suggestion's id.
    pub suggestion: Name,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<FreeText>,
}

/// `suggestion.rejected`: an operator does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionRejected {
    /// The suggestion's id.
    pub suggestion: Name,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<FreeText>,
}

impl EventData for SuggestionMade {
    const KIND: &'static str = "suggestion.made";
    const VERSION: u32 = 1;
}

impl EventData for SuggestionAccepted {
    const KIND: &'static str = "suggestion.accepted";
    const VERSION: u32 = 1;
}

impl EventData for SuggestionRejected {
    const KIND: &'static str = "suggestion.rejected";
    const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_that_of_what_is_proposed_and_not_of_the_words_for_it() {
        let rule = |tool: &str, reason: &str, action: &str| -> Rule {
            let text = format!(
                r#"{{"id":"r","match":{{"tool":"{tool}"}},"action":"{action}","reason":"{reason}"}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let dimension = |tool: &str| Dimension::new(tool, "-", "-", "-").unwrap();
        let id =
            |kind, tool, reason, action| suggestion_id(kind, &dimension(tool), &rule(tool, reason, action));
        let block = id(SuggestionKind::Block, "bash", "5 of 50", "deny");
        assert_eq!(block.as_str(), "block-53cb41b71d86dcf6");
        assert_eq!(id(SuggestionKind::Block, "bash", "6 of 50", "deny"), block);
        assert_ne!(id(SuggestionKind::Review, "bash", "5 of 50", "deny"), block);
        assert_ne!(id(SuggestionKind::Block, "edit", "5 of 50", "deny"), block);
        assert_ne!(id(SuggestionKind::Block, "bash", "5 of 50", "review"), block);
    }
}

//! Suggestions: rules that the history speaks for, and what an operator makes of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, EventData, EventPosition, Name, Rule, Words};

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
    /// Why.
    pub reason: Words,
}

/// `suggestion.accepted`: an operator takes it. A policy that holds it is published by an event of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionAccepted {
    /// Which one.
    pub suggestion: Name,
    /// On whose behalf; who did it is the event's actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Words>,
}

/// `suggestion.rejected`: an operator does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionRejected {
    /// Which one.
    pub suggestion: Name,
    /// On whose behalf; who did it is the event's actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Words>,
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

//! Rules that a history speaks for, and the answers of people.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::DimensionAnswer;

/// Suggestions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionList {
    /// Those that were made, the newest first; candidates and those of imports as they are to be looked at, what is urgent first.
    pub suggestions: Vec<SuggestionAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A rule that a history speaks for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionAnswer {
    /// Its id: the same each time it is found.
    #[schema(example = "promote-53cb41b71d86dcf6")]
    pub suggestion: String,
    /// `open`, `accepted` or `rejected`; `candidate` where it holds and was not made, `imported` where it would hold if an import counted.
    pub state: String,
    /// `promote`, `block`, `review`, `better_model` or `cheaper_model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The dimension that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<DimensionAnswer>,
    /// The tags that people gave the dimension, those given most often first.
    pub tags: Vec<String>,
    /// The rule, as a policy holds it.
    #[schema(value_type = Object)]
    pub rule: Value,
    /// The reason.
    pub reason: String,
    /// Positions of events that speak for it, the first and the last.
    pub evidence: Vec<String>,
    /// Observations that it rests on; `evidence` names some of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observations: Option<String>,
    /// The position at which it was last made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The time at which that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The answer, with its actor and position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<SuggestionAnswered>,
    /// The digest of the import that it would come of; `-` for what was brought by none that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
}

/// An answer to a suggestion.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionAnswered {
    /// The position of the answer.
    pub position: String,
    /// The time of the answer.
    pub time: String,
    /// The actor of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Suggestions that were made just now.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionsMade {
    /// Their ids.
    pub made: Vec<String>,
    /// `true` if there is more to make: one look makes a limited number.
    pub more: bool,
}

/// The body that answers a suggestion.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionAnswerRequest {
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// With `:accept`: globs for the working folders that the rule is held to, `**` for every one. Needed by a rule that allows calls
    /// which are told from their working folder on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["/home/ana/work/**"]))]
    pub cwd: Option<Vec<String>>,
}

/// A suggestion that was taken.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestionAccepted {
    /// The position of the event that accepts it.
    pub position: String,
    /// The version of the policy that has its rule, published with it. Calls are judged by it once it is activated.
    #[schema(example = "3")]
    pub version: String,
    /// The version's digest.
    pub digest: String,
    /// The place of its rule in that version, from 1.
    pub place: u64,
    /// The number of rules of that version.
    pub rules: u64,
    /// The version that it was added to: the active one, or the last that followed it by suggestions; `0` where there was none.
    pub parent: String,
    /// The stricter rule that it stands behind, which goes on to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// Rules before it that may match the same calls, and then decide: where there is one the new rule may do nothing.
    #[serde(rename = "decidedBefore")]
    pub decided_before: Vec<String>,
}

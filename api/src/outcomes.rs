//! Outcomes of calls, and their effects.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::trust::{DimensionAnswer, TrustAnswer};

/// The body that says how a call ended. Members that are not known are refused; one that is `null` is not there.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeRequest {
    /// The call.
    #[schema(example = "c1")]
    pub call: String,
    /// `ok`; `error`, `timeout`, `interrupted`; `rejected` or `blocked` where it did not run.
    #[schema(example = "ok")]
    pub status: String,
    /// The kind of error, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The exit code of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The duration, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tokens that a model used for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokensRequest>,
    /// The cost, in US dollars with up to six decimals.
    #[schema(example = "0.0023")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<ContentRequest>,
    /// The output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<ContentRequest>,
    /// The artifacts that it made, as paths or URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<String>>,
    /// `true` if the check after it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_check_passed: Option<bool>,
    /// As in the request that was decided, like the two that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Tokens of a call.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensRequest {
    /// Read by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#in: Option<u64>,
    /// Written by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<u64>,
    /// Read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// The part of an input or an output that is kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContentRequest {
    /// Its SHA-256, 64 hexadecimal digits; made with a key of the client's, or left out, where it could be guessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its end: the last 256 bytes are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// The effects of an outcome.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutcomeAnswer {
    /// The call.
    pub call: String,
    /// `tool.completed`, `tool.failed` or `tool.blocked`.
    #[schema(example = "tool.completed")]
    pub r#type: String,
    /// The position of the outcome.
    pub position: String,
    /// The observation; absent where the outcome says nothing of trust.
    pub trust: Option<ObservedAnswer>,
    /// The dimension's breaker now: `closed`, `open` or `half_open`.
    pub breaker: Option<String>,
    /// The transition of the breaker, where the outcome changed its state.
    pub transition: Option<TransitionAnswer>,
}

/// The observation counted for a call, and the trust in its dimension then.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ObservedAnswer {
    /// The position of the observation.
    pub position: String,
    /// `approved`, `rejected`, `error`, `timeout` or `auto_approved`.
    pub outcome: String,
    /// The dimension in which it counts.
    pub dimension: DimensionAnswer,
    /// The trust in that dimension.
    #[serde(flatten)]
    pub trust: TrustAnswer,
}

/// A change of a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TransitionAnswer {
    /// `breaker.opened`, `breaker.half_opened` or `breaker.closed`.
    pub r#type: String,
    /// The position of the transition.
    pub position: String,
}

//! The request before a call, and the decision that answers it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::trust::{DimensionAnswer, TrustAnswer};

/// The body that asks for a call. Members that are not known are refused; one that is `null` is not there.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideRequest {
    /// The call's id, a new one for each call. The same request with the same id is answered as the first time.
    #[schema(example = "c1")]
    pub call: String,
    /// The tool.
    #[schema(example = "fs.write")]
    pub tool: String,
    /// The server it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The arguments, any JSON; they are kept byte for byte.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// In their place the SHA-256 of them, 64 hexadecimal digits. A tool that binds arguments is denied then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<String>,
    /// The model that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The kind of task.
    #[serde(rename = "task_type")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The run it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent on whose behalf the call is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The folder that paths are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Under the same key the same call is made once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The approval that the call brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// `true` if a person is there to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// The time that the call may take, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The estimated cost, in US dollars with up to six decimals.
    #[schema(example = "0.0023")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
    /// `low`, `medium`, `high` or `critical`, where it is more than the registry says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<String>,
}

/// The body that asks for several calls.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct DecideBatchRequest {
    /// Decided in this order, each by itself; up to 100.
    pub requests: Vec<DecideRequest>,
}

/// The answers to several requests.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct DecideBatchAnswer {
    /// One for each request, in their order: a decision as it is answered alone, or `{"problem":{…}}`.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<Value>,
}

/// The decision about a call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionAnswer {
    /// The call.
    pub call: String,
    /// The verdict that holds: `allow`, `review` or `deny`.
    #[schema(example = "review")]
    pub verdict: String,
    /// In mode `observe`: the verdict that enforcement would give.
    pub would_be: Option<String>,
    /// The first step that gave the verdict, in one word.
    #[schema(example = "trust-require-review")]
    pub reason_code: String,
    /// The same in words that an agent can act on.
    pub reason: String,
    /// The rule of the policy that matched.
    pub rule: Option<String>,
    /// The standing grant that lifted a review.
    pub grant: Option<String>,
    /// The approval that waits for a person, or that allowed the call.
    pub approval: Option<ApprovalReference>,
    /// An allowed call has to begin before this time.
    pub expires: Option<String>,
    /// The obligations of an allowed call.
    pub obligations: Option<ObligationsAnswer>,
    /// The trust in the call's dimension.
    pub trust: TrustAnswer,
    /// `closed`, `open` or `half_open`.
    #[schema(example = "closed")]
    pub breaker: String,
    /// The active policy.
    pub policy_version: Option<String>,
    /// `enforce` or `observe`.
    #[schema(example = "enforce")]
    pub mode: String,
    /// The time at which the call is over without an outcome.
    pub deadline: String,
    /// The position of the outcome of an earlier call under the same idempotency key.
    pub earlier_outcome: Option<String>,
    /// The time after which another try may pass, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The position of the decision.
    #[schema(example = "918275")]
    pub position: String,
    /// With `explain=true`: each step with its verdict, in order.
    #[schema(value_type = Option<Vec<Object>>)]
    pub ladder: Option<Vec<Value>>,
    /// With `explain=true`: the dimension that trust is kept for.
    pub dimension: Option<DimensionAnswer>,
    /// With `explain=true`: the caller's role.
    pub role: Option<String>,
    /// With `explain=true`: the digest that an approval is bound to.
    pub action_digest: Option<String>,
    /// With `explain=true`: the destinations that the call would reach.
    pub destinations: Option<Vec<String>>,
    /// With `explain=true`: the registry's revision.
    pub registry_revision: Option<String>,
    /// With `explain=true`: the version of the rules of this program.
    pub reactor_version: Option<u32>,
    /// With `explain=true`: the ledger's time.
    pub decided_at: Option<String>,
}

/// An approval that is named.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ApprovalReference {
    /// Its id.
    #[schema(example = "a918274")]
    pub id: String,
    /// The time until which it can be resolved and used, where it waits.
    pub expires: Option<String>,
}

/// The obligations of an allowed call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObligationsAnswer {
    /// The timeout of the call, milliseconds.
    pub timeout_ms: Option<u64>,
    /// The retries.
    pub retry: Option<RetryAnswer>,
    /// `true`: the executor leaves out files that match `files.secret` or `files.reviewed`, and not `files.not_secret`, of the active policy.
    #[serde(default)]
    pub exclude_secret_files: bool,
}

/// The retries of a call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryAnswer {
    /// Tries after the first.
    pub max: u32,
    /// The wait before each, milliseconds.
    pub backoff_ms: Option<u64>,
}

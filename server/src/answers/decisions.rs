//! What is asked before a call, and answered.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::trust::{DimensionAnswer, TrustAnswer};

/// The body that asks for a call. Members that are not known are refused; one that is `null` is not there.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideRequest {
    /// The call's id, a new one for each call. The same request with the same id is answered as the first time.
    #[schema(example = "c1")]
    pub call: String,
    /// The tool.
    #[schema(example = "fs.write")]
    pub tool: String,
    /// The server it belongs to.
    pub server: Option<String>,
    /// The arguments, any JSON; they are kept byte for byte.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    /// In their place the SHA-256 of them, 64 hexadecimal digits. A tool that binds arguments is denied then.
    pub args_digest: Option<String>,
    /// The model that asks.
    pub model: Option<String>,
    /// What it works on.
    #[serde(rename = "task_type")]
    pub task_type: Option<String>,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// On whose behalf.
    pub agent: Option<String>,
    /// The folder that paths are relative to.
    pub cwd: Option<String>,
    /// Under the same key the same call is made once.
    pub idempotency_key: Option<String>,
    /// The approval that the call brings.
    pub approval: Option<String>,
    /// Whether a person is there to be asked.
    pub interactive: Option<bool>,
    /// How long the call may go on, milliseconds.
    pub deadline_ms: Option<u64>,
    /// What it will cost, in US dollars with up to six decimals.
    #[schema(example = "0.0023")]
    pub estimate: Option<String>,
    /// `low`, `medium`, `high` or `critical`, where it is more than the registry says.
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

/// What was decided about a call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionAnswer {
    /// The call.
    pub call: String,
    /// What holds: `allow`, `review` or `deny`.
    #[schema(example = "review")]
    pub verdict: String,
    /// In mode `observe`: what would have been said.
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
    /// How an allowed call has to be made.
    pub obligations: Option<ObligationsAnswer>,
    /// What the call's dimension has shown.
    pub trust: TrustAnswer,
    /// `closed`, `open` or `half_open`.
    #[schema(example = "closed")]
    pub breaker: String,
    /// The active policy.
    pub policy_version: Option<String>,
    /// `enforce` or `observe`.
    #[schema(example = "enforce")]
    pub mode: String,
    /// When the call is over without an outcome.
    pub deadline: String,
    /// Where an earlier call under the same idempotency key has its outcome.
    pub earlier_outcome: Option<String>,
    /// When another try may pass.
    pub retry_after_ms: Option<u64>,
    /// Where the decision stands.
    #[schema(example = "918275")]
    pub position: String,
    /// With `explain=true`: each step with its verdict, in order.
    #[schema(value_type = Option<Vec<Object>>)]
    pub ladder: Option<Vec<Value>>,
    /// With `explain=true`: what trust is kept for.
    pub dimension: Option<DimensionAnswer>,
    /// With `explain=true`: the caller's role.
    pub role: Option<String>,
    /// With `explain=true`: what an approval is bound to.
    pub action_digest: Option<String>,
    /// With `explain=true`: where the call would reach.
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
    /// Until when it can be resolved and used, where it waits.
    pub expires: Option<String>,
}

/// How a call has to be made.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObligationsAnswer {
    /// It ends after this.
    pub timeout_ms: Option<u64>,
    /// How often it is tried again.
    pub retry: Option<RetryAnswer>,
    /// `true`: the executor leaves out files that match `files.secret` or `files.reviewed`, and not `files.not_secret`, of the active policy.
    #[serde(default)]
    pub exclude_secret_files: bool,
}

/// How often a call is tried again.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryAnswer {
    /// Tries after the first.
    pub max: u32,
    /// The wait before each.
    pub backoff_ms: Option<u64>,
}

//! What is asked and answered about calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

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

/// What trust is kept for; `-` where a part is not known.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct DimensionAnswer {
    /// The tool.
    pub tool: String,
    /// Where, or with what.
    pub context: String,
    /// The model.
    pub model: String,
    /// What for.
    pub task_type: String,
}

/// What a dimension has shown, and what follows.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustAnswer {
    /// From 0 to 1.
    #[schema(example = "0.7892")]
    pub score: String,
    /// `auto_approve`, `require_review` or `blocked`.
    pub standing: String,
    /// From what that follows.
    pub standing_reason: String,
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Failures among the last outcomes.
    pub recent_failures: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
    /// When it last changed.
    pub last_updated: Option<String>,
}

/// The body that says how a call ended. Members that are not known are refused; one that is `null` is not there.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeRequest {
    /// The call.
    #[schema(example = "c1")]
    pub call: String,
    /// `ok`; `error`, `timeout`, `interrupted`; `rejected` or `blocked` where it did not run.
    #[schema(example = "ok")]
    pub status: String,
    /// What went wrong, in one word.
    pub error_type: Option<String>,
    /// What its program ended with.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What a model used for it.
    pub tokens: Option<TokensRequest>,
    /// What it cost, in US dollars with up to six decimals.
    #[schema(example = "0.0023")]
    pub cost_usd: Option<String>,
    /// What went in.
    pub input: Option<ContentRequest>,
    /// What came out.
    pub output: Option<ContentRequest>,
    /// What it made, as paths or URLs.
    pub artifacts: Option<Vec<String>>,
    /// What the check after it said.
    pub post_check_passed: Option<bool>,
    /// As in the request that was decided, like the two that follow.
    pub session: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The agent.
    pub agent: Option<String>,
}

/// Tokens of a call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensRequest {
    /// Read by the model.
    pub r#in: Option<u64>,
    /// Written by it.
    pub out: Option<u64>,
    /// Read from a cache.
    pub cache_read: Option<u64>,
    /// Written to a cache.
    pub cache_write: Option<u64>,
}

/// What is kept of an input or an output.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ContentRequest {
    /// Its SHA-256, 64 hexadecimal digits; made with a key of the client's, or left out, where it could be guessed.
    pub digest: Option<String>,
    /// Its length.
    pub bytes: Option<u64>,
    /// Its end: the last 256 bytes are kept.
    pub tail: Option<String>,
}

/// What an outcome caused.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutcomeAnswer {
    /// The call.
    pub call: String,
    /// `tool.completed`, `tool.failed` or `tool.blocked`.
    #[schema(example = "tool.completed")]
    pub r#type: String,
    /// Where the outcome stands.
    pub position: String,
    /// What was counted; absent where the outcome says nothing of trust.
    pub trust: Option<ObservedAnswer>,
    /// The dimension's breaker now: `closed`, `open` or `half_open`.
    pub breaker: Option<String>,
    /// What the outcome made of the breaker, where it changed it.
    pub transition: Option<TransitionAnswer>,
}

/// What was counted for a call, and what its dimension has come to.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ObservedAnswer {
    /// Where the observation stands.
    pub position: String,
    /// `approved`, `rejected`, `error`, `timeout` or `auto_approved`.
    pub outcome: String,
    /// Where it counts.
    pub dimension: DimensionAnswer,
    /// What it has come to.
    #[serde(flatten)]
    pub trust: TrustAnswer,
}

/// A change of a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TransitionAnswer {
    /// `breaker.opened`, `breaker.half_opened` or `breaker.closed`.
    pub r#type: String,
    /// Where it stands.
    pub position: String,
}

/// Approvals that wait.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// The oldest first.
    pub approvals: Vec<ApprovalAnswer>,
    /// Whether there are no more of them.
    pub complete: bool,
}

/// An approval, and what has become of it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// Its id.
    #[schema(example = "a918274")]
    pub id: String,
    /// `pending`, `approved`, `rejected`, `edited`, `withdrawn`, `expired`, or `consumed` where a call was allowed by it.
    #[schema(example = "pending")]
    pub status: String,
    /// What a yes is for: `call`, or `rollback` where the check after a call failed.
    #[schema(example = "call")]
    pub about: Option<String>,
    /// The call that asked first.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The server that the tool belongs to.
    pub server: Option<String>,
    /// The folder that the arguments are relative to.
    pub cwd: Option<String>,
    /// The context that trust is kept for.
    pub context: Option<String>,
    /// Where the call would reach.
    pub destinations: Option<Vec<String>>,
    /// The arguments as they are recorded, where they are known and not too long.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    /// How long the arguments are, where that is too long to show them here.
    pub args_bytes: Option<u64>,
    /// What it is bound to.
    pub action_digest: Option<String>,
    /// The policy under which it was asked for.
    pub policy_version: Option<String>,
    /// Roles that may resolve it.
    pub approvers: Vec<String>,
    /// Who asked; they cannot resolve it.
    pub requested_by: Option<String>,
    /// The agent of the call.
    pub agent: Option<String>,
    /// When it was asked for.
    pub asked: String,
    /// Until when it can be resolved and used.
    pub expires: String,
    /// What was said.
    pub resolution: Option<ResolutionAnswer>,
    /// The call that was allowed by it.
    pub consumed: Option<ConsumedAnswer>,
    /// Where it was asked for.
    pub position: String,
}

/// A person's word.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolutionAnswer {
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    pub resolution: String,
    /// Who said it.
    pub by: String,
    /// In their words.
    pub note: Option<String>,
    /// The digest of the arguments that were approved in the place of those asked for.
    pub action_digest: Option<String>,
    /// Those arguments, as they are recorded.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    /// The folder that they are relative to, where it is another than that of the call.
    pub cwd: Option<String>,
    /// When.
    pub at: Option<String>,
}

/// The call that was allowed by an approval.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ConsumedAnswer {
    /// Which.
    pub call: String,
    /// When.
    pub at: String,
}

/// The body that comes with a person's word on an approval.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolutionRequest {
    /// Why, in the person's words.
    pub note: Option<String>,
    /// With `:edit`: the arguments that are approved in the place of those asked for.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    /// With `:edit`: the folder that their paths are relative to; that of the call where it is left out.
    pub cwd: Option<String>,
    /// With `:edit`: the digest of the arguments, where they are not shown.
    pub action_digest: Option<String>,
}

/// The state that decides, by its digests.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StateAnswer {
    /// The version of the rules that folded it.
    pub version: u32,
    /// The last event that concerns it, 0 before the first.
    #[schema(example = "17")]
    pub position: String,
    /// Of all of it, hexadecimal; a replay of the log up to that position comes to the same.
    pub digest: String,
    /// Of each part that holds anything, by its name.
    pub parts: BTreeMap<String, String>,
}

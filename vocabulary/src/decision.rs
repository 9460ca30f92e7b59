//! `decision.made`: the verdict on a call, the step that gave it, and its inputs.

mod ladder;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

pub use self::ladder::{LadderStep, Step};

use super::{
    BoundedText, ClockOffset, Dimension, EventData, LocalTimes, Milliseconds, Mode, Name, Score, Sha256Text,
    Verdict,
};

/// Reasons in words, in bytes.
pub type ReasonText = BoundedText<2048>;

/// `decision.made`: the answer to a `tool.requested`, in the same atomic request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionMade {
    /// The call.
    pub call: Name,
    /// The verdict: in mode `observe`, the one that enforcement would have given.
    pub verdict: Verdict,
    /// The mode: whether the verdict was enforced.
    pub mode: Mode,
    /// The first step that gave the verdict, in one word.
    pub reason_code: ReasonCode,
    /// The same in words that an agent can act on.
    pub reason: ReasonText,
    /// The rule of the policy that matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Name>,
    /// Each step's verdict, in order; its name alone where it said `allow`.
    pub ladder: Vec<LadderStep>,
    /// The inputs of the verdict.
    pub inputs: DecisionInputs,
    /// The approval that lifted a review, or that now waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Name>,
    /// The standing grant that lifted a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Name>,
    /// Governed time, in microseconds since 1970, up to which the call may begin; or the approval that waits be resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Governed time, in microseconds since 1970, at which the call is over without an outcome.
    pub deadline: u64,
    /// The obligations of the executor that makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obligations: Option<Obligations>,
    /// The position of the outcome of an earlier call under the same idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_outcome: Option<u64>,
    /// Governed milliseconds after which another try may pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<Milliseconds>,
    /// The facts that were found about the call before it got its position, without its arguments. From them, and from
    /// the state before the call, the same decision can be made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examined: Option<FactsText>,
}

/// Bytes of the facts about a call.
pub const MAX_FACTS_BYTES: usize = 64 * 1024;

/// The facts about a call, as the JSON object that the reactor of its version writes.
#[derive(Debug, Clone)]
pub struct FactsText(Box<RawValue>);

/// An error in the facts about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// It is no JSON object.
    #[error("what was examined is no JSON object; a reactor writes one")]
    NoObject,
    /// It is too long.
    #[error("what was examined takes {found} bytes; at most {MAX_FACTS_BYTES} are recorded")]
    TooLong {
        /// Bytes.
        found: usize,
    },
}

impl FactsText {
    /// Writes facts as text.
    ///
    /// # Errors
    /// [`FactsError`].
    pub fn of(facts: &impl Serialize) -> Result<Self, FactsError> {
        to_raw_value(facts).map_err(|_| FactsError::NoObject).and_then(Self::checked)
    }

    /// Reads facts from their text.
    ///
    /// # Errors
    /// [`FactsError`].
    pub fn new(text: String) -> Result<Self, FactsError> {
        if text.len() > MAX_FACTS_BYTES {
            return Err(FactsError::TooLong { found: text.len() });
        }
        RawValue::from_string(text).map_err(|_| FactsError::NoObject).and_then(Self::checked)
    }

    /// Checks that a JSON value can be the facts about a call, without keeping any of it.
    ///
    /// # Errors
    /// [`FactsError`].
    pub fn check(value: &RawValue) -> Result<(), FactsError> {
        match value.get() {
            text if text.len() > MAX_FACTS_BYTES => Err(FactsError::TooLong { found: text.len() }),
            text if text.starts_with('{') => Ok(()),
            _ => Err(FactsError::NoObject),
        }
    }

    fn checked(value: Box<RawValue>) -> Result<Self, FactsError> {
        Self::check(&value).map(|()| Self(value))
    }

    /// The JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for FactsText {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for FactsText {}

impl Serialize for FactsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FactsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Self::checked(value).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for FactsText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Facts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "what was found of the call, without its arguments" })
    }
}

/// The reason why a step did not say `allow`, or why a review was lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonCode {
    /// Every step allowed it.
    Allowed,
    /// A person approved this very call.
    Approved,
    /// A standing grant covers it.
    Granted,
    /// An operator stopped everything.
    Panic,
    /// An operator suspended this agent.
    AgentSuspended,
    /// The clock jumped, and nobody has accepted it.
    ClockUntrusted,
    /// The tool is not registered.
    ToolUnknown,
    /// The caller's role may not use it.
    RoleNotAllowed,
    /// The arguments do not fit the tool's schema.
    ArgumentsInvalid,
    /// The arguments name a place the tool may not reach.
    DestinationOutside,
    /// A path leaves the working directory.
    PathOutside,
    /// The arguments can run commands that cannot be read from them.
    ArgumentsOpaque,
    /// Looking at the arguments would take too long.
    ArgumentsTooLarge,
    /// Only a digest of the arguments was sent, and the tool binds some of them.
    DigestOnly,
    /// A call under the same key has its outcome already.
    Repeated,
    /// A call under the same key is under way.
    InFlight,
    /// A call under the same key was allowed, and it is unknown if it ran.
    OutcomeUnknown,
    /// The key is older than keys are kept.
    KeyExpired,
    /// The key stands for a call with other arguments.
    KeyReused,
    /// The tool is repeated under a key alone, and the call has none.
    KeyRequired,
    /// Too many calls.
    RateLimited,
    /// A budget that it counts in is spent.
    BudgetSpent,
    /// The run has spent its own budget.
    RunBudgetSpent,
    /// The run was aborted, because a budget was spent.
    RunAborted,
    /// The same call again and again.
    LoopDetected,
    /// The run has taken all the steps, or made all the calls, that it may.
    IterationCap,
    /// Agents handed the work on too often.
    DelegationTooDeep,
    /// The call's own deadline has passed.
    DeadlinePassed,
    /// Something that governs is recorded and cannot be read.
    StateUnreadable,
    /// A limit of the state is reached: nothing new is let in until entries leave it.
    StateFull,
    /// The circuit breaker is open.
    BreakerOpen,
    /// The circuit breaker lets single calls through, reviewed.
    BreakerProbe,
    /// A rule denies it.
    PolicyDeny,
    /// A rule has it reviewed.
    PolicyReview,
    /// No rule matches.
    NoRule,
    /// No policy is active.
    NoPolicy,
    /// The active policy cannot be read.
    PolicyUnreadable,
    /// The dimension failed too often, or its score is too low.
    TrustBlocked,
    /// The dimension is blocked, and an operator has its calls reviewed for a while.
    TrustProbe,
    /// The same is stopped or blocked under another model or task type.
    StoppedElsewhere,
    /// The dimension has not earned calls without review.
    TrustRequireReview,
    /// The rule asks for a higher score.
    ScoreTooLow,
    /// The rule has every call reviewed, whatever its trust.
    NeverAutoApprove,
    /// The registry has every call of this tool reviewed.
    ToolRequiresReview,
    /// The call could do too much damage.
    BlastRadius,
    /// The call names a file that holds secrets.
    SecretFile,
    /// The call may read a file that holds secrets, and cannot leave it out.
    SecretFilePossible,
    /// The call writes a file whose contents programs run by themselves.
    RunsByItself,
    /// A check before the call failed.
    ContractBroken,
    /// There is no such approval.
    ApprovalUnknown,
    /// Nobody has resolved the approval yet.
    ApprovalPending,
    /// A person said no.
    ApprovalRejected,
    /// The approval's time is over.
    ApprovalExpired,
    /// Nobody answered in time, which is a no to the same call for a while.
    ApprovalLapsed,
    /// The approval was used for another call.
    ApprovalUsed,
    /// The approval is for other arguments, or another tool or agent.
    ApprovalMismatch,
    /// The policy changed since; a new approval was asked for.
    ApprovalStale,
    /// Something stands against the call now that the approval was not asked for; a new one was.
    ApprovalOutgrown,
}

/// The inputs of a verdict. Together with the policy, the registry and the reactor of these versions they give the
/// same verdict again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionInputs {
    /// The dimension of trust and breaker.
    pub dimension: Dimension,
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
    /// The time of their last change, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<u64>,
    /// The score that follows from them.
    pub score: Score,
    /// The circuit breaker.
    pub breaker: BreakerCondition,
    /// The policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<u64>,
    /// The registry.
    pub registry_revision: u64,
    /// The rules of this program.
    pub reactor_version: u32,
    /// The digest that was decided on: SHA-256 over the binding arguments, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<Sha256Text>,
    /// SHA-256 over all arguments, in hex, where those that bind are not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Text>,
    /// The role of the caller.
    pub role: Name,
    /// The idempotency key that the call brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Name>,
    /// The server that the tool belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The run that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<BoundedText<1024>>,
    /// The destinations that the call would reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<BoundedText<1024>>,
    /// The folder of the call's session, as SHA-256 of its path, in hex: where the first call of that agent in that session worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_folder: Option<Sha256Text>,
    /// `true` if the call waits for something, by its registration or by the policy.
    #[serde(default, skip_serializing_if = "is_false")]
    pub poll: bool,
    /// Exceptions in counting the call's outcome.
    #[serde(default, skip_serializing_if = "OutcomeRules::is_usual")]
    pub outcome: OutcomeRules,
    /// Microseconds that governed time was ahead of the clock; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_us: Option<ClockOffset>,
    /// Local times in the time zones that the decision looked at; UTC alone where this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_times: Option<LocalTimes>,
    /// `true` if the history was recorded elsewhere and imported.
    #[serde(default, skip_serializing_if = "is_false")]
    pub imported: bool,
}

/// Exceptions in counting a call's outcome in trust and breakers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeRules {
    /// Neither trust nor a breaker counts it: the call could not be read, or nobody registered its tool.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncounted: bool,
    /// An exit code other than 0 counts as an error: the policy says so of this program.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exit_codes_count: bool,
    /// The call only looks: that no outcome came in time does not enter its breaker's window.
    #[serde(default, skip_serializing_if = "is_false")]
    pub looks: bool,
}

impl OutcomeRules {
    /// Returns `true` if there is no exception.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakerCondition {
    /// Calls pass.
    Closed,
    /// None does.
    Open,
    /// Single ones do, reviewed.
    HalfOpen,
}

/// The obligations of the executor that makes an allowed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obligations {
    /// It ends after this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Milliseconds>,
    /// It is tried again so often at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// The wait between tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<Milliseconds>,
    /// `true`: the executor leaves out files that match `files.secret` and not `files.not_secret` of the policy.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exclude_secret_files: bool,
}

impl EventData for DecisionMade {
    const KIND: &'static str = "decision.made";
    const VERSION: u32 = 1;
}

impl DecisionMade {
    /// Returns the verdict for the executor: in mode `observe` everything is allowed.
    #[must_use]
    pub const fn effective_verdict(&self) -> Verdict {
        match self.mode {
            Mode::Observe => Verdict::Allow,
            Mode::Enforce => self.verdict,
        }
    }
}

impl ReasonCode {
    /// As events and answers write it.
    #[must_use]
    pub fn as_str(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

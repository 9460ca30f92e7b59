//! What operators ask and are answered: tools, policies, trust, breakers, modes, grants.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::governance::{DimensionAnswer, TrustAnswer};

/// The answer to an act.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ActAnswer {
    /// Where it stands.
    #[schema(example = "17")]
    pub position: String,
}

/// The tools of a ledger.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ToolList {
    /// How many changes the registry has seen.
    pub revision: String,
    /// By name and server.
    pub tools: Vec<ToolAnswer>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<u64>,
}

/// A tool.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ToolAnswer {
    /// The registry's revision since which it is this.
    pub revision: String,
    /// What it is, as `tool.registered` records it.
    #[schema(value_type = Object)]
    pub document: Value,
}

/// The body that publishes a policy.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyRequest {
    /// Its rules, in the order in which they are tried; as `policy.published` records them.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Value>,
    /// By what numbers trust is judged; those that are shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    pub trust: Option<Value>,
    /// The number it has to get.
    pub version: Option<String>,
    /// SHA-256 over the RFC 8785 JSON of its rules and trust parameters, where the author has computed it.
    pub digest: Option<String>,
    /// The version that it was made from: it has to be the newest.
    pub parent: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What is new in it, and why.
    pub note: Option<String>,
}

/// A version that was published.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyPublishedAnswer {
    /// Where it stands.
    pub position: String,
    /// Its number.
    #[schema(example = "2")]
    pub version: String,
    /// Its digest.
    pub digest: String,
}

/// A version that was activated or retired.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct VersionAnswer {
    /// Where that stands.
    pub position: String,
    /// Its number.
    pub version: String,
}

/// Every version of the policy, and one document.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyAnswer {
    /// The version that calls are judged by.
    pub active: Option<String>,
    /// The oldest first.
    pub versions: Vec<PolicyVersionAnswer>,
    /// The version that was asked for, or the active one, as `policy.published` records it.
    #[schema(value_type = Option<Object>)]
    pub document: Option<Value>,
}

/// A version of the policy.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyVersionAnswer {
    /// Its number.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// Who wrote it.
    pub author: String,
    /// The version that it was made from.
    pub parent: Option<String>,
    /// What is new in it, and why.
    pub note: Option<String>,
    /// How many rules it has.
    pub rules: u64,
    /// Whether it was taken out of use.
    pub retired: bool,
}

/// One version of the policy.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyDocumentAnswer {
    /// What there is to say of it.
    #[serde(flatten)]
    pub about: PolicyVersionAnswer,
    /// Whether calls are judged by it.
    pub active: bool,
    /// As `policy.published` records it.
    #[schema(value_type = Object)]
    pub document: Value,
}

/// What is written differently in one version than in another. Rules are told by their ids.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDiffAnswer {
    /// The version that it is compared with.
    #[schema(example = "1")]
    pub from: String,
    /// The version.
    #[schema(example = "2")]
    pub to: String,
    /// Rules that are new.
    pub added: Vec<String>,
    /// Rules that are gone.
    pub removed: Vec<String>,
    /// Rules of which anything but their place is different.
    pub changed: Vec<String>,
    /// Rules that have another place among those that both versions have.
    pub moved: Vec<String>,
    /// Whether trust is judged by other numbers.
    pub trust_changed: bool,
}

/// Dimensions by score.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustList {
    /// The ledger's time that scores are of.
    pub evaluated_at: String,
    /// Those that were asked for.
    pub dimensions: Vec<TrustDimension>,
}

/// A dimension, and what it has shown.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustDimension {
    /// Which.
    pub dimension: DimensionAnswer,
    /// What it has shown.
    #[serde(flatten)]
    pub trust: TrustAnswer,
    /// The approvals that no person gave.
    pub auto_approvals: u64,
}

/// One dimension.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustRecordAnswer {
    /// The ledger's time that the score is of.
    pub evaluated_at: String,
    /// What it has shown.
    #[serde(flatten)]
    pub record: TrustDimension,
}

/// The body that puts counts in the place of a dimension's own.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TrustSetRequest {
    /// Which.
    pub dimension: DimensionAnswer,
    /// The counts from now on.
    pub counts: TrustCountsRequest,
    /// Why.
    pub reason: String,
}

/// The body that has a blocked dimension reviewed for a while.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TrustProbeRequest {
    /// Which.
    pub dimension: DimensionAnswer,
    /// Until when, RFC 3339; at most seven days.
    pub expires: String,
    /// Why.
    pub reason: String,
}

/// What trust is computed from.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TrustCountsRequest {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
}

/// Circuit breakers.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct BreakerList {
    /// By dimension.
    pub breakers: Vec<BreakerAnswer>,
    /// Whether there are no more of them.
    pub complete: bool,
}

/// A circuit breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerAnswer {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// `closed`, `open` or `half_open`.
    pub state: String,
    /// Outcomes in its window.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
    /// From when on a request may be a probe, where it is open.
    pub cooldown_until: Option<String>,
    /// Good probes so far, where it is half-open.
    pub good_probes: Option<u32>,
    /// How it is set, as `breaker.configured` records it.
    #[schema(value_type = Object)]
    pub settings: Value,
}

/// The body that sets a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettingsRequest {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// How many outcomes it looks back on.
    #[schema(example = 20)]
    pub window: u32,
    /// With this many bad ones among them it opens.
    #[schema(example = 5)]
    pub failure_threshold: u32,
    /// After this many good probes it closes.
    #[schema(example = 3)]
    pub recovery_probes: u32,
    /// How long it stays open before a request may be a probe, in seconds.
    #[schema(example = 300)]
    pub cooldown_s: u32,
}

/// The body that closes a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct BreakerCloseRequest {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// Why.
    pub reason: Option<String>,
}

/// Whether verdicts are meant.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ModeAnswer {
    /// Of all calls that no scope is about: `enforce` or `observe`.
    pub mode: String,
    /// Those of which it is another.
    pub scopes: Vec<ScopedMode>,
}

/// The mode of the calls that a scope is about.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ScopedMode {
    /// Which calls: those that agree with every member.
    pub scope: ModeScopeAnswer,
    /// `enforce` or `observe`.
    pub mode: String,
}

/// Calls that a mode is about.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ModeScopeAnswer {
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
    /// In this role.
    pub role: Option<String>,
}

/// The body that sets a mode.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ModeRequest {
    /// `enforce` or `observe`.
    pub mode: String,
    /// Of which calls; of all that no scope is about where it is left out.
    pub scope: Option<ModeScopeAnswer>,
    /// Why.
    pub note: Option<String>,
}

/// Grants that hold.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantList {
    /// By their ids.
    pub grants: Vec<GrantAnswer>,
}

/// A grant.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantAnswer {
    /// Its id.
    pub grant: String,
    /// What it consents to.
    pub scope: GrantScopeAnswer,
    /// Until when it holds.
    pub expires: String,
    /// Why.
    pub note: Option<String>,
}

/// What a grant consents to: calls that agree with every member.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantScopeAnswer {
    /// Of this tool.
    pub tool: String,
    /// Of this server; without it, of none.
    pub server: Option<String>,
    /// In this context.
    pub context: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
    /// In this session.
    pub session: Option<String>,
}

/// The body that gives a grant.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantRequest {
    /// Its id; one is made where it is left out.
    pub grant: Option<String>,
    /// What it consents to.
    pub scope: GrantScopeAnswer,
    /// Until when it holds, RFC 3339.
    pub expires: String,
    /// Why.
    pub note: Option<String>,
}

/// A grant that was given.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantGivenAnswer {
    /// Where it stands.
    pub position: String,
    /// Its id.
    pub grant: String,
}

/// The body that stops agents, or lets them go on.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StopRequest {
    /// Why.
    pub reason: String,
}

/// Whether the ledger's time can be believed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClockAnswer {
    /// Whether calls are decided by it.
    pub trusted: bool,
    /// The latest time that decided, RFC 3339. It never goes back.
    pub governed_time: String,
    /// The jump that nobody has accepted.
    pub jump: Option<ClockJumpAnswer>,
}

/// A jump of the clock.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ClockJumpAnswer {
    /// Where it stands.
    pub position: String,
    /// What the clock should have shown, RFC 3339.
    pub from: String,
    /// What it showed.
    pub to: String,
    /// `forward` or `back`.
    pub direction: String,
}

/// What is stopped.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StopsAnswer {
    /// Whether everything is.
    pub panic: bool,
    /// Why everything is.
    pub reason: Option<String>,
    /// Agents that are.
    pub suspended: Vec<SuspendedAgent>,
    /// Whether there are no more of them.
    pub complete: bool,
}

/// An agent that is stopped.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SuspendedAgent {
    /// Which.
    pub agent: String,
    /// Why.
    pub reason: String,
}

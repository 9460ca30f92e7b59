//! The rules that calls are judged by.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The body that publishes a policy.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PolicyRequest {
    /// Its rules, in the order in which they are tried; as `policy.published` records them.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Value>,
    /// By what numbers trust is judged; those that are shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    pub trust: Option<Value>,
    /// Seconds for which an idempotency key is good from its first use on, 60 to 2,592,000; a day where it is left out.
    pub key_life_s: Option<u32>,
    /// How far runs and sessions may go round: `identical_calls`, `cycle_calls`, `cycle_repeats`, `repeats_without_session`, `polls`, `poll_calls`, `steps_of_run`,
    /// `delegation_depth`; as shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    pub bounds: Option<Value>,
    /// Globs of files: `secret`, `not_secret`, `run_by_themselves`; none where it is left out.
    #[schema(value_type = Option<Object>)]
    pub files: Option<Value>,
    /// Times of people and calls, in seconds: `approval_s`, `approval_end` (`review` or `deny`), `start_s`, `call_s`, `run_s`, `blocked_s`, `alone_s`; as shipped
    /// where it is left out.
    #[schema(value_type = Option<Object>)]
    pub times: Option<Value>,
    /// Whether trust is kept apart by projects, and how these are told apart: `kept`, `roots`, `worktrees`; as shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    pub workspaces: Option<Value>,
    /// Globs for the parts of commands whose exit codes other than 0 count as errors; without it none does.
    pub exit_codes_count: Option<Vec<String>>,
    /// `review` or `deny`: what is said of calls of tools that nobody registered; `deny` where it is left out.
    pub unregistered: Option<String>,
    /// The number it has to get.
    pub version: Option<String>,
    /// SHA-256 over the RFC 8785 JSON of its rules, its trust parameters and those of its other settings that it has, where the author has computed it.
    pub digest: Option<String>,
    /// The version that it was made from: it has to be the newest.
    pub parent: Option<String>,
    /// Who publishes it, which the token says; it may be left out.
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
    /// What that version is to the starter of the service: `current`, `outdated` (an earlier starter), `own`; `none` where none is active.
    #[schema(example = "current")]
    pub starter: String,
    /// The oldest first.
    pub versions: Vec<PolicyVersionAnswer>,
    /// The `after` of the next page of versions; absent at the end.
    pub next: Option<String>,
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

/// What is written differently in one version than in another.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDiffAnswer {
    /// The version that it is compared with.
    #[schema(example = "1")]
    pub from: String,
    /// The version.
    #[schema(example = "2")]
    pub to: String,
    /// What is written differently.
    #[serde(flatten)]
    pub differences: PolicyDifferences,
}

/// What is written differently in a policy than in an earlier one. Rules are told by their ids.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDifferences {
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
    /// Whether idempotency keys are good for another time.
    pub key_life_changed: bool,
    /// Whether runs and sessions may go round otherwise.
    pub bounds_changed: bool,
    /// Whether people or calls have another time.
    pub times_changed: bool,
    /// Whether the guarded files are others.
    pub files_changed: bool,
    /// Whether exit codes of other programs count.
    pub exit_codes_changed: bool,
    /// Whether something else is said of tools that nobody registered.
    pub unregistered_changed: bool,
    /// Whether projects are told apart otherwise.
    pub workspaces_changed: bool,
}

//! The rules that calls are judged by.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The body that publishes a policy.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PolicyRequest {
    /// Its rules, in the order in which they are tried; as `policy.published` records them.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Value>,
    /// The trust parameters; those that are shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Value>,
    /// Seconds for which an idempotency key is good from its first use on, 60 to 2,592,000; a day where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<u32>,
    /// Loop bounds of runs and sessions: `identical_calls`, `cycle_calls`, `cycle_repeats`, `repeats_without_session`, `polls`,
    /// `poll_calls`, `steps_of_run`, `delegation_depth`; as shipped where it is left out.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Value>,
    /// Globs of files: `secret`, `not_secret`, `run_by_themselves`; none where it is left out.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Value>,
    /// Times of people and calls, in seconds: `approval_s`, `approval_end` (`review` or `deny`), `start_s`, `call_s`, `run_s`, `blocked_s`, `alone_s`; as shipped
    /// where it is left out.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Value>,
    /// Settings by which trust is kept apart by projects, and by which projects are told apart: `kept`, `roots`, `worktrees`; as shipped
    /// where it is left out.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Value>,
    /// Globs for the parts of commands whose exit codes other than 0 count as errors; without it none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_codes_count: Option<Vec<String>>,
    /// `review` or `deny`: what is said of calls of tools that nobody registered; `deny` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<String>,
    /// The number it has to get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest, where the author has computed it: SHA-256 over the RFC 8785 JSON of its rules, its trust parameters and its other
    /// settings, as far as it has these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The version that it was made from: it has to be the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The author, which the token names; it may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// A note on the changes and their reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A version that was published.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PolicyPublishedAnswer {
    /// The position of its event.
    pub position: String,
    /// Its number.
    #[schema(example = "2")]
    pub version: String,
    /// Its digest.
    pub digest: String,
}

/// A version that was activated or retired.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct VersionAnswer {
    /// The position of that event.
    pub position: String,
    /// Its number.
    pub version: String,
}

/// Every version of the policy, and one document.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PolicyAnswer {
    /// The version that calls are judged by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The relation of that version to the starter of the service: `current`, `outdated` (an earlier starter), `own`; `none` where none is
    /// active.
    #[schema(example = "current")]
    pub starter: String,
    /// The oldest first.
    pub versions: Vec<PolicyVersionAnswer>,
    /// The `after` of the next page of versions; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The version that was asked for, or the active one, as `policy.published` records it.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Box<RawValue>>,
}

/// A version of the policy.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PolicyVersionAnswer {
    /// Its number.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// The author.
    pub author: String,
    /// The version that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// A note on the changes and their reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The number of its rules.
    pub rules: u64,
    /// `true` if it was taken out of use.
    pub retired: bool,
}

/// One version of the policy.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PolicyDocumentAnswer {
    /// The facts about the version.
    #[serde(flatten)]
    pub about: PolicyVersionAnswer,
    /// `true` if calls are judged by it.
    pub active: bool,
    /// As `policy.published` records it.
    #[schema(value_type = Object)]
    pub document: Box<RawValue>,
}

/// The differences of one version from another.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDiffAnswer {
    /// The version that it is compared with.
    #[schema(example = "1")]
    pub from: String,
    /// The version.
    #[schema(example = "2")]
    pub to: String,
    /// The differences.
    #[serde(flatten)]
    pub differences: PolicyDifferences,
}

/// The differences of a policy from an earlier one. Rules are told by their ids.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
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
    /// `true` if the trust parameters differ.
    pub trust_changed: bool,
    /// `true` if idempotency keys are good for another time.
    pub key_life_changed: bool,
    /// `true` if the loop bounds of runs and sessions differ.
    pub bounds_changed: bool,
    /// `true` if the times of people or calls differ.
    pub times_changed: bool,
    /// `true` if the exit codes that count, or their programs, differ.
    pub exit_codes_changed: bool,
    /// `true` if the verdict for tools that nobody registered differs.
    pub unregistered_changed: bool,
    /// `true` if the guarded files differ.
    pub files_changed: bool,
    /// `true` if the settings by which projects are told apart differ.
    pub workspaces_changed: bool,
}

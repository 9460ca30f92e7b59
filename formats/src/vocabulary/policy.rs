//! `policy.*` and `mode.configured`: the rules that calls are judged by, and whether their verdicts are meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BoundedList, BoundedNumber, BoundedText, CallBounds, EventData, ExitCodeGlobs, FileGuard, MAX_RULES,
    Mode, Name, Note, PolicySettings, PolicyTimes, Rule, TrustRules, UnregisteredTools, Workspaces,
};

/// The shortest life that a policy may give idempotency keys, in seconds.
pub const MIN_KEY_LIFE_S: u32 = 60;
/// The longest one, in seconds: 30 days.
pub const MAX_KEY_LIFE_S: u32 = 30 * 86_400;

/// How long an idempotency key is good, in seconds.
pub type KeyLife = BoundedNumber<MIN_KEY_LIFE_S, MAX_KEY_LIFE_S>;

/// What a policy is made of, as it is written: the rest is added when it is published. Unknown members are refused, as in its rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// Its rules, in the order in which they are tried.
    pub rules: BoundedList<Rule, 0, MAX_RULES>,
    /// By what numbers trust is judged.
    pub trust: TrustRules,
    /// Seconds for which an idempotency key is good from its first use on. Left out, they are those of a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<KeyLife>,
    /// How far runs and sessions may go round. Left out, it is as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<CallBounds>,
    /// Times of people and calls; as shipped where they are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<PolicyTimes>,
    /// Files that calls may not name, or may only write with a person's word. Left out, there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileGuard>,
    /// Globs for the parts of commands, as rules compare contexts. An exit code other than 0 counts as an error where one of them
    /// matches a part. Left out, such exit codes count nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_codes_count: Option<ExitCodeGlobs>,
    /// What is said of calls of tools that nobody registered. Left out, they are denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<UnregisteredTools>,
    /// Whether trust is kept apart by projects, and how these are told apart. Left out, it is as shipped: they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Workspaces>,
}

/// `policy.published`: a policy is there to be activated. It never changes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyPublished {
    /// Its number, by which it is activated.
    pub version: u64,
    /// SHA-256 over the RFC 8785 JSON of its rules, its trust parameters and those of its other settings that it has, in hex.
    pub digest: Name,
    /// Its rules, in the order in which they are tried.
    pub rules: BoundedList<Rule, 0, MAX_RULES>,
    /// By what numbers trust is judged.
    pub trust: TrustRules,
    /// Seconds for which an idempotency key is good from its first use on. Left out, they are those of a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<KeyLife>,
    /// How far runs and sessions may go round. Left out, it is as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<CallBounds>,
    /// Times of people and calls; as shipped where they are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<PolicyTimes>,
    /// Files that calls may not name, or may only write with a person's word. Left out, there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileGuard>,
    /// Globs for the parts of commands, as rules compare contexts. An exit code other than 0 counts as an error where one of them
    /// matches a part. Left out, such exit codes count nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_codes_count: Option<ExitCodeGlobs>,
    /// What is said of calls of tools that nobody registered. Left out, they are denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<UnregisteredTools>,
    /// Whether trust is kept apart by projects, and how these are told apart. Left out, it is as shipped: they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Workspaces>,
    /// Who wrote it.
    pub author: BoundedText<1024>,
    /// The version that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// What is new in it, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `policy.activated`: from now on calls are judged by it, and by no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyActivated {
    /// Which one.
    pub version: u64,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `policy.retired`: it cannot be activated any more. Decisions that were made under it stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRetired {
    /// Which one.
    pub version: u64,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `mode.configured`: whether verdicts are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeConfigured {
    /// Whether they are.
    pub mode: Mode,
    /// Of which calls. Without it: of all that no scope is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ModeScope>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// The calls that a mode is about: those that agree with every member that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeScope {
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Name>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<BoundedText<1024>>,
    /// The role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
}

impl PolicyDocument {
    /// Returns the members beside its rules and its trust parameters.
    #[must_use]
    pub fn settings(&self) -> PolicySettings {
        PolicySettings {
            key_life_s: self.key_life_s,
            bounds: self.bounds.clone(),
            times: self.times,
            exit_codes_count: self.exit_codes_count.clone(),
            unregistered: self.unregistered,
            files: self.files.clone(),
            workspaces: self.workspaces.clone(),
        }
    }
}

impl PolicyPublished {
    /// Returns the members beside its rules and its trust parameters.
    #[must_use]
    pub fn settings(&self) -> PolicySettings {
        PolicySettings {
            key_life_s: self.key_life_s,
            bounds: self.bounds.clone(),
            times: self.times,
            exit_codes_count: self.exit_codes_count.clone(),
            unregistered: self.unregistered,
            files: self.files.clone(),
            workspaces: self.workspaces.clone(),
        }
    }
}

impl EventData for PolicyPublished {
    const KIND: &'static str = "policy.published";
    const VERSION: u32 = 1;
}

impl EventData for PolicyActivated {
    const KIND: &'static str = "policy.activated";
    const VERSION: u32 = 1;
}

impl EventData for PolicyRetired {
    const KIND: &'static str = "policy.retired";
    const VERSION: u32 = 1;
}

impl EventData for ModeConfigured {
    const KIND: &'static str = "mode.configured";
    const VERSION: u32 = 1;
}

//! `policy.*` and `mode.configured`: the rules that judge calls, and the enforcement mode.

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

/// The life of an idempotency key, in seconds.
pub type KeyLife = BoundedNumber<MIN_KEY_LIFE_S, MAX_KEY_LIFE_S>;

/// A policy as it is written; publication adds the rest. Unknown members are refused, as in its rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// Its rules, in the order in which they are tried.
    pub rules: BoundedList<Rule, 0, MAX_RULES>,
    /// The rules that judge trust.
    pub trust: TrustRules,
    /// Seconds for which an idempotency key is good from its first use on. Left out, they are those of a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<KeyLife>,
    /// Bounds on loops, steps and delegation of runs and sessions. Left out, they are as shipped.
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
    /// The verdict on calls of tools that nobody registered. Left out, they are denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<UnregisteredTools>,
    /// The separation of trust by projects, and the way to tell projects apart. Left out, trust is kept apart as shipped.
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
    /// The rules that judge trust.
    pub trust: TrustRules,
    /// Seconds for which an idempotency key is good from its first use on. Left out, they are those of a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<KeyLife>,
    /// Bounds on loops, steps and delegation of runs and sessions. Left out, they are as shipped.
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
    /// The verdict on calls of tools that nobody registered. Left out, they are denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<UnregisteredTools>,
    /// The separation of trust by projects, and the way to tell projects apart. Left out, trust is kept apart as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Workspaces>,
    /// The author.
    pub author: BoundedText<1024>,
    /// The version that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// The changes in it, and the reason for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `policy.activated`: from now on calls are judged by it, and by no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyActivated {
    /// The policy's version.
    pub version: u64,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `policy.retired`: it cannot be activated any more. Decisions that were made under it stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRetired {
    /// The policy's version.
    pub version: u64,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `mode.configured`: the enforcement mode is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeConfigured {
    /// The mode.
    pub mode: Mode,
    /// The calls that the mode is for. Without it: all calls that no scope is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ModeScope>,
    /// The reason.
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

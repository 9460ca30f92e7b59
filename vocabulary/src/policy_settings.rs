//! The settings of a policy besides its rules and its trust parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, CallBounds, FileGuard, Glob, KeyLife, PolicyTimes, Workspaces};

/// Globs in `exit_codes_count` of a policy.
pub const MAX_EXIT_CODE_GLOBS: usize = 64;

/// Globs for the programs whose exit codes count as errors.
pub type ExitCodeGlobs = BoundedList<Glob, 1, MAX_EXIT_CODE_GLOBS>;

/// A policy's verdict on calls of tools that nobody registered.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UnregisteredTools {
    /// They are denied.
    #[default]
    Deny,
    /// A person looks at each. No rule, grant or trust allows one.
    Review,
}

/// The members of a policy beside its rules and its trust parameters. A member that is left out is as shipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySettings {
    /// Seconds for which an idempotency key is good from its first use on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_life_s: Option<KeyLife>,
    /// Bounds on loops, steps and delegation of runs and sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<CallBounds>,
    /// Times of people and calls; as shipped where they are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<PolicyTimes>,
    /// Globs for the parts of commands whose exit codes other than 0 count as errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_codes_count: Option<ExitCodeGlobs>,
    /// The verdict on calls of tools that nobody registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unregistered: Option<UnregisteredTools>,
    /// Files that calls may not name, or may only write with a person's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileGuard>,
    /// The separation of trust by projects, and the way to tell projects apart. Left out, trust is kept apart as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Workspaces>,
}

//! The reasons for which a policy cannot be taken: each names the rule and the member.

use bitacora_formats::JsonError;
use bitacora_vocabulary::MAX_RULES;

use super::MAX_POLICY_ZONES;
use super::places::PointerError;
use super::window::WindowError;
use crate::glob::GlobError;
use crate::policy::zones::ZONE_DATA;

/// The reason for which a policy cannot be taken. No part of it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not the JSON that is taken.
    #[error("the policy is not taken: {0}")]
    Json(#[from] JsonError),
    /// Its members are not those of a policy.
    #[error("the policy is not taken: {0}; it has the members `rules` and `trust`")]
    Document(String),
    /// A rule is not one.
    #[error("rule {number}{}: {problem}; mend it, or leave the rule out", named(id.as_deref()))]
    Rule {
        /// Its number, from 1.
        number: usize,
        /// Its id, where that could be read.
        id: Option<String>,
        /// The reason, with the member.
        problem: String,
    },
    /// More than [`MAX_RULES`].
    #[error("more than {MAX_RULES} rules; let one rule name several tools")]
    TooManyRules,
    /// Two rules share an id.
    #[error("rules {first} and {second} are both called `{}`; name each once", id.escape_debug())]
    DuplicateId {
        /// The id.
        id: String,
        /// The first one's number, from 1.
        first: usize,
        /// The second one's.
        second: usize,
    },
    /// A glob is not one.
    #[error("rule `{}`, {member}, `{}`: {problem}", rule.escape_debug(), glob.escape_debug())]
    Glob {
        /// The rule's id.
        rule: String,
        /// The member it stands in.
        member: String,
        /// The glob.
        glob: String,
        /// The error in it.
        problem: GlobError,
    },
    /// A glob of a setting is not one.
    #[error("{member}, `{}`: {problem}", glob.escape_debug())]
    Setting {
        /// The member it stands in.
        member: &'static str,
        /// The glob.
        glob: String,
        /// The error in it.
        problem: GlobError,
    },
    /// A JSON pointer is not one.
    #[error("rule `{}`, {member}: {problem}", rule.escape_debug())]
    Pointer {
        /// The rule's id.
        rule: String,
        /// The member it stands in.
        member: String,
        /// The error in it.
        problem: PointerError,
    },
    /// A condition on an argument says nothing, or too much.
    #[error("rule `{}`, match.arguments[{number}]: {problem}", rule.escape_debug())]
    Condition {
        /// The rule's id.
        rule: String,
        /// The condition's number, from 0.
        number: usize,
        /// The error in it.
        problem: ConditionError,
    },
    /// A root of projects is no glob.
    #[error("workspaces.roots, `{}`: {problem}", glob.escape_debug())]
    Root {
        /// The glob.
        glob: String,
        /// The error in it.
        problem: GlobError,
    },
    /// A folder of worktrees is not one.
    #[error("workspaces.worktrees, `{}`: {problem}", folder.escape_debug())]
    Worktrees {
        /// The folder.
        folder: String,
        /// The error in it.
        problem: WorktreesError,
    },
    /// Its windows name more time zones than [`MAX_POLICY_ZONES`].
    #[error("a policy names at most {MAX_POLICY_ZONES} time zones; write its windows in fewer")]
    TooManyZones,
    /// A window names a time zone that is not built in.
    #[error("found time zone `{}`, expected a name of the IANA zone data {ZONE_DATA} such as `Europe/Madrid`", .0.escape_debug())]
    UnknownZone(String),
    /// A time window holds never, or always.
    #[error("rule `{}`, match.time_window: {problem}", rule.escape_debug())]
    Window {
        /// The rule's id.
        rule: String,
        /// The error in it.
        problem: WindowError,
    },
}

/// The error in a folder of worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("found no relative folder of plain names; write it as `.worktrees`, or as `.claude/worktrees`")]
pub struct WorktreesError;

/// The error in a condition on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// None or several of `glob`, `equals` and `absent`.
    #[error("give one of `glob`, `equals` and `absent`; several conditions are several entries")]
    NotOneTest,
}

fn named(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| format!(" (`{}`)", id.escape_debug()))
}

//! One rule of a policy: the calls that it matches, and its verdict on them.
//!
//! Unlike the data of events, a rule refuses members that it does not know, and `null` in the place of one. Each
//! member of `match` narrows a rule; a misspelt one that was ignored would widen it.

mod condition;
mod window;

use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedText, Name, Risk, Score, Verdict};

pub use condition::{
    ArgumentCondition, MAX_EQUAL_TEXT_BYTES, MAX_RULE_ALTERNATIVES, OneOrMany, PointerText, Scalar,
};
pub use window::{TimeOfDay, TimeOfDayError, TimeWindow, Weekday};

/// Rules of one policy.
pub const MAX_RULES: usize = 10_000;
/// Conditions on arguments of one rule.
pub const MAX_RULE_ARGUMENTS: usize = 16;
/// Bytes of a glob.
pub const MAX_GLOB_BYTES: usize = 512;

/// A pattern for a text: `*`, `**`, `?` and `[a-z]`; their meaning is stated where policies are compiled.
pub type Glob = BoundedText<MAX_GLOB_BYTES>;

/// One rule of a policy. The first rule that matches a call is the policy's verdict on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, by which decisions refer to it; no two rules of a policy share one.
    pub id: Name,
    /// The calls it is about: those that agree with every member that is there.
    #[serde(rename = "match")]
    pub matches: RuleMatch,
    /// Its verdict on them. `allow` is an upper bound: every other step may be stricter.
    pub action: Verdict,
    /// The reason, in words that an agent is shown.
    pub reason: BoundedText<512>,
    /// A comment for authors of policies; shown to no agent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "BoundedText<1024>")]
    pub comment: Option<BoundedText<1024>>,
    /// The score below which an `allow` is a review, in ten-thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Score")]
    pub min_trust_score: Option<Score>,
    /// `true`: a person looks at each call, whatever trust it has earned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_auto_approve: bool,
    /// The use of the trust that a call has earned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trust: TrustUse,
}

/// The use of trust for a call that a rule matched.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TrustUse {
    /// Trust counts.
    #[default]
    Respect,
    /// A dimension needs no trust for calls without review. A blocked dimension stays blocked.
    Ignore,
}

/// The calls that a rule is about. Without a member it is about all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleMatch {
    /// Globs for the tool. One with a wildcard allows no tool that takes any arguments and reads no places from them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub tool: Option<OneOrMany<Glob>>,
    /// Globs for the server that offers the tool. A tool without a server matches none. Without this member a rule that allows is about
    /// tools without a server, and about those of a server whose names say so: `mcp__server__tool`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub server: Option<OneOrMany<Glob>>,
    /// Globs for the context. In these, and in those for destinations and working folders, `*` ends at a `/`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub context: Option<OneOrMany<Glob>>,
    /// Globs for the call's destinations: paths from the root on, and hosts. All of its destinations have to match. If
    /// only some do, or they are not known, the strictest verdict of both cases is taken.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub destination: Option<OneOrMany<Glob>>,
    /// Globs for the working folder that the call names. A call that names none perhaps matches.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub cwd: Option<OneOrMany<Glob>>,
    /// `true` matches calls in the folder of their session: the working folder of the agent's first call in that session. `false` matches
    /// calls elsewhere. A call without a session or a working folder perhaps matches.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub in_session_folder: Option<bool>,
    /// Conditions on the arguments; all of them must hold.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "BoundedList<ArgumentCondition, 1, MAX_RULE_ARGUMENTS>")]
    pub arguments: Option<BoundedList<ArgumentCondition, 1, MAX_RULE_ARGUMENTS>>,
    /// Globs for the model, as the caller names it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub model: Option<OneOrMany<Glob>>,
    /// Globs for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub agent: Option<OneOrMany<Glob>>,
    /// Globs for the role.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub role: Option<OneOrMany<Glob>>,
    /// Globs for the type of task, as the caller names it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub task_type: Option<OneOrMany<Glob>>,
    /// The risk that the registry gives the tool.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Risk>")]
    pub risk: Option<OneOrMany<Risk>>,
    /// The time at which the call is made.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "TimeWindow")]
    pub time_window: Option<TimeWindow>,
}

/// Reads a member that is there: unlike what serde does for an `Option`, `null` is not the same as leaving it out.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;

//! The rules whose conditions on arguments a call meets.
//! They are found where the arguments may be read, and recorded without them.

use bitacora_vocabulary::{ArgumentCondition, Scalar};
use serde::{Deserialize, Serialize};

use super::compiled_rule;
use super::error::ConditionError;
use super::fit::ConditionMatch;
use super::places::{ArgumentValue, PlaceTree};
use super::{PolicyDigest, PolicyError};
use crate::glob::{Dialect, GlobPattern};

/// Bytes of an argument up to which globs are compared with it. For a longer one the match is not known.
pub const MAX_MATCHED_TEXT_BYTES: usize = 64 * 1024;
/// Steps of comparing that one call's arguments may take: about a tenth of a second. Matches beyond that are not known.
pub const MAX_MATCH_STEPS: u64 = 32_000_000;
/// Rules that one call's arguments may be noted to match or perhaps to match. Matches of the rules behind them are not known.
pub const MAX_NOTED_RULES: usize = 512;

/// The rules of one policy whose conditions on arguments a call meets.
///
/// It holds the numbers of rules and nothing of the arguments, so that it may be recorded with a decision. Matches that are not
/// known are noted as such, and count against the call: see [`Policy::judge`](super::Policy::judge).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentMatches {
    /// The policy that the numbers are of. For any other one nothing was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyDigest>,
    /// Rules whose conditions hold, by their numbers from 0, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    holds: Vec<u32>,
    /// Rules of which it was not found out, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unclear: Vec<u32>,
    /// The rule from which on nothing was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_from: Option<u32>,
}

impl ArgumentMatches {
    /// Returns the matches of a call whose arguments nobody has seen: a digest of them is all that came.
    #[must_use]
    pub const fn hidden() -> Self {
        Self { policy: None, holds: Vec::new(), unclear: Vec::new(), unread_from: Some(0) }
    }

    /// Nothing noted yet, of the rules of a policy.
    pub(super) const fn of(policy: PolicyDigest) -> Self {
        Self { policy: Some(policy), holds: Vec::new(), unclear: Vec::new(), unread_from: None }
    }

    /// Returns the policy that it was made for.
    #[must_use]
    pub const fn policy(&self) -> Option<PolicyDigest> {
        self.policy
    }

    /// Notes a rule; rules come in order. Returns `true` if there is room for more.
    pub(super) fn note(&mut self, rule: u32, fit: ConditionMatch) -> bool {
        if fit != ConditionMatch::No && self.holds.len() + self.unclear.len() == MAX_NOTED_RULES {
            self.unread_from = Some(rule);
            return false;
        }
        match fit {
            ConditionMatch::No => {}
            ConditionMatch::Perhaps => self.unclear.push(rule),
            ConditionMatch::Yes => self.holds.push(rule),
        }
        true
    }

    /// Returns whether the arguments meet a rule's conditions.
    pub(super) fn fit(&self, policy: PolicyDigest, rule: u32) -> ConditionMatch {
        let is_unread = self.unread_from.is_some_and(|first| rule >= first);
        if is_unread || self.policy != Some(policy) || self.unclear.binary_search(&rule).is_ok() {
            ConditionMatch::Perhaps
        } else if self.holds.binary_search(&rule).is_ok() {
            ConditionMatch::Yes
        } else {
            ConditionMatch::No
        }
    }
}

/// A condition on one place of the arguments.
#[derive(Debug, Clone)]
pub(super) struct PlaceCondition {
    place: usize,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Globs(Box<[GlobPattern]>),
    Equals(Box<[Scalar]>),
    Absent(bool),
}

impl PlaceCondition {
    /// Reads the condition with this number of a rule.
    pub(super) fn compile(
        rule: &str,
        number: usize,
        condition: &ArgumentCondition,
        places: &mut PlaceTree,
    ) -> Result<Self, PolicyError> {
        let member = |name: &str| format!("match.arguments[{number}].{name}");
        let place = places.add(&condition.pointer).map_err(|problem| PolicyError::Pointer {
            rule: rule.to_owned(),
            member: member("pointer"),
            problem,
        })?;
        let test = match (&condition.glob, &condition.equals, condition.absent) {
            (Some(globs), None, None) => {
                Test::Globs(compiled_rule::globs(rule, &member("glob"), globs, Dialect::Text)?)
            }
            (None, Some(values), None) => Test::Equals(values.as_slice().into()),
            (None, None, Some(absent)) => Test::Absent(absent),
            _ => {
                let problem = ConditionError::NotOneTest;
                return Err(PolicyError::Condition { rule: rule.to_owned(), number, problem });
            }
        };
        Ok(Self { place, test })
    }

    /// Returns whether it holds. A tool may read an object or a list as the text that a condition names, so a comparison with one
    /// is not certain.
    pub(super) fn fit(&self, found: &[ArgumentValue<'_>], steps: &mut u64) -> ConditionMatch {
        let found = found.get(self.place).unwrap_or(&ArgumentValue::Unclear);
        match (&self.test, found) {
            (_, ArgumentValue::Unclear) => ConditionMatch::Perhaps,
            (Test::Absent(absent), found) => {
                ConditionMatch::from((*found == ArgumentValue::Nothing) == *absent)
            }
            (_, ArgumentValue::Nothing) => ConditionMatch::No,
            (_, ArgumentValue::Compound) => ConditionMatch::Perhaps,
            (Test::Globs(globs), ArgumentValue::Text(text)) => any_glob(globs, text, steps),
            (Test::Globs(globs), ArgumentValue::Number(text)) => any_glob(globs, text, steps),
            (Test::Globs(globs), ArgumentValue::Bool(true)) => any_glob(globs, "true", steps),
            (Test::Globs(globs), ArgumentValue::Bool(false)) => any_glob(globs, "false", steps),
            (Test::Globs(globs), ArgumentValue::Null) => any_glob(globs, "null", steps),
            (Test::Equals(values), found) => {
                values.iter().map(|value| equals(value, found)).max().unwrap_or(ConditionMatch::No)
            }
        }
    }
}

fn any_glob(globs: &[GlobPattern], text: &str, steps: &mut u64) -> ConditionMatch {
    if text.len() > MAX_MATCHED_TEXT_BYTES {
        return ConditionMatch::Perhaps;
    }
    let fits = globs
        .iter()
        .map(|glob| glob.matches_within(text, steps).map_or(ConditionMatch::Perhaps, ConditionMatch::from));
    fits.max().unwrap_or(ConditionMatch::No)
}

fn equals(value: &Scalar, found: &ArgumentValue<'_>) -> ConditionMatch {
    match (value, found) {
        (Scalar::Null, ArgumentValue::Null) => ConditionMatch::Yes,
        (Scalar::Bool(value), ArgumentValue::Bool(found)) => ConditionMatch::from(value == found),
        (Scalar::Text(value), ArgumentValue::Text(found)) => ConditionMatch::from(value == found),
        // A number with a fraction or an exponent may be an integer all the same: readers differ.
        (Scalar::Integer(value), ArgumentValue::Number(found)) => found
            .parse::<i64>()
            .map_or(ConditionMatch::Perhaps, |found| ConditionMatch::from(*value == found)),
        _ => ConditionMatch::No,
    }
}

//! The retention policy: whether the time of an event is over.
//!
//! Only a rule that matches an event ever leads to its removal, and of several that match the one that keeps it longest decides. So a
//! rule that is added for some events never shortens the life of others, and a forgotten one keeps them.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    EventPosition, Glob, MAX_RETENTION_RULES, Name, RETENTION_MINIMUM_DAYS, RetentionChanged, RetentionGlobs,
    RetentionRule,
};
use serde::{Deserialize, Serialize};

use crate::glob::{Dialect, GlobError, GlobPattern};
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::retention::expirable_types::{beginnings, has_stream_of_its_own, may_expire};

const MICROS_OF_DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// The retention policy in force, as it was set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRetention {
    /// The rules; none keeps everything.
    pub rules: Vec<RetentionRule>,
    /// The event that set it; `None` before the first one.
    pub position: Option<EventPosition>,
}

impl StandingRetention {
    /// Checks that a policy may be set.
    pub(crate) fn may_change(changed: &RetentionChanged) -> Result<(), ReactorRefusal> {
        let compiled = RetentionPolicy::compile(&changed.rules).map(drop);
        compiled.map_err(|error| ReactorRefusal::new(RefusalCode::InvalidData, error.to_string()))
    }

    pub(crate) fn apply_changed(&mut self, changed: &RetentionChanged, position: EventPosition) {
        *self = Self { rules: changed.rules.to_vec(), position: Some(position) };
    }
}

/// A retention policy, ready to judge events.
#[derive(Debug, Clone)]
pub struct RetentionPolicy(Vec<CompiledRule>);

#[derive(Debug, Clone)]
struct CompiledRule {
    rule: Name,
    kept: Micros,
    types: Option<Vec<GlobPattern>>,
    streams: Option<Vec<GlobPattern>>,
    subjects: Option<bool>,
}

/// The members of an event that retention looks at.
#[derive(Debug, Clone, Copy)]
pub struct RetainedEvent<'a> {
    /// The type.
    pub kind: &'a str,
    /// The stream.
    pub stream: &'a str,
    /// `true` if it names a data subject, erased or not.
    pub names_subject: bool,
    /// The time of its recording.
    pub time: Micros,
}

/// The verdict of a retention policy on an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionVerdict<'a> {
    /// It stays.
    Keep,
    /// Its time is over.
    Expired {
        /// The rule that kept it longest.
        rule: &'a Name,
    },
}

/// The error in a retention policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetentionError {
    /// Too many rules.
    #[error("{0} rules; at most {MAX_RETENTION_RULES} are taken")]
    TooMany(usize),
    /// Two rules with one name.
    #[error("two rules are named `{0}`; give each its own name")]
    SameName(String),
    /// A rule that keeps events for less than the minimum, without a reason.
    #[error(
        "rule `{rule}` keeps events for {days} days; fewer than {RETENTION_MINIMUM_DAYS} take a reason in `shorter_because`"
    )]
    TooShort {
        /// The rule.
        rule: String,
        /// Its days.
        days: u32,
    },
    /// A glob that cannot be read.
    #[error("rule `{rule}`: glob `{glob}`: {error}")]
    Glob {
        /// The rule.
        rule: String,
        /// The glob.
        glob: String,
        /// The error in it.
        error: GlobError,
    },
}

impl RetentionPolicy {
    /// Compiles the rules of a policy.
    ///
    /// # Errors
    /// [`RetentionError`], with the rule that is at fault.
    pub fn compile(rules: &[RetentionRule]) -> Result<Self, RetentionError> {
        if rules.len() > MAX_RETENTION_RULES {
            return Err(RetentionError::TooMany(rules.len()));
        }
        for (index, rule) in rules.iter().enumerate() {
            let name = || shown(&rule.rule);
            if rules.iter().take(index).any(|before| before.rule == rule.rule) {
                return Err(RetentionError::SameName(name()));
            }
            let days = rule.keep_days.get();
            if days < RETENTION_MINIMUM_DAYS && rule.shorter_because.is_none() {
                return Err(RetentionError::TooShort { rule: name(), days });
            }
        }
        rules.iter().map(CompiledRule::new).collect::<Result<_, _>>().map(Self)
    }

    /// Returns `true` if no rule can lead to a removal.
    #[must_use]
    pub fn keeps_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `false` if no event of this type that was recorded then or later can have expired. Spares a look at each.
    #[must_use]
    pub fn may_expire_by(&self, kind: &str, oldest: Micros, now: Micros) -> bool {
        let is_over = |rule: &CompiledRule| oldest.0.saturating_add(rule.kept.0) <= now.0;
        may_expire(kind) && self.0.iter().any(|rule| rule.matches_type(kind) && is_over(rule))
    }

    /// Judges an event at a time, which is governed time: so a clock that jumps removes nothing before an operator accepts it. Holds are
    /// another question: they win.
    #[must_use]
    pub fn verdict(&self, event: &RetainedEvent<'_>, now: Micros) -> RetentionVerdict<'_> {
        if !may_expire(event.kind) {
            return RetentionVerdict::Keep;
        }
        // The end of something stays as long as its beginning, which is older.
        if !beginnings(event.kind).iter().all(|kind| self.is_over_wherever(kind, event, now)) {
            return RetentionVerdict::Keep;
        }
        self.own_verdict(event, now)
    }

    /// Returns `true` if the beginning of this type is over, of a data subject or not, in whichever stream it stands: the service writes
    /// some ends into streams of its own. `end` is recorded later than the beginning.
    fn is_over_wherever(&self, kind: &str, end: &RetainedEvent<'_>, now: Micros) -> bool {
        [false, true].into_iter().all(|names_subject| {
            let beginning = RetainedEvent { kind, names_subject, ..*end };
            let mut of_any_stream = self.0.iter().filter(|rule| rule.matches_in_any_stream(&beginning));
            let is_let_go = match has_stream_of_its_own(end.kind) {
                // A rule by streams says nothing of a beginning that may be in another one.
                true => of_any_stream.clone().any(|rule| rule.streams.is_none()),
                false => of_any_stream.clone().any(|rule| rule.matches(&beginning)),
            };
            is_let_go && of_any_stream.all(|rule| end.time.0.saturating_add(rule.kept.0) <= now.0)
        })
    }

    /// Judges an event by the rules that match it.
    fn own_verdict(&self, event: &RetainedEvent<'_>, now: Micros) -> RetentionVerdict<'_> {
        let matching = self.0.iter().filter(|rule| rule.matches(event));
        // Of equals the first is named.
        let longest = matching.reduce(|longest, rule| if rule.kept > longest.kept { rule } else { longest });
        match longest {
            Some(rule) if event.time.0.saturating_add(rule.kept.0) <= now.0 => {
                RetentionVerdict::Expired { rule: &rule.rule }
            }
            _ => RetentionVerdict::Keep,
        }
    }
}

impl CompiledRule {
    fn new(rule: &RetentionRule) -> Result<Self, RetentionError> {
        let patterns =
            |globs: &Option<RetentionGlobs>| globs.as_ref().map(|globs| patterns(rule, globs)).transpose();
        Ok(Self {
            rule: rule.rule.clone(),
            kept: Micros(u64::from(rule.keep_days.get()) * MICROS_OF_DAY),
            types: patterns(&rule.types)?,
            streams: patterns(&rule.streams)?,
            subjects: rule.subjects,
        })
    }

    fn matches(&self, event: &RetainedEvent<'_>) -> bool {
        self.matches_in_any_stream(event) && agrees(self.streams.as_deref(), event.stream)
    }

    fn matches_in_any_stream(&self, event: &RetainedEvent<'_>) -> bool {
        self.subjects.is_none_or(|named| named == event.names_subject) && self.matches_type(event.kind)
    }

    fn matches_type(&self, kind: &str) -> bool {
        agrees(self.types.as_deref(), kind)
    }
}

/// Returns `true` if one of the patterns matches, or none are named.
fn agrees(patterns: Option<&[GlobPattern]>, text: &str) -> bool {
    patterns.is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(text)))
}

fn patterns(rule: &RetentionRule, globs: &RetentionGlobs) -> Result<Vec<GlobPattern>, RetentionError> {
    let compile = |glob: &Glob| {
        GlobPattern::compile(glob.as_str(), Dialect::Text).map_err(|error| {
            let (rule, glob) = (shown(&rule.rule), shown(glob));
            RetentionError::Glob { rule, glob, error }
        })
    };
    globs.iter().map(compile).collect()
}

/// Returns a text that somebody chose, without the backticks that enclose it in an error.
fn shown(text: &dyn std::fmt::Display) -> String {
    text.to_string().replace('`', "'")
}

#[cfg(test)]
mod tests;

//! A policy: ordered rules, of which the first that matches a call decides about it.
//!
//! Hidden facts about a call never make its verdict milder. Arguments may be sealed, so the conditions on them are compared where
//! the arguments may still be read ([`Policy::match_arguments`]). Only the numbers of rules go on from there. Sometimes a condition
//! cannot be compared: a digest is all that came, an argument is an object where a text was expected, a part of the call is not
//! known. The rule then *perhaps* matches, and [`Policy::judge`] gives the strictest verdict of all that the hidden part could have
//! led to. A rule that perhaps matches and denies, denies. One that perhaps matches and allows, allows nothing by itself, because
//! the rules behind it are looked at too. No argument that could be revealed would have led to a stricter verdict, so hiding one is
//! never of use.
//!
//! A policy is about tool calls. The acts of operators (publish a policy, resolve an approval) are no tool calls. So no policy can
//! lock out those who would have to mend it, not even one that denies everything; such a policy is taken, with a warning.

mod arguments;
mod comparison;
mod compiled_rule;
mod destinations;
mod digest;
mod error;
mod file_guard;
mod fit;
mod index;
pub(crate) mod names;
mod placement;
mod places;
pub(crate) mod policies;
mod reading;
mod starter;
mod warning;
mod window;
mod workspaces;
pub(crate) mod zones;

use std::collections::BTreeMap;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    CallBounds, Glob, KeyLife, LocalTimes, MAX_RULES, PolicySettings, PolicyTimes, Risk, Rule, Score,
    TrustRules, TrustUse, UnregisteredTools, Verdict, Workspaces,
};

use compiled_rule::CompiledRule;
use file_guard::GuardedFiles;
use fit::ConditionMatch;
use index::RuleIndex;
use places::PlaceTree;

use crate::glob::{Dialect, GlobPattern};
use crate::policy::zones::Zone;
use crate::tools::arguments::{ArgumentFindings, PlaceText, Reach, is_cut};

pub use crate::glob::GlobError;
pub use arguments::{ArgumentMatches, MAX_MATCH_STEPS, MAX_MATCHED_TEXT_BYTES, MAX_NOTED_RULES};
pub use comparison::{DryRun, MAX_DRY_RUN_EXAMPLES, PolicyDiff, VerdictChange};
pub use digest::{PolicyDigest, PolicyDigestError};
pub use error::{ConditionError, PolicyError, WorktreesError};
pub use file_guard::{FileGuardResult, GuardFinding};
pub use placement::RulePlacement;
pub use places::PointerError;
pub use reading::parse_policy;
pub use starter::STARTER_POLICY;
pub use warning::PolicyWarning;
pub use window::WindowError;
pub(crate) use workspaces::WorkspaceRules;

/// Time zones that one policy names.
pub const MAX_POLICY_ZONES: usize = 8;

/// The rules of a policy, ready to judge.
#[derive(Debug, Clone)]
pub struct Policy {
    digest: PolicyDigest,
    trust: TrustRules,
    settings: PolicySettings,
    /// Globs of the programs whose exit codes count.
    exit_codes: Box<[GlobPattern]>,
    /// Globs of the commands that only wait.
    polls: Box<[GlobPattern]>,
    files: Option<GuardedFiles>,
    workspace_rules: WorkspaceRules,
    rules: Vec<CompiledRule>,
    index: RuleIndex,
    places: PlaceTree,
    /// The time zones that it names, each once.
    zones: Vec<Zone>,
}

/// A call, as rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct PolicyQuestion<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The server that offers it.
    pub server: CallPart<'a>,
    /// The context of the call; computed from the arguments, never as the caller says.
    pub context: CallPart<'a>,
    /// The places that it reaches, computed from the arguments and the working folder.
    pub destinations: Destinations<'a>,
    /// Its access to them, and the patterns that it works on, where that is recorded.
    pub reach: Option<&'a Reach>,
    /// The working folder that the caller names, cleaned.
    pub cwd: CallPart<'a>,
    /// The model, as the caller says.
    pub model: CallPart<'a>,
    /// The agent, from its token.
    pub agent: CallPart<'a>,
    /// The role, from its token.
    pub role: CallPart<'a>,
    /// The type of task, as the caller says.
    pub task_type: CallPart<'a>,
    /// The risk that the registry gives the tool, where it knows the tool.
    pub risk: Option<Risk>,
    /// `true` if the call works in the folder that its session began in; `None` where that is not known.
    pub is_in_session_folder: Option<bool>,
    /// Governed time.
    pub time: Micros,
    /// The local times in the zones that the policy names.
    pub local: Option<&'a LocalTimes>,
    /// `true` if its arguments may name places of which the tool's registration says nothing.
    pub unlisted: bool,
    /// The conditions on arguments that are met.
    pub arguments: &'a ArgumentMatches,
    /// The version of the rules by which it is judged.
    pub reactor_version: u32,
}

#[cfg(test)]
impl<'a> PolicyQuestion<'a> {
    /// Returns a call of a tool of which nothing else is known.
    pub(crate) fn of(tool: &'a str, arguments: &'a ArgumentMatches) -> Self {
        Self {
            tool,
            server: CallPart::None,
            context: CallPart::None,
            destinations: Destinations::None,
            reach: None,
            cwd: CallPart::Unknown,
            model: CallPart::Unknown,
            agent: CallPart::Unknown,
            role: CallPart::Unknown,
            task_type: CallPart::Unknown,
            risk: None,
            is_in_session_folder: None,
            time: Micros(0),
            local: None,
            unlisted: false,
            arguments,
            reactor_version: crate::version::REACTOR_VERSION,
        }
    }
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPart<'a> {
    /// This.
    Known(&'a str),
    /// There is none: a tool without a server, a tool that has no context. No condition on it holds.
    None,
    /// There may be one, and it was not said. A condition on it perhaps holds.
    Unknown,
}

/// The places that a call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destinations<'a> {
    /// There, and nowhere else.
    Known(&'a [PlaceText]),
    /// Nowhere that its registration speaks of. No condition on it holds.
    None,
    /// It was not said. A condition on it perhaps holds.
    Unknown,
}

/// The verdict of the rules on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleVerdict<'p> {
    /// The rule's action; `review` where no rule matches. Every other step may be stricter.
    pub verdict: Verdict,
    /// The rule that gave it.
    pub rule: Option<&'p Rule>,
    /// The score below which it is a review at least.
    pub min_trust_score: Option<Score>,
    /// `true` if it is a review at least, with any trust.
    pub never_auto_approve: bool,
    /// The use of trust: whether a dimension has to have earned calls without review.
    pub trust: TrustUse,
    /// `true` if no unknown fact about the call could have led to another verdict.
    pub certain: bool,
}

impl Policy {
    /// Makes the rules and the trust parameters of a policy ready to judge.
    ///
    /// # Errors
    /// The first rule that cannot be meant, with the member; see [`PolicyError`].
    pub fn compile(rules: &[Rule], trust: &TrustRules) -> Result<Self, PolicyError> {
        if rules.len() > MAX_RULES {
            return Err(PolicyError::TooManyRules);
        }
        let mut ids = BTreeMap::new();
        let (mut index, mut places) = (RuleIndex::default(), PlaceTree::default());
        let mut compiled = Vec::with_capacity(rules.len());
        let mut zones: Vec<Zone> = Vec::new();
        for (number, rule) in (0_u32..).zip(rules) {
            let second = compiled.len() + 1;
            if let Some(first) = ids.insert(rule.id.as_str(), second) {
                return Err(PolicyError::DuplicateId { id: rule.id.to_string(), first, second });
            }
            let rule = CompiledRule::compile(rule, &mut places)?;
            if let Some(name) = rule.zone().filter(|name| zones.iter().all(|zone| zone.name != **name)) {
                zones.push(Zone::of(name));
            }
            index.add(number, rule.tool.as_deref(), rule.context.as_deref());
            compiled.push(rule);
        }
        if zones.len() > MAX_POLICY_ZONES {
            return Err(PolicyError::TooManyZones);
        }
        let settings = PolicySettings::default();
        let digest = PolicyDigest::of(&rules.iter().collect::<Vec<_>>(), trust, &settings);
        Ok(Self {
            digest,
            trust: *trust,
            settings,
            exit_codes: Box::default(),
            polls: Box::default(),
            files: None,
            workspace_rules: WorkspaceRules::shipped().clone(),
            rules: compiled,
            index,
            places,
            zones,
        })
    }

    /// Returns the same policy with these settings in the place of its own. Its digest tells them.
    ///
    /// # Errors
    /// A glob of theirs is none, or a folder of worktrees is no plain name.
    pub fn with_settings(mut self, settings: PolicySettings) -> Result<Self, PolicyError> {
        let exit_codes = settings.exit_codes_count.as_deref();
        let polls = settings.bounds.as_ref().and_then(|bounds| bounds.polls.as_ref());
        self.exit_codes = part_globs("exit_codes_count", exit_codes.unwrap_or_default())?;
        self.polls = part_globs("bounds.polls", polls.map(|globs| &**globs).unwrap_or_default())?;
        self.files = settings.files.as_ref().map(GuardedFiles::compile).transpose()?;
        let workspaces = settings.workspaces.as_ref().map(WorkspaceRules::compile).transpose()?;
        self.workspace_rules = workspaces.unwrap_or_else(|| WorkspaceRules::shipped().clone());
        let rules: Vec<&Rule> = self.rules().collect();
        self.digest = PolicyDigest::of(&rules, &self.trust, &settings);
        self.settings = settings;
        Ok(self)
    }

    /// Returns its settings, beside its rules and its trust parameters.
    #[must_use]
    pub const fn settings(&self) -> &PolicySettings {
        &self.settings
    }

    /// Returns its rules for telling projects apart, where it has any.
    #[must_use]
    pub const fn workspaces(&self) -> Option<&Workspaces> {
        self.settings.workspaces.as_ref()
    }

    /// Returns the rules for telling projects apart, its own or the shipped ones.
    pub(crate) const fn workspace_rules(&self) -> &WorkspaceRules {
        &self.workspace_rules
    }

    /// Returns its bounds for runs and sessions, where it has any.
    #[must_use]
    pub const fn bounds(&self) -> Option<&CallBounds> {
        self.settings.bounds.as_ref()
    }

    /// Returns how long people and calls have under it, as far as it says.
    pub(crate) fn times(&self) -> PolicyTimes {
        self.settings.times.unwrap_or_default()
    }

    /// Returns the lifetime of idempotency keys under it, in seconds, where it sets one.
    #[must_use]
    pub const fn key_life_s(&self) -> Option<KeyLife> {
        self.settings.key_life_s
    }

    /// Returns its answer to calls of tools that nobody registered.
    #[must_use]
    pub fn unregistered(&self) -> UnregisteredTools {
        self.settings.unregistered.unwrap_or_default()
    }

    /// Returns the findings of the guarded files on a call with these arguments; none where its places were not recorded.
    pub(crate) fn guard(&self, examined: &ArgumentFindings, cwd: Option<&str>) -> FileGuardResult {
        let files = self.files.as_ref().zip(examined.reach.as_ref());
        files.map(|(files, reach)| files.judge(&examined.destinations, reach, cwd)).unwrap_or_default()
    }

    /// Returns `true` if an exit code other than 0 counts as an error in a call of these parts. A part that is cut may be any.
    pub(crate) fn counts_exit_codes(&self, parts: &[PlaceText]) -> bool {
        let is_named =
            |part: &PlaceText| is_cut(part) || self.exit_codes.iter().any(|glob| glob.matches(part));
        !self.exit_codes.is_empty() && parts.iter().any(is_named)
    }

    /// Returns `true` if a call is a command that only waits for something: each of its parts has to. A part that is cut may be
    /// any, and does not count as waiting.
    pub(crate) fn waits(&self, examined: &ArgumentFindings) -> bool {
        let is_command = examined.reach.as_ref().is_some_and(|reach| reach.is_command);
        if !is_command || examined.opaque || examined.refusal.is_some() {
            return false;
        }
        let parts = examined.parts.as_slice();
        let waits = |part: &PlaceText| !is_cut(part) && self.polls.iter().any(|glob| glob.matches(part));
        !parts.is_empty() && parts.iter().all(waits)
    }

    /// Returns the time zones that it names.
    pub(crate) fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Refuses a policy that names a time zone which is not built in: its windows would hold perhaps, at any time.
    ///
    /// # Errors
    /// The first such zone.
    pub fn check_zones(&self) -> Result<(), PolicyError> {
        match self.zones.iter().find(|zone| !zone.is_known()) {
            Some(zone) => Err(PolicyError::UnknownZone(zone.name.to_string())),
            None => Ok(()),
        }
    }

    /// Returns its digest.
    #[must_use]
    pub const fn digest(&self) -> PolicyDigest {
        self.digest
    }

    /// Returns the numbers by which trust is judged under it.
    #[must_use]
    pub const fn trust(&self) -> &TrustRules {
        &self.trust
    }

    /// Its rules, in order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|rule| &rule.rule)
    }

    /// Returns the conditions on arguments that a call of a tool meets. Bytes that are not JSON count as arguments that nobody has
    /// seen.
    ///
    /// It is made for callers' threads: it reads the arguments once, and takes at most [`MAX_MATCH_STEPS`].
    #[must_use]
    pub fn match_arguments(&self, tool: &str, arguments: &[u8]) -> ArgumentMatches {
        let mut matches = ArgumentMatches::of(self.digest);
        let asking = |number: &u32| self.rule(*number).is_some_and(|rule| !rule.arguments.is_empty());
        let mut candidates = self.index.about_tool(tool).filter(asking).peekable();
        if candidates.peek().is_none() {
            return matches;
        }
        let Some(found) = self.places.find(arguments) else { return ArgumentMatches::hidden() };
        let mut steps = MAX_MATCH_STEPS;
        for number in candidates {
            let Some(rule) = self.rule(number) else { continue };
            let fits = rule.arguments.iter().map(|condition| condition.fit(&found, &mut steps));
            if !matches.note(number, fits.min().unwrap_or(ConditionMatch::Yes)) {
                break;
            }
        }
        matches
    }

    /// Judges a call: the first rule that matches decides, or the strictest of all that may be the first.
    #[must_use]
    pub fn judge(&self, question: &PolicyQuestion<'_>) -> RuleVerdict<'_> {
        let mut said: Option<RuleVerdict<'_>> = None;
        let candidates = match question.context {
            CallPart::Known(context) => self.index.about(question.tool, context),
            CallPart::None | CallPart::Unknown => self.index.about_tool(question.tool),
        };
        for number in candidates {
            let Some(rule) = self.rule(number) else { continue };
            let fit = rule.fit(question, || question.arguments.fit(self.digest, number));
            if fit == ConditionMatch::No {
                continue;
            }
            let one = rule.verdict();
            let strictest = said.map_or(one, |before| before.or_perhaps(one));
            if fit == ConditionMatch::Yes {
                return strictest;
            }
            said = Some(strictest);
        }
        said.map_or(RuleVerdict::WITHOUT_RULE, |before| before.or_perhaps(RuleVerdict::WITHOUT_RULE))
    }

    fn rule(&self, number: u32) -> Option<&CompiledRule> {
        self.rules.get(usize::try_from(number).ok()?)
    }
}

impl RuleVerdict<'_> {
    /// The verdict where no rule matches.
    const WITHOUT_RULE: Self = Self {
        verdict: Verdict::Review,
        rule: None,
        min_trust_score: None,
        never_auto_approve: false,
        trust: TrustUse::Respect,
        certain: true,
    };

    /// Returns the strictest of both in every respect, because either may be meant.
    pub(crate) fn or_perhaps(self, other: Self) -> Self {
        let stricter = if other.verdict > self.verdict { other } else { self };
        Self {
            min_trust_score: self.min_trust_score.max(other.min_trust_score),
            never_auto_approve: self.never_auto_approve || other.never_auto_approve,
            trust: if self.trust == TrustUse::Respect { self.trust } else { other.trust },
            certain: false,
            ..stricter
        }
    }

    /// Returns the verdict for a dimension with this score: an `allow` that asks for more, or for a person, is a review.
    #[must_use]
    pub fn for_score(&self, score: Score) -> Verdict {
        let is_too_low = self.min_trust_score.is_some_and(|least| score < least);
        if is_too_low || self.never_auto_approve { self.verdict.max(Verdict::Review) } else { self.verdict }
    }
}

/// Reads globs for the parts of commands.
fn part_globs(member: &'static str, given: &[Glob]) -> Result<Box<[GlobPattern]>, PolicyError> {
    let compile = |glob: &Glob| {
        GlobPattern::compile(glob, Dialect::Path).map_err(|problem| PolicyError::Setting {
            member,
            glob: glob.to_string(),
            problem,
        })
    };
    given.iter().map(compile).collect()
}

#[cfg(test)]
mod tests;

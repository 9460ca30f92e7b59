//! A trial of another policy on every recorded call: changed verdicts, and the calls' outcomes.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bitacora_formats::{After, Data, Position, format_time, parse_time};
use bitacora_governance::{DryRun, ObservedEvent, Policy, RecordedCall, Registry, State, WhatIf};
use bitacora_ledger::{Fold, Ledger};
use bitacora_vocabulary::{
    ApprovalResolved, BoundedList, CallBounds, DecisionMade, EventData, ExitCodeGlobs, FileGuard, KeyLife,
    MAX_RULES, PolicySettings, PolicyTimes, Rule, ToolBlocked, ToolCompleted, ToolFailed, ToolRequested,
    TrustRules, UnregisteredTools, Verdict, Workspaces,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::ReplayFailure;
use super::ends::{Ends, RejectionCounts, WatchedCalls};
use super::fold::FoldStop;
use crate::error::CommandError;
use crate::files::document::Document;
use crate::terminal::progress::EventBar;

/// The most calls with another verdict that are shown one by one, the newest ones.
pub(super) const MAX_EXAMPLES: usize = 50;
/// The most positions that are named of one line of a table.
const MAX_LINE_EXAMPLES: usize = 8;
/// The most tools, agents and days that get a line each; further ones are counted as [`OTHERS`].
const MAX_LINES: usize = 1_000;
/// The line for everything without a line of its own.
const OTHERS: &str = "(others)";

/// The tried policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TriedPolicy {
    /// A published version: `v2`.
    Version(u64),
    /// A policy in a file, as `policy publish` takes it.
    File(PathBuf),
}

impl FromStr for TriedPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = text.strip_prefix('v').and_then(|digits| digits.parse().ok());
        Ok(version.map_or_else(|| Self::File(text.into()), Self::Version))
    }
}

/// A policy in a file. Other parts of a publication say nothing about calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    rules: BoundedList<Rule, 0, MAX_RULES>,
    trust: Option<TrustRules>,
    key_life_s: Option<KeyLife>,
    bounds: Option<CallBounds>,
    times: Option<PolicyTimes>,
    exit_codes_count: Option<ExitCodeGlobs>,
    unregistered: Option<UnregisteredTools>,
    files: Option<FileGuard>,
    workspaces: Option<Workspaces>,
    #[serde(rename = "version")]
    _version: Option<IgnoredAny>,
    #[serde(rename = "digest")]
    _digest: Option<IgnoredAny>,
    #[serde(rename = "parent")]
    _parent: Option<IgnoredAny>,
    #[serde(rename = "author")]
    _author: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
}

/// The members of an event that ends a call.
#[derive(Deserialize)]
struct OutcomeEvent {
    call: String,
    status: Option<String>,
}

/// The members of an event that answers an approval.
#[derive(Deserialize)]
struct ResolutionEvent {
    approval: String,
    resolution: String,
}

/// The word for a person's rejection, of an approval and of an outcome.
const REJECTED: &str = "rejected";

impl TriedPolicy {
    /// Returns the policy, ready to judge; `state` knows the published ones.
    pub(super) fn policy(&self, state: &State) -> Result<Policy, CommandError> {
        let (rules, trust, settings) = match self {
            Self::Version(version) => {
                let found = state.all_policies().get(*version);
                let found = found.ok_or(ReplayFailure::NoSuchPolicy(*version))?;
                let document = &found.document;
                (document.rules.clone(), document.trust, document.settings())
            }
            Self::File(path) => {
                let file: PolicyFile = read_file(path)?;
                let settings = PolicySettings {
                    key_life_s: file.key_life_s,
                    bounds: file.bounds,
                    times: file.times,
                    exit_codes_count: file.exit_codes_count,
                    unregistered: file.unregistered,
                    files: file.files,
                    workspaces: file.workspaces,
                };
                (file.rules, file.trust.unwrap_or(TrustRules::v2()), settings)
            }
        };
        let policy = Policy::compile(&rules, &trust)
            .and_then(|policy| policy.with_settings(settings))
            .and_then(|policy| policy.check_zones().map(|()| policy));
        policy.map_err(|error| ReplayFailure::Policy(error.to_string()).into())
    }

    /// Returns the policy's name on the command line.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Version(version) => format!("v{version}"),
            Self::File(path) => path.display().to_string(),
        }
    }
}

fn read_file(path: &Path) -> Result<PolicyFile, CommandError> {
    let document = Document::read(path)?;
    Ok(serde_json::from_str(document.text()).map_err(|error| ReplayFailure::Policy(error.to_string()))?)
}

/// The result of trying a policy.
#[derive(Default)]
pub(super) struct Trial {
    /// The number of calls by old and new verdict.
    pub(super) run: DryRun,
    /// The calls that cannot be judged: their inputs are not recorded, or they were decided by rules that this program does not have.
    pub(super) unjudged: u64,
    pub(super) by_tool: TrialGroups,
    pub(super) by_agent: TrialGroups,
    pub(super) by_day: TrialGroups,
    /// The newest calls with another verdict, the newest first.
    pub(super) examples: Vec<Example>,
    /// The outcomes of the calls with another verdict.
    pub(super) ends: Ends,
    /// The rejected ones of all calls.
    pub(super) rejections: RejectionCounts,
}

/// Calls grouped by a common property.
#[derive(Default)]
pub(super) struct TrialGroups(pub(super) BTreeMap<String, TrialRow>);

/// The changes that a policy makes to some calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TrialRow {
    pub(super) calls: u64,
    pub(super) stricter: u64,
    pub(super) milder: u64,
    /// The positions of the first decisions that would change.
    pub(super) examples: Vec<u64>,
}

impl TrialRow {
    pub(super) fn changed(&self) -> u64 {
        self.stricter + self.milder
    }
}

/// A call with another verdict.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) position: Position,
    pub(super) call: String,
    pub(super) agent: Option<String>,
    pub(super) found: WhatIf,
}

impl Trial {
    pub(super) fn calls(&self) -> u64 {
        self.run.changes.iter().map(|change| change.calls).sum()
    }

    pub(super) fn changed(&self) -> u64 {
        let changed = self.run.changes.iter().filter(|change| change.earlier != change.later);
        changed.map(|change| change.calls).sum()
    }

    pub(super) fn uncertain(&self) -> u64 {
        self.run.changes.iter().map(|change| change.uncertain).sum()
    }
}

impl TrialGroups {
    fn count(&mut self, name: &str, position: u64, (before, after): (Verdict, Verdict)) {
        let is_known = self.0.contains_key(name) || self.0.len() < MAX_LINES;
        let line = self.0.entry(if is_known { name } else { OTHERS }.to_owned()).or_default();
        line.calls += 1;
        line.stricter += u64::from(after > before);
        line.milder += u64::from(after < before);
        if after != before && line.examples.len() < MAX_LINE_EXAMPLES {
            line.examples.push(position);
        }
    }
}

/// A log in the middle of a trial.
struct TrialRun<'a> {
    policy: &'a Policy,
    tools: &'a Registry,
    trial: Trial,
    /// The requests of the current frame, by their positions.
    requests: HashMap<u64, ToolRequested>,
    watched: WatchedCalls,
    newest: std::collections::VecDeque<Example>,
    reached: u64,
    stop: FoldStop,
    bar: EventBar,
}

/// Tries a policy on the calls that were decided past `after`, up to `to`.
pub(super) fn try_on(
    ledger: &Ledger,
    (after, to): (After, Position),
    policy: &Policy,
    tools: &Registry,
    stop: FoldStop,
) -> Result<Trial, ReplayFailure> {
    let mut run = TrialRun {
        policy,
        tools,
        trial: Trial::default(),
        requests: HashMap::new(),
        watched: WatchedCalls::default(),
        newest: std::collections::VecDeque::new(),
        reached: after.get(),
        stop,
        bar: EventBar::new("judging", to.get()),
    };
    run.bar.advance(after.get());
    ledger.fold(after, to, &mut run)?;
    let TrialRun { mut trial, newest, watched, .. } = run;
    (trial.ends, trial.rejections) = (watched.ends, watched.rejections);
    trial.examples = newest.into_iter().rev().collect();
    Ok(trial)
}

fn data_of<T: DeserializeOwned>(observed: &ObservedEvent<'_>) -> Option<T> {
    match &observed.event.data {
        Data::Json(json) => serde_json::from_slice(json.as_bytes()).ok(),
        _ => None,
    }
}

/// Returns the event's own day, UTC; without one, the day of its frame.
fn day_of(observed: &ObservedEvent<'_>) -> String {
    let own = observed.event.time.as_deref().and_then(|time| parse_time(time).ok());
    let mut day = format_time(own.unwrap_or(observed.time));
    day.truncate(10);
    day
}

impl TrialRun<'_> {
    fn judge(&mut self, observed: &ObservedEvent<'_>) {
        let Some(decision) = data_of::<DecisionMade>(observed) else {
            self.trial.unjudged += 1;
            return;
        };
        let cause = observed.event.id.split_once('.').and_then(|(cause, _)| cause.parse().ok());
        let request = cause.and_then(|cause: u64| self.requests.get(&cause));
        let call = RecordedCall { decision: &decision, request, time: observed.time };
        let Some(found) = WhatIf::of(self.policy, self.tools, &call) else {
            self.trial.unjudged += 1;
            return;
        };
        let (position, verdicts) =
            (observed.position.get(), (found.recorded.verdict, found.otherwise.verdict));
        let agent = observed.event.agent.as_deref();
        self.trial.run.count(position, verdicts, found.certain);
        self.trial.by_tool.count(&found.tool, position, verdicts);
        self.trial.by_agent.count(agent.unwrap_or("-"), position, verdicts);
        self.trial.by_day.count(&day_of(observed), position, verdicts);
        self.watched.watch(&decision, position, verdicts);
        if verdicts.0 == verdicts.1 {
            return;
        }
        let call = decision.call.to_string();
        if self.newest.len() == MAX_EXAMPLES {
            self.newest.pop_front();
        }
        let agent = agent.map(str::to_owned);
        self.newest.push_back(Example { position: observed.position, call, agent, found });
    }

    fn end(&mut self, observed: &ObservedEvent<'_>) {
        let kind = &*observed.event.kind;
        // Only of what did not run it matters who said so.
        let known = observed.event.call.as_deref().filter(|_| kind != ToolBlocked::KIND);
        if let Some(call) = known {
            return self.watched.end(call, kind, false);
        }
        let told = data_of::<OutcomeEvent>(observed);
        let in_data = told.as_ref().map(|told| told.call.as_str());
        let Some(call) = observed.event.call.as_deref().or(in_data) else { return };
        let is_rejection = told.as_ref().is_some_and(|told| told.status.as_deref() == Some(REJECTED));
        self.watched.end(call, kind, is_rejection && kind == ToolBlocked::KIND);
    }

    fn answer(&mut self, observed: &ObservedEvent<'_>) {
        if let Some(told) = data_of::<ResolutionEvent>(observed) {
            self.watched.answer(&told.approval, told.resolution == REJECTED);
        }
    }
}

impl Fold for TrialRun<'_> {
    fn concerns(&self, kind: &str) -> bool {
        const KINDS: [&str; 6] = [
            DecisionMade::KIND,
            ToolRequested::KIND,
            ToolCompleted::KIND,
            ToolFailed::KIND,
            ToolBlocked::KIND,
            ApprovalResolved::KIND,
        ];
        KINDS.contains(&kind)
    }

    /// Folds a frame. Derived events stand behind their causes, in the same frame.
    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.requests.clear();
        for observed in frame {
            match &*observed.event.kind {
                DecisionMade::KIND => self.judge(observed),
                ApprovalResolved::KIND => self.answer(observed),
                ToolRequested::KIND => {
                    let request = data_of(observed);
                    self.requests.extend(request.map(|request| (observed.position.get(), request)));
                }
                _ => self.end(observed),
            }
        }
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.bar.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        self.stop.flow()
    }
}

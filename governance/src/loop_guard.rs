//! Loop detection: identical calls in a row, calls and steps of a run, and its depth below others.
//!
//! A call is watched in the run that it belongs to, and among its agent's calls in its session. One that names neither is watched
//! among its agent's calls without one. The run, the session and a run's beginning are the caller's word.

mod cycle;
mod ends;
mod name;
mod objection;
mod own_budget;
mod question;

use bitacora_formats::Micros;
use bitacora_vocabulary::{CallBounds, LoopKind, Name, OnExceed, ReasonCode, RunStarted, Sha256Text};
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_ROUNDS, MAX_ROUNDS_OF_AGENT, ROUND_LIFE};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::{holds_run_budgets, is_isolated, is_strict, sees_cycles};

pub(crate) use cycle::OngoingLoop;
use cycle::{Cycle, RepeatLimits};
use ends::AwaitedRuns;
pub use ends::OverdueRun;
pub(crate) use name::LoopKey;
pub(crate) use objection::Objection;
use own_budget::OwnLimits;
pub(crate) use question::LoopQuestion;

/// Runs and sessions that are looked at, and taken away if they are quiet, with each that is counted.
const SWEPT_AT_ONCE: usize = 8;

/// The record of a run or a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopRecord {
    /// The agent that it is one of.
    pub(crate) agent: Option<String>,
    /// The time of the last event in it, in microseconds.
    last: u64,
    /// The last call, its action, and the number of times in a row.
    call: Option<Name>,
    action: Option<CallSignature>,
    times: u32,
    /// The latest calls, by the newest rules.
    #[serde(default, skip_serializing_if = "Cycle::is_empty")]
    cycle: Cycle,
    /// Calls that may have run.
    calls: u64,
    /// Steps that came to their end.
    steps: u64,
    /// The folder in which the first call of a session worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<Sha256Text>,
    /// The beginning of the run, once it was told.
    begun: Option<RunTerms>,
    /// Its end was told.
    #[serde(default, skip_serializing_if = "is_false")]
    is_ended: bool,
    /// It was ended because a budget was spent.
    #[serde(default, skip_serializing_if = "is_false")]
    is_aborted: bool,
    /// Set when it was told already.
    is_loop_told: bool,
    is_cap_told: bool,
}

/// A tool, and the digest of all arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CallSignature {
    tool: String,
    args: Sha256Text,
    /// The agent that did it; not told by the first versions of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

/// The terms that a run was begun with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RunTerms {
    /// Runs above it.
    depth: u32,
    calls: Option<u64>,
    steps: Option<u64>,
    /// The time of the beginning, in microseconds, by rules that hold the rest of its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<OwnLimits>,
    /// The consequence of a spent budget; calls are denied without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_exceed: Option<OnExceed>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The runs and sessions in which anything happened of late.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoopGuard {
    pub(crate) by_name: UndoMap<LoopKey, LoopRecord>,
    /// Rounds by the time at which the sweep checks whether they are quiet.
    leaving: UndoMap<(Micros, LoopKey), ()>,
    #[serde(default, skip_serializing_if = "AwaitedRuns::is_empty")]
    awaited: AwaitedRuns,
    pub(crate) shares: PerAgentQuota,
}

impl LoopGuard {
    /// Returns the gravest objection to a call.
    ///
    /// # Errors
    /// The kind of entry that leaves no room to watch the call.
    pub(crate) fn due(
        &self,
        question: &LoopQuestion<'_>,
        bounds: &CallBounds,
        time: Micros,
    ) -> Result<Option<Objection>, &'static str> {
        let mut new = 0;
        let mut gravest: Option<Objection> = None;
        for (name, place) in question.names().into_iter().flatten().zip(question.places()) {
            let Some(round) = self.by_name.get(&name) else {
                new += 1;
                continue;
            };
            let found = round.objection(question, place, bounds, time);
            let is_graver = |found: &Objection| gravest.is_none_or(|other| found.gravity() < other.gravity());
            gravest = found.filter(is_graver).or(gravest);
        }
        if new > 0
            && let Some(what) = self.full(question.agent, new, time)
        {
            return Err(what);
        }
        Ok(gravest)
    }

    /// Returns the folder in which the first call of a call's session worked.
    pub(crate) fn session_folder(&self, question: &LoopQuestion<'_>) -> Option<&Sha256Text> {
        let session = LoopKey::of_agent(question.agent, question.session?);
        self.by_name.get(&session)?.folder.as_ref()
    }

    /// Returns the kind of entry that has no room.
    fn full(&self, agent: Option<&str>, new: usize, time: Micros) -> Option<&'static str> {
        if self.shares.held(agent) + new > MAX_ROUNDS_OF_AGENT {
            return Some("this agent's runs and sessions");
        }
        let due = self.leaving.iter().take_while(|((end, _), ())| *end <= time).take(SWEPT_AT_ONCE);
        let leaves = due.filter(|((_, name), ())| self.stays_until(name, time).is_none());
        let is_full = self.by_name.len() + new > MAX_ROUNDS && leaves.count() < new;
        is_full.then_some("runs and sessions")
    }

    /// Folds a call that was decided within these bounds, and whether it may have run.
    pub(crate) fn apply_decided(
        &mut self,
        question: &LoopQuestion<'_>,
        bounds: &CallBounds,
        may_run: bool,
        time: Micros,
    ) {
        for (name, place) in question.names().into_iter().flatten().zip(question.places()) {
            let before = self.by_name.get(&name).map(|round| round.cycle_before(question, place, time));
            self.change(&name, question.agent, time, |round| {
                if place == WatchScope::Session && round.folder.is_none() {
                    round.folder = question.session_folder.cloned();
                }
                // Once a greater bound is set and not met, the next excess is told again.
                if is_strict(question.rules) && !round.is_past(bounds) {
                    round.is_cap_told = false;
                }
                if sees_cycles(question.rules) {
                    round.cycle = before.unwrap_or_default();
                    round.cycle.take(question);
                    round.is_loop_told &= round.cycle.ongoing_loop(&place.repeats(bounds)).is_some();
                } else {
                    round.apply_decided(question);
                }
                round.calls = round.calls.saturating_add(u64::from(may_run));
            });
        }
        self.keep_known(question, time);
    }

    /// Keeps the depth of a run known as long as its own agent goes on in it. Once forgotten, another agent could set it anew.
    fn keep_known(&mut self, question: &LoopQuestion<'_>, time: Micros) {
        let Some(run) = question.run.filter(|_| is_isolated(question.rules)) else { return };
        let own = self.by_name.get(&LoopKey::of_run_by(question.agent, run, question.rules));
        if let Some(begun) = own.and_then(|own| own.begun) {
            let begun = RunTerms { at: None, own: None, on_exceed: None, ..begun };
            self.begin(&LoopKey::of_run(run), question.agent, begun, time);
        }
    }

    /// Begins a run in a round, or lowers its depth there.
    fn begin(&mut self, name: &LoopKey, agent: Option<&str>, begun: RunTerms, time: Micros) {
        self.change(name, agent, time, |round| {
            let known = round.begun.get_or_insert(begun);
            known.depth = known.depth.min(begun.depth);
        });
    }

    /// Folds `loop.detected`, told of these.
    pub(crate) fn apply_report(&mut self, names: [Option<LoopKey>; 2], kind: LoopKind, time: Micros) {
        for name in names.into_iter().flatten() {
            self.change(&name, None, time, |round| match kind {
                LoopKind::IdenticalCalls | LoopKind::RepeatedCycle | LoopKind::PollCalls => {
                    round.is_loop_told = true;
                }
                LoopKind::IterationCap => round.is_cap_told = true,
            });
        }
    }

    /// Folds `run.started`. The first beginning stands; by the newest rules, one for each agent. The children of other agents go by
    /// the least depth at which any agent began the run. So an agent cannot put another one's run deeper by naming it. For less
    /// depth it could leave out its parent anyway.
    pub(crate) fn apply_started(
        &mut self,
        started: &RunStarted,
        (agent, awaited): (Option<&str>, Micros),
        rules: u32,
        time: Micros,
    ) {
        let above = |parent: &str| {
            // A parent of the agent's own, or else one that it was handed.
            let names = [LoopKey::of_run_by(agent, parent, rules), LoopKey::of_run(parent)];
            names.iter().find_map(|name| self.by_name.get(name)?.begun)
        };
        // Of a parent that nobody knows of it is only known that there is one.
        let depth = started
            .parent
            .as_deref()
            .map_or(0, |parent| above(parent).map_or(0, |begun| begun.depth).saturating_add(1));
        let budget = started.budget.unwrap_or_default();
        let (calls, steps) = (budget.calls.map(u64::from), budget.steps.map(u64::from));
        let begun = RunTerms { depth, calls, steps, at: None, own: None, on_exceed: None };
        let known_by_all = LoopKey::of_run(&started.run);
        if is_isolated(rules) {
            self.begin(&known_by_all, agent, begun, time);
        }
        let own = LoopKey::of_run_by(agent, &started.run, rules);
        let is_new = self.by_name.get(&own).is_none_or(|round| round.begun.is_none());
        let is_held = holds_run_budgets(rules);
        let begun = RunTerms {
            at: is_held.then_some(time.0),
            own: OwnLimits::of(&budget).filter(|_| is_held),
            on_exceed: budget.on_exceed.filter(|_| is_held),
            ..begun
        };
        self.change(&own, agent, time, |round| {
            round.begun.get_or_insert(begun);
        });
        if is_held && is_new {
            self.awaited.begin(&own, agent, awaited, time);
        }
    }

    /// Folds a step that came to its end. One of another agent than the run's is none of it.
    pub(crate) fn apply_step(&mut self, run: &str, agent: Option<&str>, rules: u32, time: Micros) {
        let name = LoopKey::of_run_by(agent, run, rules);
        let known = self.by_name.get(&name).and_then(|round| round.agent.as_deref());
        let is_of_others = agent.zip(known).is_some_and(|(agent, known)| agent != known);
        if is_strict(rules) && is_of_others {
            return;
        }
        self.change(&name, agent, time, |round| {
            round.steps = round.steps.saturating_add(1);
        });
    }

    /// Folds a checkpoint: it is progress of the agent that makes it, and of no other.
    pub(crate) fn apply_checkpoint(
        &mut self,
        session: Option<&str>,
        run: Option<&str>,
        agent: Option<&str>,
        rules: u32,
        time: Micros,
    ) {
        for name in LoopKey::of(agent, session, run, rules).into_iter().flatten() {
            let Some(round) = self.by_name.get(&name) else { continue };
            let is_of_others = round.agent.is_some() && round.agent.as_deref() != agent;
            if is_strict(rules) && is_of_others {
                continue;
            }
            self.change(&name, None, time, |round| {
                (round.action, round.times, round.is_loop_told) = (None, 0, false);
                round.cycle.refresh();
            });
        }
    }

    fn change(
        &mut self,
        name: &LoopKey,
        agent: Option<&str>,
        time: Micros,
        change: impl FnOnce(&mut LoopRecord),
    ) {
        if self.by_name.get(name).is_none() {
            self.sweep(time);
            if self.full(agent, 1, time).is_some() {
                return;
            }
            self.shares.add(agent);
            self.leaving.insert((after_life(time.0), name.clone()), ());
            let round = LoopRecord { agent: agent.map(str::to_owned), ..LoopRecord::default() };
            self.by_name.insert(name.clone(), round);
        }
        self.by_name.change(name, |round| {
            round.last = time.0;
            change(round);
        });
    }

    fn sweep(&mut self, time: Micros) {
        let due = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let due: Vec<_> = due.take(SWEPT_AT_ONCE).cloned().collect();
        for (end, name) in due {
            self.leaving.remove(&(end, name.clone()));
            if let Some(until) = self.stays_until(&name, time) {
                self.leaving.insert((until, name), ());
            } else if let Some((_, round)) = self.by_name.take(&name) {
                self.shares.take(round.agent.as_deref());
            }
        }
    }

    /// Returns the time until which one is kept; `None` where it was quiet for long enough.
    fn stays_until(&self, name: &LoopKey, time: Micros) -> Option<Micros> {
        Some(self.by_name.get(name)?.end_of_life()).filter(|until| *until > time)
    }

    pub(crate) fn pause(&mut self) {
        self.by_name.pause();
        self.leaving.pause();
        self.awaited.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_name.resume();
        self.leaving.resume();
        self.awaited.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_name.keep();
        self.leaving.keep();
        self.awaited.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_name.discard();
        self.leaving.discard();
        self.awaited.discard();
        self.shares.discard();
    }
}

impl LoopRecord {
    /// Returns the objection to a call in it.
    fn objection(
        &self,
        question: &LoopQuestion<'_>,
        place: WatchScope,
        bounds: &CallBounds,
        time: Micros,
    ) -> Option<Objection> {
        let on_exceed = OnExceed::Deny;
        if place == WatchScope::Run && self.is_aborted {
            let (code, count, bound) = (ReasonCode::RunAborted, self.calls, self.calls);
            return Some(Objection { code, count, bound, ongoing_loop: None, unreported: None, on_exceed });
        }
        let depth = self.begun.map_or(0, |begun| begun.depth);
        if depth > bounds.delegation_depth() {
            let (code, count) = (ReasonCode::DelegationTooDeep, depth.into());
            let bound = bounds.delegation_depth().into();
            return Some(Objection { code, count, bound, ongoing_loop: None, unreported: None, on_exceed });
        }
        if let Some(ongoing_loop) = self.turning_with(question, place, bounds, time) {
            let unreported = (!self.is_loop_told).then_some(ongoing_loop.kind());
            let bound = ongoing_loop.bound(&place.repeats(bounds)).into();
            let code = ReasonCode::LoopDetected;
            let count = ongoing_loop.count().into();
            return Some(Objection {
                code,
                count,
                bound,
                ongoing_loop: Some(ongoing_loop),
                unreported,
                on_exceed,
            });
        }
        let unreported = (!self.is_cap_told).then_some(LoopKind::IterationCap);
        let count = self.calls.max(self.steps);
        let is_past = place == WatchScope::Run && self.is_past(bounds);
        let bound = self.most(bounds);
        // Past what the policy lets any run take, its own word on what follows is none.
        let is_all = self.calls.max(self.steps) >= bounds.steps_of_run().into();
        let own = self.begun.and_then(|begun| begun.on_exceed).filter(|_| !is_all);
        let (code, on_exceed) = (ReasonCode::IterationCap, own.unwrap_or(on_exceed));
        is_past.then_some(Objection { code, count, bound, ongoing_loop: None, unreported, on_exceed })
    }

    /// Returns the loop that this call would complete.
    fn turning_with(
        &self,
        question: &LoopQuestion<'_>,
        place: WatchScope,
        bounds: &CallBounds,
        time: Micros,
    ) -> Option<OngoingLoop> {
        if sees_cycles(question.rules) {
            return self.cycle_before(question, place, time).turning_with(question, &place.repeats(bounds));
        }
        let times = self.times_with(question);
        (times >= bounds.identical_calls()).then_some(OngoingLoop::Cycle { calls: 1, times })
    }

    /// Returns the latest calls, as far as one at this time goes on from them. Calls without a session or a run go on only from
    /// ones shortly before: an hourly call is no loop.
    fn cycle_before(&self, question: &LoopQuestion<'_>, place: WatchScope, time: Micros) -> Cycle {
        let is_quiet = place == WatchScope::Alone && self.last.saturating_add(question.alone.0) <= time.0;
        if is_quiet { Cycle::default() } else { self.cycle.clone() }
    }

    /// Returns the fewest steps or calls that it may take.
    fn most(&self, bounds: &CallBounds) -> u64 {
        let own = self.begun.and_then(|begun| begun.calls.into_iter().chain(begun.steps).min());
        own.unwrap_or(u64::MAX).min(bounds.steps_of_run().into())
    }

    /// Returns `true` if it took all the calls or steps that a run may.
    fn is_past(&self, bounds: &CallBounds) -> bool {
        let most = |own: Option<u64>| own.unwrap_or(u64::MAX).min(bounds.steps_of_run().into());
        self.calls >= most(self.begun.and_then(|begun| begun.calls))
            || self.steps >= most(self.begun.and_then(|begun| begun.steps))
    }

    fn apply_decided(&mut self, question: &LoopQuestion<'_>) {
        // Asked for again, with an approval or after a wait, it is still the same call.
        let is_again = self.call.as_deref() == Some(question.call);
        let times = self.times_with(question);
        if times <= 1 {
            self.is_loop_told = false;
        }
        self.times = times;
        if !is_again || is_strict(question.rules) {
            self.call = Name::new(question.call).ok();
            self.action = question.action();
        }
    }

    /// Returns the number of times in a row that this call is made, with this time. Unknown arguments are never the same.
    fn times_with(&self, question: &LoopQuestion<'_>) -> u32 {
        let has_its_id = self.call.as_deref() == Some(question.call);
        let is_strict = is_strict(question.rules);
        if has_its_id && !is_strict {
            return self.times;
        }
        let is_same = self.action.as_ref().is_some_and(|action| question.does(action));
        // Under an id that is free again another call is made.
        if has_its_id && question.is_open && is_same {
            return self.times;
        }
        if is_same { self.times.saturating_add(1) } else { 1 }
    }
}

/// The scope in which a call is watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchScope {
    Run,
    Session,
    Alone,
}

impl WatchScope {
    fn repeats(self, bounds: &CallBounds) -> RepeatLimits<'_> {
        RepeatLimits { bounds, is_alone: self == Self::Alone }
    }
}

/// Returns the time at which one that is quiet from now on is forgotten.
fn after_life(last: u64) -> Micros {
    Micros(last.saturating_add(ROUND_LIFE.0))
}

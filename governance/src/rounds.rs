//! What goes round: identical calls in a row, steps and calls of a run, and how often its work was handed on.
//!
//! A call is watched in the run that it belongs to, else in its session; one that names neither in none. Which that is, and by whom a
//! run was begun, is the caller's word.

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{CallBounds, LoopKind, Name, ReasonCode, RunStarted, Sha256Text};
use serde::{Deserialize, Serialize};

use crate::journal::Journaled;
use crate::limits::{MAX_ROUNDS, MAX_ROUNDS_OF_AGENT, ROUND_LIFE};
use crate::shares::Shares;

/// Runs and sessions that are looked at, and taken away if they are quiet, with each that is counted.
const SWEPT_AT_ONCE: usize = 8;

/// What is known of a run or a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Round {
    /// The agent that it is one of.
    agent: Option<String>,
    /// When anything happened in it last, in microseconds.
    last: u64,
    /// The last call, what it was to do, and how often in a row.
    call: Option<Name>,
    action: Option<Action>,
    times: u32,
    /// Calls that may have run.
    calls: u64,
    /// Steps that came to their end.
    steps: u64,
    /// What the run was begun with, once it was.
    begun: Option<Begun>,
    /// What was told of it already.
    is_loop_told: bool,
    is_cap_told: bool,
}

/// A tool, and the digest of all arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Action {
    tool: String,
    args: Sha256Text,
}

/// What a run was begun with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    /// Runs above it.
    depth: u32,
    calls: Option<u64>,
    steps: Option<u64>,
}

/// The runs and sessions in which anything happened of late.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rounds {
    by_name: Journaled<RoundName, Round>,
    /// By a time at which it is looked whether they are quiet.
    leaving: Journaled<(Micros, RoundName), ()>,
    shares: Shares,
}

/// A call, as far as it may go round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundQuestion<'a> {
    pub(crate) call: &'a str,
    /// With its server.
    pub(crate) tool: &'a str,
    /// Of all arguments.
    pub(crate) args: Option<&'a Sha256Text>,
    pub(crate) agent: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
}

/// What stands against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Objection {
    pub(crate) code: ReasonCode,
    /// How often, how many or how deep.
    pub(crate) count: u64,
    /// What is to be told, where it was not yet.
    pub(crate) untold: Option<LoopKind>,
}

/// What calls are watched in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RoundName(String);

impl RoundName {
    /// A run, else a session.
    pub(crate) fn of(session: Option<&str>, run: Option<&str>) -> Option<Self> {
        match (run, session) {
            (Some(run), _) => Some(Self::of_run(run)),
            (None, Some(session)) => Some(Self(format!("session/{session}"))),
            (None, None) => None,
        }
    }

    fn of_run(run: &str) -> Self {
        Self(format!("run/{run}"))
    }
}

impl Rounds {
    /// What stands against a call, the gravest first; `Err` where there is no room to watch it.
    pub(crate) fn due(
        &self,
        question: &RoundQuestion<'_>,
        bounds: CallBounds,
        time: Micros,
    ) -> Result<Option<Objection>, &'static str> {
        let Some(name) = RoundName::of(question.session, question.run) else { return Ok(None) };
        let Some(round) = self.by_name.get(&name) else {
            return self.full(question.agent, time).map_or(Ok(None), Err);
        };
        let most = |own: Option<u64>| own.unwrap_or(u64::MAX).min(bounds.steps_of_run().into());
        let begun = round.begun;
        let depth = begun.map_or(0, |begun| begun.depth);
        if depth > bounds.delegation_depth() {
            let (code, count) = (ReasonCode::DelegationTooDeep, depth.into());
            return Ok(Some(Objection { code, count, untold: None }));
        }
        let times = round.times_with(question);
        if times >= bounds.identical_calls() {
            let untold = (!round.is_loop_told).then_some(LoopKind::IdenticalCalls);
            return Ok(Some(Objection { code: ReasonCode::LoopDetected, count: times.into(), untold }));
        }
        let is_past = question.run.is_some()
            && (round.calls >= most(begun.and_then(|begun| begun.calls))
                || round.steps >= most(begun.and_then(|begun| begun.steps)));
        let untold = (!round.is_cap_told).then_some(LoopKind::IterationCap);
        let count = round.calls.max(round.steps);
        Ok(is_past.then_some(Objection { code: ReasonCode::IterationCap, count, untold }))
    }

    /// What there is no room for.
    fn full(&self, agent: Option<&str>, time: Micros) -> Option<&'static str> {
        if self.shares.held(agent) >= MAX_ROUNDS_OF_AGENT {
            return Some("this agent's runs and sessions");
        }
        let due = self.leaving.iter().take_while(|((end, _), ())| *end <= time).take(SWEPT_AT_ONCE);
        let mut leaves = due.filter(|((_, name), ())| self.stays_until(name, time).is_none());
        (self.by_name.len() >= MAX_ROUNDS && leaves.next().is_none()).then_some("runs and sessions")
    }

    /// Folds a call that was decided, and whether it may have run.
    pub(crate) fn apply_decided(&mut self, question: &RoundQuestion<'_>, may_run: bool, time: Micros) {
        let Some(name) = RoundName::of(question.session, question.run) else { return };
        self.change(&name, question.agent, time, |round| {
            // Asked for again, with an approval or after a wait, it is still the same call.
            let is_again = round.call.as_deref() == Some(question.call);
            let times = round.times_with(question);
            if times <= 1 {
                round.is_loop_told = false;
            }
            round.times = times;
            if !is_again {
                round.call = Name::new(question.call).ok();
                round.action =
                    question.args.map(|args| Action { tool: question.tool.to_owned(), args: args.clone() });
            }
            round.calls = round.calls.saturating_add(u64::from(may_run));
        });
    }

    /// Folds `loop.detected`.
    pub(crate) fn apply_told(&mut self, name: &RoundName, kind: LoopKind, time: Micros) {
        self.change(name, None, time, |round| match kind {
            LoopKind::IdenticalCalls => round.is_loop_told = true,
            LoopKind::IterationCap => round.is_cap_told = true,
        });
    }

    /// Folds `run.started`. What it was begun with first stands.
    pub(crate) fn apply_started(&mut self, started: &RunStarted, agent: Option<&str>, time: Micros) {
        let parent = started.parent.as_deref().map(RoundName::of_run);
        let above = |name: &RoundName| self.by_name.get(name).and_then(|round| round.begun);
        // Of a parent that nobody knows of it is only known that there is one.
        let depth = parent.map_or(0, |name| above(&name).map_or(0, |begun| begun.depth).saturating_add(1));
        let budget = started.budget.unwrap_or_default();
        let begun = Begun { depth, calls: budget.calls.map(u64::from), steps: budget.steps.map(u64::from) };
        self.change(&RoundName::of_run(&started.run), agent, time, |round| {
            round.begun.get_or_insert(begun);
        });
    }

    /// Folds a step that came to its end.
    pub(crate) fn apply_step(&mut self, run: &str, agent: Option<&str>, time: Micros) {
        self.change(&RoundName::of_run(run), agent, time, |round| {
            round.steps = round.steps.saturating_add(1);
        });
    }

    /// Folds a checkpoint: whoever keeps what was reached has come further.
    pub(crate) fn apply_checkpoint(&mut self, session: Option<&str>, run: Option<&str>, time: Micros) {
        let Some(name) = RoundName::of(session, run).filter(|name| self.by_name.get(name).is_some()) else {
            return;
        };
        self.change(&name, None, time, |round| {
            (round.action, round.times, round.is_loop_told) = (None, 0, false);
        });
    }

    fn change(
        &mut self,
        name: &RoundName,
        agent: Option<&str>,
        time: Micros,
        change: impl FnOnce(&mut Round),
    ) {
        if self.by_name.get(name).is_none() {
            self.sweep(time);
            if self.full(agent, time).is_some() {
                return;
            }
            self.shares.add(agent);
            self.leaving.insert((after_life(time.0), name.clone()), ());
            let round = Round { agent: agent.map(str::to_owned), ..Round::default() };
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

    /// Until when one is kept; `None` where it was quiet for long enough.
    fn stays_until(&self, name: &RoundName, time: Micros) -> Option<Micros> {
        let last = self.by_name.get(name)?.last;
        Some(after_life(last)).filter(|until| *until > time)
    }

    pub(crate) fn pause(&mut self) {
        self.by_name.pause();
        self.leaving.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_name.resume();
        self.leaving.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_name.keep();
        self.leaving.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_name.discard();
        self.leaving.discard();
        self.shares.discard();
    }
}

impl Round {
    /// How often in a row this call is made, with this time. Of arguments that nobody knows none are the same.
    fn times_with(&self, question: &RoundQuestion<'_>) -> u32 {
        if self.call.as_deref() == Some(question.call) {
            return self.times;
        }
        let is_same = |action: &Action| action.tool == question.tool && Some(&action.args) == question.args;
        if self.action.as_ref().is_some_and(is_same) { self.times.saturating_add(1) } else { 1 }
    }
}

/// When one that is quiet from now on is forgotten.
fn after_life(last: u64) -> Micros {
    Micros(last.saturating_add(ROUND_LIFE.0))
}

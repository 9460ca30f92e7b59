//! Ends of runs: told, or awaited for too long.

use bitacora_formats::Micros;
use serde::{Deserialize, Serialize};

use super::{LoopGuard, LoopKey, LoopRecord, after_life};
use crate::limits::{BUDGET_WINDOW_LIFE, MAX_AWAITED_RUNS, MAX_AWAITED_RUNS_OF_AGENT};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::holds_run_budgets;

/// A run that has not told its end in the time that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueRun {
    /// The run.
    pub run: String,
    /// The agent whose run it is.
    pub agent: Option<String>,
    /// The time at which it began.
    pub began: Micros,
}

/// Runs whose end is awaited. Those past the room for them are not: that decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AwaitedRuns {
    by_name: UndoMap<LoopKey, AwaitedRun>,
    /// Runs by the time at which the missing end is told.
    by_due: UndoMap<(Micros, LoopKey), ()>,
    shares: PerAgentQuota,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AwaitedRun {
    agent: Option<String>,
    began: Micros,
    due: Micros,
}

impl AwaitedRuns {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Awaits the end of a run that begins now, for this long.
    pub(super) fn begin(&mut self, name: &LoopKey, agent: Option<&str>, life: Micros, time: Micros) {
        let is_full =
            self.by_name.len() >= MAX_AWAITED_RUNS || self.shares.held(agent) >= MAX_AWAITED_RUNS_OF_AGENT;
        if is_full || self.by_name.get(name).is_some() {
            return;
        }
        let due = Micros(time.0.saturating_add(life.0));
        self.shares.add(agent);
        self.by_due.insert((due, name.clone()), ());
        self.by_name.insert(name.clone(), AwaitedRun { agent: agent.map(str::to_owned), began: time, due });
    }

    fn end(&mut self, name: &LoopKey) {
        if let Some((name, awaited)) = self.by_name.take(name) {
            self.shares.take(awaited.agent.as_deref());
            self.by_due.remove(&(awaited.due, name));
        }
    }

    pub(super) fn pause(&mut self) {
        self.by_name.pause();
        self.by_due.pause();
        self.shares.pause();
    }

    pub(super) fn resume(&mut self) {
        self.by_name.resume();
        self.by_due.resume();
        self.shares.resume();
    }

    pub(super) fn keep(&mut self) {
        self.by_name.keep();
        self.by_due.keep();
        self.shares.keep();
    }

    pub(super) fn discard(&mut self) {
        self.by_name.discard();
        self.by_due.discard();
        self.shares.discard();
    }
}

impl LoopGuard {
    /// Folds the end of an agent's run, by the rules that hold its budget.
    pub(crate) fn apply_ended(&mut self, run: &str, agent: Option<&str>, rules: u32, is_abort: bool) {
        if !holds_run_budgets(rules) {
            return;
        }
        let name = LoopKey::of_run_by(agent, run, rules);
        self.awaited.end(&name);
        if self.by_name.get(&name).is_some() {
            self.by_name.change(&name, |round| {
                round.is_ended = true;
                round.is_aborted |= is_abort;
            });
        }
    }

    /// Folds `run.overdue`: the missing end of a run was told.
    pub(crate) fn apply_overdue(&mut self, run: &str, agent: Option<&str>, rules: u32) {
        self.awaited.end(&LoopKey::of_run_by(agent, run, rules));
    }

    /// Returns runs whose end is awaited past this time, the earliest first.
    pub(crate) fn overdue(&self, time: Micros) -> impl Iterator<Item = OverdueRun> {
        let due = self.awaited.by_due.iter().map(|(key, ())| key).take_while(move |(due, _)| *due <= time);
        due.filter_map(|(_, name)| {
            let AwaitedRun { agent, began, .. } = self.awaited.by_name.get(name)?;
            Some(OverdueRun { run: name.run()?.to_owned(), agent: agent.clone(), began: *began })
        })
    }

    /// Returns `true` if a run's end is awaited past this time.
    pub(crate) fn is_overdue(&self, run: &str, agent: Option<&str>, rules: u32, time: Micros) -> bool {
        let awaited = self.awaited.by_name.get(&LoopKey::of_run_by(agent, run, rules));
        awaited.is_some_and(|awaited| awaited.due <= time)
    }
}

impl LoopRecord {
    /// Returns the time at which it may be forgotten. A run with a budget to be held is kept for as long as its spending is.
    pub(super) fn end_of_life(&self) -> Micros {
        let is_held = !self.is_ended && self.begun.is_some_and(|begun| begun.own.is_some());
        let held = if is_held { self.last.saturating_add(BUDGET_WINDOW_LIFE.0) } else { 0 };
        after_life(self.last).max(Micros(held))
    }
}

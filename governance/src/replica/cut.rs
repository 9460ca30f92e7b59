//! The cut of a state for one executor, and its changes since the last one.
//!
//! The parts are chosen one by one, and every part is named: a new one has to be thought of here before the program compiles. A
//! part that is not chosen reaches nobody, neither with the first piece nor with a later one.

use bitacora_vocabulary::{BudgetConfigured, BudgetPeriod};

use super::patch::{AgentDimensionCount, MapPatch, StatePatch};
use crate::budgets::meter::Meter;
use crate::budgets::{Budgets, WindowKey};
use crate::calls::executor::Executor;
use crate::loop_guard::{LoopGuard, LoopKey};
use crate::policy::policies::Policies;
use crate::state::State;
use crate::trust::new_dimensions::NewDimensions;
use crate::undo::cow_cell::CowCell;
use crate::undo::undo_map::UndoMap;
use crate::version::{OLDEST_REACTOR_VERSION, REACTOR_VERSION};

/// Dimensions in one piece.
pub const MAX_PIECE_ENTRIES: usize = 4_096;

/// The progress of a cut: it comes in pieces, so that no more than one of them is held at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CutProgress {
    step: Step,
    /// Entries of this step that were given.
    given: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Others,
    Trust,
    Breakers,
    Done,
}

impl State {
    /// Returns the next piece of the changes since `before` that concern an executor; `None` behind the last. Without changes there
    /// is no piece, but the first state has one.
    #[must_use]
    pub fn next_piece(
        &self,
        before: Option<&Self>,
        executor: &Executor,
        progress: &mut CutProgress,
    ) -> Option<StatePatch> {
        let nothing = Self::default();
        let since = before.unwrap_or(&nothing);
        loop {
            let CutProgress { step, given } = *progress;
            let mut patch = StatePatch::default();
            let (count, next) = match step {
                Step::Others => {
                    patch = self.other_parts(since, executor);
                    (0, Step::Trust)
                }
                Step::Trust => {
                    patch.trust = piece(&self.trust, &since.trust, given);
                    (patch.trust.put.len() + patch.trust.gone.len(), Step::Breakers)
                }
                Step::Breakers => {
                    patch.breakers = piece(&self.breakers, &since.breakers, given);
                    (patch.breakers.put.len() + patch.breakers.gone.len(), Step::Done)
                }
                Step::Done => return None,
            };
            *progress = if count < MAX_PIECE_ENTRIES {
                CutProgress { step: next, given: 0 }
            } else {
                CutProgress { step, given: given + count }
            };
            if !patch.is_empty() || (before.is_none() && step == Step::Others) {
                return Some(patch);
            }
        }
    }

    /// Returns `true` if there is another piece behind one that was given.
    #[must_use]
    pub fn has_more_pieces(&self, before: Option<&Self>, progress: CutProgress) -> bool {
        let nothing = Self::default();
        let since = before.unwrap_or(&nothing);
        let CutProgress { step, given } = progress;
        let has_breakers = |given| self.breakers.changes_since(&since.breakers).len() > given;
        match step {
            Step::Others | Step::Trust => {
                self.trust.changes_since(&since.trust).len() > given || has_breakers(0)
            }
            Step::Breakers => has_breakers(given),
            Step::Done => false,
        }
    }

    /// Returns the changes of all parts but the dimensions.
    fn other_parts(&self, before: &Self, executor: &Executor) -> StatePatch {
        let Self {
            trust: _,
            breakers: _,
            probes,
            calls,
            approvals,
            keys,
            rates,
            registry,
            policies,
            modes,
            grants,
            suspensions,
            clock,
            begun,
            time,
            unread,
            budgets,
            loop_guard,
            contracts,
            // Nothing of these has a part in a decision on what is called here and now.
            imported: _,
            imported_time: _,
            imports: _,
            imported_calls: _,
            live_sessions: _,
            principals: _,
            custom_types: _,
            rules: _,
            ended_calls: _,
            checks_failed: _,
            tool_sightings: _,
            holds: _,
            retention: _,
        } = self;
        let agent = executor.agent.as_deref();
        StatePatch {
            trust: MapPatch::default(),
            breakers: MapPatch::default(),
            probes: changes(probes, &before.probes, |_, _| true),
            calls: changes(&calls.by_id, &before.calls.by_id, |_, open| {
                executor.is_own(open.agent.as_deref())
            }),
            approvals: changes(&approvals.by_id, &before.approvals.by_id, |_, approval| {
                executor.is_own(approval.request.agent.as_deref())
            }),
            keys: changes(&keys.used, &before.keys.used, |key, _| executor.is_own(key.agent())),
            rate_limits: changes(&rates.limits, &before.rates.limits, |scope, _| executor.is_in_rate(scope)),
            rolling_limits: changes(&rates.rolling.limits, &before.rates.rolling.limits, |scope, _| {
                executor.is_in_rate(scope)
            }),
            rolling_taken: changes(&rates.rolling.taken, &before.rates.rolling.taken, |scope, _| {
                executor.is_in_rate(scope)
            }),
            rate_buckets: changes(&rates.buckets, &before.rates.buckets, |scope, _| {
                executor.is_in_rate(scope)
            }),
            budgets: changes(&budgets.configured, &before.budgets.configured, |_, budget| {
                executor.is_in_budget(&budget.scope)
            }),
            meters: meters(self, before, executor),
            rounds: changes(&loop_guard.by_name, &before.loop_guard.by_name, |_, round| {
                executor.is_own(round.agent.as_deref())
            }),
            contracts: changes(&contracts.defined, &before.contracts.defined, |_, _| true),
            broken: changes(&contracts.broken, &before.contracts.broken, |(of, _), _| {
                of == executor.counted()
            }),
            registry: value(registry, &before.registry, Clone::clone),
            policies: value(policies, &before.policies, Policies::active_alone),
            modes: value(modes, &before.modes, |modes| modes.of_executor(executor)),
            grants: value(grants, &before.grants, |grants| grants.of_agent(agent)),
            stops: value(suspensions, &before.suspensions, |stops| stops.of_agent(agent)),
            clock: value(clock, &before.clock, |clock| *clock),
            time: value(time, &before.time, |time| *time),
            unread: value(unread, &before.unread, |unread| *unread),
            begun: begun_by(agent, begun, &before.begun),
        }
    }
}

/// Returns the number of dimensions that an agent began, if it changed.
fn begun_by(
    agent: Option<&str>,
    begun: &NewDimensions,
    before: &NewDimensions,
) -> Option<AgentDimensionCount> {
    let of =
        |begun: &NewDimensions| AgentDimensionCount { day: *begun.day.get(), begun: begun.begun.held(agent) };
    (of(begun) != of(before)).then(|| of(begun))
}

/// Returns the changes of a map that concern the executor. An entry that no longer concerns it counts as gone.
fn changes<K: Ord + Clone, V: Clone + PartialEq>(
    map: &UndoMap<K, V>,
    before: &UndoMap<K, V>,
    concerns: impl Fn(&K, &V) -> bool,
) -> MapPatch<K, V> {
    let mut patch = MapPatch::default();
    for (key, value) in map.changes_since(before) {
        match value.filter(|value| concerns(key, value)) {
            Some(value) => patch.put.push((key.clone(), value.clone())),
            None if before.get(key).is_some_and(|value| concerns(key, value)) => patch.gone.push(key.clone()),
            None => {}
        }
    }
    patch
}

/// Returns some of the changes of a map, behind as many as were given.
fn piece<K: Ord + Clone, V: Clone + PartialEq>(
    map: &UndoMap<K, V>,
    before: &UndoMap<K, V>,
    given: usize,
) -> MapPatch<K, V> {
    let mut patch = MapPatch::default();
    for (key, value) in map.changes_since(before).into_iter().skip(given).take(MAX_PIECE_ENTRIES) {
        match value {
            Some(value) => patch.put.push((key.clone(), value.clone())),
            None => patch.gone.push(key.clone()),
        }
    }
    patch
}

/// Returns the meters of budgets for days, and of those for the executor's own runs and sessions.
fn meters(state: &State, before: &State, executor: &Executor) -> MapPatch<WindowKey, Meter> {
    let concerns = |state: &State, key: &WindowKey| {
        state.budgets.named(&key.budget).is_some_and(|budget| {
            executor.is_in_budget(&budget.scope) && is_own_window(state, budget.period, key, executor)
        })
    };
    let mut keys: Vec<WindowKey> = Vec::new();
    keys.extend(
        state.budgets.meters.changes_since(&before.budgets.meters).into_iter().map(|(key, _)| key.clone()),
    );
    // A run or session that became the executor's, or is not any more, and a budget that is for others by now.
    for (name, _) in state.loop_guard.by_name.changes_since(&before.loop_guard.by_name) {
        if is_own_round(&state.loop_guard, name, executor) != is_own_round(&before.loop_guard, name, executor)
        {
            keys.extend(windows_of_round(&state.budgets, name));
        }
    }
    for (budget, _) in state.budgets.configured.changes_since(&before.budgets.configured) {
        keys.extend(state.budgets.windows_of(budget).map(|(key, _)| key.clone()));
    }
    keys.sort();
    keys.dedup();
    let told = |state: &State, key: &WindowKey| {
        let meter = state.budgets.meters.get(key).filter(|_| concerns(state, key));
        meter.map(Meter::without_who)
    };
    let mut patch = MapPatch::default();
    for key in keys {
        match (told(state, &key), told(before, &key)) {
            (Some(now), then) if then.as_ref() != Some(&now) => patch.put.push((key, now)),
            (None, Some(_)) => patch.gone.push(key),
            _ => {}
        }
    }
    patch
}

/// Returns `true` of a window of the executor itself, and of one that is spent together: of days, or of a run or session that the
/// executor began.
fn is_own_window(state: &State, period: BudgetPeriod, key: &WindowKey, executor: &Executor) -> bool {
    if let Some(agent) = key.agent.as_deref() {
        return executor.agent.as_deref() == Some(agent);
    }
    let window = key.window.as_str();
    let (session, run) = match period {
        BudgetPeriod::Run => (None, Some(window)),
        BudgetPeriod::Session => (Some(window), None),
        BudgetPeriod::Day | BudgetPeriod::SevenDays | BudgetPeriod::ThirtyDays => return true,
    };
    // By the newest rules, or by those under which it was begun.
    let names = [REACTOR_VERSION, OLDEST_REACTOR_VERSION]
        .map(|rules| LoopKey::of(executor.agent.as_deref(), session, run, rules));
    names.into_iter().flatten().flatten().any(|name| is_own_round(&state.loop_guard, &name, executor))
}

fn is_own_round(loop_guard: &LoopGuard, name: &LoopKey, executor: &Executor) -> bool {
    loop_guard.by_name.get(name).is_some_and(|round| executor.is_own(round.agent.as_deref()))
}

/// Returns the windows that a run or session may have.
fn windows_of_round(budgets: &Budgets, name: &LoopKey) -> Vec<WindowKey> {
    let of = |budget: &BudgetConfigured| {
        let window = name.window(budget.period)?;
        Some(WindowKey { budget: budget.budget.clone(), agent: None, window: window.to_owned() })
    };
    budgets.configured.iter().filter_map(|(_, budget)| of(budget)).collect()
}

/// Returns a value whose cut for the executor has changed.
fn value<T: Clone + Default, C: PartialEq>(
    now: &CowCell<T>,
    before: &CowCell<T>,
    cut: impl Fn(&T) -> C,
) -> Option<C> {
    if now.is_shared_with(before) {
        return None;
    }
    let value = cut(now.get());
    (value != cut(before.get())).then_some(value)
}

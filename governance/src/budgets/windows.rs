//! The windows of budgets: the spending of each run or session, which has a budget anew.

use bitacora_formats::Micros;
use bitacora_vocabulary::{BudgetConfigured, BudgetPeriod, Name};

use super::{
    Budgets, ChargeContext, MAX_BUDGET_WINDOWS, MAX_BUDGET_WINDOWS_OF_AGENT, Reservation, SWEPT_AT_ONCE,
    WindowKey,
};
use crate::budgets::meter::{Meter, WindowStart};
use crate::budgets::run_budget::RUN_BUDGET;
use crate::budgets::spend::Spend;
use crate::limits::{BUDGET_WINDOW_LIFE, ENDED_WINDOW_LIFE};
use crate::undo::per_agent_quota::NOBODY;

impl Budgets {
    /// Returns `true` if the agent may begin so many more.
    pub(super) fn has_share(&self, new: usize, at: ChargeContext<'_>) -> bool {
        let held = self.shares.held(at.agent);
        if held + new <= MAX_BUDGET_WINDOWS_OF_AGENT {
            return true;
        }
        let agent = at.agent.unwrap_or(NOBODY);
        let is_own = |key: &&WindowKey| {
            let begun = self.meters.get(*key).and_then(|meter| meter.begun.as_ref());
            begun.is_some_and(|begun| begun.agent == agent)
        };
        held + new
            <= MAX_BUDGET_WINDOWS_OF_AGENT + self.leaving_by(at.time, usize::MAX).filter(is_own).count()
    }

    /// Returns `true` if there is room for so many more.
    pub(super) fn has_window(&self, new: usize, at: ChargeContext<'_>) -> bool {
        let most = if at.is_strict() { usize::MAX } else { SWEPT_AT_ONCE };
        let needed = self.leaving.len() + new;
        needed <= MAX_BUDGET_WINDOWS || needed <= MAX_BUDGET_WINDOWS + self.leaving_by(at.time, most).count()
    }

    /// Returns the windows whose time is over, of the first `most` ones.
    fn leaving_by(&self, time: Micros, most: usize) -> impl Iterator<Item = &WindowKey> {
        let due = self.leaving.iter().take_while(move |((end, _), ())| *end <= time).take(most);
        due.map(|((_, key), ())| key).filter(move |key| self.stays_until(key, time).is_none())
    }

    /// Changes a window's meter, which is begun where there is room for it; `None` where it is not kept.
    pub(super) fn change_meter(
        &mut self,
        key: &WindowKey,
        at: ChargeContext<'_>,
        change: impl FnOnce(&mut Meter, &BudgetConfigured),
    ) -> Option<()> {
        let budget = self.named(&key.budget)?.clone();
        let is_begun = self.meters.get(key).is_none() && key.is_per_spender(budget.period);
        let begun = if is_begun { self.begin_window(key, at)? } else { None };
        self.meters.change_or(key, Meter::default, |meter| {
            meter.begun = begun.or(meter.begun.take());
            change(meter, &budget);
            meter.last = at.time;
        });
        Some(())
    }

    fn begin_window(&mut self, key: &WindowKey, at: ChargeContext<'_>) -> Option<Option<WindowStart>> {
        self.sweep_windows(if at.is_strict() { usize::MAX } else { SWEPT_AT_ONCE }, at.time);
        if self.leaving.len() >= MAX_BUDGET_WINDOWS {
            return None;
        }
        let leaves = after_life(at.time);
        let begun = if at.is_strict() {
            if self.shares.held(at.agent) >= MAX_BUDGET_WINDOWS_OF_AGENT {
                return None;
            }
            self.shares.add(at.agent);
            Some(WindowStart {
                agent: at.agent.unwrap_or(NOBODY).to_owned(),
                looked_at: leaves,
                is_ended: false,
            })
        } else {
            None
        };
        self.leaving.insert((leaves, key.clone()), ());
        Some(begun)
    }

    /// Folds the end of a run, as its agent tells it: the spending of its own budgets is kept for a while.
    pub(crate) fn apply_run_ended(&mut self, run: &str, agent: Option<&str>, time: Micros) {
        let of_runs = self.configured.iter().filter(|(_, budget)| budget.period == BudgetPeriod::Run);
        let names = of_runs.map(|(name, _)| name).chain([&*RUN_BUDGET]);
        let keys = names.flat_map(|name| {
            let of = |agent: Option<&str>| WindowKey {
                budget: name.clone(),
                agent: agent.map(str::to_owned),
                window: run.to_owned(),
            };
            // The newest rules count it for the agent alone.
            [Some(of(None)), agent.map(|agent| of(Some(agent)))].into_iter().flatten()
        });
        let doer = agent.unwrap_or(NOBODY);
        for key in keys.collect::<Vec<_>>() {
            let Some(meter) = self.meters.get(&key) else { continue };
            let Some(begun) = meter.begun.as_ref().filter(|begun| begun.agent == doer && !begun.is_ended)
            else {
                continue;
            };
            let before = begun.looked_at;
            let leaves = Micros(time.0.saturating_add(ENDED_WINDOW_LIFE.0));
            self.leaving.remove(&(before, key.clone()));
            self.leaving.insert((leaves, key.clone()), ());
            self.meters.change(&key, |meter| {
                if let Some(begun) = &mut meter.begun {
                    (begun.is_ended, begun.looked_at) = (true, leaves);
                }
            });
        }
    }

    /// Takes away all windows whose time is over.
    pub(crate) fn forget_windows(&mut self, time: Micros) {
        if self.leaving.iter().next().is_some_and(|((end, _), ())| *end <= time) {
            self.sweep_windows(usize::MAX, time);
        }
    }

    /// Windows that nobody has used for their life leave; the others are looked at again when it may be over.
    fn sweep_windows(&mut self, most: usize, time: Micros) {
        let due = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let due: Vec<_> = due.take(most).cloned().collect();
        for (end, key) in due {
            self.leaving.remove(&(end, key.clone()));
            match self.stays_until(&key, time) {
                Some(until) => {
                    if self.meters.get(&key).is_some_and(|meter| meter.begun.is_some()) {
                        self.meters.change(&key, |meter| {
                            meter.begun.iter_mut().for_each(|begun| begun.looked_at = until);
                        });
                    }
                    self.leaving.insert((until, key), ());
                }
                None => self.forget_window(&key),
            }
        }
    }

    fn forget_window(&mut self, key: &WindowKey) {
        let Some((_, meter)) = self.meters.take(key) else { return };
        if let Some(begun) = meter.begun {
            self.shares.take(Some(&begun.agent));
        }
    }

    /// Returns the time until which a window is kept at least; `None` where it may leave.
    fn stays_until(&self, key: &WindowKey, time: Micros) -> Option<Micros> {
        let meter = self.meters.get(key)?;
        if meter.reserved != Spend::default() {
            return Some(after_life(time));
        }
        let is_ended = meter.begun.as_ref().is_some_and(|begun| begun.is_ended);
        let life = if is_ended { ENDED_WINDOW_LIFE } else { BUDGET_WINDOW_LIFE };
        Some(Micros(meter.last.0.saturating_add(life.0))).filter(|until| *until > time)
    }

    pub(crate) fn windows_of(&self, budget: &Name) -> impl Iterator<Item = (&WindowKey, &Meter)> {
        let first = WindowKey::of(budget, None, None);
        let budget = budget.clone();
        self.meters.iter_from(&first).take_while(move |(key, _)| key.budget == budget)
    }

    pub(super) fn forget_budget(&mut self, budget: &Name) {
        let keys: Vec<_> = self.windows_of(budget).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.forget_window(key));
        let leaving: Vec<_> = self
            .leaving
            .iter()
            .map(|(end, ())| end)
            .filter(|(_, key)| key.budget == *budget)
            .cloned()
            .collect();
        leaving.iter().for_each(|end| self.leaving.remove(end));
        let of_it =
            |reservation: &Reservation| reservation.parts.iter().any(|part| part.key.budget == *budget);
        let calls: Vec<_> = self
            .reservations
            .iter()
            .filter(|(_, reservation)| of_it(reservation))
            .map(|(call, _)| call.clone())
            .collect();
        for call in calls {
            self.reservations.change(&call, |reservation| {
                reservation.parts.retain(|part| part.key.budget != *budget);
            });
            if self.reserved_for(&call).is_empty() {
                self.forget_reservation(&call);
            }
        }
    }
}

/// Returns the time at which a window that was used at this time is forgotten.
fn after_life(last: Micros) -> Micros {
    Micros(last.0.saturating_add(BUDGET_WINDOW_LIFE.0))
}

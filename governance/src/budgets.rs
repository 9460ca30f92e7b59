//! Budgets: what may be spent, by whom, in what time; what is reserved for calls that run, and what they came to.
//!
//! A budget counts what is decided and told while it stands: nothing from before it was set. Who spends is who asks; a call that
//! names no run has no part in a budget that each run has anew, and the same of sessions.

mod standing;

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{
    BoundedText, BudgetCharged, BudgetConfigured, BudgetExceeded, BudgetPeriod, Charge, Name, OnExceed,
};
use serde::{Deserialize, Serialize};

use crate::journal::Journaled;
use crate::limits::{
    BUDGET_WINDOW_LIFE, MAX_BUDGET_WINDOWS, MAX_BUDGETS, MAX_BUDGETS_OF_CALL, MAX_RESERVATIONS,
};
use crate::meter::{Meter, days_of};
use crate::spend::{BudgetQuestion, Spend};

pub use standing::BudgetStanding;

/// Windows and reservations that are looked at, and taken away if their time is over, with each that comes.
const SWEPT_AT_ONCE: usize = 8;

/// Why a budget cannot be set or lifted. The others stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// There are [`MAX_BUDGETS`].
    #[error("{MAX_BUDGETS} budgets are set; lift one first")]
    TooMany,
    /// There is none of this name.
    #[error("there is no budget `{0}` to be lifted; a budget is set with at least one limit")]
    NoSuchBudget(Name),
}

/// A budget's part for one run or session, or for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct WindowKey {
    pub(crate) budget: Name,
    /// The run or session; empty where the budget is for days.
    pub(crate) window: String,
}

impl WindowKey {
    fn of(budget: &Name, window: Option<&BoundedText<1024>>) -> Self {
        Self { budget: budget.clone(), window: window.map(ToString::to_string).unwrap_or_default() }
    }

    /// As events tell it.
    pub(crate) fn told(&self) -> Option<BoundedText<1024>> {
        BoundedText::new(self.window.as_str()).ok()
    }
}

/// What is held back for one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reservation {
    parts: Vec<ReservedPart>,
    /// When nothing more is to come of it.
    until: Micros,
}

/// The same of one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReservedPart {
    pub(crate) key: WindowKey,
    pub(crate) amounts: Spend,
    /// Whether it was given back; the call may still turn out to have run.
    pub(crate) is_released: bool,
}

/// The budgets, and what is gone of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budgets {
    configured: Journaled<Name, BudgetConfigured>,
    meters: Journaled<WindowKey, Meter>,
    /// Windows of runs and sessions by a time at which it is looked whether they are still used.
    leaving: Journaled<(Micros, WindowKey), ()>,
    reservations: Journaled<Name, Reservation>,
    ending: Journaled<(Micros, Name), ()>,
}

/// What the budgets say of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BudgetsDue {
    /// The budget whose word is the strictest, and what follows from it.
    pub(crate) strictest: Option<(OnExceed, Name)>,
    /// What there is no room for.
    pub(crate) full: Option<&'static str>,
    /// To be told: they are spent, and it was not said yet.
    pub(crate) exceeded: Vec<BudgetExceeded>,
    /// To be held back if the call runs.
    pub(crate) reserved: Vec<BudgetCharged>,
}

impl Budgets {
    /// Whether a budget can be set so.
    ///
    /// # Errors
    /// See [`BudgetError`].
    pub fn check(&self, configured: &BudgetConfigured) -> Result<(), BudgetError> {
        let is_new = self.configured.get(&configured.budget).is_none();
        if is_new && configured.limits.is_empty() {
            return Err(BudgetError::NoSuchBudget(configured.budget.clone()));
        }
        let is_full = is_new && self.configured.len() >= MAX_BUDGETS;
        if is_full { Err(BudgetError::TooMany) } else { Ok(()) }
    }

    /// Folds `budget.configured`. With another scope or period, or lifted, it begins anew; one that cannot be set changes nothing.
    pub(crate) fn apply_configured(&mut self, configured: &BudgetConfigured) {
        if self.check(configured).is_err() {
            return;
        }
        let before = self.configured.get(&configured.budget);
        let goes_on = before.is_some_and(|before| {
            before.scope == configured.scope
                && before.period == configured.period
                && !configured.limits.is_empty()
        });
        if goes_on {
            let keys: Vec<_> = self.windows_of(&configured.budget).map(|(key, _)| key.clone()).collect();
            for key in &keys {
                self.meters.change(key, |meter| meter.is_told = false);
            }
        } else {
            self.forget_budget(&configured.budget);
        }
        if configured.limits.is_empty() {
            self.configured.remove(&configured.budget);
        } else {
            self.configured.insert(configured.budget.clone(), configured.clone());
        }
    }

    /// What they say of a call that is to cost this.
    pub(crate) fn due(
        &self,
        question: &BudgetQuestion<'_>,
        call: &Name,
        estimate: Spend,
        time: Micros,
    ) -> BudgetsDue {
        let mut due = BudgetsDue::default();
        let mut new = 0;
        for (budget, key) in self.counting(question) {
            let meter = self.meters.get(&key);
            new += usize::from(meter.is_none() && days_of(budget.period).is_none());
            let held = meter.map(|meter| meter.held(budget.period, time)).unwrap_or_default();
            let window = key.told();
            if held.exhausts(&budget.limits, estimate) {
                let is_stricter = due.strictest.as_ref().is_none_or(|(strictest, _)| {
                    budget.on_exceed == OnExceed::Deny && *strictest == OnExceed::Pause
                });
                if is_stricter {
                    due.strictest = Some((budget.on_exceed, budget.budget.clone()));
                }
                if !meter.is_some_and(|meter| meter.is_told) {
                    due.exceeded.push(BudgetExceeded {
                        budget: budget.budget.clone(),
                        scope: budget.scope.clone(),
                        window: window.clone(),
                        limits: budget.limits,
                        amounts: held.told(),
                        on_exceed: budget.on_exceed,
                        call: Some(call.clone()),
                    });
                }
            }
            due.reserved.push(BudgetCharged {
                budget: budget.budget.clone(),
                call: call.clone(),
                window,
                charge: Charge::Reserved,
                amounts: estimate.told(),
            });
        }
        due.full = self.full(due.reserved.len(), new, time);
        if due.full.is_some() {
            due.reserved.clear();
        }
        due
    }

    /// What there is no room for, of a call that counts in some budgets and needs new windows in some of them.
    fn full(&self, counting: usize, new: usize, time: Micros) -> Option<&'static str> {
        let has_window = || {
            let due = self.leaving.iter().take_while(|((end, _), ())| *end <= time).take(SWEPT_AT_ONCE);
            let leaves = due.filter(|((_, key), ())| self.stays_until(key, time).is_none());
            self.leaving.len() + new <= MAX_BUDGET_WINDOWS + leaves.count()
        };
        let has_reservation = || {
            let first = self.ending.iter().next();
            self.reservations.len() < MAX_RESERVATIONS || first.is_some_and(|((end, _), ())| *end <= time)
        };
        if counting > MAX_BUDGETS_OF_CALL {
            Some("budgets that one call counts in")
        } else if new > 0 && !has_window() {
            Some("runs and sessions with a budget")
        } else if counting > 0 && !has_reservation() {
            Some("calls with a reservation")
        } else {
            None
        }
    }

    /// The budgets that something counts in, each with its run or session.
    fn counting<'a>(
        &'a self,
        question: &'a BudgetQuestion<'_>,
    ) -> impl Iterator<Item = (&'a BudgetConfigured, WindowKey)> {
        let counts = |budget: &&BudgetConfigured| question.is_in(&budget.scope);
        self.configured.iter().map(|(_, budget)| budget).filter(counts).filter_map(|budget| {
            let window = match budget.period {
                BudgetPeriod::Run => question.run?,
                BudgetPeriod::Session => question.session?,
                BudgetPeriod::Day | BudgetPeriod::SevenDays | BudgetPeriod::ThirtyDays => "",
            };
            Some((budget, WindowKey { budget: budget.budget.clone(), window: window.to_owned() }))
        })
    }

    /// What is held back for a call, by budget.
    pub(crate) fn reserved_for(&self, call: &str) -> &[ReservedPart] {
        self.reservations.get(call).map(|reservation| reservation.parts.as_slice()).unwrap_or_default()
    }

    /// Folds `budget.charged` of a call that is over, with its late outcome too, at this time.
    pub(crate) fn apply_charged(&mut self, charged: &BudgetCharged, until: Micros, time: Micros) {
        let key = WindowKey::of(&charged.budget, charged.window.as_ref());
        let amounts = Spend::from(&charged.amounts);
        match charged.charge {
            Charge::Reserved => self.reserve(&charged.call, key, amounts, until, time),
            Charge::Settled => {
                self.end_part(&charged.call, &key, false);
                self.spend(&key, amounts, time);
            }
            Charge::Released => self.end_part(&charged.call, &key, true),
        }
    }

    /// Folds `budget.exceeded`.
    pub(crate) fn apply_exceeded(&mut self, exceeded: &BudgetExceeded, time: Micros) {
        let key = WindowKey::of(&exceeded.budget, exceeded.window.as_ref());
        self.change_meter(&key, time, |meter, _| meter.is_told = true);
    }

    /// Folds something that was spent without having been asked for: an answer of a model, a step of a run.
    pub(crate) fn apply_spent(&mut self, question: &BudgetQuestion<'_>, amounts: Spend, time: Micros) {
        let keys: Vec<_> = self.counting(question).map(|(_, key)| key).collect();
        keys.iter().for_each(|key| self.spend(key, amounts, time));
    }

    /// Whether nothing has to be counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.configured.len() == 0
    }

    fn spend(&mut self, key: &WindowKey, amounts: Spend, time: Micros) {
        self.change_meter(key, time, |meter, budget| meter.spend(budget.period, amounts, time));
    }

    fn reserve(&mut self, call: &Name, key: WindowKey, amounts: Spend, until: Micros, time: Micros) {
        self.sweep_reservations(time);
        // Asked for again, it is still the same call.
        self.end_part(call, &key, false);
        let is_known = self.reservations.get(call).is_some();
        if !is_known && self.reservations.len() >= MAX_RESERVATIONS {
            return;
        }
        let is_kept = self.change_meter(&key, time, |meter, budget| {
            if !meter.held(budget.period, time).exhausts(&budget.limits, amounts) {
                meter.is_told = false;
            }
            meter.reserved = meter.reserved.and(amounts);
        });
        if is_kept.is_none() {
            return;
        }
        if let Some(before) = self.reservations.get(call).map(|reservation| reservation.until) {
            self.ending.remove(&(before, call.clone()));
        }
        self.ending.insert((until, call.clone()), ());
        let part = ReservedPart { key, amounts, is_released: false };
        let first = || Reservation { parts: Vec::new(), until };
        self.reservations.change_or(call, first, |reservation| {
            reservation.until = until;
            reservation.parts.push(part);
        });
    }

    /// Gives back what one budget holds for a call; where its outcome may still come, the call is remembered.
    fn end_part(&mut self, call: &Name, key: &WindowKey, may_still_come: bool) {
        let Some(reservation) = self.reservations.get(call) else { return };
        let Some(part) = reservation.parts.iter().find(|part| part.key == *key).cloned() else { return };
        if !part.is_released {
            self.meters.change(key, |meter| meter.reserved = meter.reserved.without(part.amounts));
        }
        let is_over = self.reservations.change(call, |reservation| {
            if may_still_come {
                let same = reservation.parts.iter_mut().filter(|part| part.key == *key);
                same.for_each(|part| part.is_released = true);
            } else {
                reservation.parts.retain(|part| part.key != *key);
            }
            reservation.parts.is_empty()
        });
        if is_over == Some(true) {
            self.forget_reservation(call);
        }
    }

    fn forget_reservation(&mut self, call: &Name) {
        let Some((call, reservation)) = self.reservations.take(call) else { return };
        self.ending.remove(&(reservation.until, call));
        for part in reservation.parts.iter().filter(|part| !part.is_released) {
            self.meters.change(&part.key, |meter| meter.reserved = meter.reserved.without(part.amounts));
        }
    }

    fn sweep_reservations(&mut self, time: Micros) {
        let over = self.ending.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let calls: Vec<_> = over.take(SWEPT_AT_ONCE).map(|(_, call)| call.clone()).collect();
        calls.iter().for_each(|call| self.forget_reservation(call));
    }

    /// Changes a window's meter, which is begun where there is room for it; `None` where it is not kept.
    fn change_meter(
        &mut self,
        key: &WindowKey,
        time: Micros,
        change: impl FnOnce(&mut Meter, &BudgetConfigured),
    ) -> Option<()> {
        let budget = self.configured.get(&key.budget)?.clone();
        let is_of_days = days_of(budget.period).is_some();
        if self.meters.get(key).is_none() && !is_of_days {
            self.sweep_windows(time);
            if self.leaving.len() >= MAX_BUDGET_WINDOWS {
                return None;
            }
            self.leaving.insert((after_life(time), key.clone()), ());
        }
        self.meters.change_or(key, Meter::default, |meter| {
            change(meter, &budget);
            meter.last = time;
        });
        Some(())
    }

    /// Windows that nobody has used for their life leave; the others are looked at again when it may be over.
    fn sweep_windows(&mut self, time: Micros) {
        let due = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let due: Vec<_> = due.take(SWEPT_AT_ONCE).cloned().collect();
        for (end, key) in due {
            self.leaving.remove(&(end, key.clone()));
            match self.stays_until(&key, time) {
                Some(until) => self.leaving.insert((until, key), ()),
                None => self.meters.remove(&key),
            }
        }
    }

    /// Until when a window is kept at least; `None` where it may leave.
    fn stays_until(&self, key: &WindowKey, time: Micros) -> Option<Micros> {
        let meter = self.meters.get(key)?;
        if meter.reserved != Spend::default() {
            return Some(after_life(time));
        }
        Some(after_life(meter.last)).filter(|until| *until > time)
    }

    fn windows_of(&self, budget: &Name) -> impl Iterator<Item = (&WindowKey, &Meter)> {
        let first = WindowKey::of(budget, None);
        let budget = budget.clone();
        self.meters.iter_from(&first).take_while(move |(key, _)| key.budget == budget)
    }

    fn forget_budget(&mut self, budget: &Name) {
        let keys: Vec<_> = self.windows_of(budget).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.meters.remove(key));
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

impl Budgets {
    pub(crate) fn pause(&mut self) {
        self.configured.pause();
        self.meters.pause();
        self.leaving.pause();
        self.reservations.pause();
        self.ending.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.configured.resume();
        self.meters.resume();
        self.leaving.resume();
        self.reservations.resume();
        self.ending.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.configured.keep();
        self.meters.keep();
        self.leaving.keep();
        self.reservations.keep();
        self.ending.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.configured.discard();
        self.meters.discard();
        self.leaving.discard();
        self.reservations.discard();
        self.ending.discard();
    }
}

/// When a window that was used at this time is forgotten.
fn after_life(last: Micros) -> Micros {
    Micros(last.0.saturating_add(BUDGET_WINDOW_LIFE.0))
}

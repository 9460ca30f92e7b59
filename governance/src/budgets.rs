//! Budgets: limits on spending by scope and period, reservations for calls that run, and their charges.
//!
//! A budget counts the decisions and reports made while it stands: nothing from before it was set. The caller is the spender. A
//! call that names no run has no part in a budget that each run has anew, and the same holds of sessions.

pub(crate) mod meter;
mod reservations;
pub(crate) mod run_budget;
pub(crate) mod spend;
mod standing;
mod windows;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    AgentName, BoundedText, BudgetCharged, BudgetConfigured, BudgetExceeded, BudgetPeriod, BudgetScope,
    Charge, Name, OnExceed,
};
use serde::{Deserialize, Serialize};

use crate::budgets::meter::{Meter, days_of};
use crate::budgets::run_budget::{RUN_BUDGET, any_run};
use crate::budgets::spend::{BudgetQuestion, Spend};
use crate::limits::{
    MAX_BUDGET_WINDOWS, MAX_BUDGET_WINDOWS_OF_AGENT, MAX_BUDGETS, MAX_BUDGETS_OF_CALL, MAX_RESERVATIONS,
};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::{OLDEST_REACTOR_VERSION, is_strict};

use reservations::ExpiredReservations;

pub use standing::BudgetStanding;

/// Windows and reservations that the first versions of the rules look at with each new one, to take away those whose time is over.
/// Later versions look at all of them, with each decision.
const SWEPT_AT_ONCE: usize = 8;

/// The reason for which a budget cannot be set or lifted. The others stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// There are [`MAX_BUDGETS`].
    #[error("{MAX_BUDGETS} budgets are set; lift one first")]
    TooMany,
    /// A call would count in more than [`MAX_BUDGETS_OF_CALL`], and be denied for that.
    #[error(
        "{MAX_BUDGETS_OF_CALL} budgets are set that a call within this one's scope, or within one it holds for, counts in; that is as many as one call may count in: lift one first"
    )]
    TooManyOfCall,
    /// There is none of this name.
    #[error("there is no budget `{0}` to be lifted; a budget is set with at least one limit")]
    NoSuchBudget(Name),
}

/// A budget's part for one run or session, or for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct WindowKey {
    pub(crate) budget: Name,
    /// The agent that has it for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The run or session; empty where the budget is for days.
    pub(crate) window: String,
}

impl WindowKey {
    fn of(budget: &Name, agent: Option<&AgentName>, window: Option<&BoundedText<1024>>) -> Self {
        Self {
            budget: budget.clone(),
            agent: agent.map(ToString::to_string),
            window: window.map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Returns the agent, as events tell it.
    pub(crate) fn agent_text(&self) -> Option<AgentName> {
        AgentName::new(self.agent.as_deref()?).ok()
    }

    /// `true` for a window that a spender begins, of which each agent has a limited share. The other windows are one for each
    /// budget.
    pub(crate) fn is_per_spender(&self, period: BudgetPeriod) -> bool {
        days_of(period).is_none() || self.agent.is_some()
    }

    /// Returns the run or session, as events tell it.
    pub(crate) fn window_text(&self) -> Option<BoundedText<1024>> {
        BoundedText::new(self.window.as_str()).ok()
    }
}

/// The reservation for one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reservation {
    parts: Vec<ReservedPart>,
    /// The time from which no further report about it is expected.
    until: Micros,
}

/// The part of a reservation that one budget holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReservedPart {
    pub(crate) key: WindowKey,
    pub(crate) amounts: Spend,
    /// Set when it was given back; the call may still turn out to have run.
    pub(crate) is_released: bool,
}

/// The budgets, and the spending of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budgets {
    pub(crate) configured: UndoMap<Name, BudgetConfigured>,
    pub(crate) meters: UndoMap<WindowKey, Meter>,
    /// Windows of runs and sessions by the time at which the sweep checks whether they are still used.
    leaving: UndoMap<(Micros, WindowKey), ()>,
    reservations: UndoMap<Name, Reservation>,
    ending: UndoMap<(Micros, Name), ()>,
    /// The number of windows of runs and sessions that each agent began.
    #[serde(default, skip_serializing_if = "PerAgentQuota::is_empty")]
    shares: PerAgentQuota,
}

/// The time, the agent and the rules of a charge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChargeContext<'a> {
    pub(crate) time: Micros,
    pub(crate) agent: Option<&'a str>,
    /// Their version.
    pub(crate) rules: u32,
}

impl ChargeContext<'_> {
    pub(crate) const fn is_strict(&self) -> bool {
        is_strict(self.rules)
    }
}

/// The findings of the budgets about a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BudgetFindings {
    /// The budget with the strictest consequence, and that consequence.
    pub(crate) strictest: Option<(OnExceed, Name)>,
    /// The kind of entry that has no room.
    pub(crate) full: Option<&'static str>,
    /// Reports that are due: these budgets are spent, and it was not told yet.
    pub(crate) exceeded: Vec<BudgetExceeded>,
    /// Reservations that are due if the call runs.
    pub(crate) reserved: Vec<BudgetCharged>,
}

impl Budgets {
    /// Checks that a budget can be set so, by the rules of a version.
    ///
    /// # Errors
    /// See [`BudgetError`].
    pub(crate) fn check(&self, configured: &BudgetConfigured, rules: u32) -> Result<(), BudgetError> {
        let before = self.configured.get(&configured.budget);
        if before.is_none() && configured.limits.is_empty() {
            return Err(BudgetError::NoSuchBudget(configured.budget.clone()));
        }
        if before.is_none() && self.configured.len() >= MAX_BUDGETS {
            return Err(BudgetError::TooMany);
        }
        let counts_as_before = before.is_some_and(|before| before.scope == configured.scope);
        if is_strict(rules)
            && !configured.limits.is_empty()
            && !counts_as_before
            && self.would_deny(configured)
        {
            return Err(BudgetError::TooManyOfCall);
        }
        Ok(())
    }

    /// Returns `true` if, with another budget, all calls of some budget would count in more budgets than a call may.
    fn would_deny(&self, added: &BudgetConfigured) -> bool {
        let others = || {
            let others = self.configured.iter().map(|(_, budget)| budget);
            others.filter(|other| other.budget != added.budget)
        };
        let narrower =
            others().filter(|other| is_within(&other.scope, &added.scope)).map(|other| &other.scope);
        narrower.chain([&added.scope]).any(|scope| {
            others().filter(|other| is_within(scope, &other.scope)).count() >= MAX_BUDGETS_OF_CALL
        })
    }

    /// Folds `budget.configured`. With another scope or period, or lifted, it begins anew; one that cannot be set changes nothing.
    pub(crate) fn apply_configured(&mut self, configured: &BudgetConfigured) {
        // A budget that could no longer be set holds as it did where it was set before.
        if self.check(configured, OLDEST_REACTOR_VERSION).is_err() {
            return;
        }
        let before = self.configured.get(&configured.budget);
        let goes_on = before.is_some_and(|before| {
            before.scope == configured.scope
                && before.period == configured.period
                && before.counted == configured.counted
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

    /// Checks a call with this estimated cost against the budgets.
    pub(crate) fn due(
        &self,
        question: &BudgetQuestion<'_>,
        call: &Name,
        estimate: Spend,
        at: ChargeContext<'_>,
    ) -> BudgetFindings {
        let mut due = BudgetFindings::default();
        let mut new = 0;
        let own = usize::from(question.own.is_some() && question.run.is_some());
        let mut overdue = None;
        for (budget, key) in self.counting(question) {
            let meter = self.meters.get(&key);
            new += usize::from(meter.is_none() && key.is_per_spender(budget.period));
            let held = self.held(budget, (&key, meter), estimate, at, &mut overdue);
            let (window, agent) = (key.window_text(), key.agent_text());
            if held.exhausts(&budget.limits, estimate) {
                let is_stricter =
                    due.strictest.as_ref().is_none_or(|(strictest, _)| budget.on_exceed > *strictest);
                if is_stricter {
                    due.strictest = Some((budget.on_exceed, budget.budget.clone()));
                }
                if !meter.is_some_and(|meter| meter.is_told) {
                    due.exceeded.push(BudgetExceeded {
                        budget: budget.budget.clone(),
                        scope: budget.scope.clone(),
                        window: window.clone(),
                        agent: agent.clone(),
                        limits: budget.limits,
                        amounts: held.to_limits(),
                        on_exceed: budget.on_exceed,
                        elapsed_ms: None,
                        call: Some(call.clone()),
                    });
                }
            }
            due.reserved.push(BudgetCharged {
                budget: budget.budget.clone(),
                call: call.clone(),
                window,
                agent,
                charge: Charge::Reserved,
                amounts: estimate.to_limits(),
            });
        }
        due.full = self.full(due.reserved.len() - own, own, new, at);
        if due.full.is_some() {
            due.reserved.clear();
            if at.is_strict() {
                // Without a window there would be no note that it was told.
                let is_kept = |found: &BudgetExceeded| {
                    let key = WindowKey::of(&found.budget, found.agent.as_ref(), found.window.as_ref());
                    self.meters.get(&key).is_some()
                };
                due.exceeded.retain(is_kept);
            }
        }
        due
    }

    /// Returns the spending of a window with its reservations. Those past their time do not count, which is checked only where it
    /// matters.
    fn held<'s>(
        &'s self,
        budget: &BudgetConfigured,
        (key, meter): (&WindowKey, Option<&Meter>),
        estimate: Spend,
        at: ChargeContext<'_>,
        overdue: &mut Option<ExpiredReservations<'s>>,
    ) -> Spend {
        let held = meter.map(|meter| meter.held(budget.period, at.time)).unwrap_or_default();
        if !at.is_strict() || !held.exhausts(&budget.limits, estimate) {
            return held;
        }
        let overdue = overdue.get_or_insert_with(|| self.overdue(at.time));
        held.without(overdue.get(key).copied().unwrap_or_default())
    }

    /// Returns the thing that there is no room for, in plain words. The call counts in `counting` budgets and `own` of its run, and needs
    /// `new` windows.
    fn full(&self, counting: usize, own: usize, new: usize, at: ChargeContext<'_>) -> Option<&'static str> {
        let has_reservation = || {
            let first = self.ending.iter().next();
            self.reservations.len() < MAX_RESERVATIONS || first.is_some_and(|((end, _), ())| *end <= at.time)
        };
        if counting > MAX_BUDGETS_OF_CALL {
            Some("budgets that one call counts in")
        } else if at.is_strict() && new > 0 && !self.has_share(new, at) {
            Some("this agent's runs and sessions with a budget")
        } else if new > 0 && !self.has_window(new, at) {
            Some("runs and sessions with a budget")
        } else if counting + own > 0 && !has_reservation() {
            Some("calls with a reservation")
        } else {
            None
        }
    }

    /// Returns the budgets that something counts in, each with its run or session.
    fn counting<'a>(
        &'a self,
        question: &'a BudgetQuestion<'_>,
    ) -> impl Iterator<Item = (&'a BudgetConfigured, WindowKey)> {
        let counts = |budget: &&BudgetConfigured| question.is_in(&budget.scope);
        let set = self.configured.iter().map(|(_, budget)| budget).filter(counts);
        question.own.into_iter().chain(set).filter_map(|budget| {
            let window = match budget.period {
                BudgetPeriod::Run => question.run?,
                BudgetPeriod::Session => question.session?,
                BudgetPeriod::Day | BudgetPeriod::SevenDays | BudgetPeriod::ThirtyDays => "",
            };
            let agent = question.counted_for(budget).map(str::to_owned);
            Some((budget, WindowKey { budget: budget.budget.clone(), agent, window: window.to_owned() }))
        })
    }

    /// Folds `budget.charged` of a call that is over, with its late outcome too, at this time; `is_late` where its deadline has passed
    /// and its outcome may still come.
    pub(crate) fn apply_charged(
        &mut self,
        charged: &BudgetCharged,
        until: Micros,
        is_late: bool,
        at: ChargeContext<'_>,
    ) {
        let key = WindowKey::of(&charged.budget, charged.agent.as_ref(), charged.window.as_ref());
        let amounts = Spend::from(&charged.amounts);
        match charged.charge {
            Charge::Reserved => self.reserve(&charged.call, key, amounts, until, at),
            Charge::Settled => {
                if is_late {
                    self.settle_in_part(&charged.call, &key, amounts);
                } else {
                    self.end_part(&charged.call, &key, false);
                }
                self.spend(&key, amounts, at);
            }
            Charge::Released => self.end_part(&charged.call, &key, true),
        }
    }

    /// Folds `budget.exceeded`.
    pub(crate) fn apply_exceeded(&mut self, exceeded: &BudgetExceeded, at: ChargeContext<'_>) {
        let key = WindowKey::of(&exceeded.budget, exceeded.agent.as_ref(), exceeded.window.as_ref());
        self.change_meter(&key, at, |meter, _| meter.is_told = true);
    }

    /// Folds something that was spent without having been asked for: an answer of a model, a step of a run.
    pub(crate) fn apply_spent(
        &mut self,
        question: &BudgetQuestion<'_>,
        amounts: Spend,
        at: ChargeContext<'_>,
    ) {
        let keys: Vec<_> = self.counting(question).map(|(_, key)| key).collect();
        keys.iter().for_each(|key| self.spend(key, amounts, at));
    }

    /// Returns the charges of a call that ran without having been allowed: nothing was reserved for it.
    pub(crate) fn charged_to(
        &self,
        question: &BudgetQuestion<'_>,
        call: &Name,
        amounts: Spend,
    ) -> Vec<BudgetCharged> {
        let charged =
            self.counting(question).take(MAX_BUDGETS_OF_CALL + 1).map(|(budget, key)| BudgetCharged {
                budget: budget.budget.clone(),
                call: call.clone(),
                window: key.window_text(),
                agent: key.agent_text(),
                charge: Charge::Settled,
                amounts: amounts.to_limits(),
            });
        charged.collect()
    }

    /// Returns `true` if nothing is reserved.
    pub(crate) fn is_settled(&self) -> bool {
        self.meters.iter().all(|(_, meter)| meter.reserved == Spend::default())
    }

    /// Returns the budget of this name: one that is set, or that of runs.
    pub(crate) fn named(&self, budget: &Name) -> Option<&BudgetConfigured> {
        self.configured.get(budget).or_else(|| any_run(budget))
    }

    /// Returns `true` if it was told that a run spent its own budget, and nothing has fitted in since.
    pub(crate) fn is_run_budget_reported(&self, agent: Option<&str>, run: &str) -> bool {
        let agent = agent.map(str::to_owned);
        let key = WindowKey { budget: RUN_BUDGET.clone(), agent, window: run.to_owned() };
        self.meters.get(&key).is_some_and(|meter| meter.is_told)
    }

    /// Returns `true` if no budget is set, so that nothing has to be counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.configured.len() == 0
    }

    fn spend(&mut self, key: &WindowKey, amounts: Spend, at: ChargeContext<'_>) {
        self.change_meter(key, at, |meter, budget| meter.spend(budget.period, amounts, at.time));
    }
}

impl Budgets {
    pub(crate) fn pause(&mut self) {
        self.configured.pause();
        self.meters.pause();
        self.leaving.pause();
        self.reservations.pause();
        self.ending.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.configured.resume();
        self.meters.resume();
        self.leaving.resume();
        self.reservations.resume();
        self.ending.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.configured.keep();
        self.meters.keep();
        self.leaving.keep();
        self.reservations.keep();
        self.ending.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.configured.discard();
        self.meters.discard();
        self.leaving.discard();
        self.reservations.discard();
        self.ending.discard();
        self.shares.discard();
    }
}

/// Returns `true` if one scope lies wholly within the other one.
fn is_within(narrow: &BudgetScope, wide: &BudgetScope) -> bool {
    let pairs = [
        (&narrow.agent, &wide.agent),
        (&narrow.role, &wide.role),
        (&narrow.tool, &wide.tool),
        (&narrow.model, &wide.model),
        (&narrow.task_type, &wide.task_type),
        (&narrow.session, &wide.session),
        (&narrow.run, &wide.run),
    ];
    pairs.into_iter().all(|(narrow, wide)| wide.is_none() || narrow == wide)
        && (wide.workspace.is_none() || narrow.workspace == wide.workspace)
}

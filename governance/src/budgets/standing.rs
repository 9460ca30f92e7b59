//! The standing of budgets, for readers.

use bitacora_formats::Micros;
use bitacora_vocabulary::{BudgetConfigured, BudgetPeriod, Name};

use super::Budgets;
use crate::budgets::meter::days_of;
use crate::budgets::spend::{BudgetQuestion, Spend};

/// The standing of a budget for one run or session, or for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetStanding<'a> {
    /// The budget.
    pub budget: &'a BudgetConfigured,
    /// The agent that has it for itself; `None` where it is spent together.
    pub agent: Option<&'a str>,
    /// The run or session; `None` where it is for days.
    pub window: Option<&'a str>,
    /// The spending that counts.
    pub spent: Spend,
    /// The reservations for calls without an outcome.
    pub reserved: Spend,
    /// The time at which the first of the spending counts no more, for a budget of days.
    pub resets: Option<Micros>,
}

impl BudgetStanding<'_> {
    /// Returns `true` if nothing is left in one of its units.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.spent.and(self.reserved).exhausts(&self.budget.limits, Spend::default())
    }
}

/// The queries of readers.
impl Budgets {
    /// Returns the budgets, by their names, behind the one that is named.
    pub fn configured(&self, after: Option<&Name>) -> impl Iterator<Item = &BudgetConfigured> {
        self.configured.iter_after(after).map(|(_, budget)| budget)
    }

    /// Returns one budget.
    #[must_use]
    pub fn get(&self, budget: &str) -> Option<&BudgetConfigured> {
        self.configured.get(budget)
    }

    /// Returns the standing of one budget's windows at this time, by their runs or sessions. These are the windows with spending or
    /// reservations; without any, it is as if there were one.
    pub fn standing<'a>(
        &'a self,
        budget: &'a BudgetConfigured,
        time: Micros,
    ) -> impl Iterator<Item = BudgetStanding<'a>> {
        let is_unused = self.windows_of(&budget.budget).next().is_none();
        let unused = is_unused.then_some(BudgetStanding {
            budget,
            agent: None,
            window: None,
            spent: Spend::default(),
            reserved: Spend::default(),
            resets: None,
        });
        let overdue = self.overdue(time);
        let windows = self.windows_of(&budget.budget).map(move |(key, meter)| BudgetStanding {
            budget,
            agent: key.agent.as_deref(),
            window: Some(key.window.as_str()).filter(|window| !window.is_empty()),
            spent: meter.spent(budget.period, time),
            reserved: meter.reserved.without(overdue.get(key).copied().unwrap_or_default()),
            resets: meter.resets(budget.period, time),
        });
        unused.into_iter().chain(windows)
    }

    /// Returns the standing of the budgets that something of this kind counts in. No history is looked at: an executor may ask this
    /// before each step.
    pub fn standing_for<'a>(
        &'a self,
        question: &'a BudgetQuestion<'_>,
        time: Micros,
    ) -> impl Iterator<Item = BudgetStanding<'a>> {
        let overdue = self.overdue(time);
        self.counting(question).map(move |(budget, key)| {
            let meter = self.meters.get(&key);
            let of_days = days_of(budget.period).is_some();
            let asked = if budget.period == BudgetPeriod::Run { question.run } else { question.session };
            BudgetStanding {
                budget,
                agent: question.counted_for(budget),
                window: asked.filter(|_| !of_days),
                spent: meter.map(|meter| meter.spent(budget.period, time)).unwrap_or_default(),
                reserved: meter
                    .map(|meter| meter.reserved.without(overdue.get(&key).copied().unwrap_or_default()))
                    .unwrap_or_default(),
                resets: meter.and_then(|meter| meter.resets(budget.period, time)),
            }
        })
    }
}

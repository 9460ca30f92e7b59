//! How budgets stand, for readers.

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{BudgetConfigured, BudgetPeriod, Name};

use super::Budgets;
use crate::meter::days_of;
use crate::spend::{BudgetQuestion, Spend};

/// How a budget stands for one run or session, or for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetStanding<'a> {
    /// The budget.
    pub budget: &'a BudgetConfigured,
    /// The agent that has it for itself; `None` where it is spent together.
    pub agent: Option<&'a str>,
    /// The run or session; `None` where it is for days.
    pub window: Option<&'a str>,
    /// What was spent and counts.
    pub spent: Spend,
    /// What is held back for calls without an outcome.
    pub reserved: Spend,
    /// When the first of what was spent counts no more, of a budget for days.
    pub resets: Option<Micros>,
}

impl BudgetStanding<'_> {
    /// Whether nothing is left in one of its units.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.spent.and(self.reserved).exhausts(&self.budget.limits, Spend::default())
    }
}

/// What readers ask.
impl Budgets {
    /// The budgets, by their names, behind the one that is named.
    pub fn configured(&self, after: Option<&Name>) -> impl Iterator<Item = &BudgetConfigured> {
        self.configured.iter_after(after).map(|(_, budget)| budget)
    }

    /// One budget.
    #[must_use]
    pub fn get(&self, budget: &str) -> Option<&BudgetConfigured> {
        self.configured.get(budget)
    }

    /// How the windows of one budget stand at this time, by their runs or sessions: those that anything was spent or reserved
    /// in; where there are none, as if there were one.
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

    /// How those stand that something of this kind counts in. No history is looked at: this is what an executor may ask before each
    /// step.
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

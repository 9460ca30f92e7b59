//! A run's own budget, as the run was begun with it, and the consequences once it is spent.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    AgentName, BoundedText, BudgetConfigured, BudgetExceeded, BudgetScope, Milliseconds, Name, OnExceed,
    RunBudget, SpendLimits,
};
use serde::{Deserialize, Serialize};

use super::{LoopGuard, LoopKey};
use crate::budgets::BudgetFindings;
use crate::budgets::run_budget::run_budget;
use crate::version::holds_run_budgets;

const MICROS_A_MILLISECOND: u64 = 1_000;

/// Limits that a run was begun with, besides those on its calls and steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnLimits {
    limits: SpendLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<Milliseconds>,
}

/// A run's own budget, as a call counts in it.
#[derive(Debug, Clone)]
pub(crate) struct OwnBudget {
    pub(crate) budget: BudgetConfigured,
    began: Micros,
    elapsed_ms: Option<Milliseconds>,
}

impl OwnLimits {
    /// Returns the limits of a budget that are held by amounts; `None` where there are none.
    pub(super) fn of(budget: &RunBudget) -> Option<Self> {
        let own = Self { limits: budget.spend_limits(), elapsed_ms: budget.elapsed_ms };
        (!own.limits.is_empty() || own.elapsed_ms.is_some()).then_some(own)
    }
}

impl OwnBudget {
    /// Returns the time since the run began, where that is at least the most that it may take.
    fn elapsed(&self, time: Micros) -> Option<Milliseconds> {
        let elapsed = time.0.saturating_sub(self.began.0) / MICROS_A_MILLISECOND;
        let is_over = self.elapsed_ms.is_some_and(|most| elapsed >= most.get());
        is_over.then(|| Milliseconds::new(elapsed).unwrap_or(Milliseconds::MAX))
    }

    /// Adds the time since the run began to the budgets' findings about a call.
    pub(crate) fn add_elapsed(
        &self,
        due: &mut BudgetFindings,
        (call, agent, run): (&Name, Option<&str>, &str),
        is_told: bool,
        time: Micros,
    ) {
        let Some(elapsed) = self.elapsed(time) else { return };
        let (on_exceed, name) = (self.budget.on_exceed, &self.budget.budget);
        if due.strictest.as_ref().is_none_or(|(strictest, _)| on_exceed > *strictest) {
            due.strictest = Some((on_exceed, name.clone()));
        }
        if let Some(told) = due.exceeded.iter_mut().find(|told| told.budget == *name) {
            told.elapsed_ms = Some(elapsed);
        } else if !is_told && due.full.is_none() {
            due.exceeded.push(BudgetExceeded {
                budget: name.clone(),
                scope: BudgetScope::default(),
                window: BoundedText::new(run).ok(),
                agent: agent.and_then(|agent| AgentName::new(agent).ok()),
                limits: self.budget.limits,
                amounts: SpendLimits::default(),
                on_exceed,
                elapsed_ms: Some(elapsed),
                call: Some(call.clone()),
            });
        }
    }
}

impl LoopGuard {
    /// Returns the budget that an agent's run was begun with.
    pub(crate) fn own_budget(&self, agent: Option<&str>, run: Option<&str>, rules: u32) -> Option<OwnBudget> {
        let run = run.filter(|_| holds_run_budgets(rules))?;
        let begun = self.by_name.get(&LoopKey::of_run_by(agent, run, rules))?.begun?;
        let OwnLimits { limits, elapsed_ms } = begun.own?;
        let on_exceed = begun.on_exceed.unwrap_or(OnExceed::Deny);
        Some(OwnBudget { budget: run_budget(limits, on_exceed), began: Micros(begun.at?), elapsed_ms })
    }
}

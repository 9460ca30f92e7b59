//! The budget that a run is begun with, as a budget like others.

use std::sync::LazyLock;

use bitacora_vocabulary::{
    BudgetConfigured, BudgetCount, BudgetPeriod, BudgetScope, Name, OnExceed, SpendLimits,
};

/// The name under which a run's own budget is told, charged and shown.
pub(crate) static RUN_BUDGET: LazyLock<Name> = LazyLock::new(|| Name::new("run:own").unwrap_or(Name::LEAST));

/// A run's own budget, as any run may have it.
static ANY_RUN: LazyLock<BudgetConfigured> =
    LazyLock::new(|| run_budget(SpendLimits::default(), OnExceed::Deny));

/// Returns the common form of every run's own budget, where this is its name.
pub(crate) fn any_run(name: &Name) -> Option<&'static BudgetConfigured> {
    (*name == *RUN_BUDGET).then(|| &*ANY_RUN)
}

/// Returns a run's own budget with these limits.
pub(crate) fn run_budget(limits: SpendLimits, on_exceed: OnExceed) -> BudgetConfigured {
    BudgetConfigured {
        budget: RUN_BUDGET.clone(),
        scope: BudgetScope::default(),
        limits,
        period: BudgetPeriod::Run,
        on_exceed,
        counted: BudgetCount::Together,
    }
}

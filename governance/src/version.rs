//! Which rules this program decides by.

use bitacora_formats::vocabulary::Step;

/// Stands with every decision. It counts up whenever the same history could give another decision or another state; the rules of
/// older versions stay callable. Version 2 asks budgets, and looks for what goes round.
pub const REACTOR_VERSION: u32 = 2;
/// The first version whose rules this program has.
pub const OLDEST_REACTOR_VERSION: u32 = 1;

/// From this version on there are budgets, and it is looked for what goes round.
const WITH_BUDGETS: u32 = 2;

/// Whether this program has the rules of a version.
pub(crate) const fn is_known(version: u32) -> bool {
    version >= OLDEST_REACTOR_VERSION && version <= REACTOR_VERSION
}

/// Whether a version's rules have a step.
pub(crate) fn asks(version: u32, step: Step) -> bool {
    !matches!(step, Step::Budget | Step::Loop) || has_budgets(version)
}

/// Whether a version's rules ask budgets, and look for what goes round.
pub(crate) const fn has_budgets(version: u32) -> bool {
    version >= WITH_BUDGETS
}

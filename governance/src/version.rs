//! The versions of the rules that this program decides by.

use bitacora_vocabulary::Step;
use serde::{Deserialize, Serialize};

/// The version of the rules, recorded with every decision. It counts up whenever the same history could give another decision or another
/// state; the rules of older versions stay callable.
///
/// - 2: budgets are asked, and loops are looked for.
/// - 3: nobody gets past these by leaving something out, or by reports of others.
/// - 4: nothing that is reserved, open or waited for leaves by a clock that jumped.
/// - 5: too many approvals deny the calls that need another one, and no others.
/// - 6: a policy guards files by their names, and no verdict is a dead end. The state of different agents, servers and workspaces is
///   kept apart. An accepted correction of the clock moves governed time on.
/// - 7: cycles of several calls are seen, calls without a session too. Only arguments that matter make a call another one. A contract of
///   critical damage is a review.
/// - 8: times are a policy's and a tool's, and a run is held to its own budget.
pub const REACTOR_VERSION: u32 = 8;
/// The first version whose rules this program has.
pub const OLDEST_REACTOR_VERSION: u32 = 1;
/// The first version whose saved states this program reads. Content of events expires behind a saved state, so a later version must not
/// need the events again: it takes the state over, and parts that it adds begin empty there. This number goes up only if no ledger can have
/// such a state any more.
pub const OLDEST_READABLE_STATE: u32 = 8;
const _: () = assert!(OLDEST_READABLE_STATE <= REACTOR_VERSION);

/// From this version on there are budgets, and loops are looked for.
const WITH_BUDGETS: u32 = 2;
/// From this version on an omission of the caller makes no verdict milder, and reports about others' runs have no effect.
const STRICT: u32 = 3;
/// From this version on nothing leaves by a clock that jumped before somebody has accepted it.
const PATIENT: u32 = 4;
/// From this version on only a call for which a person has to be asked needs room for an approval.
const ROOM_WHERE_ASKED: u32 = 5;
/// From this version on runs, budgets and grants are kept apart by agent and workspace. Ids of approvals are drawn. Governed time
/// goes on after an accepted correction of the clock.
const ISOLATED: u32 = 6;
/// From this version on an allowing rule names the server whose tools it means, and names in full the tools whose places cannot be
/// read.
const NAMING: u32 = 6;
/// From this version on a policy guards files by their names.
const GUARDING: u32 = 6;
/// From this version on no verdict is a dead end. Exit codes say nothing of trust, and blocked dimensions are reviewed. A tool that
/// nobody registered can be reviewed, and a person's rejection denies the same call for a while.
const WITHOUT_DEAD_ENDS: u32 = 6;
/// From this version on cycles of several calls are seen, and polls are told apart.
const SEEING_CYCLES: u32 = 7;

/// From this version on a run is held to its own budget, and an end that it does not tell is told of.
const HOLDING_RUN_BUDGETS: u32 = 8;

/// Returns `true` if this program has the rules of a version.
pub(crate) const fn is_known(version: u32) -> bool {
    version >= OLDEST_REACTOR_VERSION && version <= REACTOR_VERSION
}

/// Returns `true` if a version's rules have a step.
pub(crate) fn asks(version: u32, step: Step) -> bool {
    !matches!(step, Step::Budget | Step::Loop) || has_budgets(version)
}

/// Returns `true` if a version's rules ask budgets, and look for loops.
pub(crate) const fn has_budgets(version: u32) -> bool {
    version >= WITH_BUDGETS
}

/// Returns `true` if a version's rules take no caller's omission, and no caller's word on others, for more than it is.
pub(crate) const fn is_strict(version: u32) -> bool {
    version >= STRICT
}

/// Returns `true` if a version's rules keep entries that would leave by a clock that jumped.
pub(crate) const fn is_patient(version: u32) -> bool {
    version >= PATIENT
}

/// Returns `true` if a version's rules deny every call where there is no room for another approval, also those that need none.
pub(crate) const fn needs_room_for_approvals(version: u32) -> bool {
    version < ROOM_WHERE_ASKED
}

/// Returns `true` if a version's rules keep the state of different agents and workspaces apart.
pub(crate) const fn is_isolated(version: u32) -> bool {
    version >= ISOLATED
}

/// Returns `true` if under a version's rules a name that a server gave to its tool is not taken for another tool's.
pub(crate) const fn tells_servers_apart(version: u32) -> bool {
    version >= NAMING
}

/// Returns `true` if a version's rules guard files by their names.
pub(crate) const fn guards_files(version: u32) -> bool {
    version >= GUARDING
}

/// Returns `true` if a version's rules leave a way on from every verdict.
pub(crate) const fn has_no_dead_ends(version: u32) -> bool {
    version >= WITHOUT_DEAD_ENDS
}

/// Returns `true` if a version's rules see cycles of several calls, and let polls pass.
pub(crate) const fn sees_cycles(version: u32) -> bool {
    version >= SEEING_CYCLES
}

/// Returns `true` if under a version's rules a contract of critical damage has a person look at the call.
pub(crate) const fn weighs_contracts(version: u32) -> bool {
    version >= SEEING_CYCLES
}

/// Returns `true` if a version's rules hold a run to its own budget, and await its end.
pub(crate) const fn holds_run_budgets(version: u32) -> bool {
    version >= HOLDING_RUN_BUDGETS
}

/// The version of the rules for events that name none: that of the ledger's last opening, or of a decision since. 0 for the first
/// two versions, which are told apart by the events of their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RulesInForce(u32);

impl RulesInForce {
    pub(crate) const fn version(self) -> u32 {
        self.0
    }

    /// Returns the rules in force once the ledger is created or opened under a version.
    pub(crate) const fn opened(version: u32) -> Self {
        if is_strict(version) { Self(version) } else { Self(0) }
    }

    /// Returns the rules in force once a decision is made by a version.
    pub(crate) const fn decided(self, version: u32) -> Self {
        if is_strict(version) && version > self.0 { Self(version) } else { self }
    }
}

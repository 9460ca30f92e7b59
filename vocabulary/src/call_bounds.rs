//! Bounds on loops, steps and delegation of runs and sessions, as a policy sets them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedNumber, Glob};

/// The most identical calls in a row that a policy may let pass, and one more.
pub const MAX_IDENTICAL_CALLS: u32 = 1_000;
/// The most steps or calls of a run that a policy may let pass.
pub const MAX_STEPS_OF_RUN: u32 = 1_000_000;
/// The longest cycle of calls that a policy may have looked for.
pub const MAX_CYCLE_CALLS: u32 = 8;
/// The most times that a policy may let a cycle of several calls be gone through, and one more.
pub const MAX_CYCLE_REPEATS: u32 = 1_000;
/// The most polls in a row that a policy may let pass.
pub const MAX_POLL_CALLS: u32 = 100_000;
/// Globs in `polls` of a policy's bounds.
pub const MAX_POLL_GLOBS: usize = 64;
/// The deepest delegation that a policy may let pass.
pub const MAX_DELEGATION_DEPTH: u32 = 100;

/// Bounds on loops, steps and delegation of runs and sessions. A member that is left out is as shipped. Unknown
/// members are refused, as in the rules of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBounds {
    /// This many identical calls one after another are a loop: the last of them is denied. 3 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identical_calls: Option<BoundedNumber<2, MAX_IDENTICAL_CALLS>>,
    /// The longest cycle of calls that is looked for: `3` finds A-B-C-A-B-C, `1` identical calls alone. 3 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_calls: Option<BoundedNumber<1, MAX_CYCLE_CALLS>>,
    /// A cycle of two calls or more is a loop when it is gone through this often: the last of its calls is denied. 2 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_repeats: Option<BoundedNumber<2, MAX_CYCLE_REPEATS>>,
    /// Calls that name neither a session nor a run are a loop when they, or a cycle of them, are repeated this often.
    /// It counts only if it is more than in a session, because an agent's tasks mix there. 10 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_without_session: Option<BoundedNumber<2, MAX_CYCLE_REPEATS>>,
    /// Globs for the parts of commands that wait for something, as rules compare contexts. A command is a poll if each of its parts
    /// matches one. Left out, no command is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polls: Option<BoundedList<Glob, 1, MAX_POLL_GLOBS>>,
    /// So many polls pass in a row without another call between them. 100 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_calls: Option<BoundedNumber<1, MAX_POLL_CALLS>>,
    /// A run takes so many steps, and has so many calls, at most. 1,000 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_of_run: Option<BoundedNumber<1, MAX_STEPS_OF_RUN>>,
    /// So many runs may stand above the one that calls, each begun by the one above. 5 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_depth: Option<BoundedNumber<0, MAX_DELEGATION_DEPTH>>,
}

impl CallBounds {
    /// Identical calls one after another that are a loop.
    #[must_use]
    pub const fn identical_calls(&self) -> u32 {
        match self.identical_calls {
            Some(calls) => calls.get(),
            None => 3,
        }
    }

    /// Calls of the longest cycle that is looked for.
    #[must_use]
    pub const fn cycle_calls(&self) -> u32 {
        match self.cycle_calls {
            Some(calls) => calls.get(),
            None => 3,
        }
    }

    /// Returns the number of repeats at which a cycle of two calls or more is a loop.
    #[must_use]
    pub const fn cycle_repeats(&self) -> u32 {
        match self.cycle_repeats {
            Some(times) => times.get(),
            None => 2,
        }
    }

    /// Returns the number of repeats at which calls without a session or a run are a loop.
    #[must_use]
    pub const fn repeats_without_session(&self) -> u32 {
        match self.repeats_without_session {
            Some(times) => times.get(),
            None => 10,
        }
    }

    /// Polls in a row that pass.
    #[must_use]
    pub const fn poll_calls(&self) -> u32 {
        match self.poll_calls {
            Some(calls) => calls.get(),
            None => 100,
        }
    }

    /// Steps that a run takes at most, and calls.
    #[must_use]
    pub const fn steps_of_run(&self) -> u32 {
        match self.steps_of_run {
            Some(steps) => steps.get(),
            None => 1_000,
        }
    }

    /// Runs that may stand above one that calls.
    #[must_use]
    pub const fn delegation_depth(&self) -> u32 {
        match self.delegation_depth {
            Some(depth) => depth.get(),
            None => 5,
        }
    }
}

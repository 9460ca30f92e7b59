//! How far runs and sessions may go round, as a policy says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BoundedNumber;

/// The most identical calls in a row that a policy may let pass, and one more.
pub const MAX_IDENTICAL_CALLS: u32 = 1_000;
/// The most steps or calls of a run that a policy may let pass.
pub const MAX_STEPS_OF_RUN: u32 = 1_000_000;
/// The deepest delegation that a policy may let pass.
pub const MAX_DELEGATION_DEPTH: u32 = 100;

/// How far runs and sessions may go round. What is left out is as it is shipped. Like the rules beside it in a policy it refuses
/// members that it does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBounds {
    /// This many identical calls one after another are a loop: the last of them is denied. 3 as shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identical_calls: Option<BoundedNumber<2, MAX_IDENTICAL_CALLS>>,
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

//! Times of people and calls: of the tool's registration, else of the active policy, else as shipped.

use bitacora_formats::Micros;
use bitacora_vocabulary::{ApprovalEnd, BoundedNumber, PolicyTimes};

use crate::limits::{ALONE_LIFE, APPROVAL_LIFE, BLOCKED_LIFE, CALL_LIFE, RUN_LIFE, START_LIFE};
use crate::state::State;
use crate::tools::registry::RegisteredTool;

const MICROS_A_SECOND: u64 = 1_000_000;

/// The times of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallTimes {
    /// The time that a person has to answer.
    pub(crate) approval: Micros,
    pub(crate) approval_end: ApprovalEnd,
    /// The time after its decision in which it may begin.
    pub(crate) start: Micros,
    /// The time after its decision in which it ends.
    pub(crate) call: Micros,
}

impl CallTimes {
    /// Returns the end of an approval as it is recorded: `None` where the call asks for another one.
    pub(crate) fn recorded_end(&self) -> Option<ApprovalEnd> {
        Some(self.approval_end).filter(|end| *end != ApprovalEnd::default())
    }
}

impl State {
    /// Returns the times of a call of this tool, or of one without a registration.
    pub(crate) fn times_of(&self, tool: Option<&RegisteredTool>) -> CallTimes {
        let policy = self.policy_times();
        let own = tool.and_then(|tool| tool.document.times).unwrap_or_default();
        let start = seconds(own.start_s.or(policy.start_s), START_LIFE);
        let of_tool = tool.map(|tool| tool.document.timeout_ms.get().saturating_mul(1_000));
        CallTimes {
            approval: seconds(own.approval_s.or(policy.approval_s), APPROVAL_LIFE),
            approval_end: own.approval_end.or(policy.approval_end).unwrap_or_default(),
            start,
            call: of_tool.map_or_else(
                || seconds(policy.call_s, CALL_LIFE),
                |of_tool| Micros(of_tool.saturating_add(start.0)),
            ),
        }
    }

    /// Returns the times of the tool that a dimension names, with its server in front.
    pub(crate) fn times_of_named(&self, tool: &str) -> CallTimes {
        let registry = self.registry();
        let of_server = || tool.split_once('/').and_then(|(server, tool)| registry.get(tool, Some(server)));
        self.times_of(registry.get(tool, None).or_else(of_server).map(AsRef::as_ref))
    }

    /// Returns the active policy's times.
    pub(crate) fn policy_times(&self) -> PolicyTimes {
        self.policies.get().times()
    }
}

/// Returns how long critical calls of a blocked dimension are denied.
pub(crate) fn blocked(times: &PolicyTimes) -> Micros {
    seconds(times.blocked_s, BLOCKED_LIFE)
}

/// Returns how long after its beginning a run that has told no end is told of.
pub(crate) fn run(times: &PolicyTimes) -> Micros {
    seconds(times.run_s, RUN_LIFE)
}

/// Returns how long after the last one a call without a session and a run goes on from those before.
pub(crate) fn alone(times: &PolicyTimes) -> Micros {
    seconds(times.alone_s, ALONE_LIFE)
}

fn seconds<const MIN: u32, const MAX: u32>(said: Option<BoundedNumber<MIN, MAX>>, shipped: Micros) -> Micros {
    said.map_or(shipped, |seconds| Micros(u64::from(seconds.get()) * MICROS_A_SECOND))
}

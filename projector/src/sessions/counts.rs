//! The counts of a session: their row, and their answers in the HTTP interface.

use bitacora_api::{CallEndsAnswer, SessionApprovalsAnswer, SessionCallsAnswer};
use serde::{Deserialize, Serialize};

use crate::call_state::CallState;
use crate::import_times::ImportOrigin;
use crate::spending::SpendingSums;

/// The counts of a session. Ends of its calls and answers to its approvals count in it whether they name it or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Its last event.
    pub last: u64,
    /// The time of that, microseconds since 1970.
    pub last_time: u64,
    /// The import that brought it, and when it says that it happened.
    pub last_brought: Option<ImportOrigin>,
    /// Its events.
    pub events: u64,
    /// Turns that began.
    pub turns: u64,
    /// Calls of tools, each once however often it was asked for.
    pub calls: u64,
    /// Those of which `allow` was said last.
    pub allowed: u64,
    /// `review`.
    pub reviewed: u64,
    /// `deny`.
    pub denied: u64,
    /// Calls that went well.
    pub ok: u64,
    /// Those that failed.
    pub errors: u64,
    /// Those that took too long.
    pub timeouts: u64,
    /// Those that were broken off.
    pub interrupted: u64,
    /// Those that a person kept from being made.
    pub rejected: u64,
    /// Those that a rule or a program kept from being made, as their ends say.
    pub blocked: u64,
    /// Those without an end that wait for a person.
    pub waiting: u64,
    /// Those without an end that were denied, where that holds.
    pub stopped: u64,
    /// Those without an end whose approval nobody gave in time, or which was taken back.
    pub lapsed: u64,
    /// Approvals that were asked for.
    pub approvals_asked: u64,
    /// Those that were given, also for other arguments.
    pub approvals_given: u64,
    /// Those that were refused.
    pub approvals_refused: u64,
    /// Those that nobody answered in time, or that were taken back.
    pub approvals_lapsed: u64,
    /// Calls of which half of the record is missing.
    pub gaps: u64,
    /// Runs that are named in it.
    pub runs: u64,
    /// The spending of models and tools.
    pub spending: SpendingSums,
}

impl SessionCounts {
    /// Calls that may run, or do: their end is still to come.
    #[must_use]
    pub fn open_calls(&self) -> u64 {
        let Self { ok, errors, timeouts, interrupted, rejected, blocked, waiting, stopped, lapsed, .. } =
            self;
        let ended = ok + errors + timeouts + interrupted + rejected + blocked;
        self.calls.saturating_sub(ended + waiting + stopped + lapsed)
    }

    /// Counts calls without an end where they stand now, and no more where they stood.
    pub(super) fn move_call(&mut self, before: CallState, now: CallState) {
        if let Some(count) = self.of_state(before) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.of_state(now) {
            *count += 1;
        }
    }

    /// Returns the count of calls in this state; `None` for open ones, which are all that are left.
    const fn of_state(&mut self, state: CallState) -> Option<&mut u64> {
        match state {
            CallState::Open => None,
            CallState::Waiting => Some(&mut self.waiting),
            CallState::Denied => Some(&mut self.stopped),
            CallState::Rejected => Some(&mut self.rejected),
            CallState::Expired | CallState::Withdrawn => Some(&mut self.lapsed),
        }
    }

    /// Approvals without an answer.
    #[must_use]
    pub fn waiting_approvals(&self) -> u64 {
        let Self { approvals_given, approvals_refused, approvals_lapsed, .. } = self;
        self.approvals_asked.saturating_sub(approvals_given + approvals_refused + approvals_lapsed)
    }
}

impl From<&SessionCounts> for SessionCallsAnswer {
    fn from(counts: &SessionCounts) -> Self {
        Self {
            all: counts.calls,
            allowed: counts.allowed,
            reviewed: counts.reviewed,
            denied: counts.denied,
            ends: CallEndsAnswer {
                ok: counts.ok,
                error: counts.errors,
                timeout: counts.timeouts,
                interrupted: counts.interrupted,
                rejected: counts.rejected,
                blocked: counts.blocked,
            },
            stopped: counts.stopped,
            lapsed: counts.lapsed,
            pending: counts.waiting,
            open: counts.open_calls(),
        }
    }
}

impl From<&SessionCounts> for SessionApprovalsAnswer {
    fn from(counts: &SessionCounts) -> Self {
        Self {
            asked: counts.approvals_asked,
            given: counts.approvals_given,
            refused: counts.approvals_refused,
            lapsed: counts.approvals_lapsed,
            pending: counts.waiting_approvals(),
        }
    }
}

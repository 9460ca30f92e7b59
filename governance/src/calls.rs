//! Calls that were decided and have no outcome yet.

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{Dimension, Mode, Name, Verdict};
use serde::{Deserialize, Serialize};

use crate::breaker::Trial;
use crate::journal::Journaled;
use crate::limits::MAX_OPEN_CALLS;

/// A call that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// Where its decision stands.
    pub position: u64,
    /// The stream it was asked for in.
    pub stream: String,
    /// The agent that asked for it.
    pub agent: Option<String>,
    /// What its outcome counts for.
    pub dimension: Dimension,
    /// What was said, as it was meant: in mode `observe` always `allow`.
    pub verdict: Verdict,
    /// Whether it was meant.
    pub mode: Mode,
    /// Whether a person, or a person's standing grant, lifted a review for it.
    pub by_person: bool,
    /// The approval that waits, or that allowed it.
    pub approval: Option<Name>,
    /// The time of its half-open breaker in which it was decided.
    pub trial: Option<Trial>,
    /// Its idempotency key, with the caller's name before it.
    pub key: Option<String>,
    /// Whether something was counted towards trust for it.
    pub is_counted: bool,
    /// Whether it was recorded elsewhere.
    pub imported: bool,
    /// When it is over without an outcome.
    pub deadline: Micros,
}

impl OpenCall {
    /// Whether an event that names this agent, or none, may be about it. Who asked as one agent is not answered for by another.
    pub(crate) fn is_of(&self, agent: Option<&str>) -> bool {
        agent.is_none() || agent == self.agent.as_deref()
    }

    /// Whether the same call may be asked for once more: a review that brings the approval it waited for.
    pub(crate) fn may_be_asked_again(&self, approval: Option<&Name>) -> bool {
        self.verdict == Verdict::Review && approval.is_some()
    }
}

/// All open calls, by their id and by their deadline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCalls {
    by_id: Journaled<Name, OpenCall>,
    /// Allowed calls: past their deadline somebody records that they took too long.
    by_deadline: Journaled<(Micros, Name), ()>,
    /// The others: past theirs nothing more is to come, and they leave.
    leaving: Journaled<(Micros, Name), ()>,
}

impl OpenCalls {
    pub(crate) fn get(&self, call: &str) -> Option<&OpenCall> {
        self.by_id.get(call)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.by_id.len() >= MAX_OPEN_CALLS
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Allowed calls whose deadline has passed, the earliest first.
    pub(crate) fn overdue(&self, time: Micros) -> impl Iterator<Item = (&Name, &OpenCall)> {
        let over = self.by_deadline.iter().map(|(key, ())| key).take_while(move |(end, _)| *end <= time);
        over.filter_map(|(_, call)| self.by_id.get(call).map(|open| (call, open)))
    }

    /// Takes in a call that was recorded elsewhere. Where there are too many, the oldest is let go: history does not hold up what
    /// happens now.
    pub(crate) fn apply_imported(&mut self, call: Name, open: OpenCall) {
        let oldest = self.by_deadline.iter().next().map(|((_, oldest), ())| oldest.clone());
        if let Some(oldest) = oldest.filter(|_| self.is_full()) {
            self.settle(&oldest);
        }
        self.apply_decided(call, open);
    }

    pub(crate) fn apply_decided(&mut self, call: Name, mut open: OpenCall) {
        // Asked for again with its approval, it is still the same call.
        open.is_counted |= self.settle(&call).is_some_and(|before| before.is_counted);
        // It was denied for that; nothing is kept of it.
        if self.is_full() {
            return;
        }
        self.ends(&open).insert((open.deadline, call.clone()), ());
        self.by_id.insert(call, open);
    }

    /// Something was counted for the call; nothing else will be.
    pub(crate) fn count(&mut self, call: &Name) {
        self.by_id.change(call, |open| open.is_counted = true);
    }

    /// The call has its outcome, or none is to be expected.
    pub(crate) fn settle(&mut self, call: &Name) -> Option<OpenCall> {
        let open = self.by_id.get(call).cloned()?;
        self.ends(&open).remove(&(open.deadline, call.clone()));
        self.by_id.remove(call);
        Some(open)
    }

    /// Lets go of calls that were not allowed and whose time is over.
    pub(crate) fn forget(&mut self, time: Micros) {
        let leaving = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let over: Vec<_> = leaving.map(|(_, call)| call.clone()).collect();
        for call in over {
            self.settle(&call);
        }
    }

    fn ends(&mut self, open: &OpenCall) -> &mut Journaled<(Micros, Name), ()> {
        if open.verdict == Verdict::Allow { &mut self.by_deadline } else { &mut self.leaving }
    }

    pub(crate) fn keep(&mut self) {
        self.by_id.keep();
        self.leaving.keep();
        self.by_deadline.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_id.discard();
        self.leaving.discard();
        self.by_deadline.discard();
    }
}

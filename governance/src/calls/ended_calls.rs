//! Allowed calls whose outcome was told, for as long as a later check still counts.
//! They are stored only where there are contracts.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, Name};
use serde::{Deserialize, Serialize};

use crate::calls::{OpenCall, Rollbacks};
use crate::limits::{CALL_LIFE, MAX_ENDED_CALLS, MAX_ENDED_CALLS_OF_AGENT};
use crate::trust::breaker::Trial;
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::is_strict;

/// A call whose outcome was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EndedCall {
    agent: Option<String>,
    dimension: Dimension,
    trial: Option<Trial>,
    /// Set when it counted as a bad one, or when nothing more counts for it.
    is_bad: bool,
    rollbacks: Rollbacks,
    until: Micros,
}

/// All of them, by their id and by the time at which they are forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedCalls {
    by_id: UndoMap<Name, EndedCall>,
    leaving: UndoMap<(Micros, Name), ()>,
    shares: PerAgentQuota,
}

/// The call that a later check is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedCall<'s> {
    pub(crate) agent: Option<&'s str>,
    pub(crate) dimension: &'s Dimension,
    pub(crate) trial: Option<Trial>,
    /// `true` if nothing more counts towards trust for it.
    pub(crate) is_counted: bool,
    pub(crate) rollbacks: &'s Rollbacks,
    pub(crate) is_strict: bool,
}

impl<'s> From<&'s OpenCall> for CheckedCall<'s> {
    fn from(open: &'s OpenCall) -> Self {
        Self {
            agent: open.agent.as_deref(),
            dimension: &open.dimension,
            trial: open.trial,
            is_counted: open.is_counted || open.outcome.uncounted,
            rollbacks: &open.rollbacks,
            is_strict: is_strict(open.rules),
        }
    }
}

impl EndedCalls {
    /// Returns a call of this agent, if it is stored.
    pub(crate) fn get(&self, call: &str, agent: Option<&str>, time: Micros) -> Option<CheckedCall<'_>> {
        let ended = self.by_id.get(call).filter(|ended| time < ended.until)?;
        let is_its = agent.is_none() || agent == ended.agent.as_deref();
        is_its.then_some(CheckedCall {
            agent: ended.agent.as_deref(),
            dimension: &ended.dimension,
            trial: ended.trial,
            is_counted: ended.is_bad,
            rollbacks: &ended.rollbacks,
            is_strict: true,
        })
    }

    /// Remembers a call whose outcome was told, where there is room: a lack of room must not hold up new events.
    pub(crate) fn apply_ended(&mut self, call: Name, open: &OpenCall, time: Micros) {
        self.forget(time);
        self.take(&call);
        let agent = open.agent.as_deref();
        if self.by_id.len() >= MAX_ENDED_CALLS || self.shares.held(agent) >= MAX_ENDED_CALLS_OF_AGENT {
            return;
        }
        let until = Micros(time.0.saturating_add(CALL_LIFE.0));
        self.shares.add(agent);
        self.leaving.insert((until, call.clone()), ());
        let ended = EndedCall {
            agent: open.agent.clone(),
            dimension: open.dimension.clone(),
            trial: open.trial,
            is_bad: open.is_counted || open.outcome.uncounted,
            rollbacks: open.rollbacks.clone(),
            until,
        };
        self.by_id.insert(call, ended);
    }

    /// Notes that it counted as a bad one.
    pub(crate) fn apply_bad(&mut self, call: &Name) {
        self.by_id.change(call, |ended| ended.is_bad = true);
    }

    /// Notes that a person is asked about a rollback of it.
    pub(crate) fn apply_rollback(&mut self, call: &Name, contract: Option<&Name>) {
        self.by_id.change(call, |ended| ended.rollbacks.add(contract.cloned()));
    }

    fn forget(&mut self, time: Micros) {
        let over = self.leaving.iter().take_while(|((end, _), ())| *end <= time);
        let over: Vec<_> = over.map(|((_, call), ())| call.clone()).collect();
        over.iter().for_each(|call| self.take(call));
    }

    fn take(&mut self, call: &Name) {
        let Some((call, ended)) = self.by_id.take(call) else { return };
        self.shares.take(ended.agent.as_deref());
        self.leaving.remove(&(ended.until, call));
    }

    pub(crate) fn pause(&mut self) {
        self.by_id.pause();
        self.leaving.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_id.resume();
        self.leaving.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_id.keep();
        self.leaving.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_id.discard();
        self.leaving.discard();
        self.shares.discard();
    }
}

//! Failed checks before calls, by call and contract: a check that holds says nothing of the others.

use bitacora_formats::Micros;
use bitacora_vocabulary::Name;
use serde::{Deserialize, Serialize};

use super::BrokenCondition;
use crate::limits::{CALL_LIFE, MAX_BROKEN, MAX_BROKEN_OF_AGENT};
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;

/// A call of an agent, and the contract that the check is of, if it is of one.
pub(crate) type CheckKey = (String, Name, Option<Name>);

/// The conditions that do not hold before calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedPreconditions {
    by_check: UndoMap<CheckKey, BrokenCondition>,
    leaving: UndoMap<(Micros, CheckKey), ()>,
    shares: PerAgentQuota,
}

impl FailedPreconditions {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_check.len() == 0
    }

    /// Returns `true` if there is no room to remember another one. Those past their time take none.
    pub(crate) fn is_full_for(&self, key: &CheckKey, time: Micros) -> bool {
        let held = self.shares.held(Some(&key.0));
        let may_be_full = self.by_check.len() >= MAX_BROKEN || held >= MAX_BROKEN_OF_AGENT;
        if !may_be_full || self.by_check.get(key).is_some() {
            return false;
        }
        let due = || self.due(time);
        let own = due().filter(|(agent, ..)| *agent == key.0).count();
        self.by_check.len() - due().count() >= MAX_BROKEN || held - own.min(held) >= MAX_BROKEN_OF_AGENT
    }

    /// Remembers the kind of a failed check, or that all checks held.
    pub(crate) fn apply(&mut self, key: CheckKey, failed: Option<Name>, time: Micros) {
        let is_full = self.is_full_for(&key, time);
        self.take(&key);
        if let Some(check) = failed.filter(|_| !is_full) {
            let until = Micros(time.0.saturating_add(CALL_LIFE.0));
            self.leaving.insert((until, key.clone()), ());
            self.shares.add(Some(&key.0));
            self.by_check.insert(key, BrokenCondition { check, until });
        }
    }

    /// Returns the condition that does not hold before a call at this time.
    pub(crate) fn before(&self, agent: &str, call: &Name, time: Micros) -> Option<&Name> {
        // Hardly any call has one.
        if self.is_empty() {
            return None;
        }
        let of_call = self.by_check.iter_from(&(agent.to_owned(), call.clone(), None));
        let of_call = of_call.take_while(|((of, about, _), _)| of == agent && about == call);
        of_call.map(|(_, broken)| broken).find(|broken| time < broken.until).map(|broken| &broken.check)
    }

    /// Takes away all whose time is over.
    pub(crate) fn forget(&mut self, time: Micros) {
        let over: Vec<_> = self.due(time).cloned().collect();
        over.iter().for_each(|key| self.take(key));
    }

    fn due(&self, time: Micros) -> impl Iterator<Item = &CheckKey> {
        let due = self.leaving.iter().take_while(move |((end, _), ())| *end <= time);
        due.map(|((_, key), ())| key)
    }

    fn take(&mut self, key: &CheckKey) {
        let Some((key, broken)) = self.by_check.take(key) else { return };
        self.shares.take(Some(&key.0));
        self.leaving.remove(&(broken.until, key));
    }

    pub(crate) fn pause(&mut self) {
        self.by_check.pause();
        self.leaving.pause();
        self.shares.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.by_check.resume();
        self.leaving.resume();
        self.shares.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.by_check.keep();
        self.leaving.keep();
        self.shares.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.by_check.discard();
        self.leaving.discard();
        self.shares.discard();
    }
}

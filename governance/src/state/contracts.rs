//! Contracts: conditions before a call and after it, defined by operators and checked by executors.
//!
//! A check is its agent's word on a call of its own: it keeps nobody else's calls from being made.

mod unmet;

use bitacora_formats::Micros;
use bitacora_vocabulary::{BlastRadius, ContractChecked, ContractDefined, ContractPhase, JsonObject, Name};
use serde::{Deserialize, Serialize};

use crate::budgets::ChargeContext;
use crate::limits::{CALL_LIFE, MAX_BROKEN, MAX_BROKEN_OF_AGENT};
use crate::undo::per_agent_quota::NOBODY;
use crate::undo::per_agent_quota::PerAgentQuota;
use crate::undo::undo_map::UndoMap;
use crate::version::weighs_contracts;

use unmet::{CheckKey, FailedPreconditions};

/// Contracts that may be defined.
pub const MAX_CONTRACTS: usize = 1_000;
/// Broken ones that are looked at, and taken away if their time is over, with each that comes.
const SWEPT_AT_ONCE: usize = 8;

/// A call of an agent.
pub(crate) type CallKey = (String, Name);

/// A condition that does not hold before a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokenCondition {
    /// The kind of check.
    check: Name,
    /// The time until which that is stored.
    until: Micros,
}

/// The contracts, and the calls before which one of them was broken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contracts {
    pub(crate) defined: UndoMap<Name, ContractDefined>,
    pub(crate) broken: UndoMap<CallKey, BrokenCondition>,
    leaving: UndoMap<(Micros, CallKey), ()>,
    pub(crate) shares: PerAgentQuota,
    /// The same by call and contract, from the third version of the rules on.
    #[serde(default, skip_serializing_if = "FailedPreconditions::is_empty")]
    pub(crate) unmet: FailedPreconditions,
    /// Calls that are checked by a contract of critical damage, from the seventh version of the rules on.
    #[serde(default, skip_serializing_if = "FailedPreconditions::is_empty")]
    pub(crate) critical: FailedPreconditions,
}

impl Contracts {
    pub(crate) fn has_any(&self) -> bool {
        !self.defined.is_empty()
    }

    /// Returns `true` if a check is of a contract that nobody defined.
    pub(crate) fn is_of_unknown(&self, checked: &ContractChecked) -> bool {
        checked.contract.as_ref().is_some_and(|contract| self.defined.get(contract).is_none())
    }

    /// Forgets checks whose time is over.
    pub(crate) fn forget(&mut self, time: Micros) {
        self.unmet.forget(time);
        self.critical.forget(time);
    }

    /// Returns the contract of critical damage that a check is of.
    pub(crate) fn critical_of<'a>(&self, checked: &'a ContractChecked) -> Option<&'a Name> {
        let named = checked.contract.as_ref()?;
        self.defined
            .get(named)
            .filter(|contract| contract.blast_radius == BlastRadius::Critical)
            .map(|_| named)
    }

    /// Returns the contracts, by their names, behind the one that is named.
    pub fn defined(&self, after: Option<&Name>) -> impl Iterator<Item = &ContractDefined> {
        self.defined.iter_after(after).map(|(_, contract)| contract)
    }

    pub(crate) fn has_room_for(&self, contract: &Name) -> bool {
        self.defined.len() < MAX_CONTRACTS || self.defined.get(contract).is_some()
    }

    pub(crate) fn apply_defined(&mut self, contract: ContractDefined) {
        if self.has_room_for(&contract.contract) {
            self.defined.insert(contract.contract.clone(), contract);
        }
    }

    /// Returns the kind of the first check that did not hold: one that failed, or one that the contract asks for and nobody made.
    pub(crate) fn failed<'a>(&'a self, checked: &'a ContractChecked) -> Option<&'a Name> {
        if let Some(failed) = checked.checks.iter().find(|check| !check.passed) {
            return Some(&failed.kind);
        }
        let contract = checked.contract.as_ref().and_then(|contract| self.defined.get(contract))?;
        let parts = match checked.phase {
            ContractPhase::Pre => &contract.pre,
            ContractPhase::Post => &contract.post,
        };
        let is_made = |kind: &Name, params: &JsonObject| {
            checked.checks.iter().any(|check| check.kind == *kind && check.params == *params)
        };
        parts.iter().find(|part| !is_made(&part.kind, &part.params)).map(|part| &part.kind)
    }

    /// Returns `true` if there is no room to remember that a check before a call failed.
    pub(crate) fn is_full_for(&self, key: &CallKey, time: Micros) -> bool {
        let is_new = self.broken.get(key).is_none();
        let leaves = || self.leaving.iter().next().is_some_and(|((end, _), ())| *end <= time);
        let is_full = self.broken.len() >= MAX_BROKEN && !leaves();
        is_new && (is_full || self.shares.held(Some(&key.0)) >= MAX_BROKEN_OF_AGENT)
    }

    /// Folds `contract.checked`: the last check before a call decides whether its conditions hold.
    pub(crate) fn apply_checked(&mut self, checked: &ContractChecked, at: ChargeContext<'_>) {
        let ChargeContext { time, agent, .. } = at;
        let (Some(call), ContractPhase::Pre) = (&checked.call, checked.phase) else { return };
        if at.is_strict() {
            // A check of an unknown contract holds nowhere, and makes nothing good.
            if self.is_of_unknown(checked) {
                return;
            }
            let failed = self.failed(checked).cloned();
            if failed.is_none() {
                self.forget_broken(&key_of(agent, call));
            }
            self.forget(time);
            if let Some(contract) = self.critical_of(checked).filter(|_| weighs_contracts(at.rules)) {
                self.critical.apply(check_key(agent, call, checked), Some(contract.clone()), time);
            }
            return self.unmet.apply(check_key(agent, call, checked), failed, time);
        }
        let over = self.leaving.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let over: Vec<_> = over.take(SWEPT_AT_ONCE).map(|(_, key)| key.clone()).collect();
        over.iter().for_each(|key| self.forget_broken(key));
        let key = key_of(agent, call);
        let check = self.failed(checked).cloned();
        let is_full = self.is_full_for(&key, time);
        self.forget_broken(&key);
        if let Some(check) = check.filter(|_| !is_full) {
            let until = Micros(time.0.saturating_add(CALL_LIFE.0));
            self.leaving.insert((until, key.clone()), ());
            self.shares.add(Some(&key.0));
            self.broken.insert(key, BrokenCondition { check, until });
        }
    }

    fn forget_broken(&mut self, key: &CallKey) {
        let Some((key, broken)) = self.broken.take(key) else { return };
        self.shares.take(Some(&key.0));
        self.leaving.remove(&(broken.until, key));
    }

    /// Returns the condition that does not hold before a call at this time.
    pub(crate) fn broken_before(&self, agent: Option<&str>, call: &Name, time: Micros) -> Option<&Name> {
        if let Some(check) = self.unmet.before(agent.unwrap_or(NOBODY), call, time) {
            return Some(check);
        }
        // Hardly any call has one.
        if self.broken.is_empty() {
            return None;
        }
        let broken = self.broken.get(&key_of(agent, call))?;
        Some(&broken.check).filter(|_| time < broken.until)
    }

    pub(crate) fn pause(&mut self) {
        self.defined.pause();
        self.broken.pause();
        self.leaving.pause();
        self.shares.pause();
        self.unmet.pause();
        self.critical.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.defined.resume();
        self.broken.resume();
        self.leaving.resume();
        self.shares.resume();
        self.unmet.resume();
        self.critical.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.defined.keep();
        self.broken.keep();
        self.leaving.keep();
        self.shares.keep();
        self.unmet.keep();
        self.critical.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.defined.discard();
        self.broken.discard();
        self.leaving.discard();
        self.shares.discard();
        self.unmet.discard();
        self.critical.discard();
    }
}

pub(crate) fn check_key(agent: Option<&str>, call: &Name, checked: &ContractChecked) -> CheckKey {
    (agent.unwrap_or(NOBODY).to_owned(), call.clone(), checked.contract.clone())
}

pub(crate) fn key_of(agent: Option<&str>, call: &Name) -> CallKey {
    (agent.unwrap_or(NOBODY).to_owned(), call.clone())
}

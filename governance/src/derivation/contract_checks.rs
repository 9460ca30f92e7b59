//! The consequences of contracts: verdicts on calls, and of failed checks.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ContractChecked, ContractPhase, Name, ReasonCode, TrustObserved, TrustOutcome, Verdict,
};

use crate::calls::OpenCall;
use crate::calls::ended_calls::CheckedCall;
use crate::command::Command;
use crate::decide::finding::StepObjection;
use crate::reactor::ObservedEvent;
use crate::reactor::effects::Effects;
use crate::reactor::examination::{CallFacts, Examination};
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::state::contracts::{check_key, key_of};
use crate::undo::per_agent_quota::NOBODY;
use crate::version::{has_budgets, is_strict, weighs_contracts};

impl State {
    /// Returns the verdict of a failed check before the call.
    pub(crate) fn by_contract(&self, facts: &CallFacts, time: Micros) -> StepObjection {
        if facts.imported || !has_budgets(facts.reactor_version) {
            return None;
        }
        let check = self.contracts.broken_before(facts.agent.as_deref(), &facts.call, time)?;
        Some((Verdict::Deny, ReasonCode::ContractBroken, Some(check.to_string())))
    }

    /// Returns `true` if a contract of critical damage is checked before the call: its breach could do damage that cannot be made
    /// good.
    pub(crate) fn is_critical_by_contract(&self, facts: &CallFacts, time: Micros) -> bool {
        !facts.imported
            && weighs_contracts(facts.reactor_version)
            && self
                .contracts
                .critical
                .before(facts.agent.as_deref().unwrap_or(NOBODY), &facts.call, time)
                .is_some()
    }

    /// Derives the consequences of a check. A failed one after a call that runs counts against its trust, and a person is asked
    /// about a rollback.
    pub(crate) fn after_check(
        &self,
        checked: &ContractChecked,
        placed: &ObservedEvent<'_>,
        effects: &mut Effects<'_>,
    ) -> Result<(), ReactorRefusal> {
        let agent = placed.event.agent.as_deref();
        let is_strict = is_strict(self.rules.get().version());
        if let Some(contract) = checked.contract.as_ref().filter(|_| is_strict)
            && self.contracts.is_of_unknown(checked)
        {
            let reason = format!("no contract `{contract}` is defined; name one that is, or none");
            return Err(ReactorRefusal::new(RefusalCode::NoSuchThing, reason));
        }
        let is_weighed = checked.phase == ContractPhase::Pre && weighs_contracts(self.rules.get().version());
        if let (Some(call), Some(_)) =
            (&checked.call, self.contracts.critical_of(checked).filter(|_| is_weighed))
            && self.contracts.critical.is_full_for(&check_key(agent, call, checked), placed.time)
        {
            // One that would be forgotten would let the call pass without a person.
            return Err(ReactorRefusal::too_many("calls under contracts of critical damage"));
        }
        let (Some(call), Some(_)) = (&checked.call, self.contracts.failed(checked)) else { return Ok(()) };
        if checked.phase == ContractPhase::Pre {
            // One that would be forgotten would let the call pass.
            let is_full = if is_strict {
                self.contracts.unmet.is_full_for(&check_key(agent, call, checked), placed.time)
            } else {
                self.contracts.is_full_for(&key_of(agent, call), placed.time)
            };
            return if is_full { Err(ReactorRefusal::too_many("calls with a failed check")) } else { Ok(()) };
        }
        let is_its =
            |open: &&OpenCall| open.is_of(agent) && open.verdict == Verdict::Allow && has_budgets(open.rules);
        let found = match self.calls.get(call) {
            Some(open) => Some(open).filter(is_its).map(CheckedCall::from),
            None => self.ended_calls.get(call, agent, placed.time),
        };
        let Some(found) = found.filter(|found| found.is_strict || !found.is_counted) else { return Ok(()) };
        let contract = checked.contract.as_ref().filter(|_| found.is_strict);
        if !found.is_counted {
            effects.push_act(failed_check(&found, call), Command::Observed)?;
        }
        let is_asked_for = !found.is_strict || found.rollbacks.lack(contract);
        if is_asked_for && !self.approvals.is_full(placed.time) {
            let drawn = match placed.examination {
                Some(Examination::Check(drawn)) => drawn.as_ref(),
                _ => None,
            };
            let id = self.rollback_to_ask_for(drawn, placed)?;
            let requested = self.request_rollback(id, &found, call, contract, placed);
            effects.push_act(requested, |requested| Command::ApprovalRequested(Box::new(requested)))?;
        }
        Ok(())
    }
}

/// Returns the observation of a failed check after a call.
fn failed_check(found: &CheckedCall<'_>, call: &Name) -> TrustObserved {
    TrustObserved {
        dimension: found.dimension.clone(),
        outcome: TrustOutcome::Error,
        post_check_passed: Some(false),
        duration_ms: None,
        tokens: None,
        cost_micro_usd: None,
        call: Some(call.clone()),
        trial: found.trial.map(|trial| trial.0),
        assurance: None,
        unreported: false,
    }
}

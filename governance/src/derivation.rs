//! The consequences of an event: the reactor itself, as one `match` over the acts.

mod acts;
pub(crate) mod apply;
pub(crate) mod contract_checks;
pub(crate) mod import_rules;
pub(crate) mod rollback_request;

use bitacora_formats::Position;
use bitacora_vocabulary::{
    ClockCorrected, CoverageGap, FreeText, MissingHalf, Name, Resolution, TrustObserved, TrustOutcome,
    Verdict,
};

use crate::calls::ended_calls::CheckedCall;
use crate::calls::outcome::Outcome;
use crate::calls::{OpenCall, imported_key};
use crate::command::{Command, CommandError};
use crate::decide::decide;
use crate::reactor::derived_event::DerivedEvent;
use crate::reactor::effects::Effects;
use crate::reactor::event_sources::SCHEDULER_SOURCE;
use crate::reactor::examination::{CallFacts, Examination};
use crate::reactor::{ObservedEvent, ReactorState};
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::replay::recorded_facts::facts_text;
use crate::state::State;
use crate::trust::breaker::{Trial, bad_observation};
use crate::version::is_isolated;

impl From<CommandError> for ReactorRefusal {
    fn from(error: CommandError) -> Self {
        Self::new(RefusalCode::InvalidData, error.to_string())
    }
}

impl ReactorState for State {
    fn react(&mut self, placed: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        self.resume_all();
        if let (Some(Examination::Derived(meaning)), true) = (placed.examination, placed.derived) {
            return self.take(meaning.act(), placed);
        }
        match Command::of(placed.event)? {
            Some(act) => self.take(&act, placed),
            None => Ok(Vec::new()),
        }
    }

    fn keep(&mut self) {
        self.keep_all();
    }

    fn discard(&mut self) {
        self.discard_all();
    }

    fn fork(&self) -> Box<dyn ReactorState> {
        Box::new(self.clone())
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.pause_all();
        for recorded in frame {
            if self.fold_one(recorded).is_err() {
                self.pass_over(recorded);
            }
        }
        self.keep_all();
    }

    fn clock_offset(&self) -> u64 {
        self.clock().offset()
    }

    fn save(&self) -> Result<Option<Vec<u8>>, String> {
        serde_json::to_vec(self).map(Some).map_err(|error| error.to_string())
    }

    fn restore(&mut self, _: Position, saved: &[u8]) -> Result<(), String> {
        *self = serde_json::from_slice(saved).map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl State {
    /// Returns the consequences of an act, which then changes the state.
    fn take(
        &mut self,
        act: &Command,
        placed: &ObservedEvent<'_>,
    ) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        let effects = self.effects_of(act, placed)?;
        self.apply(act, placed);
        Ok(effects)
    }

    /// Returns the consequences of an act that is not applied yet.
    pub(crate) fn effects_of(
        &self,
        act: &Command,
        placed: &ObservedEvent<'_>,
    ) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        self.check_writer(act, placed)?;
        self.check_time(placed)?;
        let mut effects = Effects::new(placed);
        match act {
            Command::Requested => self.after_request(placed, &mut effects)?,
            Command::Ended(_) => self.after_outcome(placed, &mut effects)?,
            Command::ApprovalResolved(resolved) => {
                self.approvals.check_resolution(resolved, placed.time)?;
                if resolved.resolution == Resolution::Rejected {
                    self.after_rejection(&resolved.approval, &mut effects)?;
                }
            }
            Command::BreakerConfigured(configured) => {
                self.may_begin_breaker(&configured.dimension)?;
                let breaker = self.breaker(&configured.dimension).unwrap_or_default();
                if let Some(due) = breaker.due_after_configured(&configured.settings, placed.time) {
                    effects.push_transition(due.event(configured.dimension.clone()))?;
                }
            }
            Command::PrincipalCreated(created) => self.principals().may_create(created, placed.time)?,
            Command::PrincipalRevoked(revoked) => self.principals().may_revoke(&revoked.principal)?,
            Command::PrincipalExpired(expired) => {
                self.principals().may_expire(&expired.principal, placed.time)?;
            }
            Command::ContractChecked(Some(checked)) => self.after_check(checked, placed, &mut effects)?,
            Command::RunOverdue(overdue) => self.check_overdue(overdue, placed)?,
            Command::Probed(probed) => self.may_probe(probed, placed.time)?,
            Command::HoldPlaced(held) => self.holds().may_place(held, placed.position)?,
            Command::Observed(observed) => {
                self.check(act, placed.time)?;
                self.after_observation(observed, placed, &mut effects)?;
            }
            Command::ClockAccepted(_) => {
                self.check(act, placed.time)?;
                if is_isolated(self.rules.get().version()) {
                    let offset_us = self.clock().due_offset(self.governed_time());
                    effects.push_act(ClockCorrected { offset_us }, Command::ClockCorrected)?;
                }
            }
            other => self.check(other, placed.time)?,
        }
        Ok(effects.events)
    }

    fn after_request(
        &self,
        placed: &ObservedEvent<'_>,
        effects: &mut Effects<'_>,
    ) -> Result<(), ReactorRefusal> {
        let Some(Examination::Call(facts)) = placed.examination else {
            return Err(ReactorRefusal::new(
                RefusalCode::Moved,
                "the request was not examined; send it again",
            ));
        };
        if let Some(open) = self.calls.get(&facts.call).filter(|_| !facts.imported) {
            check_repeated_call(facts, open, placed)?;
        }
        let mut facts = std::borrow::Cow::Borrowed(&**facts);
        if facts.imported {
            facts.to_mut().imported_time = Some(self.imported_time(placed));
        }
        let time = facts.governed_time(placed.time);
        let decided = decide(self, &facts, placed.position.get(), time)?;
        if let Some(transition) = decided.transition {
            effects.push_transition(transition.event(facts.dimension.clone()))?;
        }
        let mut decision = decided.decision;
        decision.examined = facts_text(&facts, &decision.inputs).ok();
        effects.push_act(decision, |decision| Command::Decided(Box::new(decision)))?;
        if let Some(consumed) = decided.consumed {
            effects.push_act(consumed, Command::ApprovalConsumed)?;
        }
        if let Some(requested) = decided.requested {
            effects.push_act(requested, |requested| Command::ApprovalRequested(Box::new(requested)))?;
        }
        decided
            .reserved
            .into_iter()
            .try_for_each(|charged| effects.push_act(charged, Command::BudgetCharged))?;
        let exceeded = |exceeded| Command::BudgetExceeded(Box::new(exceeded));
        decided.exceeded.into_iter().try_for_each(|found| effects.push_act(found, exceeded))?;
        decided.round.into_iter().try_for_each(|found| effects.push_act(found, Command::LoopDetected))?;
        decided.aborted.into_iter().try_for_each(|aborted| effects.push_act(aborted, |_| Command::RunEnded))
    }

    fn after_outcome(
        &self,
        placed: &ObservedEvent<'_>,
        effects: &mut Effects<'_>,
    ) -> Result<(), ReactorRefusal> {
        let Some(Examination::Outcome(outcome)) = placed.examination else {
            return Err(ReactorRefusal::new(
                RefusalCode::Moved,
                "the outcome was not examined; send it again",
            ));
        };
        if outcome.imported {
            return self.after_imported_outcome(outcome, placed, effects);
        }
        let open = self.calls.get(&outcome.call).filter(|open| open.is_of(placed.event.agent.as_deref()));
        let is_again = |open: &&OpenCall| open.is_late && placed.event.source == SCHEDULER_SOURCE;
        let open = open.filter(|open| !is_again(open)).ok_or_else(|| no_such_call(outcome))?;
        if open.verdict != Verdict::Allow && outcome.ending.has_run() {
            // It ran all the same. That is evidence, not a reason to refuse it.
            let evidence = format!(
                "it ran although it was not allowed, says the outcome at position {}",
                placed.position
            );
            effects.push(&CoverageGap {
                call: outcome.call.clone(),
                evidence: FreeText::new(evidence).unwrap_or(FreeText::LEAST),
                missing: MissingHalf::Decision,
            })?;
        }
        let is_timeout = placed.event.source == SCHEDULER_SOURCE;
        for charged in self.charged_by(outcome, open, is_timeout) {
            effects.push_act(charged, Command::BudgetCharged)?;
        }
        // By a clock that jumped nothing is late.
        let is_timed = self.clock().jump().is_none();
        let outcome =
            if is_timed { outcome.at(placed.time, open.deadline) } else { outcome.as_ref().clone() };
        if let Some(observed) = outcome.observation(open) {
            let unreported = is_timeout && open.outcome.looks;
            effects.push_act(self.bounded(TrustObserved { unreported, ..observed }), Command::Observed)?;
        }
        let checked = CheckedCall::from(open);
        let is_asked_for = !checked.is_strict || checked.rollbacks.lack(None);
        if outcome.has_failed_check() && is_asked_for && !self.approvals.is_full(placed.time) {
            let id = self.rollback_to_ask_for(outcome.drawn_approval.as_ref(), placed)?;
            effects.push(&self.request_rollback(id, &checked, &outcome.call, None, placed))?;
        }
        Ok(())
    }

    /// Half a record from elsewhere is kept, and said to be one.
    fn after_imported_outcome(
        &self,
        outcome: &Outcome,
        placed: &ObservedEvent<'_>,
        effects: &mut Effects<'_>,
    ) -> Result<(), ReactorRefusal> {
        let Some(open) = self.imported_calls.get(&imported_key(&placed.event.stream, &outcome.call)) else {
            let evidence = format!("its outcome at position {}", placed.position);
            return effects.push(&CoverageGap {
                call: outcome.call.clone(),
                evidence: FreeText::new(evidence).unwrap_or(FreeText::LEAST),
                missing: MissingHalf::Decision,
            });
        };
        match outcome.observation(open) {
            Some(observed) if self.has_room_for_imported(&observed.dimension) => {
                effects.push_act(observed, Command::Observed)
            }
            _ => Ok(()),
        }
    }

    fn after_observation(
        &self,
        observed: &TrustObserved,
        placed: &ObservedEvent<'_>,
        effects: &mut Effects<'_>,
    ) -> Result<(), ReactorRefusal> {
        if observed.assurance.is_some() {
            let has_room = self.has_room_for_imported(&observed.dimension);
            return if has_room { Ok(()) } else { Err(ReactorRefusal::too_many("imported dimensions")) };
        }
        let Some(bad) = bad_observation(observed) else { return Ok(()) };
        let breaker = self.breaker(&observed.dimension).unwrap_or_default();
        let was_probe = breaker.is_probe(observed.trial.map(Trial));
        if let Some(due) = breaker.due_after(bad, was_probe, placed.time) {
            effects.push_transition(due.event(observed.dimension.clone()))?;
        }
        Ok(())
    }

    /// Counts a person's rejection where the call would have counted.
    fn after_rejection(&self, approval: &Name, effects: &mut Effects<'_>) -> Result<(), ReactorRefusal> {
        let Some(approval) = self.approvals.get(approval) else { return Ok(()) };
        let open = self.calls.get(&approval.request.call);
        if approval.is_counted || open.is_some_and(|open| open.is_counted || open.outcome.uncounted) {
            return Ok(());
        }
        let dimension = approval.request.dimension.as_ref().or_else(|| open.map(|open| &open.dimension));
        let Some(dimension) = dimension else { return Ok(()) };
        let rejected = TrustObserved {
            dimension: dimension.clone(),
            outcome: TrustOutcome::Rejected,
            post_check_passed: None,
            duration_ms: None,
            tokens: None,
            cost_micro_usd: None,
            call: Some(approval.request.call.clone()),
            trial: None,
            assurance: None,
            unreported: false,
        };
        effects.push_act(rejected, Command::Observed)
    }
}

impl State {
    /// Makes an error of an end with an exit code where too many came in a row.
    fn bounded(&self, observed: TrustObserved) -> TrustObserved {
        let is_own = observed.outcome == TrustOutcome::ChecksFailed && observed.assurance.is_none();
        if is_own && !self.checks_failed.has_room(&observed.dimension) {
            return TrustObserved { outcome: TrustOutcome::Error, ..observed };
        }
        observed
    }
}

/// Refuses a call that is open and may not be asked for once more, or is another agent's. Of that one nothing is said.
fn check_repeated_call(
    facts: &CallFacts,
    open: &OpenCall,
    placed: &ObservedEvent<'_>,
) -> Result<(), ReactorRefusal> {
    let refused = |code, why: &str| Err(ReactorRefusal::new(code, format!("call `{}` {why}", facts.call)));
    if !open.is_of(placed.event.agent.as_deref()) {
        let why = "was asked for by another caller; use an id that nobody can guess";
        return refused(RefusalCode::CallTaken, why);
    }
    if !open.may_be_repeated(facts.approval.as_ref(), placed.time) {
        return refused(RefusalCode::CallReused, "was asked for before; use a new id for each call");
    }
    Ok(())
}

fn no_such_call(outcome: &Outcome) -> ReactorRefusal {
    ReactorRefusal::new(
        RefusalCode::NoSuchCall,
        format!("call `{}` was never decided here, or has its outcome already", outcome.call),
    )
}

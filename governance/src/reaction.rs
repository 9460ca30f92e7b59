//! What follows from an event: the reactor itself, as one `match` over what can happen.

use bitacora_formats::vocabulary::{
    ApprovalAbout, ApprovalRequested, BoundedText, ClockCorrected, CoverageGap, Dimension, GrantScope,
    MissingHalf, Name, Resolution, TrustObserved, TrustOutcome, TrustProbed, Verdict, Words,
};
use bitacora_formats::{Micros, Position};

use crate::act::{Act, ActError};
use crate::apply::imported_key;
use crate::approval_ids::id_of_position;
use crate::breaker::{Trial, bad_observation};
use crate::budgets::BudgetError;
use crate::calls::OpenCall;
use crate::caused::Caused;
use crate::decide::{approvers, decide, undrawn};
use crate::derived::Derived;
use crate::ended_calls::CheckedCall;
use crate::examination::Examination;
use crate::limits::{
    APPROVAL_LIFE, MAX_DIMENSIONS, MAX_GRANTS, MAX_MODE_SCOPES, MAX_PROBE_LIFE, MAX_PROBES, MAX_SUSPENDED,
};
use crate::outcome::Outcome;
use crate::reactor::{Observed, ReactorRefusal, ReactorState, RefusalCode};
use crate::recorded_facts::facts_text;
use crate::state::State;
use crate::version::is_isolated;

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 256;

/// Who writes what the reactor derives.
pub const REACTOR_SOURCE: &str = "urn:bitacora:reactor";
/// Who writes what ends with time.
pub const SCHEDULER_SOURCE: &str = "urn:bitacora:scheduler";

impl From<ActError> for ReactorRefusal {
    fn from(error: ActError) -> Self {
        Self::new(RefusalCode::InvalidData, error.to_string())
    }
}

impl ReactorState for State {
    fn react(&mut self, placed: &Observed<'_>) -> Result<Vec<Derived>, ReactorRefusal> {
        self.resume_all();
        if let (Some(Examination::Derived(meaning)), true) = (placed.examination, placed.derived) {
            return self.take(meaning.act(), placed);
        }
        match Act::of(placed.event)? {
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

    fn fold(&mut self, frame: &[Observed<'_>]) {
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
    /// What follows from an act, which then changes the state.
    fn take(&mut self, act: &Act, placed: &Observed<'_>) -> Result<Vec<Derived>, ReactorRefusal> {
        let caused = self.caused(act, placed)?;
        self.apply(act, placed);
        Ok(caused)
    }

    /// What follows from an act that is not applied yet.
    pub(crate) fn caused(&self, act: &Act, placed: &Observed<'_>) -> Result<Vec<Derived>, ReactorRefusal> {
        self.check_writer(act, placed)?;
        self.check_time(placed)?;
        let mut caused = Caused::new(placed);
        match act {
            Act::Requested => self.after_request(placed, &mut caused)?,
            Act::Ended(_) => self.after_outcome(placed, &mut caused)?,
            Act::ApprovalResolved(resolved) => {
                self.approvals.may_resolve(resolved, placed.time)?;
                if resolved.resolution == Resolution::Rejected {
                    self.after_rejection(&resolved.approval, &mut caused)?;
                }
            }
            Act::BreakerConfigured(configured) => {
                self.may_begin_breaker(&configured.dimension)?;
                let breaker = self.breaker(&configured.dimension).unwrap_or_default();
                if let Some(due) = breaker.due_after_configured(&configured.settings, placed.time) {
                    caused.push_transition(due.event(configured.dimension.clone()))?;
                }
            }
            Act::PrincipalCreated(created) => self.principals().may_create(created, placed.time)?,
            Act::PrincipalRevoked(revoked) => self.principals().may_revoke(&revoked.principal)?,
            Act::PrincipalExpired(expired) => {
                self.principals().may_expire(&expired.principal, placed.time)?;
            }
            Act::ContractChecked(Some(checked)) => self.after_check(checked, placed, &mut caused)?,
            Act::Probed(probed) => self.may_probe(probed, placed.time)?,
            Act::Observed(observed) => {
                self.check(act, placed.time)?;
                self.after_observation(observed, placed, &mut caused)?;
            }
            Act::ClockAccepted(_) => {
                self.check(act, placed.time)?;
                if is_isolated(self.rules.get().version()) {
                    let offset_us = self.clock().due_offset(self.governed_time());
                    caused.push_act(ClockCorrected { offset_us }, Act::ClockCorrected)?;
                }
            }
            other => self.check(other, placed.time)?,
        }
        Ok(caused.events)
    }

    fn after_request(&self, placed: &Observed<'_>, caused: &mut Caused<'_>) -> Result<(), ReactorRefusal> {
        let Some(Examination::Call(facts)) = placed.examination else {
            return Err(ReactorRefusal::new(
                RefusalCode::Moved,
                "the request was not examined; send it again",
            ));
        };
        if !facts.imported
            && self.calls.get(&facts.call).is_some_and(|open| {
                !open.may_be_asked_again(facts.approval.as_ref(), placed.time)
                    || !open.is_of(placed.event.agent.as_deref())
            })
        {
            return Err(ReactorRefusal::new(
                RefusalCode::CallReused,
                format!("call `{}` was asked for before; use a new id for each call", facts.call),
            ));
        }
        let mut facts = std::borrow::Cow::Borrowed(&**facts);
        if facts.imported {
            facts.to_mut().imported_time = Some(self.imported_time(placed));
        }
        let time = facts.governed_time(placed.time);
        let decided = decide(self, &facts, placed.position.get(), time)?;
        if let Some(transition) = decided.transition {
            caused.push_transition(transition.event(facts.dimension.clone()))?;
        }
        let mut decision = decided.decision;
        decision.examined = facts_text(&facts, &decision.inputs).ok();
        caused.push_act(decision, |decision| Act::Decided(Box::new(decision)))?;
        if let Some(consumed) = decided.consumed {
            caused.push_act(consumed, Act::ApprovalConsumed)?;
        }
        if let Some(requested) = decided.requested {
            caused.push_act(requested, |requested| Act::ApprovalRequested(Box::new(requested)))?;
        }
        decided.reserved.into_iter().try_for_each(|charged| caused.push_act(charged, Act::BudgetCharged))?;
        let exceeded = |exceeded| Act::BudgetExceeded(Box::new(exceeded));
        decided.exceeded.into_iter().try_for_each(|found| caused.push_act(found, exceeded))?;
        decided.round.into_iter().try_for_each(|found| caused.push_act(found, Act::LoopDetected))
    }

    fn after_outcome(&self, placed: &Observed<'_>, caused: &mut Caused<'_>) -> Result<(), ReactorRefusal> {
        let Some(Examination::Outcome(outcome)) = placed.examination else {
            return Err(ReactorRefusal::new(
                RefusalCode::Moved,
                "the outcome was not examined; send it again",
            ));
        };
        if outcome.imported {
            return self.after_imported_outcome(outcome, placed, caused);
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
            caused.push(&CoverageGap {
                call: outcome.call.clone(),
                evidence: Words::new(evidence).unwrap_or(Words::LEAST),
                missing: MissingHalf::Decision,
            })?;
        }
        let is_timeout = placed.event.source == SCHEDULER_SOURCE;
        for charged in self.charged_by(outcome, open, is_timeout) {
            caused.push_act(charged, Act::BudgetCharged)?;
        }
        // By a clock that jumped nothing is late.
        let is_timed = self.clock().jump().is_none();
        let outcome =
            if is_timed { outcome.at(placed.time, open.deadline) } else { outcome.as_ref().clone() };
        if let Some(observed) = outcome.observation(open) {
            let unreported = is_timeout && open.outcome.looks;
            caused.push_act(self.bounded(TrustObserved { unreported, ..observed }), Act::Observed)?;
        }
        let checked = CheckedCall::from(open);
        let is_asked_for = !checked.is_strict || checked.rollbacks.lack(None);
        if outcome.has_failed_check() && is_asked_for && !self.approvals.is_full(placed.time) {
            let id = self.rollback_to_ask_for(outcome.drawn_approval.as_ref(), placed)?;
            caused.push(&request_rollback(id, &checked, &outcome.call, None, placed))?;
        }
        Ok(())
    }

    /// Half a record from elsewhere is kept, and said to be one.
    fn after_imported_outcome(
        &self,
        outcome: &Outcome,
        placed: &Observed<'_>,
        caused: &mut Caused<'_>,
    ) -> Result<(), ReactorRefusal> {
        let Some(open) = self.imported_calls.get(&imported_key(placed.event, &outcome.call)) else {
            let evidence = format!("its outcome at position {}", placed.position);
            return caused.push(&CoverageGap {
                call: outcome.call.clone(),
                evidence: Words::new(evidence).unwrap_or(Words::LEAST),
                missing: MissingHalf::Decision,
            });
        };
        match outcome.observation(open) {
            Some(observed) if self.has_room_for_imported(&observed.dimension) => {
                caused.push_act(observed, Act::Observed)
            }
            _ => Ok(()),
        }
    }

    fn after_observation(
        &self,
        observed: &TrustObserved,
        placed: &Observed<'_>,
        caused: &mut Caused<'_>,
    ) -> Result<(), ReactorRefusal> {
        if observed.assurance.is_some() {
            let has_room = self.has_room_for_imported(&observed.dimension);
            return if has_room { Ok(()) } else { Err(full("imported dimensions")) };
        }
        let Some(bad) = bad_observation(observed) else { return Ok(()) };
        let breaker = self.breaker(&observed.dimension).unwrap_or_default();
        let was_probe = breaker.is_probe(observed.trial.map(Trial));
        if let Some(due) = breaker.due_after(bad, was_probe, placed.time) {
            caused.push_transition(due.event(observed.dimension.clone()))?;
        }
        Ok(())
    }

    /// A person's no counts where the call would have counted.
    fn after_rejection(&self, approval: &Name, caused: &mut Caused<'_>) -> Result<(), ReactorRefusal> {
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
        caused.push_act(rejected, Act::Observed)
    }
}

impl State {
    /// Returns the id of the approval by which it is asked whether what a call did is to be undone.
    pub(crate) fn rollback_to_ask_for(
        &self,
        drawn: Option<&Name>,
        placed: &Observed<'_>,
    ) -> Result<Name, ReactorRefusal> {
        if !is_isolated(self.rules.get().version()) {
            return Ok(id_of_position(placed.position.get()));
        }
        drawn.cloned().ok_or_else(undrawn)
    }
}

/// A person is asked whether what a call did is to be undone. Who undoes it records `rollback.executed`.
pub(crate) fn request_rollback(
    approval: Name,
    checked: &CheckedCall<'_>,
    call: &Name,
    contract: Option<&Name>,
    placed: &Observed<'_>,
) -> ApprovalRequested {
    ApprovalRequested {
        approval,
        about: ApprovalAbout::Rollback,
        call: call.clone(),
        tool: fitting(checked.dimension.tool()),
        server: None,
        cwd: None,
        dimension: Some(checked.dimension.clone()),
        destinations: None,
        tool_revision: None,
        action_digest: None,
        policy_version: None,
        approvers: approvers(),
        requested_by: placed.event.actor.as_deref().and_then(|actor| BoundedText::new(actor).ok()),
        agent: checked.agent.and_then(|agent| BoundedText::new(agent).ok()),
        expires: placed.time.0.saturating_add(APPROVAL_LIFE.0),
        reason_codes: None,
        parts: None,
        more_parts: None,
        contract: contract.cloned(),
    }
}

/// As much of a text as a name takes.
fn fitting(text: &str) -> Name {
    let end = text.floor_char_boundary(MAX_NAME_BYTES);
    Name::new(text.get(..end).unwrap_or_default()).unwrap_or(Name::LEAST)
}

fn no_such_call(outcome: &Outcome) -> ReactorRefusal {
    ReactorRefusal::new(
        RefusalCode::NoSuchCall,
        format!("call `{}` was never decided here, or has its outcome already", outcome.call),
    )
}

/// What an operator's act has to agree with.
impl State {
    fn may_probe(&self, probed: &TrustProbed, time: Micros) -> Result<(), ReactorRefusal> {
        let longest = time.0.saturating_add(MAX_PROBE_LIFE.0);
        if probed.expires <= time.0 || probed.expires > longest {
            let reason = "a blocked dimension is reviewed up to a time that is to come, within seven days";
            return Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        }
        let is_new = self.probes.get(&probed.dimension).is_none();
        let holding = self.probes.iter().filter(|(_, until)| time < **until).count();
        if is_new && holding >= MAX_PROBES { Err(full("dimensions that are tried")) } else { Ok(()) }
    }

    fn check(&self, act: &Act, time: Micros) -> Result<(), ReactorRefusal> {
        let invalid =
            |error: &dyn std::fmt::Display| ReactorRefusal::new(RefusalCode::InvalidData, error.to_string());
        let is_isolated = is_isolated(self.rules.get().version());
        match act {
            Act::Registered(registered) => {
                self.registry().clone().apply_registered(&registered.0).map_err(|error| invalid(&error))
            }
            Act::Changed(changed) => {
                self.registry().clone().apply_changed(&changed.0).map_err(|error| invalid(&error))
            }
            Act::Revoked(revoked) => {
                self.registry().clone().apply_revoked(revoked).map_err(|error| invalid(&error))
            }
            Act::SchemaRegistered(registered) => self.custom_types.get().may_register(registered),
            Act::Published(published) => self.policies.get().may_publish(published),
            Act::Activated(activated) => self.policies.get().may_activate(activated.version),
            Act::Retired(retired) => self.policies.get().may_retire(retired.version),
            Act::RateConfigured(configured) => {
                self.rates().check(configured).map_err(|error| invalid(&error))
            }
            Act::BudgetConfigured(configured) => {
                self.budgets().check(configured, self.rules.get().version()).map_err(|error| {
                    let code = match error {
                        BudgetError::TooManyOfCall => RefusalCode::StateFull,
                        BudgetError::TooMany | BudgetError::NoSuchBudget(_) => RefusalCode::InvalidData,
                    };
                    ReactorRefusal::new(code, error.to_string())
                })
            }
            Act::ContractDefined(defined) => {
                if self.contracts.has_room_for(&defined.contract) {
                    Ok(())
                } else {
                    Err(full("contracts"))
                }
            }
            Act::ImportEnded(batch) => self.may_end_import(&batch.digest),
            Act::ImportAccepted(accepted) => self.may_accept_import(&accepted.digest),
            Act::GrantGiven(given) if self.grants().contains(&given.grant) => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                format!("grant `{}` was given before; use a new id", given.grant),
            )),
            Act::GrantGiven(given) if given.scope.session.is_some() && given.scope.agent.is_none() => {
                Err(ReactorRefusal::new(
                    RefusalCode::InvalidData,
                    "whoever likes may name a session: a grant for one names its agent too",
                ))
            }
            Act::GrantGiven(given) if is_isolated && !names_all(&given.scope) => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                "a grant names an agent, its workspace and a context, as decisions show them",
            )),
            Act::GrantGiven(given) if is_isolated && given.expires <= time.0 => Err(ReactorRefusal::new(
                RefusalCode::InvalidData,
                "the grant's end has passed; name a later time",
            )),
            Act::GrantGiven(_) if self.grants().holding(time).count() >= MAX_GRANTS => Err(full("grants")),
            Act::GrantRevoked(revoked) if !self.grants().contains(&revoked.grant) => {
                Err(no_such(&format_args!("grant `{}`", revoked.grant)))
            }
            Act::Suspended(suspended)
                if self.stops().suspended.len() >= MAX_SUSPENDED
                    && !self.stops().suspended.contains_key(&suspended.agent) =>
            {
                Err(full("suspended agents"))
            }
            Act::Resumed(resumed) if !self.stops().suspended.contains_key(&resumed.agent) => {
                Err(no_such(&format_args!("suspended agent `{}`", resumed.agent)))
            }
            Act::ModeConfigured(configured)
                if self.modes().would_grow(configured) && self.modes().len() >= MAX_MODE_SCOPES =>
            {
                Err(full("modes"))
            }
            Act::ClockAccepted(_) if self.clock().jump().is_none() => {
                Err(no_such(&"jump of the clock to be accepted"))
            }
            Act::TrustSet(set)
                if self.trust.len() >= MAX_DIMENSIONS && self.trust.get(&set.dimension).is_none() =>
            {
                Err(full("dimensions of trust"))
            }
            Act::Observed(observed)
                if observed.assurance.is_some()
                    && self.imported.len() >= MAX_DIMENSIONS
                    && self.imported.get(&observed.dimension).is_none() =>
            {
                Err(full("imported dimensions of trust"))
            }
            Act::Closed(closed) => self.may_begin_breaker(&closed.dimension),
            _ => Ok(()),
        }
    }
}

impl State {
    /// A breaker that there is can always be set and closed; a new one needs room.
    fn may_begin_breaker(&self, dimension: &Dimension) -> Result<(), ReactorRefusal> {
        let has_room = self.breakers.len() < MAX_DIMENSIONS || self.breakers.get(dimension).is_some();
        if has_room { Ok(()) } else { Err(full("breakers")) }
    }

    /// What only the reactor derives, nobody else appends. History that was recorded elsewhere brings its own observations, marked.
    fn check_writer(&self, act: &Act, placed: &Observed<'_>) -> Result<(), ReactorRefusal> {
        let is_own = match act {
            Act::Decided(_)
            | Act::Opened(_)
            | Act::HalfOpened(_)
            | Act::ApprovalRequested(_)
            | Act::ApprovalConsumed(_)
            | Act::BudgetCharged(_)
            | Act::BudgetExceeded(_)
            | Act::LoopDetected(_)
            | Act::ClockCorrected(_) => true,
            Act::Observed(observed) => observed.assurance.is_none(),
            _ => false,
        };
        if is_own && !placed.derived {
            let reason =
                format!("`{}` is derived from what happens; nobody else writes it", placed.event.kind);
            return Err(ReactorRefusal::new(RefusalCode::ReservedType, reason));
        }
        Ok(())
    }
}

impl State {
    /// By a clock that jumped nothing ends: neither calls nor approvals nor principals.
    fn check_time(&self, placed: &Observed<'_>) -> Result<(), ReactorRefusal> {
        if self.clock().jump().is_none() || placed.derived || placed.event.source != SCHEDULER_SOURCE {
            return Ok(());
        }
        let reason = "the clock jumped; what ends by time waits until an operator accepts it";
        Err(ReactorRefusal::new(RefusalCode::Moved, reason))
    }
}

pub(crate) fn full(what: &str) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::StateFull, format!("there are too many {what}; take some away first"))
}

/// Returns `true` where a grant says whose calls it is for, in which project and in what context.
fn names_all(scope: &GrantScope) -> bool {
    scope.agent.is_some() && scope.workspace.is_some() && scope.context.is_some()
}

fn no_such(what: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::NoSuchThing, format!("there is no {what}"))
}

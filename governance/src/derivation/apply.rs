//! The fold: the changes of the state by each act. Nothing else changes it.

use std::borrow::Cow;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ApprovalAbout, BoundedRef, DecisionMade, Dimension, EventData, Name, ToolBlocked, ToolChanged,
    ToolRegistered, ToolRequested, TrustObserved, TrustOutcome, TrustProbed, Verdict,
};

use crate::calls::keys::ScopedKey;
use crate::calls::outcome::Outcome;
use crate::calls::{AskedIn, OpenCall, Rollbacks, imported_key};
use crate::clock::ClockTrust;
use crate::command::{Act, ActError, is_outcome, outcome, read};
use crate::decide::reasons::is_by_person;
use crate::decide::times;
use crate::limits::DIMENSION_LIFE;
use crate::loop_guard::RoundQuestion;
use crate::rate::RateQuestion;
use crate::reactor::ObservedEvent;
use crate::reactor::event_sources::SCHEDULER_SOURCE;
use crate::replay::recorded_decision::RecordedDecision;
use crate::state::State;
use crate::trust::breaker::{Transition, Trial, bad_observation};
use crate::trust::dimensions_begun::day_of;
use crate::trust::record::TrustRecord;
use crate::undo::per_agent_quota::NOBODY;
use crate::version::{RulesInForce, has_budgets, has_no_dead_ends, is_isolated, is_patient, is_strict};

const MICROS_A_MILLISECOND: u64 = 1_000;

impl State {
    /// Takes a recorded event into the state. It does the same as [`Self::apply`] with less work.
    ///
    /// # Errors
    /// It cannot be read, and changes nothing.
    pub(crate) fn fold_one(&mut self, recorded: &ObservedEvent<'_>) -> Result<(), ActError> {
        match recorded.event.kind.as_ref() {
            ToolRequested::KIND => self.pass_to(recorded.time),
            DecisionMade::KIND => {
                let decision: RecordedDecision<'_> = read(recorded.event)?;
                self.pass_to(recorded.time);
                self.apply_decided(decision, recorded);
            }
            TrustObserved::KIND => {
                let observed: TrustObserved = read(recorded.event)?;
                self.pass_to(recorded.time);
                self.apply_observed(&observed, recorded);
            }
            kind if is_outcome(kind) => {
                let outcome = outcome(kind, recorded.event)?;
                self.pass_to(recorded.time);
                self.apply_ended(outcome.as_ref(), recorded);
            }
            _ => {
                if let Some(act) = Act::of(recorded.event)? {
                    self.apply(&act, recorded);
                }
            }
        }
        Ok(())
    }

    fn pass_to_rules(&mut self, rules: RulesInForce) {
        if *self.rules.get() != rules {
            self.rules.change(|in_force| *in_force = rules);
        }
    }

    /// Moves the governed time forward, never back. Entries whose time is over leave, but not while a jump of the clock is not
    /// accepted.
    fn pass_to(&mut self, time: Micros) {
        let before = self.governed_time();
        if time <= before {
            return;
        }
        self.time.change(|governed| governed.0 = time.0);
        if self.clock().jump().is_none() {
            self.forget_dimensions(before, time);
        }
    }

    /// Takes an act that was checked, or that is recorded, into the state.
    pub(crate) fn apply(&mut self, act: &Act, placed: &ObservedEvent<'_>) {
        let time = placed.time;
        // Events that earlier versions of the rules did not see have no part in the governed time.
        match act {
            Act::RulesBegun(version) => return self.pass_to_rules(RulesInForce::opened(*version)),
            Act::RunEnded => return self.apply_run_ended(placed.event, placed.derived, time),
            _ => {}
        }
        // A jump is known before its time is: nothing may be forgotten by that.
        if let Act::ClockJumped(jumped) = act {
            let kept = is_isolated(self.rules.get().version()).then_some(time);
            self.clock.change(|clock| clock.apply_jumped(jumped, placed.position.get(), kept));
        }
        self.pass_to(time);
        match act {
            Act::Requested | Act::ClockJumped(_) | Act::RulesBegun(_) | Act::RunEnded => {}
            Act::Decided(decision) => self.apply_decided((&**decision).into(), placed),
            Act::Ended(outcome) => {
                self.apply_ended(outcome.as_ref(), placed);
            }
            Act::Observed(observed) => self.apply_observed(observed, placed),
            Act::TrustSet(set) => {
                self.checks_failed.end(&set.dimension);
                self.trust
                    .change_or(&set.dimension, TrustRecord::default, |record| record.apply_set(set, time));
            }
            Act::Probed(probed) => self.apply_probed(probed, time),
            Act::Opened(opened) => self.go_through(&opened.dimension, &Transition::from(opened)),
            Act::HalfOpened(half) => self.go_through(&half.dimension, &Transition::from(half)),
            Act::Closed(closed) => self.go_through(&closed.dimension, &Transition::from(closed)),
            Act::BreakerConfigured(configured) => {
                self.breakers.change_or(&configured.dimension, Default::default, |breaker| {
                    breaker.apply_configured(&configured.settings);
                });
            }
            Act::Published(published) => {
                self.policies.change(|policies| policies.apply_published((**published).clone()));
            }
            Act::Activated(activated) => {
                self.policies.change(|policies| policies.apply_activated(activated.version));
            }
            Act::Retired(retired) => self.policies.change(|policies| policies.apply_retired(retired.version)),
            Act::ModeConfigured(configured) => {
                self.modes.change(|modes| modes.apply_configured(configured.clone()));
            }
            Act::RateConfigured(configured) => self.rates.apply_configured(configured),
            Act::BudgetConfigured(configured) => self.budgets.apply_configured(configured),
            Act::BudgetCharged(charged) => self.apply_charged(charged, self.occasion(placed.event, time)),
            Act::BudgetExceeded(exceeded) => {
                let at = self.occasion(placed.event, time);
                self.budgets.apply_exceeded(exceeded, at);
            }
            Act::RunOverdue(overdue) => {
                let (agent, rules) = (placed.event.agent.as_deref(), self.rules.get().version());
                self.loop_guard.apply_overdue(&overdue.run, agent, rules);
            }
            Act::ContractDefined(defined) => self.contracts.apply_defined((**defined).clone()),
            Act::ContractChecked(checked) => {
                if let Some(checked) = checked {
                    let at = self.occasion(placed.event, time);
                    self.contracts.apply_checked(checked, at);
                }
            }
            Act::LoopDetected(found) => self.apply_loop(found, placed.event.agent.as_deref(), time),
            Act::Told => self.apply_told(placed.event, time),
            Act::Registered(registered) => {
                let ToolRegistered(document) = &**registered;
                self.tool_sightings.apply_registered(&document.tool, document.server.as_ref());
                self.registry.change(|registry| drop(registry.apply_registered(document)));
            }
            Act::Changed(changed) => {
                let ToolChanged(document) = &**changed;
                self.registry.change(|registry| drop(registry.apply_changed(document)));
            }
            Act::Revoked(revoked) => self.registry.change(|registry| drop(registry.apply_revoked(revoked))),
            Act::ApprovalRequested(request) => {
                if request.about == ApprovalAbout::Rollback {
                    self.calls.apply_rollback(&request.call, request.contract.as_ref());
                    self.ended_calls.apply_rollback(&request.call, request.contract.as_ref());
                }
                let is_counted = request.about == ApprovalAbout::Rollback
                    || self.calls.get(&request.call).is_some_and(|open| open.is_counted);
                self.approvals.apply_requested((**request).clone(), placed.position.get(), time, is_counted);
            }
            Act::ApprovalResolved(resolved) => {
                self.approvals.apply_resolved(resolved.clone(), self.rules.get().version(), time);
            }
            Act::ApprovalConsumed(consumed) => self.approvals.apply_consumed(consumed, time),
            Act::GrantGiven(grant) => self.grants.change(|grants| grants.apply_given(grant.clone(), time)),
            Act::PanicEngaged(engaged) => {
                self.suspensions.change(|stops| stops.panic = Some(engaged.reason.to_string()));
            }
            Act::PanicReleased(_) => self.suspensions.change(|stops| stops.panic = None),
            Act::Suspended(suspended) => self.suspensions.change(|stops| {
                stops.suspended.insert(suspended.agent.clone(), suspended.reason.to_string());
            }),
            Act::Resumed(resumed) => self.suspensions.change(|stops| {
                stops.suspended.remove(&resumed.agent);
            }),
            Act::ImportEnded(batch) => self.apply_import_ended(&batch.digest, placed.position.get()),
            Act::ImportAccepted(accepted) => {
                self.apply_import_accepted(&accepted.digest, placed.position.get());
            }
            Act::PrincipalCreated(created) => {
                self.principals.change(|principals| principals.apply_created((**created).clone(), time));
            }
            Act::PrincipalRevoked(revoked) => {
                self.principals.change(|principals| principals.apply_removed(&revoked.principal));
            }
            Act::PrincipalExpired(expired) => {
                self.principals.change(|principals| principals.apply_removed(&expired.principal));
            }
            Act::SchemaRegistered(registered) => {
                self.custom_types.change(|types| types.apply_registered((**registered).clone()));
            }
            Act::ClockAccepted(_) => self.clock.change(ClockTrust::apply_accepted),
            Act::ClockCorrected(corrected) => {
                self.clock.change(|clock| clock.apply_corrected(corrected.offset_us, time));
            }
            Act::GrantRevoked(revoked) => self.grants.change(|grants| grants.apply_revoked(&revoked.grant)),
        }
    }

    fn apply_observed(&mut self, observed: &TrustObserved, placed: &ObservedEvent<'_>) {
        let counts = observed.outcome != TrustOutcome::ChecksFailed;
        if observed.assurance.is_some() {
            let time = self.take_imported_time(placed);
            if !counts {
                return;
            }
            return self.imported.change_or(&observed.dimension, TrustRecord::default, |record| {
                record.apply_observed(observed, time);
            });
        }
        let time = placed.time;
        if let Some(call) = &observed.call {
            if let Some(approval) = self.calls.get(call).and_then(|open| open.approval.clone()) {
                self.approvals.count(&approval, call);
            }
            self.calls.count(call);
        }
        let dimension = &observed.dimension;
        let is_first = self.trust.get(dimension).is_none() && !self.checks_failed.contains(dimension);
        self.checks_failed.apply(observed, time);
        if counts {
            let begin = TrustRecord::default;
            self.trust.change_or(dimension, begin, |record| record.apply_observed(observed, time));
        }
        if is_first {
            self.begun.apply_begun(placed.event.agent.as_deref(), time);
        }
        if let Some(bad) = bad_observation(observed) {
            if let Some(call) = observed.call.as_ref().filter(|_| bad) {
                self.ended_calls.apply_bad(call);
            }
            let trial = observed.trial.map(Trial);
            self.breakers.change_or(&observed.dimension, Default::default, |breaker| {
                let was_probe = breaker.is_probe(trial);
                breaker.apply_outcome(bad, was_probe);
            });
        }
    }

    fn apply_probed(&mut self, probed: &TrustProbed, time: Micros) {
        let over: Vec<_> = self
            .probes
            .iter()
            .filter(|(_, until)| time >= **until)
            .map(|(dimension, _)| dimension.clone())
            .collect();
        for dimension in over {
            self.probes.remove(&dimension);
        }
        self.probes.insert(probed.dimension.clone(), Micros(probed.expires));
    }

    /// Dimensions leave by governed time, looked through once a day.
    fn forget_dimensions(&mut self, before: Micros, time: Micros) {
        if day_of(before) == day_of(time) {
            return;
        }
        self.checks_failed.forget(time);
        let is_old = |record: &TrustRecord| {
            record.last_updated.is_none_or(|last| last.0.saturating_add(DIMENSION_LIFE.0) <= time.0)
        };
        let old: Vec<_> = self
            .trust
            .iter()
            .filter(|(_, record)| is_old(record))
            .map(|(dimension, _)| dimension.clone())
            .collect();
        for dimension in &old {
            self.trust.remove(dimension);
            if self.breaker(dimension).is_some_and(|breaker| breaker.is_plain()) {
                self.breakers.remove(dimension);
            }
        }
    }

    /// Removes the entries that no caller can come back to at this time.
    fn forget_what_is_over(&mut self, has_strict_rules: bool, time: Micros) {
        if has_strict_rules {
            self.budgets.forget_overdue(time);
            self.budgets.forget_windows(time);
            self.contracts.forget(time);
        }
        self.calls.forget(time);
        self.approvals.forget(time);
        self.keys.forget(time);
    }

    fn apply_decided(&mut self, decision: RecordedDecision<'_>, placed: &ObservedEvent<'_>) {
        let rules = decision.reactor_version;
        self.pass_to_rules(self.rules.get().decided(rules));
        let call = decision.call.to_text();
        // An imported call took its tokens and its steps where it was made.
        if !decision.imported {
            self.take_token(&decision, placed);
            self.count_step(&decision, &call, placed);
        }
        if !is_patient(rules) || self.clock().jump().is_none() {
            self.forget_what_is_over(is_strict(rules), placed.time);
        }
        let key = self.use_key(&decision, &call, placed);
        if has_no_dead_ends(rules) && decision.is_unregistered {
            self.see_tool(&decision, placed);
        }
        let imported = decision.imported;
        let open = self.call_entry(decision, &call, key, placed);
        if imported {
            self.take_imported_time(placed);
            self.imported_calls.apply_imported(imported_key(placed.event, &call), open);
            return;
        }
        if let Some(session) = placed.event.session.as_deref() {
            self.live_sessions.apply_decided(session, placed.position.get());
        }
        // The table of calls has a limit. The call that leaves for this one holds its reservations no longer.
        let let_go = self.calls.apply_decided(call, open);
        if let Some(call) = let_go.filter(|_| is_strict(rules)) {
            self.budgets.let_go(&call, placed.time);
        }
    }

    fn take_token(&mut self, decision: &RecordedDecision<'_>, placed: &ObservedEvent<'_>) {
        if !decision.took_token {
            return;
        }
        let question = RateQuestion {
            tool: decision.dimension.tool(),
            agent: placed.event.agent.as_deref().unwrap_or(NOBODY),
            role: decision.role.as_str(),
        };
        self.rates.apply_taken(&question, decision.local_times.as_ref(), placed.time);
    }

    /// Counts a call as a step of its session and of its run.
    fn count_step(&mut self, decision: &RecordedDecision<'_>, call: &Name, placed: &ObservedEvent<'_>) {
        if !has_budgets(decision.reactor_version) {
            return;
        }
        let open = self.calls.get(call);
        let question = RoundQuestion {
            call,
            is_open: open.is_some(),
            is_reviewed: open.is_some_and(|open| open.verdict == Verdict::Review),
            rules: decision.reactor_version,
            tool: decision.dimension.tool(),
            args: decision.compared_digest(),
            poll: decision.poll,
            agent: placed.event.agent.as_deref(),
            session: placed.event.session.as_deref(),
            run: decision.run.as_ref().map(BoundedRef::as_str),
            session_folder: decision.session_folder.as_deref(),
            alone: times::alone(&self.policies.get().times()),
        };
        let bounds = self.policies.get().bounds();
        let is_allowed = decision.effective_verdict() == Verdict::Allow;
        self.loop_guard.apply_decided(&question, bounds, is_allowed, placed.time);
    }

    /// Notes the idempotency key of a call, and returns it. The keys of a recording are no keys of calls that are made now. A key that
    /// stands for another call is not this one's, also where this one was allowed all the same.
    fn use_key(
        &mut self,
        decision: &RecordedDecision<'_>,
        call: &Name,
        placed: &ObservedEvent<'_>,
    ) -> Option<ScopedKey> {
        let key = decision.idempotency_key.as_ref();
        let key = key.filter(|_| !decision.imported && !decision.is_key_reused)?;
        let (agent, server) =
            (placed.event.agent.as_deref(), decision.server.as_ref().map(BoundedRef::as_str));
        let key = ScopedKey::new(agent, decision.dimension.tool(), server, key.as_str());
        let digest = decision.action_digest.clone().map(Cow::into_owned);
        let times = (placed.time, self.policies.get().key_life_s());
        let (verdict, deadline) = (decision.effective_verdict(), Micros(decision.deadline));
        self.keys.apply_decided(&key, call.clone(), digest, verdict, times, deadline);
        Some(key)
    }

    /// Returns the entry of a call that waits for its outcome.
    fn call_entry(
        &self,
        decision: RecordedDecision<'_>,
        call: &Name,
        key: Option<ScopedKey>,
        placed: &ObservedEvent<'_>,
    ) -> OpenCall {
        let session = placed.event.session.as_deref();
        let approval = decision.approval.as_ref().map(BoundedRef::to_text);
        let trial = self.breaker(&decision.dimension).and_then(|breaker| breaker.trial());
        // A decision made here has counted here, or was not to count; a person's rejection counts once.
        let is_counted = if decision.imported {
            session.is_some_and(|session| self.live_sessions.contains(session))
        } else {
            approval.as_ref().is_some_and(|approval| self.approvals.is_counted(approval, call))
        };
        let again_from = decision.retry_after_ms.map(|wait| {
            Micros(placed.time.0.saturating_add(wait.get().saturating_mul(MICROS_A_MILLISECOND)))
        });
        OpenCall {
            position: placed.position.get(),
            stream: placed.event.stream.to_string(),
            agent: placed.event.agent.as_deref().map(str::to_owned),
            verdict: decision.effective_verdict(),
            mode: decision.mode,
            by_person: is_by_person(decision.reason_code),
            trial: trial.filter(|_| !decision.imported && !decision.outcome.uncounted),
            key,
            is_counted,
            approval,
            imported: decision.imported,
            deadline: Micros(decision.deadline),
            is_late: false,
            rules: decision.reactor_version,
            asked: self.asked_in(&decision, placed).map(Box::new),
            rollbacks: Rollbacks::default(),
            again_from,
            dimension: decision.dimension.into_owned(),
            outcome: decision.outcome,
        }
    }

    /// Returns the place that a call was asked in, where it may have cost something that no budget was charged with: it was not allowed,
    /// and budgets hold for it.
    fn asked_in(&self, decision: &RecordedDecision<'_>, placed: &ObservedEvent<'_>) -> Option<AskedIn> {
        let (rules, run) = (decision.reactor_version, decision.run.as_ref().map(BoundedRef::as_str));
        if !is_strict(rules) || decision.effective_verdict() == Verdict::Allow || decision.imported {
            return None;
        }
        let agent = placed.event.agent.as_deref();
        if self.budgets.is_empty() && self.loop_guard.own_budget(agent, run, rules).is_none() {
            return None;
        }
        Some(AskedIn {
            role: decision.role.as_str().to_owned(),
            session: placed.event.session.as_deref().map(str::to_owned),
            run: run.map(str::to_owned),
        })
    }

    /// Notes a tool that nobody registered. Its name is its dimension's, behind that of its server.
    fn see_tool(&mut self, decision: &RecordedDecision<'_>, placed: &ObservedEvent<'_>) {
        let server = decision.server.as_ref().map(BoundedRef::to_text);
        let named = decision.dimension.tool();
        let alone = server.as_deref().and_then(|server| named.strip_prefix(server)?.strip_prefix('/'));
        let Ok(tool) = Name::new(alone.unwrap_or(named)) else { return };
        let agent = placed.event.agent.as_deref();
        self.tool_sightings.apply(agent, (tool, server), placed.position.get(), placed.time);
    }

    /// Ends a call. The outcome's data may be sealed; its attribute `call` never is. An imported outcome ends no call of this
    /// ledger, and the other way round. A sealed outcome does not tell its kind, and is taken for the call that waits here.
    fn apply_ended(&mut self, outcome: Option<&Outcome>, placed: &ObservedEvent<'_>) {
        let Some(call) = placed.event.call.as_deref() else { return };
        let imported = outcome.map_or_else(|| self.calls.get(call).is_none(), |outcome| outcome.imported);
        if imported {
            self.imported_calls.settle(&imported_key(placed.event, call));
            return;
        }
        // That its time is over is no outcome: what it did is still not known.
        if placed.event.source == SCHEDULER_SOURCE {
            return self.calls.time_out(call);
        }
        let Some(open) = self.calls.settle(call) else { return };
        let may_have_run = open.verdict == Verdict::Allow && placed.event.kind != ToolBlocked::KIND;
        if is_strict(open.rules) && may_have_run && self.contracts.has_any() {
            let named = Name::new(call).into_iter();
            named.for_each(|call| self.ended_calls.apply_ended(call, &open, placed.time));
        }
        if open.key.is_none() && open.approval.is_none() {
            return;
        }
        let Ok(call) = Name::new(call) else { return };
        if let Some(key) = &open.key {
            self.keys.apply_outcome(key, &call, placed.position.get());
        }
        // Its observation of trust is derived next; a person's rejection of the same call adds nothing then.
        if let (Some(approval), Some(outcome)) = (&open.approval, outcome)
            && outcome.at(placed.time, open.deadline).observation(&open).is_some()
        {
            self.approvals.count(approval, &call);
        }
    }

    fn go_through(&mut self, dimension: &Dimension, transition: &Transition) {
        self.breakers.change_or(dimension, Default::default, |breaker| breaker.apply_transition(transition));
    }
}

//! The fold: the changes of the state by each act. Nothing else changes it.

use std::borrow::Cow;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BoundedRef, DecisionMade, Dimension, EventData, Name, ToolBlocked, ToolRequested, TrustObserved,
    TrustOutcome, TrustProbed, Verdict,
};

use crate::calls::keys::ScopedKey;
use crate::calls::outcome::Outcome;
use crate::calls::{BudgetOwners, OpenCall, Rollbacks, imported_key};
use crate::clock::ClockTrust;
use crate::command::{Command, CommandError, is_outcome, outcome, read};
use crate::decide::reasons::is_by_person;
use crate::decide::times;
use crate::limits::DIMENSION_LIFE;
use crate::loop_guard::LoopQuestion;
use crate::rate::RateQuestion;
use crate::reactor::ObservedEvent;
use crate::reactor::event_sources::SCHEDULER_SOURCE;
use crate::replay::recorded_decision::RecordedDecision;
use crate::state::State;
use crate::trust::breaker::{Transition, Trial, bad_observation};
use crate::trust::new_dimensions::day_of;
use crate::trust::record::TrustRecord;
use crate::undo::per_agent_quota::NOBODY;
use crate::version::{RulesInForce, has_budgets, has_no_dead_ends, is_isolated, is_patient, is_strict};

mod settings;

const MICROS_A_MILLISECOND: u64 = 1_000;

impl State {
    /// Takes a recorded event into the state. It does the same as [`Self::apply`] with less work.
    ///
    /// # Errors
    /// It cannot be read, and changes nothing.
    pub(crate) fn fold_one(&mut self, recorded: &ObservedEvent<'_>) -> Result<(), CommandError> {
        match recorded.event.kind.as_ref() {
            ToolRequested::KIND => self.advance_to(recorded.time),
            DecisionMade::KIND => {
                let decision: RecordedDecision<'_> = read(recorded.event)?;
                self.advance_to(recorded.time);
                self.apply_decided(decision, recorded);
            }
            TrustObserved::KIND => {
                let observed: TrustObserved = read(recorded.event)?;
                self.advance_to(recorded.time);
                self.apply_observed(&observed, recorded);
            }
            kind if is_outcome(kind) => {
                let outcome = outcome(kind, recorded.event)?;
                self.advance_to(recorded.time);
                self.apply_ended(outcome.as_ref(), recorded);
            }
            _ => {
                if let Some(act) = Command::of(recorded.event)? {
                    self.apply(&act, recorded);
                }
            }
        }
        Ok(())
    }

    fn change_rules(&mut self, rules: RulesInForce) {
        if *self.rules.get() != rules {
            self.rules.change(|in_force| *in_force = rules);
        }
    }

    /// Moves the governed time forward, never back. Entries whose time is over leave, but not while a jump of the clock is not
    /// accepted.
    fn advance_to(&mut self, time: Micros) {
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
    pub(crate) fn apply(&mut self, act: &Command, placed: &ObservedEvent<'_>) {
        let time = placed.time;
        // Events that earlier versions of the rules did not see have no part in the governed time.
        match act {
            Command::RulesBegun(version) => return self.change_rules(RulesInForce::opened(*version)),
            Command::RunEnded => return self.apply_run_ended(placed.event, placed.derived, time),
            _ => {}
        }
        // A jump is known before its time is: nothing may be forgotten by that.
        if let Command::ClockJumped(jumped) = act {
            let kept = is_isolated(self.rules.get().version()).then_some(time);
            self.clock.change(|clock| clock.apply_jumped(jumped, placed.position.get(), kept));
        }
        self.advance_to(time);
        self.apply_at(time, act, placed);
    }

    /// Takes an act into the state, once the governed time has moved to the act's.
    fn apply_at(&mut self, time: Micros, act: &Command, placed: &ObservedEvent<'_>) {
        match act {
            Command::Requested | Command::ClockJumped(_) | Command::RulesBegun(_) | Command::RunEnded => {}
            Command::Decided(decision) => self.apply_decided((&**decision).into(), placed),
            Command::Ended(outcome) => self.apply_ended(outcome.as_ref(), placed),
            Command::Observed(observed) => self.apply_observed(observed, placed),
            Command::TrustSet(set) => self.apply_trust_set(set, time),
            Command::Probed(probed) => self.apply_probed(probed, time),
            Command::Opened(opened) => self.apply_transition(&opened.dimension, &Transition::from(opened)),
            Command::HalfOpened(half) => self.apply_transition(&half.dimension, &Transition::from(half)),
            Command::Closed(closed) => self.apply_transition(&closed.dimension, &Transition::from(closed)),
            Command::BreakerConfigured(configured) => self.apply_breaker_configured(configured),
            Command::Published(published) => self.apply_published(published),
            Command::Activated(activated) => self.apply_activated(activated.version),
            Command::Retired(retired) => self.apply_retired(retired.version),
            Command::ModeConfigured(configured) => self.apply_mode_configured(configured),
            Command::RateConfigured(configured) => self.rates.apply_configured(configured),
            Command::BudgetConfigured(configured) => self.budgets.apply_configured(configured),
            Command::BudgetCharged(charged) => self.apply_charged(charged, self.occasion(placed.event, time)),
            Command::BudgetExceeded(exceeded) => {
                let at = self.occasion(placed.event, time);
                self.budgets.apply_exceeded(exceeded, at);
            }
            Command::RunOverdue(overdue) => {
                let (agent, rules) = (placed.event.agent.as_deref(), self.rules.get().version());
                self.loop_guard.apply_overdue(&overdue.run, agent, rules);
            }
            Command::ContractDefined(defined) => self.contracts.apply_defined((**defined).clone()),
            Command::ContractChecked(checked) => self.apply_contract_checked(checked.as_deref(), placed),
            Command::LoopDetected(found) => self.apply_loop(found, placed.event.agent.as_deref(), time),
            Command::Told => self.apply_report(placed.event, time),
            Command::Registered(registered) => self.apply_registered(registered),
            Command::Changed(changed) => self.apply_changed(changed),
            Command::Revoked(revoked) => self.apply_tool_revoked(revoked),
            Command::ApprovalRequested(request) => self.apply_approval_requested(request, placed),
            Command::ApprovalResolved(resolved) => {
                self.approvals.apply_resolved(resolved.clone(), self.rules.get().version(), time);
            }
            Command::ApprovalConsumed(consumed) => self.approvals.apply_consumed(consumed, time),
            Command::GrantGiven(grant) => self.apply_grant_given(grant, time),
            Command::GrantRevoked(revoked) => self.apply_grant_revoked(revoked),
            Command::PanicEngaged(engaged) => self.apply_panic(Some(&engaged.reason)),
            Command::PanicReleased(_) => self.apply_panic(None),
            Command::Suspended(suspended) => self.apply_suspended(suspended),
            Command::Resumed(resumed) => self.apply_resumed(resumed),
            Command::ImportEnded(batch) => self.apply_import_ended(&batch.digest, placed.position.get()),
            Command::ImportAccepted(accepted) => {
                self.apply_import_accepted(&accepted.digest, placed.position.get());
            }
            Command::PrincipalCreated(created) => self.apply_principal_created(created, time),
            Command::PrincipalRevoked(revoked) => self.apply_principal_removed(&revoked.principal),
            Command::PrincipalExpired(expired) => self.apply_principal_removed(&expired.principal),
            Command::SchemaRegistered(registered) => self.apply_schema_registered(registered),
            Command::HoldPlaced(held) => self.apply_hold_placed(held, placed),
            Command::HoldReleased(released) => self.apply_hold_released(&released.hold),
            Command::RetentionChanged(changed) => self.apply_retention_changed(changed, placed),
            Command::ClockAccepted(_) => self.clock.change(ClockTrust::apply_accepted),
            Command::ClockCorrected(corrected) => {
                self.clock.change(|clock| clock.apply_corrected(corrected.offset_us, time));
            }
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
    fn forget_expired(&mut self, has_strict_rules: bool, time: Micros) {
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
        self.change_rules(self.rules.get().decided(rules));
        let call = decision.call.to_text();
        // An imported call took its tokens and its steps where it was made.
        if !decision.imported {
            self.take_token(&decision, placed);
            self.count_step(&decision, &call, placed);
        }
        if !is_patient(rules) || self.clock().jump().is_none() {
            self.forget_expired(is_strict(rules), placed.time);
        }
        let key = self.use_key(&decision, &call, placed);
        if has_no_dead_ends(rules) && decision.is_unregistered {
            self.note_sighting(&decision, placed);
        }
        let imported = decision.imported;
        let open = self.call_entry(decision, &call, key, placed);
        if imported {
            self.take_imported_time(placed);
            self.imported_calls.apply_imported(imported_key(&placed.event.stream, &call), open);
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
        let question = LoopQuestion {
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
            asked: self.budget_owners(&decision, placed).map(Box::new),
            rollbacks: Rollbacks::default(),
            again_from,
            dimension: decision.dimension.into_owned(),
            outcome: decision.outcome,
        }
    }

    /// Returns the place that a call was asked in, where it may have cost something that no budget was charged with: it was not allowed,
    /// and budgets hold for it.
    fn budget_owners(
        &self,
        decision: &RecordedDecision<'_>,
        placed: &ObservedEvent<'_>,
    ) -> Option<BudgetOwners> {
        let (rules, run) = (decision.reactor_version, decision.run.as_ref().map(BoundedRef::as_str));
        if !is_strict(rules) || decision.effective_verdict() == Verdict::Allow || decision.imported {
            return None;
        }
        let agent = placed.event.agent.as_deref();
        if self.budgets.is_empty() && self.loop_guard.own_budget(agent, run, rules).is_none() {
            return None;
        }
        Some(BudgetOwners {
            role: decision.role.as_str().to_owned(),
            session: placed.event.session.as_deref().map(str::to_owned),
            run: run.map(str::to_owned),
        })
    }

    /// Notes a tool that nobody registered. Its name is its dimension's, behind that of its server.
    fn note_sighting(&mut self, decision: &RecordedDecision<'_>, placed: &ObservedEvent<'_>) {
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
            self.imported_calls.settle(&imported_key(&placed.event.stream, call));
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

    fn apply_transition(&mut self, dimension: &Dimension, transition: &Transition) {
        self.breakers.change_or(dimension, Default::default, |breaker| breaker.apply_transition(transition));
    }
}

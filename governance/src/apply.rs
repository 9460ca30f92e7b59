//! The fold: what each act changes. Nothing else changes the state.

use bitacora_formats::vocabulary::{
    DecisionMade, Dimension, Mode, Name, Sha256Text, ToolChanged, ToolRegistered, Verdict,
};
use bitacora_formats::{Event, Micros, parse_time};

use sha2::{Digest, Sha256};

use crate::act::Act;
use crate::breaker::{Transition, Trial, bad_outcome};
use crate::calls::OpenCall;
use crate::decide::{is_by_person, took_token};
use crate::examination::{NOBODY, scoped_key};
use crate::rate::RateQuestion;
use crate::reactor::Observed;
use crate::state::State;
use crate::trust::TrustRecord;

/// When it happened elsewhere.
fn imported_time(placed: &Observed<'_>) -> Option<Micros> {
    parse_time(placed.event.time.as_deref()?).ok()
}

/// A call that was recorded elsewhere: its id says nothing apart from where it was recorded, which its stream tells.
pub(crate) fn imported_key(event: &Event<'_>, call: &Name) -> Name {
    let whole = format!("{}\n{call}", event.stream);
    let digest = Sha256::digest(whole.as_bytes());
    Name::new(Sha256Text::of_digest(&digest.into()).as_str()).unwrap_or(Name::LEAST)
}

impl State {
    /// Takes an act that was checked, or that is recorded, into the state.
    pub(crate) fn apply(&mut self, act: Act, placed: &Observed<'_>) {
        let time = placed.time;
        self.time.change(|governed| governed.0 = governed.0.max(time.0));
        match act {
            Act::Requested => {}
            Act::Decided(decision) => self.apply_decided(&decision, placed),
            Act::Ended(_) => self.apply_ended(placed),
            Act::Observed(observed) => {
                let time = observed.assurance.map_or(time, |_| imported_time(placed).unwrap_or(time));
                if let Some(call) = &observed.call
                    && observed.assurance.is_none()
                {
                    self.calls.count(call);
                }
                let records = if observed.assurance.is_some() { &mut self.imported } else { &mut self.trust };
                records.change_or(&observed.dimension, TrustRecord::default, |record| {
                    record.apply_observed(&observed, time);
                });
                if observed.assurance.is_none()
                    && let Some(bad) = bad_outcome(observed.outcome, observed.post_check_passed)
                {
                    let trial = observed.trial.map(Trial);
                    self.breakers.change_or(&observed.dimension, Default::default, |breaker| {
                        let was_probe = breaker.is_probe(trial);
                        breaker.apply_outcome(bad, was_probe);
                    });
                }
            }
            Act::TrustSet(set) => {
                self.trust
                    .change_or(&set.dimension, TrustRecord::default, |record| record.apply_set(&set, time));
            }
            Act::Opened(opened) => self.go_through(&opened.dimension, &Transition::from(&opened)),
            Act::HalfOpened(half) => self.go_through(&half.dimension, &Transition::from(&half)),
            Act::Closed(closed) => self.go_through(&closed.dimension, &Transition::from(&closed)),
            Act::BreakerConfigured(configured) => {
                self.breakers.change_or(&configured.dimension, Default::default, |breaker| {
                    breaker.apply_configured(&configured.settings);
                });
            }
            Act::Published(published) => {
                self.policies.change(|policies| policies.apply_published(*published));
            }
            Act::Activated(activated) => {
                self.policies.change(|policies| policies.apply_activated(activated.version));
            }
            Act::Retired(retired) => self.policies.change(|policies| policies.apply_retired(retired.version)),
            Act::ModeConfigured(configured) => self.modes.change(|modes| modes.apply_configured(configured)),
            Act::RateConfigured(configured) => self.rates.apply_configured(&configured),
            Act::Registered(registered) => {
                let ToolRegistered(document) = *registered;
                self.registry.change(|registry| drop(registry.apply_registered(&document)));
            }
            Act::Changed(changed) => {
                let ToolChanged(document) = *changed;
                self.registry.change(|registry| drop(registry.apply_changed(&document)));
            }
            Act::Revoked(revoked) => self.registry.change(|registry| drop(registry.apply_revoked(&revoked))),
            Act::ApprovalRequested(request) => {
                self.approvals.apply_requested(request, placed.position.get(), time);
            }
            Act::ApprovalResolved(resolved) => {
                self.approvals.apply_resolved(resolved, time);
            }
            Act::ApprovalConsumed(consumed) => self.approvals.apply_consumed(&consumed, time),
            Act::GrantGiven(grant) => self.grants.change(|grants| grants.apply_given(grant, time)),
            Act::PanicEngaged(engaged) => {
                self.stops.change(|stops| stops.panic = Some(engaged.reason.to_string()));
            }
            Act::PanicReleased(_) => self.stops.change(|stops| stops.panic = None),
            Act::Suspended(suspended) => self.stops.change(|stops| {
                stops.suspended.insert(suspended.agent, suspended.reason.to_string());
            }),
            Act::Resumed(resumed) => self.stops.change(|stops| {
                stops.suspended.remove(&resumed.agent);
            }),
            Act::ImportAccepted(_) => self.accept_imported(),
            Act::PrincipalCreated(created) => {
                self.principals.change(|principals| principals.apply_created(*created, time));
            }
            Act::PrincipalRevoked(revoked) => {
                self.principals.change(|principals| principals.apply_removed(&revoked.principal));
            }
            Act::PrincipalExpired(expired) => {
                self.principals.change(|principals| principals.apply_removed(&expired.principal));
            }
            Act::SchemaRegistered(registered) => {
                self.custom_types.change(|types| types.apply_registered(*registered));
            }
            Act::GrantRevoked(revoked) => self.grants.change(|grants| grants.apply_revoked(&revoked.grant)),
        }
    }

    fn apply_decided(&mut self, decision: &DecisionMade, placed: &Observed<'_>) {
        let inputs = &decision.inputs;
        let dimension = &inputs.dimension;
        let key = inputs.idempotency_key.as_deref().map(|key| scoped_key(placed.event.agent.as_deref(), key));
        let verdict = if decision.mode == Mode::Observe { Verdict::Allow } else { decision.verdict };
        let deadline = Micros(decision.deadline);
        if !inputs.imported && took_token(decision) {
            let question = RateQuestion {
                tool: dimension.tool.as_str(),
                agent: placed.event.agent.as_deref().unwrap_or(NOBODY),
                role: &inputs.role,
            };
            self.rates.apply_taken(&question, placed.time);
        }
        if let Some(key) = &key {
            let (call, digest) = (decision.call.clone(), inputs.action_digest.clone());
            self.keys.apply_decided(key, call, digest, verdict, placed.time, deadline);
        }
        let trial = self.breaker(dimension).and_then(|breaker| breaker.trial());
        let open = OpenCall {
            position: placed.position.get(),
            stream: placed.event.stream.to_string(),
            agent: placed.event.agent.as_deref().map(str::to_owned),
            dimension: dimension.clone(),
            verdict,
            mode: decision.mode,
            by_person: is_by_person(decision.reason_code),
            approval: decision.approval.clone(),
            trial: trial.filter(|_| !inputs.imported),
            key,
            is_counted: false,
            imported: inputs.imported,
            deadline,
        };
        self.calls.forget(placed.time);
        if inputs.imported {
            self.imported_calls.apply_imported(imported_key(placed.event, &decision.call), open);
        } else {
            self.calls.apply_decided(decision.call.clone(), open);
        }
    }

    /// The outcome's data may be sealed; its attribute `call` never is.
    fn apply_ended(&mut self, placed: &Observed<'_>) {
        let Some(call) = placed.event.call.as_deref() else { return };
        let Ok(call) = Name::new(call) else { return };
        if self.imported_calls.settle(&imported_key(placed.event, &call)).is_some() {
            return;
        }
        if let Some(open) = self.calls.settle(&call)
            && let Some(key) = &open.key
        {
            self.keys.apply_outcome(key, &call, placed.position.get());
        }
    }

    fn go_through(&mut self, dimension: &Dimension, transition: &Transition) {
        self.breakers.change_or(dimension, Default::default, |breaker| breaker.apply_transition(transition));
    }

    /// What was brought from elsewhere counts from now on, behind what was observed here: it happened before.
    fn accept_imported(&mut self) {
        let imported: Vec<_> =
            self.imported.iter().map(|(dimension, record)| (dimension.clone(), *record)).collect();
        for (dimension, record) in imported {
            self.trust.change_or(&dimension, TrustRecord::default, |own| own.apply_earlier(&record));
            self.imported.remove(&dimension);
        }
    }
}

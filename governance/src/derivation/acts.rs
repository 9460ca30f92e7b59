//! The preconditions of an operator's acts, and the right to write each type.

use bitacora_formats::Micros;
use bitacora_vocabulary::{BudgetPeriod, Dimension, GrantScope, OnExceed, RunOverdue, TrustProbed};

use crate::budgets::BudgetError;
use crate::budgets::run_budget::RUN_BUDGET;
use crate::command::Act;
use crate::limits::{MAX_DIMENSIONS, MAX_GRANTS, MAX_MODE_SCOPES, MAX_PROBE_LIFE, MAX_PROBES, MAX_SUSPENDED};
use crate::reactor::ObservedEvent;
use crate::reactor::event_sources::SCHEDULER_SOURCE;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::version::{holds_run_budgets, is_isolated};

/// The preconditions of an operator's acts.
impl State {
    pub(super) fn may_probe(&self, probed: &TrustProbed, time: Micros) -> Result<(), ReactorRefusal> {
        let longest = time.0.saturating_add(MAX_PROBE_LIFE.0);
        if probed.expires <= time.0 || probed.expires > longest {
            let reason = "a blocked dimension is reviewed up to a time that is to come, within seven days";
            return Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        }
        let is_new = self.probes.get(&probed.dimension).is_none();
        let holding = self.probes.iter().filter(|(_, until)| time < **until).count();
        if is_new && holding >= MAX_PROBES {
            Err(ReactorRefusal::too_many("dimensions that are tried"))
        } else {
            Ok(())
        }
    }

    /// Only the scheduler tells that a run has told no end, once that is so.
    pub(super) fn may_tell_overdue(
        &self,
        overdue: &RunOverdue,
        placed: &ObservedEvent<'_>,
    ) -> Result<(), ReactorRefusal> {
        let (agent, rules) = (placed.event.agent.as_deref(), self.rules.get().version());
        let is_due = self.rounds.is_overdue(&overdue.run, agent, rules, placed.time);
        if is_due && placed.event.source == SCHEDULER_SOURCE {
            return Ok(());
        }
        Err(no_such(&format_args!("run `{}` whose end is overdue", overdue.run)))
    }

    pub(super) fn check(&self, act: &Act, time: Micros) -> Result<(), ReactorRefusal> {
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
            Act::BudgetConfigured(configured)
                if configured.on_exceed == OnExceed::Abort && configured.period != BudgetPeriod::Run =>
            {
                let reason =
                    "only a budget that each run has anew aborts a run; set the period `run`, or `deny`";
                Err(ReactorRefusal::new(RefusalCode::InvalidData, reason))
            }
            Act::BudgetConfigured(configured)
                if holds_run_budgets(self.rules.get().version()) && configured.budget == *RUN_BUDGET =>
            {
                let reason = format!("`{}` names what runs say of themselves; use another name", *RUN_BUDGET);
                Err(ReactorRefusal::new(RefusalCode::InvalidData, reason))
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
                    Err(ReactorRefusal::too_many("contracts"))
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
            Act::GrantGiven(_) if self.grants().holding(time).count() >= MAX_GRANTS => {
                Err(ReactorRefusal::too_many("grants"))
            }
            Act::GrantRevoked(revoked) if !self.grants().contains(&revoked.grant) => {
                Err(no_such(&format_args!("grant `{}`", revoked.grant)))
            }
            Act::Suspended(suspended)
                if self.stops().suspended.len() >= MAX_SUSPENDED
                    && !self.stops().suspended.contains_key(&suspended.agent) =>
            {
                Err(ReactorRefusal::too_many("suspended agents"))
            }
            Act::Resumed(resumed) if !self.stops().suspended.contains_key(&resumed.agent) => {
                Err(no_such(&format_args!("suspended agent `{}`", resumed.agent)))
            }
            Act::ModeConfigured(configured)
                if self.modes().would_grow(configured) && self.modes().len() >= MAX_MODE_SCOPES =>
            {
                Err(ReactorRefusal::too_many("modes"))
            }
            Act::ClockAccepted(_) if self.clock().jump().is_none() => {
                Err(no_such(&"jump of the clock to be accepted"))
            }
            Act::TrustSet(set)
                if self.trust.len() >= MAX_DIMENSIONS && self.trust.get(&set.dimension).is_none() =>
            {
                Err(ReactorRefusal::too_many("dimensions of trust"))
            }
            Act::Observed(observed)
                if observed.assurance.is_some()
                    && self.imported.len() >= MAX_DIMENSIONS
                    && self.imported.get(&observed.dimension).is_none() =>
            {
                Err(ReactorRefusal::too_many("imported dimensions of trust"))
            }
            Act::Closed(closed) => self.may_begin_breaker(&closed.dimension),
            _ => Ok(()),
        }
    }
}

impl State {
    /// Checks that a breaker can be set or closed: an existing one always can, a new one needs room.
    pub(super) fn may_begin_breaker(&self, dimension: &Dimension) -> Result<(), ReactorRefusal> {
        let has_room = self.breakers.len() < MAX_DIMENSIONS || self.breakers.get(dimension).is_some();
        if has_room { Ok(()) } else { Err(ReactorRefusal::too_many("breakers")) }
    }

    /// Refuses events that only the reactor derives where another caller appends them. History that was recorded elsewhere brings
    /// its own observations, marked.
    pub(super) fn check_writer(&self, act: &Act, placed: &ObservedEvent<'_>) -> Result<(), ReactorRefusal> {
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
    /// Checks that nothing ends by a clock that jumped: neither calls nor approvals nor principals.
    pub(super) fn check_time(&self, placed: &ObservedEvent<'_>) -> Result<(), ReactorRefusal> {
        if self.clock().jump().is_none() || placed.derived || placed.event.source != SCHEDULER_SOURCE {
            return Ok(());
        }
        let reason = "the clock jumped; what ends by time waits until an operator accepts it";
        Err(ReactorRefusal::new(RefusalCode::Moved, reason))
    }
}

/// Returns `true` if a grant names the agent, the workspace and the context of its calls.
fn names_all(scope: &GrantScope) -> bool {
    scope.agent.is_some() && scope.workspace.is_some() && scope.context.is_some()
}

fn no_such(what: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::NoSuchThing, format!("there is no {what}"))
}

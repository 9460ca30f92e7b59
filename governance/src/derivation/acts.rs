//! The preconditions of an operator's acts, and the right to write each type.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BudgetConfigured, BudgetPeriod, Dimension, GrantGiven, GrantScope, OnExceed, RunOverdue, TrustProbed,
};

use crate::budgets::BudgetError;
use crate::budgets::run_budget::RUN_BUDGET;
use crate::command::Command;
use crate::limits::{MAX_DIMENSIONS, MAX_GRANTS, MAX_MODE_SCOPES, MAX_PROBE_LIFE, MAX_PROBES, MAX_SUSPENDED};
use crate::reactor::ObservedEvent;
use crate::reactor::event_sources::SCHEDULER_SOURCE;
use crate::refusal::{ReactorRefusal, RefusalCode, no_such, quoted};
use crate::retention::retention_policy::StandingRetention;
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
    pub(super) fn check_overdue(
        &self,
        overdue: &RunOverdue,
        placed: &ObservedEvent<'_>,
    ) -> Result<(), ReactorRefusal> {
        let (agent, rules) = (placed.event.agent.as_deref(), self.rules.get().version());
        let is_due = self.loop_guard.is_overdue(&overdue.run, agent, rules, placed.time);
        if is_due && placed.event.source == SCHEDULER_SOURCE {
            return Ok(());
        }
        Err(no_such(&format_args!("run {} whose end is overdue", quoted(&overdue.run))))
    }

    /// Checks an act against the state that it would change.
    pub(super) fn check(&self, act: &Command, time: Micros) -> Result<(), ReactorRefusal> {
        match act {
            Command::Registered(registered) => {
                self.registry().clone().apply_registered(&registered.0).map_err(|error| invalid(&error))
            }
            Command::Changed(changed) => {
                self.registry().clone().apply_changed(&changed.0).map_err(|error| invalid(&error))
            }
            Command::Revoked(revoked) => {
                self.registry().clone().apply_revoked(revoked).map_err(|error| invalid(&error))
            }
            Command::SchemaRegistered(registered) => self.custom_types.get().may_register(registered),
            Command::Published(published) => self.policies.get().may_publish(published),
            Command::Activated(activated) => self.policies.get().may_activate(activated.version),
            Command::Retired(retired) => self.policies.get().may_retire(retired.version),
            Command::RateConfigured(configured) => {
                self.rates().check(configured).map_err(|error| invalid(&error))
            }
            Command::BudgetConfigured(configured) => self.may_configure_budget(configured),
            Command::ImportEnded(batch) => self.may_end_import(&batch.digest),
            Command::ImportAccepted(accepted) => self.may_accept_import(&accepted.digest),
            Command::GrantGiven(given) => self.may_give_grant(given, time),
            Command::GrantRevoked(revoked) if !self.grants().contains(&revoked.grant) => {
                Err(no_such(&format_args!("grant {}", quoted(&revoked.grant))))
            }
            Command::Resumed(resumed) if !self.suspensions().suspended.contains_key(&resumed.agent) => {
                Err(no_such(&format_args!("suspended agent {}", quoted(&resumed.agent))))
            }
            Command::ClockAccepted(_) if self.clock().jump().is_none() => {
                Err(no_such(&"jump of the clock to be accepted"))
            }
            Command::Closed(closed) => self.may_begin_breaker(&closed.dimension),
            Command::HoldReleased(released) => self.holds().may_release(released),
            Command::RetentionChanged(changed) => StandingRetention::may_change(changed),
            _ => self.has_room_for(act),
        }
    }

    fn may_configure_budget(&self, configured: &BudgetConfigured) -> Result<(), ReactorRefusal> {
        let rules = self.rules.get().version();
        if configured.on_exceed == OnExceed::Abort && configured.period != BudgetPeriod::Run {
            let reason = "only a budget that each run has anew aborts a run; set the period `run`, or `deny`";
            return Err(invalid(&reason));
        }
        if holds_run_budgets(rules) && configured.budget == *RUN_BUDGET {
            let reason =
                format_args!("`{}` names what runs say of themselves; use another name", *RUN_BUDGET);
            return Err(invalid(&reason));
        }
        self.budgets().check(configured, rules).map_err(|error| {
            let code = match error {
                BudgetError::TooManyOfCall => RefusalCode::StateFull,
                BudgetError::TooMany | BudgetError::NoSuchBudget(_) => RefusalCode::InvalidData,
            };
            ReactorRefusal::new(code, error.to_string())
        })
    }

    fn may_give_grant(&self, given: &GrantGiven, time: Micros) -> Result<(), ReactorRefusal> {
        let is_isolated = is_isolated(self.rules.get().version());
        if self.grants().contains(&given.grant) {
            let reason = format_args!("grant {} was given before; use a new id", quoted(&given.grant));
            return Err(invalid(&reason));
        }
        if given.scope.session.is_some() && given.scope.agent.is_none() {
            return Err(invalid(&"whoever likes may name a session: a grant for one names its agent too"));
        }
        if is_isolated && !names_all(&given.scope) {
            let reason = "a grant names an agent, its workspace and a context, as decisions show them";
            return Err(invalid(&reason));
        }
        if is_isolated && given.expires <= time.0 {
            return Err(invalid(&"the grant's end has passed; name a later time"));
        }
        if self.grants().holding(time).count() >= MAX_GRANTS {
            return Err(ReactorRefusal::too_many("grants"));
        }
        Ok(())
    }

    /// Refuses an act that adds an entry to a table that is full. Entries that are there may always be changed.
    fn has_room_for(&self, act: &Command) -> Result<(), ReactorRefusal> {
        let full = match act {
            Command::ContractDefined(defined) => {
                (!self.contracts.has_room_for(&defined.contract)).then_some("contracts")
            }
            Command::Suspended(suspended) => {
                let suspended_agents = &self.suspensions().suspended;
                let is_new = !suspended_agents.contains_key(&suspended.agent);
                (is_new && suspended_agents.len() >= MAX_SUSPENDED).then_some("suspended agents")
            }
            Command::ModeConfigured(configured) => {
                let is_new = self.modes().would_grow(configured);
                (is_new && self.modes().len() >= MAX_MODE_SCOPES).then_some("modes")
            }
            Command::TrustSet(set) => {
                let is_new = self.trust.get(&set.dimension).is_none();
                (is_new && self.trust.len() >= MAX_DIMENSIONS).then_some("dimensions of trust")
            }
            Command::Observed(observed) if observed.assurance.is_some() => {
                let is_new = self.imported.get(&observed.dimension).is_none();
                (is_new && self.imported.len() >= MAX_DIMENSIONS).then_some("imported dimensions of trust")
            }
            _ => None,
        };
        full.map_or(Ok(()), |what| Err(ReactorRefusal::too_many(what)))
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
    pub(super) fn check_writer(
        &self,
        act: &Command,
        placed: &ObservedEvent<'_>,
    ) -> Result<(), ReactorRefusal> {
        let is_own = match act {
            Command::Decided(_)
            | Command::Opened(_)
            | Command::HalfOpened(_)
            | Command::ApprovalRequested(_)
            | Command::ApprovalConsumed(_)
            | Command::BudgetCharged(_)
            | Command::BudgetExceeded(_)
            | Command::LoopDetected(_)
            | Command::ClockCorrected(_) => true,
            Command::Observed(observed) => observed.assurance.is_none(),
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

fn invalid(error: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::InvalidData, error.to_string())
}

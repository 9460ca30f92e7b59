//! The queries of readers to the published state, or to a copy of it.
//! A query to the state itself is bounded: the committer waits meanwhile.

use bitacora_formats::{Micros, Position};
use bitacora_vocabulary::{
    BreakerCondition, BudgetConfigured, DecisionMade, Dimension, Name, Risk, Rule, TrustRules,
};

use crate::budgets::Budgets;
use crate::calls::OpenCall;
use crate::calls::approvals::{Approval, ApprovalStatus};
use crate::calls::grants::Grants;
use crate::clock::ClockTrust;
use crate::decide::decide;
use crate::limits::MAX_LISTED;
use crate::loop_guard::OverdueRun;
use crate::policy::policies::Policies;
use crate::rate::Rates;
use crate::reactor::examination::CallFacts;
use crate::refusal::ReactorRefusal;
use crate::state::State;
use crate::state::contracts::Contracts;
use crate::state::enforcement_mode::Modes;
use crate::state::principals::Principals;
use crate::state::suspensions::Suspensions;
use crate::tools::custom_types::CustomTypes;
use crate::tools::registry::Registry;
use crate::tools::tool_sightings::ToolSighting;
use crate::trust::breaker::Breaker;
use crate::trust::record::TrustRecord;
use crate::trust::rules::{Assessment, assess};
use crate::version::REACTOR_VERSION;

/// A dimension, as it stands at some time.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionStanding {
    /// The dimension.
    pub dimension: Dimension,
    /// Its observations.
    pub record: TrustRecord,
    /// Its score and its standing.
    pub assessment: Assessment,
}

/// The numbers of entries in a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Dimensions with observations of our own.
    pub dimensions: u64,
    /// Dimensions with observations that were brought from elsewhere and do not count, once for each import.
    pub imported_dimensions: u64,
    /// Breakers that have seen anything.
    pub breakers: u64,
    /// Those of them that do not let every call pass.
    pub breakers_not_closed: u64,
    /// Calls without an outcome.
    pub open_calls: u64,
    /// Approvals that wait, or ended a short time ago.
    pub approvals: u64,
    /// Those of them that wait.
    pub approvals_pending: u64,
    /// Tools that may be called.
    pub tools: u64,
    /// Versions of the policy.
    pub policies: u64,
}

impl State {
    /// Predicts the decision about a call at this time. Nothing is changed, and nothing is promised: an allow comes only from the
    /// ledger, with its record.
    ///
    /// # Errors
    /// The facts that the call was examined with have changed since, or its idempotency key stands for another call.
    pub fn would_decide(&self, facts: &CallFacts, at: Micros) -> Result<DecisionMade, ReactorRefusal> {
        decide(self, facts, 0, at).map(|decided| decided.decision)
    }

    /// Returns `true` if this dimension's breaker has seen anything.
    #[must_use]
    pub fn has_breaker(&self, dimension: &Dimension) -> bool {
        self.breaker(dimension).is_some()
    }

    /// Counts the entries of the state.
    #[must_use]
    pub fn counts(&self) -> StateCounts {
        let closed = |breaker: &Breaker| breaker.condition() == BreakerCondition::Closed;
        let pending = |approval: &&Approval| approval.status == ApprovalStatus::Pending;
        StateCounts {
            dimensions: self.trust.len() as u64,
            imported_dimensions: (self.imported.len()
                + self.imports().map(|(_, import)| import.records().len()).sum::<usize>())
                as u64,
            breakers: self.breakers.len() as u64,
            breakers_not_closed: self.breakers.iter().filter(|(_, breaker)| !closed(breaker)).count() as u64,
            open_calls: self.calls.len() as u64,
            approvals: self.approvals.iter().count() as u64,
            approvals_pending: self.approvals.iter().filter(pending).count() as u64,
            tools: self.registry().len() as u64,
            policies: self.policies.get().iter().count() as u64,
        }
    }

    /// Returns one dimension at this time; without observations where none were made.
    #[must_use]
    pub fn standing(&self, dimension: &Dimension, at: Micros) -> DimensionStanding {
        let record = self.trust_of(dimension, false);
        let assessment = assess(&record, &self.trust_rules(), at);
        DimensionStanding { dimension: dimension.clone(), record, assessment }
    }

    /// Dimensions with observations, in their order, behind the one that is named.
    pub fn dimensions(&self, after: Option<&Dimension>) -> impl Iterator<Item = (&Dimension, &TrustRecord)> {
        self.trust.iter_after(after)
    }

    /// Returns the dimensions with observations of the import that has not ended.
    pub fn imported_dimensions(&self) -> impl Iterator<Item = (&Dimension, &TrustRecord)> {
        self.imported.iter()
    }

    /// Returns the numbers that trust is computed with.
    #[must_use]
    pub fn rules_of_trust(&self) -> TrustRules {
        self.trust_rules()
    }

    /// Breakers that have seen anything, in the order of their dimensions, behind the one that is named.
    pub fn breakers_after(&self, after: Option<&Dimension>) -> impl Iterator<Item = (&Dimension, &Breaker)> {
        self.breakers.iter_after(after)
    }

    /// Returns the breaker of a dimension, closed where nothing happened.
    #[must_use]
    pub fn breaker_of(&self, dimension: &Dimension) -> Breaker {
        self.breaker(dimension).unwrap_or_default()
    }

    /// Returns the tools.
    #[must_use]
    pub fn tools(&self) -> &Registry {
        self.registry()
    }

    /// Returns the policies.
    #[must_use]
    pub fn all_policies(&self) -> &Policies {
        self.policies.get()
    }

    /// Returns the limits of rates.
    #[must_use]
    pub fn all_rates(&self) -> &Rates {
        self.rates()
    }

    /// Returns the budgets.
    #[must_use]
    pub fn all_budgets(&self) -> &Budgets {
        self.budgets()
    }

    /// Returns the contracts.
    #[must_use]
    pub fn all_contracts(&self) -> &Contracts {
        &self.contracts
    }

    /// Returns the modes.
    #[must_use]
    pub fn all_modes(&self) -> &Modes {
        self.modes()
    }

    /// Returns the grants.
    #[must_use]
    pub fn all_grants(&self) -> &Grants {
        self.grants()
    }

    /// Returns the trust in the ledger's time.
    #[must_use]
    pub fn clock_trust(&self) -> &ClockTrust {
        self.clock()
    }

    /// Returns the stops of all agents, and of single ones.
    #[must_use]
    pub fn all_stops(&self) -> &Suspensions {
        self.suspensions()
    }

    /// Types beside those of the vocabulary.
    #[must_use]
    pub fn custom_types(&self) -> &CustomTypes {
        self.custom_types.get()
    }

    /// Returns the principals that may use the ledger.
    #[must_use]
    pub fn principals(&self) -> &Principals {
        self.principals.get()
    }

    /// Returns `true` if this rule would decide about any call of a dimension, were it in the active policy: no rule before it
    /// decides about all of them.
    #[must_use]
    pub fn would_apply(&self, dimension: &Dimension, rule: &Rule) -> bool {
        let risk = self.risk_of(dimension);
        self.policy().is_none_or(|policy| policy.would_apply(dimension, rule, risk))
    }

    /// Returns `true` if its verdict on them would also differ from the active policy's.
    #[must_use]
    pub fn would_change_policy(&self, dimension: &Dimension, rule: &Rule) -> bool {
        let risk = self.risk_of(dimension);
        self.policy().is_none_or(|policy| policy.would_change(dimension, rule, risk))
    }

    /// Returns the risk of a dimension's tool, as it is registered.
    fn risk_of(&self, dimension: &Dimension) -> Option<Risk> {
        let tool = dimension.tool();
        let (server, tool) = tool.split_once('/').map_or((None, tool), |(server, tool)| (Some(server), tool));
        self.registry().get(tool, server).map(|registered| registered.document.risk)
    }

    /// Returns an approval that waits or ended a short time ago.
    #[must_use]
    pub fn approval(&self, id: &str) -> Option<&Approval> {
        self.approvals.get(id)
    }

    /// Approvals that wait for a person at this time, of those that were asked for after a position; the oldest first.
    #[must_use]
    pub fn pending_approvals(&self, at: Micros, after: u64) -> Vec<&Approval> {
        let waits = |approval: &&Approval| {
            approval.status == ApprovalStatus::Pending
                && approval.position > after
                && at.0 < approval.request.expires
        };
        let mut pending: Vec<_> = self.approvals.iter().filter(waits).collect();
        pending.sort_by_key(|approval| approval.position);
        pending
    }

    /// Approvals whose time is over at this time without an answer, the earliest first.
    #[must_use]
    pub fn expired_approvals(&self, at: Micros) -> Vec<Name> {
        self.approvals
            .expired(at)
            .take(MAX_LISTED)
            .map(|approval| approval.request.approval.clone())
            .collect()
    }

    /// Returns `true` if a call that the decision at `position` allowed may still begin at this time. It has no outcome, is not too
    /// old, and nothing stopped it since.
    #[must_use]
    pub fn may_still_begin(&self, decision: &DecisionMade, position: Position, at: Micros) -> bool {
        let time = at.max(self.governed_time());
        let open = self.calls.get(&decision.call).filter(|open| open.position == position.get());
        let stops = self.suspensions();
        let is_stopped = |open: &OpenCall| {
            stops.panic.is_some()
                || open.agent.as_deref().is_some_and(|agent| stops.suspended.contains_key(agent))
        };
        let is_in_time = |open: &OpenCall| {
            time < open.deadline && decision.expires.is_some_and(|expires| time.0 < expires)
        };
        open.is_some_and(|open| !is_stopped(open) && is_in_time(open))
    }

    /// Returns a call that was decided and has no outcome.
    #[must_use]
    pub fn open_call(&self, call: &str) -> Option<&OpenCall> {
        self.calls.get(call)
    }

    /// Returns the number of calls without an outcome.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Runs that have told no end for the time that they were given, the earliest first.
    #[must_use]
    pub fn overdue_runs(&self, at: Micros) -> Vec<OverdueRun> {
        self.loop_guard.overdue(at).take(MAX_LISTED).collect()
    }

    /// Returns the budget that a run of this agent was begun with.
    #[must_use]
    pub fn run_budget(&self, agent: Option<&str>, run: Option<&str>) -> Option<BudgetConfigured> {
        self.loop_guard.own_budget(agent, run, REACTOR_VERSION).map(|own| own.budget)
    }

    /// Calls whose deadline has passed at this time, the earliest first.
    #[must_use]
    pub fn overdue_calls(&self, at: Micros) -> Vec<(Name, OpenCall)> {
        self.calls.overdue(at).take(MAX_LISTED).map(|(call, open)| (call.clone(), open.clone())).collect()
    }
}

impl State {
    /// Returns the tools that calls named and nobody registered: the agent, the tool, its server, and how often; by agent and name.
    pub fn tool_sightings(&self) -> impl Iterator<Item = (&str, &Name, Option<&Name>, &ToolSighting)> {
        let sightings = self.tool_sightings.iter();
        sightings.map(|((agent, tool, server), sighting)| (agent.as_str(), tool, server.as_ref(), sighting))
    }
}

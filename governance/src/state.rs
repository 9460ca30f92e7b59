//! All that decisions rest on: a fold of recorded events.

pub(crate) mod contracts;
pub(crate) mod digest;
pub(crate) mod enforcement_mode;
pub(crate) mod imports;
pub(crate) mod principals;
pub(crate) mod state_diff;
pub(crate) mod suspensions;

use bitacora_formats::{Micros, Position};
use bitacora_vocabulary::{BreakerCondition, Dimension, EventData, Sha256Text, ToolRequested, TrustRules};
use serde::{Deserialize, Serialize};

use crate::budgets::Budgets;
use crate::calls::OpenCalls;
use crate::calls::approvals::Approvals;
use crate::calls::ended_calls::EndedCalls;
use crate::calls::grants::Grants;
use crate::calls::keys::Keys;
use crate::calls::live_sessions::LiveSessions;
use crate::clock::ClockTrust;
use crate::command::is_act;
use crate::limits::{MAX_DIMENSIONS, MAX_DIMENSIONS_LOOKED_AT};
use crate::loop_guard::LoopGuard;
use crate::policy::Policy;
use crate::policy::policies::Policies;
use crate::rate::Rates;
use crate::reactor::ObservedEvent;
use crate::reactor::examination::CallFacts;
use crate::retention::holds::Holds;
use crate::retention::retention_policy::StandingRetention;
use crate::state::contracts::Contracts;
use crate::state::enforcement_mode::Modes;
use crate::state::imports::Import;
use crate::state::principals::Principals;
use crate::state::suspensions::Suspensions;
use crate::tools::custom_types::CustomTypes;
use crate::tools::registry::Registry;
use crate::tools::tool_sightings::ToolSightings;
use crate::trust::breaker::Breaker;
use crate::trust::checks_failed::ChecksFailed;
use crate::trust::new_dimensions::NewDimensions;
use crate::trust::record::TrustRecord;
use crate::trust::rules::{TrustStanding, assess};
use crate::undo::cow_cell::CowCell;
use crate::undo::undo_map::UndoMap;
use crate::version::{RulesInForce, needs_room_for_approvals};

/// No part of a dimension is before it.
const LEAST_PART: &str = "\t";

/// The state of governance after some position.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(crate) trust: UndoMap<Dimension, TrustRecord>,
    /// Observations of the import that has not ended yet.
    pub(crate) imported: UndoMap<Dimension, TrustRecord>,
    /// The time of the last event of that import.
    pub(crate) imported_time: CowCell<GovernedTime>,
    /// Imports that ended.
    pub(crate) imports: UndoMap<Sha256Text, Import>,
    pub(crate) breakers: UndoMap<Dimension, Breaker>,
    pub(crate) calls: OpenCalls,
    /// Calls that were recorded elsewhere, by source and call.
    pub(crate) imported_calls: OpenCalls,
    pub(crate) live_sessions: LiveSessions,
    pub(crate) approvals: Approvals,
    pub(crate) keys: Keys,
    pub(crate) rates: Rates,
    pub(crate) registry: CowCell<Registry>,
    pub(crate) policies: CowCell<Policies>,
    pub(crate) modes: CowCell<Modes>,
    pub(crate) grants: CowCell<Grants>,
    #[serde(rename = "stops")]
    pub(crate) suspensions: CowCell<Suspensions>,
    pub(crate) principals: CowCell<Principals>,
    pub(crate) custom_types: CowCell<CustomTypes>,
    pub(crate) clock: CowCell<ClockTrust>,
    pub(crate) begun: NewDimensions,
    /// The latest governed time.
    pub(crate) time: CowCell<GovernedTime>,
    /// Blocked dimensions whose calls are reviewed up to some time.
    #[serde(default)]
    pub(crate) probes: UndoMap<Dimension, Micros>,
    /// The first event that governs and could not be read.
    #[serde(default)]
    pub(crate) unread: CowCell<UnreadableEvent>,
    #[serde(default)]
    pub(crate) budgets: Budgets,
    #[serde(default, rename = "rounds")]
    pub(crate) loop_guard: LoopGuard,
    #[serde(default)]
    pub(crate) contracts: Contracts,
    #[serde(default)]
    pub(crate) rules: CowCell<RulesInForce>,
    #[serde(default)]
    pub(crate) ended_calls: EndedCalls,
    #[serde(default)]
    pub(crate) checks_failed: ChecksFailed,
    #[serde(default)]
    pub(crate) tool_sightings: ToolSightings,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) holds: CowCell<Holds>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) retention: CowCell<StandingRetention>,
}

/// Returns `true` for a part without any event: a state without it is written as before there was the part.
fn is_default<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}

/// The position of an event that governs and could not be read; 0 where every one could.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnreadableEvent(pub(crate) u64);

/// The time of the last event that governs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GovernedTime(pub(crate) u64);

/// Does the same to every part of the state, so that none can be forgotten.
macro_rules! every_part {
    ($state:ident, $act:ident) => {{
        let State {
            trust,
            imported,
            imported_time,
            imports,
            breakers,
            calls,
            imported_calls,
            live_sessions,
            approvals,
            keys,
            rates,
            registry,
            policies,
            modes,
            grants,
            suspensions,
            principals,
            custom_types,
            clock,
            begun,
            time,
            probes,
            unread,
            budgets,
            loop_guard,
            contracts,
            rules,
            ended_calls,
            checks_failed,
            tool_sightings,
            holds,
            retention,
        } = $state;
        trust.$act();
        imported.$act();
        imported_time.$act();
        imports.$act();
        breakers.$act();
        calls.$act();
        imported_calls.$act();
        live_sessions.$act();
        approvals.$act();
        keys.$act();
        rates.$act();
        registry.$act();
        policies.$act();
        modes.$act();
        grants.$act();
        suspensions.$act();
        principals.$act();
        custom_types.$act();
        clock.$act();
        begun.$act();
        time.$act();
        probes.$act();
        unread.$act();
        budgets.$act();
        loop_guard.$act();
        contracts.$act();
        rules.$act();
        ended_calls.$act();
        checks_failed.$act();
        tool_sightings.$act();
        holds.$act();
        retention.$act();
    }};
}

impl State {
    /// Returns `true` if events of this type change the state, or may.
    #[must_use]
    pub fn concerns(kind: &str) -> bool {
        is_act(kind)
    }

    /// Returns `true` if a fold reads more of events of this type than their time of recording. It reads no request: the facts
    /// about one stand with its decision.
    #[must_use]
    pub fn reads(kind: &str) -> bool {
        kind != ToolRequested::KIND
    }

    /// Makes all changes from now on final at once: they are recorded already.
    pub(crate) fn pause_all(&mut self) {
        every_part!(self, pause);
    }

    /// Makes the changes from now on reversible.
    pub(crate) fn resume_all(&mut self) {
        every_part!(self, resume);
    }

    pub(crate) fn keep_all(&mut self) {
        every_part!(self, keep);
    }

    pub(crate) fn discard_all(&mut self) {
        every_part!(self, discard);
    }

    /// Returns the record of a dimension, empty where nothing was observed.
    pub(crate) fn trust_of(&self, dimension: &Dimension, imported: bool) -> TrustRecord {
        let records = if imported { &self.imported } else { &self.trust };
        records.get(dimension).copied().unwrap_or_default()
    }

    pub(crate) fn trust_rules(&self) -> TrustRules {
        self.policies.get().trust_rules()
    }

    pub(crate) fn breaker(&self, dimension: &Dimension) -> Option<Breaker> {
        self.breakers.get(dimension).copied()
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.registry.get()
    }

    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.policies.get().active()
    }

    pub(crate) fn policy_version(&self) -> Option<u64> {
        self.policies.get().active_version()
    }

    pub(crate) fn modes(&self) -> &Modes {
        self.modes.get()
    }

    pub(crate) fn grants(&self) -> &Grants {
        self.grants.get()
    }

    pub(crate) fn suspensions(&self) -> &Suspensions {
        self.suspensions.get()
    }

    /// Returns the holds in force.
    #[must_use]
    pub fn holds(&self) -> &Holds {
        self.holds.get()
    }

    /// Returns the retention policy in force.
    #[must_use]
    pub fn retention(&self) -> &StandingRetention {
        self.retention.get()
    }

    pub(crate) fn clock(&self) -> &ClockTrust {
        self.clock.get()
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Takes in an event that governs and cannot be read, such as one that a later version recorded. It may hold a restriction that
    /// must not be missed, so that nothing is allowed from here on.
    pub(crate) fn pass_over(&mut self, recorded: &ObservedEvent<'_>) {
        if self.unreadable().is_none() {
            self.unread.change(|unread| unread.0 = recorded.position.get());
        }
    }

    /// Returns `true` if a blocked dimension is reviewed at this time.
    pub(crate) fn is_probed(&self, dimension: &Dimension, time: Micros) -> bool {
        self.probes.get(dimension).is_some_and(|until| time < *until)
    }

    /// Returns the first event that governs and could not be read.
    #[must_use]
    pub fn unreadable_event(&self) -> Option<Position> {
        self.unreadable().and_then(Position::new)
    }

    /// Returns the position of the first event that could not be read.
    pub(crate) fn unreadable(&self) -> Option<u64> {
        Some(self.unread.get().0).filter(|position| *position > 0)
    }

    /// Returns the kind of entry that leaves no room for this call, if any: its agent's share, or all entries together.
    pub(crate) fn full(&self, facts: &CallFacts, time: Micros) -> Option<&'static str> {
        let agent = facts.agent.as_deref();
        let key = facts.scoped_key();
        let dimension = &facts.dimension;
        let is_known = || self.trust.get(dimension).is_some() || self.checks_failed.contains(dimension);
        let is_new = !facts.is_uncounted() && !is_known();
        let is_asking_all = needs_room_for_approvals(facts.reactor_version);
        if self.calls.is_full_of(agent) {
            Some("this agent's calls without an outcome")
        } else if self.calls.is_full(time) {
            Some("calls without an outcome")
        } else if is_asking_all && self.approvals.is_full_of(agent) {
            Some("this agent's approvals that wait")
        } else if is_asking_all && self.approvals.is_full(time) {
            Some("approvals that wait")
        } else if key.as_ref().is_some_and(|key| self.keys.is_full_of(key)) {
            Some("this agent's idempotency keys")
        } else if key.as_ref().is_some_and(|key| self.keys.is_full(key, time)) {
            Some("idempotency keys")
        } else if is_new && self.begun.is_full(agent, time) {
            Some("dimensions of trust that this agent began today")
        } else if is_new && self.trust.len().max(self.breakers.len()) >= MAX_DIMENSIONS {
            Some("dimensions of trust")
        } else {
            None
        }
    }

    /// Returns `true` if the same tool is stopped or blocked in the same context and workspace under another model or task type.
    /// The caller names both. Too many dimensions to look at count as stopped. Other workspaces are not looked at, however many
    /// dimensions they hold.
    pub(crate) fn is_stopped_elsewhere(&self, dimension: &Dimension, time: Micros) -> bool {
        let [tool, context, ..] = dimension.parts();
        let workspace = dimension.workspace();
        let from = dimension.with_model(LEAST_PART, LEAST_PART);
        let is_beside = |other: &Dimension| {
            other.tool() == tool && other.context() == context && other.workspace() == workspace
        };
        let rules = self.trust_rules();
        let mut breakers = self
            .breakers
            .iter_from(&from)
            .take_while(|(other, _)| is_beside(other))
            .filter(|(other, _)| *other != dimension);
        let mut records = self
            .trust
            .iter_from(&from)
            .take_while(|(other, _)| is_beside(other))
            .filter(|(other, _)| *other != dimension);
        let stopped = breakers
            .by_ref()
            .take(MAX_DIMENSIONS_LOOKED_AT)
            .any(|(_, breaker)| breaker.condition() != BreakerCondition::Closed);
        let blocked = |record| assess(record, &rules, time).standing == TrustStanding::Blocked;
        stopped
            || records.by_ref().take(MAX_DIMENSIONS_LOOKED_AT).any(|(_, record)| blocked(record))
            || breakers.next().is_some()
            || records.next().is_some()
    }

    /// Returns the governed time at a moment at which the clock shows this.
    #[must_use]
    pub fn time_by(&self, clock: Micros) -> Micros {
        Micros(clock.0.saturating_add(self.clock().offset()))
    }

    /// Returns the latest governed time.
    #[must_use]
    pub fn governed_time(&self) -> Micros {
        Micros(self.time.get().0)
    }
}

//! The changes of an executor's part of a state, on their way to a replica.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BudgetConfigured, ContractDefined, Dimension, Name, RateLimit, RateScope, RollingRate,
};
use serde::{Deserialize, Serialize};

use crate::budgets::WindowKey;
use crate::budgets::meter::Meter;
use crate::calls::OpenCall;
use crate::calls::approvals::{Approval, ApprovalStatus};
use crate::calls::executor::Executor;
use crate::calls::grants::Grants;
use crate::calls::keys::{ScopedKey, UsedKey};
use crate::clock::ClockTrust;
use crate::loop_guard::{LoopKey, LoopRecord};
use crate::policy::policies::Policies;
use crate::rate::Bucket;
use crate::rate::rolling::AdmittedCalls;
use crate::state::contracts::{BrokenCondition, CallKey};
use crate::state::enforcement_mode::Modes;
use crate::state::suspensions::Suspensions;
use crate::state::{GovernedTime, State, UnreadableEvent};
use crate::tools::registry::Registry;
use crate::trust::breaker::Breaker;
use crate::trust::record::TrustRecord;
use crate::undo::cow_cell::CowCell;
use crate::undo::undo_map::UndoMap;

/// The changes of a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapPatch<K, V> {
    /// The values under these keys.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub(crate) put: Vec<(K, V)>,
    /// Keys without a value any more.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub(crate) gone: Vec<K>,
}

impl<K, V> Default for MapPatch<K, V> {
    fn default() -> Self {
        Self { put: Vec::new(), gone: Vec::new() }
    }
}

impl<K: Ord + Clone, V: Clone> MapPatch<K, V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.gone.is_empty()
    }

    fn apply(self, map: &mut UndoMap<K, V>) {
        self.gone.iter().for_each(|key| map.remove(key));
        self.put.into_iter().for_each(|(key, value)| map.insert(key, value));
    }
}

/// The number of dimensions that an agent began on the last day on which any agent did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentDimensionCount {
    pub(crate) day: u64,
    pub(crate) begun: usize,
}

macro_rules! patches {
    (maps { $($map:ident: $key:ty => $value:ty,)* } values { $($value_name:ident: $value_type:ty,)* }) => {
        /// The changes of an executor's part of a state; from nothing on, all of that part. Its form is this program's own, and
        /// counted by [`REPLICA_FORM`](super::REPLICA_FORM).
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct StatePatch {
            $(
                #[serde(default, skip_serializing_if = "MapPatch::is_empty")]
                pub(crate) $map: MapPatch<$key, $value>,
            )*
            $(
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub(crate) $value_name: Option<$value_type>,
            )*
        }

        impl StatePatch {
            /// Returns `true` if nothing changed.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$map.is_empty())&&* && $(self.$value_name.is_none())&&*
            }
        }
    };
}

patches! {
    maps {
        trust: Dimension => TrustRecord,
        breakers: Dimension => Breaker,
        probes: Dimension => Micros,
        calls: Name => Box<OpenCall>,
        approvals: Name => Approval,
        keys: ScopedKey => UsedKey,
        rate_limits: RateScope => RateLimit,
        rate_buckets: RateScope => Bucket,
        rolling_limits: RateScope => RollingRate,
        rolling_taken: RateScope => AdmittedCalls,
        budgets: Name => BudgetConfigured,
        meters: WindowKey => Meter,
        rounds: LoopKey => LoopRecord,
        contracts: Name => ContractDefined,
        broken: CallKey => BrokenCondition,
    }
    values {
        registry: Registry,
        policies: Policies,
        modes: Modes,
        grants: Grants,
        stops: Suspensions,
        clock: ClockTrust,
        begun: AgentDimensionCount,
        time: GovernedTime,
        unread: UnreadableEvent,
    }
}

impl State {
    /// Takes in the changes of the part that concerns an executor.
    pub(crate) fn take_patch(&mut self, patch: StatePatch, executor: &Executor) {
        let agent = executor.agent.as_deref();
        patch.trust.apply(&mut self.trust);
        patch.breakers.apply(&mut self.breakers);
        patch.probes.apply(&mut self.probes);
        patch.calls.apply(&mut self.calls.by_id);
        self.calls.shares.hold_only(agent, self.calls.by_id.len());
        self.take_approvals(patch.approvals, agent);
        patch.keys.apply(&mut self.keys.used);
        self.keys.shares.hold_only(agent, self.keys.used.len());
        patch.rate_limits.apply(&mut self.rates.limits);
        patch.rate_buckets.apply(&mut self.rates.buckets);
        patch.rolling_limits.apply(&mut self.rates.rolling.limits);
        patch.rolling_taken.apply(&mut self.rates.rolling.taken);
        patch.budgets.apply(&mut self.budgets.configured);
        patch.meters.apply(&mut self.budgets.meters);
        patch.rounds.apply(&mut self.loop_guard.by_name);
        self.loop_guard.shares.hold_only(agent, self.loop_guard.by_name.len());
        patch.contracts.apply(&mut self.contracts.defined);
        patch.broken.apply(&mut self.contracts.broken);
        self.contracts.shares.hold_only(Some(executor.counted()), self.contracts.broken.len());
        put(&mut self.registry, patch.registry);
        put(&mut self.policies, patch.policies);
        put(&mut self.modes, patch.modes);
        put(&mut self.grants, patch.grants);
        put(&mut self.suspensions, patch.stops);
        put(&mut self.clock, patch.clock);
        put(&mut self.time, patch.time);
        put(&mut self.unread, patch.unread);
        if let Some(AgentDimensionCount { day, begun }) = patch.begun {
            self.begun.day.change(|last| *last = day);
            self.begun.begun.hold_only(agent, begun);
        }
    }

    /// Takes in approvals. Those that wait, and those that a person rejected, are found by the digest of their action.
    fn take_approvals(&mut self, patch: MapPatch<Name, Approval>, agent: Option<&str>) {
        let changed = patch.gone.iter().chain(patch.put.iter().map(|(id, _)| id));
        for id in changed {
            if let Some(digest) = self.approvals.get(id).and_then(|known| known.request.action_digest.clone())
            {
                let key = (digest, id.clone());
                self.approvals.waiting.remove(&key);
                self.approvals.rejected.remove(&key);
            }
        }
        for (id, approval) in &patch.put {
            let Some(digest) = &approval.request.action_digest else { continue };
            let key = (digest.clone(), id.clone());
            match &approval.status {
                ApprovalStatus::Pending => self.approvals.waiting.insert(key, ()),
                ApprovalStatus::Resolved { resolution, .. } if approval.is_no(resolution.resolution) => {
                    self.approvals.rejected.insert(key, ());
                }
                ApprovalStatus::Resolved { .. } | ApprovalStatus::Consumed { .. } => {}
            }
        }
        patch.apply(&mut self.approvals.by_id);
        self.approvals.shares.hold_only(agent, self.approvals.by_id.len());
    }
}

fn put<T: Clone>(part: &mut CowCell<T>, value: Option<T>) {
    if let Some(value) = value {
        part.change(|current| *current = value);
    }
}

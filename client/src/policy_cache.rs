//! The policy cache: verdicts predicted from a replica of the state that decides.
//! The service keeps the replica fresh.
//!
//! It denies, and never allows: an allow comes from the ledger, with its record.

mod call_members;
mod freshness;
mod news;
mod prediction;
mod refresher;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bitacora_governance::{PredictedCall, PredictionRefusal, REACTOR_VERSION, REPLICA_FORM, Replica};
use tokio::sync::watch;

use crate::call::CallRequest;
use crate::client::Client;
use crate::limits::{DEFAULT_STALE_AFTER, LEAST_STALE_AFTER};
use call_members::predicted;
use freshness::Freshness;

pub use call_members::InvalidCall;
pub use prediction::{CacheDenial, CheckedDecision, PredictedVerdict};

/// The options of a policy cache.
#[derive(Debug, Clone)]
pub struct PolicyCacheOptions {
    /// The agent whose calls are predicted, where the token does not name it.
    pub agent: Option<String>,
    /// The age from which on the replica is too old to predict from: 3 s by default, and never less than 1 s.
    pub stale_after: Duration,
}

impl Default for PolicyCacheOptions {
    fn default() -> Self {
        Self { agent: None, stale_after: DEFAULT_STALE_AFTER }
    }
}

/// The reason why nothing is predicted. The ledger can still be asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CacheError {
    /// The service has not sent the state yet.
    #[error("the service has not said yet how things stand")]
    NotYet,
    /// The replica is older than is allowed.
    #[error("what is known is up to {} ms old, more than the {} ms that are allowed", age.as_millis(), allowed.as_millis())]
    Stale {
        /// The replica's age, at most.
        age: Duration,
        /// The greatest age allowed.
        allowed: Duration,
    },
    /// The service decides by other rules than this program has: a prediction would be a guess.
    #[error(
        "the service decides by version {rules} of the rules, in form {form}; this program has version {} in form {}",
        REACTOR_VERSION,
        REPLICA_FORM
    )]
    OtherRules {
        /// The service's version of the rules.
        rules: u32,
        /// The form in which the service sends the state.
        form: u32,
    },
    /// The service does not send the state, and will not: the token has ended, or there is no such ledger.
    #[error("the service does not tell how things stand: {0}")]
    Ended(Arc<str>),
    /// The call is another agent's than the cache.
    #[error("the cache is of {}, the call of {}", named(of.as_deref()), named(asked.as_deref()))]
    OtherAgent {
        /// The cache's agent.
        of: Option<String>,
        /// The call's.
        asked: Option<String>,
    },
    /// The ledger would not take the call.
    #[error(transparent)]
    Unfit(#[from] InvalidCall),
    /// The ledger would not decide about the call anew.
    #[error(transparent)]
    Unpredictable(#[from] PredictionRefusal),
}

/// Predictions of the verdicts on one executor's calls. Copies are of the same cache, which is kept fresh until the
/// last of them is gone.
#[derive(Clone)]
pub struct PolicyCache {
    shared: Arc<CacheShared>,
    /// A sender whose drop ends the task.
    _kept: Arc<watch::Sender<()>>,
}

/// The state shared by the task that keeps the cache and its callers.
pub(crate) struct CacheShared {
    stale_after: Duration,
    state: RwLock<ReplicaState>,
    /// The number of messages taken in.
    heard: watch::Sender<u64>,
}

/// The cache's knowledge of the state.
pub(crate) enum ReplicaState {
    Nothing,
    OtherRules { rules: u32, form: u32 },
    Ended(Arc<str>),
    Replica(Box<CachedReplica>),
}

/// A replica with its freshness.
pub(crate) struct CachedReplica {
    replica: Replica,
    is_bound: bool,
    position: u64,
    freshness: Freshness,
}

impl PolicyCache {
    pub(crate) fn start(client: &Client, options: &PolicyCacheOptions) -> Self {
        let shared = Arc::new(CacheShared {
            stale_after: options.stale_after.max(LEAST_STALE_AFTER),
            state: RwLock::new(ReplicaState::Nothing),
            heard: watch::Sender::new(0),
        });
        let (kept, ended) = watch::channel(());
        let (connection, path) = client.policy_cache_stream(options.agent.as_deref());
        tokio::spawn(refresher::keep(connection, path, Arc::clone(&shared), ended));
        Self { shared, _kept: Arc::new(kept) }
    }

    /// Predicts the verdict on a call now. Nothing is recorded, and nothing is allowed by it.
    ///
    /// # Errors
    /// See [`CacheError`]: the ledger has to be asked.
    pub fn predict(&self, call: &CallRequest) -> Result<PredictedVerdict, CacheError> {
        let state = self.shared.state.read().unwrap_or_else(PoisonError::into_inner);
        let cached = match &*state {
            ReplicaState::Nothing => return Err(CacheError::NotYet),
            ReplicaState::OtherRules { rules, form } => {
                return Err(CacheError::OtherRules { rules: *rules, form: *form });
            }
            ReplicaState::Ended(why) => return Err(CacheError::Ended(Arc::clone(why))),
            ReplicaState::Replica(cached) => cached,
        };
        let now = Instant::now();
        let (age, allowed) = (cached.freshness.age(now), self.shared.stale_after);
        if age > allowed {
            return Err(CacheError::Stale { age, allowed });
        }
        let asked = predicted(call)?;
        let of = &cached.replica.executor().agent;
        // An agent's token speaks for its agent where a call names none.
        let is_own = asked.agent == *of || asked.agent.is_none() && cached.is_bound;
        if !is_own {
            return Err(CacheError::OtherAgent { of: of.clone(), asked: asked.agent });
        }
        let call = PredictedCall {
            request: &asked.request,
            session: asked.session.as_deref(),
            run: asked.run.as_deref(),
        };
        let said = cached.replica.predict(&call, cached.freshness.service_time(now))?;
        Ok(PredictedVerdict { prediction: said, position: cached.position, age })
    }

    /// Waits until the cache has the state, or will not get it.
    ///
    /// # Errors
    /// [`CacheError::OtherRules`], [`CacheError::Ended`].
    pub async fn ready(&self) -> Result<(), CacheError> {
        let mut heard = self.shared.heard.subscribe();
        loop {
            match &*self.shared.state.read().unwrap_or_else(PoisonError::into_inner) {
                ReplicaState::Nothing => {}
                ReplicaState::OtherRules { rules, form } => {
                    return Err(CacheError::OtherRules { rules: *rules, form: *form });
                }
                ReplicaState::Ended(why) => return Err(CacheError::Ended(Arc::clone(why))),
                ReplicaState::Replica(_) => return Ok(()),
            }
            if heard.changed().await.is_err() {
                return Err(CacheError::NotYet);
            }
        }
    }
}

impl CacheShared {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ReplicaState) -> T) -> T {
        let changed = change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
        self.heard.send_modify(|heard| *heard = heard.wrapping_add(1));
        changed
    }
}

impl CacheShared {
    /// Returns `true` if the replica counts as too old.
    pub(crate) fn is_stale(&self) -> bool {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            ReplicaState::Replica(cached) => cached.freshness.age(Instant::now()) > self.stale_after,
            ReplicaState::Nothing | ReplicaState::OtherRules { .. } | ReplicaState::Ended(_) => false,
        }
    }
}

impl fmt::Debug for PolicyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyCache")
    }
}

fn named(agent: Option<&str>) -> String {
    agent.map_or_else(|| "no agent".to_owned(), |agent| format!("agent `{agent}`"))
}

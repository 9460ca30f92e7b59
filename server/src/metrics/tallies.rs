//! Decisions and latencies, counted for each ledger since the service began.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bitacora_formats::LedgerId;
use bitacora_governance::DerivedValue;
use bitacora_ledger::AppendReceipt;
use bitacora_vocabulary::{DecisionMade, Mode, ReasonCode, Verdict};
use prometheus_client::metrics::histogram::Histogram;

/// The upper bounds of the buckets of latencies, in seconds.
const LATENCY_BUCKETS_S: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The tallies of every ledger.
#[derive(Debug, Default)]
pub(crate) struct LedgerTallies(RwLock<BTreeMap<LedgerId, Arc<LedgerTally>>>);

/// The tally of one ledger.
pub(crate) struct LedgerTally {
    decisions: Counts<DecisionKind>,
    derived: Counts<String>,
    pub(super) decision_latency: Histogram,
    pub(super) append_latency: Histogram,
}

/// The properties by which decisions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DecisionKind {
    pub(super) mode: Mode,
    pub(super) verdict: Verdict,
    pub(super) reason: ReasonCode,
}

/// Numbers by key. Few keys come, and each of them often.
#[derive(Debug)]
struct Counts<K>(RwLock<BTreeMap<K, AtomicU64>>);

impl LedgerTallies {
    /// Returns the tally of a ledger.
    pub(super) fn of(&self, ledger: LedgerId) -> Arc<LedgerTally> {
        let tallies = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = tallies.get(&ledger) {
            return Arc::clone(tally);
        }
        drop(tallies);
        let mut tallies = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tallies.entry(ledger).or_default())
    }
}

impl LedgerTally {
    /// Counts the events that the reactor derived for this very append. A decision whose own text was redacted is counted among the
    /// derived events alone.
    pub(super) fn count(&self, appended: &AppendReceipt) {
        for derived in appended.new_derived() {
            self.derived.count(&derived.kind);
            if let Some(decision) = derived.meaning.as_ref().and_then(DerivedValue::decision) {
                self.decisions.count(&DecisionKind::from(decision));
            }
        }
    }

    pub(super) fn decisions(&self) -> Vec<(DecisionKind, u64)> {
        self.decisions.now()
    }

    /// Returns the number of calls that were kept from running.
    pub(super) fn denials(&self) -> u64 {
        let is_denial = |kind: &DecisionKind| kind.mode == Mode::Enforce && kind.verdict == Verdict::Deny;
        self.decisions.now().into_iter().filter(|(kind, _)| is_denial(kind)).map(|(_, count)| count).sum()
    }

    pub(super) fn derived(&self) -> Vec<(String, u64)> {
        self.derived.now()
    }

    pub(super) fn observe_decision(&self, took: Duration) {
        self.decision_latency.observe(took.as_secs_f64());
    }

    pub(super) fn observe_append(&self, took: Duration) {
        self.append_latency.observe(took.as_secs_f64());
    }
}

impl Default for LedgerTally {
    fn default() -> Self {
        let latency = || Histogram::new(LATENCY_BUCKETS_S);
        Self {
            decisions: Counts::default(),
            derived: Counts::default(),
            decision_latency: latency(),
            append_latency: latency(),
        }
    }
}

impl fmt::Debug for LedgerTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerTally").finish_non_exhaustive()
    }
}

impl From<&DecisionMade> for DecisionKind {
    fn from(decision: &DecisionMade) -> Self {
        Self { mode: decision.mode, verdict: decision.verdict, reason: decision.reason_code }
    }
}

impl<K: Ord + Clone> Counts<K> {
    fn count<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get(key) {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        drop(counts);
        let mut counts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(key.to_owned()).or_default().get_mut() += 1;
    }

    fn now(&self) -> Vec<(K, u64)> {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(key, count)| (key.clone(), count.load(Ordering::Relaxed))).collect()
    }
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

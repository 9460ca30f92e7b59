//! The recalled build of a model: folded from the first event without a cut, for questions about rows that left the store.
//!
//! It is begun when it is first asked for, follows the head, and goes once nobody has asked for a time. How many there may be at once is
//! bounded for a service and for each of its ledgers, because each is as large as the model was before the cut.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bitacora_formats::Position;
use tokio::sync::watch;

use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::status::ModelError;
use crate::limits::{LEDGER_RECALLS, MAX_RECALL_PAUSE, RECALL_UNUSED, RECALLS};

/// The recalled builds that there may be, and how long one stays that nobody asks. The ledgers of a service share one of these.
#[derive(Debug)]
pub struct RecallSlots {
    at_once: usize,
    of_ledger: usize,
    unused: Duration,
    taken: AtomicUsize,
}

impl Default for RecallSlots {
    fn default() -> Self {
        Self::new(RECALLS, LEDGER_RECALLS, RECALL_UNUSED)
    }
}

impl RecallSlots {
    /// As many at once, as many of one ledger, and each until nobody has asked for so long.
    #[must_use]
    pub const fn new(at_once: usize, of_ledger: usize, unused: Duration) -> Self {
        Self { at_once, of_ledger, unused, taken: AtomicUsize::new(0) }
    }

    /// Returns how long one stays that nobody asks.
    pub(super) fn unused(&self) -> Duration {
        self.unused
    }

    /// The pause between two looks whether one has to go.
    pub(super) fn pause(&self) -> Duration {
        (self.unused / 4).min(MAX_RECALL_PAUSE)
    }
}

/// Takes one of a number of places, if one is free.
fn take(taken: &AtomicUsize, most: usize) -> bool {
    let more = |now: usize| (now < most).then_some(now + 1);
    taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
}

/// The recall of one model, as readers and the folding thread share it.
#[derive(Default)]
pub(crate) struct PublishedRecall {
    state: Mutex<RecallState>,
    /// The last event that is folded and may be asked for; 0 while nothing may be asked.
    position: watch::Sender<u64>,
}

#[derive(Default)]
struct RecallState {
    asked: Option<Instant>,
    /// The build, once it may be asked.
    build: Option<Arc<Build>>,
    under_way: u64,
    /// The failure that keeps it from going on.
    failure: Option<String>,
    /// The reason for which it is not folded any more.
    ended: Option<String>,
    /// The build that a reader found to be damaged.
    is_suspect: bool,
    has_no_slot: bool,
}

impl PublishedRecall {
    /// Somebody asks about rows that left.
    pub(super) fn ask(&self) {
        self.state().asked = Some(Instant::now());
    }

    /// Returns `true` if somebody has asked lately.
    pub(super) fn is_asked(&self, unused: Duration) -> bool {
        let state = self.state();
        state.ended.is_none() && state.asked.is_some_and(|asked| asked.elapsed() < unused)
    }

    /// Returns the build and its position, once every event up to `at_least` is in it.
    pub(super) fn answer(
        &self,
        model: &'static str,
        at_least: Position,
    ) -> Result<(Arc<Build>, Position), ModelError> {
        let state = self.state();
        let position = Position::new(*self.position.borrow());
        if let Some(found) = state.build.as_ref().zip(position.filter(|position| *position >= at_least)) {
            return Ok((Arc::clone(found.0), found.1));
        }
        if let Some(why) = state.ended.as_ref().or(state.failure.as_ref()) {
            return Err(ModelError::NotRecalled { model, why: why.clone() });
        }
        if state.has_no_slot {
            return Err(ModelError::RecallWaits { model });
        }
        Err(ModelError::Recalling { model, position: state.under_way, of: at_least.get() })
    }

    /// To wait for a position.
    pub(super) fn watch_position(&self) -> watch::Receiver<u64> {
        self.position.subscribe()
    }

    pub(super) fn set_no_slot(&self) {
        self.state().has_no_slot = true;
    }

    /// It is folded no more, for good.
    pub(super) fn end(&self, why: String) {
        self.state().ended = Some(why);
    }

    /// Notes that a build is damaged, if it is this one's.
    pub(super) fn suspect(&self, build: &Arc<Build>) {
        let mut state = self.state();
        if state.build.as_ref().is_some_and(|asked| Arc::ptr_eq(asked, build)) {
            state.is_suspect = true;
            state.build = None;
            self.position.send_replace(0);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, RecallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place that a recalled build takes; free again when the build goes.
pub(super) struct RecallGuard {
    published: Arc<PublishedModel>,
    slots: Arc<RecallSlots>,
    of_ledger: Arc<AtomicUsize>,
    /// The time from which on it has been asked.
    ready: OnceLock<Instant>,
}

impl RecallGuard {
    /// Takes a place for a model, if one is free.
    pub(super) fn take(
        published: &Arc<PublishedModel>,
        slots: &Arc<RecallSlots>,
        of_ledger: &Arc<AtomicUsize>,
    ) -> Option<Self> {
        if !take(of_ledger, slots.of_ledger) {
            return None;
        }
        if !take(&slots.taken, slots.at_once) {
            of_ledger.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        published.recall.state().has_no_slot = false;
        Some(Self {
            published: Arc::clone(published),
            slots: Arc::clone(slots),
            of_ledger: Arc::clone(of_ledger),
            ready: OnceLock::new(),
        })
    }

    /// Readers are answered from it.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.get().is_some()
    }

    /// Readers are answered from it from now on.
    pub(super) fn set_ready(&self, build: &Arc<Build>, position: Position) {
        let _first = self.ready.set(Instant::now());
        self.published.recall.state().build = Some(Arc::clone(build));
        self.publish_progress(build, position);
    }

    /// Returns `true` if nobody has asked for long enough, and it has been there as long.
    pub(super) fn is_unused(&self) -> bool {
        let unused = self.slots.unused();
        !self.published.recall.is_asked(unused)
            && self.ready.get().is_none_or(|ready| ready.elapsed() >= unused)
    }

    /// Returns `true` if a reader found it to be damaged.
    pub(super) fn is_suspect(&self) -> bool {
        self.published.recall.state().is_suspect
    }

    pub(super) fn set_failure(&self, failure: Option<&str>) {
        self.published.recall.state().failure = failure.map(str::to_owned);
    }

    /// Tells readers how far it has come.
    pub(super) fn publish_progress(&self, build: &Arc<Build>, position: Position) {
        let mut state = self.published.recall.state();
        state.under_way = position.get();
        if state.build.as_ref().is_some_and(|asked| Arc::ptr_eq(asked, build)) {
            self.published.recall.position.send_replace(position.get());
        }
    }
}

impl Drop for RecallGuard {
    fn drop(&mut self) {
        let mut state = self.published.recall.state();
        *state = RecallState { asked: state.asked, ended: state.ended.take(), ..RecallState::default() };
        self.published.recall.position.send_replace(0);
        self.of_ledger.fetch_sub(1, Ordering::SeqCst);
        self.slots.taken.fetch_sub(1, Ordering::SeqCst);
    }
}

//! The recalled build of a model: folded from the first event without a cut, for questions about rows that left the store.
//!
//! It is begun when it is first asked for, follows the head, and goes once nobody has asked for a time. How many there may be is bounded for
//! a service and for each of its ledgers: `recall_slots.rs`. Each is as large as the model was before the cut.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bitacora_formats::{LedgerId, Position};
use tokio::sync::watch;

use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::recall_slots::{RecallRefusal, RecallSlots, RecallWait};
use super::status::ModelError;

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
    /// The reason for which none is begun, and the time before which none will be.
    wait: Option<(RecallRefusal, Instant)>,
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
        if let Some((why, until)) = state.wait {
            let left = until.saturating_duration_since(Instant::now()).as_millis().div_ceil(1_000);
            let retry_after_s = u64::try_from(left).unwrap_or(u64::MAX).max(1);
            return Err(ModelError::RecallWaits { model, why, retry_after_s });
        }
        Err(ModelError::Recalling { model, position: state.under_way, of: at_least.get() })
    }

    /// To wait for a position.
    pub(super) fn watch_position(&self) -> watch::Receiver<u64> {
        self.position.subscribe()
    }

    /// Notes that none is begun for now; or, with `None`, that nobody asks for one any more.
    pub(super) fn set_wait(&self, wait: Option<RecallWait>) {
        self.state().wait = wait.map(|wait| (wait.why, Instant::now() + wait.at_least));
    }

    /// Returns `true` if one is asked for that may not begin yet.
    pub(super) fn waits(&self) -> bool {
        self.state().wait.is_some()
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
    /// The number of the place.
    number: u64,
    /// The time from which on it has been asked.
    ready: OnceLock<Instant>,
}

impl RecallGuard {
    /// Takes a place for a model of a ledger, if it may have one now.
    pub(super) fn take(
        published: &Arc<PublishedModel>,
        slots: &Arc<RecallSlots>,
        ledger: LedgerId,
    ) -> Result<Self, RecallWait> {
        let number = slots.take(ledger, published.model.name(), Instant::now())?;
        published.recall.state().wait = None;
        Ok(Self {
            published: Arc::clone(published),
            slots: Arc::clone(slots),
            number,
            ready: OnceLock::new(),
        })
    }

    /// Readers are answered from it.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.get().is_some()
    }

    /// Readers are answered from it from now on.
    pub(super) fn set_ready(&self, build: &Arc<Build>, position: Position) {
        let now = Instant::now();
        let _first = self.ready.set(now);
        self.slots.set_settled(self.number, true, now);
        self.published.recall.state().build = Some(Arc::clone(build));
        self.publish_progress(build, position);
    }

    /// Returns `true` if nobody has asked for long enough, and it has been there as long.
    pub(super) fn is_unused(&self) -> bool {
        let unused = self.slots.bounds().unused;
        !self.published.recall.is_asked(unused)
            && self.ready.get().is_none_or(|ready| ready.elapsed() >= unused)
    }

    /// Returns `true` if it has to make place for another ledger's.
    pub(super) fn has_to_go(&self) -> bool {
        self.slots.has_to_go(self.number, Instant::now())
    }

    /// Returns `true` if a reader found it to be damaged.
    pub(super) fn is_suspect(&self) -> bool {
        self.published.recall.state().is_suspect
    }

    /// Sets the current failure. One that fails may have to make place, as one that answers.
    pub(super) fn set_failure(&self, failure: Option<&str>) {
        self.slots.set_settled(self.number, failure.is_some() || self.is_ready(), Instant::now());
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
        self.slots.free(self.number);
    }
}

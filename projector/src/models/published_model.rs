//! The state of one model that readers and the folding thread share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::{CutState, ModelCursor, Position};
use tokio::sync::{Notify, watch};

use super::model::Model;
use super::model_tree::Build;
use super::recall::PublishedRecall;
use super::status::{ModelError, ModelState, ModelStatus};
use super::store::RowIntegrityError;

/// Stands for a position where there will be none: callers that wait for one are told.
const STOPPED: u64 = u64::MAX;

/// One model of a ledger.
pub(crate) struct PublishedModel {
    pub(crate) model: &'static dyn Model,
    shown: Mutex<PublishedState>,
    /// The last event that is folded and may be asked for; 0 before the first, and while nothing may be asked; [`STOPPED`].
    /// Changed while `shown` is held, so who looks at it must not wait for that.
    position: watch::Sender<u64>,
    doubts: AtomicU64,
    /// An operator wants it folded again.
    asked_again: AtomicBool,
    /// Content of earlier events expired at this position; builds that began before it may hold rows of that content. 0 for none.
    expired_at: AtomicU64,
    /// Wakes the folding thread.
    wake: Arc<Notify>,
    /// For questions about rows that left.
    pub(super) recall: PublishedRecall,
}

/// The shown state of a model.
struct PublishedState {
    /// The build that is asked; `None` while there is nothing to be believed.
    build: Option<Arc<Build>>,
    state: ModelState,
    /// The cursor that was stored last.
    stored: Option<ModelCursor>,
    /// The progress of a fold that is not asked yet.
    under_way: Option<Position>,
    /// A reader doubted what was asked last, and that is not let go yet.
    suspect: bool,
}

impl PublishedModel {
    pub(crate) fn new(model: &'static dyn Model, wake: Arc<Notify>) -> Self {
        let shown = PublishedState {
            build: None,
            state: ModelState::Rebuilding,
            stored: None,
            under_way: None,
            suspect: false,
        };
        Self {
            model,
            shown: Mutex::new(shown),
            position: watch::Sender::new(0),
            doubts: AtomicU64::new(0),
            asked_again: AtomicBool::new(false),
            expired_at: AtomicU64::new(0),
            wake,
            recall: PublishedRecall::default(),
        }
    }

    /// Returns the build that is asked now, and the position up to which it has every event.
    pub(crate) fn live(&self) -> Result<(Arc<Build>, Position), ModelError> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let ModelState::Stopped(why) = &shown.state {
            return Err(ModelError::Stopped { model: self.model.name(), why: why.clone() });
        }
        let position = Position::new(*self.position.borrow());
        match (&shown.build, position, &shown.state) {
            (Some(build), Some(position), _) => Ok((Arc::clone(build), position)),
            (_, _, ModelState::Degraded(why)) => {
                Err(ModelError::Failing { model: self.model.name(), why: why.clone() })
            }
            _ => Err(self.rebuilding()),
        }
    }

    /// A reader found rows that are not to be believed: nobody is answered from them any more, and they are folded again; or the model
    /// stops, where that would not help.
    pub(crate) fn report_integrity_error(
        &self,
        suspect: &Arc<Build>,
        integrity_error: &RowIntegrityError,
    ) -> ModelError {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_live = shown.build.as_ref().is_some_and(|build| Arc::ptr_eq(build, suspect));
        shown.suspect |= is_live || shown.build.is_none();
        if is_live {
            self.wake.notify_one();
        }
        if is_live && suspect.is_defect(integrity_error) {
            let why = integrity_error.to_string();
            self.stop_shown(&mut shown, why.clone());
            return ModelError::Stopped { model: self.model.name(), why };
        }
        if is_live {
            self.count_integrity_error(integrity_error);
            shown.build = None;
            shown.state = ModelState::Rebuilding;
            self.position.send_replace(0);
        }
        self.rebuilding()
    }

    /// Returns `true` if somebody doubted a build that was not let go since.
    pub(crate) fn is_suspect(&self) -> bool {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).suspect
    }

    /// Notes that the doubted build was let go.
    pub(crate) fn clear_suspect(&self) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).suspect = false;
    }

    /// Returns `true` if it does not go on.
    pub(crate) fn has_stopped(&self) -> bool {
        *self.position.borrow() == STOPPED
    }

    pub(crate) fn count_integrity_error(&self, integrity_error: &RowIntegrityError) {
        tracing::warn!(model = self.model.name(), %integrity_error, "rows of a read model are not believed; it is folded again");
        self.doubts.fetch_add(1, Ordering::Relaxed);
    }

    fn rebuilding(&self) -> ModelError {
        ModelError::Rebuilding { model: self.model.name() }
    }

    /// Returns `true` if this is the build that is asked.
    pub(crate) fn is_live(&self, build: &Arc<Build>) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.build.as_ref().is_some_and(|live| Arc::ptr_eq(live, build))
    }

    /// Readers are answered from this build, which has every event up to `position`.
    pub(crate) fn show(&self, build: &Arc<Build>, position: Position, stored: Option<ModelCursor>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.build = Some(Arc::clone(build));
        shown.state = ModelState::Ok;
        shown.under_way = None;
        shown.suspect = false;
        shown.stored = stored.or(shown.stored);
        self.position.send_replace(position.get());
    }

    /// The build that readers are answered from has every event up to `position`; of another one nothing is said.
    pub(crate) fn show_further(&self, build: &Arc<Build>, position: Position, stored: Option<ModelCursor>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.build.as_ref().is_some_and(|live| Arc::ptr_eq(live, build)) {
            shown.state = ModelState::Ok;
            shown.stored = stored.or(shown.stored);
            self.position.send_replace(position.get());
        }
    }

    /// Rows of the build that readers are answered from have left.
    pub(super) fn note_cut(&self, build: &Arc<Build>, stored: ModelCursor) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.build.as_ref().is_some_and(|live| Arc::ptr_eq(live, build)) {
            shown.stored = Some(stored);
        }
    }

    /// A fold that nobody is answered from has come so far.
    pub(crate) fn set_under_way(&self, position: Position) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).under_way = Some(position);
    }

    /// Nobody is answered any more until something is shown again.
    pub(crate) fn hide(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.build = None;
        shown.stored = None;
        shown.state = ModelState::Rebuilding;
        self.position.send_replace(0);
    }

    /// It does not go on past what it cannot take in.
    pub(crate) fn stop(&self, why: String) {
        self.stop_shown(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner), why);
    }

    fn stop_shown(&self, shown: &mut PublishedState, why: String) {
        tracing::error!(model = self.model.name(), why, "a read model has stopped");
        shown.build = None;
        shown.state = ModelState::Stopped(why);
        self.position.send_replace(STOPPED);
    }

    /// Sets the current failure, or notes that there is none any more.
    pub(crate) fn set_failure(&self, failure: Option<&str>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match (&shown.state, failure) {
            (ModelState::Stopped(_), _) => {}
            (_, Some(why)) => shown.state = ModelState::Degraded(why.to_owned()),
            (ModelState::Degraded(_), None) if shown.build.is_some() => shown.state = ModelState::Ok,
            (ModelState::Degraded(_), None) => shown.state = ModelState::Rebuilding,
            _ => {}
        }
    }

    /// Notes that content of events expired at this position. The model is folded again, unless its build began later.
    pub(crate) fn expire(&self, position: Position) {
        self.expired_at.fetch_max(position.get(), Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Returns the position at which content expired last; 0 for none.
    pub(crate) fn expired_at(&self) -> u64 {
        self.expired_at.load(Ordering::SeqCst)
    }

    /// Returns `true` if this build may hold rows of content that expired: it began before the log went on behind the record of that.
    pub(crate) fn is_outdated(&self, build: &Build) -> bool {
        let expired_at = self.expired_at();
        expired_at > 0 && build.began_at() <= expired_at
    }

    /// Has it folded again beside what is asked.
    pub(crate) fn ask_again(&self) {
        self.asked_again.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Has the folding thread look for news at once.
    pub(crate) fn hurry(&self) {
        self.wake.notify_one();
    }

    /// Returns `true` if an operator wants it folded again; each wish is returned once.
    pub(crate) fn take_asked_again(&self) -> bool {
        self.asked_again.swap(false, Ordering::SeqCst)
    }

    /// To wait for a position.
    pub(crate) fn watch_position(&self) -> watch::Receiver<u64> {
        self.position.subscribe()
    }

    pub(crate) fn status(&self, head: Position) -> ModelStatus {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let folded = Some(*self.position.borrow()).filter(|position| *position != STOPPED);
        let position = folded.and_then(Position::new).or(shown.under_way);
        let cut = shown.stored.map_or_else(CutState::default, |stored| stored.cut);
        ModelStatus {
            name: self.model.name(),
            version: self.model.version(),
            position,
            lag: head.get().saturating_sub(position.map_or(0, Position::get)),
            state: shown.state.clone(),
            answers: shown.build.is_some() && folded.is_some_and(|position| position > 0),
            digest: shown.stored.map(|stored| {
                let rows = stored.sum.rows().saturating_sub(stored.cut.left);
                (stored.position, rows, stored.sum.digest())
            }),
            cut: Position::new(cut.through),
            left: cut.left,
            is_cutting: cut.through > 0 && !cut.is_done,
            late: cut.late,
            bytes: shown.build.as_ref().map(|build| build.keyspace.disk_space()),
            doubts: self.doubts.load(Ordering::Relaxed),
        }
    }
}

//! Read models: answers to questions about histories, folded from the log by threads of their own.
//!
//! A model is one file (`projector/src/gaps.rs` is the smallest): the events that it folds, the rows it makes of them, and the questions
//! that they answer. The engine around it reads the log once for several models, and keeps rows and cursor together in one store. It
//! believes no row that does not open, does not come to its sum or is of another history, and folds such rows again.

#[cfg(test)]
mod builds_tests;
mod clean_close;
mod event_views;
mod fold;
mod lenient;
mod log;
mod manifests;
mod model;
mod model_tree;
mod postings;
mod published_model;
mod question;
mod rebuilds;
mod recall;
mod recall_slots;
#[cfg(test)]
mod recall_slots_tests;
#[cfg(test)]
mod recall_tests;
mod recalls;
mod row_bloom;
mod row_key;
mod rows;
mod status;
mod store;
mod store_owner;
#[cfg(test)]
mod tests;
mod view;
mod warm_cut;
#[cfg(test)]
mod warm_tests;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bitacora_formats::{Position, Secret};
use bitacora_ledger::{Environment, Ledger, ReadError, StoredEvent};
use tokio::sync::Notify;

use crate::limits::FOLD_THREADS;
pub(crate) use clean_close::remove_all;
pub(crate) use lenient::{LenientValue, count_or_zero, lenient};
use log::Log;
use published_model::PublishedModel;
use question::Question;

pub(crate) use event_views::{Artifact, ObservationView, OutcomeView, Tokens, ToolRequestView};
pub(crate) use log::{LogData, LogEvent};
pub(crate) use model::{AssuranceMarker, EVERY_KIND, FoldError, FoldEvent, Model};
pub use question::TieredAnswer;
pub use recall_slots::{RecallBounds, RecallRefusal, RecallSlots};
pub(crate) use row_key::RowKey;
pub(crate) use rows::{Live, Rows};
pub use status::{ModelError, ModelState, ModelStatus};
pub(crate) use view::View;

/// The folder of the store below that of all derived state.
const MODELS: &str = "models";

/// The read models of one ledger. The last handle that goes ends their threads.
pub struct ReadModels {
    inner: Arc<ReadModelsInner>,
    /// For answers that have more than the rows say.
    pub(crate) log: Log,
    owner: Arc<Owner>,
    /// The question that this handle is for; one that nobody reads, where it is for any.
    question: Arc<Question>,
}

/// The thread that owns the store.
struct Owner {
    inner: Arc<ReadModelsInner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

pub(crate) struct ReadModelsInner {
    ledger: Ledger,
    environment: Environment,
    /// The store's.
    folder: PathBuf,
    key: Secret,
    published: Vec<Arc<PublishedModel>>,
    /// Of each folding thread.
    wakes: Vec<Arc<Notify>>,
    ending: AtomicBool,
    /// The store has failed, and is opened again.
    failed: AtomicBool,
    /// The places of recalled builds, of all ledgers.
    recalls: Arc<RecallSlots>,
    paused: Mutex<()>,
    resumed: Condvar,
}

impl ReadModels {
    /// Takes up the models below the folder of derived state, and folds what became durable since: on threads of its own,
    /// while questions are answered.
    pub(crate) fn open(
        ledger: Ledger,
        environment: &Environment,
        projections: &Path,
        key: Secret,
        models: &[&'static dyn Model],
        recalls: Arc<RecallSlots>,
    ) -> Self {
        let question = Arc::<Question>::default();
        let log = Log::new(ledger.clone(), &question);
        let wakes: Vec<Arc<Notify>> = (0..FOLD_THREADS).map(|_| Arc::default()).collect();
        let published = models.iter().zip(wakes.iter().cycle());
        let published =
            published.map(|(model, wake)| Arc::new(PublishedModel::new(*model, Arc::clone(wake)))).collect();
        let inner = Arc::new(ReadModelsInner {
            ledger,
            environment: environment.clone(),
            folder: projections.join(MODELS),
            key,
            published,
            wakes,
            ending: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            recalls,
            paused: Mutex::new(()),
            resumed: Condvar::new(),
        });
        let owner_thread = match store_owner::start(&inner) {
            Ok(thread) => Some(thread),
            Err(error) => {
                for published in &inner.published {
                    published.stop(format!("its thread did not start: {error}"));
                }
                None
            }
        };
        let owner = Owner { inner: Arc::clone(&inner), thread: Mutex::new(owner_thread) };
        Self { inner, log, owner: Arc::new(owner), question }
    }

    /// Returns the status of each model, in the order of their names.
    #[must_use]
    pub fn status(&self) -> Vec<ModelStatus> {
        let head = self.inner.ledger.head().position;
        let mut status: Vec<_> =
            self.inner.published.iter().map(|published| published.status(head)).collect();
        status.sort_by_key(|status| status.name);
        status
    }

    /// Folds a model again beside the one that answers, which it then replaces; whether there is such a model.
    pub fn fold_again(&self, model: &str) -> bool {
        let published = self.inner.published(model);
        published.inspect(|published| published.ask_again()).is_some()
    }

    /// Folds all models again that may hold rows of content which expired at `position` or before. What answers goes on until the new rows
    /// have caught up, and then goes.
    pub fn expire(&self, position: Position) {
        self.log.forget();
        self.inner.published.iter().for_each(|published| published.expire(position));
    }

    /// Waits until a model answers and has every event up to `position`, or has stopped. Cancel-safe.
    pub async fn wait(&self, model: &str, position: Position) {
        let Some(published) = self.inner.published(model) else { return };
        let mut reached = published.watch_position();
        if *reached.borrow() < position.get() {
            // Somebody waits: news need not gather any longer.
            published.hurry();
        }
        // Ends with an error where nothing folds any more. One that has stopped is past every position.
        let _waited = reached.wait_for(|reached| *reached >= position.get()).await;
    }

    /// Returns the event at a position, for an answer that needs more of it than the rows say. Blocks on the disk, or on an archive.
    ///
    /// # Errors
    /// As [`Ledger::event`].
    pub fn event(&self, position: Position) -> Result<StoredEvent<'static>, ReadError> {
        self.log.event(position)
    }

    /// A moment of a model.
    pub(crate) fn view(&self, model: &str) -> Result<View, ModelError> {
        let published = self.inner.published(model);
        let unknown = Err(ModelError::Rebuilding { model: "an unknown model" });
        published.map_or(unknown, |published| View::new(published, &self.question))
    }

    /// Ends the threads, which store what they hold. Does nothing the second time.
    pub(crate) fn end(&self) {
        self.owner.end();
    }
}

impl Owner {
    fn end(&self) {
        self.inner.ending.store(true, Ordering::SeqCst);
        self.inner.wake_all();
        let owner_thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if owner_thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the read models did not end as it should");
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.end();
    }
}

impl ReadModelsInner {
    /// Returns `true` if the folding threads end: with the ledger, or because the store is opened again.
    fn is_ending(&self) -> bool {
        self.ends_for_good() || self.failed.load(Ordering::SeqCst)
    }

    /// Returns `true` if the ledger ends.
    fn ends_for_good(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    fn published(&self, model: &str) -> Option<&Arc<PublishedModel>> {
        self.published.iter().find(|published| published.model.name() == model)
    }

    /// Has a model folded from the first event, for questions about rows that left.
    fn ask_recall(&self, model: &str) {
        if let Some(published) = self.published(model) {
            published.recall.ask();
            published.hurry();
        }
    }

    /// Ends this session of the store.
    fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        for wake in &self.wakes {
            wake.notify_one();
        }
        let _held = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        self.resumed.notify_all();
    }

    /// Rests before the store is opened again, unless the end comes.
    fn pause(&self, time: Duration) {
        self.failed.store(false, Ordering::SeqCst);
        let held = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        let _rested = self.resumed.wait_timeout_while(held, time, |()| !self.ending.load(Ordering::SeqCst));
    }
}

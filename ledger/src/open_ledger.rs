//! An open ledger: its threads and its lock, ended in order at the close.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::disk::FolderLock;
use crate::head_signer::{self, HeadSignerStart};
use crate::shared::SharedState;
use crate::threads::named;
use crate::witness::handle::WitnessPublisherStart;
use crate::witness_publisher::{self, WitnessPublisher};
use crate::writer_state::WriterState;

/// The reasons for which a ledger did not end cleanly. Acknowledged events are durable, unless the reason says that the disk lied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloseError {
    /// The writer had stopped before.
    #[error("the writer had stopped after a failed write ({0})")]
    Poisoned(String),
}

/// A ledger that stands: its shared state, its threads and its lock.
pub(crate) struct OpenLedger {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Ends before the others: its last head needs them.
    notary: Mutex<Option<JoinHandle<()>>>,
    /// Ends after the notary, and brings that head to the witnesses.
    courier: Mutex<Option<JoinHandle<()>>>,
    pub(crate) lock: Mutex<Option<Box<dyn FolderLock>>>,
}

impl OpenLedger {
    pub(crate) fn without_threads(shared: Arc<SharedState>) -> Self {
        Self {
            shared,
            threads: Mutex::default(),
            notary: Mutex::default(),
            courier: Mutex::default(),
            lock: Mutex::default(),
        }
    }

    /// Nobody else writes to the ledger until this ends.
    pub(crate) fn keep_locked(&self, lock: Box<dyn FolderLock>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
    }

    pub(crate) fn start_notary(&self, start: HeadSignerStart) -> io::Result<()> {
        head_signer::begin(&self.shared, &start);
        let shared = Arc::clone(&self.shared);
        let thread = named("notary").spawn(move || head_signer::run(&shared, start))?;
        *self.notary.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    pub(crate) fn start_courier(&self, start: WitnessPublisherStart) -> io::Result<()> {
        let round = WitnessPublisher::begin(&self.shared, start);
        let shared = Arc::clone(&self.shared);
        let thread = named("courier").spawn(move || witness_publisher::run(&shared, round))?;
        *self.courier.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Ends the threads in order, the head signer first, and lets the folder go. Does nothing the second time.
    pub(crate) fn close(&self) -> Result<(), CloseError> {
        let before = self.shared.writer();
        if matches!(before, WriterState::Ready | WriterState::ReadOnly(_)) {
            self.shared.set_writer(WriterState::Closing);
        }
        self.shared.notary.close();
        let notary = self.notary.lock().unwrap_or_else(PoisonError::into_inner).take();
        if notary.is_some_and(|notary| notary.join().is_err()) {
            tracing::error!(
                "the thread that signs tree heads panicked; what was appended is durable all the same"
            );
        }
        self.shared.courier.close();
        let courier = self.courier.lock().unwrap_or_else(PoisonError::into_inner).take();
        if courier.is_some_and(|courier| courier.join().is_err()) {
            tracing::error!(
                "the thread that brings tree heads to witnesses panicked; nothing appended is concerned"
            );
        }
        self.shared.inbox.close();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                self.shared.poison("a thread of the ledger panicked".to_owned());
            }
        }
        let last = self.shared.writer();
        self.shared.set_writer(WriterState::Closed);
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        match last {
            WriterState::Poisoned(what) => Err(CloseError::Poisoned(what)),
            _ => Ok(()),
        }
    }
}

impl Drop for OpenLedger {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the ledger did not end cleanly");
        }
    }
}

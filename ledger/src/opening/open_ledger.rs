//! An open ledger: its threads and its lock, ended in order at the close.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::erasure::recall;
use crate::heads::witness::handle::WitnessPublisherStart;
use crate::host::disk::FolderLock;
use crate::host::lock_order::OrderedMutex;
use crate::host::threads::LedgerThread;
use crate::shared_state::SharedState;
use crate::signing::head_signer::{self, HeadSignerStart};
use crate::signing::witness_publisher::{self, WitnessPublisher};
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
    pub(crate) threads: OrderedMutex<Vec<JoinHandle<()>>>,
    /// Ends before the others: its last head needs them.
    head_signer: OrderedMutex<Option<JoinHandle<()>>>,
    /// Ends after the head signer, and brings that head to the witnesses.
    witness_publisher: OrderedMutex<Option<JoinHandle<()>>>,
    pub(crate) lock: OrderedMutex<Option<Box<dyn FolderLock>>>,
}

impl OpenLedger {
    pub(crate) fn without_threads(shared: Arc<SharedState>) -> Self {
        Self {
            shared,
            threads: OrderedMutex::default(),
            head_signer: OrderedMutex::default(),
            witness_publisher: OrderedMutex::default(),
            lock: OrderedMutex::default(),
        }
    }

    /// Nobody else writes to the ledger until this ends.
    pub(crate) fn keep_locked(&self, lock: Box<dyn FolderLock>) {
        *self.lock.lock() = Some(lock);
    }

    pub(crate) fn start_head_signer(&self, start: HeadSignerStart) -> io::Result<()> {
        head_signer::begin(&self.shared, &start);
        let shared = Arc::clone(&self.shared);
        let thread = LedgerThread::HeadSigner.builder().spawn(move || head_signer::run(&shared, start))?;
        *self.head_signer.lock() = Some(thread);
        Ok(())
    }

    pub(crate) fn start_witness_publisher(&self, start: WitnessPublisherStart) -> io::Result<()> {
        let publisher = WitnessPublisher::begin(&self.shared, start);
        let shared = Arc::clone(&self.shared);
        let thread = LedgerThread::WitnessPublisher
            .builder()
            .spawn(move || witness_publisher::run(&shared, publisher))?;
        *self.witness_publisher.lock() = Some(thread);
        Ok(())
    }

    /// Ends the threads in order, the head signer first, and lets the folder go. Does nothing the second time.
    pub(crate) fn close(&self) -> Result<(), CloseError> {
        let before = self.shared.write.writer();
        if matches!(before, WriterState::Ready | WriterState::ReadOnly(_)) {
            self.shared.write.set_writer(WriterState::Closing);
        }
        self.shared.heads.signer.close();
        let head_signer = self.head_signer.lock().take();
        if head_signer.is_some_and(|head_signer| head_signer.join().is_err()) {
            tracing::error!(
                "the thread that signs tree heads panicked; what was appended is durable all the same"
            );
        }
        self.shared.heads.witnesses.close();
        let witness_publisher = self.witness_publisher.lock().take();
        if witness_publisher.is_some_and(|witness_publisher| witness_publisher.join().is_err()) {
            tracing::error!(
                "the thread that brings tree heads to witnesses panicked; nothing appended is concerned"
            );
        }
        self.shared.write.inbox.close();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                self.shared.write.poison("a thread of the ledger panicked".to_owned());
            }
        }
        if before == WriterState::Ready {
            recall::note_close(&self.shared);
        }
        let last = self.shared.write.writer();
        self.shared.write.set_writer(WriterState::Closed);
        drop(self.lock.lock().take());
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

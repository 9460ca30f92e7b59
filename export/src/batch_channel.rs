//! The way from a reader of events to the thread that writes the file.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::export_file::{ExportError, ExportFile};
use crate::line_batch::{ContentFlags, LineBatch};

/// Batches between the reader and the writer.
const WAITING_BATCHES: usize = 2;

/// The thread that writes.
pub struct ExportWriter(JoinHandle<WrittenPart>);

/// A file as far as it was written, and the reason why it was written no further.
pub type WrittenPart = (ExportFile, Result<(), ExportError>);

/// The reader's end: it gathers events in batches.
pub struct BatchSender {
    sender: SyncSender<LineBatch>,
    batch: LineBatch,
    is_gone: bool,
    reached: u64,
    progress: Box<dyn Fn(u64)>,
}

impl ExportWriter {
    /// Starts the thread. `progress` hears of positions that were read, as their number.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(file: ExportFile, progress: Box<dyn Fn(u64)>) -> io::Result<(Self, BatchSender)> {
        let reached = file.reached();
        let (sender, batches) = sync_channel(WAITING_BATCHES);
        let writer = thread::Builder::new().name("export".to_owned()).spawn(move || write(file, &batches))?;
        let batch = LineBatch::with_room();
        Ok((Self(writer), BatchSender { sender, batch, is_gone: false, reached, progress }))
    }

    /// Returns the file, once the sender is dropped and everything it sent is written.
    ///
    /// # Errors
    /// The thread ended early.
    pub fn join(self) -> Result<WrittenPart, ExportError> {
        self.0.join().map_err(|_| ExportError::Writer)
    }
}

/// Writes batches until the reader has no more.
fn write(mut file: ExportFile, batches: &Receiver<LineBatch>) -> WrittenPart {
    for batch in batches {
        if let Err(error) = file.take(&batch) {
            return (file, Err(error));
        }
    }
    (file, Ok(()))
}

impl BatchSender {
    /// Adds an event whose line `write` appends, and hands on a full batch.
    pub fn push(&mut self, position: u64, flags: ContentFlags, write: impl FnOnce(&mut Vec<u8>)) {
        self.batch.push_with(position, flags, write);
        if self.batch.is_full() {
            self.hand_on();
        }
    }

    /// Returns `true` once the writer takes nothing more. It tells why when it is joined.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    fn hand_on(&mut self) {
        let Some(last) = self.batch.last_position() else { return };
        let batch = std::mem::replace(&mut self.batch, LineBatch::with_room());
        self.is_gone |= self.sender.send(batch).is_err();
        (self.progress)(last.saturating_sub(self.reached));
        self.reached = last;
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        // What was read before an interruption is written too.
        self.hand_on();
    }
}

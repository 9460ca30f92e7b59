//! The way from a reader of events to the file: threads that encode batches, and one that writes them in their order.

use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::encoders::EncodeError;
use crate::export_file::{ExportError, ExportFile};
use crate::line_batch::{ContentFlags, LineBatch};
use crate::row_encoder::{EncodedBatch, RowEncoder};

/// Batches that wait before each thread.
const WAITING_BATCHES: usize = 1;
/// Threads that encode, at most. One writes what four encode.
const MAX_ENCODERS: usize = 4;

/// The threads that encode and the one that writes.
pub struct ExportWriter {
    encoders: Vec<JoinHandle<()>>,
    writer: JoinHandle<WrittenPart>,
}

/// A file as far as it was written, and the reason why it was written no further.
pub type WrittenPart = (ExportFile, Result<(), ExportError>);

/// The reader's end: it gathers events in batches, and hands them to one encoder after the other.
pub struct BatchSender {
    encoders: Vec<SyncSender<LineBatch>>,
    /// The number of batches that were handed on.
    handed_on: usize,
    batch: LineBatch,
    is_gone: bool,
    reached: u64,
    progress: Box<dyn Fn(u64)>,
}

impl ExportWriter {
    /// Starts the threads. `progress` hears of positions that were read, as their number.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(file: ExportFile, progress: Box<dyn Fn(u64)>) -> io::Result<(Self, BatchSender)> {
        let (reached, encoder) = (file.reached(), file.row_encoder());
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let number = if encoder.is_copy() { 1 } else { cores.min(MAX_ENCODERS) };
        let (mut senders, mut encoders, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..number {
            let (sender, batches) = sync_channel(WAITING_BATCHES);
            let (done, of_encoder) = sync_channel(WAITING_BATCHES);
            let encoder = encoder.clone();
            let thread = thread::Builder::new().name("encode".to_owned());
            encoders.push(thread.spawn(move || encode(&encoder, &batches, &done))?);
            senders.push(sender);
            encoded.push(of_encoder);
        }
        let thread = thread::Builder::new().name("export".to_owned());
        let writer = thread.spawn(move || write(file, &encoded))?;
        let batch = LineBatch::with_room();
        let sender =
            BatchSender { encoders: senders, handed_on: 0, batch, is_gone: false, reached, progress };
        Ok((Self { encoders, writer }, sender))
    }

    /// Returns the file, once the sender is dropped and everything it sent is written.
    ///
    /// # Errors
    /// A thread ended early.
    pub fn join(self) -> Result<WrittenPart, ExportError> {
        let written = self.writer.join().map_err(|_| ExportError::Writer)?;
        // To the writer an encoder that ended early looks like one that has no more.
        for encoder in self.encoders {
            encoder.join().map_err(|_| ExportError::Writer)?;
        }
        Ok(written)
    }
}

/// Encodes batches until the reader has no more, or nobody takes them.
fn encode(
    encoder: &RowEncoder,
    batches: &Receiver<LineBatch>,
    done: &SyncSender<Result<EncodedBatch, EncodeError>>,
) {
    for batch in batches {
        if done.send(encoder.encode(batch)).is_err() {
            return;
        }
    }
}

/// Writes batches, from one encoder after the other, until the next one has no more.
fn write(mut file: ExportFile, encoded: &[Receiver<Result<EncodedBatch, EncodeError>>]) -> WrittenPart {
    for of_encoder in encoded.iter().cycle() {
        let Ok(batch) = of_encoder.recv() else { break };
        if let Err(error) = batch.map_err(ExportError::from).and_then(|batch| file.append(batch)) {
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
        let encoder = self.encoders.get(self.handed_on % self.encoders.len().max(1));
        self.handed_on += 1;
        self.is_gone |= encoder.is_none_or(|encoder| encoder.send(batch).is_err());
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bitacora_vocabulary::ExportFormat;

    use super::*;
    use crate::export_plan::{ExportPlan, HeadMark};
    use crate::row_filter::RowFilter;

    /// Many times as many as one thread gets at once.
    const EVENTS: u64 = 6_000;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Line sizes differ, so that one encoder is done sooner than the next.
    fn line(position: u64) -> String {
        let padding = "x".repeat(if position.is_multiple_of(7) { 4_000 } else { 10 });
        format!(
            r#"{{"position":"{position}","streamVersion":"1","recordedAt":"2026-11-20T13:00:00.000000Z","commitment":"47","event":{{"specversion":"1.0","id":"e{position}","source":"s","type":"x.y","subject":"s","data":"{padding}"}}}}"#
        ) + "\n"
    }

    fn stream(format: ExportFormat, to: &Sink) -> ExportFile {
        let plan = ExportPlan {
            format,
            ledger: "07".repeat(16),
            name: "main".to_owned(),
            selection: String::new(),
            head: HeadMark { position: EVENTS.to_string(), hash: "ab".repeat(32) },
            began: "2026-11-20T13:00:00.000000Z".to_owned(),
            is_recorded: false,
        };
        ExportFile::stream(plan, RowFilter::default(), Box::new(to.clone()), 0).unwrap()
    }

    /// Sends events until the writer takes no more; the one at `damaged` is none.
    fn exported(format: ExportFormat, damaged: u64) -> (Vec<u8>, WrittenPart) {
        let sink = Sink::default();
        let (writer, mut sender) = ExportWriter::start(stream(format, &sink), Box::new(|_| ())).unwrap();
        for position in 1..=EVENTS {
            let text = if position == damaged { "{}\n".to_owned() } else { line(position) };
            sender.push(position, ContentFlags::default(), |out| out.extend_from_slice(text.as_bytes()));
        }
        drop(sender);
        let (mut file, written) = writer.join().unwrap();
        file.checkpoint().unwrap();
        (std::mem::take(&mut *sink.0.lock().unwrap()), (file, written))
    }

    #[test]
    fn batches_of_several_encoders_are_written_in_their_order() {
        for format in [ExportFormat::Jsonl, ExportFormat::Cloudevents, ExportFormat::Csv, ExportFormat::Ocsf]
        {
            let alone = Sink::default();
            let mut file = stream(format, &alone);
            for position in 1..=EVENTS {
                let mut batch = LineBatch::default();
                batch.push_with(position, ContentFlags::default(), |out| {
                    out.extend_from_slice(line(position).as_bytes());
                });
                file.take(batch).unwrap();
            }
            file.checkpoint().unwrap();
            let (bytes, (file, written)) = exported(format, 0);
            written.unwrap();
            assert_eq!(file.reached(), EVENTS, "{format:?}");
            assert!(bytes == *alone.0.lock().unwrap(), "{format:?}: {} bytes", bytes.len());
        }
    }

    #[test]
    fn nothing_behind_a_batch_that_is_not_encoded_is_written() {
        let (bytes, (file, written)) = exported(ExportFormat::Csv, 3_000);
        let error = written.unwrap_err().to_string();
        assert!(error.contains("position 3000"), "{error}");
        assert!(file.reached() < 3_000, "{}", file.reached());
        let rows = bytes.split(|byte| *byte == b'\n').count() as u64;
        assert_eq!(rows, file.reached() + 2, "the names, the rows, and what is behind the last line");
    }
}

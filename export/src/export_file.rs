//! The writer of an export: rows in, a file or a stream out.

use std::fs::File;
use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::encoders::{EncodeError, Encoder};
use crate::export_plan::ExportPlan;
use crate::line_batch::LineBatch;
use crate::manifest::{DeclaredLossMark, ExportManifest};
use crate::part_file::{self, ExportNames, PartError, Progress};
use crate::row_encoder::{EncodedBatch, RowEncoder};
use crate::row_filter::RowFilter;
use crate::row_tally::RowTally;

/// Bytes of the file after which its progress is made durable.
const CHECKPOINT_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that are written at once.
const WRITE_BYTES: usize = 1024 * 1024;
/// The name of a stream in its manifest.
const STREAM_NAME: &str = "-";

/// The reason why an export does not go on.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A row was not encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A file was not written.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The stream was not written.
    #[error("stdout: {0}; the export is not complete")]
    Stream(io::Error),
    /// The thread that writes ended early.
    #[error("the writing thread ended early; --resume goes on")]
    Writer,
}

impl ExportError {
    /// Returns `true` if the reader of a stream is gone.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The target of the bytes.
enum Sink {
    Part { file: File, names: ExportNames },
    Stream(Box<dyn Write + Send>),
}

/// An export under way.
pub struct ExportFile {
    plan: ExportPlan,
    filter: RowFilter,
    encoder: Encoder,
    sink: Sink,
    hash: Sha256,
    /// Bytes that were handed to the sink.
    bytes: u64,
    /// Bytes at the last checkpoint.
    durable: u64,
    unwritten: Vec<u8>,
    tally: RowTally,
}

/// An export whose file is whole, and has its name as soon as it is published.
pub struct FinishedFile {
    names: Option<ExportNames>,
    /// The part, which stays locked until it has its name.
    _lock: Option<File>,
    /// The plan.
    pub plan: ExportPlan,
    /// The counts.
    pub tally: RowTally,
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of the manifest, in hexadecimal. That of a stream is written nowhere.
    pub manifest_sha256: String,
}

impl ExportFile {
    /// Begins a file. `after` is the position behind which it begins.
    ///
    /// # Errors
    /// A name is taken, or the disk fails. Nothing is left of it then.
    pub fn create(
        plan: ExportPlan,
        filter: RowFilter,
        names: &ExportNames,
        after: u64,
    ) -> Result<Self, ExportError> {
        names.check(false)?;
        let file = part_file::create(names)?;
        let sink = Sink::Part { file, names: names.clone() };
        let begun = Self::begin(plan, filter, sink, after).and_then(|mut export| {
            export.checkpoint()?;
            Ok(export)
        });
        begun.map_err(|error| {
            // Without its progress nothing could go on from it.
            part_file::discard(names);
            match error {
                ExportError::Part(PartError::Disk { path, source }) => {
                    PartError::Begin { path, source }.into()
                }
                error => error,
            }
        })
    }

    /// Begins a stream.
    ///
    /// # Errors
    /// The format refuses.
    pub fn stream(
        plan: ExportPlan,
        filter: RowFilter,
        to: Box<dyn Write + Send>,
        after: u64,
    ) -> Result<Self, ExportError> {
        Self::begin(plan, filter, Sink::Stream(to), after)
    }

    /// Returns the plan of the interrupted export.
    ///
    /// # Errors
    /// There is none.
    pub fn interrupted_plan(names: &ExportNames) -> Result<ExportPlan, ExportError> {
        names.check(true)?;
        Ok(Progress::load(names)?.plan)
    }

    /// Goes on with an interrupted export of the same selection. It ends at the head that the interrupted one was to end at. `after` is
    /// the position behind which it began.
    ///
    /// # Errors
    /// There is none, it is another one, its part or progress was changed, or another program writes it.
    pub fn resume(
        plan: &ExportPlan,
        filter: RowFilter,
        names: ExportNames,
        after: u64,
    ) -> Result<Self, ExportError> {
        names.check(true)?;
        // The progress is read under the lock: before it another export may write both.
        let mut file = part_file::open(&names)?;
        let progress = Progress::load(&names)?;
        if let Some(member) = progress.plan.difference(plan) {
            return Err(PartError::Other { path: names.part, member }.into());
        }
        progress.check(&names, (plan, after))?;
        let hash = part_file::cut(&mut file, &names, &progress)?;
        let Progress { plan, tally, bytes, footer, .. } = progress;
        let encoder = Encoder::new(plan.format, footer.as_deref()).map_err(EncodeError::from)?;
        let sink = Sink::Part { file, names };
        Ok(Self { plan, filter, encoder, sink, hash, bytes, durable: bytes, unwritten: Vec::new(), tally })
    }

    fn begin(plan: ExportPlan, filter: RowFilter, sink: Sink, after: u64) -> Result<Self, ExportError> {
        let encoder = Encoder::new(plan.format, None).map_err(EncodeError::from)?;
        let mut unwritten = Vec::with_capacity(2 * WRITE_BYTES);
        encoder.begin(&mut unwritten);
        let tally = RowTally { reached: after, ..RowTally::default() };
        Ok(Self { plan, filter, encoder, sink, hash: Sha256::new(), bytes: 0, durable: 0, unwritten, tally })
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &ExportPlan {
        &self.plan
    }

    /// Returns the last position that was looked at.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.tally.reached
    }

    /// Returns the encoder of its rows, for any number of threads.
    pub(crate) fn row_encoder(&self) -> RowEncoder {
        RowEncoder::new(self.plan.format, self.filter.clone())
    }

    /// Takes events in.
    ///
    /// # Errors
    /// A row cannot be encoded, or the disk or the pipe fails.
    pub fn take(&mut self, batch: LineBatch) -> Result<(), ExportError> {
        let encoded = self.row_encoder().encode(batch)?;
        self.append(encoded)
    }

    /// Takes the encoded rows of events in.
    pub(crate) fn append(&mut self, batch: EncodedBatch) -> Result<(), ExportError> {
        let EncodedBatch { rows, events } = batch;
        self.encoder.append(rows, (self.tally.rows, self.bytes), &mut self.unwritten)?;
        let is_dense = self.plan.selection.is_empty();
        events.iter().for_each(|event| self.tally.count(event, is_dense));
        if self.unwritten.len() >= WRITE_BYTES {
            self.write()?;
        }
        if self.bytes - self.durable >= CHECKPOINT_BYTES {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Makes everything so far durable, with the progress that `--resume` goes on from. A stream is only flushed.
    ///
    /// # Errors
    /// The disk or the pipe fails.
    pub fn checkpoint(&mut self) -> Result<(), ExportError> {
        self.encoder.settle(self.bytes, &mut self.unwritten)?;
        self.write()?;
        match &mut self.sink {
            Sink::Stream(to) => to.flush().map_err(ExportError::Stream),
            Sink::Part { file, names } => {
                file.sync_data().map_err(|source| PartError::disk(&names.part, source))?;
                let sha256 = hex::encode(self.hash.clone().finalize());
                let footer = self.encoder.footer()?;
                let progress = Progress::new((&self.plan, &self.tally), (self.bytes, sha256), footer);
                progress.store(names)?;
                self.durable = self.bytes;
                Ok(())
            }
        }
    }

    /// Ends the file, and writes its manifest beside it. The part keeps its name until [`FinishedFile::publish`].
    ///
    /// # Errors
    /// The disk or the pipe fails; the part can be gone on with.
    pub fn finish(mut self, losses: Vec<DeclaredLossMark>) -> Result<FinishedFile, ExportError> {
        self.checkpoint()?;
        self.encoder.end(self.tally.rows, &mut self.unwritten)?;
        self.write()?;
        let sha256 = hex::encode(self.hash.finalize());
        let size = (self.bytes, sha256.as_str());
        let (names, lock, manifest) = match self.sink {
            Sink::Stream(mut to) => {
                to.flush().map_err(ExportError::Stream)?;
                let manifest =
                    ExportManifest::new(&self.plan, STREAM_NAME, &self.tally, size, losses).to_bytes();
                (None, None, manifest)
            }
            Sink::Part { file, names } => {
                file.sync_all().map_err(|source| PartError::disk(&names.part, source))?;
                let name = names.file.file_name().unwrap_or_default().to_string_lossy();
                let manifest = ExportManifest::new(&self.plan, &name, &self.tally, size, losses).to_bytes();
                part_file::replace(&names.manifest, &manifest)?;
                (Some(names), Some(file), manifest)
            }
        };
        let manifest_sha256 = hex::encode(Sha256::digest(&manifest));
        Ok(FinishedFile {
            names,
            _lock: lock,
            plan: self.plan,
            tally: self.tally,
            bytes: self.bytes,
            sha256,
            manifest_sha256,
        })
    }

    fn write(&mut self) -> Result<(), ExportError> {
        match &mut self.sink {
            Sink::Stream(to) => to.write_all(&self.unwritten).map_err(ExportError::Stream)?,
            Sink::Part { file, names } => {
                file.write_all(&self.unwritten).map_err(|source| PartError::disk(&names.part, source))?;
            }
        }
        self.hash.update(&self.unwritten);
        self.bytes += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }
}

impl FinishedFile {
    /// Writes the ledger's receipt of the export beside the file.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write_receipt(&self, receipt: &[u8]) -> Result<(), ExportError> {
        let Some(names) = &self.names else { return Ok(()) };
        Ok(part_file::replace(&names.receipt, receipt)?)
    }

    /// Gives the file its name. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// The disk fails, or a file of that name came to be meanwhile.
    pub fn publish(&self) -> Result<(), ExportError> {
        Ok(self.names.as_ref().map_or(Ok(()), part_file::publish)?)
    }
}

#[cfg(test)]
mod tests;

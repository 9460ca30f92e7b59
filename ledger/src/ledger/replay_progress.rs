//! The progress of a caller's replay, in a sealed file that spares the next replay that much folding.
//! Layout: that of a state snapshot, `docs/formats/state_snapshot.md`.

use std::io;
use std::path::Path;

use bitacora_formats::{
    ChainHash, Compressor, Decompressor, MAX_STATE_SNAPSHOT_BYTES, MIN_COMPRESSION_LEVEL, Position,
    StateSnapshotHeader, open_state, seal_state,
};

use crate::host::disk::OpenMode;
use crate::host::index_folder::UNFINISHED;
use crate::host::replacement::replace;
use crate::ledger::Ledger;
use crate::read::log_reader::LogReader;
use crate::read::proofs::root_after;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;

/// The progress of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayProgress {
    /// The last event that is folded in the state.
    pub position: Position,
    /// The state, as its reactor wrote it.
    pub state: Vec<u8>,
}

/// The reasons for which a replay cannot be kept, or continued.
#[derive(Debug, thiserror::Error)]
pub enum ReplayProgressError {
    /// The log could not be read.
    #[error(transparent)]
    Ledger(#[from] ReadError),
    /// The file could not be read or written.
    #[error("{file}: {source}; give it another name, or leave it out")]
    Disk {
        /// The path of the file.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not what this ledger's replay wrote, by these rules.
    #[error("{file}: {why}; remove it, and everything is folded from the first event on")]
    Unfit {
        /// The path of the file.
        file: String,
        /// The fault in the file.
        why: String,
    },
    /// The state stands within a frame.
    #[error("position {0} is not the last one of its frame; nothing can be kept there")]
    WithinFrame(Position),
}

impl Ledger {
    /// Keeps what a replay by a reactor of this version folded up to the end of a frame. Returned `Ok` ⇒ durable under its name; a file
    /// that was there is replaced whole or not at all.
    ///
    /// # Errors
    /// [`ReplayProgressError`].
    pub fn save_replay(
        &self,
        file: &Path,
        reactor: u32,
        position: Position,
        state: &[u8],
    ) -> Result<(), ReplayProgressError> {
        let shared = self.shared();
        let header = header_after(shared, reactor, position, state.len() as u64)?;
        let unfit = |error: &dyn std::fmt::Display| unfit(file, error);
        let mut compressor = Compressor::new(MIN_COMPRESSION_LEVEL).map_err(|error| unfit(&error))?;
        let key = shared.write.preparer.keys().index_key();
        let bytes = seal_state(key, &header, state, &mut compressor).map_err(|error| unfit(&error))?;
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        replace(&*shared.anywhere, folder, name, UNFINISHED, |file| file.write_all_at(&bytes, 0))
            .map_err(|source| disk_error(file, source))
    }

    /// Returns the replay kept in this file; `None` if there is no file.
    ///
    /// # Errors
    /// [`ReplayProgressError`]: on any doubt nothing of it is given out.
    pub fn saved_replay(
        &self,
        file: &Path,
        reactor: u32,
    ) -> Result<Option<ReplayProgress>, ReplayProgressError> {
        let shared = self.shared();
        let opened = match shared.anywhere.open(file, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|source| disk_error(file, source))?,
        };
        let length = opened.len().map_err(|source| disk_error(file, source))?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_STATE_SNAPSHOT_BYTES {
            return Err(unfit(file, &"it is larger than any kept state"));
        }
        let mut bytes = vec![0; length];
        opened.read_exact_at(&mut bytes, 0).map_err(|source| disk_error(file, source))?;
        let mut decompressor = Decompressor::new().map_err(|error| unfit(file, &error))?;
        let key = shared.write.preparer.keys().index_key();
        let (header, state) =
            open_state(key, &bytes, &mut decompressor).map_err(|error| unfit(file, &error))?;
        let position = header.position;
        if position > self.head().position {
            return Err(unfit(
                file,
                &format_args!("it stands at position {position}, behind the end of the log"),
            ));
        }
        if header != header_after(self.shared(), reactor, position, header.state_bytes)? {
            return Err(unfit(file, &"it is of another log or by other rules"));
        }
        Ok(Some(ReplayProgress { position, state }))
    }

    /// Takes away what was kept.
    ///
    /// # Errors
    /// [`ReplayProgressError::Disk`].
    pub fn remove_replay(&self, file: &Path) -> Result<(), ReplayProgressError> {
        match self.shared().anywhere.remove_file(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|source| disk_error(file, source)),
        }
    }
}

/// Returns the header of a state after the frame that ends at `position`. In the place of the chain hash at a segment's end stands the root
/// of the tree after the frame: it covers every event up to there, and no snapshot of the service has it.
fn header_after(
    shared: &SharedState,
    reactor: u32,
    position: Position,
    state_bytes: u64,
) -> Result<StateSnapshotHeader, ReplayProgressError> {
    let mut reader = LogReader::new(shared);
    let frame = reader.frame_with(position)?;
    if frame.place.header.last_position() != position {
        return Err(ReplayProgressError::WithinFrame(position));
    }
    Ok(StateSnapshotHeader {
        reactor,
        ledger: shared.id,
        position,
        state_bytes,
        hash: ChainHash(root_after(reader.shared(), &frame)?.0),
        segment: frame.segment.number,
    })
}

fn disk_error(file: &Path, source: io::Error) -> ReplayProgressError {
    ReplayProgressError::Disk { file: file.display().to_string(), source }
}

fn unfit(file: &Path, why: &dyn std::fmt::Display) -> ReplayProgressError {
    ReplayProgressError::Unfit { file: file.display().to_string(), why: why.to_string() }
}

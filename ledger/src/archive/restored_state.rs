//! The state that a restoration carried along: where content that it rests on expired, a restored ledger cannot be folded from its first
//! event on. Layout: that of a state snapshot, `docs/formats/state_snapshot.md`.
//!
//! The root of the tree after the state's frame stands in the place of a chain hash. So the file fits the ledger whatever becomes of its
//! segments, and no other one.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use bitacora_formats::{
    ChainHash, Compressor, Decompressor, LedgerId, MAX_STATE_SNAPSHOT_BYTES, MIN_COMPRESSION_LEVEL, Position,
    Secret, SegmentNumber, StateSnapshotHeader, TreeHash, open_state, seal_state,
};

use crate::archive_tier::ArchivedReactorState;
use crate::host::disk::{Disk, OpenMode};
use crate::opening::creation::write_durably;
use crate::read::log_reader::LogReader;
use crate::read::proofs::root_after;
use crate::shared_state::SharedState;

/// The name of the file in the ledger's folder.
pub(crate) const RESTORED_STATE: &str = "restored-state.snp";

/// The place of a state in its log.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateMark {
    /// The root of the tree after the last event that is folded.
    pub(super) root: TreeHash,
    /// The segment that holds this event.
    pub(super) segment: SegmentNumber,
}

/// Writes the state into a new ledger's folder. Returned `Ok` ⇒ its bytes are durable.
pub(super) fn write(
    disk: &dyn Disk,
    folder: &Path,
    (ledger, key): (LedgerId, &Secret),
    state: &ArchivedReactorState,
    mark: StateMark,
) -> io::Result<()> {
    let header = StateSnapshotHeader {
        reactor: state.reactor,
        ledger,
        position: state.position,
        state_bytes: state.bytes.len() as u64,
        hash: ChainHash(mark.root.0),
        segment: mark.segment,
    };
    let mut compressor = Compressor::new(MIN_COMPRESSION_LEVEL).map_err(io::Error::other)?;
    let bytes = seal_state(key, &header, &state.bytes, &mut compressor).map_err(io::Error::other)?;
    write_durably(disk, &folder.join(RESTORED_STATE), &bytes)
}

/// Returns the state, if the ledger has one and it is of no event after `until`.
///
/// # Errors
/// The reason for which the file cannot be used, in words.
pub(crate) fn read(
    shared: &SharedState,
    until: Position,
    versions: &RangeInclusive<u32>,
) -> Result<Option<ArchivedReactorState>, String> {
    let Some(bytes) = load(shared).map_err(|error| error.to_string())? else { return Ok(None) };
    let header = StateSnapshotHeader::parse(&bytes).map_err(|error| error.to_string())?;
    if header.ledger != shared.id {
        return Err("it is of another ledger".to_owned());
    }
    if !versions.contains(&header.reactor) {
        let (oldest, newest, found) = (versions.start(), versions.end(), header.reactor);
        return Err(format!("found a state of version {found} of the rules, expected {oldest} to {newest}"));
    }
    if header.position > until {
        return Ok(None);
    }
    let mut decompressor = Decompressor::new().map_err(|error| error.to_string())?;
    let key = shared.write.preparer.keys().index_key();
    let (header, bytes) = open_state(key, &bytes, &mut decompressor).map_err(|error| error.to_string())?;
    let mut reader = LogReader::new(shared);
    let frame = reader.frame_with(header.position).map_err(|error| error.to_string())?;
    let root = root_after(reader.shared(), &frame).map_err(|error| error.to_string())?;
    if frame.place.header.last_position() != header.position || ChainHash(root.0) != header.hash {
        return Err("it is not of this log".to_owned());
    }
    Ok(Some(ArchivedReactorState { position: header.position, reactor: header.reactor, bytes }))
}

fn load(shared: &SharedState) -> io::Result<Option<Vec<u8>>> {
    let path = shared.folder.join(RESTORED_STATE);
    let file = match shared.environment.disk.open(&path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    if length > MAX_STATE_SNAPSHOT_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than any state"));
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

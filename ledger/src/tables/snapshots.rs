//! Snapshots of the state that decides, each as of a segment's end, in sealed files.
//! They spare an opening the folding of old events. Layout: `docs/formats/state_snapshot.md`.
//!
//! A snapshot is written only of a segment whose end is durable. It is used only if it authenticates for this ledger, the chain hash at
//! that segment's end and the reactor's version. On any doubt it is removed, and the events are folded.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{
    ChainHash, Compressor, Decompressor, LedgerId, MAX_STATE_SNAPSHOT_BYTES, MIN_COMPRESSION_LEVEL, Position,
    Secret, SegmentEnd, SegmentNumber, StateSnapshotHeader, open_state, seal_state,
};

use crate::host::disk::{Disk, FolderEntry, OpenMode};
use crate::host::index_folder::{UNFINISHED, make_folder};
use crate::host::replacement::replace;
use crate::limits::FILL_SLICE_BYTES;
use crate::tables::reactor_state::{ReactorProjection, SavedState};

/// A state as it stood at a segment's end, to be kept.
pub(crate) struct StateAtEnd {
    pub(crate) end: SegmentEnd,
    pub(crate) state: SavedState,
}

/// A snapshot that there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredSnapshot {
    /// The last event that is folded in it.
    pub(crate) position: Position,
    /// The size of its file.
    pub(crate) bytes: u64,
}

/// The snapshots of one ledger under one version of its reactor.
#[derive(Clone)]
pub(crate) struct Snapshots {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    index_key: Secret,
    ledger: LedgerId,
    reactor: u32,
}

impl Snapshots {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        index_key: Secret,
        ledger: LedgerId,
        reactor: u32,
    ) -> Self {
        Self { disk, folder, index_key, ledger, reactor }
    }

    /// Puts the newest snapshot that fits the log into `projection`, and removes all others.
    ///
    /// `end_of` gives the chain hash at the end of an ended segment, as the log has it now.
    pub(crate) fn restore(
        &self,
        projection: &mut ReactorProjection,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> Option<StoredSnapshot> {
        let mut restored = None;
        for segment in self.list().into_iter().rev() {
            if restored.is_none() {
                match self.put(segment, projection, &end_of) {
                    Ok(kept) => {
                        restored = Some(kept);
                        continue;
                    }
                    Err(error) => {
                        tracing::warn!(%error, segment = segment.0, "a state snapshot cannot be used; events are folded instead");
                    }
                }
            }
            self.remove(&file_name(segment));
        }
        restored
    }

    /// Puts the newest snapshot that fits the log into `projection`, and leaves all of them where they are: the last event that is
    /// folded in it.
    pub(crate) fn look_up(
        &self,
        projection: &mut ReactorProjection,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> Option<Position> {
        let entries = self.disk.list(&self.folder).unwrap_or_default();
        segments_of(&entries).into_iter().rev().find_map(|segment| {
            let kept = self.put(segment, projection, &end_of).inspect_err(|error| {
                tracing::debug!(%error, segment = segment.0, "a state snapshot cannot be used; events are folded instead");
            });
            kept.ok().map(|kept| kept.position)
        })
    }

    /// The snapshots that there are, the oldest first. A folder that cannot even be listed has none.
    fn list(&self) -> Vec<SegmentNumber> {
        let entries = self.disk.list(&self.folder).unwrap_or_default();
        let names = entries.iter().map(|entry| entry.name.as_str());
        names
            .filter(|name| name.strip_suffix(UNFINISHED).and_then(segment_of).is_some())
            .for_each(|name| self.remove(name));
        segments_of(&entries)
    }

    fn put(
        &self,
        segment: SegmentNumber,
        projection: &mut ReactorProjection,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> io::Result<StoredSnapshot> {
        let file = self.disk.open(&self.folder.join(file_name(segment)), OpenMode::Read)?;
        let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        if length > MAX_STATE_SNAPSHOT_BYTES {
            return Err(invalid("it is larger than any snapshot"));
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        // Before anything of it is opened: most that do not fit say so.
        self.refuse_other(&StateSnapshotHeader::parse(&bytes).map_err(invalid)?, segment, end_of)?;
        let mut decompressor = Decompressor::new().map_err(invalid)?;
        let (header, state) = open_state(&self.index_key, &bytes, &mut decompressor).map_err(invalid)?;
        projection.restore(header.position, &state).map_err(invalid)?;
        Ok(StoredSnapshot { position: header.position, bytes: bytes.len() as u64 })
    }

    fn refuse_other(
        &self,
        header: &StateSnapshotHeader,
        segment: SegmentNumber,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> io::Result<()> {
        if header.reactor != self.reactor {
            let what = format!("it is of reactor {}, which is {} now", header.reactor, self.reactor);
            return Err(invalid(what));
        }
        if header.segment != segment
            || header.ledger != self.ledger
            || Some(header.hash) != end_of(header.segment)
        {
            return Err(invalid("it is not of this log"));
        }
        Ok(())
    }

    /// Writes the state of a segment's end in the place of those before it. For the background thread.
    ///
    /// Returned `Ok` ⇒ durable under its name; else as [`replace`] says. `None` where the reactor keeps no snapshots.
    pub(crate) fn write(&self, at_end: &StateAtEnd) -> io::Result<Option<StoredSnapshot>> {
        let StateAtEnd { end, state } = at_end;
        let Some(state) = state.write()? else { return Ok(None) };
        let position =
            Position::new(end.next_position.get() - 1).ok_or_else(|| invalid("a segment without events"))?;
        let header = StateSnapshotHeader {
            reactor: self.reactor,
            ledger: self.ledger,
            position,
            state_bytes: state.len() as u64,
            hash: end.tip.hash,
            segment: end.number,
        };
        let mut compressor = Compressor::new(MIN_COMPRESSION_LEVEL).map_err(invalid)?;
        let bytes = seal_state(&self.index_key, &header, &state, &mut compressor).map_err(invalid)?;
        make_folder(&*self.disk, &self.folder)?;
        let older = self.list();
        replace(&*self.disk, &self.folder, &file_name(end.number), UNFINISHED, |file| {
            let mut offset = 0;
            for slice in bytes.chunks(FILL_SLICE_BYTES) {
                file.write_all_at(slice, offset)?;
                file.sync_data()?;
                offset += slice.len() as u64;
            }
            Ok(())
        })?;
        older
            .into_iter()
            .filter(|segment| *segment < end.number)
            .for_each(|segment| self.remove(&file_name(segment)));
        Ok(Some(StoredSnapshot { position, bytes: bytes.len() as u64 }))
    }

    /// Removes all snapshots: the log is not what it was, and the next opening has to fold all of it.
    pub(crate) fn remove_all(&self) {
        self.list().into_iter().for_each(|segment| self.remove(&file_name(segment)));
    }

    /// Removes a file, if it can: a file that stays does no harm, and the next search for the newest tries again.
    fn remove(&self, name: &str) {
        if let Err(error) = self.disk.remove_file(&self.folder.join(name)) {
            tracing::warn!(name, %error, "a file of the index could not be removed");
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The name of the snapshot at the end of this segment.
fn file_name(segment: SegmentNumber) -> String {
    format!("state-{:010}.snp", segment.0)
}

/// The segments with snapshots, in order.
fn segments_of(entries: &[FolderEntry]) -> Vec<SegmentNumber> {
    let mut segments: Vec<_> = entries.iter().filter_map(|entry| segment_of(&entry.name)).collect();
    segments.sort_unstable();
    segments
}

/// The segment of the snapshot with this name.
fn segment_of(name: &str) -> Option<SegmentNumber> {
    let segment = SegmentNumber(name.strip_prefix("state-")?.strip_suffix(".snp")?.parse().ok()?);
    (file_name(segment) == name).then_some(segment)
}

/// Returns `true` where a file's name is that of a snapshot.
pub(crate) fn is_snapshot(name: &str) -> bool {
    segment_of(name).is_some()
}

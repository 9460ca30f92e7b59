//! A ledger made again from its archives alone: what is left when its folder is gone, and the store and the keyring are not.

use std::path::Path;
use std::sync::Arc;

use bitacora_formats::archive::{ArchiveError, ArchiveRange, Manifest};
use bitacora_formats::{
    ColumnRow, Frontier, Generation, Keyring, LedgerId, LedgerKeys, Micros, Position, Rows, StreamVersion,
    TreeHash, decode_record, leaf_hash,
};
use bitacora_ledger::{ColdFrame, Environment, Restoration, RestoreError, SegmentStart};

use crate::archive_store::Objects;
use crate::error::{ArchiverError, StoredError};
use crate::frame_rows::{FrameRowsError, body_of};
use crate::pace::{Pace, Tally};
use crate::stored_archive::StoredArchive;
use crate::verification::Verification;

/// What was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Its events: those of every frame that the archives hold whole.
    pub events: u64,
    /// The root over them.
    pub root: TreeHash,
    /// How many archives it was made of.
    pub archives: usize,
    /// Archived events behind them, of a frame whose rest is not archived.
    pub left_out: u64,
}

/// Why no ledger was made. Nothing stands under its name then.
#[derive(Debug, thiserror::Error)]
pub enum RestoringError {
    /// The archives cannot be read.
    #[error(transparent)]
    Archives(#[from] ArchiverError),
    /// There are none of this ledger.
    #[error("{folder}: no archive that begins with the ledger's first event")]
    None {
        /// Where they would be.
        folder: String,
    },
    /// Their rows are no frames.
    #[error("the frame from position {first} on: {source}")]
    Frame {
        /// Its first position.
        first: Position,
        /// What is wrong.
        source: FrameRowsError,
    },
    /// The ledger could not be written.
    #[error(transparent)]
    Ledger(#[from] RestoreError),
}

impl From<StoredError> for RestoringError {
    fn from(error: StoredError) -> Self {
        Self::Archives(error.into())
    }
}

/// The ledgers that a store has archives of.
///
/// # Errors
/// What the store says.
pub fn archived_ledgers(objects: &dyn Objects) -> Result<Vec<LedgerId>, StoredError> {
    let listed = objects.list("")?;
    Ok(listed.folders.iter().filter_map(|folder| folder.parse().ok()).collect())
}

/// The archives of a ledger that a store has, from the ledger's first event on and joined to one another, as far as they go.
///
/// # Errors
/// [`StoredError`]: one of them is damaged, or does not go on from the one before it.
pub fn archives_of(
    objects: &Arc<dyn Objects>,
    ledger: LedgerId,
    keyring: &Keyring,
) -> Result<Vec<StoredArchive>, StoredError> {
    let mut found: Vec<(ArchiveRange, Generation)> = Vec::new();
    for folder in objects.list(&ledger.to_string())?.folders {
        let number = folder.strip_prefix('g').and_then(|number| number.parse().ok());
        let Some(generation) = number.map(Generation) else { continue };
        let listed = objects.list(&format!("{ledger}/{folder}"))?;
        let stems = listed.objects.iter().filter_map(|(name, _)| name.strip_suffix(".bca"));
        found.extend(stems.filter_map(ArchiveRange::of_file_stem).map(|range| (range, generation)));
    }
    // Of two that begin alike, the later generation's holds what the ledger went on with.
    found.sort_unstable_by_key(|(range, generation)| (range.first(), std::cmp::Reverse(*generation)));
    let mut archives: Vec<StoredArchive> = Vec::new();
    for (range, generation) in found {
        let before = archives.last().map(|archive| archive.outline().manifest().manifest());
        if range.tree_before() != before.map_or(0, |before| before.range.last().get()) {
            continue;
        }
        let name = range.object_name(ledger, generation);
        let archive = StoredArchive::open(objects, &name, Some(keyring.signing_chain()))?;
        let manifest = archive.outline().manifest().manifest();
        let (expected, found) =
            (format!("{ledger}, {range}"), format!("{}, {}", manifest.origin.ledger, manifest.range));
        if expected != found {
            return Err(archive.wrong(ArchiveError::Other { expected, found }));
        }
        if let Some(before) = before {
            manifest.follows(before).map_err(|error| archive.wrong(error))?;
        }
        archives.push(archive);
    }
    Ok(archives)
}

/// Makes a ledger again in `folder`, which must not exist, of all frames that the archives of the ledger hold whole. Every event is
/// checked against the signed manifests before the folder stands.
///
/// # Errors
/// [`RestoringError`].
pub fn restore(
    environment: &Environment,
    objects: &Arc<dyn Objects>,
    ledger: LedgerId,
    keyring: &Keyring,
    folder: &Path,
    tally: &Tally,
) -> Result<Restored, RestoringError> {
    let archives = archives_of(objects, ledger, keyring)?;
    let Some((first, last)) = archives.first().zip(archives.last()) else {
        return Err(RestoringError::None { folder: objects.shown(&ledger.to_string()) });
    };
    let manifest_of =
        |archive: &StoredArchive| -> Manifest { archive.outline().manifest().manifest().clone() };
    let (name, last) = (manifest_of(first).origin.name, manifest_of(last));
    let starts = archives.iter().flat_map(|archive| segment_starts(&manifest_of(archive))).collect();
    let restoration = Restoration::begin(environment, folder, (&name, ledger), keyring, starts)?;
    let mut frames = Frames {
        restoration,
        keys: LedgerKeys::new(keyring, ledger),
        end: last.chain_after.position,
        tree: Frontier::new(),
        first: Position::FIRST,
        rows: Vec::new(),
    };
    for archive in &archives {
        let verification = Verification::new(archive, Pace::Full { threads: 1 }, tally);
        verification.each_group(keyring, |position, rows| frames.take(position, rows))?;
    }
    frames.flush()?;
    let (events, root) = (frames.tree.size(), frames.tree.root());
    frames.restoration.finish(events, root)?;
    Ok(Restored { events, root, archives: archives.len(), left_out: last.range.last().get() - events })
}

fn segment_starts(manifest: &Manifest) -> Vec<SegmentStart> {
    let start = |link: &bitacora_formats::archive::SegmentLink| SegmentStart {
        number: link.number,
        generation: link.generation,
        epoch: link.epoch,
        first_position: link.first,
        previous: link.hash,
    };
    manifest.segments.iter().map(start).collect()
}

/// Joins rows to frames, whichever groups and archives they lie in.
struct Frames<'k> {
    restoration: Restoration<'k>,
    keys: LedgerKeys,
    /// Where the first frame begins that the archives do not hold whole.
    end: Position,
    /// Over the events that were joined.
    tree: Frontier,
    /// Of the frame that is being joined.
    first: Position,
    rows: Vec<OwnedRow>,
}

struct OwnedRow {
    time: Micros,
    begins_frame: bool,
    begins_request: bool,
    derived: bool,
    stream_version: StreamVersion,
    record: Vec<u8>,
    part: Option<Vec<u8>>,
}

impl Frames<'_> {
    fn take(&mut self, first: Position, rows: &Rows) -> Result<(), RestoringError> {
        for (position, row) in (first.get()..).zip(rows.iter()) {
            let Some(position) = Position::new(position).filter(|position| *position < self.end) else {
                break;
            };
            if row.begins_frame {
                self.flush()?;
                self.first = position;
            }
            self.grow(position, &row)?;
            self.rows.push(OwnedRow {
                time: row.time,
                begins_frame: row.begins_frame,
                begins_request: row.begins_request,
                derived: row.derived,
                stream_version: row.stream_version,
                record: row.record.to_vec(),
                part: row.part.map(<[u8]>::to_vec),
            });
        }
        Ok(())
    }

    fn grow(&mut self, position: Position, row: &ColumnRow<'_>) -> Result<(), RestoringError> {
        let record = decode_record(row.record);
        let record =
            record.map_err(|source| ArchiverError::Range(ArchiveError::Record { position, source }))?;
        let commitment = self.keys.commitment(&record.source, &record.id, row.record);
        self.tree.push(leaf_hash(position, row.time, &commitment));
        Ok(())
    }

    /// Writes the frame that was joined, if there is one.
    fn flush(&mut self) -> Result<(), RestoringError> {
        let rows: Vec<ColumnRow<'_>> = self.rows.iter().map(OwnedRow::as_row).collect();
        let Some(begin) = rows.first() else { return Ok(()) };
        let first_position = self.first;
        let body = body_of(&rows);
        let body = body.map_err(|source| RestoringError::Frame { first: first_position, source })?;
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        self.restoration.frame(&ColdFrame {
            first_position,
            count,
            time: begin.time,
            body: Arc::new(body),
        })?;
        self.rows.clear();
        Ok(())
    }
}

impl OwnedRow {
    fn as_row(&self) -> ColumnRow<'_> {
        ColumnRow {
            time: self.time,
            begins_frame: self.begins_frame,
            begins_request: self.begins_request,
            derived: self.derived,
            stream_version: self.stream_version,
            record: &self.record,
            part: self.part.as_deref(),
        }
    }
}

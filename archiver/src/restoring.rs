//! The restoration of a ledger from the store's archives and the keyring, after its folder is gone.

use std::path::Path;
use std::sync::Arc;

use bitacora_archive_format::{ArchiveError, ArchiveRange, ArchivedState, Manifest};
use bitacora_archive_format::{ColumnRow, Rows};
use bitacora_formats::{
    Frontier, Keyring, LedgerId, LedgerKeys, Micros, Position, StreamVersion, TreeHash, decode_record,
    leaf_hash,
};
use bitacora_ledger::{
    ArchivedFrame, ArchivedReactorState, Environment, KnownSegments, READABLE_STATES, Restoration,
    RestoreError, SegmentStart, state_rests_on,
};

use crate::archive_store::Objects;
use crate::error::{ArchiverError, StoredError};
use crate::expired_positions::ExpiredPositions;
use crate::expiry::expired_rows::without_content;
use crate::frame_rows::{FrameRowsError, body_of};
use crate::manifest_folder::ManifestFolder;
use crate::restore_plan::{RestorableArchives, RestoreScope, UnusedArchive};
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// The result of a restoration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// Its events: those of every frame that the archives hold whole.
    pub events: u64,
    /// The root over them.
    pub root: TreeHash,
    /// The number of archives that it was made of.
    pub archives: usize,
    /// Archived events behind them, of a frame whose rest is not archived.
    pub left_out: u64,
    /// The ledger's archives in the store that it was not made of.
    pub unused: Vec<UnusedArchive>,
}

/// The reasons for which no ledger was made. Nothing stands under its name then.
#[derive(Debug, thiserror::Error)]
pub enum RestoringError {
    /// The archives cannot be read.
    #[error(transparent)]
    Archives(#[from] ArchiverError),
    /// There are none of this ledger.
    #[error("{folder}: no archive that begins with the ledger's first event")]
    None {
        /// The folder in which they would be.
        folder: String,
    },
    /// There are archives behind positions that are in none.
    #[error(
        "{object} holds later events, but positions {first} to {last} are in no archive; bring the archives of these back, or restore as far as possible"
    )]
    Gap {
        /// The first position that is missing.
        first: u64,
        /// The last one.
        last: u64,
        /// The archive behind them.
        object: String,
    },
    /// An archive that would be needed cannot be used.
    #[error(
        "positions {range} need an archive that cannot be used: {source}; bring it back whole, or restore as far as possible"
    )]
    Unusable {
        /// The range that it holds.
        range: ArchiveRange,
        /// The fault of the archive.
        source: StoredError,
    },
    /// An archive holds later events than all that join, and joins none of them.
    #[error(
        "{object} holds positions {range}, and goes on from no archive that there is; those that join end at position {end}: bring the missing ones back, or restore as far as possible"
    )]
    Apart {
        /// The archive.
        object: String,
        /// The range that it holds.
        range: ArchiveRange,
        /// The last position of those that join, 0 for none.
        end: u64,
    },
    /// Content that the deciding state rests on expired in them, and none of them keeps a state behind it.
    #[error(
        "the content of the event at position {expired} expired, and the archives up to position {end} keep no readable state behind it; bring back the archive that does"
    )]
    NoState {
        /// The position of the last such event.
        expired: Position,
        /// The last event that would be restored.
        end: u64,
    },
    /// Their rows are no frames.
    #[error("the frame from position {first} on: {source}")]
    Frame {
        /// Its first position.
        first: Position,
        /// The fault of the frame's rows.
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

/// Returns how far the archives of a ledger reach, of those that are of the history whose segments are known. Their generation does not
/// matter. Outlines alone are read, so an archive may turn out to be damaged when it is restored.
///
/// # Errors
/// [`RestoringError`] where one of them cannot be used, or is missing.
pub fn archived_reach(
    objects: &Arc<dyn Objects>,
    ledger: LedgerId,
    keyring: &Keyring,
    known: &KnownSegments,
) -> Result<Option<Position>, RestoringError> {
    let mut archives = RestorableArchives::find(objects, ledger, keyring.signing_chain(), Some(known))?;
    let chain = archives.chain(RestoreScope::Whole)?;
    let last = archives.of(&chain).last().map(|archive| archive.outline().manifest().manifest());
    Ok(last.map(|manifest| manifest.range.last()))
}

/// Makes a ledger again in `folder`, which must not exist, of all frames that its archives hold whole: of those archives that join
/// from the ledger's first event on and go furthest. Every event is checked against the signed manifests before the folder stands; an
/// archive that does not come through that is done without, if others go as far.
///
/// # Errors
/// [`RestoringError`].
pub fn restore(
    environment: &Environment,
    objects: &Arc<dyn Objects>,
    (ledger, reach): (LedgerId, RestoreScope),
    keyring: &Keyring,
    folder: &Path,
    progress: &ArchiveProgress,
) -> Result<RestoreReport, RestoringError> {
    let mut archives = RestorableArchives::find(objects, ledger, keyring.signing_chain(), None)?;
    archives.find_records(|| Ok(Vec::new()), keyring, progress)?;
    restore_of((environment, objects), (archives, reach), (ledger, keyring), folder, progress)
}

/// The same of the archives that are of the history whose segments are known: of what was given up nothing comes back. The manifests that
/// the `damaged` folder kept tell which revisions took the place of earlier ones.
///
/// # Errors
/// [`RestoringError`].
pub fn restore_history(
    environment: &Environment,
    objects: &Arc<dyn Objects>,
    (ledger, known, damaged): (LedgerId, &KnownSegments, &Path),
    keyring: &Keyring,
    folder: &Path,
    progress: &ArchiveProgress,
) -> Result<RestoreReport, RestoringError> {
    let signers = keyring.signing_chain();
    let mut archives = RestorableArchives::find(objects, ledger, signers, Some(known))?;
    let kept = || Ok(ManifestFolder::of(damaged).read(&*environment.disk, ledger, signers)?.manifests);
    archives.find_records(kept, keyring, progress)?;
    restore_of((environment, objects), (archives, RestoreScope::Whole), (ledger, keyring), folder, progress)
}

fn restore_of(
    (environment, objects): (&Environment, &Arc<dyn Objects>),
    (mut archives, reach): (RestorableArchives, RestoreScope),
    (ledger, keyring): (LedgerId, &Keyring),
    folder: &Path,
    progress: &ArchiveProgress,
) -> Result<RestoreReport, RestoringError> {
    loop {
        let chain = archives.chain(reach)?;
        if chain.is_empty() {
            return Err(RestoringError::None { folder: objects.shown(&ledger.to_string()) });
        }
        let used = archives.of(&chain).enumerate();
        let used: Vec<_> = used.map(|(place, one)| (one, archives.later_removals(&chain, place))).collect();
        let mut read_now = None;
        match make(environment, &used, (ledger, keyring), (folder, progress), &mut read_now) {
            Ok(made) => return Ok(RestoreReport { unused: archives.unused(&chain), ..made }),
            Err(RestoringError::Archives(ArchiverError::Stored(error)))
                if read_now.is_some() && error.is_of_one_archive() =>
            {
                archives.give_up(&chain, read_now.unwrap_or_default(), error);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Makes a ledger of archives that join, each beside the later ones that hold events of it as expired. While one of them is read,
/// `read_now` says which.
fn make(
    environment: &Environment,
    archives: &[(&StoredArchive, Vec<&StoredArchive>)],
    (ledger, keyring): (LedgerId, &Keyring),
    (folder, progress): (&Path, &ArchiveProgress),
    read_now: &mut Option<usize>,
) -> Result<RestoreReport, RestoringError> {
    let mut manifests = archives.iter().map(|(archive, _)| archive.outline().manifest().manifest());
    let starts = manifests.clone().flat_map(segment_starts).collect();
    let Some(first) = manifests.next() else {
        return Err(RestoringError::None { folder: folder.display().to_string() });
    };
    let last = manifests.next_back().unwrap_or(first);
    let name = &first.origin.name;
    let mut restoration = Restoration::begin(environment, folder, (name, ledger), keyring, starts)?;
    restoration.mark(archives.iter().filter_map(|(archive, _)| readable_state(archive)));
    let mut frames = FrameJoiner {
        restoration,
        keys: LedgerKeys::new(keyring, ledger),
        end: last.chain_after.position,
        tree: Frontier::new(),
        first: Position::FIRST,
        rows: Vec::new(),
        last_expired: None,
        removed_later: None,
    };
    let mut carried = None;
    let pace = ArchivePace::Full { threads: 1 };
    for (place, (archive, later)) in archives.iter().enumerate() {
        let range = archive.outline().manifest().manifest().range;
        frames.removed_later = removed_in(later, (range, keyring), (pace, progress))?;
        *read_now = Some(place);
        let verification = Verification::new(archive, pace, progress);
        let state = verification.contents(keyring, |position, rows| frames.take(position, rows))?;
        let reactor = archive.outline().manifest().manifest().reactor;
        let state = state.filter(|_| READABLE_STATES.contains(&reactor));
        let state =
            state.map(|ArchivedState { position, bytes }| ArchivedReactorState { position, reactor, bytes });
        carried = state.filter(|state| state.position < frames.end).or(carried);
    }
    *read_now = None;
    frames.flush()?;
    let (events, root) = (frames.tree.size(), frames.tree.root());
    if let Some(expired) = frames.last_expired {
        let behind = carried.filter(|state| state.position >= expired);
        let behind = behind.ok_or(RestoringError::NoState { expired, end: events })?;
        frames.restoration.carry(behind)?;
    }
    frames.restoration.finish(events, root)?;
    let left_out = last.range.last().get() - events;
    Ok(RestoreReport { events, root, archives: archives.len(), left_out, unused: Vec::new() })
}

/// The events of a range that later archives hold as expired. One that cannot be read tells nothing.
fn removed_in(
    later: &[&StoredArchive],
    (range, keyring): (ArchiveRange, &Keyring),
    (pace, progress): (ArchivePace, &ArchiveProgress),
) -> Result<Option<ExpiredPositions>, ArchiverError> {
    let mut whole = Vec::new();
    for archive in later {
        match Verification::new(archive, pace, progress).without_keys() {
            Err(ArchiverError::Stored(error)) if error.is_of_one_archive() => {
                tracing::warn!(%error, "a later archive cannot be read, so content that expired in it may come back");
            }
            checked => {
                checked?;
                whole.push(*archive);
            }
        }
    }
    ExpiredPositions::read(&whole, (range, keyring), (pace, progress))
}

/// The place of the state that an archive keeps, if this program reads it.
fn readable_state(archive: &StoredArchive) -> Option<Position> {
    let manifest = archive.outline().manifest().manifest();
    let state = manifest.state.filter(|_| READABLE_STATES.contains(&manifest.reactor));
    state.map(|state| state.position)
}

fn segment_starts(manifest: &Manifest) -> impl Iterator<Item = SegmentStart> {
    manifest.segments.iter().map(|link| SegmentStart {
        number: link.number,
        generation: link.generation,
        epoch: link.epoch,
        first_position: link.first,
        previous: link.hash,
    })
}

/// Joins rows to frames, whichever groups and archives they lie in.
struct FrameJoiner<'k> {
    restoration: Restoration<'k>,
    keys: LedgerKeys,
    /// The first position of the first frame that the archives do not hold whole.
    end: Position,
    /// Over the events that were joined.
    tree: Frontier,
    /// Of the frame that is being joined.
    first: Position,
    rows: Vec<OwnedRow>,
    /// The last event that the deciding state rests on, and whose content expired.
    last_expired: Option<Position>,
    /// Events of the archive that is being read, whose content expired in later ones.
    removed_later: Option<ExpiredPositions>,
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

impl FrameJoiner<'_> {
    fn take(&mut self, first: Position, rows: &Rows) -> Result<(), RestoringError> {
        for (position, row) in (first.get()..).zip(rows.iter()) {
            let Some(position) = Position::new(position).filter(|position| *position < self.end) else {
                break;
            };
            if row.begins_frame {
                self.flush()?;
                self.first = position;
            }
            let removed = self.removed_later.as_ref().map(|removed| removed.left_of(position, &row));
            let removed = removed.transpose().map_err(ArchiverError::Range)?.flatten();
            let row = removed.as_deref().map_or(row, |record| without_content(&row, record));
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
        if record.expired().is_some() && state_rests_on(&record.kind) {
            self.last_expired = Some(position);
        }
        let commitment = self.keys.commitment_of(&record, row.record);
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
        self.restoration.frame(&ArchivedFrame {
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

//! Archived events, read as if they were still here: by archive, then by group, then by frame.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bitacora_archive_format::{ArchiveError, ArchiveRange, PartEntry, SignedManifest, open_columns};
use bitacora_archive_format::{ColumnGroup, ColumnRow, Rows};
use bitacora_formats::limits::MAX_FRAME_ENTRIES;
use bitacora_formats::{Decompressor, Keyring, LedgerId, Micros, Position};
use bitacora_ledger::{
    ArchiveAccess, ArchiveSource, ArchiveTier, ArchiveTierError, ArchiveTierErrorKind, ArchivedEvent,
    ArchivedFrame, ArchivedReactorState, ArchivedSpan, Disk, Filter,
};

use crate::archive_store::Objects;
use crate::byte_cache::ByteCache;
use crate::catalogue::{ArchiveIdentity, Catalogue, OpenArchive};
use crate::error::StoredError;
use crate::frame_rows::body_of;
use crate::index_pruning::PruningCache;
use crate::limits::NARROWED_CACHE_BYTES;
use crate::manifest_folder::{LostManifests, ManifestFolder};
use crate::manifest_recovery::ManifestRecovery;

/// The archives of every ledger of a process, in one store, with one budget of memory for what is read of them.
pub struct StoredArchives {
    objects: Arc<dyn Objects>,
    disk: Arc<dyn Disk>,
    groups: Arc<ByteCache<GroupKey, ColumnGroup>>,
    pruning: Arc<PruningCache>,
}

/// The key of a group: its archive and its number in it.
type GroupKey = (ArchiveIdentity, u32);

impl StoredArchives {
    /// Archives in this store. Groups of their events are kept once they are open, up to `cache_bytes`.
    #[must_use]
    pub fn new(objects: Arc<dyn Objects>, disk: Arc<dyn Disk>, cache_bytes: usize) -> Self {
        let pruning = Arc::new(PruningCache::new(NARROWED_CACHE_BYTES));
        Self { objects, disk, groups: Arc::new(ByteCache::new(cache_bytes)), pruning }
    }
}

impl fmt::Debug for StoredArchives {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("StoredArchives").field(&self.objects).finish()
    }
}

impl ArchiveSource for StoredArchives {
    fn of_ledger(
        &self,
        folder: &Path,
        ledger: LedgerId,
        keyring: &Arc<Keyring>,
        access: ArchiveAccess,
    ) -> Arc<dyn ArchiveTier> {
        Arc::new(LedgerArchives {
            objects: Arc::clone(&self.objects),
            disk: Arc::clone(&self.disk),
            groups: Arc::clone(&self.groups),
            pruning: Arc::clone(&self.pruning),
            folder: ManifestFolder::of(folder),
            ledger,
            keyring: Arc::clone(keyring),
            access,
            catalogue: RwLock::default(),
            brought_back: Mutex::default(),
        })
    }
}

/// The archives of one ledger.
pub(crate) struct LedgerArchives {
    objects: Arc<dyn Objects>,
    disk: Arc<dyn Disk>,
    groups: Arc<ByteCache<GroupKey, ColumnGroup>>,
    pub(crate) pruning: Arc<PruningCache>,
    folder: ManifestFolder,
    ledger: LedgerId,
    keyring: Arc<Keyring>,
    access: ArchiveAccess,
    /// Those whose manifests were there when it was last looked; more come as they are made.
    catalogue: RwLock<Arc<Catalogue>>,
    /// Manifests that the folder had lost and the store has given. It is looked by one at a time.
    brought_back: Mutex<Vec<SignedManifest>>,
}

/// The place of a group of events.
pub(crate) struct GroupLocation {
    pub(crate) archive: Arc<OpenArchive>,
    pub(crate) range: ArchiveRange,
    pub(crate) entry: PartEntry,
    pub(crate) first: Position,
}

impl GroupLocation {
    /// The place of a position's row in the group, if it is there.
    pub(crate) fn row_of(&self, position: Position) -> Option<usize> {
        let row = usize::try_from(position.get().checked_sub(self.first.get())?).ok()?;
        Some(row).filter(|row| *row < self.entry.count as usize)
    }
}

/// A group of events in memory.
pub(crate) struct LoadedGroup {
    place: GroupLocation,
    columns: Arc<ColumnGroup>,
}

impl LoadedGroup {
    /// These rows of it, which ascend.
    pub(crate) fn rows(&self, indices: impl IntoIterator<Item = usize>) -> Result<Rows, ArchiveTierError> {
        self.columns.rows(indices).map_err(|source| {
            let GroupLocation { archive, range, first, .. } = &self.place;
            tier_error(*range, &archive.stored.wrong(ArchiveError::Columns { first: *first, source }))
        })
    }
}

/// Groups that follow one another.
struct GroupSequence(VecDeque<LoadedGroup>);

impl GroupSequence {
    fn of(group: LoadedGroup) -> Self {
        Self(VecDeque::from([group]))
    }

    fn first(&self) -> Position {
        self.0.front().map_or(Position::FIRST, |group| group.place.first)
    }

    fn put_before(&mut self, group: LoadedGroup) {
        self.0.push_front(group);
    }

    fn put_behind(&mut self, group: LoadedGroup) {
        self.0.push_back(group);
    }

    /// Returns `true` if the event at a position begins a frame; `None` if it is not here.
    fn begins_frame(&self, position: Position) -> Option<bool> {
        let (group, row) = self.holding(position)?;
        group.columns.begins_frame(row)
    }

    fn time(&self, position: Position) -> Option<Micros> {
        let (group, row) = self.holding(position)?;
        group.columns.time(row)
    }

    fn holding(&self, position: Position) -> Option<(&LoadedGroup, usize)> {
        let group = self.0.iter().rev().find(|group| group.place.first <= position)?;
        group.place.row_of(position).map(|row| (group, row))
    }

    /// The rows from a position up to the one before `end`, those of each group by themselves.
    fn rows(&self, first: Position, end: Position) -> Result<Vec<Rows>, ArchiveTierError> {
        let of_group = |group: &LoadedGroup| {
            let from = first.get().saturating_sub(group.place.first.get());
            let to = end.get().saturating_sub(group.place.first.get());
            let row = |row| usize::try_from(row).unwrap_or(usize::MAX).min(group.columns.len());
            group.rows(row(from)..row(to))
        };
        self.0.iter().map(of_group).collect()
    }

    /// Events in groups that have groups of these before and behind them.
    fn inner_events(&self) -> usize {
        let inner = self.0.len().saturating_sub(2);
        self.0.iter().skip(1).take(inner).map(|group| group.columns.len()).sum()
    }
}

impl fmt::Debug for LedgerArchives {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LedgerArchives").field(&self.ledger).field(&self.objects).finish()
    }
}

impl ArchiveTier for LedgerArchives {
    fn frame(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError> {
        self.or_of_later_revision(position, || self.frame_at(position))
    }

    fn events(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Vec<ArchivedEvent>, ArchiveTierError> {
        let Some(first) = positions.first() else { return Ok(Vec::new()) };
        self.or_of_later_revision(*first, || self.chosen_events(positions, max_bytes))
    }

    fn alike_around(
        &self,
        filter: &Filter,
        position: Position,
    ) -> Result<Option<(RangeInclusive<Position>, bool)>, ArchiveTierError> {
        self.alike_around(filter, position).map(Some)
    }

    fn span_at(&self, position: Position, time: Micros) -> Option<ArchivedSpan> {
        self.span_with_time(position, time)
    }

    fn state(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, ArchiveTierError> {
        self.newest_state(until, versions)
    }

    fn state_positions(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Vec<Position>, ArchiveTierError> {
        self.state_positions(until, versions)
    }

    fn refresh(&self) {
        let before = self.catalogue();
        match self.look_again(Position::FIRST) {
            Ok(now) => {
                let gone = before.identities_not_in(&now);
                self.groups.forget(|(identity, _)| gone.contains(identity));
            }
            Err(error) => tracing::warn!(%error, "the manifests of archives could not be read again"),
        }
    }
}

impl LedgerArchives {
    /// Reads, and once more where an archive is gone because a later revision took its place meanwhile.
    fn or_of_later_revision<T>(
        &self,
        position: Position,
        read: impl Fn() -> Result<T, ArchiveTierError>,
    ) -> Result<T, ArchiveTierError> {
        let before = self.catalogue();
        match read() {
            Err(error) if error.kind == ArchiveTierErrorKind::Unavailable => {
                let now = self.look_again(position)?;
                if now.has_other_revision(&before, error.first) { read() } else { Err(error) }
            }
            found => found,
        }
    }

    fn frame_at(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError> {
        let mut stretch = GroupSequence::of(self.group(position)?);
        // Where the frame begins, in this group or one before it.
        let mut first_position = position;
        let time = loop {
            if stretch.begins_frame(first_position) == Some(true) {
                break stretch.time(first_position).ok_or_else(|| self.no_frame(position))?;
            }
            first_position =
                Position::new(first_position.get() - 1).ok_or_else(|| self.no_frame(position))?;
            if first_position < stretch.first() {
                stretch.put_before(self.group(first_position)?);
                self.check_length(&stretch, position)?;
            }
        };
        // Where it ends, in the last of these groups or behind it. Where no archive goes on, a segment does, and is asked.
        let mut end = position.next().ok_or_else(|| self.no_frame(position))?;
        loop {
            match stretch.begins_frame(end) {
                Some(true) => break,
                Some(false) => end = end.next().ok_or_else(|| self.no_frame(position))?,
                None if self.catalogue().range_of(end).is_some() => {
                    stretch.put_behind(self.group(end)?);
                    self.check_length(&stretch, position)?;
                }
                // It ends with an archive, whatever is behind that.
                None if self.catalogue().begins_behind(end) => break,
                // More may have been archived, and let go, since the manifests were read.
                None if self.look_again(end)?.goes_on_at(end) => {}
                None => return Err(self.catalogue().lacking(end, self.folder.path())),
            }
        }
        let rows = stretch.rows(first_position, end)?;
        let rows: Vec<ColumnRow<'_>> = rows.iter().flat_map(Rows::iter).collect();
        let last = Position::new(end.get() - 1).unwrap_or(first_position);
        let body = body_of(&rows).map_err(|error| damaged(first_position, last, error.to_string()))?;
        Ok(ArchivedFrame {
            first_position,
            count: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            time,
            body: Arc::new(body),
        })
    }

    /// A frame has a bounded number of events: archives that say otherwise are not read on.
    fn check_length(&self, stretch: &GroupSequence, position: Position) -> Result<(), ArchiveTierError> {
        if stretch.inner_events() > MAX_FRAME_ENTRIES { Err(self.no_frame(position)) } else { Ok(()) }
    }

    fn no_frame(&self, position: Position) -> ArchiveTierError {
        let range = self.catalogue().range_of(position);
        let (first, last) = range.map_or((position, position), |range| (range.first(), range.last()));
        damaged(first, last, format!("{}: no whole frame at position {position}", self.objects.shown("")))
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn group(&self, position: Position) -> Result<LoadedGroup, ArchiveTierError> {
        self.load(self.place_of(position)?)
    }

    /// Returns the place of the group that holds a position.
    pub(crate) fn place_of(&self, position: Position) -> Result<GroupLocation, ArchiveTierError> {
        let mut catalogue = self.catalogue();
        if catalogue.range_of(position).is_none() {
            catalogue = self.look_again(position)?;
        }
        let Some(index) = catalogue.holding(position) else {
            return Err(catalogue.lacking(position, self.folder.path()));
        };
        let range = catalogue.range_of(position).ok_or_else(|| self.no_frame(position))?;
        let at_fault = |error: StoredError| tier_error(range, &error);
        let archive = self.open(&catalogue, index).map_err(at_fault)?;
        let table = archive.stored.outline().table();
        let entry = table.group_of(position).and_then(|number| table.groups().get(number));
        let entry = entry.copied().and_then(|entry| Some((entry, Position::new(entry.position)?)));
        match entry {
            Some((entry, first)) => Ok(GroupLocation { archive, range, entry, first }),
            None => Err(at_fault(archive.stored.wrong(ArchiveError::Contents { what: "the groups" }))),
        }
    }

    /// The group at a place, from memory or the store.
    pub(crate) fn load(&self, place: GroupLocation) -> Result<LoadedGroup, ArchiveTierError> {
        let GroupLocation { archive, range, entry, .. } = &place;
        let key = (archive.identity, entry.number);
        if let Some(columns) = self.groups.get(&key) {
            return Ok(LoadedGroup { place, columns });
        }
        let stored = archive.stored.part(entry).map_err(|error| tier_error(*range, &error))?;
        let columns = Decompressor::new().map_err(ArchiveError::Zstd);
        let columns = columns.and_then(|mut zstd| open_columns(&archive.key, entry, &stored, &mut zstd));
        let columns = columns.map_err(|error| tier_error(*range, &archive.stored.wrong(error)))?;
        let columns = Arc::new(columns);
        self.groups.put(key, Arc::clone(&columns), columns.held_bytes());
        Ok(LoadedGroup { place, columns })
    }

    /// The archive at a place of the catalogue.
    pub(crate) fn open(&self, catalogue: &Catalogue, index: usize) -> Result<Arc<OpenArchive>, StoredError> {
        catalogue.open(index, &self.objects, &self.keyring)
    }

    /// Reads the manifests again: archives may have been made since. Where the folder has lost the one that holds the position, it is
    /// brought back from the store.
    pub(crate) fn look_again(&self, position: Position) -> Result<Arc<Catalogue>, ArchiveTierError> {
        let mut brought_back = self.brought_back.lock().unwrap_or_else(PoisonError::into_inner);
        let (objects, disk, folder) = (&self.objects, &*self.disk, &self.folder);
        let (ledger, signers, access) = (self.ledger, self.keyring.signing_chain(), self.access);
        let recovery = ManifestRecovery { objects, disk, folder, ledger, signers, access };
        let kept = recovery.read();
        let mut kept = kept.map_err(|error| unavailable(position, position, error.to_string()))?;
        if position.get() > kept.end() {
            recovery.lose_released(&mut kept);
        }
        for lost in std::mem::take(&mut kept.lost) {
            kept.fill(lost, &brought_back);
        }
        let is_wanted = |lost: &LostManifests| (lost.first..=lost.last).contains(&position.get());
        let mut recovered = recovery.mend(&mut kept, is_wanted);
        brought_back.append(&mut recovered.manifests);
        let found = Arc::new(Catalogue::new(kept, &recovered, &self.catalogue()));
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&found);
        Ok(found)
    }
}

/// Returns the error of reading an archive of this range.
pub(crate) fn tier_error(range: ArchiveRange, error: &StoredError) -> ArchiveTierError {
    let kind = match error {
        StoredError::Store(_) => ArchiveTierErrorKind::Unavailable,
        StoredError::Archive { source: ArchiveError::KeyRetired { .. }, .. } => {
            ArchiveTierErrorKind::KeyRetired
        }
        StoredError::Archive { source: ArchiveError::KeyMissing { .. }, .. } => {
            ArchiveTierErrorKind::KeyMissing
        }
        StoredError::Archive { .. } => ArchiveTierErrorKind::Damaged,
    };
    ArchiveTierError { first: range.first(), last: range.last(), kind, what: error.to_string() }
}

fn damaged(first: Position, last: Position, what: String) -> ArchiveTierError {
    ArchiveTierError { first, last, kind: ArchiveTierErrorKind::Damaged, what }
}

pub(crate) fn unavailable(first: Position, last: Position, what: String) -> ArchiveTierError {
    ArchiveTierError { first, last, kind: ArchiveTierErrorKind::Unavailable, what }
}

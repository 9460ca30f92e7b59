//! Archived events, read as if they were still here: which archive holds a position, which group of it, and the frame in that.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bitacora_formats::archive::{
    ArchiveError, ArchiveKey, ArchiveRange, Manifest, PartEntry, SignedManifest, open_columns,
};
use bitacora_formats::limits::MAX_FRAME_ENTRIES;
use bitacora_formats::{ColumnGroup, ColumnRow, Decompressor, Keyring, LedgerId, Micros, Position, Rows};
use bitacora_ledger::{
    ColdArchives, ColdError, ColdErrorKind, ColdEvent, ColdFrame, ColdState, ColdTier, Disk, Filter,
};

use crate::archive_store::Objects;
use crate::byte_cache::ByteCache;
use crate::error::StoredError;
use crate::frame_rows::body_of;
use crate::kept_manifests::{ManifestFolder, holding};
use crate::narrowing::LastNarrowed;
use crate::stored_archive::StoredArchive;

/// The archives of every ledger of a process, in one store, with one budget of memory for what is read of them.
pub struct StoredArchives {
    objects: Arc<dyn Objects>,
    disk: Arc<dyn Disk>,
    groups: Arc<ByteCache<GroupKey, ColumnGroup>>,
}

/// Which group of which archive.
type GroupKey = (LedgerId, ArchiveRange, u32);

impl StoredArchives {
    /// Archives in this store. Groups of their events are kept once they are open, up to `cache_bytes`.
    #[must_use]
    pub fn new(objects: Arc<dyn Objects>, disk: Arc<dyn Disk>, cache_bytes: usize) -> Self {
        Self { objects, disk, groups: Arc::new(ByteCache::new(cache_bytes)) }
    }
}

impl fmt::Debug for StoredArchives {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("StoredArchives").field(&self.objects).finish()
    }
}

impl ColdArchives for StoredArchives {
    fn of_ledger(&self, folder: &Path, ledger: LedgerId, keyring: &Arc<Keyring>) -> Arc<dyn ColdTier> {
        Arc::new(Archives {
            objects: Arc::clone(&self.objects),
            disk: Arc::clone(&self.disk),
            groups: Arc::clone(&self.groups),
            folder: ManifestFolder::of(folder),
            ledger,
            keyring: Arc::clone(keyring),
            catalogue: RwLock::default(),
            last_narrowed: LastNarrowed::default(),
        })
    }
}

/// The archives of one ledger.
pub(crate) struct Archives {
    objects: Arc<dyn Objects>,
    disk: Arc<dyn Disk>,
    groups: Arc<ByteCache<GroupKey, ColumnGroup>>,
    folder: ManifestFolder,
    pub(crate) ledger: LedgerId,
    keyring: Arc<Keyring>,
    /// Those whose manifests were there when it was last looked; more come as they are made.
    catalogue: RwLock<Arc<Catalogue>>,
    pub(crate) last_narrowed: LastNarrowed,
}

#[derive(Default)]
pub(crate) struct Catalogue {
    manifests: Vec<SignedManifest>,
    /// For each of them, once it was asked for something.
    opened: Vec<Mutex<Option<Arc<OpenArchive>>>>,
}

pub(crate) struct OpenArchive {
    pub(crate) stored: StoredArchive,
    pub(crate) key: ArchiveKey,
}

/// Where a group of events stands.
pub(crate) struct GroupPlace {
    pub(crate) archive: Arc<OpenArchive>,
    pub(crate) range: ArchiveRange,
    pub(crate) entry: PartEntry,
    pub(crate) first: Position,
}

impl GroupPlace {
    /// The place of a position's row in the group, if it is there.
    pub(crate) fn row_of(&self, position: Position) -> Option<usize> {
        let row = usize::try_from(position.get().checked_sub(self.first.get())?).ok()?;
        Some(row).filter(|row| *row < self.entry.count as usize)
    }
}

/// A group of events in memory.
pub(crate) struct Group {
    place: GroupPlace,
    columns: Arc<ColumnGroup>,
}

impl Group {
    /// These rows of it, which ascend.
    pub(crate) fn rows(&self, indices: impl IntoIterator<Item = usize>) -> Result<Rows, ColdError> {
        self.columns.rows(indices).map_err(|source| {
            let GroupPlace { archive, range, first, .. } = &self.place;
            cold_error(*range, &archive.stored.wrong(ArchiveError::Columns { first: *first, source }))
        })
    }
}

/// Groups that follow one another.
struct Stretch(VecDeque<Group>);

impl Stretch {
    fn of(group: Group) -> Self {
        Self(VecDeque::from([group]))
    }

    fn first(&self) -> Position {
        self.0.front().map_or(Position::FIRST, |group| group.place.first)
    }

    fn put_before(&mut self, group: Group) {
        self.0.push_front(group);
    }

    fn put_behind(&mut self, group: Group) {
        self.0.push_back(group);
    }

    /// Whether the event at a position begins a frame; `None` where it is not here.
    fn begins_frame(&self, position: Position) -> Option<bool> {
        let (group, row) = self.holding(position)?;
        group.columns.begins_frame(row)
    }

    fn time(&self, position: Position) -> Option<Micros> {
        let (group, row) = self.holding(position)?;
        group.columns.time(row)
    }

    fn holding(&self, position: Position) -> Option<(&Group, usize)> {
        let group = self.0.iter().rev().find(|group| group.place.first <= position)?;
        group.place.row_of(position).map(|row| (group, row))
    }

    /// The rows from a position up to the one before `end`, those of each group by themselves.
    fn rows(&self, first: Position, end: Position) -> Result<Vec<Rows>, ColdError> {
        let of_group = |group: &Group| {
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

impl fmt::Debug for Archives {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Archives").field(&self.ledger).field(&self.objects).finish()
    }
}

impl ColdTier for Archives {
    fn frame(&self, position: Position) -> Result<ColdFrame, ColdError> {
        let mut stretch = Stretch::of(self.group(position)?);
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
                // It ends with the last archive, or goes on where nothing is archived yet.
                None if self.catalogue().end_of_frames() == Some(end) => break,
                // More may have been archived, and let go, since the manifests were read.
                None if self.look_again(end)?.goes_on_at(end) => {}
                None => {
                    let what = "the rest of its frame is not archived".to_owned();
                    return Err(unavailable(first_position, position, what));
                }
            }
        }
        let rows = stretch.rows(first_position, end)?;
        let rows: Vec<ColumnRow<'_>> = rows.iter().flat_map(Rows::iter).collect();
        let last = Position::new(end.get() - 1).unwrap_or(first_position);
        let body = body_of(&rows).map_err(|error| damaged(first_position, last, error.to_string()))?;
        Ok(ColdFrame {
            first_position,
            count: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            time,
            body: Arc::new(body),
        })
    }

    fn events(&self, positions: &[Position], max_bytes: usize) -> Result<Vec<ColdEvent>, ColdError> {
        self.chosen_events(positions, max_bytes)
    }

    fn alike_around(
        &self,
        filter: &Filter,
        position: Position,
    ) -> Result<Option<(RangeInclusive<Position>, bool)>, ColdError> {
        self.alike_around(filter, position).map(Some)
    }

    fn state(&self, until: Position, reactor: u32) -> Result<Option<ColdState>, ColdError> {
        self.newest_state(until, reactor)
    }
}

impl Archives {
    /// A frame has a bounded number of events: archives that say otherwise are not read on.
    fn check_length(&self, stretch: &Stretch, position: Position) -> Result<(), ColdError> {
        if stretch.inner_events() > MAX_FRAME_ENTRIES { Err(self.no_frame(position)) } else { Ok(()) }
    }

    fn no_frame(&self, position: Position) -> ColdError {
        let range = self.catalogue().range_of(position);
        let (first, last) = range.map_or((position, position), |range| (range.first(), range.last()));
        damaged(first, last, format!("{}: no whole frame at position {position}", self.objects.shown("")))
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn group(&self, position: Position) -> Result<Group, ColdError> {
        self.load(self.place_of(position)?)
    }

    /// Where the group stands that holds a position.
    pub(crate) fn place_of(&self, position: Position) -> Result<GroupPlace, ColdError> {
        let mut catalogue = self.catalogue();
        if catalogue.range_of(position).is_none() {
            catalogue = self.look_again(position)?;
        }
        let Some(index) = holding(&catalogue.manifests, position) else {
            let what = format!("no manifest of an archive that holds it in {}", self.folder.path().display());
            return Err(unavailable(position, position, what));
        };
        let range = catalogue.range_of(position).ok_or_else(|| self.no_frame(position))?;
        let at_fault = |error: StoredError| cold_error(range, &error);
        let archive = self.open(&catalogue, index).map_err(at_fault)?;
        let table = archive.stored.outline().table();
        let entry = table.group_of(position).and_then(|number| table.groups().get(number));
        let entry = entry.copied().and_then(|entry| Some((entry, Position::new(entry.position)?)));
        match entry {
            Some((entry, first)) => Ok(GroupPlace { archive, range, entry, first }),
            None => Err(at_fault(archive.stored.wrong(ArchiveError::Contents { what: "the groups" }))),
        }
    }

    /// The group at a place, from memory or the store.
    pub(crate) fn load(&self, place: GroupPlace) -> Result<Group, ColdError> {
        let GroupPlace { archive, range, entry, .. } = &place;
        let key = (self.ledger, *range, entry.number);
        if let Some(columns) = self.groups.get(&key) {
            return Ok(Group { place, columns });
        }
        let stored = archive.stored.part(entry).map_err(|error| cold_error(*range, &error))?;
        let columns = Decompressor::new().map_err(ArchiveError::Zstd);
        let columns = columns.and_then(|mut zstd| open_columns(&archive.key, entry, &stored, &mut zstd));
        let columns = columns.map_err(|error| cold_error(*range, &archive.stored.wrong(error)))?;
        let columns = Arc::new(columns);
        self.groups.put(key, Arc::clone(&columns), columns.held_bytes());
        Ok(Group { place, columns })
    }

    /// The archive, opened once: what the store has must be what the ledger kept the manifest of.
    pub(crate) fn open(&self, catalogue: &Catalogue, index: usize) -> Result<Arc<OpenArchive>, StoredError> {
        let place = catalogue.manifests.get(index).zip(catalogue.opened.get(index));
        let Some((kept, opened)) = place else {
            let source = ArchiveError::Contents { what: "the catalogue" };
            return Err(StoredError::Archive { object: self.objects.shown(""), source });
        };
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*opened {
            return Ok(Arc::clone(open));
        }
        let manifest = kept.manifest();
        let name = manifest.range.object_name(self.ledger, manifest.origin.generation);
        let stored = StoredArchive::open(&self.objects, &name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() != kept {
            return Err(stored.wrong(ArchiveError::Contents { what: "the manifest, which the ledger kept," }));
        }
        let key = ArchiveKey::unwrap(manifest, &self.keyring).map_err(|error| stored.wrong(error))?;
        let open = Arc::new(OpenArchive { stored, key });
        *opened = Some(Arc::clone(&open));
        Ok(open)
    }

    /// Reads the manifests again: archives may have been made since.
    pub(crate) fn look_again(&self, position: Position) -> Result<Arc<Catalogue>, ColdError> {
        let signers = self.keyring.signing_chain();
        let manifests = self.folder.read(&*self.disk, self.ledger, signers);
        let manifests = manifests.map_err(|error| unavailable(position, position, error.to_string()))?;
        let opened = manifests.iter().map(|_| Mutex::default()).collect();
        let found = Arc::new(Catalogue { manifests, opened });
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&found);
        Ok(found)
    }
}

impl Catalogue {
    /// In the order of their positions.
    pub(crate) fn manifests(&self) -> impl DoubleEndedIterator<Item = &Manifest> + ExactSizeIterator {
        self.manifests.iter().map(SignedManifest::manifest)
    }

    fn range_of(&self, position: Position) -> Option<ArchiveRange> {
        let index = holding(&self.manifests, position)?;
        self.manifests.get(index).map(|manifest| manifest.manifest().range)
    }

    /// Whether it is known what stands at a position that no archive held before.
    fn goes_on_at(&self, position: Position) -> bool {
        self.range_of(position).is_some() || self.end_of_frames() == Some(position)
    }

    /// The first position of the frame that goes on, or begins, behind the last archive.
    fn end_of_frames(&self) -> Option<Position> {
        self.manifests.last().map(|manifest| manifest.manifest().chain_after.position)
    }
}

/// What stands against reading an archive of this range.
pub(crate) fn cold_error(range: ArchiveRange, error: &StoredError) -> ColdError {
    let kind = if error.is_damage() { ColdErrorKind::Damaged } else { ColdErrorKind::Unavailable };
    ColdError { first: range.first(), last: range.last(), kind, what: error.to_string() }
}

fn damaged(first: Position, last: Position, what: String) -> ColdError {
    ColdError { first, last, kind: ColdErrorKind::Damaged, what }
}

fn unavailable(first: Position, last: Position, what: String) -> ColdError {
    ColdError { first, last, kind: ColdErrorKind::Unavailable, what }
}

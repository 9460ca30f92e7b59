//! The identities of all ended segments: those that ended lately in memory, the others in tables.
//!
//! Readers see one published set, in which every ended segment is either in memory or in one table, and never wait. The
//! background step that writes and merges tables replaces the set as a whole, and removes files only after what takes
//! their place is durable.

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bitacora_formats::{
    ChainHash, EventKey, Generation, IdEntry, IdTableBinding, LedgerId, Secret, SegmentNumber,
};

use crate::dedup::id_table::{IdTable, UnusableIdTable, is_unfinished, segments_of};
use crate::dedup::segment_ids::{KnownIdentity, SegmentIds};
use crate::dedup::tiers;
use crate::host::background_pace::{BackgroundPace, SliceRest};
use crate::host::disk::Disk;
use crate::host::index_folder::MismatchedTables;
use crate::host::lock_order::OrderedMutex;
use crate::limits::{MAX_ID_TABLE_WRITE_ENTRIES, MAX_UNWRITTEN_IDS};
use crate::read_error::ReadError;
use crate::submission::append_error::AppendError;

/// The identities of ended segments, for one ledger's life.
pub(crate) struct IdTables {
    place: IdTableFolder,
    published: ArcSwap<PublishedTables>,
    /// Held while `published` is replaced.
    changing: OrderedMutex<()>,
}

/// The folder of the tables, and the key and ledger that they are bound to.
struct IdTableFolder {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    index_key: Secret,
    ledger: LedgerId,
    generation: Generation,
    pace: Arc<BackgroundPace>,
    unfit: MismatchedTables,
}

/// The tables and segments as readers see them.
#[derive(Clone, Default)]
struct PublishedTables {
    /// By their segments; no segment is in two.
    tables: Vec<Arc<IdTable>>,
    /// Segments that are in no table, by number.
    ended: Vec<EndedSegment>,
}

/// A segment whose identities are in memory.
#[derive(Clone)]
struct EndedSegment {
    number: SegmentNumber,
    hash: ChainHash,
    ids: Arc<SegmentIds>,
}

impl IdTables {
    /// Loads the tables of a ledger's `index` folder that fit its log. What fits no more goes by [`Self::remove_unfit`].
    ///
    /// `end_of` gives the chain hash at the end of an ended segment, as the log has it now. The caller adds the segments
    /// that [`Self::covers`] none of, from the log.
    pub(crate) fn load(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        index_key: Secret,
        ledger: LedgerId,
        generation: Generation,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> Self {
        let mut tables = Self::none(disk, folder, index_key, ledger, generation);
        let found = tables.place.load(end_of);
        tables.published = ArcSwap::from_pointee(PublishedTables { tables: found, ended: Vec::new() });
        tables
    }

    /// Removes the tables that did not fit when these were loaded. For a log that was read to its end.
    pub(crate) fn remove_unfit(&self) {
        let published = self.published.load();
        let is_replaced = |name: &str| published.tables.iter().any(|table| table.path().ends_with(name));
        self.place.unfit.remove(&*self.place.disk, &self.place.folder, is_replaced);
    }

    /// No table, whatever the folder holds; that stays as it is.
    pub(crate) fn none(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        index_key: Secret,
        ledger: LedgerId,
        generation: Generation,
    ) -> Self {
        Self {
            place: IdTableFolder {
                disk,
                folder,
                index_key,
                ledger,
                generation,
                pace: Arc::default(),
                unfit: MismatchedTables::default(),
            },
            published: ArcSwap::default(),
            changing: OrderedMutex::default(),
        }
    }

    /// Returns `true` if the identities of this segment are here.
    pub(crate) fn covers(&self, segment: SegmentNumber) -> bool {
        let published = self.published.load();
        published.tables.iter().any(|table| table.covers(segment))
            || published.ended.iter().any(|ended| ended.number == segment)
    }

    /// The last segment before the first whose identities are not here.
    pub(crate) fn covered_from_first(&self) -> Option<SegmentNumber> {
        let mut through = None;
        for table in &self.published.load().tables {
            if through.map_or(Some(SegmentNumber(1)), SegmentNumber::next) != Some(table.binding().first) {
                break;
            }
            through = Some(table.binding().last);
        }
        through
    }

    /// The last segment whose identities are here. A lookup that begins after this call takes in all of them.
    pub(crate) fn covered_through(&self) -> Option<SegmentNumber> {
        let published = self.published.load();
        let in_tables = published.tables.last().map(|table| table.binding().last);
        in_tables.max(published.ended.last().map(|ended| ended.number))
    }

    /// Returns the pace at which tables are written.
    pub(crate) fn pace(&self) -> Arc<BackgroundPace> {
        Arc::clone(&self.place.pace)
    }

    /// Identities that are in memory, since no table holds them yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.published.load().ended.iter().map(|ended| ended.ids.len()).sum()
    }

    /// A segment ended; these identities stand in it, and `hash` is the chain hash at its end.
    pub(crate) fn add_ended(&self, number: SegmentNumber, hash: ChainHash, ids: Arc<SegmentIds>) {
        self.change(|published| {
            let at = published.ended.partition_point(|ended| ended.number < number);
            published.ended.insert(at, EndedSegment { number, hash, ids });
        });
    }

    /// Looks up the identity's position among the segments after `checked_through`. (A position before it may be found too, if a table
    /// spans both.)
    pub(crate) fn lookup(
        &self,
        key: &EventKey,
        checked_through: Option<SegmentNumber>,
    ) -> io::Result<Option<KnownIdentity>> {
        let published = self.published.load();
        let ended = published.ended.iter().rev().filter(|ended| Some(ended.number) > checked_through);
        if let Some(known) = ended.into_iter().find_map(|ended| ended.ids.get(key)) {
            return Ok(Some(*known));
        }
        let tables = published.tables.iter().rev();
        for table in tables.take_while(|table| Some(table.binding().last) > checked_through) {
            if let Some(known) = table.lookup(key)? {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// Looks these identities up, in the order of a request.
    pub(crate) fn look_up<'k>(&self, keys: impl Iterator<Item = &'k EventKey>) -> io::Result<IdLookup> {
        let mut looked_up = IdLookup { through: self.covered_through(), known: Vec::new() };
        for (index, key) in keys.enumerate() {
            looked_up.known.extend(self.lookup(key, None)?.map(|known| (index, known)));
        }
        Ok(looked_up)
    }

    /// Writes a table of the oldest segments that are in memory; `false` where there is none. For the background thread.
    ///
    /// After an error they stay in memory, and the next call tries again.
    pub(crate) fn write_next(&self) -> io::Result<bool> {
        let published = self.published.load_full();
        let run = published.oldest_run();
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(false) };
        let binding = self.place.binding(first.number, last.number, last.hash);
        let entry = |(key, known): (&EventKey, &KnownIdentity)| IdEntry {
            key: *key,
            position: known.position,
            content: known.content,
        };
        let entries = run.iter().flat_map(|ended| ended.ids.iter().map(entry)).collect();
        let IdTableFolder { disk, folder, index_key, pace, .. } = &self.place;
        let table = IdTable::build(&**disk, folder, index_key, binding, entries, pace)?;
        self.change(|published| published.put(table));
        Ok(true)
    }

    /// While a log is replayed: writes tables as soon as much is in memory. Identities that the disk does not take stay there.
    pub(crate) fn write_some(&self) {
        while self.unwritten() > MAX_UNWRITTEN_IDS / 2 {
            match self.write_next() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "an id table could not be written; its identities stay in memory");
                    return;
                }
            }
        }
    }

    /// Merges a few neighbouring tables of about the same size into one; `false` where no merge is worth it. For the
    /// background thread, which calls [`Self::write_next`] in `between` slices of the work if a segment has ended: its
    /// identities take much memory, and a merge takes long.
    ///
    /// After an error, of `between` too, the tables stay as they were, and the next call tries again.
    pub(crate) fn merge_next(&self, between: SliceRest<'_>) -> io::Result<bool> {
        let published = self.published.load_full();
        let Some(tables) = published.next_merge() else { return Ok(false) };
        let IdTableFolder { disk, folder, index_key, .. } = &self.place;
        let merged = IdTable::merge(&**disk, folder, index_key, tables, between)?;
        self.change(|published| published.put(merged));
        for table in tables {
            self.place.remove(table.path().file_name().unwrap_or_default().to_string_lossy().as_ref());
        }
        Ok(true)
    }

    fn change(&self, change: impl FnOnce(&mut PublishedTables)) {
        let _changing = self.changing.lock();
        let mut published = PublishedTables::clone(&self.published.load());
        change(&mut published);
        self.published.store(Arc::new(published));
    }
}

/// Returns the error of an append for tables that cannot be read.
pub(crate) fn look_up_failed(error: &io::Error) -> AppendError {
    AppendError::LookUp(ReadError::Disk { file: "index".to_owned(), what: error.to_string() })
}

/// The result of looking up a request's identities on the caller's thread, which spares the sequencer that search.
#[derive(Debug, Default)]
pub(crate) struct IdLookup {
    /// All segments through this one were looked through.
    pub(crate) through: Option<SegmentNumber>,
    /// The events that were accepted before, by their index in the request.
    known: Vec<(usize, KnownIdentity)>,
}

impl IdLookup {
    pub(crate) fn known(&self, index: usize) -> Option<KnownIdentity> {
        let at = self.known.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.known.get(at).map(|(_, known)| *known)
    }
}

impl PublishedTables {
    /// Puts a table in the place of all that it covers.
    fn put(&mut self, table: IdTable) {
        self.ended.retain(|ended| !table.covers(ended.number));
        self.tables.retain(|other| !table.covers(other.binding().first));
        let at = self.tables.partition_point(|other| other.binding().first < table.binding().first);
        self.tables.insert(at, Arc::new(table));
    }

    /// The oldest segments in memory that follow one another, as many as one table is written of.
    fn oldest_run(&self) -> &[EndedSegment] {
        let mut entries = 0_usize;
        let mut length = 0;
        let mut expected = None;
        for ended in &self.ended {
            entries = entries.saturating_add(ended.ids.len());
            if length > 0 && (expected != Some(ended.number) || entries > MAX_ID_TABLE_WRITE_ENTRIES) {
                break;
            }
            expected = ended.number.next();
            length += 1;
        }
        self.ended.get(..length).unwrap_or_default()
    }

    /// The tables to merge next: neighbours, without a segment between them.
    fn next_merge(&self) -> Option<&[Arc<IdTable>]> {
        let follow =
            |one: &Arc<IdTable>, next: &Arc<IdTable>| one.binding().last.next() == Some(next.binding().first);
        self.tables.chunk_by(follow).find_map(|neighbours| {
            let sizes: Vec<u64> = neighbours.iter().map(|table| table.entries()).collect();
            neighbours.get(tiers::next_merge(&sizes)?)
        })
    }
}

impl IdTableFolder {
    fn binding(&self, first: SegmentNumber, last: SegmentNumber, hash: ChainHash) -> IdTableBinding {
        IdTableBinding { ledger: self.ledger, generation: self.generation, first, last, hash }
    }

    /// The tables that fit the log. An index that cannot even be listed has none.
    fn load(&self, end_of: impl Fn(SegmentNumber) -> Option<ChainHash>) -> Vec<Arc<IdTable>> {
        let entries = match self.disk.list(&self.folder) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(%error, "the id tables cannot be listed; the identities are read from the log");
                return Vec::new();
            }
        };
        let names = || entries.iter().map(|entry| entry.name.as_str());
        names().filter(|name| is_unfinished(name)).for_each(|name| self.remove(name));
        let mut found: Vec<_> = names().filter_map(|name| Some((segments_of(name)?, name))).collect();
        // The widest first: what it covers is what a crash left of a merge.
        found.sort_by_key(|((first, last), _)| (*first, std::cmp::Reverse(*last)));
        let mut tables: Vec<Arc<IdTable>> = Vec::new();
        for ((first, last), name) in found {
            if tables.last().is_some_and(|before| before.binding().last >= first) {
                self.unfit.note(name);
                continue;
            }
            let Some(hash) = end_of(last) else {
                self.unfit.note(name);
                continue;
            };
            match IdTable::load(&*self.disk, &self.folder, &self.index_key, self.binding(first, last, hash)) {
                Ok(table) => tables.push(Arc::new(table)),
                Err(UnusableIdTable::Disk(error)) => {
                    tracing::warn!(name, %error, "an id table cannot be read");
                }
                Err(UnusableIdTable::Table(error)) => {
                    tracing::warn!(name, %error, "an id table does not fit; the log has its identities");
                    self.unfit.note(name);
                }
            }
        }
        tables
    }

    /// Removes a file, if it can: a file that stays does no harm, and the next loading of the tables tries again.
    fn remove(&self, name: &str) {
        if let Err(error) = self.disk.remove_file(&self.folder.join(name)) {
            tracing::warn!(name, %error, "a file of the index could not be removed");
        }
    }
}

//! Sealed tables of the log's state at segment ends, so that an opening reads no old segments.
//!
//! A table is written only of segments whose end is durable. It is used only if it authenticates for this ledger, these segments and the
//! chain hash at their end. On any doubt it is removed, and the segments are read.

mod file;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{
    ChainHash, Frontier, LedgerId, Secret, SegmentEnd, SegmentNumber, StreamKey, TipTableHeader,
};

pub(crate) use self::file::opens;
use self::file::{file_name, is_unfinished, read_header, read_into, segments_of, write};
use crate::dedup::tiers;
use crate::host::background_pace::SliceRest;
use crate::host::disk::Disk;
use crate::host::index_folder::MismatchedTables;
use crate::host::key_map::KeyMap;
use crate::stream_tips::Tip;

/// The state of the log at the end of a segment, and the tips of the streams that some segments through it touched.
pub(crate) struct EndedState {
    /// The first segment whose streams are here.
    pub(crate) first: SegmentNumber,
    pub(crate) end: SegmentEnd,
    pub(crate) frontier: Frontier,
    pub(crate) tips: KeyMap<StreamKey, Tip>,
}

impl EndedState {
    /// Takes in what came right after it.
    pub(crate) fn absorb(&mut self, next: Self) {
        self.end = next.end;
        self.frontier = next.frontier;
        self.tips.extend(next.tips);
    }
}

/// The tables of one ledger, which follow one another from segment 1.
pub(crate) struct TipTables {
    place: TipTableFolder,
    tables: Vec<TipTable>,
}

/// The folder of the tables, and the key and ledger that they are bound to.
struct TipTableFolder {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    index_key: Secret,
    ledger: LedgerId,
    unfit: MismatchedTables,
}

/// A table whose header fits the log; its chunks are authenticated when they are read.
#[derive(Debug, Clone, Copy)]
struct TipTable {
    first: SegmentNumber,
    last: SegmentNumber,
    entries: u64,
}

impl TipTables {
    /// Lists the tables of a ledger's `index` folder that fit its log. What fits no more goes by [`Self::remove_unfit`].
    ///
    /// `end_of` gives the chain hash at the end of an ended segment, as the log has it now.
    pub(crate) fn load(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        index_key: Secret,
        ledger: LedgerId,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> Self {
        let mut tables = Self::none(disk, folder, index_key, ledger);
        tables.tables = tables.place.list(end_of);
        tables
    }

    /// No table, whatever the folder holds; that stays as it is.
    pub(crate) fn none(disk: Arc<dyn Disk>, folder: PathBuf, index_key: Secret, ledger: LedgerId) -> Self {
        let place = TipTableFolder { disk, folder, index_key, ledger, unfit: MismatchedTables::default() };
        Self { place, tables: Vec::new() }
    }

    /// Returns the state of the log at the end of the last segment that tables cover, none after `limit`; `None` if they cover none.
    ///
    /// Tables after that do not count: what they tell is read from the log again.
    pub(crate) fn state_through(&mut self, limit: SegmentNumber) -> Option<EndedState> {
        let keep = self.tables.iter().take_while(|table| table.last <= limit).count();
        let mut state: Option<EndedState> = None;
        let mut read = 0;
        for table in self.tables.iter().take(keep) {
            match self.place.read(table) {
                Ok(next) => match &mut state {
                    Some(state) => state.absorb(next),
                    None => state = Some(next),
                },
                Err(error) => {
                    tracing::warn!(%error, "a tip table cannot be used; the log is read instead");
                    break;
                }
            }
            read += 1;
        }
        self.tables.split_off(read).iter().for_each(|table| self.place.unfit.note(&table.name()));
        state
    }

    /// Writes a table of what ended right after the last one. For the background thread.
    pub(crate) fn write(&mut self, state: &EndedState) -> io::Result<()> {
        let TipTableFolder { disk, folder, index_key, .. } = &self.place;
        let header = TipTableHeader {
            first: state.first,
            end: state.end,
            frontier: state.frontier.clone(),
            entries: state.tips.len() as u64,
        };
        let table = TipTable { first: header.first, last: header.end.number, entries: header.entries };
        if self.tables.last().map_or(Some(SegmentNumber(1)), |last| last.last.next()) != Some(table.first) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a tip table that follows none"));
        }
        write(&**disk, folder, index_key, header, &state.tips)?;
        self.tables.push(table);
        Ok(())
    }

    /// Merges a few neighbouring tables into one; `false` where no merge is worth it. For the background thread, which does
    /// what is more urgent in `between` slices of the work; an error of that ends it.
    pub(crate) fn merge_next(&mut self, between: SliceRest<'_>) -> io::Result<bool> {
        let sizes: Vec<u64> = self.tables.iter().map(|table| table.entries.max(1)).collect();
        let Some(run) = tiers::next_merge(&sizes) else { return Ok(false) };
        let merged = self.tables.get(run.clone()).unwrap_or_default().to_vec();
        let mut state: Option<EndedState> = None;
        for table in &merged {
            let next = self.place.read(table)?;
            match &mut state {
                Some(state) => state.absorb(next),
                None => state = Some(next),
            }
            between()?;
        }
        let Some(state) = state else { return Ok(false) };
        let TipTableFolder { disk, folder, index_key, .. } = &self.place;
        let entries = state.tips.len() as u64;
        let header =
            TipTableHeader { first: state.first, end: state.end, frontier: state.frontier.clone(), entries };
        let table = TipTable { first: header.first, last: header.end.number, entries };
        write(&**disk, folder, index_key, header, &state.tips)?;
        self.tables.splice(run, [table]);
        merged.iter().for_each(|table| self.place.remove(&table.name()));
        Ok(true)
    }

    /// Forgets all tables: they are not of this log, and the opening has to read all of it.
    pub(crate) fn forget_all(&mut self) {
        std::mem::take(&mut self.tables).iter().for_each(|table| self.place.unfit.note(&table.name()));
    }

    /// Removes all tables: the log is not what it was, and the next opening has to read all of it.
    pub(crate) fn remove_all(&mut self) {
        self.forget_all();
        self.remove_unfit();
    }

    /// Removes the tables that did not fit when these were loaded. For a log that was read to its end.
    pub(crate) fn remove_unfit(&self) {
        let is_replaced = |name: &str| self.tables.iter().any(|table| table.name() == name);
        self.place.unfit.remove(&*self.place.disk, &self.place.folder, is_replaced);
    }
}

impl TipTable {
    fn name(&self) -> String {
        file_name(self.first, self.last)
    }
}

impl TipTableFolder {
    /// The tables that fit the log, from segment 1 without a gap. A folder that cannot even be listed has none.
    fn list(&self, end_of: impl Fn(SegmentNumber) -> Option<ChainHash>) -> Vec<TipTable> {
        let entries = self.disk.list(&self.folder).unwrap_or_else(|error| {
            tracing::warn!(%error, "the tip tables cannot be listed; the log is read instead");
            Vec::new()
        });
        let names = || entries.iter().map(|entry| entry.name.as_str());
        names().filter(|name| is_unfinished(name)).for_each(|name| self.remove(name));
        let mut found: Vec<_> = names().filter_map(segments_of).collect();
        // The widest first: what it covers is what a crash left of a merge.
        found.sort_by_key(|(first, last)| (*first, std::cmp::Reverse(*last)));
        let mut tables: Vec<TipTable> = Vec::new();
        for (first, last) in found {
            let expected = tables.last().map_or(Some(SegmentNumber(1)), |table| table.last.next());
            let table = (expected == Some(first)).then(|| self.fitting(first, last, end_of(last))).flatten();
            match table {
                Some(table) => tables.push(table),
                None => self.unfit.note(&file_name(first, last)),
            }
        }
        tables
    }

    fn fitting(
        &self,
        first: SegmentNumber,
        last: SegmentNumber,
        hash: Option<ChainHash>,
    ) -> Option<TipTable> {
        let header = read_header(&*self.disk, &self.folder.join(file_name(first, last))).ok()?;
        let fits = header.first == first
            && header.end.number == last
            && header.end.ledger == self.ledger
            && Some(header.end.tip.hash) == hash;
        fits.then_some(TipTable { first, last, entries: header.entries })
    }

    fn read(&self, table: &TipTable) -> io::Result<EndedState> {
        read_into(&*self.disk, &self.folder.join(table.name()), &self.index_key)
    }

    /// Removes a file, if it can: a file that stays does no harm, and the next loading of the tables tries again.
    fn remove(&self, name: &str) {
        if let Err(error) = self.disk.remove_file(&self.folder.join(name)) {
            tracing::warn!(name, %error, "a file of the index could not be removed");
        }
    }
}

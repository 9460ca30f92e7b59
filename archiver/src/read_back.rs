//! Reading an archive back from its store, with the keys, and comparing it with the ledger that it was made of.

use std::ops::ControlFlow;
use std::time::Instant;

use bitacora_formats::archive::{
    ArchiveError, ArchiveKey, ChainLink, ContentCheck, Manifest, Outline, PartEntry, PartKind, SegmentLink,
    check_roots, open_group, open_part,
};
use bitacora_formats::{ColumnRow, Decompressor, Keyring, LedgerKeys, Position, Rows};
use bitacora_ledger::Ledger;

use crate::error::{ArchiverError, StoredError};
use crate::frame_rows::rows_of;
use crate::in_order::{Feed, Results, in_order};
use crate::pace::{Pace, Tally};
use crate::plan::ARCHIVE_UNIT_EVENTS;
use crate::stored_archive::StoredArchive;

/// Reads every byte of an archive back and compares every event with the ledger's own.
pub(crate) struct ReadBack<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) keyring: &'a Keyring,
    pub(crate) stored: &'a StoredArchive,
    pub(crate) pace: Pace,
    pub(crate) tally: &'a Tally,
}

impl ReadBack<'_> {
    /// Whether the archive says of the ledger what is so, and holds its events, all of them, byte for byte.
    pub(crate) fn check(&self) -> Result<(), ArchiverError> {
        let outline = self.stored.outline();
        self.check_manifest(outline.manifest().manifest())?;
        let key = ArchiveKey::unwrap(outline.manifest().manifest(), self.keyring);
        let key = key.map_err(|error| self.stored.wrong(error))?;
        self.check_events(outline, &key)?;
        self.check_state(outline, &key)
    }

    fn differs<T>(&self, position: Position, what: &'static str) -> Result<T, ArchiverError> {
        Err(ArchiverError::Differs { object: self.stored.shown(), position, what })
    }

    fn wrong(&self, error: ArchiveError) -> ArchiverError {
        self.stored.wrong(error).into()
    }

    fn check_manifest(&self, manifest: &Manifest) -> Result<(), ArchiverError> {
        let (range, ledger) = (manifest.range, self.ledger);
        if manifest.origin.ledger != ledger.id() {
            return self.differs(range.first(), "the ledger's identity");
        }
        let tree_before = ledger.frontier(range.tree_before() / ARCHIVE_UNIT_EVENTS)?;
        let tree_after = ledger.frontier(range.last().get() / ARCHIVE_UNIT_EVENTS)?;
        if manifest.tree_before != tree_before || manifest.root_after != tree_after.root() {
            return self.differs(range.first(), "the tree");
        }
        let behind = range.last().next().unwrap_or(range.last());
        for (position, said) in [(range.first(), manifest.chain_before), (behind, manifest.chain_after)] {
            let link = ledger.chain_link(position)?;
            let link = link.map(|link| ChainLink { position: link.frame, hash: link.previous });
            // What lies in archives alone is held by the one before, which this one is joined to.
            if link.is_some_and(|link| link != said) {
                return self.differs(position, "the chain");
            }
        }
        let begun = ledger.segments_begun(range.first(), range.last())?;
        let segments = begun.iter().map(|start| SegmentLink {
            number: start.number,
            first: start.first_position,
            epoch: start.epoch,
            generation: start.generation,
            hash: start.previous,
        });
        if !segments.eq(manifest.segments.iter().copied()) {
            return self.differs(range.first(), "a segment that begins");
        }
        Ok(())
    }

    fn check_events(&self, outline: &Outline, key: &ArchiveKey) -> Result<(), ArchiverError> {
        let table = outline.table();
        let no_roots = || self.wrong(ArchiveError::Contents { what: "the roots" });
        let entry = table.roots().ok_or_else(no_roots)?;
        let roots = self.stored.part(entry)?;
        entry.check(&roots).map_err(|error| self.wrong(error))?;
        let manifest = outline.manifest().manifest();
        let roots = check_roots(manifest, &roots).map_err(|error| self.wrong(error))?;
        let keys = LedgerKeys::new(self.keyring, self.ledger.id());
        let content = ContentCheck::new(outline, roots, key, &keys);

        let feed = |feed: &mut Feed<(PartEntry, Vec<u8>)>| -> Result<(), StoredError> {
            for entry in table.groups() {
                let stored = self.stored.part(entry)?;
                if self.tally.is_stopped() || !feed.put((*entry, stored)) {
                    break;
                }
            }
            Ok(())
        };
        let work = |(entry, stored): (PartEntry, Vec<u8>)| {
            let began = Instant::now();
            let opened = Decompressor::new().map_err(ArchiveError::Zstd);
            let opened = opened.and_then(|mut zstd| open_group(key, &entry, &stored, &mut zstd));
            self.pace.rest_after(began);
            opened
        };
        let take = |groups: &mut Results<Result<Rows, ArchiveError>>| {
            let rows = StoredRows { read_back: self, groups, content, group: None, next: 0 };
            self.compare(manifest, rows)
        };
        let (fed, compared) = in_order(self.pace.threads(), feed, work, take);
        if self.tally.is_stopped() {
            return Err(ArchiverError::Stopped);
        }
        // A store that fails is the cause of rows that are missing.
        fed?;
        let finished = compared?.finish(|entry| self.open(key, entry).map_err(Unopened::Stored));
        finished.map_err(|unopened| match unopened {
            Unopened::Stored(error) => error.into(),
            Unopened::Archive(error) => self.wrong(error),
        })
    }

    /// Compares the stored rows with the ledger's own, one by one.
    fn compare<'c>(
        &self,
        manifest: &Manifest,
        mut rows: StoredRows<'_, 'c>,
    ) -> Result<ContentCheck<'c>, ArchiverError> {
        let range = manifest.range;
        let mut compared = Ok(());
        self.ledger.frames(range.first(), range.last(), &mut |frame| {
            for (position, row) in (frame.first_position.get()..).zip(rows_of(frame.time, &frame.body)) {
                let Some(position) = Position::new(position).filter(|position| range.contains(*position))
                else {
                    continue;
                };
                compared = rows.compare_next(position, &row);
                if compared.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        compared?;
        rows.finish()
    }

    fn open(&self, key: &ArchiveKey, entry: &PartEntry) -> Result<Vec<u8>, StoredError> {
        let stored = self.stored.part(entry)?;
        let mut zstd = Decompressor::new().map_err(|error| self.stored.wrong(ArchiveError::Zstd(error)))?;
        let opened = open_part(key, entry, &stored, &mut zstd).map_err(|error| self.stored.wrong(error))?;
        Ok(opened.to_vec())
    }

    fn check_state(&self, outline: &Outline, key: &ArchiveKey) -> Result<(), ArchiverError> {
        for entry in outline.table().state() {
            self.open(key, entry)?;
        }
        debug_assert!(outline.table().state().all(|entry| entry.kind == PartKind::State));
        Ok(())
    }
}

/// Why a piece of the index is not what it has to be.
enum Unopened {
    Stored(StoredError),
    Archive(ArchiveError),
}

impl From<ArchiveError> for Unopened {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

/// The rows of an archive, one after the other, each group checked as it is begun.
struct StoredRows<'r, 'c> {
    read_back: &'r ReadBack<'r>,
    groups: &'r mut Results<Result<Rows, ArchiveError>>,
    content: ContentCheck<'c>,
    group: Option<Rows>,
    next: usize,
}

impl<'c> StoredRows<'_, 'c> {
    fn compare_next(&mut self, position: Position, row: &ColumnRow<'_>) -> Result<(), ArchiverError> {
        if self.group.as_ref().is_none_or(|group| self.next >= group.len()) {
            self.begin_group(position)?;
        }
        let found = self.group.as_ref().and_then(|group| group.row(self.next));
        self.next += 1;
        if found.as_ref() == Some(row) { Ok(()) } else { self.read_back.differs(position, "the event") }
    }

    fn begin_group(&mut self, position: Position) -> Result<(), ArchiverError> {
        let Some(group) = self.groups.next() else {
            return self.read_back.differs(position, "the end of the events");
        };
        let group = group.map_err(|error| self.read_back.wrong(error))?;
        let began = Instant::now();
        self.content.take(&group).map_err(|error| self.read_back.wrong(error))?;
        self.read_back.pace.rest_after(began);
        self.read_back.tally.read_back(group.len() as u64);
        (self.group, self.next) = (Some(group), 0);
        Ok(())
    }

    /// After the last row.
    fn finish(self) -> Result<ContentCheck<'c>, ArchiverError> {
        let left = self.group.as_ref().map_or(0, Rows::len) - self.next;
        let last = self.read_back.stored.outline().manifest().manifest().range.last();
        if left > 0 || self.groups.next().is_some() {
            return self.read_back.differs(last, "the end of the events");
        }
        Ok(self.content)
    }
}

//! An archive checked as it lies in its store: every byte without keys; with them, every event too.

use std::time::Instant;

use bitacora_archive_format::Rows;
use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchivedState, ContentCheck, PartEntry, PartKind, check_roots, open_group,
    open_part,
};
use bitacora_formats::{Decompressor, Keyring, LedgerKeys, Position, TreeHash};

use crate::error::{ArchiverError, StoredError};
use crate::ordered_pool::{Feed, Results, in_order};
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};

/// Checks one archive. The signature of its manifest was verified when it was opened.
pub struct Verification<'a> {
    stored: &'a StoredArchive,
    pace: ArchivePace,
    progress: &'a ArchiveProgress,
}

impl<'a> Verification<'a> {
    /// Checks this archive.
    #[must_use]
    pub fn new(stored: &'a StoredArchive, pace: ArchivePace, progress: &'a ArchiveProgress) -> Self {
        Self { stored, pace, progress }
    }

    /// Compares every part with its digest, and the tree's roots with the manifest, on all threads of the pace. Needs no keys.
    ///
    /// # Errors
    /// [`ArchiverError::Stored`] names what is wrong.
    pub fn without_keys(&self) -> Result<(), ArchiverError> {
        let outline = self.stored.outline();
        let roots = outline.table().roots().ok_or_else(|| self.no_roots())?;
        // The roots come first: one thread folds them while the others hash what is larger.
        let others = outline.table().entries().iter().filter(|entry| entry.kind != PartKind::Roots);
        let feed = |feed: &mut Feed<(PartEntry, Vec<u8>)>| -> Result<(), StoredError> {
            for entry in std::iter::once(roots).chain(others) {
                let stored = self.stored.part(entry)?;
                if self.progress.is_stopped() || !feed.put((*entry, stored)) {
                    break;
                }
            }
            Ok(())
        };
        let work = |(entry, stored): (PartEntry, Vec<u8>)| {
            entry.check(&stored)?;
            if entry.kind == PartKind::Roots {
                check_roots(outline.manifest().manifest(), &stored)?;
            }
            Ok(entry)
        };
        let take = |parts: &mut Results<Result<PartEntry, ArchiveError>>| {
            for part in parts {
                let entry = part.map_err(|error| self.wrong(error))?;
                if entry.kind == PartKind::Events {
                    self.progress.read_back(entry.count.into());
                }
            }
            Ok::<_, ArchiverError>(())
        };
        let (fed, taken) = in_order(self.pace, feed, work, take);
        self.stop_if_requested()?;
        taken?;
        Ok(fed?)
    }

    /// The same, and opens every part: the events are those of the tree, and the manifest and the index say of them what is so.
    ///
    /// # Errors
    /// As [`Self::without_keys`].
    pub fn with_keys(&self, keyring: &Keyring) -> Result<(), ArchiverError> {
        self.each_group(keyring, |_, _| Ok(()))
    }

    /// As [`Self::with_keys`], and shows the groups of events in order, each with its first position, once it was opened and agrees
    /// with the tree.
    ///
    /// # Errors
    /// As [`Self::without_keys`]. Errors of `take_group` are returned as they are.
    pub fn each_group<E: From<ArchiverError>>(
        &self,
        keyring: &Keyring,
        take_group: impl FnMut(Position, &Rows) -> Result<(), E>,
    ) -> Result<(), E> {
        self.contents(keyring, take_group).map(drop)
    }

    /// The same; returns the state that decides, if the archive holds one: of the length that the manifest says, and after an event that
    /// ends a frame. Only a reactor of the manifest's version can tell its content.
    ///
    /// # Errors
    /// As [`Self::each_group`].
    pub fn contents<E: From<ArchiverError>>(
        &self,
        keyring: &Keyring,
        mut take_group: impl FnMut(Position, &Rows) -> Result<(), E>,
    ) -> Result<Option<ArchivedState>, E> {
        let outline = self.stored.outline();
        let manifest = outline.manifest().manifest();
        let key = ArchiveKey::unwrap(manifest, keyring).map_err(|error| self.wrong(error))?;
        let keys = LedgerKeys::new(keyring, manifest.origin.ledger);
        let mut content = ContentCheck::new(outline, self.roots()?, &key, &keys);
        let behind_state = manifest.state.and_then(|state| state.position.next());
        let mut ends_frame = behind_state == Some(manifest.chain_after.position);

        let feed = |feed: &mut Feed<(PartEntry, Vec<u8>)>| -> Result<(), StoredError> {
            for entry in outline.table().groups() {
                let stored = self.stored.part(entry)?;
                if self.progress.is_stopped() || !feed.put((*entry, stored)) {
                    break;
                }
            }
            Ok(())
        };
        let work = |(entry, stored): (PartEntry, Vec<u8>)| {
            let began = Instant::now();
            let opened = Decompressor::new().map_err(ArchiveError::Zstd);
            let opened = opened.and_then(|mut zstd| open_group(&key, &entry, &stored, &mut zstd));
            self.pace.rest_after(began);
            opened.map(|rows| (entry.position, rows))
        };
        let take = |groups: &mut Results<Result<(u64, Rows), ArchiveError>>| {
            for group in groups {
                let (first, rows) = group.map_err(|error| self.wrong(error))?;
                let began = Instant::now();
                content.take(&rows).map_err(|error| self.wrong(error))?;
                let row = behind_state.and_then(|behind| behind.get().checked_sub(first));
                let row = row.and_then(|row| rows.row(usize::try_from(row).ok()?));
                ends_frame |= row.is_some_and(|row| row.begins_frame);
                take_group(Position::new(first).unwrap_or(manifest.range.first()), &rows)?;
                self.progress.read_back(rows.len() as u64);
                self.pace.rest_after(began);
            }
            Ok::<_, E>(())
        };
        let (fed, taken) = in_order(self.pace, feed, work, take);
        self.stop_if_requested()?;
        // The fault of a group comes first; where the store failed, groups are missing because of it.
        taken?;
        fed.map_err(ArchiverError::from)?;
        let finished = content.finish(|entry| self.open(&key, entry).map_err(IndexPieceError::Stored));
        finished.map_err(|unopened| match unopened {
            IndexPieceError::Stored(error) => error.into(),
            IndexPieceError::Archive(error) => self.wrong(error),
        })?;
        let state = self.state(&key)?;
        if state.is_some() && !ends_frame {
            return Err(self.wrong(ArchiveError::Contents { what: "the position of the state" }).into());
        }
        Ok(state)
    }

    fn state(&self, key: &ArchiveKey) -> Result<Option<ArchivedState>, ArchiverError> {
        let outline = self.stored.outline();
        let mut bytes = Vec::new();
        for entry in outline.table().state() {
            bytes.extend_from_slice(&self.open(key, entry)?);
        }
        let Some(line) = outline.manifest().manifest().state else { return Ok(None) };
        if bytes.len() as u64 != line.bytes {
            return Err(self.wrong(ArchiveError::Contents { what: "the state" }));
        }
        Ok(Some(ArchivedState { position: line.position, bytes }))
    }

    fn roots(&self) -> Result<Vec<TreeHash>, ArchiverError> {
        let outline = self.stored.outline();
        let entry = outline.table().roots().ok_or_else(|| self.no_roots())?;
        let roots = self.stored.part(entry)?;
        entry.check(&roots).map_err(|error| self.wrong(error))?;
        check_roots(outline.manifest().manifest(), &roots).map_err(|error| self.wrong(error))
    }

    fn no_roots(&self) -> ArchiverError {
        self.wrong(ArchiveError::Contents { what: "the roots" })
    }

    fn open(&self, key: &ArchiveKey, entry: &PartEntry) -> Result<Vec<u8>, StoredError> {
        let stored = self.stored.part(entry)?;
        let mut zstd = Decompressor::new().map_err(|error| self.stored.wrong(ArchiveError::Zstd(error)))?;
        let opened = open_part(key, entry, &stored, &mut zstd).map_err(|error| self.stored.wrong(error))?;
        Ok(opened.to_vec())
    }

    fn wrong(&self, error: ArchiveError) -> ArchiverError {
        self.stored.wrong(error).into()
    }

    fn stop_if_requested(&self) -> Result<(), ArchiverError> {
        if self.progress.is_stopped() { Err(ArchiverError::Stopped) } else { Ok(()) }
    }
}

/// The reasons for which a piece of the index is not what it has to be.
enum IndexPieceError {
    Stored(StoredError),
    Archive(ArchiveError),
}

impl From<ArchiveError> for IndexPieceError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

//! The level above the leaves as it is stored, held against the groups of leaves that a segment completes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bitacora_formats::{
    LEVELS_HEADER_BYTES, LedgerId, LevelsHeader, TILE_WIDTH, TREE_HASH_BYTES, TreeHash, is_all_zeros,
};

use super::fault::{FaultKind, Gap};
use super::folder::{LedgerFolder, SHOWN_LEVEL_1};

/// The file of the level; shared by all threads.
pub(super) struct StoredLevel {
    file: File,
    /// Bytes that it had when it was opened: it is added to.
    file_bytes: u64,
}

/// What of it is not what it must be, and where that begins.
pub(super) struct WrongLevel {
    pub(super) offset: u64,
    pub(super) kind: FaultKind,
}

/// The root of a whole group of leaves, and the number of that group, from 0.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) number: u64,
    pub(super) root: TreeHash,
}

impl StoredLevel {
    /// `None` where there is none: it is made again when there is reason to.
    pub(super) fn open(folder: &LedgerFolder<'_>) -> Result<Option<Self>, Gap> {
        let opened = folder.open_level().and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((file_bytes, file)) => Ok(Some(Self { file, file_bytes })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Gap::Level { file: SHOWN_LEVEL_1.to_owned(), what: error.to_string() }),
        }
    }

    /// Checks the header, if all of it is there.
    pub(super) fn begin(&self, ledger: LedgerId) -> Result<(), WrongLevel> {
        let mut header = [0; LEVELS_HEADER_BYTES];
        if self.file_bytes < LEVELS_HEADER_BYTES as u64 || self.read(&mut header, 0).is_none() {
            return Ok(());
        }
        let found =
            LevelsHeader::parse(&header).map_err(|error| WrongLevel { offset: 0, kind: error.into() })?;
        if found.ledger == ledger {
            return Ok(());
        }
        let kind = FaultKind::LevelOf { expected: ledger.to_string(), found: found.ledger.to_string() };
        Err(WrongLevel { offset: 0, kind })
    }

    /// Compares a group with what is stored for it. It may not be stored yet, or be lost with the power: then zeros go on to
    /// the end.
    pub(super) fn check(&self, group: Group) -> Result<(), WrongLevel> {
        let offset = LevelsHeader::offset_of(group.number);
        let mut stored = [0; TREE_HASH_BYTES];
        if offset + TREE_HASH_BYTES as u64 > self.file_bytes || self.read(&mut stored, offset).is_none() {
            return Ok(());
        }
        let found = TreeHash(stored);
        if found == group.root || is_all_zeros(&stored) && self.ends_in_zeros_from(offset) {
            return Ok(());
        }
        let first = group.number * TILE_WIDTH as u64 + 1;
        let kind =
            FaultKind::LevelRoot { first, last: first + TILE_WIDTH as u64 - 1, expected: group.root, found };
        Err(WrongLevel { offset, kind })
    }

    /// `None` where the file became shorter, which who replaces it makes it.
    fn read(&self, bytes: &mut [u8], offset: u64) -> Option<()> {
        self.file.read_exact_at(bytes, offset).ok()
    }

    fn ends_in_zeros_from(&self, offset: u64) -> bool {
        let mut hash = [0; TREE_HASH_BYTES];
        let mut places = (offset..self.file_bytes).step_by(TREE_HASH_BYTES);
        places.all(|place| match self.file.read_at(&mut hash, place) {
            Ok(read) => hash.get(..read).is_some_and(is_all_zeros),
            Err(_) => false,
        })
    }
}

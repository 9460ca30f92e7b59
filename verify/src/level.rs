//! The stored level above the leaves, compared with the groups of leaves that a segment completes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use bitacora_formats::{
    Epoch, LEVELS_HEADER_BYTES, LedgerId, LevelsHeader, Position, TILE_WIDTH, TREE_HASH_BYTES, TreeHash,
    is_all_zeros,
};

use super::fault::{FaultKind, Gap};
use super::folder::{LedgerFolder, SHOWN_LEVEL_1};

/// The size of one read where zeros are expected.
const ZEROS_PIECE_BYTES: usize = 256 * 1024;

/// The file of the level; shared by all threads.
pub(super) struct StoredLevel {
    file: File,
    /// The size of the file when it was opened: it grows.
    file_bytes: u64,
    /// The first group for which only zeros are stored, or nothing.
    lost: Mutex<Option<LostGroup>>,
}

/// A group whose root was not stored yet, or lost with the power. In the second case zeros follow it, or nothing.
#[derive(Clone, Copy)]
struct LostGroup {
    group: LeafGroup,
    completed: CompletingFrame,
}

/// The frame that completes a group.
#[derive(Clone, Copy)]
pub(super) struct CompletingFrame {
    /// The frame's first position.
    pub(super) first: Position,
    /// The epoch of the opening that wrote it.
    pub(super) epoch: Epoch,
}

/// A fault of the level, and its offset.
pub(super) struct LevelFault {
    pub(super) offset: u64,
    pub(super) kind: FaultKind,
}

/// The root of a whole group of leaves, and the number of that group, from 0.
#[derive(Clone, Copy)]
pub(super) struct LeafGroup {
    pub(super) number: u64,
    pub(super) root: TreeHash,
}

impl StoredLevel {
    /// Opens the level; `None` where there is none: the ledger rebuilds it when it is needed.
    pub(super) fn open(folder: &LedgerFolder<'_>) -> Result<Option<Self>, Gap> {
        let opened = folder.open_level().and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((file_bytes, file)) => Ok(Some(Self { file, file_bytes, lost: Mutex::new(None) })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Gap::Level { file: SHOWN_LEVEL_1.to_owned(), what: error.to_string() }),
        }
    }

    /// Checks the header, if all of it is there.
    pub(super) fn begin(&self, ledger: LedgerId) -> Result<(), LevelFault> {
        let mut header = [0; LEVELS_HEADER_BYTES];
        if self.file_bytes < LEVELS_HEADER_BYTES as u64 || self.read(&mut header, 0).is_none() {
            return Ok(());
        }
        let found =
            LevelsHeader::parse(&header).map_err(|error| LevelFault { offset: 0, kind: error.into() })?;
        if found.ledger == ledger {
            return Ok(());
        }
        let kind = FaultKind::LevelOf { expected: ledger.to_string(), found: found.ledger.to_string() };
        Err(LevelFault { offset: 0, kind })
    }

    /// Compares a group, completed by such a frame, with its stored root. Zeros, or a file that ends before, may be a
    /// loss of power; that is decided at the end.
    pub(super) fn check(&self, group: LeafGroup, completed: CompletingFrame) -> Result<(), LevelFault> {
        if !self.compare(group)? {
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            if lost.is_none_or(|lost| group.number < lost.group.number) {
                *lost = Some(LostGroup { group, completed });
            }
        }
        Ok(())
    }

    /// Compares a group with its stored root. Returns `false` where zeros are stored, or nothing.
    pub(super) fn compare(&self, group: LeafGroup) -> Result<bool, LevelFault> {
        let offset = LevelsHeader::offset_of(group.number);
        let mut stored = [0; TREE_HASH_BYTES];
        let is_there = offset + TREE_HASH_BYTES as u64 <= self.file_bytes;
        let found = self.read(&mut stored, offset).filter(|()| is_there).map(|()| TreeHash(stored));
        match found {
            Some(found) if found == group.root => Ok(true),
            Some(found) if !is_all_zeros(&stored) => Err(group.wrong(found)),
            _ => Ok(false),
        }
    }

    /// Ends the check, once all segments with this many events were checked. If a group is zeros, all groups of the
    /// tree behind it have to be zeros too. Groups of epochs before the last one have to be there, since the opening of
    /// the last epoch stored them. Bytes behind the last group are ignored. Returns the fault, and the first position
    /// that it may affect.
    pub(super) fn end(&self, events: u64, last: Epoch) -> Result<(), (Position, LevelFault)> {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(LostGroup { group, completed: CompletingFrame { first, epoch } }) = lost else {
            return Ok(());
        };
        let mut stored = [0; TREE_HASH_BYTES];
        let offset = LevelsHeader::offset_of(group.number);
        let is_read = self.read(&mut stored, offset).is_some();
        // An opening of the ledger stores the root again.
        if is_read && TreeHash(stored) == group.root {
            return Ok(());
        }
        if epoch < last {
            let wrong = if is_read { group.wrong(TreeHash(stored)) } else { group.cut(self.file_bytes) };
            return Err((first, wrong));
        }
        if !is_read {
            return Ok(());
        }
        let end = LevelsHeader::offset_of(events / TILE_WIDTH as u64).min(self.file_bytes);
        if self.has_zeros(offset, end) { Ok(()) } else { Err((first, group.wrong(TreeHash(stored)))) }
    }

    /// Reads bytes; `None` where the file became shorter, as a replacement makes it.
    fn read(&self, bytes: &mut [u8], offset: u64) -> Option<()> {
        self.file.read_exact_at(bytes, offset).ok()
    }

    /// Returns `true` if there are only zeros from `offset` to `end`.
    fn has_zeros(&self, mut offset: u64, end: u64) -> bool {
        let mut piece = vec![0; ZEROS_PIECE_BYTES];
        while offset < end {
            let wanted = usize::try_from(end - offset).unwrap_or(usize::MAX).min(ZEROS_PIECE_BYTES);
            let Some(bytes) = piece.get_mut(..wanted) else { return false };
            if self.read(bytes, offset).is_none() || !is_all_zeros(bytes) {
                return false;
            }
            offset += wanted as u64;
        }
        true
    }
}

impl LeafGroup {
    /// Returns the positions of its first and its last leaf.
    pub(super) fn positions(self) -> (u64, u64) {
        let first = self.number * TILE_WIDTH as u64 + 1;
        (first, first + TILE_WIDTH as u64 - 1)
    }

    /// Returns the fault of a file that ends at this size, before the group's root does.
    fn cut(self, file_bytes: u64) -> LevelFault {
        let (first, last) = self.positions();
        let offset = file_bytes.min(LevelsHeader::offset_of(self.number + 1));
        LevelFault { offset, kind: FaultKind::LevelCut { first, last } }
    }

    fn wrong(self, found: TreeHash) -> LevelFault {
        let (first, last) = self.positions();
        let kind = FaultKind::LevelRoot { first, last, expected: self.root, found };
        LevelFault { offset: LevelsHeader::offset_of(self.number), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: TreeHash = TreeHash([7; TREE_HASH_BYTES]);

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    /// Returns a frame of the last epoch that begins here.
    fn at(first: u64) -> CompletingFrame {
        CompletingFrame { first: position(first), epoch: Epoch(3) }
    }

    fn group(number: u64) -> LeafGroup {
        LeafGroup { number, root: ROOT }
    }

    /// Returns a level of this many groups, all zeros but for a byte at each of these offsets.
    fn zeros(groups: u64, bytes_at: &[u64]) -> StoredLevel {
        let (file, file_bytes) = (tempfile::tempfile().unwrap(), LevelsHeader::offset_of(groups));
        file.set_len(file_bytes).unwrap();
        for at in bytes_at {
            file.write_all_at(&[1], *at).unwrap();
        }
        StoredLevel { file, file_bytes, lost: Mutex::new(None) }
    }

    /// Returns the faulty group at the end, by its offset, and the first position affected.
    fn wrong_in(level: &StoredLevel, groups: u64) -> Option<(u64, Position)> {
        let ended = level.end(groups * TILE_WIDTH as u64, Epoch(3));
        ended.err().map(|(first, wrong)| (wrong.offset, first))
    }

    #[test]
    fn zeros_of_many_pieces_are_looked_at_up_to_the_last_group() {
        let groups = 5 * (ZEROS_PIECE_BYTES / TREE_HASH_BYTES) as u64 / 2;
        let (start, end) = (LevelsHeader::offset_of(0), LevelsHeader::offset_of(groups));
        let piece = ZEROS_PIECE_BYTES as u64;
        let within = [start + piece - 1, start + piece, start + 2 * piece - 1, start + 2 * piece, end - 1];
        for (bytes_at, expected) in within
            .map(|at| (vec![at], Some((start, position(9)))))
            .into_iter()
            .chain([(vec![], None), (vec![end], None)])
        {
            let level = zeros(groups + 1, &bytes_at);
            assert!(level.check(group(0), at(9)).is_ok());
            assert_eq!(wrong_in(&level, groups), expected, "bytes at {bytes_at:?}");
        }
    }

    #[test]
    fn of_lost_groups_the_first_counts_whichever_was_met_first() {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let level = zeros(5, &[LevelsHeader::offset_of(4)]);
            for number in order {
                assert!(level.check(group(number), at(10 * number)).is_ok());
            }
            assert_eq!(wrong_in(&level, 5), Some((LevelsHeader::offset_of(1), position(10))), "{order:?}");
        }
    }

    #[test]
    fn what_changes_while_it_is_read_is_no_fault() {
        let lost = || {
            let level = zeros(3, &[LevelsHeader::offset_of(2)]);
            assert!(level.check(group(0), at(1)).is_ok());
            level
        };
        assert!(wrong_in(&lost(), 3).is_some());
        let shorter = lost();
        shorter.file.set_len(0).unwrap();
        assert_eq!(wrong_in(&shorter, 3), None);
        let stored_again = lost();
        stored_again.file.write_all_at(&ROOT.0, LevelsHeader::offset_of(0)).unwrap();
        assert_eq!(wrong_in(&stored_again, 3), None);
        // Bytes behind the size at the opening are still being written.
        let longer = zeros(2, &[LevelsHeader::offset_of(3) - 1]);
        assert!(longer.check(group(2), at(1)).is_ok());
    }

    #[test]
    fn what_an_earlier_epoch_completed_is_stored_whatever_became_of_the_power() {
        let earlier = |first| CompletingFrame { epoch: Epoch(2), ..at(first) };
        for (groups, bytes, expected) in [(0, 0, 32), (1, 0, 64), (1, 31, 95), (2, 0, 64)] {
            let mut level = zeros(groups, &[]);
            level.file_bytes += bytes;
            level.file.set_len(level.file_bytes).unwrap();
            assert!(level.check(group(1), earlier(9)).is_ok());
            assert!(level.check(group(2), at(20)).is_ok());
            assert_eq!(
                wrong_in(&level, 3),
                Some((expected, position(9))),
                "{groups} groups and {bytes} bytes"
            );
            assert!(level.end(3 * TILE_WIDTH as u64, Epoch(2)).is_ok(), "as long as that epoch lasts");
            level.file.write_all_at(&ROOT.0, LevelsHeader::offset_of(1)).unwrap();
            assert_eq!(wrong_in(&level, 3), None, "stored meanwhile");
        }
    }

    #[test]
    fn a_header_alone_is_checked_and_half_a_one_is_not() {
        let mut of_another = zeros(0, &[]);
        of_another.file.write_all_at(&LevelsHeader { ledger: LedgerId([1; 16]) }.encode(), 0).unwrap();
        assert!(of_another.begin(LedgerId([1; 16])).is_ok());
        assert_eq!(of_another.begin(LedgerId([2; 16])).err().map(|wrong| wrong.offset), Some(0));
        of_another.file_bytes -= 1;
        assert!(of_another.begin(LedgerId([2; 16])).is_ok());
    }
}

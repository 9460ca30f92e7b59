//! The tree above its leaves: the roots of all complete groups of leaves, and of groups of those.
//!
//! Layout of the lowest level in a file: `docs/formats/levels.md`.

use crate::fields::{Fields, ShortField};
use crate::ids::{LedgerId, TreeHash};
use crate::tree::{Frontier, TILE_HEIGHT, TILE_WIDTH, fold_complete};

/// The magic that a file of a level begins with.
pub const LEVELS_MAGIC: [u8; 8] = *b"BITACLVL";
/// The one format that is written, and the one that can be read.
pub const LEVELS_FORMAT: u16 = 1;
/// Bytes of the header: as many as a hash has.
pub const LEVELS_HEADER_BYTES: usize = TREE_HASH_BYTES;
/// Bytes of one hash.
pub const TREE_HASH_BYTES: usize = 32;

/// The one level that is kept in a file; the others are folded from it.
const STORED_LEVEL: u32 = 1;

/// An error in the header of a file of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LevelsError {
    /// Fewer bytes than the header has.
    #[error("found {found} bytes of a header of a level, expected {LEVELS_HEADER_BYTES}")]
    Truncated {
        /// Bytes there are.
        found: u64,
    },
    /// No file of a level begins so.
    #[error("found {}, expected the first bytes of a file of a level", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found a level of format {found}, expected {LEVELS_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The flags of format 1 are all zero.
    #[error("found flags {found} of a level, expected 0")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// Another level than the one that is kept.
    #[error("found level {found}, expected {STORED_LEVEL}")]
    Level {
        /// The level there is.
        found: u32,
    },
}

/// The beginning of a file of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelsHeader {
    /// The ledger.
    pub ledger: LedgerId,
}

impl LevelsHeader {
    /// Reads the header that the bytes begin with; hashes follow it.
    ///
    /// # Errors
    /// A [`LevelsError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, LevelsError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != LEVELS_MAGIC {
            return Err(LevelsError::Magic { found });
        }
        let found = fields.u16()?;
        if found != LEVELS_FORMAT {
            return Err(LevelsError::Format { found });
        }
        let found = fields.u16()?;
        if found != 0 {
            return Err(LevelsError::Flags { found });
        }
        let found = fields.u32()?;
        if found != STORED_LEVEL {
            return Err(LevelsError::Level { found });
        }
        Ok(Self { ledger: LedgerId(fields.bytes()?) })
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; LEVELS_HEADER_BYTES] {
        let mut bytes = [0; LEVELS_HEADER_BYTES];
        let fields = LEVELS_MAGIC
            .into_iter()
            .chain(LEVELS_FORMAT.to_le_bytes())
            .chain([0; 2])
            .chain(STORED_LEVEL.to_le_bytes())
            .chain(self.ledger.0);
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    /// Returns the offset of a hash in the file, in bytes.
    #[must_use]
    pub const fn offset_of(index: u64) -> u64 {
        index.saturating_add(1).saturating_mul(TREE_HASH_BYTES as u64)
    }

    /// Returns the hashes in these bytes, in order; an incomplete hash at the end is left out.
    pub fn hashes(bytes: &[u8]) -> impl ExactSizeIterator<Item = TreeHash> + '_ {
        let (hashes, _) = bytes.as_chunks();
        hashes.iter().map(|hash| TreeHash(*hash))
    }
}

impl From<ShortField> for LevelsError {
    fn from(ended: ShortField) -> Self {
        Self::Truncated { found: ended.found }
    }
}

/// Every hash of the levels 1, 2, 3 … of tiles: hash `i` of level `n` is the root of the `256^n` leaves from `i × 256^n` on.
/// Only complete subtrees are here. Takes 32 bytes for each 255 leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    /// From level 1 on.
    rows: Vec<Vec<TreeHash>>,
}

impl Levels {
    /// The levels over these groups of leaves.
    #[must_use]
    pub fn of_groups(groups: impl IntoIterator<Item = TreeHash>) -> Self {
        let mut levels = Self::default();
        groups.into_iter().for_each(|group| levels.push(group));
        levels
    }

    /// Appends the root of the next complete group of [`TILE_WIDTH`] leaves.
    pub fn push(&mut self, group: TreeHash) {
        let mut next = Some(group);
        let mut level = 0;
        while let Some(hash) = next {
            if level == self.rows.len() {
                self.rows.push(Vec::new());
            }
            next = self.rows.get_mut(level).and_then(|row| {
                row.push(hash);
                let is_whole = row.len() % TILE_WIDTH == 0;
                is_whole.then(|| fold_complete(row.rchunks(TILE_WIDTH).next()?)).flatten()
            });
            level += 1;
        }
    }

    /// Returns the number of groups of leaves: of the hashes of level 1.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.row(1).len() as u64
    }

    /// The hashes of a level from 1 on.
    #[must_use]
    pub fn row(&self, level: u32) -> &[TreeHash] {
        let row = level.checked_sub(1).and_then(|level| self.rows.get(usize::try_from(level).ok()?));
        row.map_or(&[], Vec::as_slice)
    }

    /// The root of the `2^height` leaves from `first` on; `None` where they are no subtree, are lower than a group, or are
    /// not all here.
    #[must_use]
    pub fn subtree(&self, first: u64, height: u32) -> Option<TreeHash> {
        let (level, rest) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
        let leaves = 1_u64.checked_shl(height)?;
        if !first.is_multiple_of(leaves) {
            return None;
        }
        let from = usize::try_from(first.checked_shr(level * TILE_HEIGHT)?).ok()?;
        fold_complete(self.row(level).get(from..from.checked_add(1 << rest)?)?)
    }

    /// Returns `true` if these are all groups of the tree that has these peaks.
    #[must_use]
    pub fn is_of(&self, tree: &Frontier) -> bool {
        let size = tree.size();
        let mut first = 0;
        let mut heights = (TILE_HEIGHT..u64::BITS).rev().filter(|height| size >> height & 1 == 1);
        let agree = heights.by_ref().zip(tree.peaks()).all(|(height, peak)| {
            let root = self.subtree(first, height);
            first += 1 << height;
            root.as_ref() == Some(peak)
        });
        agree && self.groups() == size / TILE_WIDTH as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Commitment, Micros, Position};
    use crate::tree::leaf_hash;
    use bitacora_testkit::hex_block;

    fn worked() -> Vec<u8> {
        hex_block(include_str!("../../docs/formats/levels.md"), 0)
    }

    fn ledger() -> LedgerId {
        LedgerId(std::array::from_fn(|n| 0xa0 + u8::try_from(n).unwrap()))
    }

    /// A tree of so many leaves, each with another commitment, and its groups.
    fn grown(leaves: u64) -> (Frontier, Vec<TreeHash>) {
        let mut frontier = Frontier::new();
        let groups = (0..leaves).filter_map(|leaf| {
            let mut commitment = [0; 32];
            commitment[..8].copy_from_slice(&leaf.to_le_bytes());
            let position = Position::new(leaf + 1).unwrap();
            frontier.push_grouping(leaf_hash(position, Micros(7), &Commitment(commitment)))
        });
        let groups = groups.collect();
        (frontier, groups)
    }

    #[test]
    fn the_worked_example_of_the_document_holds() {
        let bytes = worked();
        assert_eq!(LevelsHeader::parse(&bytes), Ok(LevelsHeader { ledger: ledger() }));
        let hashes: Vec<_> = LevelsHeader::hashes(&bytes[LEVELS_HEADER_BYTES..]).collect();
        let mut frontier = Frontier::new();
        let groups = (1..=600).filter_map(|n| {
            let leaf =
                leaf_hash(Position::new(n).unwrap(), Micros(1_800_000_000_000_000), &Commitment([0x11; 32]));
            frontier.push_grouping(leaf)
        });
        assert_eq!(hashes, groups.collect::<Vec<_>>());
        assert_eq!(LevelsHeader { ledger: ledger() }.encode(), bytes[..LEVELS_HEADER_BYTES]);
        assert_eq!(LevelsHeader::offset_of(hashes.len() as u64), bytes.len() as u64);
        assert!(Levels::of_groups(hashes).is_of(&frontier));
    }

    #[test]
    fn levels_are_of_the_tree_they_were_grown_with_and_of_no_other() {
        let (_, groups) = grown(70_400);
        for size in [0, 1, 255, 256, 257, 511, 512, 4_096, 65_535, 65_536, 65_792, 70_000] {
            let (tree, own) = grown(size);
            let levels = Levels::of_groups(own.clone());
            assert_eq!(own, groups[..own.len()], "{size}");
            assert!(levels.is_of(&tree), "{size}");
            assert_eq!(levels.row(2).len() as u64, size / 65_536, "{size}");
            assert!(
                !Levels::of_groups(groups[..=own.len()].iter().copied()).is_of(&tree),
                "one more than {size}"
            );
            if let Some((last, others)) = own.split_last() {
                assert!(!Levels::of_groups(others.iter().copied()).is_of(&tree), "one less than {size}");
                for changed in [0, own.len() / 2, own.len() - 1] {
                    let mut other = own.clone();
                    other[changed].0[5] ^= 1;
                    assert!(!Levels::of_groups(other).is_of(&tree), "{size}, group {changed} changed");
                }
                assert_eq!(levels.subtree(256 * (own.len() as u64 - 1), 8), Some(*last));
            }
        }
    }

    #[test]
    fn what_is_no_subtree_of_whole_groups_has_no_root() {
        let levels = Levels::of_groups(grown(1_024).1);
        for (first, height) in
            [(0, 7), (1, 8), (256, 9), (768, 9), (1_024, 8), (0, 11), (0, 63), (0, 64), (0, u32::MAX)]
        {
            assert_eq!(levels.subtree(first, height), None, "2^{height} from {first}");
        }
        assert!(levels.subtree(512, 9).is_some() && levels.subtree(0, 10).is_some());
        assert_eq!((levels.row(0), levels.row(2), levels.row(u32::MAX)), (&[][..], &[][..], &[][..]));
    }

    #[test]
    fn a_header_outside_of_its_limits_is_refused() {
        let refused = |at: usize, byte: u8| {
            let mut bytes = worked();
            bytes[at] = byte;
            LevelsHeader::parse(&bytes).unwrap_err()
        };
        assert_eq!(refused(0, b'b'), LevelsError::Magic { found: *b"bITACLVL" });
        assert_eq!(refused(8, 2), LevelsError::Format { found: 2 });
        assert_eq!(refused(10, 1), LevelsError::Flags { found: 1 });
        assert_eq!(refused(12, 2), LevelsError::Level { found: 2 });
        for length in 0..LEVELS_HEADER_BYTES {
            let refused = LevelsHeader::parse(&worked()[..length]);
            assert_eq!(refused, Err(LevelsError::Truncated { found: length as u64 }));
        }
    }
}

//! The range of positions in an archive: whole groups of 256 leaves of the tree.

use std::fmt;

use super::error::ArchiveError;
use crate::MAX_GROUP_ROWS;
use bitacora_formats::Position;
use bitacora_formats::limits::MAX_ARCHIVE_GROUPS;
use bitacora_formats::plain_number;
use bitacora_formats::{Generation, LedgerId};
use bitacora_formats::{TILE_HEIGHT, TILE_WIDTH};

/// Leaves of the groups that an archive is made of.
pub const GROUP_LEAVES: u64 = TILE_WIDTH as u64;

/// Events of one archive.
const MAX_EVENTS: u64 = (MAX_ARCHIVE_GROUPS * MAX_GROUP_ROWS) as u64;

/// The positions of one archive, both ends included: whole groups of [`GROUP_LEAVES`], at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchiveRange {
    first: Position,
    last: Position,
}

impl ArchiveRange {
    /// The range from `first` to `last`, both included.
    ///
    /// # Errors
    /// [`ArchiveError::Range`] unless it is whole groups, and no more than an archive takes.
    pub fn new(first: u64, last: u64) -> Result<Self, ArchiveError> {
        let error = ArchiveError::Range { first, last };
        let aligned = first % GROUP_LEAVES == 1 && last.is_multiple_of(GROUP_LEAVES) && first < last;
        if !aligned || last - first >= MAX_EVENTS {
            return Err(error);
        }
        let (first, last) = (Position::new(first).ok_or(error.clone())?, Position::new(last).ok_or(error)?);
        Ok(Self { first, last })
    }

    /// The first position.
    #[must_use]
    pub const fn first(self) -> Position {
        self.first
    }

    /// The last position.
    #[must_use]
    pub const fn last(self) -> Position {
        self.last
    }

    /// Returns the number of events.
    #[must_use]
    pub const fn events(self) -> u64 {
        self.last.get() - self.first.get() + 1
    }

    /// Returns the number of groups of [`GROUP_LEAVES`] leaves.
    #[must_use]
    pub const fn leaf_groups(self) -> u64 {
        self.events() / GROUP_LEAVES
    }

    /// The size of the tree before the first position.
    #[must_use]
    pub const fn tree_before(self) -> u64 {
        self.first.get() - 1
    }

    /// Returns `true` if the position is in the range.
    #[must_use]
    pub fn contains(self, position: Position) -> bool {
        (self.first..=self.last).contains(&position)
    }

    /// Returns `true` if a position is in both ranges.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The complete subtrees that the range is made of, from left to right: each the height of its root above the leaves.
    pub(super) fn subtrees(self) -> impl Iterator<Item = u32> {
        let mut start = self.tree_before();
        let end = self.last.get();
        std::iter::from_fn(move || {
            let left = end.checked_sub(start).filter(|left| *left > 0)?;
            let height = left.ilog2().min(if start == 0 { u64::BITS } else { start.trailing_zeros() });
            start += 1 << height;
            Some(height)
        })
    }

    /// The name of the archive of this range: `<ledger id>/g<generation>/<first>-<last>.bca`, of a later revision with `.r<revision>`
    /// before the ending.
    #[must_use]
    pub fn object_name(self, ledger: LedgerId, generation: Generation, revision: Revision) -> String {
        let stem = self.file_stem();
        match revision {
            Revision::FIRST => format!("{ledger}/g{generation}/{stem}.bca"),
            Revision(number) => format!("{ledger}/g{generation}/{stem}.r{number}.bca"),
        }
    }

    /// The range and revision of an archive, by the last part of its [`ArchiveRange::object_name`].
    #[must_use]
    pub fn of_object(name: &str) -> Option<(Self, Revision)> {
        let stem = name.strip_suffix(".bca")?;
        let (stem, revision) = match stem.split_once(".r") {
            None => (stem, Revision::FIRST),
            Some((stem, number)) => (stem, Revision::later(plain_number(number)?)?),
        };
        Some((Self::of_file_stem(stem)?, revision))
    }

    /// First and last position in twenty digits each, joined by `-`.
    #[must_use]
    pub fn file_stem(self) -> String {
        format!("{:020}-{:020}", self.first.get(), self.last.get())
    }

    /// The range that [`ArchiveRange::file_stem`] makes this text of.
    #[must_use]
    pub fn of_file_stem(stem: &str) -> Option<Self> {
        let (first, last) = stem.split_once('-')?;
        let range = Self::new(first.parse().ok()?, last.parse().ok()?).ok()?;
        (range.file_stem() == stem).then_some(range)
    }
}

/// The revision of an archive: it is packed again, of the same positions, each time that events of it expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u32);

impl Revision {
    /// The revision of an archive that was packed from its ledger.
    pub const FIRST: Self = Self(0);

    /// A revision behind the first one.
    #[must_use]
    pub fn later(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// The revision after this one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// The number, from 0.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<u32> for Revision {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl fmt::Display for ArchiveRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

const _: () = assert!((MAX_GROUP_ROWS as u64).is_multiple_of(GROUP_LEAVES) && TILE_HEIGHT == 8);

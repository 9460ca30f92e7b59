//! The part table of an archive: the kind, the lengths and the digest of each part.

use std::ops::Range;

use super::error::ArchiveError;
use super::header::ARCHIVE_HEADER_BYTES;
use super::index::MAX_INDEX_SHARDS;
use super::key::SEALED_OVERHEAD_BYTES;
use super::manifest::Manifest;
use super::term::ArchiveLabel;
use crate::MAX_GROUP_ROWS;
use bitacora_formats::Fields;
use bitacora_formats::Position;
use bitacora_formats::limits::{
    MAX_ARCHIVE_GROUPS, MAX_ARCHIVE_PART_BYTES, MAX_ARCHIVE_PARTS, MAX_FRAME_BODY_BYTES,
};
use bitacora_formats::{Codec, TREE_HASH_BYTES};

/// Bytes of one entry of the table.
pub const PART_ENTRY_BYTES: usize = 56;
/// Bytes of the state in one part; only the last part of it holds fewer.
pub const STATE_PART_BYTES: usize = 4 * 1_024 * 1_024;

/// Bytes of an entry before its digest. A part is sealed under them, among others.
pub(super) const ENTRY_HEAD_BYTES: usize = 24;
/// The number of index parts' labels for the times of groups.
pub(super) const TIMES_LABEL: u32 = 0;

/// The kind of a part. Retired numbers stay retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// A group of events, sealed.
    Events = 1,
    /// The roots of all groups of 256 leaves, in clear.
    Roots = 2,
    /// A piece of the index, sealed.
    Index = 3,
    /// A piece of the state that decides, sealed.
    State = 4,
}

impl PartKind {
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Events),
            2 => Some(Self::Roots),
            3 => Some(Self::Index),
            4 => Some(Self::State),
            _ => None,
        }
    }
}

/// One part, as the table says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartEntry {
    /// Its place in the table, from 0.
    pub number: u32,
    /// The kind of its contents.
    pub kind: PartKind,
    /// The codec that compressed its contents before they were sealed.
    pub codec: Codec,
    /// The number of events or of hashes of roots; for the index, the label's number; for the state, the number of the
    /// piece from 0.
    pub count: u32,
    /// Of events, the position of the first one; of state, the last event that is folded; of others, the archive's first position.
    pub position: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub stored_bytes: u32,
    /// Bytes once it is opened and decompressed.
    pub plain_bytes: u32,
    /// BLAKE3 of the bytes in the file.
    pub digest: [u8; 32],
}

impl PartEntry {
    /// Returns the range of the part's bytes in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.stored_bytes.into())
    }

    /// Begins to check the part's bytes against its digest, piece by piece.
    #[must_use]
    pub fn checked(&self) -> PartCheck<'_> {
        PartCheck { entry: self, hasher: blake3::Hasher::new(), found: 0 }
    }

    /// Checks the part's bytes against its digest.
    ///
    /// # Errors
    /// [`ArchiveError::Digest`] for any other bytes.
    pub fn check(&self, stored: &[u8]) -> Result<(), ArchiveError> {
        let mut check = self.checked();
        check.take(stored);
        check.finish()
    }

    /// The entry's bytes before its digest.
    pub(super) fn head(&self) -> [u8; ENTRY_HEAD_BYTES] {
        let mut bytes = [0; ENTRY_HEAD_BYTES];
        let fields = [self.kind as u8, self.codec.number(), 0, 0]
            .into_iter()
            .chain(self.count.to_le_bytes())
            .chain(self.position.to_le_bytes())
            .chain(self.stored_bytes.to_le_bytes())
            .chain(self.plain_bytes.to_le_bytes());
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    fn parse(number: u32, offset: u64, bytes: &[u8; PART_ENTRY_BYTES]) -> Result<Self, ArchiveError> {
        let part = |problem| ArchiveError::Part { number, problem };
        let mut fields = Fields::new(bytes);
        let mut read = || -> Result<_, bitacora_formats::ShortField> {
            let (kind, codec, reserved) = (fields.u8()?, fields.u8()?, fields.u16()?);
            let (count, position) = (fields.u32()?, fields.u64()?);
            let (stored_bytes, plain_bytes) = (fields.u32()?, fields.u32()?);
            Ok((kind, codec, reserved, count, position, stored_bytes, plain_bytes, fields.bytes()?))
        };
        let (kind, codec, reserved, count, position, stored_bytes, plain_bytes, digest) =
            read().map_err(|_| part("its entry is cut short"))?;
        let kind = PartKind::from_number(kind).ok_or(part("a kind that this version does not know"))?;
        let codec = Codec::from_number(codec).ok_or(part("a codec that this version does not know"))?;
        if reserved != 0 {
            return Err(part("what is reserved is not zero"));
        }
        let entry = Self { number, kind, codec, count, position, offset, stored_bytes, plain_bytes, digest };
        entry.check_sizes().map_err(part)?;
        Ok(entry)
    }

    /// Checks that a part of its kind can have these lengths.
    pub(super) fn check_sizes(&self) -> Result<(), &'static str> {
        let (stored, plain) = (self.stored_bytes as usize, self.plain_bytes as usize);
        let overhead = if self.kind == PartKind::Roots { 0 } else { SEALED_OVERHEAD_BYTES };
        let packed = stored.checked_sub(overhead).ok_or("shorter than its seal")?;
        let takes_codec = matches!(self.kind, PartKind::Index | PartKind::State);
        let max = if takes_codec { MAX_FRAME_BODY_BYTES } else { MAX_ARCHIVE_PART_BYTES };
        if plain > max || packed > plain {
            return Err("larger than any part, or than what it holds");
        }
        match self.codec {
            Codec::Stored if packed == plain => Ok(()),
            Codec::Stored => Err("another length than what it holds"),
            Codec::Zstd | Codec::ZstdDictionary1 if takes_codec && packed < plain => Ok(()),
            Codec::Zstd | Codec::ZstdDictionary1 => Err("a codec that parts of its kind do not have"),
        }
    }
}

/// Compares a part's bytes, as they are read, with its digest.
pub struct PartCheck<'a> {
    entry: &'a PartEntry,
    hasher: blake3::Hasher,
    found: u64,
}

impl PartCheck<'_> {
    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.found = self.found.saturating_add(bytes.len() as u64);
    }

    /// Once all bytes were taken.
    ///
    /// # Errors
    /// [`ArchiveError::Digest`] unless they are the part's.
    pub fn finish(self) -> Result<(), ArchiveError> {
        let same = self.found == u64::from(self.entry.stored_bytes)
            && self.hasher.finalize() == blake3::Hash::from(self.entry.digest);
        let number = self.entry.number;
        if same { Ok(()) } else { Err(ArchiveError::Digest { what: format!("part {number}") }) }
    }
}

/// All parts of an archive, in the order in which they lie in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartTable {
    entries: Vec<PartEntry>,
    groups: usize,
}

impl PartTable {
    /// Reads the table of the archive with this manifest, which a signature of the ledger covers.
    ///
    /// # Errors
    /// [`ArchiveError::Digest`] unless these are the bytes that the manifest names, and an [`ArchiveError`] for a table that
    /// is not one of such an archive.
    pub fn parse(bytes: &[u8], manifest: &Manifest) -> Result<Self, ArchiveError> {
        let found = *blake3::hash(bytes).as_bytes();
        if bytes.len() as u64 != manifest.table.bytes || found != manifest.table.digest {
            return Err(ArchiveError::Digest { what: "the part table".to_owned() });
        }
        let (chunks, rest) = bytes.as_chunks::<PART_ENTRY_BYTES>();
        if !rest.is_empty() || chunks.len() > MAX_ARCHIVE_PARTS {
            return Err(ArchiveError::TooLarge { what: "the part table" });
        }
        let mut entries = Vec::with_capacity(chunks.len());
        let mut offset = ARCHIVE_HEADER_BYTES as u64;
        for (number, chunk) in (0..).zip(chunks) {
            let entry = PartEntry::parse(number, offset, chunk)?;
            offset = entry.range().end;
            entries.push(entry);
        }
        let table = Self::new(entries);
        table.check(manifest)?;
        Ok(table)
    }

    pub(super) fn new(entries: Vec<PartEntry>) -> Self {
        let groups = entries.iter().take_while(|entry| entry.kind == PartKind::Events).count();
        Self { entries, groups }
    }

    /// The table's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.entries.iter().flat_map(|entry| entry.head().into_iter().chain(entry.digest)).collect()
    }

    /// All parts.
    #[must_use]
    pub fn entries(&self) -> &[PartEntry] {
        &self.entries
    }

    /// The groups of events, in order.
    #[must_use]
    pub fn groups(&self) -> &[PartEntry] {
        self.entries.get(..self.groups).unwrap_or_default()
    }

    /// The roots of groups of leaves.
    #[must_use]
    pub fn roots(&self) -> Option<&PartEntry> {
        self.entries.get(self.groups)
    }

    /// The parts of the state, in order.
    pub fn state(&self) -> impl Iterator<Item = &PartEntry> {
        self.entries.iter().filter(|entry| entry.kind == PartKind::State)
    }

    /// The times of the groups.
    #[must_use]
    pub fn times(&self) -> Option<&PartEntry> {
        self.index(TIMES_LABEL).first()
    }

    /// The pieces of the index of one label, in order; none if no event has the label.
    #[must_use]
    pub fn shards(&self, label: ArchiveLabel) -> &[PartEntry] {
        self.index(label.number().into())
    }

    /// The group that holds a position: its place among the groups.
    #[must_use]
    pub fn group_of(&self, position: Position) -> Option<usize> {
        let groups = self.groups();
        let after = groups.partition_point(|entry| entry.position <= position.get());
        let index = after.checked_sub(1)?;
        let entry = groups.get(index)?;
        (position.get() - entry.position < u64::from(entry.count)).then_some(index)
    }

    /// Returns the offset in the file at which the last part ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.entries.last().map_or(ARCHIVE_HEADER_BYTES as u64, |entry| entry.range().end)
    }

    fn index(&self, label: u32) -> &[PartEntry] {
        let is_before = |entry: &PartEntry| {
            entry.kind < PartKind::Index || entry.kind == PartKind::Index && entry.count < label
        };
        let from = self.entries.partition_point(is_before);
        let rest = self.entries.get(from..).unwrap_or_default();
        let shards = rest.iter().take_while(|entry| entry.kind == PartKind::Index && entry.count == label);
        let count = shards.count();
        rest.get(..count).unwrap_or_default()
    }

    /// Checks that the parts are those of an archive with this manifest, in their order.
    fn check(&self, manifest: &Manifest) -> Result<(), ArchiveError> {
        let wrong = |number: usize, problem| {
            Err(ArchiveError::Part { number: u32::try_from(number).unwrap_or(u32::MAX), problem })
        };
        if !self.entries.is_sorted_by_key(|entry| entry.kind) {
            return wrong(0, "the parts do not lie in the order of their kinds");
        }
        if self.groups > MAX_ARCHIVE_GROUPS {
            return Err(ArchiveError::TooManyParts);
        }
        let range = manifest.range;
        let mut due = range.first().get();
        for (number, group) in self.groups().iter().enumerate() {
            if group.position != due || !(1..=MAX_GROUP_ROWS).contains(&(group.count as usize)) {
                return wrong(number, "its events do not follow those before it");
            }
            due = due.saturating_add(group.count.into());
        }
        if due != range.last().get() + 1 {
            return wrong(self.groups, "the events before it are not all that the manifest names");
        }
        let first = range.first().get();
        let is_roots = |entry: &PartEntry| {
            let hashes = u64::from(entry.count);
            entry.kind == PartKind::Roots
                && hashes == range.leaf_groups()
                && u64::from(entry.stored_bytes) == hashes * TREE_HASH_BYTES as u64
                && entry.position == first
        };
        let roots = self.entries.iter().filter(|entry| entry.kind == PartKind::Roots).count();
        if roots != 1 || !self.roots().is_some_and(is_roots) {
            return wrong(self.groups, "it is not the roots of these events");
        }
        self.check_index(first)?;
        self.check_state(manifest)
    }

    fn check_index(&self, first: u64) -> Result<(), ArchiveError> {
        let parts = self.entries.iter().filter(|entry| entry.kind == PartKind::Index);
        let parts: Vec<_> = parts.collect();
        let labels = u32::from(ArchiveLabel::MAX_NUMBER);
        let wrong = parts.iter().find(|entry| entry.position != first || entry.count > labels);
        let is_sorted = parts.is_sorted_by_key(|entry| entry.count);
        if let Some(entry) = wrong.or_else(|| parts.first().filter(|_| !is_sorted)) {
            let problem = "it is no piece of an index of these events";
            return Err(ArchiveError::Part { number: entry.number, problem });
        }
        for label in TIMES_LABEL..=labels {
            let shards = self.index(label);
            let whole = match label {
                TIMES_LABEL => shards.len() == 1,
                _ => shards.is_empty() || shards.len().is_power_of_two() && shards.len() <= MAX_INDEX_SHARDS,
            };
            if !whole {
                let number = shards.first().map_or(0, |entry| entry.number);
                let problem = "its label has another number of pieces than an index has";
                return Err(ArchiveError::Part { number, problem });
            }
        }
        Ok(())
    }

    fn check_state(&self, manifest: &Manifest) -> Result<(), ArchiveError> {
        let (position, mut left) =
            manifest.state.map_or((0, None), |state| (state.position.get(), Some(state.bytes)));
        for (piece, entry) in (0..).zip(self.state()) {
            let bytes = left.filter(|bytes| *bytes > 0 || piece == 0);
            let expected = bytes.map(|bytes| bytes.min(STATE_PART_BYTES as u64));
            let is_next = entry.count == piece && entry.position == position;
            if !is_next || expected != Some(u64::from(entry.plain_bytes)) {
                let problem = "it is not the next piece of the state";
                return Err(ArchiveError::Part { number: entry.number, problem });
            }
            left = left.map(|bytes| bytes - expected.unwrap_or_default());
        }
        let has_state = self.state().next().is_some();
        if left.unwrap_or(0) == 0 && has_state == manifest.state.is_some() {
            Ok(())
        } else {
            Err(ArchiveError::Contents { what: "the state" })
        }
    }
}

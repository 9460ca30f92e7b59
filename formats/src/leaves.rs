//! The leaves of one segment in clear, from which a tree is made without keys.
//!
//! Layout: `docs/formats/leaves.md`.
//!
//! Nothing here is under a check of its own: every byte follows from the segment's header and from the roots in its
//! frames, and is compared with them.

use crate::fields::{Fields, ShortField};
use crate::ids::{Commitment, LedgerId, Micros, Position, SegmentNumber, TreeHash};
use crate::tree::leaf_hash;

/// The magic that a file of leaves begins with.
pub const LEAVES_MAGIC: [u8; 8] = *b"BITACLVS";
/// The one format that is written, and the one that can be read.
pub const LEAVES_FORMAT: u16 = 1;
/// Bytes of the header: as many as an entry has.
pub const LEAVES_HEADER_BYTES: usize = LEAF_ENTRY_BYTES;
/// Bytes of one entry: the frame's time and the commitment. The position follows from the entry's place.
pub const LEAF_ENTRY_BYTES: usize = 8 + 32;

/// An error in the header of a file of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeavesError {
    /// Fewer bytes than the header has.
    #[error("found {found} bytes of a header of leaves, expected {LEAVES_HEADER_BYTES}")]
    Truncated {
        /// Bytes there are.
        found: u64,
    },
    /// No file of leaves begins so.
    #[error("found {}, expected the first bytes of a file of leaves", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found leaves of format {found}, expected {LEAVES_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The flags of format 1 are all zero.
    #[error("found flags {found} of leaves, expected 0")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// Segments and positions count from 1.
    #[error("found segment or first position 0, expected 1 or later")]
    Impossible,
}

/// The beginning of a file of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeavesHeader {
    /// The ledger.
    pub ledger: LedgerId,
    /// The segment whose events these are.
    pub segment: SegmentNumber,
    /// The position of the first of them.
    pub first_position: Position,
}

impl LeavesHeader {
    /// Reads the header that the bytes begin with; entries follow it.
    ///
    /// # Errors
    /// A [`LeavesError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, LeavesError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != LEAVES_MAGIC {
            return Err(LeavesError::Magic { found });
        }
        let found = fields.u16()?;
        if found != LEAVES_FORMAT {
            return Err(LeavesError::Format { found });
        }
        let found = fields.u16()?;
        if found != 0 {
            return Err(LeavesError::Flags { found });
        }
        let segment = SegmentNumber(fields.u32()?);
        let ledger = LedgerId(fields.bytes()?);
        let first_position = Position::new(fields.u64()?).ok_or(LeavesError::Impossible)?;
        if segment.0 == 0 {
            return Err(LeavesError::Impossible);
        }
        Ok(Self { ledger, segment, first_position })
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; LEAVES_HEADER_BYTES] {
        let mut bytes = [0; LEAVES_HEADER_BYTES];
        let fields = LEAVES_MAGIC
            .into_iter()
            .chain(LEAVES_FORMAT.to_le_bytes())
            .chain([0; 2])
            .chain(self.segment.0.to_le_bytes())
            .chain(self.ledger.0)
            .chain(self.first_position.get().to_le_bytes());
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    /// Returns the offset of an event's entry in the file, in bytes; `None` for an event before the first.
    #[must_use]
    pub fn offset_of(&self, position: Position) -> Option<u64> {
        let index = position.get().checked_sub(self.first_position.get())?;
        index.checked_add(1)?.checked_mul(LEAF_ENTRY_BYTES as u64)
    }

    /// Returns the length in bytes of a file with this many entries.
    #[must_use]
    pub const fn file_bytes(entries: u64) -> u64 {
        entries.saturating_add(1).saturating_mul(LEAF_ENTRY_BYTES as u64)
    }

    /// Returns the number of whole entries in a file of this many bytes.
    #[must_use]
    pub const fn entries_in(file_bytes: u64) -> u64 {
        (file_bytes / LEAF_ENTRY_BYTES as u64).saturating_sub(1)
    }
}

impl From<ShortField> for LeavesError {
    fn from(ended: ShortField) -> Self {
        Self::Truncated { found: ended.found }
    }
}

/// One event as the tree knows it, without its position. Any bytes of the right length are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafEntry {
    /// The time of the event's frame.
    pub time: Micros,
    /// The commitment to its record.
    pub commitment: Commitment,
}

impl LeafEntry {
    /// The entry with these bytes.
    #[must_use]
    pub fn decode(bytes: &[u8; LEAF_ENTRY_BYTES]) -> Self {
        let (mut time, mut commitment) = ([0; 8], [0; 32]);
        time.iter_mut().chain(&mut commitment).zip(bytes).for_each(|(to, from)| *to = *from);
        Self { time: Micros(u64::from_be_bytes(time)), commitment: Commitment(commitment) }
    }

    /// Returns the entries in these bytes, in order; an incomplete entry at the end is left out.
    pub fn all(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> + '_ {
        let (entries, _) = bytes.as_chunks();
        entries.iter().map(Self::decode)
    }

    /// Appends the entry's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.time.0.to_be_bytes());
        out.extend_from_slice(&self.commitment.0);
    }

    /// The leaf of the event at this position.
    #[must_use]
    pub fn hash(&self, position: Position) -> TreeHash {
        leaf_hash(position, self.time, &self.commitment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    fn worked() -> Vec<u8> {
        hex_block(include_str!("../../docs/formats/leaves.md"), 0)
    }

    fn header() -> LeavesHeader {
        let ledger = LedgerId(std::array::from_fn(|n| 0xa0 + u8::try_from(n).unwrap()));
        LeavesHeader { ledger, segment: SegmentNumber(3), first_position: Position::FIRST }
    }

    #[test]
    fn the_worked_example_of_the_document_holds() {
        let bytes = worked();
        let decoded = LeavesHeader::parse(&bytes).unwrap();
        assert_eq!(decoded, header());
        let entries: Vec<_> = LeafEntry::all(&bytes[LEAVES_HEADER_BYTES..]).collect();
        let time = Micros(1_800_000_000_000_000);
        let expected = [0x11, 0x22].map(|byte| LeafEntry { time, commitment: Commitment([byte; 32]) });
        assert_eq!(entries, expected);

        let mut encoded = decoded.encode().to_vec();
        entries.iter().for_each(|entry| entry.encode(&mut encoded));
        assert_eq!(encoded, bytes);
        assert_eq!((LeavesHeader::file_bytes(2), LeavesHeader::entries_in(120)), (bytes.len() as u64, 2));
    }

    #[test]
    fn the_leaves_of_the_example_are_those_of_the_tree_page() {
        let hashes = hex_block(include_str!("../../docs/formats/tree.md"), 1);
        let bytes = worked();
        let leaves = LeafEntry::all(&bytes[LEAVES_HEADER_BYTES..]).zip(1..);
        for ((entry, number), expected) in leaves.zip(hashes.chunks(32)) {
            assert_eq!(entry.hash(Position::new(number).unwrap()).0, expected);
        }
    }

    #[test]
    fn an_entry_stands_where_its_position_says() {
        let header = LeavesHeader { first_position: Position::new(100).unwrap(), ..header() };
        let offset = |position| header.offset_of(Position::new(position).unwrap());
        assert_eq!([99, 100, 101, 356].map(offset), [None, Some(40), Some(80), Some(10_280)]);
        assert_eq!(offset(u64::MAX), None);
        let whole = [0, 39, 40, 79, 80, 119].map(LeavesHeader::entries_in);
        assert_eq!(whole, [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_header_outside_of_its_limits_is_refused() {
        let refused = |at: usize, byte: u8| {
            let mut bytes = worked();
            bytes[at] = byte;
            LeavesHeader::parse(&bytes).unwrap_err()
        };
        assert_eq!(refused(7, b's'), LeavesError::Magic { found: *b"BITACLVs" });
        assert_eq!(refused(8, 2), LeavesError::Format { found: 2 });
        assert_eq!(refused(11, 1), LeavesError::Flags { found: 256 });
        assert_eq!(refused(12, 0), LeavesError::Impossible);
        assert_eq!(refused(32, 0), LeavesError::Impossible);
    }

    #[test]
    fn a_header_cut_anywhere_is_refused() {
        for length in 0..LEAVES_HEADER_BYTES {
            let refused = LeavesHeader::parse(&worked()[..length]);
            assert_eq!(refused, Err(LeavesError::Truncated { found: length as u64 }));
        }
    }

    #[test]
    fn every_byte_of_the_header_counts() {
        for at in 0..LEAVES_HEADER_BYTES {
            let mut bytes = worked();
            bytes[at] ^= 0x40;
            assert_ne!(LeavesHeader::parse(&bytes).ok(), Some(header()), "byte {at}");
        }
    }

    #[test]
    fn an_entry_that_is_not_whole_is_none() {
        let bytes = worked();
        let entries = &bytes[LEAVES_HEADER_BYTES..];
        for length in 0..=entries.len() {
            assert_eq!(LeafEntry::all(&entries[..length]).len(), length / LEAF_ENTRY_BYTES);
        }
    }
}

//! The tree heads of one segment, in clear, each with the event that names its stored bytes.
//!
//! Layout: `docs/formats/heads.md`.
//!
//! The checksum tells rot from a write cut short. A head is believed because of its signature, and its event because
//! of the leaf that it has in the tree.

mod chain_head;

use crate::Secret;
use crate::damage::is_all_zeros;
use crate::fields::{Fields, ShortField};
use crate::ids::{LedgerId, Position, SegmentNumber};
use crate::limits::{MAX_HEADED_RECORD_BYTES, MAX_NOTE_BYTES};
pub use chain_head::{ChainHead, HEADED_KIND, HEADED_STREAM, HeadedError, service_source};

/// The magic that a file of heads begins with.
pub const HEADS_MAGIC: [u8; 8] = *b"BITACHDS";
/// The one format that is written, and the one that can be read.
pub const HEADS_FORMAT: u16 = 1;
/// Bytes of the header.
pub const HEADS_HEADER_BYTES: usize = 8 + 2 + 2 + 4 + 16;
/// Bytes of the field that says how many follow it.
const LENGTH_BYTES: usize = 4;
/// Bytes of an entry beside its record and its note: length, position, blind, two lengths, checksum.
const ENTRY_OVERHEAD_BYTES: usize = LENGTH_BYTES + 8 + 32 + 4 + 4 + CRC_BYTES;
const CRC_BYTES: usize = 4;
/// The longest entry, in bytes.
pub const MAX_HEAD_ENTRY_BYTES: usize = ENTRY_OVERHEAD_BYTES + MAX_HEADED_RECORD_BYTES + MAX_NOTE_BYTES;

/// An error in a file of heads, or in an entry of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadsError {
    /// Fewer bytes than the header has, or nothing but zeros: a file that was never written.
    #[error("found {found} bytes of a header of heads, expected {HEADS_HEADER_BYTES}; it holds no head")]
    Unwritten {
        /// Bytes there are, without zeros to the end.
        found: usize,
    },
    /// No file of heads begins so.
    #[error("found {}, expected the first bytes of a file of heads", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found heads of format {found}, expected {HEADS_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The flags of format 1 are all zero.
    #[error("found flags {found} of heads, expected 0")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// Segments and positions count from 1.
    #[error("found segment or position 0, expected 1 or later")]
    Impossible,
    /// A part of an entry is longer than it may be.
    #[error("{part} of {bytes} bytes in an entry of heads; at most {max} are taken")]
    TooLarge {
        /// The part that is too long.
        part: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The lengths in an entry do not add up.
    #[error("an entry of heads whose lengths do not add up; it is not what was written")]
    Lengths,
    /// The checksum is another one.
    #[error(
        "found checksum {found:08x} of an entry of heads, expected {expected:08x}; it is not what was written"
    )]
    Checksum {
        /// The checksum of the bytes.
        expected: u32,
        /// The checksum that is stored.
        found: u32,
    },
    /// The note is not UTF-8.
    #[error("a note that is not utf-8 in an entry of heads; it is not what was written")]
    Text,
}

/// The beginning of a file of heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadsHeader {
    /// The ledger.
    pub ledger: LedgerId,
    /// The segment that the events of these heads lie in.
    pub segment: SegmentNumber,
}

impl HeadsHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADS_HEADER_BYTES] {
        let mut bytes = [0; HEADS_HEADER_BYTES];
        let fields = HEADS_MAGIC
            .into_iter()
            .chain(HEADS_FORMAT.to_le_bytes())
            .chain([0; 2])
            .chain(self.segment.0.to_le_bytes())
            .chain(self.ledger.0);
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    /// Reads the header that a file begins with.
    ///
    /// # Errors
    /// A [`HeadsError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeadsError> {
        let mut fields = Fields::new(bytes);
        let unwritten = |_: ShortField| HeadsError::Unwritten { found: bytes.len() };
        let found = fields.bytes().map_err(unwritten)?;
        if is_all_zeros(bytes) {
            return Err(HeadsError::Unwritten { found: 0 });
        }
        if found != HEADS_MAGIC {
            return Err(HeadsError::Magic { found });
        }
        let found = fields.u16().map_err(unwritten)?;
        if found != HEADS_FORMAT {
            return Err(HeadsError::Format { found });
        }
        let found = fields.u16().map_err(unwritten)?;
        if found != 0 {
            return Err(HeadsError::Flags { found });
        }
        let segment = SegmentNumber(fields.u32().map_err(unwritten)?);
        let ledger = LedgerId(fields.bytes().map_err(unwritten)?);
        if segment.0 == 0 { Err(HeadsError::Impossible) } else { Ok(Self { ledger, segment }) }
    }
}

/// One tree head, with the event that was appended for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadEntry {
    /// The position of the event `ledger.headed`; the head covers it.
    pub position: Position,
    /// The blind of that event's commitment.
    pub blind: Secret,
    /// That event's record.
    pub record: Vec<u8>,
    /// The signed note of the head.
    pub note: String,
}

impl HeadEntry {
    /// Appends the entry's bytes.
    ///
    /// # Errors
    /// [`HeadsError::TooLarge`]; `out` is as it was then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), HeadsError> {
        check_size("a record", self.record.len(), MAX_HEADED_RECORD_BYTES)?;
        check_size("a note", self.note.len(), MAX_NOTE_BYTES)?;
        let start = out.len();
        let bytes = ENTRY_OVERHEAD_BYTES + self.record.len() + self.note.len();
        out.extend_from_slice(&length(bytes - LENGTH_BYTES));
        out.extend_from_slice(&self.position.get().to_le_bytes());
        out.extend_from_slice(self.blind.expose());
        out.extend_from_slice(&length(self.record.len()));
        out.extend_from_slice(&self.record);
        out.extend_from_slice(&length(self.note.len()));
        out.extend_from_slice(self.note.as_bytes());
        let checksum = crc32fast::hash(out.split_at(start).1);
        out.extend_from_slice(&checksum.to_le_bytes());
        Ok(())
    }

    /// Returns the entry that the bytes begin with, and its length in bytes; `None` if they end before it does.
    fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadsError> {
        let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        let max = MAX_HEAD_ENTRY_BYTES - LENGTH_BYTES;
        check_size("an entry", length, max)?;
        let Some((content, _)) = rest.split_at_checked(length) else { return Ok(None) };
        let entry = Self::decode_content(bytes, content)?;
        Ok(Some((entry, LENGTH_BYTES + length)))
    }

    /// Decodes an entry. Its first field counts the bytes of `content`; `bytes` begin with that field.
    fn decode_content(bytes: &[u8], content: &[u8]) -> Result<Self, HeadsError> {
        let mut fields = Fields::new(content);
        let (position, mut blind) = (fields.u64()?, fields.bytes()?);
        let record_bytes = fields.u32()?;
        let record = fields.take(record_bytes)?;
        let note_bytes = fields.u32()?;
        let note = fields.take(note_bytes)?;
        let found = fields.u32()?;
        if !fields.at_end() {
            return Err(HeadsError::Lengths);
        }
        check_size("a record", record.len(), MAX_HEADED_RECORD_BYTES)?;
        check_size("a note", note.len(), MAX_NOTE_BYTES)?;
        let checked = bytes.split_at_checked(LENGTH_BYTES + content.len() - CRC_BYTES);
        let expected = crc32fast::hash(checked.ok_or(HeadsError::Lengths)?.0);
        if expected != found {
            return Err(HeadsError::Checksum { expected, found });
        }
        Ok(Self {
            position: Position::new(position).ok_or(HeadsError::Impossible)?,
            blind: Secret::take(&mut blind),
            record: record.to_vec(),
            note: std::str::from_utf8(note).map_err(|_| HeadsError::Text)?.to_owned(),
        })
    }
}

/// The next step in a file of heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadStep {
    /// An entry, whole and as it was written.
    Entry(HeadEntry),
    /// Nothing, or zeros to the end of the file.
    End,
    /// The beginning of one entry, which nothing follows: a write that was cut short, or is under way. It is no entry.
    Torn(HeadsError),
    /// Something else; entries may follow it, which are not read.
    Corrupt(HeadsError),
}

/// Reads the entries of a file of heads in their order.
#[derive(Debug, Clone)]
pub struct HeadsWalk<'a> {
    file: &'a [u8],
    offset: usize,
}

impl<'a> HeadsWalk<'a> {
    /// Begins with the first entry of a file, whose header was read with [`HeadsHeader::parse`].
    #[must_use]
    pub fn new(file: &'a [u8]) -> Self {
        Self { file, offset: HEADS_HEADER_BYTES }
    }

    /// Returns the offset of the next entry, in bytes: after the end, the offset at which the next one is to be written.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The next entry. After anything else than an entry every step says the same.
    pub fn step(&mut self) -> HeadStep {
        let rest = self.file.get(self.offset..).unwrap_or_default();
        if is_all_zeros(rest) {
            return HeadStep::End;
        }
        let error = match HeadEntry::decode(rest) {
            Ok(Some((entry, bytes))) => {
                self.offset += bytes;
                return HeadStep::Entry(entry);
            }
            Ok(None) => HeadsError::Lengths,
            Err(error) => error,
        };
        // One write is cut short at most, so a longer rest was never one; and nothing is written behind it.
        if rest.len() < MAX_HEAD_ENTRY_BYTES && !has_entry_inside(rest) {
            HeadStep::Torn(error)
        } else {
            HeadStep::Corrupt(error)
        }
    }
}

/// Returns `true` if an entry begins anywhere after the first byte.
fn has_entry_inside(bytes: &[u8]) -> bool {
    (1..bytes.len()).any(|at| matches!(HeadEntry::decode(bytes.split_at(at).1), Ok(Some(_))))
}

fn check_size(part: &'static str, bytes: usize, max: usize) -> Result<(), HeadsError> {
    if bytes > max { Err(HeadsError::TooLarge { part, bytes, max }) } else { Ok(()) }
}

/// Every length here is below the limit of an entry.
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

impl From<ShortField> for HeadsError {
    fn from(_: ShortField) -> Self {
        Self::Lengths
    }
}

#[cfg(test)]
mod tests;

//! What is left of a segment whose events lie in archives: its header, its footer, and how it ended.
//! Layout: `docs/formats/released.md`.

use crate::chain::ChainTip;
use crate::damage::DamageKind;
use crate::fields::{Ended, Fields};
use crate::footer::{FOOTER_BYTES, FooterError, SegmentFooter};
use crate::frame::CRC_BYTES;
use crate::ids::{Micros, Position};
use crate::segment::{MAX_SEGMENT_HEADER_BYTES, SegmentError, SegmentHeader};
use crate::walk::SegmentEnd;

/// How the file of a released segment begins.
pub const RELEASED_MAGIC: [u8; 8] = *b"BITACREL";
/// The one format that is written, and the one that can be read.
pub const RELEASED_FORMAT: u16 = 1;
/// Set where a footer follows the header.
const HAS_FOOTER: u16 = 1;
/// Bytes before the segment's header.
const FIXED_BYTES: usize = 40;
/// Bytes of the largest file of a released segment.
pub const MAX_RELEASED_BYTES: usize = FIXED_BYTES + MAX_SEGMENT_HEADER_BYTES + FOOTER_BYTES + CRC_BYTES;

/// A segment without its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedSegment {
    /// Its header, as it was.
    pub header: SegmentHeader,
    /// The position of its last event.
    pub last_position: Position,
    /// The time of its first frame.
    pub first_time: Micros,
    /// The time of its last frame.
    pub last_time: Micros,
    /// Its footer, if it had one.
    pub footer: Option<SegmentFooter>,
}

/// Why bytes are not the file of a released segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReleasedError {
    /// Other bytes than the file's fields take.
    #[error("{needed} bytes of a released segment expected, {found} found")]
    Length {
        /// Bytes its fields take, as far as is known.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// It begins otherwise.
    #[error("a released segment's first bytes expected, {} found", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("released segment format {RELEASED_FORMAT} expected, {found} found; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// Flags that format 1 does not have.
    #[error("flags 0 or {HAS_FOOTER} expected, {found} found")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// The checksum is not that of the bytes.
    #[error("checksum {expected:08x} of a released segment expected, {found:08x} found")]
    Crc {
        /// The checksum stored with the bytes.
        expected: u32,
        /// The checksum that the bytes have.
        found: u32,
    },
    /// The segment's header cannot be read.
    #[error(transparent)]
    Header(#[from] SegmentError),
    /// The segment's footer cannot be read.
    #[error(transparent)]
    Footer(#[from] FooterError),
    /// A field that contradicts the header or the footer.
    #[error("{field} {expected} expected, {found} found")]
    Contradiction {
        /// The field's name in the layout.
        field: &'static str,
        /// What the others make of it.
        expected: u64,
        /// What it is.
        found: u64,
    },
}

impl ReleasedSegment {
    /// Reads a whole file.
    ///
    /// # Errors
    /// A [`ReleasedError`] for the first thing that is wrong. The header's certificate is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReleasedError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != RELEASED_MAGIC {
            return Err(ReleasedError::Magic { found });
        }
        let found = fields.u16()?;
        if found != RELEASED_FORMAT {
            return Err(ReleasedError::Format { found });
        }
        let flags = fields.u16()?;
        if flags & !HAS_FOOTER != 0 {
            return Err(ReleasedError::Flags { found: flags });
        }
        let header_bytes = fields.u32()?;
        let last_position = fields.u64()?;
        let (first_time, last_time) = (Micros(fields.u64()?), Micros(fields.u64()?));
        let header = fields.take(header_bytes)?;
        let footer_bytes = if flags == HAS_FOOTER { FOOTER_BYTES } else { 0 };
        let footer = fields.take(u32::try_from(footer_bytes).unwrap_or(u32::MAX))?;
        let expected = fields.u32()?;
        if !fields.at_end() {
            let needed = FIXED_BYTES + header.len() + footer.len() + CRC_BYTES;
            return Err(ReleasedError::Length { needed: needed as u64, found: bytes.len() as u64 });
        }
        let (checked, _) = bytes.split_at(bytes.len() - CRC_BYTES);
        let found = crc32fast::hash(checked);
        if expected != found {
            return Err(ReleasedError::Crc { expected, found });
        }
        let parsed = SegmentHeader::parse(header)?;
        agrees("header bytes", parsed.stored_bytes() as u64, header_bytes.into())?;
        let footer = if footer.is_empty() { None } else { Some(SegmentFooter::parse(footer)?) };
        agrees("last position", parsed.first_position.get().max(last_position), last_position)?;
        agrees("last time", first_time.0.max(last_time.0), last_time.0)?;
        if let Some(footer) = &footer {
            agrees("last position", footer.last_position.get(), last_position)?;
            agrees("first time", footer.first_time.0, first_time.0)?;
            agrees("last time", footer.last_time.0, last_time.0)?;
            agrees("first position", parsed.first_position.get(), footer.first_position.get())?;
            agrees("tree size", last_position, footer.tree_size)?;
        }
        let last_position = Position::new(last_position).unwrap_or(parsed.first_position);
        Ok(Self { header: parsed, last_position, first_time, last_time, footer })
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let flags = if self.footer.is_some() { HAS_FOOTER } else { 0 };
        let header_bytes = u32::try_from(self.header.stored_bytes()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(MAX_RELEASED_BYTES);
        bytes.extend_from_slice(&RELEASED_MAGIC);
        bytes.extend_from_slice(&RELEASED_FORMAT.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&header_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.last_position.get().to_le_bytes());
        bytes.extend_from_slice(&self.first_time.0.to_le_bytes());
        bytes.extend_from_slice(&self.last_time.0.to_le_bytes());
        self.header.encode(&mut bytes);
        if let Some(footer) = &self.footer {
            footer.encode(&mut bytes);
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// How the segment ended, as far as the header of the next one goes on from there: with positions and tree as both say, and
    /// with a link that this segment's own key has signed.
    ///
    /// # Errors
    /// The [`DamageKind`] of the first thing that does not fit.
    pub fn end_before(&self, next: &SegmentHeader) -> Result<SegmentEnd, DamageKind> {
        let tip: ChainTip = next.previous;
        let tree_root = self.footer.map_or_else(|| next.frontier.root(), |footer| footer.tree_root);
        let end = SegmentEnd {
            ledger: self.header.ledger,
            generation: self.header.generation,
            epoch: self.header.epoch,
            number: self.header.number,
            next_position: self.last_position.next().unwrap_or(self.last_position),
            time: self.last_time,
            tree_size: self.last_position.get(),
            tree_root,
            tip,
        };
        end.check_next(next, self.last_time)?;
        if self.footer.is_some_and(|footer| footer.signature != tip.signature) {
            return Err(DamageKind::PreviousSignature);
        }
        if tip.is_signed_by(&self.header.ephemeral_public) {
            Ok(end)
        } else {
            Err(DamageKind::Signature { hash: tip.hash })
        }
    }
}

fn agrees(field: &'static str, expected: u64, found: u64) -> Result<(), ReleasedError> {
    if expected == found { Ok(()) } else { Err(ReleasedError::Contradiction { field, expected, found }) }
}

impl From<Ended> for ReleasedError {
    fn from(ended: Ended) -> Self {
        Self::Length { needed: ended.needed, found: ended.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ChainHash, SegmentNumber};
    use crate::sample_ledger::SampleLedger;
    use crate::worked_example::hex_block;

    const DOCUMENT: &str = include_str!("../../docs/formats/released.md");

    fn worked() -> Vec<u8> {
        hex_block(DOCUMENT, 0)
    }

    /// The worked file with a change, its checksum made right again.
    fn refused(change: impl FnOnce(&mut Vec<u8>)) -> ReleasedError {
        let mut bytes = worked();
        change(&mut bytes);
        let crc = crc32fast::hash(&bytes[..bytes.len() - CRC_BYTES]);
        let at = bytes.len() - CRC_BYTES;
        bytes[at..].copy_from_slice(&crc.to_le_bytes());
        ReleasedSegment::parse(&bytes).unwrap_err()
    }

    /// Two segments of one ledger, the first released, and the header of the second.
    fn pair(with_footer: bool) -> (ReleasedSegment, SegmentHeader) {
        let mut ledger = SampleLedger::new(7);
        let first = ledger.segment(&[40, 60, 9], with_footer);
        let second = ledger.segment(&[5], true);
        let header = SegmentHeader::parse(&first.bytes).unwrap();
        let footer = with_footer
            .then(|| SegmentFooter::parse(&first.bytes[first.bytes.len() - FOOTER_BYTES..]).unwrap());
        let next = SegmentHeader::parse(&second.bytes).unwrap();
        let last_position = Position::new(next.first_position.get() - 1).unwrap();
        let last_time = Micros(ledger.time.0 - 1_000);
        let first_time = Micros(last_time.0 - 2_000);
        (ReleasedSegment { header, last_position, first_time, last_time, footer }, next)
    }

    #[test]
    fn the_worked_example_of_the_document_holds() {
        let released = ReleasedSegment::parse(&worked()).unwrap();
        assert_eq!(released.encode(), worked());
        let segment = hex_block(include_str!("../../docs/formats/segment.md"), 0);
        let footer = hex_block(include_str!("../../docs/formats/footer.md"), 0);
        assert_eq!(released.header, SegmentHeader::parse(&segment).unwrap());
        assert_eq!(released.footer, Some(SegmentFooter::parse(&footer).unwrap()));
    }

    #[test]
    fn what_a_segment_leaves_tells_how_it_ended() {
        for with_footer in [true, false] {
            let (released, next) = pair(with_footer);
            let read = ReleasedSegment::parse(&released.encode()).unwrap();
            assert_eq!(read, released);
            let end = released.end_before(&next).unwrap();
            assert_eq!(end.next_position, next.first_position);
            assert_eq!((end.tip, end.tree_root), (next.previous, next.frontier.root()));
        }
    }

    #[test]
    fn a_header_that_does_not_go_on_is_refused() {
        let (released, next) = pair(true);
        let with = |change: &dyn Fn(&mut SegmentHeader)| {
            let mut other = next.clone();
            change(&mut other);
            released.end_before(&other).unwrap_err()
        };
        assert!(matches!(with(&|next| next.number = SegmentNumber(9)), DamageKind::SegmentNumber { .. }));
        assert!(matches!(
            with(&|next| next.previous.hash = ChainHash([1; 32])),
            DamageKind::Signature { .. }
        ));
        assert_eq!(with(&|next| next.previous.signature.0[3] ^= 1), DamageKind::PreviousSignature);
        let (released, next) = pair(false);
        let mut other = next;
        other.previous.signature.0[3] ^= 1;
        assert!(matches!(released.end_before(&other), Err(DamageKind::Signature { .. })));
    }

    #[test]
    fn a_file_that_contradicts_itself_is_refused() {
        assert_eq!(refused(|bytes| bytes[7] = b'l'), ReleasedError::Magic { found: *b"BITACREl" });
        assert_eq!(refused(|bytes| bytes[8] = 2), ReleasedError::Format { found: 2 });
        assert_eq!(refused(|bytes| bytes[10] = 2), ReleasedError::Flags { found: 2 });
        assert!(matches!(refused(|bytes| bytes[12] ^= 1), ReleasedError::Length { .. }));
        assert!(matches!(refused(|bytes| bytes[10] = 0), ReleasedError::Length { .. }));
        let contradicts = |at: usize| match refused(|bytes| bytes[at] ^= 1) {
            ReleasedError::Contradiction { field, .. } => field,
            other => panic!("{other}"),
        };
        assert_eq!(
            [contradicts(16), contradicts(24), contradicts(32)],
            ["last position", "first time", "last time"]
        );
        assert!(matches!(refused(|bytes| bytes[48] ^= 1), ReleasedError::Header(_)));
        assert!(matches!(
            refused(|bytes| {
                let at = bytes.len() - CRC_BYTES - FOOTER_BYTES;
                bytes[at] ^= 1;
            }),
            ReleasedError::Footer(_)
        ));
    }

    #[test]
    fn a_file_with_a_changed_or_missing_byte_is_refused() {
        let bytes = worked();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(ReleasedSegment::parse(&changed).is_err(), "byte {at}");
            assert!(ReleasedSegment::parse(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(ReleasedSegment::parse(&[bytes, vec![0]].concat()).is_err());
    }
}

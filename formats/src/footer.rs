//! The footer that closes a segment.
//!
//! Layout: `docs/formats/segment.md`.

use crate::chain::{self, ChainTip};
use crate::fields::{Fields, ShortField};
use crate::ids::{ChainHash, Micros, Position, Signature, TreeHash};
use crate::kdf::KeyUse;

/// The magic that a stored footer begins with.
pub const FOOTER_MAGIC: [u8; 8] = *b"BITACEND";
/// The one footer format that is written, and the one that can be read.
pub const FOOTER_FORMAT: u16 = 1;
/// Bytes of a stored footer.
pub const FOOTER_BYTES: usize = 188;

/// An error in the bytes of a footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FooterError {
    /// Fewer bytes than a footer has.
    #[error("found {found} bytes of a footer before the end, expected {needed}")]
    Truncated {
        /// Bytes of a footer.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// No footer begins here.
    #[error("found {}, expected a footer's first bytes", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found footer format {found}, expected {FOOTER_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The checksum is not that of the bytes.
    #[error("found footer checksum {found:08x}, expected {expected:08x}")]
    Crc {
        /// The checksum stored with the bytes.
        expected: u32,
        /// The checksum that the bytes have.
        found: u32,
    },
    /// The flags of format 1 are all zero.
    #[error("found footer flags {found}, expected 0")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// Positions begin at 1, and a segment that is closed holds a frame.
    #[error("found none, expected a footer of at least one frame and position")]
    Empty,
}

/// The footer of a segment: facts about the segment, and the chain over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFooter {
    /// The number of frames in the segment.
    pub frames: u32,
    /// The position of the first event.
    pub first_position: Position,
    /// The position of the last event.
    pub last_position: Position,
    /// The size of the tree after the last frame.
    pub tree_size: u64,
    /// The root of the tree after the last frame.
    pub tree_root: TreeHash,
    /// The time of the first frame.
    pub first_time: Micros,
    /// The time of the last frame.
    pub last_time: Micros,
    /// The chain hash before the footer.
    pub previous: ChainHash,
    /// The segment's signature over the chain hash after the footer.
    pub signature: Signature,
}

impl SegmentFooter {
    /// Reads the footer that the bytes begin with and checks its checksum; more may follow it.
    ///
    /// # Errors
    /// A [`FooterError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, FooterError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != FOOTER_MAGIC {
            return Err(FooterError::Magic { found });
        }
        let found = fields.u16()?;
        if found != FOOTER_FORMAT {
            return Err(FooterError::Format { found });
        }
        Self::check_crc(bytes)?;
        let found = fields.u16()?;
        if found != 0 {
            return Err(FooterError::Flags { found });
        }
        let footer = Self {
            frames: fields.u32()?,
            first_position: Position::new(fields.u64()?).ok_or(FooterError::Empty)?,
            last_position: Position::new(fields.u64()?).ok_or(FooterError::Empty)?,
            tree_size: fields.u64()?,
            tree_root: TreeHash(fields.bytes()?),
            first_time: Micros(fields.u64()?),
            last_time: Micros(fields.u64()?),
            previous: ChainHash(fields.bytes()?),
            signature: Signature(fields.bytes()?),
        };
        if footer.frames == 0 { Err(FooterError::Empty) } else { Ok(footer) }
    }

    /// Appends the footer's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_signed(out);
        out.extend_from_slice(&self.signature.0);
        let crc = crc32fast::hash(out.split_at(start).1);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// The chain hash after the footer.
    #[must_use]
    pub fn hash_after(&self, before: &ChainTip) -> ChainHash {
        let mut signed = Vec::with_capacity(FOOTER_BYTES);
        self.encode_signed(&mut signed);
        chain::finish(chain::hasher_after(KeyUse::SegmentFooter, before).update(&signed))
    }

    /// All that comes before the signature.
    fn encode_signed(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&FOOTER_MAGIC);
        out.extend_from_slice(&FOOTER_FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.frames.to_le_bytes());
        out.extend_from_slice(&self.first_position.get().to_le_bytes());
        out.extend_from_slice(&self.last_position.get().to_le_bytes());
        out.extend_from_slice(&self.tree_size.to_le_bytes());
        out.extend_from_slice(&self.tree_root.0);
        out.extend_from_slice(&self.first_time.0.to_le_bytes());
        out.extend_from_slice(&self.last_time.0.to_le_bytes());
        out.extend_from_slice(&self.previous.0);
    }

    fn check_crc(bytes: &[u8]) -> Result<(), FooterError> {
        let truncated = FooterError::Truncated { needed: FOOTER_BYTES as u64, found: bytes.len() as u64 };
        let (signed, crc) = bytes.get(..FOOTER_BYTES).and_then(<[u8]>::split_last_chunk).ok_or(truncated)?;
        let (expected, found) = (u32::from_le_bytes(*crc), crc32fast::hash(signed));
        if expected == found { Ok(()) } else { Err(FooterError::Crc { expected, found }) }
    }
}

impl From<ShortField> for FooterError {
    fn from(ended: ShortField) -> Self {
        Self::Truncated { needed: FOOTER_BYTES as u64, found: ended.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    fn worked() -> Vec<u8> {
        hex_block(include_str!("../../docs/formats/footer.md"), 0)
    }

    /// The worked footer with a change, its checksum made right again.
    fn refused(change: impl FnOnce(&mut Vec<u8>)) -> FooterError {
        let mut bytes = worked();
        change(&mut bytes);
        let crc = crc32fast::hash(&bytes[..FOOTER_BYTES - 4]);
        bytes[FOOTER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        SegmentFooter::parse(&bytes).unwrap_err()
    }

    #[test]
    fn a_footer_outside_of_its_limits_is_refused() {
        assert_eq!(refused(|bytes| bytes[7] = b'd'), FooterError::Magic { found: *b"BITACENd" });
        assert_eq!(refused(|bytes| bytes[8] = 2), FooterError::Format { found: 2 });
        assert_eq!(refused(|bytes| bytes[11] = 1), FooterError::Flags { found: 256 });
        assert_eq!(refused(|bytes| bytes[12] = 0), FooterError::Empty);
        assert_eq!(refused(|bytes| bytes[16] = 0), FooterError::Empty);
        assert_eq!(refused(|bytes| bytes[24] = 0), FooterError::Empty);
    }

    #[test]
    fn every_byte_of_a_footer_is_under_its_checksum() {
        for offset in 10..FOOTER_BYTES {
            let mut bytes = worked();
            bytes[offset] ^= 0x40;
            let refused = SegmentFooter::parse(&bytes);
            assert!(matches!(refused, Err(FooterError::Crc { .. })), "byte {offset}");
        }
    }

    #[test]
    fn a_footer_cut_anywhere_is_refused() {
        for length in 0..FOOTER_BYTES {
            let expected = FooterError::Truncated { needed: FOOTER_BYTES as u64, found: length as u64 };
            assert_eq!(SegmentFooter::parse(&worked()[..length]), Err(expected));
        }
    }
}

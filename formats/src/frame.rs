//! A frame as it is stored: header, ciphertext, tag, signature, checksum.
//!
//! Layout: `docs/formats/frame.md`.

use std::ops::RangeInclusive;

use crate::chain::{self, ChainTip};
use crate::compression::Codec;
use crate::fields::{Fields, ShortField};
use crate::ids::{ChainHash, Micros, Position, Signature, TreeHash};
use crate::kdf::KeyUse;
use crate::limits::{MAX_FRAME_BODY_BYTES, MAX_FRAME_BYTES, MAX_FRAME_ENTRIES, MAX_FRAME_OVERHEAD_BYTES};
use crate::padding::PADDED_BYTES;

/// The magic that a stored frame begins with.
pub const FRAME_MAGIC: [u8; 4] = *b"BITF";
/// The flag of a padded frame.
const PADDED_FLAG: u8 = 1;
/// The one frame format that is written, and the one that can be read.
pub const FRAME_FORMAT: u16 = 1;
/// Bytes of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 152;
/// Bytes of the tag of AES-256-GCM.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of an Ed25519 signature.
pub(crate) const SIGNATURE_BYTES: usize = 64;
/// Bytes of a CRC-32.
pub(crate) const CRC_BYTES: usize = 4;
/// Bytes of a stored frame beyond its ciphertext.
pub const FRAME_OVERHEAD_BYTES: usize = FRAME_HEADER_BYTES + TAG_BYTES + SIGNATURE_BYTES + CRC_BYTES;

const _: () =
    assert!(FRAME_OVERHEAD_BYTES <= MAX_FRAME_OVERHEAD_BYTES, "the largest body fits the largest frame");
const _: () = assert!(FRAME_OVERHEAD_BYTES + MAX_FRAME_BODY_BYTES <= MAX_FRAME_BYTES);

/// The offset of `sealed_bytes` in the header.
const SEALED_BYTES_OFFSET: usize = 32;

/// An error in the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Fewer bytes than the frame needs.
    #[error("found {found} bytes of a frame before the end, expected {needed}")]
    Truncated {
        /// Bytes needed, as far as is known.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Neither a frame nor a footer begins here.
    #[error("found {}, expected a frame's or footer's first bytes", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 4],
    },
    /// A format this version cannot read.
    #[error("found frame format {found}, expected {FRAME_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// A codec this version cannot read.
    #[error("found codec {found}, expected a known one; a newer version may read it")]
    Codec {
        /// The codec there is.
        found: u8,
    },
    /// A field outside of its limits.
    #[error("found {field} {found}, expected {min} to {max}")]
    OutOfRange {
        /// The field's name in the layout.
        field: &'static str,
        /// The least it may be.
        min: u64,
        /// The most it may be.
        max: u64,
        /// The value of the field.
        found: u64,
    },
    /// The checksum is not that of the bytes.
    #[error("found frame checksum {found:08x}, expected {expected:08x}")]
    Crc {
        /// The checksum stored with the bytes.
        expected: u32,
        /// The checksum that the bytes have.
        found: u32,
    },
}

/// The header of a frame. Every byte of the layout is a field, so that encoding gives back what was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The codec of the body; the padding names that of a padded body.
    pub codec: Codec,
    /// `true`: the body is padded to one of [`PADDED_BYTES`].
    pub is_padded: bool,
    /// The frame's number in its segment, from 1; it is the nonce.
    pub number: u64,
    /// The position of the first event.
    pub first_position: Position,
    /// The number of events: 1 to [`MAX_FRAME_ENTRIES`].
    pub count: u32,
    /// Bytes of the body before compression: 1 to [`MAX_FRAME_BODY_BYTES`].
    pub body_bytes: u32,
    /// Bytes of the ciphertext without its tag; never more than `body_bytes`.
    pub sealed_bytes: u32,
    /// The time of all events of the frame.
    pub time: Micros,
    /// The chain hash before the frame.
    pub previous: ChainHash,
    /// The size of the tree after the frame.
    pub tree_size: u64,
    /// The root of the tree after the frame.
    pub tree_root: TreeHash,
    /// The keyed hash of the compressed body.
    pub siv: [u8; 32],
}

impl FrameHeader {
    /// Reads a header from the first [`FRAME_HEADER_BYTES`] bytes and checks every field against its limits.
    ///
    /// Its fields are not proven: neither the checksum nor the chain is looked at. [`Self::stored_bytes`] returns the
    /// number of bytes to read for that.
    ///
    /// # Errors
    /// A [`FrameError`] for the first field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != FRAME_MAGIC {
            return Err(FrameError::Magic { found });
        }
        let found = fields.u16()?;
        if found != FRAME_FORMAT {
            return Err(FrameError::Format { found });
        }
        let found = fields.u8()?;
        let codec = Codec::from_number(found).ok_or(FrameError::Codec { found })?;
        let flags = fields.u8()?;
        within("flags", flags.into(), 0, PADDED_FLAG.into())?;
        let number = fields.u64()?;
        let found = fields.u64()?;
        let no_position = FrameError::OutOfRange { field: "first position", min: 1, max: u64::MAX, found };
        let header = Self {
            codec,
            is_padded: flags == PADDED_FLAG,
            number,
            first_position: Position::new(found).ok_or(no_position)?,
            count: fields.u32()?,
            body_bytes: fields.u32()?,
            sealed_bytes: fields.u32()?,
            time: {
                within("reserved", fields.u32()?.into(), 0, 0)?;
                Micros(fields.u64()?)
            },
            previous: ChainHash(fields.bytes()?),
            tree_size: fields.u64()?,
            tree_root: TreeHash(fields.bytes()?),
            siv: fields.bytes()?,
        };
        header.check()?;
        Ok(header)
    }

    /// Appends the header's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&FRAME_MAGIC);
        out.extend_from_slice(&FRAME_FORMAT.to_le_bytes());
        out.extend_from_slice(&[self.codec.number(), if self.is_padded { PADDED_FLAG } else { 0 }]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.first_position.get().to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        out.extend_from_slice(&self.sealed_bytes.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.time.0.to_le_bytes());
        out.extend_from_slice(&self.previous.0);
        out.extend_from_slice(&self.tree_size.to_le_bytes());
        out.extend_from_slice(&self.tree_root.0);
        out.extend_from_slice(&self.siv);
    }

    /// The position of the last event.
    #[must_use]
    pub fn last_position(&self) -> Position {
        self.first_position.plus(u64::from(self.count.saturating_sub(1))).unwrap_or(self.first_position)
    }

    /// The positions of its events.
    #[must_use]
    pub fn positions(&self) -> RangeInclusive<Position> {
        self.first_position..=self.last_position()
    }

    /// Bytes of the whole stored frame; at most [`MAX_FRAME_BYTES`].
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        FRAME_OVERHEAD_BYTES + self.sealed_bytes as usize
    }

    /// Checks every limit of the layout; written frames pass here too.
    pub(crate) fn check(&self) -> Result<(), FrameError> {
        let count = u64::from(self.count);
        let (body_bytes, sealed_bytes) = (u64::from(self.body_bytes), u64::from(self.sealed_bytes));
        within("frame number", self.number, 1, u64::MAX)?;
        within("count", count, 1, MAX_FRAME_ENTRIES as u64)?;
        // The position after the last one must exist too, for the next frame.
        within("first position", self.first_position.get(), 1, u64::MAX - count)?;
        within("tree size", self.tree_size, count, u64::MAX)?;
        within("body bytes", body_bytes, 1, MAX_FRAME_BODY_BYTES as u64)?;
        let least_sealed_bytes = if self.codec == Codec::Stored { body_bytes } else { 1 };
        within("sealed bytes", sealed_bytes, least_sealed_bytes, body_bytes)?;
        if self.is_padded {
            within("codec of a padded frame", self.codec.number().into(), 0, 0)?;
            let (least, most) = (PADDED_BYTES.first(), PADDED_BYTES.last());
            let (min, max) = (least.map_or(0, |least| *least as u64), most.map_or(0, |most| *most as u64));
            let is_one = PADDED_BYTES.contains(&(self.sealed_bytes as usize));
            let wrong =
                FrameError::OutOfRange { field: "bytes of a padded frame", min, max, found: sealed_bytes };
            return if is_one { Ok(()) } else { Err(wrong) };
        }
        Ok(())
    }
}

/// The parts of one stored frame. Its sizes are checked; nothing else is proven.
#[derive(Debug, Clone, Copy)]
pub struct StoredFrame<'a> {
    header: FrameHeader,
    bytes: &'a [u8],
    /// The bytes that the chain hash covers: header, ciphertext and tag.
    linked: &'a [u8],
    sealed: &'a [u8],
    signature: Signature,
    crc: u32,
}

impl<'a> StoredFrame<'a> {
    /// Takes the frame that the bytes begin with; more may follow it.
    ///
    /// # Errors
    /// A [`FrameError`] if the header is wrong or the bytes end before the frame does.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let header = FrameHeader::parse(bytes)?;
        let split = || {
            let bytes = bytes.get(..header.stored_bytes())?;
            let (signed, crc) = bytes.split_last_chunk::<CRC_BYTES>()?;
            let (linked, signature) = signed.split_last_chunk::<SIGNATURE_BYTES>()?;
            let (_, sealed) = linked.split_first_chunk::<FRAME_HEADER_BYTES>()?;
            let (signature, crc) = (Signature(*signature), u32::from_le_bytes(*crc));
            Some(Self { header, bytes, linked, sealed, signature, crc })
        };
        split()
            .ok_or(FrameError::Truncated { needed: header.stored_bytes() as u64, found: bytes.len() as u64 })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The whole stored frame.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header's own bytes, which the tag authenticates.
    pub(crate) fn header_bytes(&self) -> &'a [u8] {
        self.linked.split_at(FRAME_HEADER_BYTES).0
    }

    /// Ciphertext and tag.
    pub(crate) fn sealed(&self) -> &'a [u8] {
        self.sealed
    }

    /// Checks the checksum and gives the tip that the frame makes of the one before it, in one pass over the bytes.
    ///
    /// The caller must compare `before` with the link that the frame names ([`FrameHeader::previous`]).
    ///
    /// # Errors
    /// [`FrameError::Crc`].
    pub fn link(&self, before: &ChainTip) -> Result<ChainTip, FrameError> {
        let (hash, mut crc) = hash_and_crc(before, self.linked);
        crc.update(&self.signature.0);
        let found = crc.finalize();
        if found == self.crc {
            Ok(ChainTip { hash, signature: self.signature })
        } else {
            Err(FrameError::Crc { expected: self.crc, found })
        }
    }
}

/// The chain hash after a frame and the checksum so far, of the bytes that the chain hash covers.
pub(crate) fn hash_and_crc(before: &ChainTip, linked: &[u8]) -> (ChainHash, crc32fast::Hasher) {
    /// Bytes hashed twice while they lie in the processor's cache.
    const PIECE_BYTES: usize = 64 * 1024;
    /// Shortens the first piece, so that the others fall on multiples that BLAKE3 hashes whole subtrees of.
    const TIP_BYTES: usize = 32 + SIGNATURE_BYTES;

    let mut hasher = chain::hasher_after(KeyUse::FrameChain, before);
    let mut crc = crc32fast::Hasher::new();
    let (first, rest) = linked.split_at(linked.len().min(PIECE_BYTES - TIP_BYTES));
    for piece in std::iter::once(first).chain(rest.chunks(PIECE_BYTES)) {
        hasher.update(piece);
        crc.update(piece);
    }
    (chain::finish(&hasher), crc)
}

/// Returns `true` if the bytes begin with a thing of a frame's shape whose checksum holds, whatever its other fields say.
///
/// A frame that was written whole but cannot be read is no torn one.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let whole = || {
        let (_, sealed_bytes) = bytes.split_at_checked(SEALED_BYTES_OFFSET)?;
        let sealed_bytes = u32::from_le_bytes(*sealed_bytes.first_chunk()?) as usize;
        let stored_bytes =
            FRAME_OVERHEAD_BYTES.checked_add(sealed_bytes).filter(|bytes| *bytes <= MAX_FRAME_BYTES)?;
        let (signed, crc) = bytes.get(..stored_bytes)?.split_last_chunk()?;
        Some(crc32fast::hash(signed) == u32::from_le_bytes(*crc))
    };
    bytes.starts_with(&FRAME_MAGIC) && whole().unwrap_or(false)
}

impl From<ShortField> for FrameError {
    fn from(ended: ShortField) -> Self {
        Self::Truncated { needed: ended.needed.max(FRAME_HEADER_BYTES as u64), found: ended.found }
    }
}

fn within(field: &'static str, found: u64, min: u64, max: u64) -> Result<(), FrameError> {
    if (min..=max).contains(&found) { Ok(()) } else { Err(FrameError::OutOfRange { field, min, max, found }) }
}

#[cfg(test)]
mod tests;

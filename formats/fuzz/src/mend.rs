//! Checksums and links made right after a mutation, as far as the mutation's seed says.
//!
//! This is done while an input is mutated and not in the target. An input in the corpus, or one that was found to
//! fail, is exactly the bytes that the decoder is given.

use bitacora_formats::{
    FOOTER_BYTES, FRAME_OVERHEAD_BYTES, KeyUse, MAX_SEGMENT_HEADER_BYTES, MIN_SEGMENT_HEADER_BYTES,
    chain_hasher,
};

pub use crate::segment::segment;

/// The offset of `header_bytes` in a segment's header.
const HEADER_BYTES_OFFSET: usize = 12;
/// The offset of `sealed_bytes` in a frame's header.
const SEALED_BYTES_OFFSET: usize = 32;
/// The word before the check of a keyring, with the end of the line before.
const CHECK: &[u8] = b"\ncheck ";

/// The extent to which an input is made consistent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    /// Not at all: the raw mutation.
    Nothing,
    /// Checksums alone.
    Checksums,
    /// Hashes of everything before, and signatures.
    Links,
    /// Numbers, positions, sizes and times too.
    Places,
}

impl Extent {
    pub(crate) fn of(seed: u32) -> Self {
        match seed % 4 {
            0 => Self::Nothing,
            1 => Self::Checksums,
            2 => Self::Links,
            _ => Self::Places,
        }
    }
}

/// The check of a keyring's text.
pub fn keyring(text: &mut [u8], seed: u32) {
    let Some(at) = text.windows(CHECK.len()).rposition(|bytes| bytes == CHECK) else { return };
    let (lines, check) = text.split_at_mut(at + 1);
    let Some(digits) = check.get_mut(CHECK.len() - 1..CHECK.len() + 63) else { return };
    if Extent::of(seed) > Extent::Nothing {
        let hash = chain_hasher(KeyUse::KeyringCheck).update(lines).finalize();
        digits.copy_from_slice(hash.to_hex().as_bytes());
    }
}

/// The checksum of a segment's header.
pub fn segment_header(bytes: &mut [u8], seed: u32) {
    if Extent::of(seed) == Extent::Nothing {
        return;
    }
    if let Some(part) = header_part(bytes) {
        mend_checksum(part);
    }
}

/// The checksum of a footer.
pub fn footer(bytes: &mut [u8], seed: u32) {
    if Extent::of(seed) == Extent::Nothing {
        return;
    }
    if let Some(part) = bytes.get_mut(..FOOTER_BYTES) {
        mend_checksum(part);
    }
}

/// The checksum of a stored frame.
pub fn frame(bytes: &mut [u8], seed: u32) {
    if Extent::of(seed) == Extent::Nothing {
        return;
    }
    if let Some(part) = frame_part(bytes) {
        mend_checksum(part);
    }
}

/// The bytes that a segment's header says it has.
pub(crate) fn header_part(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let header_bytes = u32_at(bytes, HEADER_BYTES_OFFSET)?;
    let possible = MIN_SEGMENT_HEADER_BYTES..=MAX_SEGMENT_HEADER_BYTES;
    bytes.get_mut(..header_bytes).filter(|header| possible.contains(&header.len()))
}

/// The bytes that a stored frame says it has.
pub(crate) fn frame_part(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let sealed_bytes = u32_at(bytes, SEALED_BYTES_OFFSET)?;
    bytes.get_mut(..FRAME_OVERHEAD_BYTES + sealed_bytes)
}

/// Makes the last four bytes the checksum of those before.
pub(crate) fn mend_checksum(bytes: &mut [u8]) {
    if let Some((covered, checksum)) = bytes.split_last_chunk_mut() {
        *checksum = crc32fast::hash(covered).to_le_bytes();
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<usize> {
    let field = bytes.get(offset..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*field)).ok()
}

//! A mutated segment file signed and linked again, by keys that are known.

use bitacora_formats::{
    ChainTip, FOOTER_BYTES, FOOTER_MAGIC, FRAME_HEADER_BYTES, FRAME_MAGIC, FrameHeader, KeyUse, Micros,
    Position, SegmentFooter, SegmentHeader, Signature, StoredFrame, chain_hasher,
};
use ed25519_dalek::{Signer, SigningKey};

use crate::mend::{Extent, frame_part, header_part, mend_checksum};

/// The seed of the key that certifies every header made here.
const LEDGER_SEED: [u8; 32] = [1; 32];
/// The seed of the key that signs every frame and footer made here.
const SEGMENT_SEED: [u8; 32] = [2; 32];

/// The checksums of a segment file; then its links and signatures; then its numbers, positions, sizes and times.
pub fn segment(bytes: &mut [u8], seed: u32) {
    let extent = Extent::of(seed);
    if extent == Extent::Nothing {
        return;
    }
    let Some(header) = header_part(bytes) else { return };
    if extent >= Extent::Links {
        certify(header);
    }
    mend_checksum(header);
    let header_bytes = header.len();
    if let Ok(header) = SegmentHeader::parse(header) {
        let (_, after_header) = bytes.split_at_mut(header_bytes);
        SegmentRepair::new(&header, extent).mend_all(after_header);
    }
}

/// Puts in the keys that are known, and their certificate.
fn certify(header: &mut [u8]) {
    mend_checksum(header);
    let Ok(mut parsed) = SegmentHeader::parse(header) else { return };
    let key = SigningKey::from_bytes(&LEDGER_SEED);
    parsed.signing_public = key.verifying_key().to_bytes();
    parsed.ephemeral_public = SigningKey::from_bytes(&SEGMENT_SEED).verifying_key().to_bytes();
    let mut certified = Vec::new();
    parsed.encode(&mut certified);
    certified.truncate(parsed.stored_bytes() - 64 - 4);
    let hash = chain_hasher(KeyUse::SegmentCertificate).update(&certified).finalize();
    parsed.certificate = Signature(key.sign(hash.as_bytes()).to_bytes());
    overwrite(header, |out| parsed.encode(out));
}

/// Goes over everything behind a header, and knows the next frame or footer that is due.
struct SegmentRepair {
    extent: Extent,
    key: SigningKey,
    /// The footer that would follow; its signature is that of the tip.
    footer: SegmentFooter,
    frames: u64,
    tip: ChainTip,
}

impl SegmentRepair {
    fn new(header: &SegmentHeader, extent: Extent) -> Self {
        let tip = header.tip();
        let footer = SegmentFooter {
            frames: 0,
            first_position: header.first_position,
            last_position: header.first_position,
            tree_size: header.frontier.size(),
            tree_root: header.frontier.root(),
            first_time: Micros(0),
            last_time: Micros(0),
            previous: tip.hash,
            signature: tip.signature,
        };
        Self { extent, key: SigningKey::from_bytes(&SEGMENT_SEED), footer, frames: 0, tip }
    }

    fn mend_all(mut self, mut rest: &mut [u8]) {
        loop {
            let mended = if rest.starts_with(&FRAME_MAGIC) {
                self.mend_frame(rest)
            } else if rest.starts_with(&FOOTER_MAGIC) {
                self.mend_footer(rest)
            } else {
                None
            };
            let Some(bytes) = mended else { return };
            (_, rest) = rest.split_at_mut(bytes);
        }
    }

    /// The frame's length, if the bytes behind the frame can still be reached over it.
    fn mend_frame(&mut self, rest: &mut [u8]) -> Option<usize> {
        let stored = frame_part(rest)?;
        mend_checksum(stored);
        let mut header = FrameHeader::parse(stored).ok()?;
        self.place(&mut header);
        if self.extent >= Extent::Links {
            header.previous = self.tip.hash;
            overwrite(&mut stored[..FRAME_HEADER_BYTES], |out| header.encode(out));
            let (linked, signature) = stored.split_at_mut(stored.len() - 64 - 4);
            let mut hasher = chain_hasher(KeyUse::FrameChain);
            hasher.update(&self.tip.hash.0).update(&self.tip.signature.0).update(linked);
            let signed = self.key.sign(hasher.finalize().as_bytes()).to_bytes();
            overwrite(signature, |out| out.extend_from_slice(&signed));
            mend_checksum(stored);
        }
        self.tip = StoredFrame::parse(stored).ok()?.link(&self.tip).ok()?;
        Some(stored.len())
    }

    /// Counts the frame, and puts it in its place if it goes that far.
    fn place(&mut self, header: &mut FrameHeader) {
        let footer = &mut self.footer;
        self.frames += 1;
        let next = if self.frames == 1 { Some(footer.first_position) } else { footer.last_position.next() };
        if self.extent == Extent::Places {
            header.number = self.frames;
            header.first_position = next.unwrap_or(Position::FIRST);
            header.tree_size = footer.tree_size.saturating_add(header.count.into());
            header.time = header.time.max(footer.last_time);
        }
        footer.frames = footer.frames.saturating_add(1);
        footer.last_position = header.last_position();
        footer.tree_size = header.tree_size;
        footer.tree_root = header.tree_root;
        footer.last_time = header.time;
        if self.frames == 1 {
            footer.first_time = header.time;
        }
    }

    fn mend_footer(&self, rest: &mut [u8]) -> Option<usize> {
        let stored = rest.get_mut(..FOOTER_BYTES)?;
        mend_checksum(stored);
        if self.extent >= Extent::Links {
            let mut footer = SegmentFooter::parse(stored).ok()?;
            if self.extent == Extent::Places {
                footer = self.footer;
            }
            footer.previous = self.tip.hash;
            footer.signature = Signature(self.key.sign(&footer.hash_after(&self.tip).0).to_bytes());
            overwrite(stored, |out| footer.encode(out));
        }
        Some(FOOTER_BYTES)
    }
}

/// Writes an encoding over the first of these bytes.
fn overwrite(bytes: &mut [u8], encode: impl FnOnce(&mut Vec<u8>)) {
    let mut encoded = Vec::with_capacity(bytes.len());
    encode(&mut encoded);
    for (byte, new) in bytes.iter_mut().zip(encoded) {
        *byte = new;
    }
}

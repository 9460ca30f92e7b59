//! The sealer of one live segment's frames: each is encrypted, linked and signed; a footer closes it.

use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit, Nonce};
use ed25519_dalek::SigningKey;
use zeroize::Zeroize;

use crate::chain::{self, ChainTip};
use crate::compression::Codec;
use crate::footer::SegmentFooter;
use crate::frame::{FRAME_OVERHEAD_BYTES, FrameError, FrameHeader, hash_and_crc};
use crate::ids::{Micros, Position, Secret, TreeHash};
use crate::kdf::{KeyUse, derive};

/// An error in sealing a frame or footer; nothing was appended and nothing advanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The frame would break a limit of its layout.
    #[error("the frame cannot be sealed: {0}")]
    Frame(#[from] FrameError),
    /// The frame does not go on where the last one ended.
    #[error("the frame cannot be sealed: {field} {expected} expected, {found} given")]
    NotNext {
        /// The field that does not go on.
        field: &'static str,
        /// The value with which the segment goes on.
        expected: u64,
        /// The value in the plan.
        found: u64,
    },
    /// AES-GCM takes no message of this length.
    #[error("the frame cannot be sealed: {bytes} bytes are too long to encrypt")]
    TooLong {
        /// Bytes of the compressed body.
        bytes: u64,
    },
    /// A segment without frames has no footer.
    #[error("the segment cannot be closed: it holds no frame")]
    Empty,
}

/// The sequencer's decisions about a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePlan {
    /// The position of the first event.
    pub first: Position,
    /// The number of events.
    pub count: u32,
    /// The time of all of them.
    pub time: Micros,
    /// The size of the tree after them.
    pub tree_size: u64,
    /// The root of the tree after them.
    pub tree_root: TreeHash,
}

/// Seals the frames of one segment in their order, and holds the keys to do it.
///
/// The segment's private key exists only here, and is erased when this is dropped.
pub struct FrameSealer {
    segment_key: Secret,
    keys: FrameKeys,
    ephemeral: SigningKey,
    tip: ChainTip,
    /// Number of the next frame.
    number: u64,
    /// First position of the next frame.
    next: Position,
    tree_size: u64,
    tree_root: TreeHash,
    first: Position,
    /// Time of the first and of the last frame.
    times: Option<(Micros, Micros)>,
}

impl FrameSealer {
    pub(crate) fn new(
        segment_key: Secret,
        ephemeral: SigningKey,
        tip: ChainTip,
        first: Position,
        tree_root: TreeHash,
    ) -> Self {
        Self {
            keys: FrameKeys::new(&segment_key),
            segment_key,
            ephemeral,
            tip,
            number: 1,
            next: first,
            tree_size: first.get() - 1,
            tree_root,
            first,
            times: None,
        }
    }

    /// Returns the segment's data key, for readers of a segment that is being written.
    #[must_use]
    pub fn segment_key(&self) -> &Secret {
        &self.segment_key
    }

    /// Returns the tip that the next frame builds on.
    #[must_use]
    pub fn tip(&self) -> &ChainTip {
        &self.tip
    }

    /// Appends the stored frame to `out` and returns the tip after it.
    ///
    /// `compressed` is the body under `codec`; `body_bytes` is its length before that.
    ///
    /// # Errors
    /// A [`SealError`]; then `out` and the sealer are as before.
    pub fn seal(
        &mut self,
        plan: FramePlan,
        codec: Codec,
        compressed: &[u8],
        body_bytes: u32,
        out: &mut Vec<u8>,
    ) -> Result<ChainTip, SealError> {
        let header = self.header(plan, codec, compressed, body_bytes)?;
        self.seal_under(&header, compressed, out)
    }

    /// Seals a compressed body that [`pad`](crate::pad) has padded.
    ///
    /// # Errors
    /// As [`Self::seal`].
    pub fn seal_padded(
        &mut self,
        plan: FramePlan,
        padded: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ChainTip, SealError> {
        let bytes = padded.len() as u64;
        let length = u32::try_from(padded.len()).map_err(|_| SealError::TooLong { bytes })?;
        let header = self.header(plan, Codec::Stored, padded, length)?;
        let header = FrameHeader { is_padded: true, ..header };
        header.check()?;
        self.seal_under(&header, padded, out)
    }

    fn seal_under(
        &mut self,
        header: &FrameHeader,
        compressed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<ChainTip, SealError> {
        let start = out.len();
        out.reserve(FRAME_OVERHEAD_BYTES + compressed.len());
        header.encode(out);
        let sealed_start = out.len();
        out.extend_from_slice(compressed);

        let (before_body, body) = out.split_at_mut(sealed_start);
        let header_bytes = before_body.split_at(start).1;
        let sealed = self.keys.cipher(header_bytes).encrypt_inout_detached(
            &nonce(header.number),
            header_bytes,
            body.into(),
        );
        let Ok(tag) = sealed else {
            out.truncate(start);
            return Err(SealError::TooLong { bytes: compressed.len() as u64 });
        };
        out.extend_from_slice(&tag);

        let (hash, mut crc) = hash_and_crc(&self.tip, out.split_at(start).1);
        let tip = chain::sign(&self.ephemeral, hash);
        crc.update(&tip.signature.0);
        out.extend_from_slice(&tip.signature.0);
        out.extend_from_slice(&crc.finalize().to_le_bytes());
        self.advance(header, tip);
        Ok(tip)
    }

    /// Appends the footer to `out` and returns the tip after it; the segment's keys are erased.
    ///
    /// # Errors
    /// [`SealError::Empty`] if no frame was sealed.
    pub fn footer(self, out: &mut Vec<u8>) -> Result<ChainTip, SealError> {
        let (first_time, last_time) = self.times.ok_or(SealError::Empty)?;
        let frames =
            u32::try_from(self.number - 1).ok().filter(|frames| *frames > 0).ok_or(SealError::Empty)?;
        let last = Position::new(self.next.get() - 1).ok_or(SealError::Empty)?;
        let mut footer = SegmentFooter {
            frames,
            first_position: self.first,
            last_position: last,
            tree_size: self.tree_size,
            tree_root: self.tree_root,
            first_time,
            last_time,
            previous: self.tip.hash,
            signature: self.tip.signature,
        };
        let tip = chain::sign(&self.ephemeral, footer.hash_after(&self.tip));
        footer.signature = tip.signature;
        footer.encode(out);
        Ok(tip)
    }

    fn header(
        &self,
        plan: FramePlan,
        codec: Codec,
        compressed: &[u8],
        body_bytes: u32,
    ) -> Result<FrameHeader, SealError> {
        let bytes = compressed.len() as u64;
        let sealed_bytes = u32::try_from(compressed.len()).map_err(|_| SealError::TooLong { bytes })?;
        goes_on("first position", self.next.get(), plan.first.get())?;
        goes_on("tree size", self.tree_size.saturating_add(plan.count.into()), plan.tree_size)?;
        if let Some((_, last)) = self.times.filter(|(_, last)| *last > plan.time) {
            return Err(SealError::NotNext { field: "time", expected: last.0, found: plan.time.0 });
        }
        let header = FrameHeader {
            codec,
            is_padded: false,
            number: self.number,
            first_position: plan.first,
            count: plan.count,
            body_bytes,
            sealed_bytes,
            time: plan.time,
            previous: self.tip.hash,
            tree_size: plan.tree_size,
            tree_root: plan.tree_root,
            siv: self.keys.siv(compressed),
        };
        header.check()?;
        Ok(header)
    }

    fn advance(&mut self, header: &FrameHeader, tip: ChainTip) {
        self.tip = tip;
        self.number = self.number.saturating_add(1);
        // `FrameHeader::check` has seen that this position exists.
        self.next = self.next.plus(header.count.into()).unwrap_or(self.next);
        self.tree_size = header.tree_size;
        self.tree_root = header.tree_root;
        self.times = Some((self.times.map_or(header.time, |(first, _)| first), header.time));
    }
}

/// The two keys of a segment's frames.
pub(crate) struct FrameKeys {
    frame: Secret,
    siv: Secret,
}

impl FrameKeys {
    pub(crate) fn new(segment_key: &Secret) -> Self {
        Self {
            frame: derive(KeyUse::SegmentFrame, segment_key.expose(), &[]),
            siv: derive(KeyUse::SegmentSiv, segment_key.expose(), &[]),
        }
    }

    /// The keyed hash of a compressed body.
    pub(crate) fn siv(&self, compressed: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(self.siv.expose(), compressed).as_bytes()
    }

    /// Returns the cipher of the one frame with this header. Its key is the keyed hash of the header, `siv` included.
    /// Two frames that differ in anything therefore never share a key, even in two copies of one machine.
    pub(crate) fn cipher(&self, header_bytes: &[u8]) -> Aes256Gcm {
        let mut key = blake3::keyed_hash(self.frame.expose(), header_bytes);
        let cipher = Aes256Gcm::new(key.as_bytes().into());
        key.zeroize();
        cipher
    }
}

/// The nonce of a frame: its number, little-endian, in the first 8 of 12 bytes.
pub(crate) fn nonce(number: u64) -> Nonce<aes_gcm::aead::consts::U12> {
    let mut nonce = Nonce::default();
    for (byte, digit) in nonce.iter_mut().zip(number.to_le_bytes()) {
        *byte = digit;
    }
    nonce
}

fn goes_on(field: &'static str, expected: u64, found: u64) -> Result<(), SealError> {
    if expected == found { Ok(()) } else { Err(SealError::NotNext { field, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_FRAME_BODY_BYTES, MAX_FRAME_ENTRIES};
    use crate::sample_ledger::SampleLedger;

    const BODY: &[u8] = b"body";

    fn out_of_range(field: &'static str, min: u64, max: usize, found: usize) -> SealError {
        SealError::Frame(FrameError::OutOfRange { field, min, max: max as u64, found: found as u64 })
    }

    #[test]
    fn a_plan_that_does_not_go_on_is_refused_and_changes_nothing() {
        let mut ledger = SampleLedger::new(1);
        let (mut out, mut discarded) = (vec![7], Vec::new());
        let mut sealer = ledger.begin(&mut discarded);
        ledger.frame(&mut sealer, 2, BODY, &mut discarded);
        let tip = *sealer.tip();
        let plan = ledger.plan(1);
        let not_next = |field, expected, found| SealError::NotNext { field, expected, found };
        for (wrong, expected) in [
            (FramePlan { first: Position::FIRST, ..plan }, not_next("first position", 3, 1)),
            (FramePlan { tree_size: 4, ..plan }, not_next("tree size", 3, 4)),
            (FramePlan { count: 2, ..plan }, not_next("tree size", 4, 3)),
            (FramePlan { time: Micros(1), ..plan }, not_next("time", plan.time.0 - 1_000, 1)),
        ] {
            assert_eq!(sealer.seal(wrong, Codec::Stored, BODY, 4, &mut out), Err(expected));
            assert_eq!((out.as_slice(), *sealer.tip()), (&[7][..], tip));
        }
        assert!(sealer.seal(plan, Codec::Stored, BODY, 4, &mut out).is_ok());
    }

    #[test]
    fn a_frame_outside_of_its_limits_is_refused() {
        let mut ledger = SampleLedger::new(1);
        let mut sealer = ledger.begin(&mut Vec::new());
        let plan = ledger.plan(1);
        let none = FramePlan { count: 0, tree_size: 0, ..plan };
        let over = MAX_FRAME_ENTRIES + 1;
        let many = FramePlan { count: u32::try_from(over).unwrap(), tree_size: over as u64, ..plan };
        let too_long = u32::try_from(MAX_FRAME_BODY_BYTES + 1).unwrap();
        for (plan, codec, body_bytes, expected) in [
            (none, Codec::Stored, 4, out_of_range("count", 1, MAX_FRAME_ENTRIES, 0)),
            (many, Codec::Stored, 4, out_of_range("count", 1, MAX_FRAME_ENTRIES, over)),
            (plan, Codec::Stored, 0, out_of_range("body bytes", 1, MAX_FRAME_BODY_BYTES, 0)),
            (plan, Codec::Stored, 5, out_of_range("sealed bytes", 5, 5, 4)),
            (plan, Codec::Zstd, 3, out_of_range("sealed bytes", 1, 3, 4)),
            (
                plan,
                Codec::Zstd,
                too_long,
                out_of_range("body bytes", 1, MAX_FRAME_BODY_BYTES, MAX_FRAME_BODY_BYTES + 1),
            ),
        ] {
            assert_eq!(sealer.seal(plan, codec, BODY, body_bytes, &mut Vec::new()), Err(expected));
        }
    }

    #[test]
    fn a_segment_without_frames_has_no_footer() {
        let mut out = Vec::new();
        let sealer = SampleLedger::new(1).begin(&mut out);
        let header_bytes = out.len();
        assert_eq!(sealer.footer(&mut out), Err(SealError::Empty));
        assert_eq!(out.len(), header_bytes);
    }

    #[test]
    fn the_largest_frame_is_within_the_limit_of_all_frames() {
        let mut ledger = SampleLedger::new(1);
        let mut out = Vec::new();
        let mut sealer = ledger.begin(&mut Vec::new());
        ledger.frame(&mut sealer, 1, &vec![1; MAX_FRAME_BODY_BYTES], &mut out);
        assert!(out.len() <= crate::limits::MAX_FRAME_BYTES);
        assert_eq!(FrameHeader::parse(&out).unwrap().stored_bytes(), out.len());
    }
}

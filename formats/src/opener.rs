//! The opener of stored frames: opens a frame's body with the segment's data key.

use aes_gcm::AeadInOut;
use subtle::ConstantTimeEq;

use crate::compression::{CompressionError, Decompressor};
use crate::frame::{StoredFrame, TAG_BYTES};
use crate::ids::Secret;
use crate::padding::{PaddingError, unpad};
use crate::sealer::{FrameKeys, nonce};

/// An error in opening a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameOpenError {
    /// The key is another, or header, ciphertext or tag are not those that were sealed.
    #[error("the frame does not open under its segment's key; restore the segment from an archive")]
    NotAuthentic,
    /// It was encrypted under this key, but the body is not the one that the header names.
    #[error("the frame's body is not the one its header names; restore the segment from an archive")]
    Siv,
    /// The body does not decompress to the size that the header names.
    #[error("the frame's body does not decompress: {0}")]
    Compression(#[from] CompressionError),
    /// The body is not padded as the header says.
    #[error("the frame's body is not padded as its header says: {0}")]
    Padding(#[from] PaddingError),
}

/// Opens the frames of one segment.
pub struct FrameOpener {
    keys: FrameKeys,
}

impl FrameOpener {
    /// An opener for the segment with this data key.
    #[must_use]
    pub fn new(segment_key: &Secret) -> Self {
        Self { keys: FrameKeys::new(segment_key) }
    }

    /// The compressed body. Nothing of it is given out before both tag and `siv` hold.
    ///
    /// # Errors
    /// [`FrameOpenError::NotAuthentic`] or [`FrameOpenError::Siv`].
    pub fn open(&self, frame: &StoredFrame<'_>) -> Result<Vec<u8>, FrameOpenError> {
        let (ciphertext, tag) =
            frame.sealed().split_last_chunk::<TAG_BYTES>().ok_or(FrameOpenError::NotAuthentic)?;
        let header_bytes = frame.header_bytes();
        let mut compressed = ciphertext.to_vec();
        self.keys
            .cipher(header_bytes)
            .decrypt_inout_detached(
                &nonce(frame.header().number),
                header_bytes,
                compressed.as_mut_slice().into(),
                tag.into(),
            )
            .map_err(|_| FrameOpenError::NotAuthentic)?;
        // AES-GCM does not commit to its key: the keyed hash does.
        let same: bool = self.keys.siv(&compressed).ct_eq(&frame.header().siv).into();
        if same { Ok(compressed) } else { Err(FrameOpenError::Siv) }
    }

    /// The body as the sequencer wrote it, of exactly the size that the header names, or the padding.
    ///
    /// # Errors
    /// A [`FrameOpenError`].
    pub fn open_body(
        &self,
        frame: &StoredFrame<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<u8>, FrameOpenError> {
        let compressed = self.open(frame)?;
        let header = frame.header();
        if header.is_padded {
            return Ok(unpad(&compressed, decompressor)?);
        }
        Ok(decompressor.decompress(header.codec, &compressed, header.body_bytes as usize)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::genesis_tip;
    use crate::compression::{Codec, Compressor};
    use crate::frame::{FRAME_HEADER_BYTES, FrameHeader};
    use crate::ids::{ChainHash, Micros, Position, TreeHash};
    use crate::sample_ledger::SampleLedger;

    const BODY: &[u8] = b"what the sequencer wrote, what the sequencer wrote, what the sequencer wrote";

    fn key(first: u8) -> Secret {
        Secret::take(&mut [first; 32])
    }

    fn header(codec: Codec, compressed: &[u8], siv: [u8; 32]) -> FrameHeader {
        FrameHeader {
            codec,
            is_padded: false,
            number: 1,
            first_position: Position::FIRST,
            count: 1,
            body_bytes: u32::try_from(BODY.len()).unwrap(),
            sealed_bytes: u32::try_from(compressed.len()).unwrap(),
            time: Micros(1),
            previous: ChainHash([0; 32]),
            tree_size: 1,
            tree_root: TreeHash([0; 32]),
            siv,
        }
    }

    /// Returns a stored frame under `key(1)` with any header; signature and checksum are zeros.
    fn sealed(header: &FrameHeader, compressed: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        header.encode(&mut stored);
        let mut body = compressed.to_vec();
        let cipher = FrameKeys::new(&key(1)).cipher(&stored);
        let tag = cipher.encrypt_inout_detached(&nonce(header.number), &stored, body.as_mut_slice().into());
        stored.extend_from_slice(&body);
        stored.extend_from_slice(&tag.unwrap());
        stored.extend_from_slice(&[0; 68]);
        stored
    }

    fn open(stored: &[u8], key: &Secret) -> Result<Vec<u8>, FrameOpenError> {
        let stored = StoredFrame::parse(stored).unwrap();
        FrameOpener::new(key).open_body(&stored, &mut Decompressor::new().unwrap())
    }

    #[test]
    fn every_codec_opens_to_the_body() {
        let mut compressor = Compressor::new(3).unwrap();
        let (codec, compressed) = compressor.compress(BODY);
        assert_ne!(codec, Codec::Stored);
        for (codec, compressed) in [(codec, compressed), (Codec::Stored, BODY)] {
            let siv = FrameKeys::new(&key(1)).siv(compressed);
            let stored = sealed(&header(codec, compressed, siv), compressed);
            assert_eq!(open(&stored, &key(1)), Ok(BODY.to_vec()));
        }
    }

    #[test]
    fn another_key_opens_nothing() {
        let siv = FrameKeys::new(&key(1)).siv(BODY);
        let stored = sealed(&header(Codec::Stored, BODY, siv), BODY);
        assert_eq!(open(&stored, &key(2)), Err(FrameOpenError::NotAuthentic));
    }

    #[test]
    fn no_byte_of_header_ciphertext_or_tag_can_change() {
        let siv = FrameKeys::new(&key(1)).siv(BODY);
        let stored = sealed(&header(Codec::Stored, BODY, siv), BODY);
        for offset in 0..stored.len() - 68 {
            let mut changed = stored.clone();
            changed[offset] ^= 1;
            if StoredFrame::parse(&changed).is_ok() {
                assert_eq!(open(&changed, &key(1)), Err(FrameOpenError::NotAuthentic), "byte {offset}");
            } else {
                assert!(offset < FRAME_HEADER_BYTES, "byte {offset}");
            }
        }
    }

    #[test]
    fn a_body_that_its_header_does_not_name_is_refused() {
        let stored = sealed(&header(Codec::Stored, BODY, [0; 32]), BODY);
        assert_eq!(open(&stored, &key(1)), Err(FrameOpenError::Siv));
    }

    #[test]
    fn a_body_of_another_size_than_announced_is_refused() {
        let mut compressor = Compressor::new(3).unwrap();
        let (codec, compressed) = compressor.compress(BODY);
        let siv = FrameKeys::new(&key(1)).siv(compressed);
        for body_bytes in [BODY.len() - 1, BODY.len() + 1, 16 << 20] {
            let body_bytes = u32::try_from(body_bytes).unwrap();
            let header = FrameHeader { body_bytes, ..header(codec, compressed, siv) };
            let refused = open(&sealed(&header, compressed), &key(1)).unwrap_err();
            assert!(matches!(refused, FrameOpenError::Compression(_)), "{body_bytes} bytes: {refused}");
        }
    }

    #[test]
    fn the_same_body_in_two_frames_is_not_seen_to_be_the_same() {
        let mut ledger = SampleLedger::new(1);
        let mut stored = [const { Vec::new() }; 2];
        let mut sealer = ledger.begin(&mut Vec::new());
        for out in &mut stored {
            ledger.frame(&mut sealer, 1, BODY, out);
        }
        let [one, two] = stored.each_ref().map(|stored| StoredFrame::parse(stored).unwrap());
        let equal = one.sealed().iter().zip(two.sealed()).filter(|(one, two)| one == two).count();
        assert!(equal < 10, "{equal} of {} bytes", one.sealed().len());
        assert!(one.link(&genesis_tip()).is_ok());
    }
}

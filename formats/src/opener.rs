//! Opening: the body of a stored frame, given the segment's data key.

use aes_gcm::AeadInOut;
use subtle::ConstantTimeEq;

use crate::compression::{CompressionError, Decompressor};
use crate::frame::{StoredFrame, TAG_BYTES};
use crate::ids::Secret;
use crate::sealer::{FrameKeys, nonce};

/// Why a frame does not open.
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

    /// The body as the sequencer wrote it, of exactly the size that the header names.
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
        Ok(decompressor.decompress(header.codec, &compressed, header.body_bytes as usize)?)
    }
}

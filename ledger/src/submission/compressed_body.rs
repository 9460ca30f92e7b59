//! A frame's body, compressed and perhaps padded, before it is encrypted.

use bitacora_formats::{ChainTip, Codec, Compressor, FramePlan, FrameSealer, pad};

/// A frame's body, and how it will be encrypted.
pub(crate) struct CompressedBody {
    pub(crate) body: Vec<u8>,
    codec: Codec,
    /// The compressed body; `None` where it is stored as it is.
    compressed: Option<Vec<u8>>,
    /// The padded bytes, which are sealed in its place.
    padded: Option<Vec<u8>>,
}

impl CompressedBody {
    pub(crate) fn new(compressor: &mut Compressor, body: Vec<u8>) -> Self {
        let (codec, bytes) = compressor.compress(&body);
        let compressed = (codec != Codec::Stored).then(|| bytes.to_vec());
        Self { body, codec, compressed, padded: None }
    }

    /// Returns the bytes that are encrypted.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.padded.as_deref().or(self.compressed.as_deref()).unwrap_or(&self.body)
    }

    /// Hides the length of a small body, which may tell what a person answered.
    pub(crate) fn pad(&mut self) {
        self.padded = pad(self.codec, self.bytes(), self.body.len());
    }

    /// Gives the padding up, where there is no room for it.
    pub(crate) fn unpad(&mut self) {
        self.padded = None;
    }

    /// Seals it as the next frame of a segment.
    pub(crate) fn seal(
        &self,
        sealer: &mut FrameSealer,
        plan: FramePlan,
        out: &mut Vec<u8>,
    ) -> Result<ChainTip, String> {
        let sealed = match &self.padded {
            Some(padded) => sealer.seal_padded(plan, padded, out),
            None => {
                let body_bytes = u32::try_from(self.body.len()).map_err(|_| "a frame body past 4 GiB")?;
                sealer.seal(plan, self.codec, self.bytes(), body_bytes, out)
            }
        };
        sealed.map_err(|error| error.to_string())
    }
}

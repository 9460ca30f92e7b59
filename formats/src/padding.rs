//! Padding of small frame bodies, so that a frame's length does not reveal a person's answer.
//!
//! Layout: `docs/formats/frame.md#padded-frames`.

use crate::compression::{Codec, CompressionError, Decompressor};
use crate::fields::Fields;

/// The lengths that a padded body has, bytes. A frame tells nothing else of its length.
pub const PADDED_BYTES: [usize; 5] = [1024, 2 * 1024, 4 * 1024, 8 * 1024, 16 * 1024];
/// The longest body that is padded, bytes before compression.
pub const MAX_PADDED_BODY_BYTES: usize = 16 * 1024;
/// Bytes before the compressed body: its codec, three zeros, its length before and after compression.
const PREFIX_BYTES: usize = 12;

/// The reason why bytes are no padded body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaddingError {
    /// The codec, or a length, is not one that a padded body has.
    #[error("a padded body with a codec or lengths that none has; the body is refused")]
    Prefix,
    /// The bytes behind the body are not all zeros.
    #[error("a padded body with other bytes than zeros behind it; the body is refused")]
    NotZeros,
    /// The padded bytes do not decompress.
    #[error(transparent)]
    Compression(#[from] CompressionError),
}

/// Pads a body that is compressed under `codec`. `None` where it is too long to be padded.
#[must_use]
pub fn pad(codec: Codec, compressed: &[u8], body_bytes: usize) -> Option<Vec<u8>> {
    let length = PREFIX_BYTES + compressed.len();
    let padded = PADDED_BYTES.into_iter().find(|padded| length <= *padded)?;
    let (body, inner) = (u32::try_from(body_bytes).ok()?, u32::try_from(compressed.len()).ok()?);
    if body_bytes > MAX_PADDED_BODY_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(padded);
    bytes.extend_from_slice(&[codec.number(), 0, 0, 0]);
    bytes.extend_from_slice(&body.to_le_bytes());
    bytes.extend_from_slice(&inner.to_le_bytes());
    bytes.extend_from_slice(compressed);
    bytes.resize(padded, 0);
    Some(bytes)
}

/// Returns the body in authenticated bytes that [`pad`] made.
///
/// # Errors
/// A [`PaddingError`] for any bytes that it would not have made.
pub(crate) fn unpad(bytes: &[u8], decompressor: &mut Decompressor) -> Result<Vec<u8>, PaddingError> {
    let (codec, compressed, rest, body_bytes) = split(bytes).ok_or(PaddingError::Prefix)?;
    if rest.iter().any(|byte| *byte != 0) {
        return Err(PaddingError::NotZeros);
    }
    Ok(decompressor.decompress(codec, compressed, body_bytes)?)
}

/// Splits a padded body: the codec, the compressed body, the bytes after it, and the body's length.
fn split(bytes: &[u8]) -> Option<(Codec, &[u8], &[u8], usize)> {
    let mut fields = Fields::new(bytes);
    let [codec, zeros @ ..] = fields.bytes::<4>().ok()?;
    let (body_bytes, inner) = (fields.u32().ok()? as usize, fields.u32().ok()? as usize);
    let (compressed, rest) = bytes.get(PREFIX_BYTES..)?.split_at_checked(inner)?;
    let codec = Codec::from_number(codec).filter(|_| zeros == [0; 3])?;
    let least = PADDED_BYTES.into_iter().find(|padded| PREFIX_BYTES + inner <= *padded);
    let fits = least == Some(bytes.len()) && (1..=MAX_PADDED_BODY_BYTES).contains(&body_bytes);
    fits.then_some((codec, compressed, rest, body_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compressor;

    fn padded(body: &[u8]) -> Option<Vec<u8>> {
        let mut compressor = Compressor::new(1).unwrap();
        let (codec, compressed) = compressor.compress(body);
        pad(codec, compressed, body.len())
    }

    fn back(bytes: &[u8]) -> Result<Vec<u8>, PaddingError> {
        unpad(bytes, &mut Decompressor::new().unwrap())
    }

    /// Bytes that hardly compress.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn every_small_body_comes_back_and_has_one_of_few_lengths() {
        for length in [1, 2, 500, 1011, 1012, 1013, 2036, 2037, 5000, 16_372] {
            for body in [noise(length), vec![b'a'; length]] {
                let bytes = padded(&body).unwrap();
                assert!(PADDED_BYTES.contains(&bytes.len()), "{length}: {}", bytes.len());
                assert_eq!(back(&bytes), Ok(body));
            }
        }
        assert_eq!(padded(&noise(1012)).unwrap().len(), 1024);
        assert_eq!(padded(&noise(1013)).unwrap().len(), 2048);
        assert_eq!(padded(&noise(16_373)), None, "longer than the largest");
        assert_eq!(padded(&vec![0; MAX_PADDED_BODY_BYTES + 1]), None);
        assert!(padded(&vec![0; MAX_PADDED_BODY_BYTES]).is_some());
    }

    #[test]
    fn a_body_has_one_padding() {
        let bytes = padded(b"a body that is short").unwrap();
        for at in (0..12).chain([bytes.len() - 1]) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            assert!(back(&changed).is_err(), "byte {at}");
        }
        for length in [0, 11, 12, 1023, 1025] {
            let mut other = bytes.clone();
            other.resize(length, 0);
            assert_eq!(back(&other), Err(PaddingError::Prefix), "{length} bytes");
        }
        let mut wider = bytes.clone();
        wider.resize(2048, 0);
        assert_eq!(back(&wider), Err(PaddingError::Prefix), "more zeros than are needed");
        let mut behind = bytes;
        behind[1000] = 1;
        assert_eq!(back(&behind), Err(PaddingError::NotZeros));
    }
}

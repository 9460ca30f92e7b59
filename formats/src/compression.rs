//! Compression of a frame's body: zstd, with the built-in dictionary for small bodies.
//!
//! Both directions hold contexts that are used again for every frame. Versions of zstd compress differently, so
//! nothing is ever compressed again to check it.

use std::num::NonZeroU32;
use std::sync::{LazyLock, OnceLock};

use zstd::bulk;
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{
    compress_bound, find_frame_compressed_size, get_dict_id_from_frame, get_frame_content_size,
};

use crate::limits::MAX_FRAME_BODY_BYTES;

/// The dictionary of [`Codec::ZstdDictionary1`]. Its bytes never change, because stored frames need them. Their making
/// is described in `docs/formats/dictionary.md`; a better dictionary is another codec.
const DICTIONARY_1: &[u8] = include_bytes!("../dictionary/v1.zdict");
/// The id by which zstd frames name that dictionary.
const DICTIONARY_1_ID: Option<NonZeroU32> = NonZeroU32::new(1_661_983_392);

/// Bodies shorter than this are compressed with the dictionary; longer ones hold enough of their own to refer to, and
/// a dictionary slows them down for nothing.
pub const DICTIONARY_BODY_BYTES: usize = 16 * 1024;

/// The fastest compression level.
pub const MIN_COMPRESSION_LEVEL: i32 = 1;
/// The slowest compression level; the ones past it take memory in proportion to nothing a frame could repay.
pub const MAX_COMPRESSION_LEVEL: i32 = 19;

/// The first bytes of a zstd frame, which a skippable frame does not have.
const ZSTD_FRAME_START: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The compression of a frame's body; the header's codec byte. Retired numbers stay retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not at all.
    Stored = 0,
    /// One zstd frame.
    Zstd = 1,
    /// One zstd frame that refers to the first built-in dictionary.
    ZstdDictionary1 = 2,
}

impl Codec {
    /// The codec with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Stored),
            1 => Some(Self::Zstd),
            2 => Some(Self::ZstdDictionary1),
            _ => None,
        }
    }

    /// The number in the frame's header.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// An error in a compressed body, or in making a compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompressionError {
    /// A level zstd does not have, or that is not taken here.
    #[error("compression level {level}; choose one from {MIN_COMPRESSION_LEVEL} to {MAX_COMPRESSION_LEVEL}")]
    Level {
        /// The level asked for.
        level: i32,
    },
    /// No memory for zstd's working space.
    #[error("zstd could not make its working space; free memory and start again")]
    Context,
    /// The body is said to be longer than any frame's.
    #[error("body of {bytes} bytes announced; a frame's has at most {MAX_FRAME_BODY_BYTES}")]
    TooLarge {
        /// The announced length.
        bytes: usize,
    },
    /// The body is of another length than the frame's header says.
    #[error("body of {expected} bytes announced, {found} found; the body is refused")]
    Length {
        /// The length the frame's header says.
        expected: usize,
        /// The length found.
        found: u64,
    },
    /// The zstd frame does not state its content's length, which every frame written here does.
    #[error("the compressed body does not state its length; the body is refused")]
    UnstatedLength,
    /// The zstd frame names another dictionary than its codec has, or none where there should be one.
    #[error("the compressed body refers to another dictionary than its codec; the body is refused")]
    Dictionary,
    /// Compressed bytes that save nothing; such a body is stored as it is.
    #[error("{bytes} compressed bytes for a body of {body_bytes}; the body is refused")]
    NotSmaller {
        /// The compressed length.
        bytes: usize,
        /// The length the frame's header says.
        body_bytes: usize,
    },
    /// Something follows the zstd frame, another frame perhaps.
    #[error("{bytes} bytes follow the compressed body; the body is refused")]
    Trailing {
        /// The number of bytes.
        bytes: usize,
    },
    /// Not a zstd frame, or not one that decompresses.
    #[error("the compressed body is not a whole zstd frame; the body is refused")]
    Malformed,
}

/// Compresses bodies, one after another.
pub struct Compressor {
    plain: bulk::Compressor<'static>,
    with_dictionary: bulk::Compressor<'static>,
    compressed: Vec<u8>,
}

impl Compressor {
    /// A compressor of `level`, from [`MIN_COMPRESSION_LEVEL`] to [`MAX_COMPRESSION_LEVEL`].
    ///
    /// # Errors
    ///
    /// [`CompressionError::Level`]; [`CompressionError::Context`].
    pub fn new(level: i32) -> Result<Self, CompressionError> {
        let dictionary = encoder_dictionary(level).ok_or(CompressionError::Level { level })?;
        let plain = bulk::Compressor::new(level).map_err(|_| CompressionError::Context)?;
        let with_dictionary =
            bulk::Compressor::with_prepared_dictionary(dictionary).map_err(|_| CompressionError::Context)?;
        Ok(Self { plain, with_dictionary, compressed: Vec::new() })
    }

    /// Compresses `body`. The result is `body` itself if it would not become smaller; otherwise it lies in the
    /// compressor until the next call.
    pub fn compress<'a>(&'a mut self, body: &'a [u8]) -> (Codec, &'a [u8]) {
        let (codec, compressor) = if body.len() < DICTIONARY_BODY_BYTES {
            (Codec::ZstdDictionary1, &mut self.with_dictionary)
        } else {
            (Codec::Zstd, &mut self.plain)
        };
        self.compressed.clear();
        self.compressed.reserve(compress_bound(body.len()));
        match compressor.compress_to_buffer(body, &mut self.compressed) {
            Ok(bytes) if bytes < body.len() => (codec, &self.compressed),
            // zstd fails only for want of memory; the body stored as it is is right in any case.
            _ => (Codec::Stored, body),
        }
    }
}

/// Decompresses bodies, one after another; total on any bytes.
pub struct Decompressor {
    plain: bulk::Decompressor<'static>,
    with_dictionary: bulk::Decompressor<'static>,
}

impl Decompressor {
    /// A decompressor of every codec.
    ///
    /// # Errors
    ///
    /// [`CompressionError::Context`].
    pub fn new() -> Result<Self, CompressionError> {
        static DICTIONARY: LazyLock<DecoderDictionary<'static>> =
            LazyLock::new(|| DecoderDictionary::copy(DICTIONARY_1));
        let plain = bulk::Decompressor::new().map_err(|_| CompressionError::Context)?;
        let with_dictionary = bulk::Decompressor::with_prepared_dictionary(&DICTIONARY)
            .map_err(|_| CompressionError::Context)?;
        Ok(Self { plain, with_dictionary })
    }

    /// Decompresses a body that is said, by an authenticated header, to have `body_bytes`. Room is made for exactly
    /// that many, and only after the compressed bytes were found to be one zstd frame that states the same length.
    ///
    /// # Errors
    ///
    /// [`CompressionError`] for any bytes that [`Compressor::compress`] would not have made of a body of that length.
    pub fn decompress(
        &mut self,
        codec: Codec,
        bytes: &[u8],
        body_bytes: usize,
    ) -> Result<Vec<u8>, CompressionError> {
        if body_bytes > MAX_FRAME_BODY_BYTES {
            return Err(CompressionError::TooLarge { bytes: body_bytes });
        }
        let (decompressor, dictionary) = match codec {
            Codec::Stored => {
                check_length(body_bytes, bytes.len() as u64)?;
                return Ok(bytes.to_vec());
            }
            Codec::Zstd => (&mut self.plain, None),
            Codec::ZstdDictionary1 => (&mut self.with_dictionary, DICTIONARY_1_ID),
        };
        check_zstd_frame(bytes, body_bytes)?;
        if get_dict_id_from_frame(bytes) != dictionary {
            return Err(CompressionError::Dictionary);
        }
        let mut body = Vec::with_capacity(body_bytes);
        let found =
            decompressor.decompress_to_buffer(bytes, &mut body).map_err(|_| CompressionError::Malformed)?;
        check_length(body_bytes, found as u64)?;
        Ok(body)
    }
}

/// Checks everything that can be known before decompression: one frame, nothing after it, the stated length.
fn check_zstd_frame(bytes: &[u8], body_bytes: usize) -> Result<(), CompressionError> {
    if bytes.len() >= body_bytes {
        return Err(CompressionError::NotSmaller { bytes: bytes.len(), body_bytes });
    }
    if !bytes.starts_with(&ZSTD_FRAME_START) {
        return Err(CompressionError::Malformed);
    }
    let frame_bytes = find_frame_compressed_size(bytes).map_err(|_| CompressionError::Malformed)?;
    match bytes.len().checked_sub(frame_bytes) {
        Some(0) => {}
        Some(bytes) => return Err(CompressionError::Trailing { bytes }),
        None => return Err(CompressionError::Malformed),
    }
    let stated = get_frame_content_size(bytes).map_err(|_| CompressionError::Malformed)?;
    check_length(body_bytes, stated.ok_or(CompressionError::UnstatedLength)?)
}

fn check_length(expected: usize, found: u64) -> Result<(), CompressionError> {
    if expected as u64 == found { Ok(()) } else { Err(CompressionError::Length { expected, found }) }
}

/// The dictionary prepared for a level, once in the life of the process.
fn encoder_dictionary(level: i32) -> Option<&'static EncoderDictionary<'static>> {
    const LEVELS: usize = MAX_COMPRESSION_LEVEL.abs_diff(MIN_COMPRESSION_LEVEL) as usize + 1;
    static PREPARED: [OnceLock<EncoderDictionary<'static>>; LEVELS] = [const { OnceLock::new() }; LEVELS];
    let place = usize::try_from(level.checked_sub(MIN_COMPRESSION_LEVEL)?).ok()?;
    Some(PREPARED.get(place)?.get_or_init(|| EncoderDictionary::copy(DICTIONARY_1, level)))
}

#[cfg(test)]
mod tests;

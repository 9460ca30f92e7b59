//! Blocks of streams of bytes, compressed by zstd: long streams alone, short ones together.

use std::sync::OnceLock;

use zstd::bulk;
use zstd::zstd_safe::{compress_bound, get_frame_content_size};

use super::ColumnsError;
use super::limits::{MAX_BLOCK_BYTES, MAX_BLOCKS_BYTES, MAX_STREAMS};
use super::varint::{Input, put};

/// A stream this long has a block of its own.
const OWN_BLOCK_BYTES: usize = 4 * 1_024;
/// A block of short streams takes no further one past this.
const SHARED_BLOCK_BYTES: usize = 64 * 1_024;

/// Streams up to this many bytes are stored as they are: zstd would save less on them than decompression costs.
const FEW_BYTES: usize = 256;

/// The highest zstd level for numbers. In groups without long texts, most bytes are numbers. Higher levels take a
/// sixth of the whole time and save only a hundredth of the size.
const MAX_NUMBERS_LEVEL: i32 = 15;

/// The nature of a stream's contents, so that similar streams lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StreamKind {
    /// Numbers, byte after byte.
    Numbers,
    /// Texts that a person or program wrote.
    Text,
    /// Bytes that were written as something else, or that nobody wrote.
    Bytes,
}

impl StreamKind {
    /// The level for a block of such streams, where `level` is asked for.
    fn level(self, level: i32) -> i32 {
        match self {
            Self::Numbers => level.min(MAX_NUMBERS_LEVEL),
            Self::Text | Self::Bytes => level,
        }
    }
}

/// Bytes that a node needs beside its description.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) nature: StreamKind,
    pub(super) bytes: Vec<u8>,
}

/// Writes the block and the length of each stream, and all blocks.
pub(super) fn pack(
    streams: &[Stream],
    level: i32,
    directory: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), ColumnsError> {
    let mut blocks: Vec<Stream> = Vec::new();
    let mut places = vec![0; streams.len()];
    for nature in [StreamKind::Numbers, StreamKind::Text, StreamKind::Bytes] {
        let mut shared: Option<usize> = None;
        let alike = places.iter_mut().zip(streams).filter(|(_, stream)| stream.nature == nature);
        for (place, stream) in alike {
            let long = if nature == StreamKind::Text { usize::MAX } else { OWN_BLOCK_BYTES };
            let room = if nature == StreamKind::Text { MAX_BLOCK_BYTES } else { SHARED_BLOCK_BYTES };
            let fits = |block: &Stream| block.bytes.len() + stream.bytes.len() <= room;
            *place = match shared.filter(|at| blocks.get(*at).is_some_and(fits)) {
                Some(shared) if stream.bytes.len() < long => shared,
                _ => {
                    blocks.push(Stream { nature, bytes: Vec::new() });
                    if stream.bytes.len() < long {
                        shared = Some(blocks.len() - 1);
                    }
                    blocks.len() - 1
                }
            };
            if let Some(block) = blocks.get_mut(*place) {
                block.bytes.extend_from_slice(&stream.bytes);
            }
        }
    }
    let mut compressor = bulk::Compressor::new(level).map_err(|_| ColumnsError::Context)?;
    put(blocks.len() as u64, directory);
    for Stream { nature, bytes } in &blocks {
        let level = nature.level(level);
        compressor.set_compression_level(level).map_err(|_| ColumnsError::Level { level })?;
        let stored = compress_behind(&mut compressor, bytes, out)?;
        put(bytes.len() as u64, directory);
        put(stored as u64, directory);
    }
    put(streams.len() as u64, directory);
    for (place, stream) in places.iter().zip(streams) {
        put(*place as u64, directory);
        put(stream.bytes.len() as u64, directory);
    }
    Ok(())
}

/// Writes bytes compressed, or as they are if that is no longer, and returns their number.
pub(super) fn compress_behind(
    compressor: &mut bulk::Compressor<'_>,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, ColumnsError> {
    if bytes.len() < FEW_BYTES {
        out.extend_from_slice(bytes);
        return Ok(bytes.len());
    }
    let mut compressed = Vec::with_capacity(compress_bound(bytes.len()));
    compressor.compress_to_buffer(bytes, &mut compressed).map_err(|_| ColumnsError::Context)?;
    let stored = if compressed.len() < bytes.len() { compressed.as_slice() } else { bytes };
    out.extend_from_slice(stored);
    Ok(stored.len())
}

/// The bytes that were written by [`compress_behind`], `length` of them.
pub(super) fn decompress(
    decompressor: &mut bulk::Decompressor<'_>,
    stored: &[u8],
    length: usize,
) -> Result<Vec<u8>, ColumnsError> {
    const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a compressed block" };
    if stored.len() == length {
        return Ok(stored.to_vec());
    }
    let stated = get_frame_content_size(stored).map_err(|_| MALFORMED)?;
    if stated != Some(length as u64) || stored.len() > length {
        return Err(MALFORMED);
    }
    let bytes = decompressor.decompress(stored, length).map_err(|_| MALFORMED)?;
    if bytes.len() == length { Ok(bytes) } else { Err(MALFORMED) }
}

/// A decompressor; its working space is made once it is needed.
#[derive(Default)]
pub(super) struct Opener(Option<bulk::Decompressor<'static>>);

impl Opener {
    /// As [`decompress`].
    pub(super) fn open(&mut self, stored: &[u8], length: usize) -> Result<Vec<u8>, ColumnsError> {
        if stored.len() == length {
            return Ok(stored.to_vec());
        }
        if self.0.is_none() {
            self.0 = Some(bulk::Decompressor::new().map_err(|_| ColumnsError::Context)?);
        }
        decompress(self.0.as_mut().ok_or(ColumnsError::Context)?, stored, length)
    }
}

/// A block of streams.
struct Block {
    length: usize,
    stored: Vec<u8>,
    /// Once something in it was asked for.
    opened: OnceLock<Vec<u8>>,
    /// `true` if the block holds texts, which are made of it later.
    is_kept: bool,
}

/// All streams of a group, given out in their order. A block is opened when something in it is asked for.
pub(super) struct Streams {
    blocks: Vec<Block>,
    /// The block of each stream and where it lies in it, those that come first at the end.
    places: Vec<StreamLocation>,
}

/// A stream's block, and where in it the stream begins and ends.
pub(super) type StreamLocation = (usize, usize, usize);

impl Streams {
    /// Reads which streams there are from the directory, and takes the blocks as they are stored.
    pub(super) fn read(directory: &mut Input<'_>, stored: &mut Input<'_>) -> Result<Self, ColumnsError> {
        let mut blocks = Vec::new();
        let mut all_bytes = 0;
        for _ in 0..directory.count(MAX_STREAMS, "blocks")? {
            let length = directory.count(MAX_BLOCK_BYTES, "a block's length")?;
            let stored_length = directory.count(length, "a block's stored length")?;
            all_bytes += length;
            if all_bytes > MAX_BLOCKS_BYTES {
                return Err(ColumnsError::Malformed { what: "the blocks' length" });
            }
            let stored = stored.take(stored_length)?.to_vec();
            blocks.push(Block { length, stored, opened: OnceLock::new(), is_kept: false });
        }
        let mut ends = vec![0; blocks.len()];
        let mut places = Vec::new();
        for _ in 0..directory.count(MAX_STREAMS, "streams")? {
            const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a stream's place" };
            let block = directory.count(MAX_STREAMS, "a stream's block")?;
            let length = directory.count(MAX_BLOCK_BYTES, "a stream's length")?;
            let end = ends.get_mut(block).ok_or(MALFORMED)?;
            let start = *end;
            *end += length;
            if blocks.get(block).is_none_or(|block| *end > block.length) {
                return Err(MALFORMED);
            }
            places.push((block, start, *end));
        }
        places.reverse();
        if ends.iter().zip(&blocks).any(|(end, block)| *end != block.length) {
            return Err(ColumnsError::Malformed { what: "bytes behind the streams" });
        }
        Ok(Self { blocks, places })
    }

    /// Returns the place of the next stream, for [`Streams::at`].
    pub(super) fn next(&mut self) -> Result<StreamLocation, ColumnsError> {
        self.places.pop().ok_or(ColumnsError::Malformed { what: "too few streams" })
    }

    pub(super) fn at(&self, place: StreamLocation, opener: &mut Opener) -> Result<&[u8], ColumnsError> {
        let (block, start, end) = place;
        Ok(self.block(block, opener)?.get(start..end).unwrap_or_default())
    }

    /// A block's bytes.
    pub(super) fn block(&self, number: usize, opener: &mut Opener) -> Result<&[u8], ColumnsError> {
        let block = self.blocks.get(number).ok_or(ColumnsError::Malformed { what: "a block" })?;
        if let Some(opened) = block.opened.get() {
            return Ok(opened);
        }
        let opened = opener.open(&block.stored, block.length)?;
        Ok(block.opened.get_or_init(|| opened))
    }

    /// Texts are made of this block later on.
    pub(super) fn keep(&mut self, block: usize) {
        if let Some(block) = self.blocks.get_mut(block) {
            block.is_kept = true;
        }
    }

    /// Lets go of the blocks of which nothing is made any more, once all nodes were read.
    pub(super) fn let_go(&mut self) {
        for block in self.blocks.iter_mut().filter(|block| !block.is_kept) {
            block.stored = Vec::new();
            block.opened = OnceLock::new();
        }
    }

    /// Bytes that the blocks take, or will take once they are open.
    pub(super) fn held_bytes(&self) -> usize {
        let kept = self.blocks.iter().filter(|block| block.is_kept);
        kept.map(|block| block.stored.len() + block.length).sum()
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.places.is_empty()
    }
}

//! The description of a column on its way into the directory, with the streams that it needs.

use zstd::bulk;
use zstd::zstd_safe::compress_bound;

use crate::columns::blocks::{Stream, StreamKind};
use crate::columns::varint::{put, put_bytes, put_signed};

/// A node and all within it.
#[derive(Debug, Clone, Default)]
pub(super) struct EncodedNode {
    pub(super) directory: Vec<u8>,
    pub(super) streams: Vec<Stream>,
    /// The number of values that a reader makes of it.
    pub(super) values: usize,
}

impl EncodedNode {
    /// A node that makes so many values.
    pub(super) fn new(tag: u8, values: usize) -> Self {
        Self { directory: vec![tag], streams: Vec::new(), values: values + 1 }
    }

    /// A node that makes values by their classes.
    pub(super) fn of_classes(tag: u8, values: usize, column: usize, classes: usize) -> Self {
        Self::new(tag, values + classes).number(column as u64)
    }

    pub(super) fn number(mut self, number: u64) -> Self {
        put(number, &mut self.directory);
        self
    }

    pub(super) fn signed(mut self, number: i64) -> Self {
        put_signed(number, &mut self.directory);
        self
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        put_bytes(bytes, &mut self.directory);
        self
    }

    pub(super) fn stream(mut self, nature: StreamKind, bytes: Vec<u8>) -> Self {
        self.streams.push(Stream { nature, bytes });
        self
    }

    pub(super) fn with(mut self, mut child: Self) -> Self {
        self.directory.append(&mut child.directory);
        self.streams.append(&mut child.streams);
        self.values += child.values;
        self
    }
}

/// Estimates the compressed size of pieces.
pub(super) struct Scale {
    compressor: bulk::Compressor<'static>,
    room: Vec<u8>,
}

/// A level that is fast and puts pieces in the same order as the others do.
const LEVEL: i32 = 1;
/// Bytes that zstd itself adds around every stream, regardless of its contents.
const FRAME_BYTES: usize = 8;

impl Scale {
    /// `None` where there is no memory for zstd's working space.
    pub(super) fn new() -> Option<Self> {
        Some(Self { compressor: bulk::Compressor::new(LEVEL).ok()?, room: Vec::new() })
    }

    /// Returns the approximate bytes of a piece.
    pub(super) fn weigh(&mut self, node: &EncodedNode) -> usize {
        let streams: usize = node.streams.iter().map(|stream| self.weigh_bytes(&stream.bytes)).sum();
        node.directory.len() + streams
    }

    /// Returns `true` if nothing repeats in the bytes. Such bytes would be in the way of texts that have something in common.
    pub(super) fn looks_random(&mut self, bytes: &[u8]) -> bool {
        const SAMPLE: usize = 16 * 1_024;
        const FEW: usize = 512;
        let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
        sample.len() >= FEW && self.weigh_bytes(sample) * 10 > sample.len() * 7
    }

    fn weigh_bytes(&mut self, bytes: &[u8]) -> usize {
        self.room.clear();
        self.room.reserve(compress_bound(bytes.len()));
        let written = self.compressor.compress_to_buffer(bytes, &mut self.room);
        written.map_or(bytes.len(), |written| written.saturating_sub(FRAME_BYTES).min(bytes.len()) + 2)
    }
}

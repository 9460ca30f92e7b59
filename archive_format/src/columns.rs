//! A group of events as columns, for cold archives: much smaller than frames.
//!
//! Every record and part of a range of positions comes back byte for byte. Layout: `docs/formats/columns.md`.

mod assembly;
mod blocks;
mod form;
mod gather;
mod group;
mod limits;
mod node;
mod opened;
mod reader;
mod record_layout;
mod shape;
mod table;
mod texts;
mod varint;
mod writer;
mod written;

use std::ops::Range;

use limits::MAX_HELD_BYTES;
pub use opened::ColumnGroup;

use bitacora_formats::limits::{MAX_PART_BYTES, MAX_RECORD_BYTES};
use bitacora_formats::{MAX_COMPRESSION_LEVEL, MIN_COMPRESSION_LEVEL};
use bitacora_formats::{Micros, StreamVersion};

/// The magic that a group of columns begins with.
pub const COLUMNS_MAGIC: [u8; 8] = *b"BITACCOL";
/// The one format that is written, and the one that can be read.
pub const COLUMNS_FORMAT: u16 = 1;
/// Events of one group.
pub const MAX_GROUP_ROWS: usize = 16_384;
/// Bytes of records and parts at which a group is full.
const FULL_GROUP_BYTES: usize = 8 * 1_024 * 1_024;
/// Bytes of the records and parts of one group. A writer of groups ends one before an event would take it past 8 MiB.
/// An event that is larger than the rest of that still fits a group of its own.
pub const MAX_GROUP_BYTES: usize = FULL_GROUP_BYTES + MAX_RECORD_BYTES + MAX_PART_BYTES;

/// One event of a group, as its frame's body held it. Positions are implied: dense from the group's first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRow<'a> {
    /// The time of its frame.
    pub time: Micros,
    /// `true` for the first event of its frame.
    pub begins_frame: bool,
    /// `true` for the first event of its request.
    pub begins_request: bool,
    /// `true` if it was derived from the submitted events before it in its request.
    pub derived: bool,
    /// Its place in its stream.
    pub stream_version: StreamVersion,
    /// The encoded record; any bytes come back as they are, but only records become small.
    pub record: &'a [u8],
    /// The sealed part of a data subject.
    pub part: Option<&'a [u8]>,
}

impl ColumnRow<'_> {
    /// Bytes of the record and the part.
    fn bytes(&self) -> usize {
        self.record.len() + self.part.map_or(0, <[u8]>::len)
    }
}

/// An error in rows for a group, or in the bytes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// More events than a group has.
    #[error("{found} events; a group has at most {MAX_GROUP_ROWS}")]
    TooManyRows {
        /// The number of rows.
        found: usize,
    },
    /// More bytes of records and parts than a group has.
    #[error("{found} bytes of records and parts; a group has at most {MAX_GROUP_BYTES}")]
    TooLarge {
        /// The number of bytes.
        found: usize,
    },
    /// A level zstd does not have, or that is not taken here.
    #[error("compression level {level}; choose one from {MIN_COMPRESSION_LEVEL} to {MAX_COMPRESSION_LEVEL}")]
    Level {
        /// The level asked for.
        level: i32,
    },
    /// No memory for zstd's working space.
    #[error("zstd could not make its working space; free memory and try again")]
    Context,
    /// No group of columns begins so.
    #[error("the first bytes of a group of columns expected; the group is refused")]
    Magic,
    /// A format this version cannot read.
    #[error("found columns of format {found}, expected {COLUMNS_FORMAT}; a newer version may read them")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The bytes end earlier than they announce.
    #[error("the group of columns ends early; it is refused")]
    Truncated,
    /// Reading it takes more memory than any group that is written.
    #[error(
        "a group of columns that takes more than {MAX_HELD_BYTES} bytes of numbers to read; it is refused"
    )]
    TooMuchToHold,
    /// Something that no group of columns holds.
    #[error("malformed columns ({what}); the group is refused")]
    Malformed {
        /// The problem, or its place in the layout.
        what: &'static str,
    },
}

/// The rows of a group, decoded.
pub struct Rows {
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
}

/// The place of a row's record and part in the bytes, with its other fields.
struct RowSpan {
    time: Micros,
    begins_frame: bool,
    begins_request: bool,
    derived: bool,
    stream_version: StreamVersion,
    record: Range<usize>,
    part: Option<Range<usize>>,
}

impl Rows {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns `true` if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The row at an index from 0.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<ColumnRow<'_>> {
        self.spans.get(index).map(|span| self.at(span))
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ColumnRow<'_>> {
        self.spans.iter().map(|span| self.at(span))
    }

    fn at(&self, span: &RowSpan) -> ColumnRow<'_> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        ColumnRow {
            time: span.time,
            begins_frame: span.begins_frame,
            begins_request: span.begins_request,
            derived: span.derived,
            stream_version: span.stream_version,
            record: bytes(&span.record),
            part: span.part.as_ref().map(bytes),
        }
    }
}

/// The rows as one blob, compressed at this zstd level; numbers at a lower one where the higher is not worth its time.
///
/// # Errors
///
/// [`ColumnsError::TooManyRows`], [`ColumnsError::TooLarge`], [`ColumnsError::Level`], [`ColumnsError::Context`].
pub fn encode_columns(rows: &[ColumnRow<'_>], level: i32) -> Result<Vec<u8>, ColumnsError> {
    check_rows(rows)?;
    if !(MIN_COMPRESSION_LEVEL..=MAX_COMPRESSION_LEVEL).contains(&level) {
        return Err(ColumnsError::Level { level });
    }
    group::encode(rows, level)
}

fn check_rows(rows: &[ColumnRow<'_>]) -> Result<(), ColumnsError> {
    if rows.len() > MAX_GROUP_ROWS {
        return Err(ColumnsError::TooManyRows { found: rows.len() });
    }
    let found = rows.iter().map(ColumnRow::bytes).sum();
    if found > MAX_GROUP_BYTES { Err(ColumnsError::TooLarge { found }) } else { Ok(()) }
}

/// Decodes the rows of a blob. It reserves memory for the contents only, and never for more than a group may hold.
///
/// # Errors
///
/// [`ColumnsError`] for any bytes that [`encode_columns`] would not have written.
pub fn decode_columns(bytes: &[u8]) -> Result<Rows, ColumnsError> {
    let group = ColumnGroup::open(bytes)?;
    group.rows(0..group.len())
}

#[cfg(test)]
mod tests;

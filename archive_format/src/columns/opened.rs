//! An opened group of columns: any of its rows can be made without making the others.

use super::assembly::Assembly;
use super::blocks::{Opener, Streams};
use super::form::Forms;
use super::limits::{MAX_DIRECTORY_BYTES, MAX_HELD_BYTES};
use super::node::column;
use super::reader::{Column, GroupReader};
use super::table::Domain;
use super::texts::Texts;
use super::varint::Input;
use super::{COLUMNS_FORMAT, COLUMNS_MAGIC, ColumnsError, MAX_GROUP_ROWS, Rows};
use bitacora_formats::Micros;

/// A group whose directory and columns of numbers were read.
///
/// Texts, and with them records, are made only of the rows that are asked for. A block of texts is opened when the
/// first row needs it.
///
/// Data that no requested row needs stays unchecked. A damaged text or block of texts is found when a row that needs
/// it is read, or when all rows are.
pub struct ColumnGroup {
    pub(super) forms: Forms,
    pub(super) streams: Streams,
    pub(super) domains: Vec<Domain>,
    pub(super) columns: Vec<Column>,
    rows: usize,
}

impl ColumnGroup {
    /// Opens a blob.
    ///
    /// # Errors
    ///
    /// [`ColumnsError`] for bytes that [`encode_columns`](super::encode_columns) would not have written, as far as they are
    /// looked at.
    pub fn open(bytes: &[u8]) -> Result<Self, ColumnsError> {
        Self::open_within(MAX_HELD_BYTES, bytes)
    }

    /// The same, while no more than so many bytes of numbers, places and nodes are held at once.
    pub(super) fn open_within(memory: usize, bytes: &[u8]) -> Result<Self, ColumnsError> {
        let mut input = Input(bytes);
        if input.take(COLUMNS_MAGIC.len())? != COLUMNS_MAGIC {
            return Err(ColumnsError::Magic);
        }
        let short =
            |bytes: &[u8]| bytes.try_into().map(u16::from_le_bytes).map_err(|_| ColumnsError::Truncated);
        let found = short(input.take(2)?)?;
        if found != COLUMNS_FORMAT {
            return Err(ColumnsError::Format { found });
        }
        if short(input.take(2)?)? != 0 {
            return Err(ColumnsError::Malformed { what: "flags" });
        }
        let mut size = |max: usize, what| {
            let size = input.take(4)?.try_into().map(u32::from_le_bytes);
            let size = size.map_err(|_| ColumnsError::Truncated)?;
            let size = usize::try_from(size).ok().filter(|size| *size <= max);
            size.ok_or(ColumnsError::Malformed { what })
        };
        let rows = size(MAX_GROUP_ROWS, "rows")?;
        let directory_bytes = size(MAX_DIRECTORY_BYTES, "the directory's length")?;
        let stored_bytes = size(directory_bytes, "the directory's stored length")?;
        let directory = Opener::default().open(input.take(stored_bytes)?, directory_bytes)?;
        let mut directory = Input(&directory);
        let streams = Streams::read(&mut directory, &mut input)?;
        if !input.0.is_empty() {
            return Err(ColumnsError::Malformed { what: "bytes behind the blocks" });
        }
        let forms = Forms::read(&mut directory)?;
        let mut reader = GroupReader::new(streams, rows, memory);
        reader.read(&forms, &mut directory)?;
        if !directory.0.is_empty() {
            return Err(ColumnsError::Malformed { what: "bytes behind the directory" });
        }
        let (streams, domains, columns) = reader.into_parts();
        Ok(Self { forms, streams, domains, columns, rows })
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns `true` if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns `true` if the row at an index from 0 is the first of its frame; `None` if there is no such row.
    #[must_use]
    pub fn begins_frame(&self, index: usize) -> Option<bool> {
        self.number(column::BEGINS_FRAME, index).map(|flag| flag != 0)
    }

    /// The time of the frame that the row at an index from 0 is of; `None` where there is no such row.
    #[must_use]
    pub fn time(&self, index: usize) -> Option<Micros> {
        self.number(column::FRAME_TIME, index).map(|time| Micros(time.cast_unsigned()))
    }

    /// Makes the rows at these indices from 0, which must ascend, and no others. The first row of the result is that
    /// of the first index.
    ///
    /// # Errors
    ///
    /// [`ColumnsError`] for rows that no group has, and for indices that do not exist or do not ascend.
    pub fn rows(&self, indices: impl IntoIterator<Item = usize>) -> Result<Rows, ColumnsError> {
        Assembly::new(self).rows(indices)
    }

    /// Bytes of memory that the group takes, once all of its blocks are open.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let of_column = |column: &Column| {
            size_of_val(column.numbers()) + column.texts.as_ref().map_or(0, Texts::held_bytes)
        };
        let of_domain = |domain: &Domain| size_of::<Domain>() + size_of_val(domain.rows.as_slice());
        self.streams.held_bytes()
            + self.columns.iter().map(of_column).sum::<usize>()
            + self.domains.iter().map(of_domain).sum::<usize>()
    }

    /// A number of a column that has one a row.
    pub(super) fn number(&self, column: usize, row: usize) -> Option<i64> {
        self.columns.get(column)?.numbers.get(row).copied()
    }
}

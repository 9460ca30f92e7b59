//! Rows by columns, as Parquet takes them.

use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

use crate::call_facts::CallFacts;
use crate::columns::{COLUMNS, ColumnType, RowCell};
use crate::stored_row::StoredRow;

/// Rows, one buffer for each of [`COLUMNS`].
#[derive(Debug)]
pub(crate) struct RowColumns {
    buffers: Vec<ColumnBuffer>,
    /// The number of rows.
    pub(crate) rows: usize,
    /// Bytes of their cells.
    pub(crate) bytes: usize,
}

/// The cells of one column.
#[derive(Debug)]
enum ColumnBuffer {
    Text { bytes: Vec<u8>, ends: Vec<usize>, levels: Vec<i16> },
    Time { values: Vec<i64>, levels: Vec<i16> },
    Integer(Vec<i64>),
    Boolean(Vec<bool>),
}

impl Default for RowColumns {
    fn default() -> Self {
        let buffers = COLUMNS.iter().map(|column| ColumnBuffer::of(column.of_type())).collect();
        Self { buffers, rows: 0, bytes: 0 }
    }
}

impl RowColumns {
    /// Takes a row in.
    pub(crate) fn push(&mut self, row: &StoredRow<'_>, facts: &CallFacts<'_>) {
        for (column, buffer) in COLUMNS.iter().zip(&mut self.buffers) {
            self.bytes += buffer.push(column.cell(row, facts));
        }
        self.rows += 1;
    }

    /// Writes the cells of a column, and forgets them.
    pub(crate) fn write(
        &mut self,
        number: usize,
        to: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let taken = self
            .buffers
            .get_mut(number)
            .map(|buffer| std::mem::replace(buffer, ColumnBuffer::Boolean(Vec::new())));
        taken.map_or(Ok(()), |buffer| buffer.write(to))
    }
}

impl ColumnBuffer {
    fn of(values: ColumnType) -> Self {
        match values {
            ColumnType::Text | ColumnType::Json => {
                Self::Text { bytes: Vec::new(), ends: Vec::new(), levels: Vec::new() }
            }
            ColumnType::Time => Self::Time { values: Vec::new(), levels: Vec::new() },
            ColumnType::Integer => Self::Integer(Vec::new()),
            ColumnType::Boolean => Self::Boolean(Vec::new()),
        }
    }

    /// Adds a cell; returns its bytes.
    fn push(&mut self, cell: RowCell<'_>) -> usize {
        match (self, cell) {
            (Self::Text { bytes, ends, levels }, RowCell::Text(text)) => {
                levels.push(1);
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len());
                text.len() + size_of::<usize>()
            }
            (Self::Time { values, levels }, RowCell::Integer(time)) => {
                levels.push(1);
                values.push(time);
                size_of::<i64>()
            }
            (Self::Text { levels, .. } | Self::Time { levels, .. }, _) => {
                levels.push(0);
                size_of::<i16>()
            }
            (Self::Integer(values), cell) => {
                values.push(if let RowCell::Integer(number) = cell { number } else { 0 });
                size_of::<i64>()
            }
            (Self::Boolean(values), cell) => {
                values.push(cell == RowCell::Boolean(true));
                size_of::<bool>()
            }
        }
    }

    /// Writes its cells.
    fn write(self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Text { bytes, ends, levels } => {
                let (whole, mut begin) = (Bytes::from(bytes), 0);
                let values = ends.into_iter().map(|end| {
                    let value = whole.slice(begin..end);
                    begin = end;
                    ByteArray::from(value)
                });
                let values: Vec<ByteArray> = values.collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Time { values, levels } => {
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Integer(values) => {
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Self::Boolean(values) => {
                column.typed::<BoolType>().write_batch(&values, None, None)?;
            }
        }
        Ok(())
    }
}

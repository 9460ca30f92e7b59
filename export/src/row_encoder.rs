//! The encoder of rows: a batch of lines in, the rows of a format out. It keeps nothing between batches, so threads can share the work.

use bitacora_vocabulary::ExportFormat;

use crate::call_facts::CallFacts;
use crate::column_buffer::RowColumns;
use crate::encoders::{EncodeError, cloud_events, csv, ocsf};
use crate::line_batch::{ContentFlags, LineBatch};
use crate::row_filter::RowFilter;
use crate::stored_row::StoredRow;

/// The encoder of one export's rows.
#[derive(Debug, Clone)]
pub(crate) struct RowEncoder {
    format: ExportFormat,
    filter: RowFilter,
}

/// The rows of a batch.
#[derive(Debug)]
pub(crate) struct EncodedBatch {
    pub(crate) rows: EncodedRows,
    /// All events of the batch.
    pub(crate) events: Vec<EncodedEvent>,
}

/// The rows, as the file of their format takes them.
#[derive(Debug)]
pub(crate) enum EncodedRows {
    /// Lines, or elements of an array with the separator before each.
    Bytes(Vec<u8>),
    Columns(RowColumns),
}

/// An event that was looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodedEvent {
    pub(crate) position: u64,
    pub(crate) flags: ContentFlags,
    /// `true` if the filter passed it.
    pub(crate) is_row: bool,
}

impl RowEncoder {
    pub(crate) const fn new(format: ExportFormat, filter: RowFilter) -> Self {
        Self { format, filter }
    }

    /// Returns `true` if lines are rows as they are.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self.format, ExportFormat::Jsonl) && self.filter.is_empty()
    }

    /// Encodes the events of a batch that pass the filter.
    ///
    /// # Errors
    /// A line is not one of a stored event.
    pub(crate) fn encode(&self, batch: LineBatch) -> Result<EncodedBatch, EncodeError> {
        let event = |(position, flags, is_row)| EncodedEvent { position, flags, is_row };
        if self.is_copy() {
            let events = batch.events().map(|line| event((line.position, line.flags, true))).collect();
            return Ok(EncodedBatch { rows: EncodedRows::Bytes(batch.into_bytes()), events });
        }
        let mut rows = match self.format {
            ExportFormat::Parquet => EncodedRows::Columns(RowColumns::default()),
            _ => EncodedRows::Bytes(Vec::with_capacity(batch.len_bytes())),
        };
        let mut events = Vec::with_capacity(batch.len());
        for line in batch.events() {
            let is_row = self.row(line.line, &mut rows);
            let is_row = is_row.map_err(|source| EncodeError::Line { position: line.position, source })?;
            events.push(event((line.position, line.flags, is_row)));
        }
        Ok(EncodedBatch { rows, events })
    }

    /// Encodes one event. Returns `true` if it passed.
    fn row(&self, line: &[u8], rows: &mut EncodedRows) -> Result<bool, serde_json::Error> {
        let row = StoredRow::parse(line)?;
        let facts = CallFacts::of(&row);
        if !self.filter.is_empty() && !self.filter.passes(&facts) {
            return Ok(false);
        }
        match rows {
            EncodedRows::Columns(columns) => columns.push(&row, &facts),
            EncodedRows::Bytes(out) => match self.format {
                ExportFormat::Jsonl | ExportFormat::Parquet => out.extend_from_slice(line),
                ExportFormat::Cloudevents => cloud_events::write_event(&row, out),
                ExportFormat::Csv => csv::write_row(&row, &facts, out),
                ExportFormat::Ocsf => ocsf::write_row(&row, &facts, out),
            },
        }
        Ok(true)
    }
}

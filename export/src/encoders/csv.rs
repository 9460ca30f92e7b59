//! Comma-separated values (RFC 4180), with the names of the columns on the first line.

use crate::call_facts::CallFacts;
use crate::columns::{COLUMNS, ExportColumn, RowCell};
use crate::stored_row::StoredRow;

/// Appends the line of names.
pub(crate) fn write_names(out: &mut Vec<u8>) {
    let names = COLUMNS.map(ExportColumn::name).join(",");
    out.extend_from_slice(names.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends the line of a row. A missing value is an empty field, an empty text is `""`.
pub(crate) fn write_row(row: &StoredRow<'_>, facts: &CallFacts<'_>, out: &mut Vec<u8>) {
    for (number, column) in COLUMNS.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        if *column == ExportColumn::RecordedAt {
            out.extend_from_slice(row.recorded_at.as_bytes());
            continue;
        }
        match column.cell(row, facts) {
            RowCell::Missing => (),
            RowCell::Text(text) => write_text(&text, out),
            RowCell::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            RowCell::Boolean(true) => out.extend_from_slice(b"true"),
            RowCell::Boolean(false) => out.extend_from_slice(b"false"),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    let needs_quotes = |byte: u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    if !text.is_empty() && !text.bytes().any(needs_quotes) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

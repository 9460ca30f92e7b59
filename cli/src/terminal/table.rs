//! Tables and named values for people, in columns, without characters that control a terminal.

use std::iter::once;

use crate::terminal::output::{Output, OutputError, printable};

/// The most characters of a cell that are shown.
const MAX_CELL_CHARACTERS: usize = 160;

/// Rows under a heading. The last column has no fixed width.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    /// Adds a row. Its cells come from elsewhere, so they are shortened and made printable.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.rows.push(cells.iter().map(|cell| shortened(cell)).collect());
    }

    /// Adds a row with a last cell that is shown whole.
    pub(crate) fn row_ending_in(&mut self, cells: &[&str], last: &str) {
        self.row(cells);
        if let Some(row) = self.rows.last_mut() {
            row.push(printable(last));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Writes the table, or `empty` where it has no row.
    pub(crate) fn write(&self, empty: &str, output: &mut Output) -> Result<(), OutputError> {
        if self.is_empty() {
            return output.line(empty);
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            output.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Writes names with their values, one a line; those without a value are left out.
pub(crate) fn write_fields(fields: &[(&str, Option<&str>)], output: &mut Output) -> Result<(), OutputError> {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in fields {
        if let Some(value) = value {
            output.line(format_args!("{name:width$}  {}", printable(value)))?;
        }
    }
    Ok(())
}

/// Returns a time without its fraction of a second.
pub(crate) fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, rest)) if rest.ends_with('Z') => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

/// Returns a text for a cell: cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(MAX_CELL_CHARACTERS).collect();
    let shown: String = match characters.next() {
        None => beginning,
        Some(_) => beginning.chars().chain(once('…')).collect(),
    };
    printable(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_short_and_steers_no_terminal() {
        assert_eq!(shortened("a\u{1b}[2J"), "a\\u{1b}[2J");
        let long = shortened(&"é".repeat(MAX_CELL_CHARACTERS + 1));
        assert_eq!(long.chars().count(), MAX_CELL_CHARACTERS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(shortened(&"é".repeat(MAX_CELL_CHARACTERS)), "é".repeat(MAX_CELL_CHARACTERS));
    }

    #[test]
    fn a_time_is_shown_to_the_second() {
        assert_eq!(to_the_second("2026-11-22T09:00:00.123456Z"), "2026-11-22T09:00:00Z");
        assert_eq!(to_the_second("2026-11-22T09:00:00Z"), "2026-11-22T09:00:00Z");
        assert_eq!(to_the_second("never. ever"), "never. ever");
    }
}

//! A section of a report: a heading, a note and rows.

use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::TextTable;

/// The most rows of a section for people; `--json` has all of them.
const MAX_SHOWN_ROWS: usize = 40;

/// A section of a report.
pub(super) struct Section {
    pub(super) title: String,
    /// The meaning of the rows, and the remedy.
    pub(super) note: String,
    pub(super) heading: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// The text for a section without rows.
    pub(super) empty: String,
}

impl Section {
    /// Returns the rows to show, and the number of those left out.
    pub(super) fn shown(&self) -> (&[Vec<String>], usize) {
        let shown = self.rows.get(..MAX_SHOWN_ROWS).unwrap_or(&self.rows);
        (shown, self.rows.len() - shown.len())
    }
}

/// Writes all sections for a terminal.
pub(super) fn write(title: &str, sections: &[Section], output: &mut Output) -> Result<(), OutputError> {
    output.line(printable(title))?;
    for section in sections {
        output.line("")?;
        output.line(printable(&format!("{}: {}", section.title, section.note)))?;
        let (shown, more) = section.shown();
        let mut table = TextTable::new(&section.heading);
        for row in shown {
            table.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        table.write(&section.empty, output)?;
        if more > 0 {
            output.line(format_args!("and {more} more; --json has all of them"))?;
        }
    }
    Ok(())
}

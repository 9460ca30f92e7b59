//! One part of a report: a heading, what it means, and rows.

use crate::output::{Output, OutputError, printable};
use crate::table::Table;

/// Rows of a part that people are shown; with `--json` there are all.
const MAX_SHOWN_ROWS: usize = 40;

/// One part of a report.
pub(super) struct Section {
    pub(super) title: String,
    /// What it means, and what can be done about it.
    pub(super) note: String,
    pub(super) heading: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// What is said where there is no row.
    pub(super) empty: String,
}

impl Section {
    /// The rows that are shown, and how many are not.
    pub(super) fn shown(&self) -> (&[Vec<String>], usize) {
        let shown = self.rows.get(..MAX_SHOWN_ROWS).unwrap_or(&self.rows);
        (shown, self.rows.len() - shown.len())
    }
}

/// Writes all parts for a terminal.
pub(super) fn write(title: &str, sections: &[Section], output: &mut Output) -> Result<(), OutputError> {
    output.line(printable(title))?;
    for section in sections {
        output.line("")?;
        output.line(printable(&format!("{}: {}", section.title, section.note)))?;
        let (shown, more) = section.shown();
        let mut table = Table::new(&section.heading);
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

//! A section of a report: a heading, a note and rows.

/// The most rows of a section for people; `--json` has all of them.
const MAX_SHOWN_ROWS: usize = 40;

/// A section of a report.
pub struct Section {
    /// The heading of the section.
    pub title: String,
    /// The meaning of the rows, and the remedy.
    pub note: String,
    /// The headings of the columns.
    pub heading: Vec<&'static str>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
    /// The text for a section without rows.
    pub empty: String,
}

impl Section {
    /// Returns the rows to show, and the number of those left out.
    #[must_use]
    pub fn shown(&self) -> (&[Vec<String>], usize) {
        let shown = self.rows.get(..MAX_SHOWN_ROWS).unwrap_or(&self.rows);
        (shown, self.rows.len() - shown.len())
    }
}

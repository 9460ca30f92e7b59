//! Tables: the same rows as HTML and as comma-separated values.

use maud::{Markup, html};

use crate::components::{NOTHING, exact_usd, grouped, name, sentence, short_usd, text};

/// A table of a page.
#[derive(Debug)]
pub(crate) struct Table {
    /// The table in words, for screen readers.
    pub(crate) caption: String,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<Vec<TableCell>>,
    /// The words in the place of a table without rows; commands stand in them between backticks.
    pub(crate) empty: &'static str,
}

/// A column, and how its cells are set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableColumn {
    name: &'static str,
    is_number: bool,
}

/// A cell: what is shown, and its text.
#[derive(Debug)]
pub(crate) struct TableCell {
    markup: Markup,
    text: String,
}

impl TableColumn {
    pub(crate) const fn text(name: &'static str) -> Self {
        Self { name, is_number: false }
    }

    pub(crate) const fn number(name: &'static str) -> Self {
        Self { name, is_number: true }
    }

    /// Returns the class of its cells. Most have none, and a row of a page repeats nothing for that.
    fn class(self) -> Option<&'static str> {
        self.is_number.then_some("number")
    }
}

impl TableCell {
    /// A cell that shows something else than its text.
    pub(crate) fn new(text: impl Into<String>, markup: Markup) -> Self {
        Self { markup, text: text.into() }
    }

    /// A cell with a name or a text that somebody chose, in a box: where a row is a list, it reads as no other cell, and as none of the console's
    /// words. An empty one has none.
    pub(crate) fn chosen(of: impl Into<String>) -> Self {
        let of = of.into();
        Self { markup: html! { @if !of.is_empty() { (name(&of)) } }, text: of }
    }

    /// The same of a name that may be missing.
    pub(crate) fn maybe_chosen(of: Option<&str>) -> Self {
        Self::chosen(of.unwrap_or_default())
    }

    /// A cell with words of the interface.
    pub(crate) fn text(of: impl Into<String>) -> Self {
        let of = of.into();
        Self { markup: text(&of), text: of }
    }

    /// A cell with a count.
    pub(crate) fn count(of: u64) -> Self {
        Self { markup: html! { (grouped(of)) }, text: of.to_string() }
    }

    /// A cell with an amount in US dollars, as the interface writes it. One of which nothing is recorded is empty in a file.
    pub(crate) fn usd(amount: Option<&str>) -> Self {
        let markup = html! { @match amount {
            Some(amount) => span title=(exact_usd(amount)) { (short_usd(amount)) },
            None => (NOTHING),
        } };
        Self { markup, text: amount.unwrap_or_default().to_owned() }
    }

    /// Returns the name that stands before the cell on a phone, where a row is a list. An empty cell is left out there.
    fn label(&self, column: TableColumn) -> Option<&'static str> {
        (!self.markup.0.is_empty()).then_some(column.name)
    }

    /// A cell with words of the interface, empty where there are none.
    pub(crate) fn maybe(of: Option<&str>) -> Self {
        Self::text(of.unwrap_or_default())
    }
}

impl Table {
    /// Returns the table, which scrolls where it is wider than the page; on a phone each row is a list.
    pub(crate) fn markup(&self) -> Markup {
        if self.rows.is_empty() {
            return html! { p.empty { (sentence(self.empty)) } };
        }
        html! {
            div.wide tabindex="0" role="region" aria-label=(self.caption) {
                table {
                    caption.unseen-caption { (self.caption) }
                    thead { tr { @for column in &self.columns {
                        th scope="col" class=[column.class()] { (column.name) }
                    } } }
                    tbody { @for row in &self.rows {
                        tr { @for (cell, column) in row.iter().zip(&self.columns) {
                            td class=[column.class()] data-column=[cell.label(*column)] { (cell.markup) }
                        } }
                    } }
                }
            }
        }
    }

    /// Returns the rows as comma-separated values (RFC 4180).
    pub(crate) fn csv(&self) -> String {
        let mut text = csv_names(&self.columns);
        text.extend(self.rows.iter().map(|row| csv_line(row)));
        text
    }
}

/// Returns the first line of a file with these columns.
pub(crate) fn csv_names(columns: &[TableColumn]) -> String {
    let names: Vec<_> = columns.iter().map(|column| field(column.name)).collect();
    names.join(",") + "\r\n"
}

/// Returns a row as a line of a file.
pub(crate) fn csv_line(row: &[TableCell]) -> String {
    let fields: Vec<_> = row.iter().map(|cell| field(&cell.text)).collect();
    fields.join(",") + "\r\n"
}

/// The first characters that make a spreadsheet take a text for a formula.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
/// Characters that a spreadsheet may pass over before a formula: a byte order mark, and a separator of some languages.
const PASSED_OVER: [char; 2] = ['\u{feff}', ';'];

/// Returns a field in quotes where it needs them. A text that a spreadsheet would take for a formula gets an apostrophe before the
/// formula, unless it is a number.
fn field(text: &str) -> String {
    let formula = text.trim_start_matches(PASSED_OVER);
    let is_formula = formula.starts_with(FORMULA) && text.parse::<f64>().is_err();
    let before = text.strip_suffix(formula).unwrap_or_default();
    let text = if is_formula { format!("{before}'{formula}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_chose_reads_as_no_other_cell() {
        let table = |tool: &str| {
            let rows = vec![vec![TableCell::chosen(tool), TableCell::maybe_chosen(None)]];
            let columns = ["Tool", "Agent"].map(TableColumn::text).to_vec();
            Table { caption: "Calls".to_owned(), columns, rows, empty: "" }
        };
        let shown = table("Read  Agent coder-9").markup().into_string();
        let cell = "<td data-column=\"Tool\"><bdi><code class=\"name\">Read  Agent coder-9</code></bdi></td><td></td>";
        assert!(shown.contains(cell), "{shown}");
        assert!(table("Read").csv().ends_with("\r\nRead,\r\n"));
    }

    #[test]
    fn what_stands_for_no_rows_has_its_commands_in_boxes() {
        let table = Table {
            caption: String::new(),
            columns: vec![],
            rows: vec![],
            empty: "None. `bitacora x` sets one.",
        };
        assert!(!table.markup().into_string().contains('`'));
    }

    #[test]
    fn a_text_becomes_no_formula_and_no_further_field() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("-12.5"), "-12.5");
        assert_eq!(field("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(field(";=1"), ";'=1");
        assert_eq!(field("\u{feff}=1"), "\u{feff}'=1");
        assert_eq!(field("＝1"), "'＝1");
    }
}

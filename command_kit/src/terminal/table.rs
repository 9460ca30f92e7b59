//! Tables and named values for people, in columns, without characters that control a terminal.

use std::iter::once;

use crate::terminal::output::{Output, OutputError, printable};

pub use bitacora_formats::to_the_second;

/// The most characters of a cell that are shown without `--wide`.
const MAX_CELL_CHARACTERS: usize = 160;
/// The fewest characters that a column of words is cut to.
const MIN_WORDS_CHARACTERS: usize = 12;
/// The most characters of an id, which is one word: those of a SHA-256 in hexadecimal digits.
const MAX_ID_CHARACTERS: usize = 64;
/// The space between two columns.
const GAP: &str = "  ";

/// The text of one column in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    /// Set for words, which may be cut; never for a number, a time or an id.
    is_words: bool,
    /// Set where a long text is shown whole.
    is_whole: bool,
}

impl Cell {
    /// Returns a cell that is never cut: an id or a position.
    pub fn id(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_words: false, is_whole: false }
    }

    /// Returns a cell with a time to the second.
    pub fn time(time: &str) -> Self {
        Self::id(to_the_second(time))
    }

    /// Returns a cell that is never cut, or `-` for none.
    pub fn maybe_id(id: Option<&String>) -> Self {
        id.map_or_else(|| "-".into(), Self::id)
    }

    /// Returns a cell of words that is shown whole, however long it is.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { is_whole: true, ..Self::id(text) }
    }

    /// Returns a cell with a time, or `-` for none.
    pub fn maybe_time(time: Option<&String>) -> Self {
        time.map_or_else(|| "-".into(), |time| Self::time(time))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Cell {
    /// Returns the cell of a text; one word is taken for an id.
    fn from(text: String) -> Self {
        let is_words = text.contains(' ') || text.len() > MAX_ID_CHARACTERS;
        Self { text, is_words, is_whole: false }
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl<T> From<Option<T>> for Cell
where
    Self: From<T>,
{
    /// Returns the cell of a value, or `-` for none.
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| "-".into(), Self::from)
    }
}

impl From<&Option<String>> for Cell {
    fn from(value: &Option<String>) -> Self {
        value.as_deref().into()
    }
}

macro_rules! numbers {
    ($($number:ty)+) => {
        $(
            impl From<$number> for Cell {
                fn from(number: $number) -> Self {
                    Self::id(number.to_string())
                }
            }

            impl From<&$number> for Cell {
                fn from(number: &$number) -> Self {
                    Self::id(number.to_string())
                }
            }
        )+
    };
}

numbers! { i64 u32 u64 u128 usize }

/// Makes a row of cells from values of several types.
#[macro_export]
macro_rules! cells {
    ($($value:expr),+ $(,)?) => {
        vec![$($crate::terminal::table::Cell::from($value)),+]
    };
}

pub use crate::cells;

/// Rows under a heading.
pub struct TextTable {
    headings: Vec<String>,
    dispensable: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl TextTable {
    /// Returns a table without rows.
    pub fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|heading| (*heading).to_owned()).collect();
        Self { headings, dispensable: &[], rows: Vec::new() }
    }

    /// Names the columns that a terminal too narrow for all goes without, the first one first.
    pub fn dispensing(self, dispensable: &'static [&'static str]) -> Self {
        Self { dispensable, ..self }
    }

    /// Adds a row. A row may have fewer cells than the table has headings.
    pub fn add(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Adds the row of all groups, whose first columns are the groups' names.
    pub fn add_total(&mut self, names: usize, cells: impl IntoIterator<Item = Cell>) {
        let all = once("all".into()).chain(std::iter::repeat("".into())).take(names);
        self.rows.push(all.chain(cells).collect());
    }

    /// Adds a row of texts.
    pub fn row(&mut self, cells: &[&str]) {
        self.add(cells.iter().map(|cell| Cell::from(*cell)).collect());
    }

    /// Returns `true` if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, or `empty` where it has no row.
    pub fn write(&self, empty: &str, output: &mut Output) -> Result<(), OutputError> {
        if self.is_empty() {
            return output.line(empty);
        }
        let mut fitted = FittedTable::of(self, output.is_wide());
        let left_out = output.columns().map(|columns| fitted.fit(columns, self.dispensable));
        fitted.lines().try_for_each(|line| output.line(line))?;
        match left_out {
            Some(names) if !names.is_empty() => {
                output.line(format_args!("(without {}; --wide shows all columns)", names.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

/// A table as it is written: the columns with their widths.
struct FittedTable {
    columns: Vec<Column>,
}

struct Column {
    cells: Vec<String>,
    width: usize,
    /// The width that the column is not cut below.
    least: usize,
}

impl FittedTable {
    fn of(table: &TextTable, is_wide: bool) -> Self {
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or_default().max(table.headings.len());
        let headings = table.headings.iter().map(String::as_str).chain(std::iter::repeat(""));
        let column =
            |(index, heading)| Column::of(heading, table.rows.iter().map(|row| row.get(index)), is_wide);
        Self { columns: headings.take(columns).enumerate().map(column).collect() }
    }

    fn width(&self) -> usize {
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        self.columns.iter().map(|column| column.width).sum::<usize>() + gaps
    }

    /// Cuts the widest columns of words until the table is this wide. Where that is not enough, leaves out dispensable
    /// columns, and returns their headings.
    fn fit(&mut self, columns: usize, dispensable: &'static [&'static str]) -> Vec<&'static str> {
        let mut left_out = Vec::new();
        let mut names = dispensable.iter();
        loop {
            let least: usize = self.columns.iter().map(|column| column.least).sum();
            if least + GAP.len() * self.columns.len().saturating_sub(1) <= columns {
                break;
            }
            let Some(name) = names.next() else { break };
            self.columns.retain(|column| column.cells.first().is_none_or(|heading| heading != name));
            left_out.push(*name);
        }
        while self.width() > columns {
            let widest = self.columns.iter_mut().filter(|column| column.width > column.least);
            let Some(widest) = widest.max_by_key(|column| column.width) else { break };
            widest.width -= 1;
        }
        left_out
    }

    fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        (0..rows).map(|row| {
            let cell = |column: &Column| {
                let (text, width) = (column.cells.get(row).map_or("", String::as_str), column.width);
                format!("{:width$}", cut(text, width))
            };
            let cells: Vec<String> = self.columns.iter().map(cell).collect();
            cells.join(GAP).trim_end().to_owned()
        })
    }
}

impl Column {
    fn of<'a>(heading: &str, cells: impl Iterator<Item = Option<&'a Cell>>, is_wide: bool) -> Self {
        let characters = heading.chars().count();
        let mut column = Self { cells: vec![heading.to_owned()], width: characters, least: characters };
        for cell in cells {
            let text = match cell {
                None => String::new(),
                Some(cell) if is_wide || cell.is_whole => printable(&cell.text),
                Some(cell) => shortened(&cell.text),
            };
            let characters = text.chars().count();
            let is_words = cell.is_some_and(|cell| cell.is_words);
            let least = if is_words { characters.min(MIN_WORDS_CHARACTERS) } else { characters };
            (column.width, column.least) = (column.width.max(characters), column.least.max(least));
            column.cells.push(text);
        }
        column
    }
}

/// Returns the text cut to this many characters, the last of which is `…` then.
fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters.saturating_sub(1)).chain(once('…')).collect()
}

/// Writes names with their values, one a line; those without a value are left out.
pub fn write_fields(fields: &[(&str, Option<&str>)], output: &mut Output) -> Result<(), OutputError> {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in fields {
        if let Some(value) = value {
            output.line(format_args!("{name:width$}  {}", printable(value)))?;
        }
    }
    Ok(())
}

/// Returns a text for a cell: cut if it is long.
pub fn shortened(text: &str) -> String {
    printable(&bitacora_formats::shortened(text, MAX_CELL_CHARACTERS))
}

/// Fields for people: names with their values, in the order of their lines.
#[derive(Default)]
pub struct FieldLines(Vec<(&'static str, Option<String>)>);

impl FieldLines {
    /// Returns no fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    pub fn with(self, name: &'static str, value: impl ToString) -> Self {
        self.maybe(name, Some(value))
    }

    /// Adds a value, if there is one.
    pub fn maybe(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.0.push((name, value.map(|value| value.to_string())));
        self
    }

    /// Adds a time, if there is one.
    pub fn time(self, name: &'static str, time: Option<&String>) -> Self {
        self.maybe(name, time.map(|time| to_the_second(time)))
    }

    /// Writes the fields that have a value, one a line.
    pub fn write(&self, output: &mut Output) -> Result<(), OutputError> {
        let fields: Vec<_> = self.0.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        write_fields(&fields, output)
    }
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

    fn fitted(columns: usize, dispensable: &'static [&'static str]) -> (Vec<String>, Vec<&'static str>) {
        let mut table = TextTable::new(&["id", "count", "note", "time"]);
        table.add(cells![
            Cell::id("0123456789"),
            7_u64,
            "words ".repeat(9),
            Cell::time("2026-11-22T09:00:00.5Z")
        ]);
        let mut fitted = FittedTable::of(&table, false);
        let left_out = fitted.fit(columns, dispensable);
        (fitted.lines().collect(), left_out)
    }

    #[test]
    fn a_table_is_cut_in_its_words_alone() {
        let (lines, left_out) = fitted(80, &["count"]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80) && left_out.is_empty(), "{lines:?}");
        assert!(lines[1].starts_with("0123456789  7 ") && lines[1].ends_with("…  2026-11-22T09:00:00Z"));
        let (lines, left_out) = fitted(20, &[]);
        assert!(
            left_out.is_empty() && lines[1].contains("0123456789  7      words words…  2026-11-22T09:00:00Z")
        );
    }

    #[test]
    fn a_table_that_cannot_be_cut_goes_without_dispensable_columns() {
        let (lines, left_out) = fitted(50, &["count", "time"]);
        assert_eq!(left_out, ["count"]);
        assert_eq!(lines[1].chars().count(), 50, "{lines:?}");
    }
}

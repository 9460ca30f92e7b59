//! Tables of a report: for people, as JSON, and as CSV.

use bitacora_formats::to_the_second;
use serde_json::{Map, Value, json};

use crate::section::Section;
use crate::span::ReportSpan;

/// A column: its name for programs, and its heading for people.
pub type ReportColumn = (&'static str, &'static str);

/// The columns of a CSV of more than one table: one value a line.
const LONG_COLUMNS: [&str; 4] = ["table", "row", "column", "value"];
/// The first characters that make a spreadsheet take a text for a formula.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
/// Characters that a spreadsheet may pass over before a formula: a byte order mark, and a separator of some languages.
const PASSED_OVER: [char; 2] = ['\u{feff}', ';'];

/// One table of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTable {
    /// Its name for programs.
    pub name: &'static str,
    /// Its title and the meaning of its rows.
    pub title: [&'static str; 2],
    /// The columns.
    pub columns: &'static [ReportColumn],
    /// The values of each row: texts, numbers, or null.
    pub rows: Vec<Vec<Value>>,
    /// The text for a table without rows.
    pub empty: &'static str,
}

/// A report about a span of time.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryReport {
    /// Its name for programs.
    pub name: &'static str,
    /// The span.
    pub span: ReportSpan,
    /// The tables.
    pub tables: Vec<ReportTable>,
}

impl HistoryReport {
    /// Returns the report for programs; `position` is that of the last event that is counted.
    #[must_use]
    pub fn json(&self, ledger: &str, position: &str) -> Value {
        let tables: Map<_, _> =
            self.tables.iter().map(|table| (table.name.to_owned(), table.json())).collect();
        json!({
            "report": self.name,
            "ledger": ledger,
            "position": position,
            "from": self.span.from(),
            "before": self.span.before(),
            "tables": tables,
        })
    }

    /// Returns the report as CSV (RFC 4180): a single table as it is, several with one value a line.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        if let [table] = self.tables.as_slice() {
            lines.push(csv_line(table.columns.iter().map(|(key, _)| *key)));
            let texts = |row: &Vec<Value>| csv_line(row.iter().map(plain));
            lines.extend(table.rows.iter().map(texts));
        } else {
            lines.push(csv_line(LONG_COLUMNS));
            for table in &self.tables {
                for (number, row) in (1_u64..).zip(&table.rows) {
                    let cells = table.columns.iter().zip(row);
                    lines.extend(cells.map(|((key, _), value)| {
                        csv_line([table.name.to_owned(), number.to_string(), (*key).to_owned(), plain(value)])
                    }));
                }
            }
        }
        lines.concat()
    }

    /// Returns the tables for people.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        self.tables.iter().map(ReportTable::section).collect()
    }
}

impl ReportTable {
    fn json(&self) -> Value {
        let object = |row: &Vec<Value>| -> Value {
            let members = self.columns.iter().zip(row);
            members.map(|((key, _), value)| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>().into()
        };
        self.rows.iter().map(object).collect()
    }

    fn section(&self) -> Section {
        let [title, note] = self.title;
        let shown = |row: &Vec<Value>| row.iter().map(shown).collect();
        Section {
            title: title.to_owned(),
            note: note.to_owned(),
            heading: self.columns.iter().map(|(_, heading)| *heading).collect(),
            rows: self.rows.iter().map(shown).collect(),
            empty: self.empty.to_owned(),
        }
    }
}

/// Returns a value for people: times to the second, `-` for none.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => to_the_second(text),
        value => value.to_string(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn csv_line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| csv_cell(cell.as_ref())).collect();
    cells.join(",") + "\r\n"
}

/// Returns a field in quotes where it needs them. A text that a spreadsheet would run as a formula gets an apostrophe before the formula.
fn csv_cell(text: &str) -> String {
    let formula = text.trim_start_matches(PASSED_OVER);
    let is_formula = formula.starts_with(FORMULA) && text.parse::<f64>().is_err();
    let before = text.strip_suffix(formula).unwrap_or_default();
    let text = if is_formula { format!("{before}'{formula}") } else { text.to_owned() };
    if text.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &'static str, rows: Vec<Vec<Value>>) -> ReportTable {
        const COLUMNS: &[ReportColumn] = &[("tool", "tool"), ("calls", "calls made")];
        ReportTable { name, title: ["tools", "what ran"], columns: COLUMNS, rows, empty: "none" }
    }

    fn report(tables: Vec<ReportTable>) -> HistoryReport {
        HistoryReport { name: "tools", span: ReportSpan::default(), tables }
    }

    #[test]
    fn one_table_is_a_csv_and_several_have_one_value_a_line() {
        let rows = vec![
            vec![json!("a,\"b\""), json!(2)],
            vec![json!("=1+1"), Value::Null],
            vec![json!("-"), json!(-3)],
        ];
        let one = report(vec![table("tools", rows.clone())]);
        assert_eq!(one.csv(), "tool,calls\r\n\"a,\"\"b\"\"\",2\r\n'=1+1,\r\n'-,-3\r\n");
        let two = report(vec![table("tools", vec![vec![json!("sh"), json!(2)]]), table("none", Vec::new())]);
        assert_eq!(two.csv(), "table,row,column,value\r\ntools,1,tool,sh\r\ntools,1,calls,2\r\n");
    }

    #[test]
    fn a_formula_behind_other_signs_gets_an_apostrophe_too() {
        for (text, expected) in [
            (";=1+1", ";'=1+1"),
            ("\u{feff}=1+1", "\u{feff}'=1+1"),
            ("＝1+1", "'＝1+1"),
            ("＠sum", "'＠sum"),
            ("-3", "-3"),
            ("a;=1", "a;=1"),
            (";", ";"),
        ] {
            assert_eq!(csv_cell(text), expected);
        }
    }

    #[test]
    fn programs_get_members_and_people_get_words() {
        let rows = vec![vec![json!("2026-11-20T13:00:00.123456Z"), Value::Null]];
        let one = report(vec![table("tools", rows)]);
        let told = one.json("main", "17");
        assert_eq!(told["tables"]["tools"], json!([{"tool": "2026-11-20T13:00:00.123456Z", "calls": null}]));
        assert_eq!(
            (&told["report"], &told["position"], &told["from"]),
            (&json!("tools"), &json!("17"), &Value::Null)
        );
        let sections = one.sections();
        let section = sections.first().unwrap();
        assert_eq!(section.rows, [["2026-11-20T13:00:00Z", "-"]]);
        assert_eq!(section.heading, ["tool", "calls made"]);
    }
}

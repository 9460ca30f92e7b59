//! A page for a file: tables under a heading, in the console's style, without scripts and without anything to load.

use maud::{DOCTYPE, PreEscaped, html};

use crate::assets;
use crate::components::{plain_text, text};

/// The rule of a printed page for the browser: it loads nothing, runs nothing and sends nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";

/// A table of a printed page.
#[derive(Debug)]
pub struct PrintedTable<'a> {
    /// The heading.
    pub title: &'a str,
    /// The meaning of the rows.
    pub note: &'a str,
    /// The headings of the columns.
    pub headings: &'a [&'static str],
    /// The cells of each row. Anybody may have written them.
    pub rows: &'a [Vec<String>],
    /// The words in the place of a table without rows.
    pub empty: &'a str,
}

/// Returns a page of these tables as HTML. Every text is shown as text.
#[must_use]
pub fn printed_page(title: &str, tables: &[PrintedTable<'_>]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (plain_text(title)) " · Bitacora" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // The style sheet is a file of this program, and holds no tag.
                style { (PreEscaped(assets::STYLE.text)) }
            }
            body { main #content {
                h1 { (text(title)) }
                @for table in tables { section { (printed_table(table)) } }
            } }
        }
    };
    page.into_string()
}

fn printed_table(table: &PrintedTable<'_>) -> maud::Markup {
    html! {
        h2 { (text(table.title)) }
        p { (text(table.note)) }
        @if table.rows.is_empty() {
            p.empty { (text(table.empty)) }
        } @else {
            table {
                thead { tr { @for heading in table.headings { th scope="col" { (heading) } } } }
                tbody { @for row in table.rows {
                    tr { @for (cell, heading) in row.iter().zip(table.headings) {
                        td class=[is_number(cell).then_some("number")] data-column=(heading) { bdi { (text(cell)) } }
                    } }
                } }
            }
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_page_loads_nothing_and_shows_every_text_as_text() {
        let hostile = [
            "</style><script>alert(1)</script>",
            "\"><img src=https://example.org/x onerror=alert(1)>",
            "a\u{202e}b\u{200b}c",
            "x&y",
        ];
        let rows: Vec<_> = hostile.iter().map(|name| vec![(*name).to_owned(), "17".to_owned()]).collect();
        let [first, second, ..] = hostile;
        let headings = &["tool", "calls"];
        let table = PrintedTable { title: second, note: first, headings, rows: &rows, empty: "none" };
        let none = PrintedTable { title: "agents", note: "", headings, rows: &[], empty: first };
        let page = printed_page(first, &[table, none]);
        for tag in ["<script", "<img", "<link", "<a ", "src=", "href=", "url(", "@import"] {
            let found = page.matches(tag).count();
            // Two attributes stand in texts, where they are no attributes.
            let in_texts = if tag == "src=" { 2 } else { 0 };
            assert_eq!(found, in_texts, "{tag}");
        }
        assert_eq!(page.matches("</style>").count(), 1);
        assert_eq!(page.matches("&lt;script&gt;alert(1)").count(), 5, "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{200b}'));
        assert!(
            page.contains("x&amp;y")
                && page.contains("<td class=\"number\" data-column=\"calls\"><bdi>17</bdi>")
        );
        assert!(page.contains(POLICY.split(';').next().unwrap()));
    }
}

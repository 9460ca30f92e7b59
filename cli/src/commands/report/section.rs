//! The sections of a report, on a terminal and as a page.

use bitacora_console::{PrintedTable, printed_page};
use bitacora_report::Section;

use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::TextTable;

/// Returns all sections, with all their rows, as a page of HTML.
pub(super) fn page(title: &str, sections: &[Section]) -> String {
    let tables: Vec<_> = sections.iter().map(printed).collect();
    printed_page(title, &tables)
}

fn printed(section: &Section) -> PrintedTable<'_> {
    let Section { title, note, heading, rows, empty } = section;
    PrintedTable { title, note, headings: heading, rows, empty }
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

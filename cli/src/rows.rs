//! Items of the HTTP interface as rows of tables.

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::ListPage;
use crate::terminal::table::{Cell, TextTable};

/// A row of a table, made from an item of a list.
pub(crate) trait Row {
    const HEADINGS: &'static [&'static str];
    /// The headings of columns that a terminal too narrow for all goes without, the first one first.
    const DISPENSABLE: &'static [&'static str] = &[];

    fn cells(&self) -> Vec<Cell>;
}

/// Tables made from the items of a list.
pub(crate) trait RowTable {
    /// Returns the table of these items.
    fn of<'a, R: Row + 'a>(items: impl IntoIterator<Item = &'a R>) -> Self;
}

impl RowTable for TextTable {
    fn of<'a, R: Row + 'a>(items: impl IntoIterator<Item = &'a R>) -> Self {
        let mut table = Self::new(R::HEADINGS).dispensing(R::DISPENSABLE);
        items.into_iter().for_each(|item| table.add(item.cells()));
        table
    }
}

/// Lists of a service, shown as tables.
pub(crate) trait RowList {
    /// Shows a list as a table, or `empty` where it has no item.
    fn list<L: ListPage>(&mut self, path: &str, empty: &str) -> Result<Exit, CommandError>
    where
        L::Item: Row;
}

impl RowList for CommandContext {
    fn list<L: ListPage>(&mut self, path: &str, empty: &str) -> Result<Exit, CommandError>
    where
        L::Item: Row,
    {
        if let Some(pages) = self.pages::<L>(path)? {
            let items: Vec<_> = pages.into_iter().flat_map(ListPage::into_items).collect();
            TextTable::of(&items).write(empty, &mut self.output)?;
        }
        Ok(Exit::Done)
    }
}

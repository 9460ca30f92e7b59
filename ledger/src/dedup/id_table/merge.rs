//! The entries of several tables as one rising sequence.

use std::io;
use std::sync::Arc;
use std::vec;

use bitacora_formats::IdEntry;

use super::IdTable;

/// Reads the tables side by side, a block of each at a time.
pub(super) struct TableMerge<'t> {
    cursors: Vec<Cursor<'t>>,
}

/// A place in one table.
struct Cursor<'t> {
    table: &'t IdTable,
    next_block: u64,
    block: vec::IntoIter<IdEntry>,
    /// The entry here; `None` at the table's end.
    head: Option<IdEntry>,
}

impl<'t> TableMerge<'t> {
    pub(super) fn of(tables: &'t [Arc<IdTable>]) -> io::Result<Self> {
        let cursors = tables.iter().map(|table| Cursor::at_start(table)).collect::<io::Result<_>>()?;
        Ok(Self { cursors })
    }
}

impl Iterator for TableMerge<'_> {
    type Item = io::Result<IdEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        // Few enough that looking at each is cheaper than a heap.
        let keys = self.cursors.iter_mut().filter_map(|cursor| cursor.head.map(|head| (head, cursor)));
        let (head, cursor) = keys.min_by_key(|(head, _)| head.key)?;
        Some(cursor.advance().map(|()| head))
    }
}

impl<'t> Cursor<'t> {
    fn at_start(table: &'t IdTable) -> io::Result<Self> {
        let mut cursor = Self { table, next_block: 0, block: Vec::new().into_iter(), head: None };
        cursor.advance()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> io::Result<()> {
        if self.block.len() == 0 {
            self.block = self.table.block_entries(self.next_block)?.into_iter();
            self.next_block += 1;
        }
        self.head = self.block.next();
        Ok(())
    }
}

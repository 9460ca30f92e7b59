//! The cut of a build: rows of some tables that no event behind a position wrote leave the store.
//!
//! A row of such a table begins with the position of the event that wrote it last. A row that leaves becomes a *stub*: its key and that
//! position. So rows and sum depend on the log alone, and not on the moment at which the cut was made. The cut is made in
//! pieces, each stored with the cursor, and made again from the first table after a crash: rows that left are passed over.
//!
//! A fold that reads a stub cannot take in its event: the event is *late*. The build stands before it and answers as of there, until it is
//! replaced by one that is folded from the first event: `recalls.rs`.

use std::ops::Bound;

use bitacora_formats::{ModelCursor, ROW_HEADER_BYTES, ROW_SEAL_BYTES};

use super::model_tree::Build;
use super::row_key::RowKey;
use super::store::RowIntegrityError;
use crate::limits::CUT_ROWS;

/// A row of a table whose rows leave: the position of the event that wrote it last, and its content; `None` where that left.
pub(super) fn split_row(stored: &[u8]) -> Result<(u64, Option<&[u8]>), RowIntegrityError> {
    let (header, content) =
        stored.split_first_chunk::<ROW_HEADER_BYTES>().ok_or(RowIntegrityError::Header)?;
    Ok((u64::from_le_bytes(*header), Some(content).filter(|content| !content.is_empty())))
}

/// The header of a row that the event at this position writes.
pub(super) fn row_header(position: u64) -> [u8; ROW_HEADER_BYTES] {
    position.to_le_bytes()
}

impl Build {
    /// Returns `true` if rows of this table leave at a cut.
    pub(super) fn leaves(&self, key: &RowKey) -> bool {
        self.model.leaving().contains(&key.table())
    }

    /// Returns the content of a row as its model wrote it.
    pub(super) fn content<'a>(&self, key: &RowKey, stored: &'a [u8]) -> Result<&'a [u8], RowIntegrityError> {
        if !self.leaves(key) {
            return Ok(stored);
        }
        split_row(stored)?.1.ok_or(RowIntegrityError::Left)
    }

    /// Returns `true` if this is a stub.
    pub(super) fn is_stub(&self, key: &RowKey, stored: &[u8]) -> bool {
        stored.len() == ROW_HEADER_BYTES && self.leaves(key)
    }

    /// Looks at the next [`CUT_ROWS`] rows of a cut from a key on, and stores what becomes of them with the cursor. Returns the cursor, and
    /// the key that the next piece begins with; `None` at the end.
    pub(super) fn cut(
        &self,
        mut cursor: ModelCursor,
        from: Option<&[u8]>,
    ) -> Result<(ModelCursor, Option<Vec<u8>>), RowIntegrityError> {
        let mut batch = self.database().batch();
        let (mut looked_at, mut next) = (0, None);
        let mut tables = self.model.leaving().to_vec();
        tables.sort_unstable();
        'tables: for table in tables {
            let first = match &from {
                Some(from) if *from >= [table + 1].as_slice() => continue,
                Some(from) if from.first() == Some(&table) => from.to_vec(),
                _ => vec![table],
            };
            let range = (Bound::Included(first), Bound::Excluded(vec![table + 1]));
            for entry in self.keyspace.range::<Vec<u8>, _>(range) {
                let (key, stored) = entry.into_inner()?;
                if looked_at == CUT_ROWS {
                    next = Some(key.to_vec());
                    break 'tables;
                }
                looked_at += 1;
                // It has left already.
                if stored.len() == ROW_SEAL_BYTES + ROW_HEADER_BYTES {
                    continue;
                }
                let (row, hash) = self.keys().open(&key, &stored)?;
                let (written, _) = split_row(&row)?;
                if written > cursor.cut.through {
                    continue;
                }
                let (stub, stub_hash) = self.keys().seal(&key, &row_header(written));
                cursor.sum.take(&hash);
                cursor.sum.add(&stub_hash);
                cursor.cut.left += 1;
                batch.insert(&self.keyspace, &*key, stub);
            }
        }
        cursor.cut.is_done = next.is_none();
        self.store_cursor(&mut batch, &cursor);
        batch.commit()?;
        Ok((cursor, next))
    }
}

//! The way back from one event, for a build with rows that left: the contents of rows as they were before each change.
//!
//! A build without such rows needs none, and keeps none.

use super::row_key::RowKey;
use super::rows::{Changes, RowContent, TouchedRow};
use super::store::RowIntegrityError;

/// The contents before each change that the current event made, in their order.
#[derive(Default)]
pub(super) struct UndoLog(Vec<(RowKey, RowContent)>);

impl Changes {
    /// From now on an event can be taken back.
    pub(crate) fn keep_undo(&mut self) {
        self.undo.get_or_insert_default();
    }

    /// An event begins: the one before it stays.
    pub(super) fn begin_event(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.0.clear();
        }
    }

    /// Notes the content of a row that the event is about to change.
    pub(super) fn note_before(&mut self, key: &RowKey) -> Result<(), RowIntegrityError> {
        let Some(undo) = &mut self.undo else { return Ok(()) };
        let before = self.rows.get_mut(key).map_or(Ok(RowContent::Gone), TouchedRow::copy_content)?;
        undo.0.push((*key, before));
        Ok(())
    }

    /// Takes back what the current event changed.
    pub(super) fn undo_event(&mut self) {
        let Some(undo) = &mut self.undo else { return };
        for (key, before) in undo.0.drain(..).rev() {
            if let Some(touched) = self.rows.get_mut(&key) {
                touched.set_content(before);
            }
        }
        self.taken = 0;
    }
}

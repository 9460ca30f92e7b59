//! The rows of a model as its fold sees them: those that are stored, under those that it changed since.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::build::Build;
use super::row_key::RowKey;
use super::store::Doubt;

/// Bytes that a changed row takes beside its content, about.
const CHANGE_BYTES: usize = 160;

/// What a fold changed since the last batch.
#[derive(Default)]
pub(crate) struct Changes {
    rows: HashMap<RowKey, Change>,
    bytes: usize,
}

/// One row that was read or changed.
pub(crate) struct Change {
    /// What is stored.
    pub(crate) before: Option<Vec<u8>>,
    /// What is there now.
    pub(crate) after: Option<Vec<u8>>,
}

impl Changes {
    /// What they take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.values().all(|change| change.before == change.after)
    }

    /// All of them, in no order; none are left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (RowKey, Change)> {
        self.bytes = 0;
        self.rows.drain()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The rows of one model, for its fold.
pub(crate) struct Rows<'a> {
    build: &'a Build,
    changes: &'a mut Changes,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(build: &'a Build, changes: &'a mut Changes) -> Self {
        Self { build, changes }
    }

    /// The key of what a table holds for these values.
    pub(crate) fn key(&self, table: u8, values: &[&str]) -> RowKey {
        self.build.key(table, values)
    }

    /// What is there under a key.
    pub(crate) fn row<R: DeserializeOwned>(&mut self, key: &RowKey) -> Result<Option<R>, Doubt> {
        match &self.change(key)?.after {
            Some(content) => Build::decode(content).map(Some),
            None => Ok(None),
        }
    }

    /// Puts a row in place of what is there.
    pub(crate) fn put<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), Doubt> {
        let content = Build::encode(row)?;
        let more = content.len();
        self.change(key)?.after = Some(content);
        self.changes.bytes += more;
        Ok(())
    }

    /// Adds a row where none ever was: its key has the position of the event that it is made of.
    pub(crate) fn add<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), Doubt> {
        let content = Build::encode(row)?;
        self.changes.bytes += content.len() + CHANGE_BYTES;
        self.changes.rows.entry(*key).or_insert(Change { before: None, after: None }).after = Some(content);
        Ok(())
    }

    /// Takes a row away, if it is there.
    pub(crate) fn remove(&mut self, key: &RowKey) -> Result<(), Doubt> {
        self.change(key)?.after = None;
        Ok(())
    }

    /// Changes the content of a row as it is stored.
    pub(crate) fn change_content(
        &mut self,
        key: &RowKey,
        change: impl FnOnce(&mut Option<Vec<u8>>),
    ) -> Result<(), Doubt> {
        let row = self.change(key)?;
        let before = row.after.as_ref().map_or(0, Vec::len);
        change(&mut row.after);
        let more = row.after.as_ref().map_or(0, Vec::len).saturating_sub(before);
        self.changes.bytes += more;
        Ok(())
    }

    fn change(&mut self, key: &RowKey) -> Result<&mut Change, Doubt> {
        match self.changes.rows.entry(*key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let stored = self.build.row(key)?;
                self.changes.bytes += 2 * stored.as_ref().map_or(0, Vec::len) + CHANGE_BYTES;
                Ok(unknown.insert(Change { before: stored.clone(), after: stored }))
            }
        }
    }
}

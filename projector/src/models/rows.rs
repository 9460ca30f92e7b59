//! The rows of a model as its fold sees them: those that are stored, under those that it changed since.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bitacora_formats::RowHash;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::build::Build;
use super::row_key::RowKey;
use super::seen::Seen;
use super::store::Doubt;

/// Bytes that a row takes beside its content, about.
const ROW_BYTES: usize = 160;

/// The rows that a fold read or changed since the last batch. Their keys are keyed hashes already, so that nobody chooses where
/// they fall in the table.
#[derive(Default)]
pub(crate) struct Changes {
    rows: HashMap<RowKey, Touched, foldhash::fast::FixedState>,
    bytes: usize,
    /// What a row is written to before its length is known.
    written: Vec<u8>,
    /// Of a build that began without rows: those that it has stored since.
    seen: Option<Seen>,
}

/// A row that was read or changed.
pub(crate) struct Touched {
    /// What is stored, and what that adds to the sum.
    pub(crate) stored: Option<(Vec<u8>, RowHash)>,
    now: Now,
}

/// What there is of a row.
enum Now {
    AsStored,
    Content(Vec<u8>),
    Gone,
}

impl Touched {
    /// What is there now.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        match &self.now {
            Now::AsStored => self.stored_content(),
            Now::Content(content) => Some(content),
            Now::Gone => None,
        }
    }

    /// Whether something else is there now than what is stored.
    pub(crate) fn is_changed(&self) -> bool {
        !matches!(self.now, Now::AsStored) && self.content() != self.stored_content()
    }

    fn stored_content(&self) -> Option<&[u8]> {
        self.stored.as_ref().map(|(content, _)| content.as_slice())
    }

    fn replace(&mut self, by: &[u8]) {
        match &mut self.now {
            Now::Content(content) => by.clone_into(content),
            Now::AsStored | Now::Gone => self.now = Now::Content(by.to_vec()),
        }
    }

    /// What is there now, to be changed.
    fn take_content(&mut self) -> Option<Vec<u8>> {
        match std::mem::replace(&mut self.now, Now::Gone) {
            Now::AsStored => self.stored_content().map(<[u8]>::to_vec),
            Now::Content(content) => Some(content),
            Now::Gone => None,
        }
    }
}

impl Changes {
    /// Those of a build without any row.
    pub(crate) fn of_new_build() -> Self {
        Self { seen: Some(Seen::default()), ..Self::default() }
    }

    /// From now on every row is looked for in the store.
    pub(crate) fn forget_seen(&mut self) {
        self.seen = None;
    }

    /// What they take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.rows.values().any(Touched::is_changed)
    }

    /// The rows that are no more as they are stored, in the order of their keys, which the store takes faster than none.
    pub(crate) fn sorted(&self) -> Vec<(&RowKey, &Touched)> {
        let mut changed: Vec<_> = self.rows.iter().filter(|(_, touched)| touched.is_changed()).collect();
        changed.sort_unstable_by_key(|(key, _)| *key);
        changed
    }

    /// All of them are stored.
    pub(crate) fn are_stored(&mut self) {
        if let Some(seen) = &mut self.seen {
            let stored = self.rows.iter().filter(|(_, touched)| touched.content().is_some());
            stored.for_each(|(key, _)| seen.add(key));
        }
        self.clear();
    }

    /// Forgets all of them. The room they took stays for the next ones, unless it was far too much.
    pub(crate) fn clear(&mut self) {
        if self.rows.len() < self.rows.capacity() / 8 {
            self.rows.shrink_to(self.rows.len() * 2);
        }
        self.rows.clear();
        self.bytes = 0;
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
        self.touch(key)?.content().map(Build::decode).transpose()
    }

    /// Puts a row in place of what is there.
    pub(crate) fn put<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), Doubt> {
        self.write(row)?;
        let written = std::mem::take(&mut self.changes.written);
        self.touch(key)?.replace(&written);
        self.changes.written = written;
        Ok(())
    }

    /// Adds a row where none ever was: its key has the position of the event that it is made of.
    pub(crate) fn add<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), Doubt> {
        self.write(row)?;
        let Changes { rows, bytes, written, .. } = &mut *self.changes;
        *bytes += ROW_BYTES;
        rows.entry(*key).or_insert(Touched { stored: None, now: Now::Gone }).replace(written);
        Ok(())
    }

    fn write<R: Serialize>(&mut self, row: &R) -> Result<(), Doubt> {
        self.changes.written.clear();
        Build::encode(row, &mut self.changes.written)?;
        self.changes.bytes += self.changes.written.len();
        Ok(())
    }

    /// Takes a row away, if it is there.
    pub(crate) fn remove(&mut self, key: &RowKey) -> Result<(), Doubt> {
        self.touch(key)?.now = Now::Gone;
        Ok(())
    }

    /// Changes the content of a row as it is stored.
    pub(crate) fn change_content(
        &mut self,
        key: &RowKey,
        change: impl FnOnce(&mut Option<Vec<u8>>),
    ) -> Result<(), Doubt> {
        let touched = self.touch(key)?;
        let mut content = touched.take_content();
        let before = content.as_ref().map_or(0, Vec::len);
        change(&mut content);
        let more = content.as_ref().map_or(0, Vec::len).saturating_sub(before);
        touched.now = content.map_or(Now::Gone, Now::Content);
        self.changes.bytes += more;
        Ok(())
    }

    fn touch(&mut self, key: &RowKey) -> Result<&mut Touched, Doubt> {
        match self.changes.rows.entry(*key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let may_be = self.changes.seen.as_ref().is_none_or(|seen| seen.may_hold(key));
                let stored = if may_be { self.build.row(key)? } else { None };
                self.changes.bytes += stored.as_ref().map_or(0, |(content, _)| content.len()) + ROW_BYTES;
                Ok(unknown.insert(Touched { stored, now: Now::AsStored }))
            }
        }
    }
}

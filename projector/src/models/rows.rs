//! The rows of a model as its fold sees them: those that are stored, under those that it changed since.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU64;

use bitacora_formats::{Position, ROW_HEADER_BYTES, RowHash};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::model_tree::Build;
use super::row_bloom::RowBloom;
use super::row_key::RowKey;
use super::store::RowIntegrityError;
use super::warm_cut::row_header;

/// Bytes that a row takes beside its content, about.
const ROW_BYTES: usize = 160;

/// The rows that a fold read or changed since the last batch. Their keys are keyed hashes already, so that nobody chooses where
/// they fall in the table.
#[derive(Default)]
pub(crate) struct Changes {
    rows: HashMap<RowKey, TouchedRow, foldhash::fast::FixedState>,
    bytes: usize,
    /// Rows that a fold has taken out and not put back.
    taken: usize,
    /// The buffer that a row is written to before its length is known.
    written: Vec<u8>,
    /// Of a build that began without rows: those that it has stored since.
    bloom: Option<RowBloom>,
}

/// A row that was read or changed.
pub(crate) struct TouchedRow {
    /// The stored content. Most rows are new, and a fold looks at rows all over its table: an entry that is small is found sooner.
    stored: Option<Box<StoredRow>>,
    now: RowContent,
}

/// A row that is stored.
struct StoredRow {
    content: Vec<u8>,
    /// The hash that it adds to the sum.
    hash: RowHash,
}

/// The current content of a row.
enum RowContent {
    AsStored,
    Content(Vec<u8>),
    /// As its fold has it; its content is not written yet.
    Live {
        row: Box<dyn AnyLive>,
        /// The event that put it there, in a table whose rows leave.
        written: Option<NonZeroU64>,
    },
    /// Its fold has it.
    Taken,
    Gone,
}

/// A row that changes with many events: from one to the next it stays as its fold has it, and it is written once they are stored.
pub(crate) trait Live: Serialize + DeserializeOwned + Send + 'static {
    /// Bytes that it holds beside itself, about.
    fn held(&self) -> usize;
}

/// A [`Live`] row of whatever type.
trait AnyLive: Send {
    fn write(&self, content: &mut Vec<u8>) -> Result<(), RowIntegrityError>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<R: Live> AnyLive for R {
    fn write(&self, content: &mut Vec<u8>) -> Result<(), RowIntegrityError> {
        content.reserve(size_of::<R>() / 2 + self.held());
        Build::encode(self, content)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl TouchedRow {
    /// Returns the current content as it is stored, and as it was written last.
    pub(crate) fn stored_form(&self) -> Option<&[u8]> {
        match &self.now {
            RowContent::AsStored => self.stored_content(),
            RowContent::Content(content) => Some(content),
            RowContent::Live { .. } | RowContent::Taken | RowContent::Gone => None,
        }
    }

    /// Returns the current content as its model wrote it.
    fn content(&self, build: &Build, key: &RowKey) -> Result<Option<&[u8]>, RowIntegrityError> {
        self.stored_form().map(|stored| build.content(key, stored)).transpose()
    }

    /// Returns `true` if the stored content has left.
    pub(super) fn is_stored_stub(&self, build: &Build, key: &RowKey) -> bool {
        self.stored_content().is_some_and(|stored| build.is_stub(key, stored))
    }

    /// Returns the hash that the stored content adds to the sum.
    pub(crate) fn stored_hash(&self) -> Option<&RowHash> {
        self.stored.as_ref().map(|stored| &stored.hash)
    }

    /// Returns `true` if the current content is not the stored one.
    pub(crate) fn is_changed(&self) -> bool {
        match self.now {
            RowContent::AsStored => false,
            RowContent::Live { .. } => true,
            _ => self.stored_form() != self.stored_content(),
        }
    }

    fn stored_content(&self) -> Option<&[u8]> {
        self.stored.as_ref().map(|stored| stored.content.as_slice())
    }

    fn replace(&mut self, by: &[u8]) {
        match &mut self.now {
            RowContent::Content(content) => by.clone_into(content),
            _ => self.now = RowContent::Content(by.to_vec()),
        }
    }

    /// Writes what its fold made of it.
    fn write(&mut self) -> Result<(), RowIntegrityError> {
        if let RowContent::Live { row, written } = &self.now {
            let mut content = written.map_or_else(Vec::new, |written| row_header(written.get()).to_vec());
            row.write(&mut content)?;
            self.now = RowContent::Content(content);
        }
        Ok(())
    }

    /// Takes the current content, to be changed.
    fn take_content(&mut self) -> Option<Vec<u8>> {
        match std::mem::replace(&mut self.now, RowContent::Gone) {
            RowContent::AsStored => self.stored_content().map(<[u8]>::to_vec),
            RowContent::Content(content) => Some(content),
            RowContent::Live { .. } | RowContent::Taken | RowContent::Gone => None,
        }
    }

    /// Takes the current content, as its fold has it; there is none until it is put back.
    fn take_live<R: Live>(
        &mut self,
        build: &Build,
        key: &RowKey,
    ) -> Result<Option<Box<R>>, RowIntegrityError> {
        let decode = |stored: &[u8]| build.content(key, stored).and_then(Build::decode).map(Box::new);
        let row = match std::mem::replace(&mut self.now, RowContent::Gone) {
            RowContent::AsStored => {
                self.now = RowContent::AsStored;
                self.stored_content().map(decode).transpose()?
            }
            RowContent::Content(content) => Some(decode(&content)?),
            RowContent::Live { row, .. } => {
                Some(row.into_any().downcast().map_err(|_| RowIntegrityError::WrongRow)?)
            }
            RowContent::Taken => return Err(RowIntegrityError::WrongRow),
            RowContent::Gone => None,
        };
        self.now = if row.is_some() { RowContent::Taken } else { RowContent::Gone };
        Ok(row)
    }
}

impl Changes {
    /// Those of a build without any row.
    pub(crate) fn for_new_build() -> Self {
        Self { bloom: Some(RowBloom::default()), ..Self::default() }
    }

    /// From now on every row is looked for in the store.
    pub(crate) fn drop_bloom(&mut self) {
        self.bloom = None;
    }

    /// Returns the bytes that they take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if a fold did not put back what it took.
    pub(crate) fn lack_a_row(&self) -> bool {
        self.taken > 0
    }

    /// Returns `true` if all rows are as they are stored, as far as that is known without writing them.
    pub(crate) fn is_empty(&self) -> bool {
        !self.rows.values().any(TouchedRow::is_changed)
    }

    /// The rows that are no more as they are stored, written, in the order of their keys, which the store takes faster than none.
    pub(crate) fn sorted(&mut self) -> Result<Vec<(&RowKey, &TouchedRow)>, RowIntegrityError> {
        self.rows.values_mut().try_for_each(TouchedRow::write)?;
        let mut changed: Vec<_> = self.rows.iter().filter(|(_, touched)| touched.is_changed()).collect();
        changed.sort_unstable_by_key(|(key, _)| *key);
        Ok(changed)
    }

    /// All of them are stored.
    pub(crate) fn are_stored(&mut self) {
        if let Some(bloom) = &mut self.bloom {
            let stored = self.rows.iter().filter(|(_, touched)| touched.stored_form().is_some());
            stored.for_each(|(key, _)| bloom.add(key));
        }
        self.clear();
    }

    /// Forgets all of them. The room they took stays for the next ones, unless it was far too much.
    pub(crate) fn clear(&mut self) {
        if self.rows.len() < self.rows.capacity() / 8 {
            self.rows.shrink_to(self.rows.len() * 2);
        }
        self.rows.clear();
        (self.bytes, self.taken) = (0, 0);
    }
}

/// The rows of one model, for its fold of one event.
pub(crate) struct Rows<'a> {
    build: &'a Build,
    changes: &'a mut Changes,
    /// The event.
    position: Position,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(build: &'a Build, changes: &'a mut Changes, position: Position) -> Self {
        Self { build, changes, position }
    }

    /// The key of what a table holds for these values.
    pub(crate) fn key(&self, table: u8, values: &[&str]) -> RowKey {
        self.build.key(table, values)
    }

    /// Returns the current row under a key.
    pub(crate) fn row<R: DeserializeOwned>(&mut self, key: &RowKey) -> Result<Option<R>, RowIntegrityError> {
        let build = self.build;
        let touched = self.touch(key)?;
        touched.write()?;
        touched.content(build, key)?.map(Build::decode).transpose()
    }

    /// Takes out what is there under a key. It has to be put back with [`Self::put_live`], or removed.
    pub(crate) fn take_live<R: Live>(&mut self, key: &RowKey) -> Result<Option<Box<R>>, RowIntegrityError> {
        let build = self.build;
        let row = self.touch(key)?.take_live(build, key)?;
        self.changes.taken += usize::from(row.is_some());
        Ok(row)
    }

    /// Puts a row in place of what is there, to be written once it is stored.
    pub(crate) fn put_live<R: Live>(&mut self, key: &RowKey, row: Box<R>) -> Result<(), RowIntegrityError> {
        self.changes.bytes += size_of::<R>() + row.held();
        let written = if self.build.leaves(key) { NonZeroU64::new(self.position.get()) } else { None };
        self.set(key, RowContent::Live { row, written })
    }

    /// Puts a row in place of what is there.
    pub(crate) fn put<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), RowIntegrityError> {
        self.write(key, row)?;
        let written = std::mem::take(&mut self.changes.written);
        self.touch(key)?.replace(&written);
        self.changes.written = written;
        Ok(())
    }

    /// Adds a row where none ever was: its key has the position of the event that it is made of.
    pub(crate) fn add<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), RowIntegrityError> {
        self.write(key, row)?;
        let Changes { rows, bytes, written, .. } = &mut *self.changes;
        *bytes += ROW_BYTES;
        rows.entry(*key).or_insert(TouchedRow { stored: None, now: RowContent::Gone }).replace(written);
        Ok(())
    }

    fn write<R: Serialize>(&mut self, key: &RowKey, row: &R) -> Result<(), RowIntegrityError> {
        self.changes.written.clear();
        if self.build.leaves(key) {
            self.changes.written.extend(row_header(self.position.get()));
        }
        Build::encode(row, &mut self.changes.written)?;
        self.changes.bytes += self.changes.written.len();
        Ok(())
    }

    /// Takes a row away, if it is there.
    pub(crate) fn remove(&mut self, key: &RowKey) -> Result<(), RowIntegrityError> {
        self.set(key, RowContent::Gone)
    }

    fn set(&mut self, key: &RowKey, now: RowContent) -> Result<(), RowIntegrityError> {
        let before = std::mem::replace(&mut self.touch(key)?.now, now);
        self.changes.taken -= usize::from(matches!(before, RowContent::Taken));
        Ok(())
    }

    /// Changes the content of a row as its model wrote it.
    pub(crate) fn change_content(
        &mut self,
        key: &RowKey,
        change: impl FnOnce(&mut Option<Vec<u8>>),
    ) -> Result<(), RowIntegrityError> {
        let (build, position) = (self.build, self.position.get());
        // A row that left cannot be changed.
        let touched = self.touch(key)?;
        touched.write()?;
        touched.content(build, key)?;
        let header = if build.leaves(key) { ROW_HEADER_BYTES } else { 0 };
        let mut content = touched.take_content();
        if let Some(content) = &mut content {
            content.drain(..header.min(content.len()));
        }
        let before = content.as_ref().map_or(0, Vec::len);
        change(&mut content);
        let more = content.as_ref().map_or(0, Vec::len).saturating_sub(before);
        if let Some(content) = content.as_mut().filter(|_| header > 0) {
            content.splice(..0, row_header(position));
        }
        touched.now = content.map_or(RowContent::Gone, RowContent::Content);
        self.changes.bytes += more;
        Ok(())
    }

    fn touch(&mut self, key: &RowKey) -> Result<&mut TouchedRow, RowIntegrityError> {
        match self.changes.rows.entry(*key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let may_be = self.changes.bloom.as_ref().is_none_or(|bloom| bloom.may_hold(key));
                let stored = if may_be { self.build.row(key)? } else { None };
                let stored = stored.map(|(content, hash)| Box::new(StoredRow { content, hash }));
                self.changes.bytes += stored.as_ref().map_or(0, |stored| stored.content.len()) + ROW_BYTES;
                Ok(unknown.insert(TouchedRow { stored, now: RowContent::AsStored }))
            }
        }
    }
}

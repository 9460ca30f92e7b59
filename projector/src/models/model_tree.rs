//! One model's rows in the store: read, written in batches with the cursor, compared with their sum.

use std::sync::Arc;

use bitacora_formats::{CURSOR_KEY, ModelCursor, RowHash, RowKeys, RowSum, Secret};
use bitacora_ledger::Disk;
use fjall::{Database, Keyspace, OwnedWriteBatch, Readable as _, Snapshot};
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::model::Model;
use super::row_key::RowKey;
use super::rows::Changes;
use super::store::{BUILD_COUNTER_BITS, RowIntegrityError};

/// The rows of one model, as often as it was folded again.
pub(crate) struct Build {
    pub(crate) model: &'static dyn Model,
    number: u64,
    database: Database,
    pub(crate) keyspace: Keyspace,
    keys: RowKeys,
    /// All its rows are written by this opening: where they cannot be read, folding again does not help.
    is_own: bool,
    /// The database's paths lead into its folder while this lives, so it goes last.
    _disk: Arc<dyn Disk>,
}

impl Build {
    pub(crate) fn new(
        (model, number): (&'static dyn Model, u64),
        (database, disk): (Database, Arc<dyn Disk>),
        keyspace: Keyspace,
        derived_state_key: &Secret,
        is_own: bool,
    ) -> Self {
        let keys = RowKeys::new(derived_state_key, model.name(), model.version());
        Self { model, number, database, keyspace, keys, is_own, _disk: disk }
    }

    /// Returns the position at which the log ended when it began; 0 of a model's first one.
    pub(crate) fn began_at(&self) -> u64 {
        self.number >> BUILD_COUNTER_BITS
    }

    /// Returns `true` if this doubt says that the model is wrong, and not the store's contents: it would come again however often the
    /// model is folded.
    pub(crate) fn is_defect(&self, integrity_error: &RowIntegrityError) -> bool {
        self.is_own && matches!(integrity_error, RowIntegrityError::Row(_) | RowIntegrityError::WrongRow)
    }

    pub(crate) fn key(&self, table: u8, values: &[&str]) -> RowKey {
        match values {
            [] => RowKey::new(&self.keys, table, &[]),
            [value] => RowKey::new(&self.keys, table, &[value.as_bytes()]),
            values => {
                let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
                RowKey::new(&self.keys, table, &values)
            }
        }
    }

    pub(super) fn keys(&self) -> &RowKeys {
        &self.keys
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Adds the cursor to a batch.
    pub(super) fn store_cursor(&self, batch: &mut OwnedWriteBatch, cursor: &ModelCursor) {
        let (stored, _) = self.keys.seal(&CURSOR_KEY, &cursor.encode());
        batch.insert(&self.keyspace, CURSOR_KEY, stored);
    }

    /// Returns the cursor of the rows; `None` for a new build.
    pub(crate) fn cursor(&self) -> Result<Option<ModelCursor>, RowIntegrityError> {
        self.cursor_of(self.keyspace.get(CURSOR_KEY)?.as_deref())
    }

    /// Returns the cursor of the rows when the snapshot was taken.
    pub(crate) fn cursor_in(&self, snapshot: &Snapshot) -> Result<Option<ModelCursor>, RowIntegrityError> {
        self.cursor_of(snapshot.get(&self.keyspace, CURSOR_KEY)?.as_deref())
    }

    fn cursor_of(&self, stored: Option<&[u8]>) -> Result<Option<ModelCursor>, RowIntegrityError> {
        let Some(stored) = stored else { return Ok(None) };
        let (content, _) = self.keys.open(&CURSOR_KEY, stored)?;
        Ok(Some(ModelCursor::decode(&content)?))
    }

    /// The content of a row, and what it adds to the sum of all.
    pub(crate) fn row(&self, key: &RowKey) -> Result<Option<(Vec<u8>, RowHash)>, RowIntegrityError> {
        let stored = self.keyspace.get(key.as_slice())?;
        Ok(stored.map(|stored| self.keys.open(key.as_slice(), &stored)).transpose()?)
    }

    /// The content of a row as it stood when the snapshot was taken.
    pub(crate) fn row_in(
        &self,
        snapshot: &Snapshot,
        key: &RowKey,
    ) -> Result<Option<Vec<u8>>, RowIntegrityError> {
        let stored = snapshot.get(&self.keyspace, key.as_slice())?;
        stored.map(|stored| self.open(key, &stored)).transpose()
    }

    pub(crate) fn open(&self, key: &RowKey, stored: &[u8]) -> Result<Vec<u8>, RowIntegrityError> {
        let (mut content, _) = self.keys.open(key.as_slice(), stored)?;
        if self.leaves(key) {
            let length = self.content(key, &content)?.len();
            content.drain(..content.len() - length);
        }
        Ok(content)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.database.snapshot()
    }

    /// Opens every row and compares what all come to with the cursor. Returned `Ok` ⇒ none is missing, none was changed.
    pub(crate) fn scrub(
        &self,
        expected: Option<&ModelCursor>,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), RowIntegrityError> {
        let mut sum = RowSum::default();
        for entry in self.keyspace.iter() {
            let (key, stored) = entry.into_inner()?;
            if *key == CURSOR_KEY {
                continue;
            }
            sum.add(&self.keys.open(&key, &stored)?.1);
            if sum.rows() % SCRUBBED_ROWS == 0 && !goes_on() {
                return Err(RowIntegrityError::Interrupted);
            }
        }
        if expected.map_or(RowSum::default(), |cursor| cursor.sum) == sum {
            Ok(())
        } else {
            Err(RowIntegrityError::Sum)
        }
    }

    /// Stores what was changed and the cursor behind it, all or nothing; the cursor with the sum of the rows after it. A crash of the machine may
    /// take the batch back, never a part of it.
    pub(crate) fn commit(
        &self,
        changes: &mut Changes,
        mut cursor: ModelCursor,
    ) -> Result<ModelCursor, RowIntegrityError> {
        let mut batch = self.database.batch();
        for (key, touched) in changes.sorted()? {
            if let Some(hash) = touched.stored_hash() {
                cursor.sum.take(hash);
                cursor.cut.left -= u64::from(touched.is_stored_stub(self, key));
            }
            match touched.stored_form() {
                Some(content) => {
                    let (stored, hash) = self.keys.seal(key.as_slice(), content);
                    cursor.sum.add(&hash);
                    batch.insert(&self.keyspace, key.as_slice(), stored);
                }
                None => batch.remove(&self.keyspace, key.as_slice()),
            }
        }
        self.store_cursor(&mut batch, &cursor);
        batch.commit()?;
        changes.are_stored();
        Ok(cursor)
    }

    /// Writes the content of a row behind what `content` holds.
    pub(crate) fn encode<R: Serialize>(row: &R, content: &mut Vec<u8>) -> Result<(), RowIntegrityError> {
        postcard::serialize_with_flavor(row, AppendFlavor(content)).map_err(RowIntegrityError::Row)
    }

    pub(crate) fn decode<R: DeserializeOwned>(content: &[u8]) -> Result<R, RowIntegrityError> {
        match postcard::take_from_bytes(content) {
            Ok((row, [])) => Ok(row),
            Ok(_) => Err(RowIntegrityError::Row(postcard::Error::SerdeDeCustom)),
            Err(error) => Err(RowIntegrityError::Row(error)),
        }
    }
}

/// Writes a row behind the bytes that are there.
struct AppendFlavor<'a>(&'a mut Vec<u8>);

impl Flavor for AppendFlavor<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Rows that are scrubbed before a look whether to end.
const SCRUBBED_ROWS: u64 = 1 << 10;

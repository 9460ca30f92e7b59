//! The fjall database with the rows of all models of a ledger; it holds nothing that the log does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use bitacora_formats::{Position, RowError, Secret};
use bitacora_ledger::Disk;
use fjall::config::CompressionPolicy;
use fjall::{Database, KeyspaceCreateOptions};

use super::model::Model;
use super::model_tree::Build;
use crate::limits::{
    SETTLE_PATIENCE, SETTLE_PAUSE, SETTLED_JOURNAL_BYTES, STORE_CACHE_BYTES, STORE_JOURNAL_BYTES,
    STORE_MEMORY_BYTES,
};

/// The reasons for which rows are not believed. None of them loses an event.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowIntegrityError {
    /// The store does not do what it should.
    #[error("the store failed: {0}")]
    Store(#[from] fjall::Error),
    /// The store panicked.
    #[error("the store panicked")]
    Panic,
    /// A row or a cursor does not open.
    #[error(transparent)]
    Sealed(#[from] RowError),
    /// A row's content is none of its model.
    #[error("a row holds what its model never writes: {0}")]
    Row(postcard::Error),
    /// A fold took a row for another than it put there, or twice.
    #[error("a row was taken for what it is not")]
    WrongRow,
    /// A row of a table whose rows leave at a cut does not begin with a position.
    #[error("a row does not begin with the position of an event")]
    Header,
    /// The content of a row left the store at a cut: no damage.
    #[error("the row left the store at a cut")]
    Left,
    /// Rows are missing, or there are some that should not be.
    #[error("the rows do not come to their sum")]
    Sum,
    /// The ledger was closed, or the store failed, before all rows were looked through.
    #[error("the rows were not looked through to their end")]
    Interrupted,
    /// Folded from another history than the log's.
    #[error("folded from another history than this log's")]
    History,
    /// The same events gave other rows.
    #[error("the same events gave other rows when they were folded again")]
    Digest,
}

impl RowIntegrityError {
    /// Returns `true` if the whole store is in doubt, and not one model alone.
    pub(crate) fn is_of_the_store(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Panic)
    }

    /// Returns `true` if the machine only lacks something, and nothing says that the stored bytes are wrong.
    pub(crate) fn is_of_the_machine(&self) -> bool {
        use std::io::ErrorKind::{
            OutOfMemory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let Self::Store(fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error))) = self
        else {
            return false;
        };
        let lacks = matches!(
            error.kind(),
            OutOfMemory | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
        );
        lacks || error.raw_os_error().is_some_and(|number| TOO_MANY_FILES.contains(&number))
    }
}

/// `ENFILE` and `EMFILE`.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// An open store.
pub(crate) struct Store {
    database: Database,
    /// The database's paths lead into its folder while this lives, so it goes last.
    disk: Arc<dyn Disk>,
}

/// Bits of a build's number that count the builds which began at one head.
pub(super) const BUILD_COUNTER_BITS: u32 = 16;

impl Store {
    /// Opens the store in a folder, or makes one.
    pub(crate) fn open(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Self, RowIntegrityError> {
        guarded(|| {
            let database = Database::builder(disk.path_for_libraries(folder))
                .cache_size(STORE_CACHE_BYTES)
                .max_journaling_size(STORE_JOURNAL_BYTES)
                .worker_threads(1)
                .open()?;
            Ok(Self { database, disk: Arc::clone(disk) })
        })
    }

    /// The oldest build of a model that there is, or a first one. One that is folded again beside it takes its place only once it is
    /// whole, and then the old one goes.
    pub(crate) fn oldest(
        &self,
        model: &'static dyn Model,
        key: &Secret,
    ) -> Result<Arc<Build>, RowIntegrityError> {
        guarded(|| {
            let number = self.builds(model).into_iter().min().unwrap_or(1);
            self.build(model, number, key)
        })
    }

    /// A build behind all that there are, without a row, which begins while the log ends at `head`. Its number tells that for good, and
    /// so what had expired before it was folded.
    pub(crate) fn next(
        &self,
        model: &'static dyn Model,
        key: &Secret,
        head: Position,
    ) -> Result<Arc<Build>, RowIntegrityError> {
        guarded(|| {
            let number = self.builds(model).into_iter().max().map_or(1, |last| last + 1);
            self.build(model, number.max(head.get() << BUILD_COUNTER_BITS), key)
        })
    }

    /// Takes away all that is none of these builds. A build that is still read stays until that has ended.
    pub(crate) fn keep_only(&self, kept: &[Arc<Build>]) -> Result<(), RowIntegrityError> {
        guarded(|| {
            for name in self.database.list_keyspace_names() {
                if kept.iter().any(|build| *build.keyspace.name() == name) {
                    continue;
                }
                let keyspace = self.database.keyspace(&name, options)?;
                self.database.delete_keyspace(keyspace)?;
            }
            Ok(())
        })
    }

    /// Takes a build away. A build that is still read stays until that has ended.
    pub(crate) fn remove(&self, build: &Build) -> Result<(), RowIntegrityError> {
        guarded(|| Ok(self.database.delete_keyspace(build.keyspace.clone())?))
    }

    /// Has the rows that lie in the journal alone written into tables, where that is worth it. Returns `true` if no row needs the journal
    /// any more; later writes do.
    pub(crate) fn settle(&self) -> Result<bool, RowIntegrityError> {
        guarded(|| {
            if self.database.write_buffer_size() < SETTLED_JOURNAL_BYTES {
                return Ok(false);
            }
            let names = self.database.list_keyspace_names();
            let keyspaces = names.iter().map(|name| self.database.keyspace(name, options));
            let keyspaces = keyspaces.collect::<fjall::Result<Vec<_>>>()?;
            for keyspace in &keyspaces {
                keyspace.rotate_memtable()?;
            }
            let end = Instant::now() + SETTLE_PATIENCE;
            while keyspaces.iter().any(|keyspace| keyspace.sealed_memtable_count() > 0) {
                if Instant::now() > end {
                    return Ok(false);
                }
                thread::sleep(SETTLE_PAUSE);
            }
            Ok(true)
        })
    }

    /// The numbers of the builds of this version of a model.
    fn builds(&self, model: &dyn Model) -> Vec<u64> {
        let begin = format!("{}-{}-", model.name(), model.version());
        let names = self.database.list_keyspace_names();
        names.iter().filter_map(|name| name.strip_prefix(&begin)?.parse().ok()).collect()
    }

    fn build(
        &self,
        model: &'static dyn Model,
        number: u64,
        key: &Secret,
    ) -> Result<Arc<Build>, RowIntegrityError> {
        let name = format!("{}-{}-{number}", model.name(), model.version());
        let is_own = !self.database.keyspace_exists(&name);
        let keyspace = self.database.keyspace(&name, options)?;
        let database = (self.database.clone(), Arc::clone(&self.disk));
        Ok(Arc::new(Build::new((model, number), database, keyspace, key, is_own)))
    }
}

/// Runs what asks the store; where that panics, the store is in doubt, and the program goes on.
pub(crate) fn guarded<T>(ask: impl FnOnce() -> Result<T, RowIntegrityError>) -> Result<T, RowIntegrityError> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or(Err(RowIntegrityError::Panic))
}

/// Rows are encrypted: nothing makes them smaller.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(STORE_MEMORY_BYTES)
        .data_block_compression_policy(CompressionPolicy::disabled())
}

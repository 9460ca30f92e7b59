//! The ledger's folder of tables that can be made again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::disk::Disk;
use crate::host::lock_order::OrderedMutex;

/// The folder's name in the ledger's.
pub(crate) const INDEX: &str = "index";

/// The name of the folder beside it for the tables of a trial. Only a crash leaves one.
const TRIAL: &str = "index.trial";

/// The suffix of an unfinished table's name.
pub(crate) const UNFINISHED: &str = ".tmp";

/// A copy of the ledger may have come without its empty folders.
pub(crate) fn make_folder(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    match (disk.create_folder(folder), folder.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // One name alone lies in the working folder, which has no empty name.
        (Ok(()), Some(parent)) if parent.as_os_str().is_empty() => disk.sync_folder(Path::new(".")),
        (Ok(()), Some(parent)) => disk.sync_folder(parent),
        (made, _) => made,
    }
}

/// Removes the tables of what the log says: they may tell of what is given up. A folder there is no table, and stays.
pub(crate) fn remove_tables(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    let entries = match disk.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    let mut files = entries.iter().filter(|entry| !entry.is_folder);
    files.try_for_each(|entry| disk.remove_file(&folder.join(&entry.name)))?;
    disk.sync_folder(folder)
}

/// Files of tables that do not fit the log as it was read. They go once the log was read to its end: until then damage may be why they do
/// not fit, and of a ledger whose keys are retired they cannot be made again.
#[derive(Debug, Default)]
pub(crate) struct MismatchedTables(OrderedMutex<BTreeSet<String>>);

impl MismatchedTables {
    pub(crate) fn note(&self, name: &str) {
        self.0.lock().insert(name.to_owned());
    }

    /// Removes those that no table has replaced since, if it can: a file that stays does no harm, and the next opening tries again.
    pub(crate) fn remove(&self, disk: &dyn Disk, folder: &Path, is_replaced: impl Fn(&str) -> bool) {
        let unfit = std::mem::take(&mut *self.0.lock());
        if unfit.is_empty() {
            return;
        }
        for name in unfit.iter().filter(|name| !is_replaced(name)) {
            tracing::warn!(name, "a table does not fit the log and is removed; the log has what it told");
            if let Err(error) = disk.remove_file(&folder.join(name)) {
                tracing::warn!(name, %error, "a file of the index could not be removed");
            }
        }
        if let Err(error) = disk.sync_folder(folder) {
            tracing::warn!(%error, "the removal of tables may not be durable");
        }
    }
}

/// Tables of a replay that believes none of the ledger's own, and changes none. They go when it is dropped.
pub(crate) struct ScratchTables {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

impl ScratchTables {
    /// Begins without a table, whatever a crash left.
    pub(crate) fn new(disk: &Arc<dyn Disk>, ledger: &Path) -> io::Result<Self> {
        let trial = Self { disk: Arc::clone(disk), folder: ledger.join(TRIAL) };
        remove_tables(&**disk, &trial.folder)?;
        make_folder(&**disk, &trial.folder)?;
        Ok(trial)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }
}

impl Drop for ScratchTables {
    fn drop(&mut self) {
        let removed = remove_tables(&*self.disk, &self.folder);
        if let Err(error) = removed.and_then(|()| self.disk.remove_folder(&self.folder)) {
            tracing::warn!(%error, folder = %self.folder.display(), "tables of a trial could not be removed");
        }
    }
}

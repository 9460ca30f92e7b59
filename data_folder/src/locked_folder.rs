//! A data folder that no service and no other command has open.

use std::path::{Path, PathBuf};

use bitacora_ledger::{Environment, FolderLock};
use bitacora_server::{DataError, DataFolder};

/// A data folder under its lock, which is released when this is dropped.
pub struct LockedFolder {
    /// The environment that its ledgers are opened with.
    pub(crate) environment: Environment,
    pub(crate) path: PathBuf,
    pub(crate) folder: DataFolder,
    _lock: Box<dyn FolderLock>,
}

impl LockedFolder {
    /// Locks the data folder there; `None` where a missing or empty folder may become one.
    ///
    /// # Errors
    /// [`DataError::InUse`], or a folder that is not used as data folder.
    pub fn find(environment: &Environment, path: &Path) -> Result<Option<Self>, DataError> {
        DataFolder::find(environment, path)?.map(|folder| Self::lock(environment, path, folder)).transpose()
    }

    /// Locks the data folder there; an empty or missing one is begun.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn open_or_begin(environment: &Environment, path: &Path) -> Result<Self, DataError> {
        Self::lock(environment, path, DataFolder::open_or_begin(environment, path)?)
    }

    fn lock(environment: &Environment, path: &Path, folder: DataFolder) -> Result<Self, DataError> {
        let lock = folder.lock()?;
        Ok(Self { environment: environment.clone(), path: path.to_owned(), folder, _lock: lock })
    }
}

//! The folder of a benchmark: created fresh, and removed afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{Keyring, LedgerName};
use bitacora_ledger::{Environment, Ledger, Options};
use bitacora_server::DataFolder;

use super::error::BenchError;
use super::keyring;

/// The number of attempts to remove a folder in which files may still be created meanwhile.
const REMOVALS: u32 = 3;

/// A new folder, removed with its contents on drop.
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(super) fn make(path: &Path) -> Result<Self, BenchError> {
        fs::create_dir(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => BenchError::Exists(path.to_owned()),
            _ => BenchError::Disk { path: path.to_owned(), source },
        })?;
        Ok(Self { path: path.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a place in it for one measurement.
    pub(super) fn place(&self, name: &str) -> Result<ScratchLedger, BenchError> {
        let path = self.path.join(name);
        fs::create_dir(&path).map_err(|source| BenchError::Disk { path: path.clone(), source })?;
        Ok(ScratchLedger { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes the folder, as far as possible.
pub fn remove(folder: &Path) {
    let mut removed = Ok(());
    for _ in 0..REMOVALS {
        removed = fs::remove_dir_all(folder);
        match &removed {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
    }
    if let Err(error) = removed {
        tracing::warn!(folder = %folder.display(), %error, "what was measured in is left behind");
    }
}

/// A data folder and its keyring side by side, removed on drop.
pub(super) struct ScratchLedger {
    path: PathBuf,
}

impl ScratchLedger {
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(super) fn keyring(&self) -> PathBuf {
        self.path.join("keyring")
    }

    /// Creates a keyring and a ledger here, as the service would.
    pub(super) fn begin(
        &self,
        environment: &Environment,
        options: &Options,
    ) -> Result<Arc<Keyring>, BenchError> {
        let folder = DataFolder::open_or_begin(environment, &self.data())?;
        let keyring = keyring::create(&self.keyring())?;
        let name = ledger_name()?;
        Ledger::create(environment, &folder.ledger(&name), &name, &keyring, options)?;
        Ok(Arc::new(keyring))
    }

    /// Returns the folder of the ledger.
    pub(super) fn ledger(&self) -> Result<PathBuf, BenchError> {
        Ok(self.data().join("ledgers").join(ledger_name()?.as_str()))
    }
}

impl Drop for ScratchLedger {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Returns the name of the one ledger of every benchmark folder.
pub(super) fn ledger_name() -> Result<LedgerName, BenchError> {
    "main".parse().map_err(|_| BenchError::Nothing("the name of a ledger"))
}

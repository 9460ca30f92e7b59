//! A temporary folder for derived state, for ledgers whose own folder cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_ledger::Environment;

use crate::limits::MAX_STORE_DEPTH;
use crate::models::remove_all;

/// Random bytes of its name.
const NAME_BYTES: usize = 8;
/// Folders above the store's: of derived state, and this one.
const DEPTH: usize = MAX_STORE_DEPTH + 2;

/// A folder among the system's temporary ones, for its owner alone. It goes with this value; one that a killed process left lies there
/// until the system clears it away. Its files are sealed as they are elsewhere.
pub struct Scratch {
    environment: Environment,
    folder: PathBuf,
}

impl Scratch {
    /// Makes an empty one.
    ///
    /// # Errors
    /// What the system says.
    pub fn make(environment: &Environment) -> io::Result<Self> {
        let mut name = [0; NAME_BYTES];
        environment.entropy.fill(&mut name)?;
        let name = u64::from_le_bytes(name);
        let folder = std::env::temp_dir().join(format!("bitacora-{name:016x}"));
        environment.disk.create_folder(&folder)?;
        Ok(Self { environment: environment.clone(), folder })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&*self.environment.disk, &self.folder, DEPTH) {
            tracing::warn!(%error, folder = %self.folder.display(), "a temporary folder could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use bitacora_ledger::OpenMode;

    use super::*;

    #[test]
    fn it_goes_with_all_that_is_in_it() {
        let environment = Environment::real();
        let (one, other) = (Scratch::make(&environment).unwrap(), Scratch::make(&environment).unwrap());
        assert_ne!(one.folder(), other.folder());
        let folder = one.folder().to_owned();
        assert_eq!(environment.disk.mode(&folder), Some(0o700));
        environment.disk.create_folder(&folder.join("models")).unwrap();
        environment.disk.open(&folder.join("models/journal"), OpenMode::CreateNew).unwrap();
        drop(one);
        assert!(!environment.disk.exists(&folder).unwrap());
        assert!(environment.disk.exists(other.folder()).unwrap());
    }
}

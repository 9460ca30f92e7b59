//! The folder of a quickstart: data and keyring side by side, in a folder that was new or empty.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bitacora_data_folder::AdminTokenFile;

/// The folder's default name.
const NAME: &str = "bitacora-quickstart";
/// The last number that is tried behind the name.
const MAX_NUMBER: u32 = 99;
/// The folder's mode: it is its owner's alone, because the keyring lies in it.
const MODE: u32 = 0o700;

/// A folder that was created, or was empty.
#[derive(Debug)]
pub(super) struct QuickstartFolder(PathBuf);

/// The reason why there is no folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error("{}: not empty, and a quickstart writes over nothing; name another folder with --folder, or serve what is there: `bitacora serve --data {} --keyring {}`", .0.display(), .0.join("data").display(), .0.join("keyring").display())]
    Taken(PathBuf),
    #[error(
        "{NAME} to {NAME}-{MAX_NUMBER} are there already; remove some of them, or name another folder with --folder"
    )]
    AllTaken,
    #[error("{}: {source}; nothing was begun", path.display())]
    Disk { path: PathBuf, source: io::Error },
}

impl QuickstartFolder {
    /// Creates the folder that was asked for if it is new or empty, else the first of the default ones that does not exist.
    pub(super) fn make(asked: Option<&Path>) -> Result<Self, FolderError> {
        if let Some(path) = asked {
            return match begin(path) {
                Ok(true) => Ok(Self(path.to_owned())),
                Ok(false) => Err(FolderError::Taken(path.to_owned())),
                Err(source) => Err(FolderError::Disk { path: path.to_owned(), source }),
            };
        }
        for number in 1..=MAX_NUMBER {
            let name = if number == 1 { NAME.to_owned() } else { format!("{NAME}-{number}") };
            let path = PathBuf::from(name);
            match begin(&path) {
                Ok(true) => return Ok(Self(path)),
                Ok(false) => {}
                Err(source) => return Err(FolderError::Disk { path, source }),
            }
        }
        Err(FolderError::AllTaken)
    }

    pub(super) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    pub(super) fn keyring(&self) -> PathBuf {
        self.0.join("keyring")
    }

    /// Returns the file with the token of the ledger's admin.
    pub(super) fn admin_token(&self) -> AdminTokenFile {
        AdminTokenFile::beside(&self.keyring(), &self.data())
    }

    /// Returns the file for the token of an agent.
    pub(super) fn agents_token(&self) -> PathBuf {
        self.0.join("coder.token")
    }

    pub(super) fn shown(&self) -> String {
        self.0.display().to_string()
    }
}

/// Makes the folder; `false` if something is in it, or if it is something else.
fn begin(path: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(MODE).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read_dir(path) {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_anything_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q");
        assert_eq!(QuickstartFolder::make(Some(&path)).unwrap().data(), path.join("data"));
        assert!(QuickstartFolder::make(Some(&path)).is_ok(), "it is still empty");
        fs::write(path.join("x"), "x").unwrap();
        assert!(matches!(QuickstartFolder::make(Some(&path)), Err(FolderError::Taken(_))));
        assert!(matches!(QuickstartFolder::make(Some(&path.join("x"))), Err(FolderError::Taken(_))));
        assert!(matches!(QuickstartFolder::make(Some(&path.join("a/b"))), Err(FolderError::Disk { .. })));
    }
}

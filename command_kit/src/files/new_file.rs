//! Output files that a user names: an existing file is never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::files::durable_file;

/// The mode: access for the owner alone, because the contents are out of a ledger.
const FILE_MODE: u32 = 0o600;

/// The reason why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum NewFileError {
    /// The file exists already.
    #[error("{}: exists already, and is not written over; name another file, or remove this one first", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error of the disk.
        source: io::Error,
    },
}

impl NewFileError {
    /// Returns the error for one of the disk.
    pub fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path.to_owned()),
            _ => Self::Disk { path: path.to_owned(), source },
        }
    }
}

/// Refuses an existing file, before any work for its contents is done.
pub fn refuse_existing(path: &Path) -> Result<(), NewFileError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(NewFileError::Exists(path.to_owned())),
        // Writing it tells what else there is.
        Err(_) => Ok(()),
    }
}

/// Writes a new file, whole or not at all. Returned `Ok` ⇒ it and its name are durable.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), NewFileError> {
    durable_file::create(path, bytes).map_err(|source| NewFileError::new(path, source))
}

/// Creates a new file, to be written piece by piece.
pub fn make(path: &Path) -> Result<File, NewFileError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    made.map_err(|source| NewFileError::new(path, source))
}

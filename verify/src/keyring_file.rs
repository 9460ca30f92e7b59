//! The keyring's file, read only: one that is not locked, and that its owner alone may read.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_KEYRING_BYTES;
use bitacora_formats::{Keyring, KeyringError};
use bitacora_verify::input_file;

/// The mode bits that give anybody but the owner access.
const OTHERS_BITS: u32 = 0o077;
/// The beginning of a keyring that a passphrase locks.
const LOCKED: &str = "-----BEGIN AGE ENCRYPTED FILE-----";

/// The reason why the keyring is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyringFileError {
    #[error("{}: {source}; nothing was verified", path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("{}: others may read or change it (mode {mode:04o}); make sure that nobody did, then `chmod 600` it", path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("{}: locked with a passphrase; use `bitacora verify --with-keys`, which asks for it", .0.display())]
    Locked(PathBuf),
    #[error("{}: {source}; nothing was verified", path.display())]
    Keyring { path: PathBuf, source: KeyringError },
}

/// Reads the keyring.
pub(crate) fn load(path: &Path) -> Result<Keyring, KeyringFileError> {
    let failed = |source| KeyringFileError::Disk { path: path.to_owned(), source };
    let mode = input_file::open(path).and_then(|file| file.metadata()).map_err(failed)?.mode() & 0o7777;
    if mode & OTHERS_BITS != 0 && !input_file::is_open_already(path) {
        return Err(KeyringFileError::OpenToOthers { path: path.to_owned(), mode });
    }
    let text = input_file::read(path, MAX_KEYRING_BYTES).map_err(failed)?;
    let text = String::from_utf8(text).map_err(|error| failed(io::Error::other(error)))?;
    if text.starts_with(LOCKED) {
        return Err(KeyringFileError::Locked(path.to_owned()));
    }
    Keyring::parse(&text).map_err(|source| KeyringFileError::Keyring { path: path.to_owned(), source })
}

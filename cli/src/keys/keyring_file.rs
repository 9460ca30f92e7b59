//! The keyring's file: its place, permissions, creation and replacement.
//!
//! A file that others can read, or that lies beside the data it opens, is refused, not mended: its keys may be known by
//! now, and only its owner can judge that.

mod encryption;
mod location;
pub(crate) mod offline_file;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_KEYRING_BYTES;
use bitacora_formats::{
    Keyring, KeyringError, PASSPHRASE_OVERHEAD_BYTES, PassphraseFileError, PassphraseHeader,
};
use zeroize::Zeroizing;

use crate::error::CommandFailure;
use crate::files::durable_file::{self, folder_of};
use crate::files::input_file;
use crate::keys::key_generation::KeyGenerationError;
use crate::keys::passphrase::{Passphrase, PassphraseError, PassphraseSource};
pub(crate) use location::{lies_in_data, refuse_in_data};

/// The mode of the folder that is created for it where there is none.
const FOLDER_MODE: u32 = 0o700;
/// The mode bits that give anybody but the owner access.
const OTHERS_BITS: u32 = 0o077;
/// The size limit of the file, also under a passphrase.
const MAX_FILE_BYTES: usize = MAX_KEYRING_BYTES + PASSPHRASE_OVERHEAD_BYTES;

/// The reason why the keyring's file is not used, created or replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyringFileError {
    #[error(
        "{}: no keyring here; name the right one with --keyring, or make one with `bitacora keys new`", .0.display()
    )]
    Missing(PathBuf),
    #[error("{}: not a file; name the keyring's file with --keyring", .0.display())]
    NotAFile(PathBuf),
    #[error("{}: exists already; nothing was changed", .0.display())]
    Exists(PathBuf),
    #[error("{}: exists already and does not hold just these keys; name a new file, the keyring was not changed", .0.display())]
    OfflineExists(PathBuf),
    #[error(
        "{}: others may read or change it (mode {mode:04o}); make sure that nobody did, then `chmod 600` it", path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error(
        "{}: a keyring must not lie in the data folder {}, or who copies the data gets the keys; name a place outside with --keyring, and move it there if it is made already",
        path.display(), data.display()
    )]
    InData { path: PathBuf, data: PathBuf },
    #[error("{}: {source}", path.display())]
    Keyring { path: PathBuf, source: KeyringError },
    #[error("{}: {source}", path.display())]
    Passphrase { path: PathBuf, source: PassphraseError },
    #[error(
        "{}: the passphrase does not open it, or the file is damaged; try again, or restore it from its backup", .0.display()
    )]
    WrongPassphrase(PathBuf),
    #[error("{}: {source}; restore the keyring from its backup", path.display())]
    Locked { path: PathBuf, source: PassphraseFileError },
    #[error("{}: locked already; `bitacora keys unlock` comes first, nothing was changed", .0.display())]
    LockedAlready(PathBuf),
    #[error("{}: not locked; nothing was changed", .0.display())]
    NotLocked(PathBuf),
    #[error("{}: being changed by another program; try again when it is done", .0.display())]
    Busy(PathBuf),
    #[error("{}: found other bytes than were written; the keyring was not changed", .0.display())]
    NotKept(PathBuf),
    #[error("{}: {source}", path.display())]
    Random { path: PathBuf, source: KeyGenerationError },
    #[error("{}: {source}; {then}", path.display())]
    Disk { path: PathBuf, source: io::Error, then: &'static str },
}

impl CommandFailure for KeyringFileError {}

/// A keyring that was read from its file.
pub(crate) struct LoadedKeyring {
    pub(crate) keyring: Keyring,
    /// The passphrase that locks the file, if it is locked.
    pub(crate) passphrase: Option<Passphrase>,
}

/// Creates the file of a new keyring, locked if there is a passphrase. Returned ⇒ it is durable and readable by its
/// owner alone; a crash before leaves no file or one that is refused.
///
/// # Errors
/// Nothing that existed was changed.
pub(crate) fn create(
    path: &Path,
    data: Option<&Path>,
    keyring: &Keyring,
    passphrase: Option<&Passphrase>,
) -> Result<(), KeyringFileError> {
    refuse_in_data(path, data)?;
    let bytes = encoded(path, &keyring.to_text(), passphrase)?;
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyringFileError::Exists(path.to_owned()),
        _ => KeyringFileError::Disk { path: path.to_owned(), source, then: "no keyring was made" },
    };
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder_of(path)).map_err(failed)?;
    durable_file::create(path, &bytes).map_err(failed)
}

/// Reads the keyring, asking for its passphrase if it is locked.
///
/// # Errors
/// A file that is missing, damaged, open to others or inside the data folder.
pub(crate) fn load(
    path: &Path,
    data: Option<&Path>,
    passphrase: PassphraseSource,
) -> Result<LoadedKeyring, KeyringFileError> {
    read(&open(path, data)?, path, passphrase)
}

/// Reads the keyring, lets `change` change it or its passphrase, and replaces the file in one step. Returned ⇒ the new
/// one is durable; a crash before leaves the old one or the new one. Two programs never change it at once.
///
/// # Errors
/// As [`load`], and any error of `change`; the file is then as it was.
pub(crate) fn change<T, E: From<KeyringFileError>>(
    path: &Path,
    data: Option<&Path>,
    passphrase: PassphraseSource,
    change: impl FnOnce(&mut LoadedKeyring) -> Result<T, E>,
) -> Result<T, E> {
    let file = open(path, data)?;
    let failed =
        |source| KeyringFileError::Disk { path: path.to_owned(), source, then: "nothing was changed" };
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => KeyringFileError::Busy(path.to_owned()),
        TryLockError::Error(source) => failed(source),
    })?;
    // The name behind a link stays a link; what it points to is replaced.
    let real = path.canonicalize().map_err(failed)?;
    let (locked, named) = (file.metadata().map_err(failed)?, fs::metadata(&real).map_err(failed)?);
    if (locked.dev(), locked.ino()) != (named.dev(), named.ino()) {
        // Replaced between opening and locking: the lock is on a file that nobody reads any more.
        return Err(KeyringFileError::Busy(path.to_owned()).into());
    }
    let mut loaded = read(&file, path, passphrase)?;
    let done = change(&mut loaded)?;
    let bytes = encoded(path, &loaded.keyring.to_text(), loaded.passphrase.as_ref())?;
    durable_file::replace(&real, &bytes).map_err(failed)?;
    Ok(done)
}

fn open(path: &Path, data: Option<&Path>) -> Result<File, KeyringFileError> {
    refuse_in_data(path, data)?;
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => KeyringFileError::Missing(path.to_owned()),
        _ => KeyringFileError::Disk { path: path.to_owned(), source, then: "the keyring was not read" },
    };
    let file = input_file::open_at_once(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(KeyringFileError::NotAFile(path.to_owned()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS_BITS != 0 {
        return Err(KeyringFileError::OpenToOthers { path: path.to_owned(), mode });
    }
    Ok(file)
}

fn read(file: &File, path: &Path, passphrase: PassphraseSource) -> Result<LoadedKeyring, KeyringFileError> {
    let wrong = |source| KeyringFileError::Keyring { path: path.to_owned(), source };
    let (text, passphrase) = opened(read_bytes(file, path)?, path, passphrase)?;
    let text = str::from_utf8(&text).map_err(|_| wrong(KeyringError::NotAKeyring))?;
    Ok(LoadedKeyring { keyring: Keyring::parse(text).map_err(wrong)?, passphrase })
}

fn read_bytes(mut file: &File, path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    let wrong = |source| KeyringFileError::Keyring { path: path.to_owned(), source };
    // All at once: a vector that grows leaves copies of the keys behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES + 1));
    (&mut file).take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|source| {
        KeyringFileError::Disk { path: path.to_owned(), source, then: "the keyring was not read" }
    })?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(wrong(KeyringError::TooLong { max_bytes: MAX_KEYRING_BYTES }));
    }
    Ok(bytes)
}

/// Returns the text of a file, and the passphrase that locks it, if it is locked.
fn opened(
    bytes: Zeroizing<Vec<u8>>,
    path: &Path,
    passphrase: PassphraseSource,
) -> Result<(Zeroizing<Vec<u8>>, Option<Passphrase>), KeyringFileError> {
    if Keyring::is_age_file(&bytes) {
        return Err(KeyringFileError::Keyring { path: path.to_owned(), source: KeyringError::AgeFile });
    }
    if !PassphraseHeader::is_at(&bytes) {
        return Ok((bytes, None));
    }
    let passphrase = passphrase.current();
    let passphrase =
        passphrase.map_err(|source| KeyringFileError::Passphrase { path: path.to_owned(), source })?;
    Ok((encryption::open(&bytes, &passphrase, path)?, Some(passphrase)))
}

fn encoded(
    path: &Path,
    text: &str,
    passphrase: Option<&Passphrase>,
) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    match passphrase {
        None => Ok(Zeroizing::new(text.as_bytes().to_vec())),
        Some(passphrase) => encryption::lock(text.as_bytes(), passphrase, path),
    }
}

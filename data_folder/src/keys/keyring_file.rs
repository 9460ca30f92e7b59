//! The keyring's file: its place, permissions, creation and replacement.
//!
//! A file that others can read, or that lies beside the data it opens, is refused, not mended: its keys may be known by
//! now, and only its owner can judge that.

mod encryption;
pub(crate) mod location;
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
use bitacora_verify::input_file;
use zeroize::Zeroizing;

use self::location::refuse_in_data;
use crate::durable_file::{self, folder_of};
use crate::keys::generation::{self, KeyGenerationError, with_random};
use crate::keys::passphrase::{Passphrase, PassphraseError, PassphraseSource};

/// The mode of the folder that is created for it where there is none.
const FOLDER_MODE: u32 = 0o700;
/// The mode bits that give anybody but the owner access.
const OTHERS_BITS: u32 = 0o077;
/// The size limit of the file, also under a passphrase.
const MAX_FILE_BYTES: usize = MAX_KEYRING_BYTES + PASSPHRASE_OVERHEAD_BYTES;

/// The reason why the keyring's file is not used, created or replaced.
#[derive(Debug, thiserror::Error)]
pub enum KeyringFileError {
    /// There is no such file.
    #[error(
        "{}: no keyring here; name the right one with --keyring, or make one with `bitacora keys new`", .0.display()
    )]
    Missing(PathBuf),
    /// A folder or something else stands there.
    #[error("{}: not a file; name the keyring's file with --keyring", .0.display())]
    NotAFile(PathBuf),
    /// A new keyring never overwrites a file.
    #[error("{}: exists already; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// An offline keyring never overwrites a file of other content.
    #[error("{}: exists already and does not hold just these keys; name a new file, the keyring was not changed", .0.display())]
    OfflineExists(PathBuf),
    /// Others may read or change the file.
    #[error(
        "{}: others may read or change it (mode {mode:04o}); make sure that nobody did, then `chmod 600` it", path.display()
    )]
    OpenToOthers {
        /// The keyring's file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file lies in the data folder.
    #[error(
        "{}: a keyring must not lie in the data folder {}, or who copies the data gets the keys; name a place outside with --keyring, and move it there if it is made already",
        path.display(), data.display()
    )]
    InData {
        /// The keyring's file.
        path: PathBuf,
        /// The data folder.
        data: PathBuf,
    },
    /// The file holds no keyring.
    #[error("{}: {source}", path.display())]
    Keyring {
        /// The keyring's file.
        path: PathBuf,
        /// The error of its text.
        source: KeyringError,
    },
    /// There is no passphrase to open or lock the file with.
    #[error("{}: {source}", path.display())]
    Passphrase {
        /// The keyring's file.
        path: PathBuf,
        /// The reason.
        source: PassphraseError,
    },
    /// The passphrase is another one, or the file is damaged.
    #[error(
        "{}: the passphrase does not open it, or the file is damaged; try again, or restore it from its backup", .0.display()
    )]
    WrongPassphrase(PathBuf),
    /// The locked file is damaged.
    #[error("{}: {source}; restore the keyring from its backup", path.display())]
    Locked {
        /// The keyring's file.
        path: PathBuf,
        /// The error of its header.
        source: PassphraseFileError,
    },
    /// The file is locked, and cannot be locked again.
    #[error("{}: locked already; `bitacora keys unlock` comes first, nothing was changed", .0.display())]
    LockedAlready(PathBuf),
    /// The file is not locked, and cannot be unlocked.
    #[error("{}: not locked; nothing was changed", .0.display())]
    NotLocked(PathBuf),
    /// Another program changes the file.
    #[error("{}: being changed by another program; try again when it is done", .0.display())]
    Busy(PathBuf),
    /// The disk returned other bytes than were written.
    #[error("{}: found other bytes than were written; the keyring was not changed", .0.display())]
    NotKept(PathBuf),
    /// The system gives no random bytes to lock the file with.
    #[error("{}: {source}", path.display())]
    Random {
        /// The keyring's file.
        path: PathBuf,
        /// The system's error.
        source: KeyGenerationError,
    },
    /// The system gives no random bytes for new keys.
    #[error(transparent)]
    Generation(#[from] KeyGenerationError),
    /// The keyring takes no further key.
    #[error(transparent)]
    Full(KeyringError),
    /// The disk gave an error.
    #[error("{}: {source}; {then}", path.display())]
    Disk {
        /// The path that was touched.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// The consequence.
        then: &'static str,
    },
}

/// A keyring that was read from its file.
pub struct LoadedKeyring {
    /// The keys.
    pub keyring: Keyring,
    /// The passphrase that locks the file, if it is locked.
    pub(crate) passphrase: Option<Passphrase>,
}

impl LoadedKeyring {
    /// Returns `true` if a passphrase locks the file.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.passphrase.is_some()
    }
}

/// A kind of key that a rotation adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotatedKey {
    /// The key that encrypts segments.
    Encryption,
    /// The key that signs segments.
    Signing,
}

/// The place of a keyring's file.
#[derive(Clone, Copy)]
pub struct KeyringFile<'a> {
    /// The file's path.
    pub path: &'a Path,
    /// The data folder, which the file may not lie in.
    pub data: Option<&'a Path>,
    /// The source of the passphrase, used if the file is locked.
    pub passphrase: PassphraseSource,
}

impl KeyringFile<'_> {
    /// Generates a keyring and creates its file, under a new passphrase if `lock` says so.
    ///
    /// # Errors
    /// Nothing that existed was changed.
    pub fn generate(&self, lock: bool) -> Result<LoadedKeyring, KeyringFileError> {
        let passphrase = if lock { Some(self.new_passphrase()?) } else { None };
        let keyring = generation::generate()?;
        self.create(&keyring, passphrase.as_ref())?;
        Ok(LoadedKeyring { keyring, passphrase })
    }

    /// Creates the file of a new keyring, locked if there is a passphrase. Returned ⇒ it is durable and readable by its
    /// owner alone; a crash before leaves no file or one that is refused.
    ///
    /// # Errors
    /// Nothing that existed was changed.
    fn create(&self, keyring: &Keyring, passphrase: Option<&Passphrase>) -> Result<(), KeyringFileError> {
        let path = self.path;
        refuse_in_data(path, self.data)?;
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
    pub fn load(&self) -> Result<LoadedKeyring, KeyringFileError> {
        read(&open(self.path, self.data)?, self.path, self.passphrase)
    }

    /// Adds a key. Data under the keys before it stays readable.
    ///
    /// # Errors
    /// As for [`Self::load`], or a keyring that takes no further key.
    pub fn rotate(&self, key: RotatedKey) -> Result<LoadedKeyring, KeyringFileError> {
        self.change(|loaded| {
            let rotated = with_random(|random| match key {
                RotatedKey::Signing => loaded.keyring.rotate_signing(random).map(drop),
                RotatedKey::Encryption => loaded.keyring.rotate_encryption(random).map(drop),
            });
            rotated?.map_err(KeyringFileError::Full)
        })
    }

    /// Encrypts the file under a new passphrase.
    ///
    /// # Errors
    /// As for [`Self::load`], or a file that is locked.
    pub fn lock(&self) -> Result<LoadedKeyring, KeyringFileError> {
        self.change(|loaded| {
            if loaded.is_locked() {
                return Err(KeyringFileError::LockedAlready(self.path.to_owned()));
            }
            loaded.passphrase = Some(self.new_passphrase()?);
            Ok(())
        })
    }

    /// Decrypts the file.
    ///
    /// # Errors
    /// As for [`Self::load`], or a file that is not locked.
    pub fn unlock(&self) -> Result<LoadedKeyring, KeyringFileError> {
        self.change(|loaded| match loaded.passphrase.take() {
            Some(_) => Ok(()),
            None => Err(KeyringFileError::NotLocked(self.path.to_owned())),
        })
    }

    /// Reads the keyring, lets `change` change it or its passphrase, and replaces the file in one step. Returned ⇒ the
    /// new one is durable; a crash before leaves the old one or the new one. Two programs never change it at once.
    ///
    /// # Errors
    /// As for [`Self::load`], and any error of `change`; the file is then as it was.
    pub(crate) fn change<E: From<KeyringFileError>>(
        &self,
        change: impl FnOnce(&mut LoadedKeyring) -> Result<(), E>,
    ) -> Result<LoadedKeyring, E> {
        let path = self.path;
        let file = open(path, self.data)?;
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
        let mut loaded = read(&file, path, self.passphrase)?;
        change(&mut loaded)?;
        let bytes = encoded(path, &loaded.keyring.to_text(), loaded.passphrase.as_ref())?;
        durable_file::replace(&real, &bytes).map_err(failed)?;
        Ok(loaded)
    }

    fn new_passphrase(&self) -> Result<Passphrase, KeyringFileError> {
        let path = self.path.to_owned();
        self.passphrase.new_one().map_err(|source| KeyringFileError::Passphrase { path, source })
    }
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

//! The offline keyring's file: retired encryption keys, under the rules of a keyring's file.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use age::secrecy::SecretString;
use bitacora_formats::OfflineKeys;
use zeroize::Zeroizing;

use super::{FOLDER_MODE, KeyringFileError, encoded, encryption, open, opened, read_bytes};
use crate::durable_file::{self, folder_of};
use crate::passphrase::PassphraseSource;

/// Reads the keys, asking for the passphrase if the file is locked.
///
/// # Errors
/// As for a keyring's file.
pub(crate) fn load(
    path: &Path,
    data: Option<&Path>,
    passphrase: PassphraseSource,
) -> Result<OfflineKeys, KeyringFileError> {
    let (text, _) = opened(read_bytes(&open(path, data)?, path)?, path, passphrase)?;
    parse(path, &text)
}

/// The same, and no keys where there is no file yet.
///
/// # Errors
/// As for a keyring's file.
pub(crate) fn load_if_there(
    path: &Path,
    data: Option<&Path>,
    passphrase: PassphraseSource,
) -> Result<OfflineKeys, KeyringFileError> {
    match load(path, data, passphrase) {
        Err(KeyringFileError::Missing(_)) => Ok(OfflineKeys::default()),
        loaded => loaded,
    }
}

/// Writes the keys, locked if there is a passphrase, in the place of what was there. Returned ⇒ the file is durable, and was read back
/// whole; a crash before leaves what was there or the new one.
///
/// # Errors
/// A file that could not be written, or does not hold these keys.
pub(crate) fn write(
    path: &Path,
    keys: &OfflineKeys,
    passphrase: Option<&SecretString>,
) -> Result<(), KeyringFileError> {
    let text = keys.to_text();
    let bytes = encoded(path, &text, passphrase)?;
    let failed = |source| KeyringFileError::Disk {
        path: path.to_owned(),
        source,
        then: "the keyring was not changed",
    };
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder_of(path)).map_err(failed)?;
    durable_file::replace(path, &bytes).map_err(failed)?;
    let found = read_bytes(&open(path, None)?, path)?;
    let found = match passphrase {
        Some(passphrase) => encryption::open(&found, passphrase, path)?,
        None => found,
    };
    match found.as_slice() == text.as_bytes() {
        true => Ok(()),
        false => Err(KeyringFileError::NotKept(path.to_owned())),
    }
}

fn parse(path: &Path, text: &Zeroizing<Vec<u8>>) -> Result<OfflineKeys, KeyringFileError> {
    let wrong = |source| KeyringFileError::Keyring { path: path.to_owned(), source };
    let text = str::from_utf8(text).map_err(|_| wrong(bitacora_formats::KeyringError::NotOfflineKeys))?;
    OfflineKeys::parse(text).map_err(wrong)
}

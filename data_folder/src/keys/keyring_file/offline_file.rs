//! The offline keyring's file: retired encryption keys, under the rules of a keyring's file.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use bitacora_formats::OfflineKeys;
use zeroize::Zeroizing;

use super::{FOLDER_MODE, KeyringFileError, encoded, encryption, open, opened, read_bytes};
use crate::durable_file::{self, folder_of, sync_name};
use crate::keys::passphrase::{Passphrase, PassphraseSource};

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

/// Creates the file of these keys, locked if there is a passphrase. An existing file is never overwritten. It is
/// accepted if it holds exactly these keys, as after a crash. Returned ⇒ the file is durable, and was read back whole.
///
/// # Errors
/// [`KeyringFileError::OfflineExists`] where the file holds other keys or is something else; a file that could not be
/// written, or does not hold these keys.
pub(crate) fn make(
    path: &Path,
    keys: &OfflineKeys,
    passphrase: Option<&Passphrase>,
) -> Result<(), KeyringFileError> {
    let text = keys.to_text();
    let bytes = encoded(path, &text, passphrase)?;
    let failed = |source| KeyringFileError::Disk {
        path: path.to_owned(),
        source,
        then: "the keyring was not changed",
    };
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder_of(path)).map_err(failed)?;
    let is_new = match durable_file::create_whole(path, &bytes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        made => made.map(|()| true).map_err(failed)?,
    };
    let found = open(path, None).and_then(|file| {
        // Another process may have made it just now.
        file.sync_all().and_then(|()| sync_name(path)).map_err(failed)?;
        let found = read_bytes(&file, path)?;
        match passphrase {
            Some(passphrase) => encryption::open(&found, passphrase, path),
            None => Ok(found),
        }
    });
    match (found.is_ok_and(|found| found.as_slice() == text.as_bytes()), is_new) {
        (true, _) => Ok(()),
        (false, true) => Err(KeyringFileError::NotKept(path.to_owned())),
        (false, false) => Err(KeyringFileError::OfflineExists(path.to_owned())),
    }
}

fn parse(path: &Path, text: &Zeroizing<Vec<u8>>) -> Result<OfflineKeys, KeyringFileError> {
    let wrong = |source| KeyringFileError::Keyring { path: path.to_owned(), source };
    let text = str::from_utf8(text).map_err(|_| wrong(bitacora_formats::KeyringError::NotOfflineKeys))?;
    OfflineKeys::parse(text).map_err(wrong)
}

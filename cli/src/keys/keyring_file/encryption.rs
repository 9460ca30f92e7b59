//! A keyring under a passphrase: an age file with one scrypt recipient.
//! The age program reads and writes such files too.

use std::path::Path;

use age::scrypt;
use age::secrecy::SecretString;
use zeroize::Zeroizing;

use super::KeyringFileError;

/// The scrypt work factor of new files, as a power of two: that of the age program, about a second.
const WORK_FACTOR: u8 = if cfg!(test) { 10 } else { 18 };
/// The largest accepted work factor: it takes 4 GiB and about 16 seconds.
const MAX_WORK_FACTOR: u8 = 22;

const _: () = assert!(WORK_FACTOR <= MAX_WORK_FACTOR);

pub(super) fn lock(
    text: &[u8],
    passphrase: &SecretString,
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    let mut recipient = scrypt::Recipient::new(passphrase.clone());
    recipient.set_work_factor(WORK_FACTOR);
    let armored = age::encrypt_and_armor(&recipient, text);
    armored
        .map(|armored| Zeroizing::new(armored.into_bytes()))
        .map_err(|error| KeyringFileError::Encryption { path: path.to_owned(), what: one_line(&error) })
}

pub(super) fn open(
    file: &[u8],
    passphrase: &SecretString,
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    let mut identity = scrypt::Identity::new(passphrase.clone());
    identity.set_max_work_factor(MAX_WORK_FACTOR);
    age::decrypt(&identity, file).map(Zeroizing::new).map_err(|error| match error {
        age::DecryptError::NoMatchingKeys => KeyringFileError::NotPassphraseLocked(path.to_owned()),
        age::DecryptError::DecryptionFailed | age::DecryptError::KeyDecryptionFailed => {
            KeyringFileError::WrongPassphrase(path.to_owned())
        }
        other => KeyringFileError::Encryption { path: path.to_owned(), what: one_line(&other) },
    })
}

fn one_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}

//! A keyring under a passphrase, with random bytes from the system.

use std::path::Path;

use bitacora_formats::{PASSPHRASE_RANDOM_BYTES, PassphraseFileError, PassphraseHeader, ScryptCost};
use zeroize::Zeroizing;

use super::KeyringFileError;
use crate::keys::generation::with_random;
use crate::keys::passphrase::Passphrase;

/// The cost of new files.
const COST: ScryptCost = if cfg!(test) { ScryptCost::MIN } else { ScryptCost::DEFAULT };

pub(super) fn lock(
    text: &[u8],
    passphrase: &Passphrase,
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    let random = with_random(|random| {
        let mut bytes = [0; PASSPHRASE_RANDOM_BYTES];
        random(&mut bytes);
        bytes
    });
    let random = random.map_err(|source| KeyringFileError::Random { path: path.to_owned(), source })?;
    let sealed = PassphraseHeader::new(COST, &random).seal(text, passphrase.expose());
    sealed.map(Zeroizing::new).map_err(|source| refused(path, source))
}

pub(super) fn open(
    file: &[u8],
    passphrase: &Passphrase,
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>, KeyringFileError> {
    PassphraseHeader::open(file, passphrase.expose()).map_err(|source| refused(path, source))
}

fn refused(path: &Path, source: PassphraseFileError) -> KeyringFileError {
    match source {
        PassphraseFileError::NotAuthentic => KeyringFileError::WrongPassphrase(path.to_owned()),
        source => KeyringFileError::Locked { path: path.to_owned(), source },
    }
}

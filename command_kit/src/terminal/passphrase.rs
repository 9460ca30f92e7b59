//! The passphrase of a locked keyring, typed at the terminal where the environment does not hold it.

use std::io;
use std::path::Path;

use bitacora_data_folder::{KeyringFile, PassphraseQuestion, PassphraseSource};

/// The source of the passphrase in every command.
pub const PASSPHRASE: PassphraseSource = PassphraseSource::User(ask);

/// Returns the keyring's file at a path. The terminal is asked for its passphrase.
pub fn keyring_file<'a>(path: &'a Path, data: Option<&'a Path>) -> KeyringFile<'a> {
    KeyringFile { path, data, passphrase: PASSPHRASE }
}

fn ask(question: PassphraseQuestion) -> io::Result<String> {
    rpassword::prompt_password(match question {
        PassphraseQuestion::Current => "passphrase of the keyring: ",
        PassphraseQuestion::New => "new passphrase of the keyring: ",
        PassphraseQuestion::Again => "the same again: ",
    })
}

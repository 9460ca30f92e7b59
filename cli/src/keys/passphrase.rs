//! The source of a locked keyring's passphrase: the environment, or the terminal.

use std::env::VarError;

use zeroize::Zeroizing;

/// The variable with the passphrase, for runs without a terminal, as under a service manager.
const VARIABLE: &str = "BITACORA_PASSPHRASE";

/// The reason why there is no passphrase.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassphraseError {
    #[error("{VARIABLE} is not utf-8; set it to the passphrase or unset it to be asked")]
    NotText,
    #[error("the passphrase is empty; give one of at least one character")]
    Empty,
    #[error("the two passphrases differ; nothing was changed")]
    Differ,
    #[error("a passphrase is needed and there is no terminal to ask on; set {VARIABLE}")]
    NoTerminal,
}

/// A passphrase: never empty, erased from memory when dropped, and never printed.
pub(crate) struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Returns the text, for the moment of use only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// The source of a passphrase.
#[derive(Clone, Copy)]
pub(crate) enum PassphraseSource {
    /// The environment if the variable is set, else the person at the terminal.
    User,
    /// The test.
    #[cfg(test)]
    Given(&'static str),
}

impl PassphraseSource {
    /// Returns the passphrase that locks an existing keyring.
    pub(crate) fn current(self) -> Result<Passphrase, PassphraseError> {
        self.known()?.map_or_else(|| ask("passphrase of the keyring: "), Ok)
    }

    /// Returns the passphrase to lock a keyring with; typed twice.
    pub(crate) fn new_one(self) -> Result<Passphrase, PassphraseError> {
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let passphrase = ask("new passphrase of the keyring: ")?;
        let again = ask("the same again: ")?;
        if passphrase.expose() == again.expose() { Ok(passphrase) } else { Err(PassphraseError::Differ) }
    }

    fn known(self) -> Result<Option<Passphrase>, PassphraseError> {
        let known = match self {
            #[cfg(test)]
            Self::Given(passphrase) => Some(passphrase.to_owned()),
            Self::User => match std::env::var(VARIABLE) {
                Ok(passphrase) => Some(passphrase),
                Err(VarError::NotPresent) => None,
                Err(VarError::NotUnicode(_)) => return Err(PassphraseError::NotText),
            },
        };
        known.map(not_empty).transpose()
    }
}

fn ask(prompt: &str) -> Result<Passphrase, PassphraseError> {
    rpassword::prompt_password(prompt).map_err(|_| PassphraseError::NoTerminal).and_then(not_empty)
}

fn not_empty(passphrase: String) -> Result<Passphrase, PassphraseError> {
    let passphrase = Zeroizing::new(passphrase);
    if passphrase.is_empty() { Err(PassphraseError::Empty) } else { Ok(Passphrase(passphrase)) }
}

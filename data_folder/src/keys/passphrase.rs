//! The source of a locked keyring's passphrase: the environment, or a person.

use std::env::VarError;
use std::io;

use zeroize::Zeroizing;

/// The variable with the passphrase, for runs without a terminal, as under a service manager.
const VARIABLE: &str = "BITACORA_PASSPHRASE";

/// The reason why there is no passphrase.
#[derive(Debug, thiserror::Error)]
pub enum PassphraseError {
    /// The variable holds no text.
    #[error("{VARIABLE} is not utf-8; set it to the passphrase or unset it to be asked")]
    NotText,
    /// An empty passphrase locks nothing.
    #[error("the passphrase is empty; give one of at least one character")]
    Empty,
    /// The second answer differs from the first.
    #[error("the two passphrases differ; nothing was changed")]
    Differ,
    /// The terminal sent bytes that are not UTF-8; several would be read as the same character.
    #[error("found typed characters that are not utf-8; use a utf-8 terminal, or set {VARIABLE}")]
    TypedNotText,
    /// Nobody can be asked.
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

/// A question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassphraseQuestion {
    /// The passphrase of a locked keyring.
    Current,
    /// A passphrase to lock a keyring with.
    New,
    /// The same passphrase for the second time.
    Again,
}

/// A function that asks a person, and returns the answer as it was typed.
pub type PassphrasePrompt = fn(PassphraseQuestion) -> io::Result<String>;

/// The source of a passphrase.
#[derive(Clone, Copy)]
pub enum PassphraseSource {
    /// The environment if the variable is set, else a person.
    User(PassphrasePrompt),
    /// The test.
    #[cfg(test)]
    Given(&'static str),
}

impl PassphraseSource {
    /// Returns the passphrase that locks an existing keyring.
    pub(crate) fn current(self) -> Result<Passphrase, PassphraseError> {
        self.known()?.map_or_else(|| self.ask(PassphraseQuestion::Current), Ok)
    }

    /// Returns the passphrase to lock a keyring with; typed twice.
    pub(crate) fn new_one(self) -> Result<Passphrase, PassphraseError> {
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let passphrase = self.ask(PassphraseQuestion::New)?;
        let again = self.ask(PassphraseQuestion::Again)?;
        if passphrase.expose() == again.expose() { Ok(passphrase) } else { Err(PassphraseError::Differ) }
    }

    fn known(self) -> Result<Option<Passphrase>, PassphraseError> {
        let known = match self {
            #[cfg(test)]
            Self::Given(passphrase) => Some(passphrase.to_owned()),
            Self::User(_) => match std::env::var(VARIABLE) {
                Ok(passphrase) => Some(passphrase),
                Err(VarError::NotPresent) => None,
                Err(VarError::NotUnicode(_)) => return Err(PassphraseError::NotText),
            },
        };
        known.map(not_empty).transpose()
    }

    fn ask(self, question: PassphraseQuestion) -> Result<Passphrase, PassphraseError> {
        match self {
            Self::User(prompt) => {
                prompt(question).map_err(|_| PassphraseError::NoTerminal).and_then(text).and_then(not_empty)
            }
            #[cfg(test)]
            Self::Given(_) => Err(PassphraseError::NoTerminal),
        }
    }
}

/// Refuses what a terminal's reader writes for bytes that are not UTF-8.
fn text(typed: String) -> Result<String, PassphraseError> {
    let typed = Zeroizing::new(typed);
    if typed.contains(char::REPLACEMENT_CHARACTER) {
        return Err(PassphraseError::TypedNotText);
    }
    Ok(typed.as_str().to_owned())
}

fn not_empty(passphrase: String) -> Result<Passphrase, PassphraseError> {
    let passphrase = Zeroizing::new(passphrase);
    if passphrase.is_empty() { Err(PassphraseError::Empty) } else { Ok(Passphrase(passphrase)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_bytes_that_are_no_text_are_refused() {
        let typed =
            |answer: PassphrasePrompt| PassphraseSource::User(answer).ask(PassphraseQuestion::Current);
        assert!(matches!(typed(|_| Ok("caf\u{fffd}".to_owned())), Err(PassphraseError::TypedNotText)));
        assert!(matches!(typed(|_| Ok(String::new())), Err(PassphraseError::Empty)));
        assert_eq!(typed(|_| Ok("caf\u{e9}".to_owned())).unwrap().expose(), "caf\u{e9}");
    }
}

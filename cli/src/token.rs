//! The token that requests to a service are sent with. It is shown where it is made, and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bitacora_formats::vocabulary::Sha256Text;
use bitacora_ledger::{Entropy, SystemEntropy};
use hyper::header::HeaderValue;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// What every token begins with.
const PREFIX: &str = "bt_";
/// Where the token is looked for when no file is named.
const VARIABLE: &str = "BITACORA_TOKEN";
/// Bytes of a file that is read at all.
const MAX_FILE_BYTES: u64 = 1024;

/// Why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{}: {source}; no token was read", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{0}: not a token; one is `bt_` and 43 characters, as `bitacora token create` shows it")]
    Malformed(String),
}

/// A token. It has no `Debug`, so that it reaches no log.
#[derive(Clone)]
pub(crate) struct Token(Zeroizing<String>);

impl Token {
    /// A new one: 256 random bits.
    pub(crate) fn generate() -> io::Result<Self> {
        let mut bits = Zeroizing::new([0; 32]);
        SystemEntropy.fill(bits.as_mut_slice())?;
        Ok(Self(Zeroizing::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(*bits)))))
    }

    /// The one in this file, else the one in the environment, if there is one.
    pub(crate) fn find(file: Option<&Path>) -> Result<Option<Self>, TokenError> {
        if let Some(path) = file {
            let failed = |source| TokenError::File { path: path.to_owned(), source };
            if std::fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES {
                return Err(TokenError::Malformed(path.display().to_string()));
            }
            let text = Zeroizing::new(std::fs::read_to_string(path).map_err(failed)?);
            return Self::parse(&text, || path.display().to_string()).map(Some);
        }
        match std::env::var(VARIABLE).map(Zeroizing::new) {
            Ok(text) if !text.is_empty() => Self::parse(&text, || VARIABLE.to_owned()).map(Some),
            _ => Ok(None),
        }
    }

    fn parse(text: &str, place: impl Fn() -> String) -> Result<Self, TokenError> {
        let text = text.trim();
        let bits = text.strip_prefix(PREFIX).and_then(|bits| URL_SAFE_NO_PAD.decode(bits).ok());
        if bits.map(Zeroizing::new).is_none_or(|bits| bits.len() != 32) {
            return Err(TokenError::Malformed(place()));
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// What the ledger keeps of it.
    pub(crate) fn hash(&self) -> Sha256Text {
        Sha256Text::of_digest(&Sha256::digest(self.0.as_bytes()).into())
    }

    /// As it is sent. Nothing that prints headers shows it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", &*self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// For the one place that shows it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_is_read_back_and_another_than_the_last() {
        let token = Token::generate().unwrap();
        assert_eq!(token.reveal().len(), 46);
        let read = Token::parse(&format!("{}\n", token.reveal()), String::new).ok().unwrap();
        assert_eq!(read.hash(), token.hash());
        assert_ne!(Token::generate().unwrap().reveal(), token.reveal());
        assert!(token.header().unwrap().is_sensitive());
        for bad in ["", "bt_", "bt_short", &token.reveal()[3..], &format!("{}a", token.reveal())] {
            let refused = Token::parse(bad, || "here".to_owned()).err().unwrap();
            assert!(matches!(refused, TokenError::Malformed(place) if place == "here"), "{bad}");
        }
    }

    #[test]
    fn a_file_is_read_and_one_without_a_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(Token::find(Some(&path)), Err(TokenError::File { .. })));
        let token = Token::generate().unwrap();
        std::fs::write(&path, format!("{}\n", token.reveal())).unwrap();
        assert_eq!(Token::find(Some(&path)).ok().flatten().unwrap().hash(), token.hash());
        std::fs::write(&path, "something else").unwrap();
        assert!(matches!(Token::find(Some(&path)), Err(TokenError::Malformed(_))));
    }
}

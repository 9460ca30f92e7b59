//! The token that requests to a service are sent with. It is shown where it is made, and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_client::{ClientError, NotAToken, Refusal, Token};
use bitacora_formats::vocabulary::Sha256Text;
use bitacora_ledger::{Entropy, SystemEntropy};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Where the token is looked for when no file is named.
const VARIABLE: &str = "BITACORA_TOKEN";
/// Bytes of a file that is read at all.
const MAX_FILE_BYTES: u64 = 1024;

/// Why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{}: {source}; no token was read", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{place}: {source}")]
    Malformed { place: String, source: NotAToken },
}

/// A new one: 256 random bits.
pub(crate) fn generate() -> io::Result<Token> {
    let mut bits = Zeroizing::new([0; 32]);
    SystemEntropy.fill(bits.as_mut_slice())?;
    Ok(Token::of_bits(&bits))
}

/// The one in this file, else the one in the environment, if there is one.
pub(crate) fn find(file: Option<&Path>) -> Result<Option<Token>, TokenError> {
    let malformed = |place: String| move |source| TokenError::Malformed { place, source };
    if let Some(path) = file {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        let place = path.display().to_string();
        if std::fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES {
            return Err(malformed(place)(NotAToken));
        }
        let text = Zeroizing::new(std::fs::read_to_string(path).map_err(failed)?);
        return text.parse().map(Some).map_err(malformed(place));
    }
    match std::env::var(VARIABLE).map(Zeroizing::new) {
        Ok(text) if !text.is_empty() => text.parse().map(Some).map_err(malformed(VARIABLE.to_owned())),
        _ => Ok(None),
    }
}

/// What a person can do about a token that is not there, or not taken.
pub(crate) fn advice(error: &ClientError) -> &'static str {
    match error {
        ClientError::Refused(Refusal { problem, .. }) if problem.status == 401 => {
            "; name one with --token-file, or in BITACORA_TOKEN"
        }
        _ => "",
    }
}

/// What the ledger keeps of a token.
pub(crate) fn hash(token: &Token) -> Sha256Text {
    Sha256Text::of_digest(&Sha256::digest(token.reveal().as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_is_another_than_the_last() {
        let token = generate().unwrap();
        assert_eq!(token.reveal().len(), 46);
        assert_ne!(generate().unwrap().reveal(), token.reveal());
    }

    #[test]
    fn a_file_is_read_and_one_without_a_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(find(Some(&path)), Err(TokenError::File { .. })));
        let token = generate().unwrap();
        std::fs::write(&path, format!("{}\n", token.reveal())).unwrap();
        assert_eq!(hash(&find(Some(&path)).ok().flatten().unwrap()), hash(&token));
        for text in ["something else".to_owned(), "x".repeat(2_000)] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(find(Some(&path)), Err(TokenError::Malformed { .. })));
        }
    }
}

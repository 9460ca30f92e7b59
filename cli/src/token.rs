//! The token of requests to a service.
//! It is shown where it is created, and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use crate::admin_token;
use crate::input_file;
use bitacora_client::{ClientError, NotAToken, Refusal, Token};
use bitacora_formats::vocabulary::Sha256Text;
use bitacora_ledger::{Entropy, SystemEntropy};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The variable with the token, used when no file is named.
const VARIABLE: &str = "BITACORA_TOKEN";
/// The size limit of a token's file.
pub(crate) const MAX_FILE_BYTES: usize = 1024;

/// The reason why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{}: {source}; no token was read", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{place}: {source}")]
    Malformed { place: String, source: NotAToken },
    #[error(
        "{}: others may read or change it (mode {mode:04o}); `chmod 600` it, and if somebody may have read it, revoke its token and make another", path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error(
        "{}: an admin token must not lie in the data folder {}, or who copies the data gets the token; move it beside the keyring",
        path.display(), data.display()
    )]
    InData { path: PathBuf, data: PathBuf },
    #[error("{}: found a symbolic link, expected the admin token's file itself; move that file here", .0.display())]
    Link(PathBuf),
    #[error(
        "{}: found a file of user {owner}, expected one of user {user}; run this as its owner, or remove the file if its owner should know no admin token", path.display()
    )]
    OfAnother { path: PathBuf, owner: u32, user: u32 },
}

/// Generates a new token: 256 random bits.
pub(crate) fn generate() -> io::Result<Token> {
    let mut bits = Zeroizing::new([0; 32]);
    SystemEntropy.fill(bits.as_mut_slice())?;
    Ok(Token::of_bits(&bits))
}

/// The token that a user names.
pub(crate) enum Named {
    Token(Token),
    /// The variable is set and empty: no token is sent.
    Nothing,
    /// Neither a file nor the variable is set.
    Unsaid,
}

/// Reads the token in this file, else the one in the environment.
pub(crate) fn named(file: Option<&Path>, data: Option<&Path>) -> Result<Named, TokenError> {
    let malformed = |place: String| move |source| TokenError::Malformed { place, source };
    if let Some(path) = file {
        if admin_token::is_named_so(path)
            && let Some(token) = admin_token::read(path, data)?
        {
            return Ok(Named::Token(token));
        }
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        let place = path.display().to_string();
        let bytes = Zeroizing::new(input_file::read(path, MAX_FILE_BYTES).map_err(failed)?);
        let text = str::from_utf8(&bytes).ok().filter(|_| bytes.len() <= MAX_FILE_BYTES);
        let token = text.ok_or(NotAToken).and_then(str::parse);
        return token.map(Named::Token).map_err(malformed(place));
    }
    match std::env::var(VARIABLE).map(Zeroizing::new) {
        Ok(text) if text.is_empty() => Ok(Named::Nothing),
        Ok(text) => text.parse().map(Named::Token).map_err(malformed(VARIABLE.to_owned())),
        Err(_) => Ok(Named::Unsaid),
    }
}

/// Returns advice on a missing or refused token.
pub(crate) fn advice(error: &ClientError) -> &'static str {
    match error {
        ClientError::Refused(Refusal { problem, .. }) if problem.status == 401 => {
            "; name one with --token-file or in BITACORA_TOKEN (`bitacora token create` makes one; the first admin's lies beside the keyring)"
        }
        _ => "",
    }
}

/// Returns the hash that the ledger keeps of a token.
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
        assert!(matches!(named(Some(&path), None), Err(TokenError::File { .. })));
        let token = generate().unwrap();
        std::fs::write(&path, format!("{}\n", token.reveal())).unwrap();
        let Ok(Named::Token(read)) = named(Some(&path), None) else { panic!("no token was read") };
        assert_eq!(hash(&read), hash(&token));
        for text in ["something else".to_owned(), "x".repeat(2_000)] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(named(Some(&path), None), Err(TokenError::Malformed { .. })));
        }
        for no_file in [Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(named(Some(no_file), None), Err(TokenError::File { .. })), "{no_file:?}");
        }
    }
}

//! The token of requests to a service.
//! It is shown where it is created, and nowhere else.

use std::io;
use std::path::PathBuf;

use bitacora_client::{ClientError, Refusal, Token, TokenFormatError};
use bitacora_ledger::{Entropy, SystemEntropy};
use bitacora_vocabulary::Sha256Text;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The size limit of a token's file.
pub(crate) const MAX_FILE_BYTES: usize = 1024;

/// The reason why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{}: {source}; no token was read", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{place}: {source}")]
    Malformed { place: String, source: TokenFormatError },
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
}

//! The token of requests to a service.
//! It is shown where it is created, and nowhere else.

use std::io;
use std::path::PathBuf;

use bitacora_client::{Token, TokenFormatError};
use bitacora_ledger::{Entropy, SystemEntropy};
use bitacora_vocabulary::Sha256Text;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The size limit of a token's file.
pub(crate) const MAX_FILE_BYTES: usize = 1024;

/// The reason why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file could not be read or written.
    #[error("{}: {source}; no token was read", path.display())]
    File {
        /// The token's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The text is no token.
    #[error("{place}: {source}")]
    Malformed {
        /// The file or the variable.
        place: String,
        /// The error of the text.
        source: TokenFormatError,
    },
    /// Others may read or change the admin token's file.
    #[error(
        "{}: others may read or change it (mode {mode:04o}); `chmod 600` it, and if somebody may have read it, revoke its token and make another", path.display()
    )]
    OpenToOthers {
        /// The token's file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The admin token's file lies in the data folder.
    #[error(
        "{}: an admin token must not lie in the data folder {}, or who copies the data gets the token; move it beside the keyring",
        path.display(), data.display()
    )]
    InData {
        /// The token's file.
        path: PathBuf,
        /// The data folder.
        data: PathBuf,
    },
    /// A symbolic link stands in the place of the admin token's file.
    #[error("{}: found a symbolic link, expected the admin token's file itself; move that file here", .0.display())]
    Link(PathBuf),
    /// The admin token's file belongs to another user.
    #[error(
        "{}: found a file of user {owner}, expected one of user {user}; run this as its owner, or remove the file if its owner should know no admin token", path.display()
    )]
    OfAnother {
        /// The token's file.
        path: PathBuf,
        /// The user whom it belongs to.
        owner: u32,
        /// The user whom this process belongs to.
        user: u32,
    },
}

/// Generates a new token: 256 random bits.
///
/// # Errors
/// The system gives no random bytes.
pub fn generate_token() -> io::Result<Token> {
    let mut bits = Zeroizing::new([0; 32]);
    SystemEntropy.fill(bits.as_mut_slice())?;
    Ok(Token::of_bits(&bits))
}

/// Returns the hash that the ledger keeps of a token.
#[must_use]
pub fn token_hash(token: &Token) -> Sha256Text {
    Sha256Text::of_digest(&Sha256::digest(token.reveal().as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_is_another_than_the_last() {
        let token = generate_token().unwrap();
        assert_eq!(token.reveal().len(), 46);
        assert_ne!(generate_token().unwrap().reveal(), token.reveal());
    }
}

//! The token that a user names: in a file, or in the environment.

use std::path::Path;

use bitacora_client::{Token, TokenFormatError};
use bitacora_verify::input_file;
use zeroize::Zeroizing;

use crate::tokens::admin_token::{is_named_so, read_admin_token};
use crate::tokens::token::{MAX_FILE_BYTES, TokenError};

/// The variable with the token, used when no file is named.
const VARIABLE: &str = "BITACORA_TOKEN";

/// The token that a user names.
pub enum NamedToken {
    /// The token of the file or the variable.
    Token(Token),
    /// The variable is set and empty: no token is sent.
    Nothing,
    /// Neither a file nor the variable is set.
    Unsaid,
}

impl NamedToken {
    /// Reads the token in this file, else the one in the environment.
    ///
    /// # Errors
    /// A file that cannot be read, or a text that is no token. An admin token's file has to be its owner's alone.
    pub fn read(file: Option<&Path>, data: Option<&Path>) -> Result<Self, TokenError> {
        let malformed = |place: String| move |source| TokenError::Malformed { place, source };
        if let Some(path) = file {
            if is_named_so(path)
                && let Some(token) = read_admin_token(path, data)?
            {
                return Ok(Self::Token(token));
            }
            let failed = |source| TokenError::File { path: path.to_owned(), source };
            let place = path.display().to_string();
            let bytes = Zeroizing::new(input_file::read(path, MAX_FILE_BYTES).map_err(failed)?);
            let text = str::from_utf8(&bytes).ok().filter(|_| bytes.len() <= MAX_FILE_BYTES);
            let token = text.ok_or(TokenFormatError).and_then(str::parse);
            return token.map(Self::Token).map_err(malformed(place));
        }
        match std::env::var(VARIABLE).map(Zeroizing::new) {
            Ok(text) if text.is_empty() => Ok(Self::Nothing),
            Ok(text) => text.parse().map(Self::Token).map_err(malformed(VARIABLE.to_owned())),
            Err(_) => Ok(Self::Unsaid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::token::{generate_token, token_hash};

    #[test]
    fn a_file_is_read_and_one_without_a_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(NamedToken::read(Some(&path), None), Err(TokenError::File { .. })));
        let token = generate_token().unwrap();
        std::fs::write(&path, format!("{}\n", token.reveal())).unwrap();
        let Ok(NamedToken::Token(read)) = NamedToken::read(Some(&path), None) else {
            panic!("no token was read")
        };
        assert_eq!(token_hash(&read), token_hash(&token));
        for text in ["something else".to_owned(), "x".repeat(2_000)] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(NamedToken::read(Some(&path), None), Err(TokenError::Malformed { .. })));
        }
        for no_file in [Path::new("/dev/zero"), folder.path()] {
            assert!(
                matches!(NamedToken::read(Some(no_file), None), Err(TokenError::File { .. })),
                "{no_file:?}"
            );
        }
    }
}

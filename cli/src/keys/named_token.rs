//! The token that a user names: in a file, or in the environment.

use std::path::Path;

use bitacora_client::{Token, TokenFormatError};
use zeroize::Zeroizing;

use crate::files::input_file;
use crate::keys::admin_token;
use crate::keys::token::{MAX_FILE_BYTES, TokenError};

/// The variable with the token, used when no file is named.
const VARIABLE: &str = "BITACORA_TOKEN";

/// The token that a user names.
pub(crate) enum NamedToken {
    Token(Token),
    /// The variable is set and empty: no token is sent.
    Nothing,
    /// Neither a file nor the variable is set.
    Unsaid,
}

/// Reads the token in this file, else the one in the environment.
pub(crate) fn named(file: Option<&Path>, data: Option<&Path>) -> Result<NamedToken, TokenError> {
    let malformed = |place: String| move |source| TokenError::Malformed { place, source };
    if let Some(path) = file {
        if admin_token::is_named_so(path)
            && let Some(token) = admin_token::read(path, data)?
        {
            return Ok(NamedToken::Token(token));
        }
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        let place = path.display().to_string();
        let bytes = Zeroizing::new(input_file::read(path, MAX_FILE_BYTES).map_err(failed)?);
        let text = str::from_utf8(&bytes).ok().filter(|_| bytes.len() <= MAX_FILE_BYTES);
        let token = text.ok_or(TokenFormatError).and_then(str::parse);
        return token.map(NamedToken::Token).map_err(malformed(place));
    }
    match std::env::var(VARIABLE).map(Zeroizing::new) {
        Ok(text) if text.is_empty() => Ok(NamedToken::Nothing),
        Ok(text) => text.parse().map(NamedToken::Token).map_err(malformed(VARIABLE.to_owned())),
        Err(_) => Ok(NamedToken::Unsaid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::token::{generate, hash};

    #[test]
    fn a_file_is_read_and_one_without_a_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(named(Some(&path), None), Err(TokenError::File { .. })));
        let token = generate().unwrap();
        std::fs::write(&path, format!("{}\n", token.reveal())).unwrap();
        let Ok(NamedToken::Token(read)) = named(Some(&path), None) else { panic!("no token was read") };
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

//! The token that requests are sent with.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::HeaderValue;
use zeroize::Zeroizing;

/// The prefix of every token.
const PREFIX: &str = "bt_";
/// The number of random bytes in a token.
const RANDOM_BYTES: usize = 32;

/// A token, as `bitacora token create` shows it. It has no `Debug`, so that it reaches no log.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

/// The error for a text that is not a token. The text is not shown: it may be nearly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token; one is `bt_` and 43 characters, as `bitacora token create` shows it")]
pub struct TokenFormatError;

impl Token {
    /// Returns the token of these bits, which nobody else can know.
    #[must_use]
    pub fn of_bits(bits: &[u8; RANDOM_BYTES]) -> Self {
        Self(Zeroizing::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bits))))
    }

    /// Returns its text, for the one place that shows it, and the one that hashes it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the `Authorization` header. It is marked as sensitive, so that nothing that prints headers shows it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", &*self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl FromStr for Token {
    type Err = TokenFormatError;

    fn from_str(text: &str) -> Result<Self, TokenFormatError> {
        let text = text.trim();
        let bits = text.strip_prefix(PREFIX).and_then(|bits| URL_SAFE_NO_PAD.decode(bits).ok());
        if bits.map(Zeroizing::new).is_none_or(|bits| bits.len() != RANDOM_BYTES) {
            return Err(TokenFormatError);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_shown_nowhere() {
        let token = Token::of_bits(&[7; 32]);
        assert_eq!(token.reveal().len(), 46);
        let read: Token = format!("{}\n", token.reveal()).parse().unwrap();
        assert_eq!(read.reveal(), token.reveal());
        assert!(token.header().unwrap().is_sensitive());
        assert_eq!(format!("{token:?}"), "Token");
        for bad in ["", "bt_", "bt_short", &token.reveal()[3..], &format!("{}a", token.reveal())] {
            assert_eq!(bad.parse::<Token>().err(), Some(TokenFormatError), "{bad}");
        }
    }
}

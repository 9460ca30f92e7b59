//! The public keys that verify signed notes, and their text: name, id and key, joined by `+`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

use super::{KEY_ID_BYTES, is_key_name, is_shown_as_it_is};
use crate::limits::MAX_KEY_NAME_BYTES;

/// The kind of signatures that is plain Ed25519.
pub(crate) const ED25519_KIND: u8 = 0x01;

/// An error in the text of a verifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifierKeyError {
    /// Not three parts of the right form.
    #[error("not a verifier key: '<name>+<8 hexadecimal digits>+<base64>' expected")]
    Form,
    /// A name that no key can have.
    #[error("not a verifier key: its name must have 1 to {MAX_KEY_NAME_BYTES} bytes, no spaces and no '+'")]
    Name,
    /// A name that would not show as it is.
    #[error(
        "not a verifier key: its name has a control character, or one that changes the direction of a text; do not use it"
    )]
    NameCharacter,
    /// Another kind of key than Ed25519, of which this program verifies no signature.
    #[error("a verifier key of a kind that is not supported; only Ed25519 (kind 1) is")]
    Kind,
    /// The bytes are no Ed25519 key, or one that anybody can sign for.
    #[error("not a verifier key: its bytes are no usable Ed25519 public key; obtain it again")]
    PublicKey,
    /// The id is not that of the name and key.
    #[error(
        "not a verifier key: id {expected} follows from its name and key, {found} found; obtain it again"
    )]
    Id {
        /// The id that name and key have.
        expected: KeyId,
        /// The one that is written.
        found: KeyId,
    },
}

/// The short name that a signature calls its key by. It identifies and proves nothing: keys with any id are easily made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; KEY_ID_BYTES]);

impl KeyId {
    /// The id of an Ed25519 key under a name: the first bytes of SHA-256(name ‖ newline ‖ 0x01 ‖ key).
    #[must_use]
    pub fn of(name: &str, public: &VerifyingKey) -> Self {
        Self::of_kind(ED25519_KIND, name, public)
    }

    /// As [`KeyId::of`], of a key that makes another kind of signatures.
    pub(crate) fn of_kind(kind: u8, name: &str, public: &VerifyingKey) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(name.as_bytes());
        hasher.update([b'\n', kind]);
        hasher.update(public.as_bytes());
        let mut id = [0; KEY_ID_BYTES];
        id.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
        Self(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// A key that is known, by the name under which it signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: KeyId,
    public: VerifyingKey,
}

impl VerifierKey {
    /// A key under a name.
    ///
    /// # Errors
    /// [`VerifierKeyError::Name`] or [`VerifierKeyError::NameCharacter`], or [`VerifierKeyError::PublicKey`] for a key of small
    /// order.
    pub fn new(name: &str, public: VerifyingKey) -> Result<Self, VerifierKeyError> {
        check_name(name)?;
        if public.is_weak() {
            return Err(VerifierKeyError::PublicKey);
        }
        Ok(Self { name: name.to_owned(), id: KeyId::of(name, &public), public })
    }

    /// Another key under the same name and id, as if their ids met.
    #[cfg(test)]
    pub(super) fn with_public(self, public: VerifyingKey) -> Self {
        Self { public, ..self }
    }

    /// The name under which the key signs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id that its signatures bear.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself.
    #[must_use]
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64.encode([&[ED25519_KIND], self.public.as_bytes().as_slice()].concat());
        write!(f, "{}+{}+{encoded}", self.name, self.id)
    }
}

impl FromStr for VerifierKey {
    type Err = VerifierKeyError;

    fn from_str(text: &str) -> Result<Self, VerifierKeyError> {
        let written = WrittenKey::parse(text)?;
        if written.kind != ED25519_KIND {
            return Err(VerifierKeyError::Kind);
        }
        let key = Self::new(written.name, written.public()?)?;
        written.check_id(key.id)?;
        Ok(key)
    }
}

/// Checks the name of a key that is to be known. Lines of keys that are not may bear others.
pub(crate) fn check_name(name: &str) -> Result<(), VerifierKeyError> {
    if !is_key_name(name) {
        return Err(VerifierKeyError::Name);
    }
    if is_shown_as_it_is(name) { Ok(()) } else { Err(VerifierKeyError::NameCharacter) }
}

/// The parts of a verifier key's text, of whatever kind, before they are compared with one another.
pub(crate) struct WrittenKey<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: u8,
    id: KeyId,
    bytes: Vec<u8>,
}

impl<'a> WrittenKey<'a> {
    /// Takes the text apart; [`VerifierKeyError::Form`] where it has not these parts.
    pub(crate) fn parse(text: &'a str) -> Result<Self, VerifierKeyError> {
        // The key's base64 may have a '+' of its own; the name and the id have none.
        let (name, rest) = text.split_once('+').ok_or(VerifierKeyError::Form)?;
        let (digits, encoded) = rest.split_once('+').ok_or(VerifierKeyError::Form)?;
        let mut id = [0; KEY_ID_BYTES];
        let lower = digits.bytes().all(|byte| !byte.is_ascii_uppercase());
        if !lower || hex::decode_to_slice(digits, &mut id).is_err() {
            return Err(VerifierKeyError::Form);
        }
        let decoded = BASE64.decode(encoded).map_err(|_| VerifierKeyError::Form)?;
        let (kind, bytes) = decoded.split_first().ok_or(VerifierKeyError::Form)?;
        Ok(Self { name, kind: *kind, id: KeyId(id), bytes: bytes.to_vec() })
    }

    /// The bytes as an Ed25519 key.
    pub(crate) fn public(&self) -> Result<VerifyingKey, VerifierKeyError> {
        let bytes = self.bytes.as_slice().try_into().map_err(|_| VerifierKeyError::PublicKey)?;
        VerifyingKey::from_bytes(bytes).map_err(|_| VerifierKeyError::PublicKey)
    }

    /// Compares the id that is written with the one that name and key have.
    pub(crate) fn check_id(&self, expected: KeyId) -> Result<(), VerifierKeyError> {
        if self.id == expected { Ok(()) } else { Err(VerifierKeyError::Id { expected, found: self.id }) }
    }
}

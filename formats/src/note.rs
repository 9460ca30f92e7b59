//! Signed notes (c2sp.org/signed-note), the text that transparency logs sign and witnesses countersign.
//!
//! A note is a text that ends in a newline, an empty line, and a line for each signature. Only plain Ed25519
//! signatures are made and checked here. Lines of other kinds, and of keys that are not known, are kept and show
//! nothing.

mod verifier_key;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer, SigningKey};

use crate::limits::{MAX_KEY_NAME_BYTES, MAX_NOTE_BYTES, MAX_NOTE_SIGNATURES};
pub use verifier_key::{KeyId, VerifierKey, VerifierKeyError};
pub(crate) use verifier_key::{WrittenKey, check_name};

/// The beginning of a line with a signature: an em dash and a space.
const SIGNATURE_PREFIX: &str = "\u{2014} ";
/// Bytes of a key id, which a signature begins with.
const KEY_ID_BYTES: usize = 4;
/// Bytes of an Ed25519 signature.
pub(crate) const ED25519_BYTES: usize = 64;

/// An error in the text of a signed note, or in its signatures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// More text than a note can have.
    #[error("not a signed note: {bytes} bytes; at most {MAX_NOTE_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// A note is lines of text and nothing else.
    #[error("not a signed note: it has a control character that is no line's end; obtain it again")]
    ControlCharacter,
    /// No empty line parts the text from the signatures.
    #[error("not a signed note: no text with an empty line and signatures after it; obtain it again")]
    NoSignatures,
    /// The last line is not whole.
    #[error("not a signed note: its last line does not end; obtain it again")]
    Unended,
    /// A line after the empty one is no signature.
    #[error("not a signed note: line {line} of its signatures is none; obtain it again")]
    SignatureLine {
        /// The line's number after the empty one, from 1.
        line: usize,
    },
    /// More signatures than a note can have.
    #[error("not a signed note: more than {MAX_NOTE_SIGNATURES} signatures")]
    TooManySignatures,
    /// A name that no key can have.
    #[error(
        "not a key's name: 1 to {MAX_KEY_NAME_BYTES} bytes without spaces, '+', control characters and those that change the direction of a text"
    )]
    KeyName,
    /// A text that no note can have.
    #[error("not a note's text: its lines must end in newlines, and it must have no other control character")]
    Text,
    /// A key that is known did not make the signature that bears its name and id.
    #[error("the signature of {name}+{key} is not of this text or not of this key; do not trust the note")]
    BadSignature {
        /// The key's name.
        name: String,
        /// The key's id.
        key: KeyId,
    },
    /// No known key signed it.
    #[error("no signature of a known key; without one the note shows nothing")]
    NoKnownSignature,
}

/// One signature of a note, of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    name: String,
    key: KeyId,
    bytes: Vec<u8>,
}

/// A note as it is written, before any of its signatures is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// A note that at least one known key signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    note: UnverifiedNote,
    signers: Vec<VerifierKey>,
}

/// Signs a text as the key with this name: the note, with this one signature.
///
/// # Errors
/// [`NoteError::KeyName`], [`NoteError::Text`] or [`NoteError::TooLong`].
pub fn sign_note(text: &str, name: &str, key: &SigningKey) -> Result<String, NoteError> {
    if !is_key_name(name) || !is_shown_as_it_is(name) {
        return Err(NoteError::KeyName);
    }
    if !text.ends_with('\n') || has_control_character(text) {
        return Err(NoteError::Text);
    }
    let note = sign_checked(text, name, key);
    if note.len() > MAX_NOTE_BYTES { Err(NoteError::TooLong { bytes: note.len() }) } else { Ok(note) }
}

/// Signs like [`sign_note`], where text and name are known to be valid.
#[must_use]
pub fn sign_checked(text: &str, name: &str, key: &SigningKey) -> String {
    let signature = NoteSignature {
        name: name.to_owned(),
        key: KeyId::of(name, &key.verifying_key()),
        bytes: key.sign(text.as_bytes()).to_bytes().to_vec(),
    };
    format!("{text}\n{signature}\n")
}

impl NoteSignature {
    /// The name of the key that is said to have signed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of that key.
    #[must_use]
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// A signature of any kind, by its parts.
    pub(crate) fn new(name: &str, key: KeyId, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), key, bytes }
    }

    /// Returns the bytes of the signature, after the key's id.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(SIGNATURE_PREFIX)?.split_once(' ')?;
        let decoded = BASE64.decode(encoded).ok()?;
        let (key, bytes) = decoded.split_first_chunk::<KEY_ID_BYTES>()?;
        let whole = is_key_name(name) && !bytes.is_empty();
        whole.then(|| Self { name: name.to_owned(), key: KeyId(*key), bytes: bytes.to_vec() })
    }

    fn claims(&self, key: &VerifierKey) -> bool {
        self.key == key.id() && self.name == key.name()
    }

    fn verifies(&self, key: &VerifierKey, text: &str) -> bool {
        let signature = <[u8; ED25519_BYTES]>::try_from(self.bytes.as_slice());
        signature.is_ok_and(|bytes| {
            let signature = ed25519_dalek::Signature::from_bytes(&bytes);
            key.public().verify_strict(text.as_bytes(), &signature).is_ok()
        })
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64.encode([&self.key.0, self.bytes.as_slice()].concat());
        write!(f, "{SIGNATURE_PREFIX}{} {encoded}", self.name)
    }
}

impl UnverifiedNote {
    /// Reads a note. Its text means nothing before [`UnverifiedNote::verify`].
    ///
    /// # Errors
    /// A [`NoteError`] for the first thing that is wrong.
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        if note.len() > MAX_NOTE_BYTES {
            return Err(NoteError::TooLong { bytes: note.len() });
        }
        Self::parse_any(note)
    }

    /// Parses like [`UnverifiedNote::parse`], without its limit; the caller has one.
    ///
    /// # Errors
    ///
    /// The text is not a signed note.
    pub fn parse_any(note: &str) -> Result<Self, NoteError> {
        if has_control_character(note) {
            return Err(NoteError::ControlCharacter);
        }
        // The last empty line: a text may have some of its own.
        let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::NoSignatures)?;
        if lines.is_empty() {
            return Err(NoteError::NoSignatures);
        }
        Ok(Self { text: format!("{text}\n"), signatures: parse_signature_lines(lines)? })
    }

    /// The text, as far as anybody may trust it unverified.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, in their order.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Verifies every signature that bears the name and id of one of these keys.
    ///
    /// # Errors
    /// [`NoteError::BadSignature`] if one of them is not that key's, also where others are right;
    /// [`NoteError::NoKnownSignature`] if there is none.
    pub fn verify(self, keys: &[VerifierKey]) -> Result<SignedNote, NoteError> {
        let mut signers: Vec<VerifierKey> = Vec::new();
        for signature in &self.signatures {
            let mut claimed = keys.iter().filter(|key| signature.claims(key)).peekable();
            if claimed.peek().is_none() {
                continue;
            }
            // Ids are short: two keys of one name may share one, and then either may have signed.
            let Some(signer) = claimed.find(|key| signature.verifies(key, &self.text)) else {
                let (name, key) = (signature.name.clone(), signature.key);
                return Err(NoteError::BadSignature { name, key });
            };
            if !signers.contains(signer) {
                signers.push(signer.clone());
            }
        }
        if signers.is_empty() {
            return Err(NoteError::NoKnownSignature);
        }
        Ok(SignedNote { note: self, signers })
    }
}

impl fmt::Display for UnverifiedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

impl SignedNote {
    /// The text that was signed, its last newline included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.note.text
    }

    /// The known keys that signed it, at least one.
    #[must_use]
    pub fn signers(&self) -> &[VerifierKey] {
        &self.signers
    }

    /// All signatures, those of unknown keys too.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.note.signatures
    }

    /// The same text with other signatures, of which those of the signers must be some.
    pub(crate) fn with_signatures(self, signatures: Vec<NoteSignature>) -> Self {
        Self { note: UnverifiedNote { signatures, ..self.note }, ..self }
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

/// Reads lines that are signatures and nothing else.
pub(crate) fn parse_signature_lines(lines: &str) -> Result<Vec<NoteSignature>, NoteError> {
    let lines = lines.strip_suffix('\n').ok_or(NoteError::Unended)?;
    let mut signatures = Vec::new();
    for (number, line) in (1..).zip(lines.split('\n')) {
        if signatures.len() >= MAX_NOTE_SIGNATURES {
            return Err(NoteError::TooManySignatures);
        }
        let signature = NoteSignature::parse(line);
        signatures.push(signature.ok_or(NoteError::SignatureLine { line: number })?);
    }
    Ok(signatures)
}

pub(crate) fn has_control_character(text: &str) -> bool {
    text.bytes().any(|byte| byte < b' ' && byte != b'\n')
}

/// Returns `true` if a line may name its key so, whoever owns it.
pub(crate) fn is_key_name(name: &str) -> bool {
    let allowed = |character: char| !character.is_whitespace() && character != '+' && character >= ' ';
    (1..=MAX_KEY_NAME_BYTES).contains(&name.len()) && name.chars().all(allowed)
}

/// Returns `true` if a known key, or our own, may have this name: it is also shown, and has to show as it is.
pub(crate) fn is_shown_as_it_is(name: &str) -> bool {
    !name.chars().any(|character| character.is_control() || is_bidi_control(character))
}

/// Returns `true` if the character changes the direction of the text around it, so that it reads as another one.
///
/// These are the characters with the property `Bidi_Control` of Unicode (UAX #9).
#[must_use]
pub fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;

//! Cosignatures (c2sp.org/tlog-cosignature): a witness's timed statements about tree heads.
//!
//! Layout: `docs/formats/cosignature.md`.
//!
//! A witness states that no head of this log that it ever saw is larger or of another history. It states nothing else,
//! so the ledger's own signature must stand beside it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

use crate::limits::{MAX_COSIGNATURE_SECONDS, MAX_NOTE_SIGNATURES};
use crate::note::{
    ED25519_BYTES, KeyId, NoteError, NoteSignature, SignedNote, UnverifiedNote, VerifierKeyError, WrittenKey,
    check_name, has_control_character,
};

/// The kind of signatures that is a cosignature by Ed25519.
const COSIGNATURE_KIND: u8 = 0x04;
/// The kind that is a plain signature, by which a log signs.
const PLAIN_KIND: u8 = 0x01;
/// The kind that is a cosignature by ML-DSA-44.
const ML_DSA_KIND: u8 = 0x06;
/// Bytes of the time before the signature.
const TIME_BYTES: usize = 8;

/// An error in the key of a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WitnessKeyError {
    /// It is no verifier key of any kind.
    #[error(transparent)]
    Key(#[from] VerifierKeyError),
    /// A key that signs as a log does.
    #[error("a key of kind 1, by which logs sign; a witness cosigns with one of kind 4: ask it for that one")]
    LogKey,
    /// A key of the kind that is safe from quantum computers.
    #[error(
        "a witness's key of ML-DSA-44 (kind 6), which is not supported; ask it for its Ed25519 key (kind 4)"
    )]
    MlDsa,
    /// Another kind.
    #[error("a key of kind {kind}, which is not supported; only Ed25519 cosignatures (kind 4) are")]
    Kind {
        /// The kind that is written.
        kind: u8,
    },
}

/// An error in a note's cosignatures, because of which they show nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CosignatureError {
    /// A name that no key can have, a text that no note can have, or too many lines.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A line bears the name and id of a witness that is known, and is not its cosignature of this text.
    #[error("the cosignature of {name}+{key} is not of this text or not of this key; do not trust the note")]
    BadSignature {
        /// The witness's name.
        name: String,
        /// Its key's id.
        key: KeyId,
    },
    /// A time that no cosignature can have.
    #[error(
        "the cosignature of {name} is of second {seconds}; at most {MAX_COSIGNATURE_SECONDS} is one's time"
    )]
    Time {
        /// The witness's name.
        name: String,
        /// The time that is written.
        seconds: u64,
    },
}

/// The key of a witness that is known, by the name under which it cosigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    id: KeyId,
    public: VerifyingKey,
}

/// That a witness cosigned, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The witness.
    pub key: WitnessKey,
    /// The time it gave, in seconds since 1970; the latest one where it cosigned more than once.
    pub seconds: u64,
}

/// Cosigns the text of a note as the witness with this name: the line to add to the note, which its `Display` gives without a
/// newline.
///
/// # Errors
/// [`CosignatureError::Note`] for a name or text that no note can have, [`CosignatureError::Time`] for a time beyond 2^63 - 1.
pub fn cosign(
    text: &str,
    name: &str,
    key: &SigningKey,
    seconds: u64,
) -> Result<NoteSignature, CosignatureError> {
    check_name(name).map_err(|_| NoteError::KeyName)?;
    if !text.ends_with('\n') || has_control_character(text) {
        return Err(NoteError::Text.into());
    }
    if seconds > MAX_COSIGNATURE_SECONDS {
        return Err(CosignatureError::Time { name: name.to_owned(), seconds });
    }
    let signature = key.sign(message(text, seconds).as_bytes()).to_bytes();
    let bytes = [&seconds.to_be_bytes()[..], &signature].concat();
    Ok(NoteSignature::new(name, KeyId::of_kind(COSIGNATURE_KIND, name, &key.verifying_key()), bytes))
}

/// Returns the message that a cosignature signs.
fn message(text: &str, seconds: u64) -> String {
    format!("cosignature/v1\ntime {seconds}\n{text}")
}

impl WitnessKey {
    /// A key under a name.
    ///
    /// # Errors
    /// As [`VerifierKey::new`](crate::VerifierKey::new).
    pub fn new(name: &str, public: VerifyingKey) -> Result<Self, VerifierKeyError> {
        check_name(name)?;
        if public.is_weak() {
            return Err(VerifierKeyError::PublicKey);
        }
        let id = KeyId::of_kind(COSIGNATURE_KIND, name, &public);
        Ok(Self { name: name.to_owned(), id, public })
    }

    /// Another key under the same name and id, as if their ids met.
    #[cfg(test)]
    fn with_public(self, public: VerifyingKey) -> Self {
        Self { public, ..self }
    }

    /// The name under which the witness cosigns.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id that its cosignatures bear.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself.
    #[must_use]
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }

    fn is_claimed_by(&self, line: &NoteSignature) -> bool {
        self.id == line.key() && self.name == line.name()
    }

    fn signed(&self, message: &str, signature: &[u8; ED25519_BYTES]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.public.verify_strict(message.as_bytes(), &signature).is_ok()
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64.encode([&[COSIGNATURE_KIND], self.public.as_bytes().as_slice()].concat());
        write!(f, "{}+{}+{encoded}", self.name, self.id)
    }
}

impl FromStr for WitnessKey {
    type Err = WitnessKeyError;

    fn from_str(text: &str) -> Result<Self, WitnessKeyError> {
        let written = WrittenKey::parse(text)?;
        match written.kind {
            COSIGNATURE_KIND => {}
            PLAIN_KIND => return Err(WitnessKeyError::LogKey),
            ML_DSA_KIND => return Err(WitnessKeyError::MlDsa),
            kind => return Err(WitnessKeyError::Kind { kind }),
        }
        let key = Self::new(written.name, written.public()?)?;
        written.check_id(key.id)?;
        Ok(key)
    }
}

impl UnverifiedNote {
    /// Returns the cosignatures of these witnesses, in the order of the keys, one a witness.
    ///
    /// # Errors
    /// [`CosignatureError`] if a line bears the name and id of a witness and is not its cosignature, even if other
    /// lines are right.
    pub fn cosigned_by(&self, keys: &[WitnessKey]) -> Result<Vec<Cosignature>, CosignatureError> {
        cosigned_by(self.text(), self.signatures(), keys)
    }
}

impl SignedNote {
    /// As [`UnverifiedNote::cosigned_by`].
    ///
    /// # Errors
    /// As there.
    pub fn cosigned_by(&self, keys: &[WitnessKey]) -> Result<Vec<Cosignature>, CosignatureError> {
        cosigned_by(self.text(), self.signatures(), keys)
    }

    /// Returns the note with the lines that these witnesses made, one line a witness: the one of the latest time.
    /// Added lines of other keys are left out.
    ///
    /// # Errors
    /// [`CosignatureError`] if a line, added or there before, bears the name and id of one of them and is not its
    /// cosignature; [`NoteError::TooManySignatures`] if the note would have too many lines.
    pub fn with_cosignatures(
        self,
        added: &[NoteSignature],
        keys: &[WitnessKey],
    ) -> Result<Self, CosignatureError> {
        let mut lines: Vec<NoteSignature> = Vec::new();
        // The latest line of each witness, with the place it took in the note.
        let mut latest: Vec<(WitnessKey, u64, usize)> = Vec::new();
        let there = self.signatures().iter().map(|line| (line, true));
        for (line, stays) in there.chain(added.iter().map(|line| (line, false))) {
            let Some((key, seconds)) = cosignature(self.text(), line, keys)? else {
                if stays {
                    lines.push(line.clone());
                }
                continue;
            };
            let Some((_, before, place)) = latest.iter_mut().find(|(other, ..)| other == key) else {
                latest.push((key.clone(), seconds, lines.len()));
                lines.push(line.clone());
                continue;
            };
            if seconds > *before {
                *before = seconds;
                if let Some(place) = lines.get_mut(*place) {
                    *place = line.clone();
                }
            }
        }
        if lines.len() > MAX_NOTE_SIGNATURES {
            return Err(NoteError::TooManySignatures.into());
        }
        Ok(self.with_signatures(lines))
    }
}

fn cosigned_by(
    text: &str,
    lines: &[NoteSignature],
    keys: &[WitnessKey],
) -> Result<Vec<Cosignature>, CosignatureError> {
    let mut found: Vec<Cosignature> = Vec::new();
    for line in lines {
        let Some((key, seconds)) = cosignature(text, line, keys)? else { continue };
        match found.iter_mut().find(|cosignature| cosignature.key == *key) {
            Some(cosignature) => cosignature.seconds = cosignature.seconds.max(seconds),
            None => found.push(Cosignature { key: key.clone(), seconds }),
        }
    }
    found.sort_by_key(|cosignature| keys.iter().position(|key| *key == cosignature.key));
    Ok(found)
}

/// Returns the witness that made the line, and the time it gave; `None` if the line names none of the witnesses.
fn cosignature<'a>(
    text: &str,
    line: &NoteSignature,
    keys: &'a [WitnessKey],
) -> Result<Option<(&'a WitnessKey, u64)>, CosignatureError> {
    let mut claimed = keys.iter().filter(|key| key.is_claimed_by(line)).peekable();
    if claimed.peek().is_none() {
        return Ok(None);
    }
    let bad = || CosignatureError::BadSignature { name: line.name().to_owned(), key: line.key() };
    let (time, signature) = line.bytes().split_first_chunk::<TIME_BYTES>().ok_or_else(bad)?;
    let signature = signature.try_into().map_err(|_| bad())?;
    let seconds = u64::from_be_bytes(*time);
    if seconds > MAX_COSIGNATURE_SECONDS {
        return Err(CosignatureError::Time { name: line.name().to_owned(), seconds });
    }
    let message = message(text, seconds);
    // Ids are short: two keys of one name may share one, and then either may have signed.
    let signer = claimed.find(|key| key.signed(&message, signature)).ok_or_else(bad)?;
    Ok(Some((signer, seconds)))
}

#[cfg(test)]
mod tests;

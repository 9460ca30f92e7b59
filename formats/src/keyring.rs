//! The keyring: the secrets that everything else is derived from.
//!
//! Layout: `docs/formats/keyring.md`.
//!
//! It never lies in the data folder. Rotation applies forward: a new key is used from the next segment on and the old
//! ones stay, so that what they wrapped stays readable. The blinding key and the derived-state key never rotate:
//! commitments and names in indexes would change under them.

mod offline;
mod signing_chain;
mod text;

use std::fmt;

use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

pub use offline::{OfflineKeys, RetirementError};
pub use signing_chain::{SIGNING_KEYS_FIRST_LINE, SigningChain, SigningChainError, parse_signing_chain};

use crate::Secret;
use crate::limits::{MAX_KEYRING_BYTES, MAX_KEYS};

/// The longest line of a keyring, in bytes: a signing key with its endorsement.
const MAX_LINE_BYTES: usize = "signing-key 1000 ".len() + 64 + " ".len() + 128;

const _: () =
    assert!(MAX_KEYRING_BYTES >= 2 * MAX_KEYS * (MAX_LINE_BYTES + 1), "a full keyring can be read back");

/// The first bytes of a file that age wrote, as binary and as armored text.
const AGE_PREFIXES: [&[u8]; 2] = [b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----"];

/// The random name of a key-encryption key; segments say by it which key opens them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KekId(pub [u8; 8]);

impl fmt::Display for KekId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KekId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KekId({self})")
    }
}

/// An error in the text of a keyring, or in a rotation. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// An age file, in which earlier versions locked keyrings.
    #[error(
        "found an age file, which this version cannot open; decrypt it with `age --decrypt`, then lock it with `bitacora keys lock`"
    )]
    AgeFile,
    /// The first line is not a keyring's.
    #[error("not a keyring: the first line must be '{}'", text::FIRST_LINE)]
    NotAKeyring,
    /// The first line is not an offline keyring's.
    #[error("not an offline keyring: the first line must be '{}'", text::OFFLINE_FIRST_LINE)]
    NotOfflineKeys,
    /// The first line names another version.
    #[error(
        "a keyring of another version; this program reads '{}' and '{}'",
        text::FIRST_LINE,
        text::SECOND_VERSION
    )]
    UnknownVersion,
    /// More text than a keyring can have.
    #[error("not a keyring: longer than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// One line is wrong.
    #[error("keyring line {line}: {problem}; restore the keyring from its backup")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The problem with the line.
        problem: LineProblem,
    },
    /// There is no room for another key.
    #[error("the keyring holds {max} keys of this kind already; nothing was rotated")]
    Full {
        /// The limit.
        max: usize,
    },
    /// The random bytes repeat what the keyring holds already.
    #[error("the random bytes given are not random: they repeat a key's id; nothing was rotated")]
    NotRandom,
}

/// A problem with one line of a keyring or of a note of signing keys. Never holds the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// No line begins with this word.
    #[error("no such line exists in this format")]
    Unknown,
    /// Another line is due here.
    #[error("a line '{keyword}' is missing here")]
    Missing {
        /// The word the missing line begins with.
        keyword: &'static str,
    },
    /// The words after the first do not fit the line.
    #[error("not of the form '{form}' in lower-case hexadecimal")]
    Form {
        /// The form of such a line.
        form: &'static str,
    },
    /// More bytes than any line has.
    #[error("longer than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// The text stops before the line's end.
    #[error("the text is cut short: the line does not end in a newline")]
    Unterminated,
    /// One more than the limit allows.
    #[error("more than {max} keys of this kind")]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// An earlier line has the same id.
    #[error("an earlier key has the same id")]
    DuplicateId,
    /// Signing keys count 1, 2, 3 …
    #[error("signing key {expected} is due here")]
    Index {
        /// The number that is due.
        expected: u32,
    },
    /// The bytes are no public key, or one that would accept forged signatures.
    #[error("not a usable ed25519 public key")]
    PublicKey,
    /// The predecessor did not sign this key.
    #[error("the endorsement is not a signature of the key before")]
    Endorsement,
    /// The seed belongs to another key.
    #[error("the seed is not the private half of the last signing key")]
    Seed,
    /// The check is not that of the lines before.
    #[error("the check does not match the lines before it")]
    Check,
    /// The check is the last line.
    #[error("nothing may follow the check")]
    AfterEnd,
}

/// The secrets of one installation: key-encryption keys by id, blinding key, derived-state key, signing key.
pub struct Keyring {
    /// Keys that were moved into an offline keyring.
    retired_ids: Vec<KekId>,
    /// Oldest first; kept for reading.
    older_keks: Vec<(KekId, Secret)>,
    active_kek: (KekId, Secret),
    blinding: Secret,
    derived_state: Secret,
    /// The private half of the last key of `signing_chain`. The private halves before it are gone: what a retired key
    /// signed stays verifiable, and nobody can sign with it again.
    signing: SigningKey,
    signing_chain: SigningChain,
}

/// The signing key in use, as [`Keyring::signing`] lends it.
#[derive(Clone, Copy)]
pub struct ActiveSigner<'a> {
    /// The key's number in the chain of signing keys, from 1.
    pub index: u32,
    /// The private key.
    pub key: &'a SigningKey,
    /// The public key's bytes.
    pub public: [u8; 32],
}

impl Keyring {
    /// Makes a keyring from random bytes: `random` fills its argument, unpredictably.
    pub fn generate(random: &mut dyn FnMut(&mut [u8])) -> Self {
        let active_kek = random_kek(random);
        let blinding = random_secret(random);
        let derived_state = random_secret(random);
        let signing = random_signing_key(random);
        let signing_chain = SigningChain::genesis(signing.verifying_key());
        Self {
            retired_ids: Vec::new(),
            older_keks: Vec::new(),
            active_kek,
            blinding,
            derived_state,
            signing,
            signing_chain,
        }
    }

    /// Returns `true` if the bytes of a keyring's file are an age file.
    #[must_use]
    pub fn is_age_file(file: &[u8]) -> bool {
        AGE_PREFIXES.iter().any(|prefix| file.starts_with(prefix))
    }

    /// Reads the text form, strictly: every line in its place, nothing else, and the check right.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        text::parse(text)
    }

    /// The text form, erased from memory when dropped.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        text::write(self)
    }

    /// Adds a key-encryption key and makes it the active one.
    pub fn rotate_encryption(&mut self, random: &mut dyn FnMut(&mut [u8])) -> Result<KekId, KeyringError> {
        if self.retired_ids.len() + self.older_keks.len() + 1 >= MAX_KEYS {
            return Err(KeyringError::Full { max: MAX_KEYS });
        }
        let fresh = random_kek(random);
        let id = fresh.0;
        if self.kek(id).is_some() || self.is_retired(id) {
            return Err(KeyringError::NotRandom);
        }
        self.older_keks.push(std::mem::replace(&mut self.active_kek, fresh));
        Ok(id)
    }

    /// Adds a signing key endorsed by the active one, makes it the active one and forgets the private half of the old.
    /// Returns its number in the chain.
    pub fn rotate_signing(&mut self, random: &mut dyn FnMut(&mut [u8])) -> Result<u32, KeyringError> {
        let fresh = random_signing_key(random);
        self.signing_chain.endorse(&self.signing, fresh.verifying_key())?;
        self.signing = fresh;
        Ok(self.signing_chain.active_index())
    }

    /// The key-encryption key with this id, active or retired.
    #[must_use]
    pub fn kek(&self, id: KekId) -> Option<&Secret> {
        self.keks().find(|(known, _)| *known == id).map(|(_, key)| key)
    }

    /// The key-encryption key that new segments are wrapped under.
    #[must_use]
    pub fn active_kek(&self) -> (KekId, &Secret) {
        (self.active_kek.0, &self.active_kek.1)
    }

    /// The key that blinds of commitments are derived from.
    #[must_use]
    pub fn blinding_key(&self) -> &Secret {
        &self.blinding
    }

    /// The key that names and keys of derived state are derived from.
    #[must_use]
    pub fn derived_state_key(&self) -> &Secret {
        &self.derived_state
    }

    /// The signing key in use.
    #[must_use]
    pub fn signing(&self) -> ActiveSigner<'_> {
        let public = self.signing.verifying_key().to_bytes();
        ActiveSigner { index: self.signing_chain.active_index(), key: &self.signing, public }
    }

    /// The public halves of all signing keys, each endorsed by the one before.
    #[must_use]
    pub fn signing_chain(&self) -> &SigningChain {
        &self.signing_chain
    }

    /// Returns [`Keyring::signing_chain`] as a clear note, for verification without the keyring.
    #[must_use]
    pub fn signing_chain_note(&self) -> String {
        self.signing_chain.to_note()
    }

    /// All key-encryption keys, oldest first, the active one last.
    fn keks(&self) -> impl Iterator<Item = &(KekId, Secret)> {
        self.older_keks.iter().chain(std::iter::once(&self.active_kek))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.keks().map(|(id, _)| id).collect();
        f.debug_struct("Keyring")
            .field("keks", &ids)
            .field("signing_chain", &self.signing_chain)
            .finish_non_exhaustive()
    }
}

fn random_secret(random: &mut dyn FnMut(&mut [u8])) -> Secret {
    let mut bytes = [0; 32];
    random(&mut bytes);
    Secret::take(&mut bytes)
}

fn random_kek(random: &mut dyn FnMut(&mut [u8])) -> (KekId, Secret) {
    let mut id = [0; 8];
    random(&mut id);
    (KekId(id), random_secret(random))
}

fn random_signing_key(random: &mut dyn FnMut(&mut [u8])) -> SigningKey {
    SigningKey::from_bytes(random_secret(random).expose())
}

#[cfg(test)]
mod tests;

//! The chain of public signing keys, each endorsed by the one before, and its note in clear.

use std::fmt::Write;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

use super::text::{KeyringLines, decode_hex};
use super::{KeyringError, LineProblem};
use crate::limits::{MAX_KEYRING_BYTES, MAX_KEYS};
use crate::{KeyUse, Signature, chain_hasher};

/// The first line of a note of signing keys.
pub const SIGNING_KEYS_FIRST_LINE: &str = "bitacora-signing-keys v1";

pub(super) const KEY: &str = "signing-key";
const GENESIS_FORM: &str = "signing-key 1 <64 digits>";
const SUCCESSOR_FORM: &str = "signing-key <number> <64 digits> <128 digits>";

/// An error in the text of a note of signing keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningChainError {
    /// The first line is not that of a note of signing keys.
    #[error("not a note of signing keys: the first line must be '{SIGNING_KEYS_FIRST_LINE}'")]
    NotANote,
    /// More text than a note can have.
    #[error("not a note of signing keys: longer than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// One line is wrong.
    #[error("signing keys line {line}: {problem}; do not trust these keys, obtain the note again")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The problem with the line.
        problem: LineProblem,
    },
}

/// The public signing keys of an installation: the first one and its successors, every endorsement verified.
///
/// Each was endorsed by the one before. A holder of an older seed can endorse another successor, so an endorsement
/// alone is no reason to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningChain {
    genesis: VerifyingKey,
    successors: Vec<Successor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Successor {
    public: VerifyingKey,
    endorsement: Signature,
}

/// Reads the clear note and verifies every endorsement in it.
pub fn parse_signing_chain(note: &str) -> Result<SigningChain, SigningChainError> {
    if note.len() > MAX_KEYRING_BYTES {
        return Err(SigningChainError::TooLong { max_bytes: MAX_KEYRING_BYTES });
    }
    let mut lines = KeyringLines::new(note);
    if lines.peek() != Some(SIGNING_KEYS_FIRST_LINE) {
        return Err(SigningChainError::NotANote);
    }
    lines.advance();
    let chain = SigningChain::parse_lines(&mut lines);
    chain
        .and_then(|chain| if lines.at_end() { Ok(chain) } else { Err(LineProblem::Unknown) })
        .map_err(|problem| SigningChainError::Line { line: lines.number(), problem })
}

impl SigningChain {
    pub(super) fn genesis(public: VerifyingKey) -> Self {
        Self { genesis: public, successors: Vec::new() }
    }

    /// The number of the last key, which is the one in use; keys count from 1.
    #[must_use]
    pub fn active_index(&self) -> u32 {
        // Never more than MAX_KEYS.
        u32::try_from(self.successors.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The last key, which is the one in use.
    #[must_use]
    pub fn active(&self) -> &VerifyingKey {
        self.successors.last().map_or(&self.genesis, |successor| &successor.public)
    }

    /// The key with this number, from 1.
    #[must_use]
    pub fn key(&self, index: u32) -> Option<&VerifyingKey> {
        match index.checked_sub(2) {
            None => (index == 1).then_some(&self.genesis),
            Some(place) => {
                self.successors.get(usize::try_from(place).ok()?).map(|successor| &successor.public)
            }
        }
    }

    /// The clear note.
    #[must_use]
    pub fn to_note(&self) -> String {
        let mut note = format!("{SIGNING_KEYS_FIRST_LINE}\n");
        self.write_lines(&mut note);
        note
    }

    /// Appends a key, signed by the active one.
    pub(super) fn endorse(&mut self, active: &SigningKey, public: VerifyingKey) -> Result<(), KeyringError> {
        if self.successors.len() + 1 >= MAX_KEYS {
            return Err(KeyringError::Full { max: MAX_KEYS });
        }
        if *self.active() == public {
            return Err(KeyringError::NotRandom);
        }
        let message = endorsement_hash(self.active_index() + 1, self.active(), &public);
        let endorsement = Signature(active.sign(&message).to_bytes());
        self.successors.push(Successor { public, endorsement });
        Ok(())
    }

    /// Writes the lines of the keys, without the first line.
    pub fn write_lines(&self, text: &mut String) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{KEY} 1 {}", hex::encode(self.genesis.as_bytes()));
        for (index, successor) in (2_u32..).zip(&self.successors) {
            let public = hex::encode(successor.public.as_bytes());
            let _ = writeln!(text, "{KEY} {index} {public} {}", successor.endorsement);
        }
    }

    /// Takes the run of `signing-key` lines; on a problem `lines` stands at the line that has it.
    pub(super) fn parse_lines(lines: &mut KeyringLines<'_>) -> Result<Self, LineProblem> {
        let words = lines.expect_line(KEY)?;
        let public = words.strip_prefix("1 ").ok_or(LineProblem::Form { form: GENESIS_FORM })?;
        let mut chain = Self::genesis(parse_public(public, GENESIS_FORM)?);
        lines.advance();
        while let Some(words) = lines.line_if(KEY)? {
            if chain.successors.len() + 1 >= MAX_KEYS {
                return Err(LineProblem::TooMany { max: MAX_KEYS });
            }
            let successor = chain.parse_successor(words)?;
            chain.successors.push(successor);
            lines.advance();
        }
        Ok(chain)
    }

    fn parse_successor(&self, words: &str) -> Result<Successor, LineProblem> {
        let form = LineProblem::Form { form: SUCCESSOR_FORM };
        let (index, keys) = words.split_once(' ').ok_or(form)?;
        let (public, endorsement) = keys.split_once(' ').ok_or(form)?;
        let expected = self.active_index() + 1;
        if index != expected.to_string() {
            return Err(LineProblem::Index { expected });
        }
        let public = parse_public(public, SUCCESSOR_FORM)?;
        let mut signature = [0; 64];
        decode_hex(endorsement, &mut signature).ok_or(form)?;
        let message = endorsement_hash(expected, self.active(), &public);
        self.active()
            .verify_strict(&message, &ed25519_dalek::Signature::from_bytes(&signature))
            .map_err(|_| LineProblem::Endorsement)?;
        Ok(Successor { public, endorsement: Signature(signature) })
    }
}

fn parse_public(digits: &str, form: &'static str) -> Result<VerifyingKey, LineProblem> {
    let mut bytes = [0; 32];
    decode_hex(digits, &mut bytes).ok_or(LineProblem::Form { form })?;
    let public = VerifyingKey::from_bytes(&bytes).map_err(|_| LineProblem::PublicKey)?;
    if public.is_weak() { Err(LineProblem::PublicKey) } else { Ok(public) }
}

/// Returns the hash that a signing key signs to endorse its successor.
///
/// It covers the index and the predecessor, so that an endorsement holds in one place of one chain only.
fn endorsement_hash(index: u32, predecessor: &VerifyingKey, successor: &VerifyingKey) -> [u8; 32] {
    let mut hasher = chain_hasher(KeyUse::SigningKeyEndorsement);
    hasher.update(&index.to_le_bytes());
    hasher.update(predecessor.as_bytes());
    hasher.update(successor.as_bytes());
    *hasher.finalize().as_bytes()
}

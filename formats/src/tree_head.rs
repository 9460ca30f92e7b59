//! Tree heads: a ledger's signed statements of its size and root.
//!
//! Layout: `docs/formats/tree_head.md`.
//!
//! The text is a checkpoint of c2sp.org/tlog-checkpoint in a signed note, so that clients and witnesses of
//! transparency logs accept it unchanged. The key signs under the ledger's origin as its name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::cosignature::{CosignatureError, WitnessKey};
use crate::ids::{Generation, LedgerId, LedgerName, TreeHash};
use crate::keyring::{Keyring, SigningChain};
use crate::note::{NoteError, NoteSignature, SignedNote, UnverifiedNote, VerifierKey, sign_checked};
use crate::tree::Frontier;

/// An error because of which a note is not the tree head that it is taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeHeadError {
    /// It is no signed note, or its signatures show nothing.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The first line names no ledger.
    #[error(
        "not a tree head: the origin '<ledger name>/<ledger id>/g<generation>' expected as its first line"
    )]
    Origin,
    /// The second line is no size.
    #[error("not a tree head: a size in decimal digits without leading zeros expected as its second line")]
    Size,
    /// The third line is no root.
    #[error("not a tree head: a root of 32 bytes in base64 expected as its third line")]
    Root,
    /// There is more, or less, than three lines.
    #[error("not a tree head: exactly three lines expected; a line more would be signed and unread")]
    Lines,
    /// The tree of size 0 has one root.
    #[error("not a tree head: it has size 0, and another root than the empty tree has; do not trust it")]
    EmptyRoot,
    /// Its signers are known, but none of them as the ledger.
    #[error("no signature of {origin} itself; others cannot speak for it")]
    NotItsOwn {
        /// The ledger that it speaks of.
        origin: LedgerOrigin,
    },
}

/// A problem because of which a known key vouches for nothing of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// It is named after another ledger, or after none.
    #[error("a key of another ledger; it vouches for nothing of this one")]
    OtherLedger,
    /// The ledger's chain of signing keys does not have it.
    #[error("not among the ledger's signing keys; do not trust them")]
    NotInChain,
    /// The ledger's chain of signing keys does not have it, and has another key that the reader knows.
    #[error(
        "not among the signing keys here, although another key that you know is: that one has endorsed another successor, as whoever has its seed can, or what is signed here is from before this key; where you know that it is, check it without this key"
    )]
    OtherSuccessor,
    /// It came after the key that signed, and vouches only for those that came after itself.
    #[error("neither the key that signed nor one before it; it vouches for nothing that is signed here")]
    Later,
}

/// The name under which a ledger signs, in one of its generations: `<ledger name>/<ledger id in hex>/g<generation>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerOrigin {
    /// The ledger's name.
    pub name: LedgerName,
    /// The ledger.
    pub ledger: LedgerId,
    /// The generation, from 1.
    pub generation: Generation,
}

/// A size and the root that the tree had then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeHead {
    /// The origin of the tree.
    pub origin: LedgerOrigin,
    /// The number of events it covers: those at the positions 1 to `size`.
    pub size: u64,
    /// The root over their leaves.
    pub root: TreeHash,
}

/// A tree head as it is written, before its signature is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedTreeHead {
    head: TreeHead,
    note: UnverifiedNote,
}

/// A tree head that its ledger signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTreeHead {
    head: TreeHead,
    note: SignedNote,
}

impl LedgerOrigin {
    /// Returns `true` if the other is the same ledger under the same name, in any generation.
    #[must_use]
    pub fn is_same_ledger(&self, other: &Self) -> bool {
        self.ledger == other.ledger && self.name == other.name
    }

    /// The number in the ledger's chain of a known key. Its successors are endorsed; a seed that leaked endorses others.
    ///
    /// # Errors
    /// A [`KeyProblem`] if it is not a key of this ledger.
    pub fn place_of(&self, key: &VerifierKey, chain: &SigningChain) -> Result<u32, KeyProblem> {
        if !key.name().parse().is_ok_and(|origin| self.is_same_ledger(&origin)) {
            return Err(KeyProblem::OtherLedger);
        }
        let mut numbers = 1..=chain.active_index();
        numbers.find(|number| chain.key(*number) == Some(key.public())).ok_or(KeyProblem::NotInChain)
    }

    /// The numbers in the ledger's chain of all known keys.
    ///
    /// # Errors
    /// The first key that is not one of this ledger, and its [`KeyProblem`].
    pub fn places_of(
        &self,
        keys: &[VerifierKey],
        chain: &SigningChain,
    ) -> Result<BTreeSet<u32>, (String, KeyProblem)> {
        let is_in_chain = |key: &VerifierKey| self.place_of(key, chain).is_ok();
        let place = |key: &VerifierKey| {
            let refused = |problem| match problem {
                KeyProblem::NotInChain if keys.iter().any(is_in_chain) => KeyProblem::OtherSuccessor,
                problem => problem,
            };
            self.place_of(key, chain).map_err(|problem| (key.to_string(), refused(problem)))
        };
        keys.iter().map(place).collect()
    }

    /// The keys of a chain, as the ones that may sign for this origin.
    #[must_use]
    pub fn keys(&self, chain: &SigningChain) -> Vec<VerifierKey> {
        let name = self.to_string();
        let publics = (1..=chain.active_index()).filter_map(|index| chain.key(index));
        publics.filter_map(|public| VerifierKey::new(&name, *public).ok()).collect()
    }
}

impl fmt::Display for LedgerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/g{}", self.name, self.ledger, self.generation)
    }
}

impl FromStr for LedgerOrigin {
    type Err = TreeHeadError;

    fn from_str(text: &str) -> Result<Self, TreeHeadError> {
        let mut parts = text.split('/');
        let mut part = || parts.next().ok_or(TreeHeadError::Origin);
        let (name, ledger, generation) = (part()?, part()?, part()?);
        let generation = generation.strip_prefix('g').and_then(plain_number::<u32>);
        let generation = generation.filter(|number| *number > 0).ok_or(TreeHeadError::Origin)?;
        if parts.next().is_some() {
            return Err(TreeHeadError::Origin);
        }
        Ok(Self {
            name: name.parse().map_err(|_| TreeHeadError::Origin)?,
            ledger: ledger.parse().map_err(|_| TreeHeadError::Origin)?,
            generation: Generation(generation),
        })
    }
}

impl TreeHead {
    /// The text that is signed: origin, size and root, a line each.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, BASE64.encode(self.root.0))
    }

    /// The note of this head, signed with the keyring's active signing key.
    #[must_use]
    pub fn sign(&self, keyring: &Keyring) -> String {
        sign_checked(&self.text(), &self.origin.to_string(), keyring.signing().key)
    }

    fn parse(text: &str) -> Result<Self, TreeHeadError> {
        let mut lines = text.split_terminator('\n');
        let mut line = || lines.next().ok_or(TreeHeadError::Lines);
        let (origin, size, root) = (line()?, line()?, line()?);
        let origin = origin.parse()?;
        let size = plain_number(size).ok_or(TreeHeadError::Size)?;
        let root = BASE64.decode(root).ok().and_then(|bytes| bytes.try_into().ok());
        let root = TreeHash(root.ok_or(TreeHeadError::Root)?);
        if lines.next().is_some() {
            return Err(TreeHeadError::Lines);
        }
        if size == 0 && root != Frontier::new().root() {
            return Err(TreeHeadError::EmptyRoot);
        }
        Ok(Self { origin, size, root })
    }
}

impl UnverifiedTreeHead {
    /// Reads the note of a tree head. Its statements mean nothing before its signature is verified.
    ///
    /// # Errors
    /// A [`TreeHeadError`] for the first thing that is wrong.
    pub fn parse(note: &str) -> Result<Self, TreeHeadError> {
        let note = UnverifiedNote::parse(note)?;
        Ok(Self { head: TreeHead::parse(note.text())?, note })
    }

    /// Returns the origin that it claims, to choose the keys to verify it with.
    #[must_use]
    pub fn origin(&self) -> &LedgerOrigin {
        &self.head.origin
    }

    /// The root that it says they have.
    #[must_use]
    pub fn root(&self) -> TreeHash {
        self.head.root
    }

    /// Returns the number of events that it claims to cover.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.head.size
    }

    /// Verifies it with keys that are known: one of them must have signed under the origin as its name.
    ///
    /// # Errors
    /// A [`TreeHeadError`]; also where a signature of a known key is wrong beside one that is right.
    pub fn verify(self, keys: &[VerifierKey]) -> Result<SignedTreeHead, TreeHeadError> {
        let note = self.note.verify(keys)?;
        let name = self.head.origin.to_string();
        if note.signers().iter().any(|signer| signer.name() == name) {
            Ok(SignedTreeHead { head: self.head, note })
        } else {
            Err(TreeHeadError::NotItsOwn { origin: self.head.origin })
        }
    }

    /// Verifies it with the ledger's signing keys: any of them may have signed.
    ///
    /// # Errors
    /// As [`UnverifiedTreeHead::verify`].
    pub fn verify_with_chain(self, chain: &SigningChain) -> Result<SignedTreeHead, TreeHeadError> {
        let keys = self.head.origin.keys(chain);
        self.verify(&keys)
    }
}

impl SignedTreeHead {
    /// Returns the head that was signed.
    #[must_use]
    pub fn head(&self) -> &TreeHead {
        &self.head
    }

    /// The number of the last key of the chain that signed it as the ledger; `None` if none of them did.
    #[must_use]
    pub fn signing_key(&self, chain: &SigningChain) -> Option<u32> {
        let name = self.head.origin.to_string();
        let signed = |public| {
            self.note.signers().iter().any(|signer| signer.name() == name && signer.public() == public)
        };
        (1..=chain.active_index()).rev().find(|number| chain.key(*number).is_some_and(signed))
    }

    /// The same head with cosignatures added, each verified before: those of keys that are not among these are left out.
    ///
    /// # Errors
    /// As [`SignedNote::with_cosignatures`].
    pub fn with_cosignatures(
        self,
        added: &[NoteSignature],
        keys: &[WitnessKey],
    ) -> Result<Self, CosignatureError> {
        Ok(Self { note: self.note.with_cosignatures(added, keys)?, ..self })
    }

    /// The note, with the signatures of others that it came with.
    #[must_use]
    pub fn note(&self) -> &SignedNote {
        &self.note
    }
}

/// Reads a decimal number without a sign or leading zeros.
#[must_use]
pub fn plain_number<N: FromStr + fmt::Display>(text: &str) -> Option<N> {
    let number: N = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests;

//! The evidence of one event, for a stranger to check offline that this event was recorded.
//!
//! Layout: `docs/formats/evidence.md`.
//!
//! A tree head is signed. A leaf of position, time and commitment is in its tree. Blind and record give that
//! commitment. The record that is shown is therefore the one that was committed to, and never merely one that came
//! along with a valid proof.

mod text;

use zeroize::Zeroizing;

use crate::event::{Data, Event, EventError};
use crate::ids::{Commitment, Micros, Position, Secret, TreeHash};
use crate::json::{JsonError, check_json};
use crate::keyring::{SigningChain, SigningChainError, parse_signing_chain};
use crate::keys::commitment;
use crate::limits::MAX_EVIDENCE_BYTES;
use crate::note::VerifierKey;
use crate::part::{PartError, check_part};
use crate::proof::{ProofError, verify_inclusion};
use crate::record::{RecordError, decode_part, decode_record};
use crate::tree::leaf_hash;
use crate::tree_head::{KeyProblem, SignedTreeHead, TreeHeadError, UnverifiedTreeHead};

pub use text::EVIDENCE_FORMAT;

/// An error because of which evidence proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// More bytes than evidence can have.
    #[error("not evidence: {bytes} bytes; at most {MAX_EVIDENCE_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// Not an object of the members that evidence has.
    #[error("not evidence: {what}; obtain it again")]
    Form {
        /// The problem with the object.
        what: String,
    },
    /// The format is another one.
    #[error(
        "not evidence that this version reads: format '{EVIDENCE_FORMAT}' expected; a newer version may read it"
    )]
    Format,
    /// A member is not what it must be.
    #[error("not evidence: its member '{member}' must be {form}")]
    Member {
        /// The member.
        member: &'static str,
        /// The form that it must have.
        form: &'static str,
    },
    /// The note of signing keys does not hold.
    #[error(transparent)]
    SigningKeys(#[from] SigningChainError),
    /// The tree head shows nothing.
    #[error(transparent)]
    TreeHead(#[from] TreeHeadError),
    /// A key that was brought is not the ledger's, or is of no use for this head.
    #[error("{key}: {problem}")]
    Key {
        /// The key.
        key: String,
        /// The problem with the key.
        problem: KeyProblem,
    },
    /// The tree head does not cover the event.
    #[error("the tree does not hold the event at position {position}: {source}")]
    Proof {
        /// The position.
        position: Position,
        /// The error of the proof.
        source: ProofError,
    },
    /// The record is not the one that was committed to.
    #[error("commitment {expected} of the event in the tree expected, blind and record give {found}")]
    Commitment {
        /// The one in the tree.
        expected: Commitment,
        /// The one that blind and record give.
        found: Commitment,
    },
    /// The record, or part, that was committed to is none.
    #[error("{what} that was committed to cannot be read: {source}")]
    Record {
        /// The thing that cannot be read: the record or the part.
        what: &'static str,
        /// The error of the record or part.
        source: RecordError,
    },
    /// The part is not the one that the record was sealed with.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A part came with a record that has none.
    #[error("a part beside a record without a seal; it is not of this event")]
    UnsealedPart,
    /// The record that was committed to holds no event that a ledger records.
    #[error("what was committed to is no event: {0}")]
    Event(#[from] EventError),
    /// Its data is no JSON that a ledger records.
    #[error("what was committed to is no event: data, {0}")]
    Json(#[from] JsonError),
}

/// The evidence of one event, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The position of the event.
    pub position: Position,
    /// The time of its frame.
    pub time: Micros,
    /// The commitment to its record.
    pub commitment: Commitment,
    /// The contents of the event that are disclosed; `None` if none are.
    pub content: Option<EvidenceContent>,
    /// The inclusion proof, the lowest hash first.
    pub proof: Vec<TreeHash>,
    /// The note of the tree head.
    pub tree_head: String,
    /// The note of the ledger's signing keys.
    pub signing_keys: String,
}

/// An event's record, disclosed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceContent {
    /// The blind of its commitment.
    pub blind: Secret,
    /// Its record.
    pub record: Vec<u8>,
    /// Its part, where it has one and that is disclosed too.
    pub part: Option<RevealedPart>,
}

/// An event's sensitive part, disclosed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevealedPart {
    /// The blind of the subject's seals ([`part_blind`](crate::part_blind)).
    pub blind: Secret,
    /// The part, opened.
    pub part: Zeroizing<Vec<u8>>,
}

/// Evidence as it was brought: nothing of it is believed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedEvidence(Evidence);

/// An event that a ledger recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenEvent {
    evidence: Evidence,
    head: SignedTreeHead,
    standing: KeyRelation,
}

/// The relation of the keys that the caller brought to the one that signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyRelation {
    /// None was brought.
    Unknown,
    /// One before it was brought, and not that one.
    Endorsed,
    /// That one was brought.
    Known,
}

impl UnverifiedEvidence {
    /// Reads evidence.
    ///
    /// # Errors
    /// An [`EvidenceError`] for the first thing that is not of its form.
    pub fn parse(json: &[u8]) -> Result<Self, EvidenceError> {
        text::parse(json).map(Self)
    }

    /// Verifies all of it. The keys in `trusted` are known to the caller as the ledger's. Without any, it is only
    /// proven that a holder of the keys in the evidence recorded this event.
    ///
    /// # Errors
    /// An [`EvidenceError`]: nothing is proven then. That is also the case if one of the keys is not the ledger's.
    pub fn verify(self, trusted: &[VerifierKey]) -> Result<ProvenEvent, EvidenceError> {
        let evidence = self.0;
        let chain = parse_signing_chain(&evidence.signing_keys)?;
        let head = UnverifiedTreeHead::parse(&evidence.tree_head)?.verify_with_chain(&chain)?;
        let standing = standing(trusted, &chain, &head)?;
        let (position, tree) = (evidence.position, head.head());
        let leaf = leaf_hash(position, evidence.time, &evidence.commitment);
        verify_inclusion(&leaf, position.get() - 1, tree.size, &evidence.proof, &tree.root)
            .map_err(|source| EvidenceError::Proof { position, source })?;
        if let Some(content) = &evidence.content {
            content.check(&evidence.commitment)?;
        }
        Ok(ProvenEvent { evidence, head, standing })
    }
}

/// Each key must be the ledger's, and one of them the one that signed or one before it.
fn standing(
    trusted: &[VerifierKey],
    chain: &SigningChain,
    head: &SignedTreeHead,
) -> Result<KeyRelation, EvidenceError> {
    let refused = |(key, problem)| EvidenceError::Key { key, problem };
    let signed_by = head.signing_key(chain).unwrap_or_default();
    let known = head.head().origin.places_of(trusted, chain).map_err(refused)?;
    match (known.first(), trusted.last()) {
        _ if known.contains(&signed_by) => Ok(KeyRelation::Known),
        (Some(first), Some(key)) if *first > signed_by => Err(refused((key.to_string(), KeyProblem::Later))),
        (Some(_), _) => Ok(KeyRelation::Endorsed),
        (None, _) => Ok(KeyRelation::Unknown),
    }
}

impl EvidenceContent {
    fn check(&self, in_tree: &Commitment) -> Result<(), EvidenceError> {
        let (expected, found) = (*in_tree, commitment(&self.blind, &self.record));
        if expected != found {
            return Err(EvidenceError::Commitment { expected, found });
        }
        let unreadable = |what| move |source| EvidenceError::Record { what, source };
        let record = decode_record(&self.record).map_err(unreadable("the record"))?;
        let part = match (&self.part, record.seal()) {
            (None, _) => None,
            (Some(_), None) => return Err(EvidenceError::UnsealedPart),
            (Some(part), Some(seal)) => {
                check_part(&part.blind, &seal.seal, &part.part)?;
                Some(decode_part(&part.part).map_err(unreadable("the part"))?)
            }
        };
        // A ledger checks events before it records them. One that lies may not have, and what is shown goes to a terminal.
        let event = record.into_event(part);
        event.validate()?;
        if let Data::Json(json) = &event.data {
            check_json(json)?;
        }
        Ok(())
    }
}

impl ProvenEvent {
    /// Returns the proven evidence: position, time, commitment, and the disclosed contents.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The tree head that covers it.
    #[must_use]
    pub fn head(&self) -> &SignedTreeHead {
        &self.head
    }

    /// `true`: a key that the caller brought signed it.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.standing == KeyRelation::Known
    }

    /// `true`: a key that the caller brought came before the one that signed it, or is it. A seed that leaked endorses successors, too: an
    /// endorsement alone is no reason to trust.
    #[must_use]
    pub fn is_endorsed(&self) -> bool {
        self.standing != KeyRelation::Unknown
    }

    /// The event, if it is disclosed; without its part if that is not.
    #[must_use]
    pub fn event(&self) -> Option<Event<'_>> {
        let content = self.evidence.content.as_ref()?;
        let part = content.part.as_ref().and_then(|part| decode_part(&part.part).ok());
        Some(decode_record(&content.record).ok()?.into_event(part))
    }

    /// Returns `true` if the event has a part that is not disclosed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let content = self.evidence.content.as_ref();
        content.is_some_and(|content| {
            let record = decode_record(&content.record);
            content.part.is_none() && record.is_ok_and(|record| record.seal().is_some())
        })
    }
}

#[cfg(test)]
mod tests;

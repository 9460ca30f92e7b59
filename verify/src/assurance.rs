//! The confirmation of a ledger by keys and tree heads that the verifier brought.
//!
//! The bytes of a folder can be whole and still be an older copy, or another ledger signed with other keys. Only a
//! verifier that knows a key and remembers a head can tell.

use std::collections::BTreeSet;

use bitacora_formats::{
    Generation, KeyProblem, LedgerId, LedgerName, LedgerOrigin, NoteError, SignedTreeHead, SigningChain,
    TreeHash, TreeHead, TreeHeadError, UnverifiedTreeHead, VerifierKey, WitnessPolicy,
};

use super::archives::LedgerArchives;
use super::cosigned::{FrameEndLocation, WitnessedHead};
use super::fault::{Fault, FaultKind, Gap};
use super::folder::NOTE;
use super::ledger_head::Head;
use super::options::KnownHead;
use super::report::Report;

/// The contradiction between the ledger and the one that the verifier knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// The head is of another ledger, or of one under another name.
    #[error("{file}: a tree head of {found}, this is {expected}; another ledger stands in its place")]
    OtherLedger {
        /// The head's file.
        file: String,
        /// The ledger in the folder.
        expected: String,
        /// The ledger that the head is of.
        found: String,
    },
    /// None of the ledger's keys signed the head.
    #[error("{file}: none of this ledger's keys signed the tree head; another ledger stands in its place")]
    OtherKeys {
        /// The head's file.
        file: String,
    },
    /// The ledger ends before the head does.
    #[error("{file}: a tree head of size {size}, the ledger ends at position {last}; it was rolled back")]
    Shorter {
        /// The head's file.
        file: String,
        /// The head's size.
        size: u64,
        /// The last position of the ledger.
        last: u64,
    },
    /// The head is of a generation that the ledger has not reached.
    #[error(
        "{file}: a tree head of generation {found}, the ledger is in generation {last}; it was rolled back"
    )]
    Generation {
        /// The head's file.
        file: String,
        /// The ledger's generation.
        last: Generation,
        /// The head's.
        found: Generation,
    },
    /// The history up to there is another one.
    #[error(
        "{file}: tree root {expected} at size {size} is remembered, {found} found; the history is another one"
    )]
    Root {
        /// The head's file.
        file: String,
        /// The head's size.
        size: u64,
        /// The root that the verifier knows.
        expected: TreeHash,
        /// The root that the ledger has there.
        found: String,
    },
}

impl Divergence {
    /// Returns `true` if the contradiction is only that the ledger ends too early; it says nothing of the existing events.
    fn is_of_the_end(&self) -> bool {
        matches!(self, Self::Shorter { .. } | Self::Generation { .. })
    }
}

/// The confirmation by the verifier's own memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assurance {
    /// The number of brought keys that are the ledger's.
    pub keys: usize,
    /// The lowest number among them in the ledger's chain of signing keys.
    pub key_number: Option<u32>,
    /// The number of the key that signed for the last segment.
    pub signed_by: Option<u32>,
    /// The numbers of keys that are known from elsewhere: brought keys, and signers of a kept head or of one that
    /// enough of the brought witnesses cosigned.
    pub known: BTreeSet<u32>,
    /// The brought heads that are on this history: file and size.
    pub heads: Vec<(String, u64)>,
    /// The largest head that enough of the brought witnesses cosigned.
    pub witnessed: Option<WitnessedHead>,
    /// The contradictions between the ledger and the known one.
    pub divergences: Vec<Divergence>,
    /// Set when the tree was rebuilt from every event's leaf or record, so that its roots are more than statements.
    pub whole_tree: bool,
}

impl Assurance {
    /// Returns `true` if a key that the verifier knows is, or precedes, the key that signed the last segment, and that
    /// key is confirmed.
    ///
    /// A leaked seed can endorse a false successor, whose seed can endorse the true one. So a successor counts only if
    /// the verifier brought something by it: the key itself, a head, or one that witnesses cosigned.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.is_endorsed() && self.signed_by.is_some_and(|signed_by| self.known.contains(&signed_by))
    }

    /// Returns `true` if a key that the verifier knows is, or endorsed, the key that signed the last segment.
    #[must_use]
    pub fn is_endorsed(&self) -> bool {
        self.key_number.zip(self.signed_by).is_some_and(|(known, signed_by)| known <= signed_by)
    }

    /// Takes in the number of a key that is known from elsewhere.
    pub(super) fn know(&mut self, number: Option<u32>) {
        self.known.extend(number);
    }

    /// Returns the size of the largest head on this history that was brought, or cosigned by brought witnesses. A head
    /// of size 0 does not count.
    #[must_use]
    pub fn known_size(&self) -> Option<u64> {
        let kept = self.heads.iter().map(|(_, size)| *size);
        kept.chain(self.witnessed.as_ref().map(|head| head.size)).max().filter(|size| *size > 0)
    }

    /// Returns `true` if both a key and a head confirm the whole ledger.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.has_key() && self.known_size().is_some() && self.whole_tree && self.divergences.is_empty()
    }
}

/// The keys and heads of the verifier, compared with the ledger's keys.
#[derive(Default)]
pub(super) struct VerifierEvidence {
    /// The heads, each with the number of the key that signed it.
    heads: Vec<(String, SignedTreeHead, Option<u32>)>,
    /// The sizes of the heads, ascending.
    sizes: Vec<u64>,
}

/// The identity of the folder's ledger, as its files claim it before they are checked.
pub(super) struct ClaimedIdentity<'a> {
    pub(super) name: Option<&'a LedgerName>,
    pub(super) ledger: LedgerId,
    /// The chain that brought keys and heads are compared with; `None` where the signers or the ledger are unknown.
    pub(super) chain: Option<&'a SigningChain>,
}

impl VerifierEvidence {
    /// Compares keys and heads with the ledger's chain of keys; a key that is not one of them is a fault.
    pub(super) fn compare(
        claimed: &ClaimedIdentity<'_>,
        (trusted, known): (&[VerifierKey], &[KnownHead]),
        witnesses: Option<&WitnessPolicy>,
        report: &mut Report,
    ) -> Result<Self, Fault> {
        let Some(chain) = claimed.chain else { return Ok(Self::default()) };
        report.first_key = claimed.first_key(chain);
        let logs = witnesses.iter().flat_map(|policy| policy.logs()).map(|log| &log.key);
        for key in trusted.iter().chain(logs.filter(|key| claimed.is_named_by(key))) {
            let origin = claimed.origin_like(key.name()).ok_or(KeyProblem::OtherLedger);
            let number = origin
                .and_then(|origin| origin.place_of(key, chain))
                .map_err(|problem| claimed.beside(problem, trusted, chain))
                .map_err(|problem| Fault::of_note(FaultKind::TrustedKey { key: key.to_string(), problem }))?;
            let assurance = &mut report.assurance;
            assurance.keys += 1;
            assurance.know(Some(number));
            assurance.key_number = Some(assurance.key_number.map_or(number, |known| known.min(number)));
        }
        let mut evidence = Self::default();
        for KnownHead { file, head } in known {
            if let Some(signed) = claimed.verify(file, head, chain, report) {
                evidence.sizes.push(signed.head().size);
                let number = signed.signing_key(chain);
                evidence.heads.push((file.clone(), signed, number));
            }
        }
        evidence.sizes.sort_unstable();
        Ok(evidence)
    }

    pub(super) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Compares the heads with the ledger. Where not all of it was read, heads over the rest stay unknown.
    pub(super) fn hold(
        self,
        last: (Head, Generation),
        (ends, archives): (&[FrameEndLocation], &LedgerArchives),
        report: &mut Report,
    ) {
        let ended_early = report.ended_early();
        for (file, signed, number) in self.heads {
            if (1..=archives.released_through()).contains(&signed.head().size) {
                let held = report.assurance.heads.len();
                hold_archived(file, signed.head(), archives, report);
                report.assurance.know(number.filter(|_| report.assurance.heads.len() > held));
                continue;
            }
            match on_history(&file, signed.head(), last, ends) {
                Some(divergence) if ended_early && divergence.is_of_the_end() => {
                    let (head, read) = (signed.head(), last.0.position);
                    let what = format!(
                        "a tree head of size {} in generation {}, only positions up to {read} could be read",
                        head.size, head.origin.generation
                    );
                    report.gaps.push(Gap::KnownHead { file, what });
                }
                Some(divergence) => report.assurance.divergences.push(divergence),
                None => {
                    report.assurance.heads.push((file, signed.head().size));
                    report.assurance.know(number);
                }
            }
        }
    }
}

/// Compares a head over events that are in archives alone. Without keys, their tree is known at some sizes only.
fn hold_archived(file: String, head: &TreeHead, archives: &LedgerArchives, report: &mut Report) {
    let (size, expected) = (head.size, head.root);
    match archives.root_at(size) {
        Some(found) if found == expected => report.assurance.heads.push((file, size)),
        Some(found) => {
            let found = found.to_string();
            report.assurance.divergences.push(Divergence::Root { file, size, expected, found });
        }
        None => {
            let what = format!("a tree head of size {size}, where the tree lies within an archive");
            report.gaps.push(Gap::KnownHead { file, what });
        }
    }
}

/// Returns the contradiction between a known head and a ledger that was read to its end.
pub(super) fn on_history(
    file: &str,
    head: &TreeHead,
    (last, generation): (Head, Generation),
    ends: &[FrameEndLocation],
) -> Option<Divergence> {
    let file = file.to_owned();
    let (size, found) = (head.size, head.origin.generation);
    if found > generation {
        return Some(Divergence::Generation { file, last: generation, found });
    }
    if size > last.position {
        return Some(Divergence::Shorter { file, size, last: last.position });
    }
    let end = ends.iter().map(|placed| &placed.end).find(|end| end.position == size);
    // The root of the empty tree was checked when the head was read.
    if size == 0 || end.is_some_and(|end| end.root == head.root) {
        return None;
    }
    let found = end.map_or_else(|| "no frame that ends there".to_owned(), |end| end.root.to_string());
    Some(Divergence::Root { file, size, expected: head.root, found })
}

impl ClaimedIdentity<'_> {
    fn first_key(&self, chain: &SigningChain) -> Option<String> {
        let name = self.name?.clone();
        let origin = LedgerOrigin { name, ledger: self.ledger, generation: Generation::FIRST };
        origin.keys(chain).first().map(ToString::to_string)
    }

    /// Returns the problem of a key, given that another known key is in the chain.
    fn beside(&self, problem: KeyProblem, trusted: &[VerifierKey], chain: &SigningChain) -> KeyProblem {
        let is_in_chain = |key: &VerifierKey| {
            self.origin_like(key.name()).is_some_and(|origin| origin.place_of(key, chain).is_ok())
        };
        match problem {
            KeyProblem::NotInChain if trusted.iter().any(is_in_chain) => KeyProblem::OtherSuccessor,
            problem => problem,
        }
    }

    /// Returns `true` if a key's name is that of this ledger.
    fn is_named_by(&self, key: &VerifierKey) -> bool {
        let named = key.name().parse::<LedgerOrigin>().ok();
        named.zip(self.origin_like(key.name())).is_some_and(|(named, own)| own.is_same_ledger(&named))
    }

    /// Returns the ledger's origin, under its name here, else under that in the key's name.
    fn origin_like(&self, key_name: &str) -> Option<LedgerOrigin> {
        let said = key_name.parse::<LedgerOrigin>().ok().map(|origin| origin.name);
        let name = self.name.cloned().or(said)?;
        Some(LedgerOrigin { name, ledger: self.ledger, generation: Generation::FIRST })
    }

    fn verify(
        &self,
        file: &str,
        head: &UnverifiedTreeHead,
        chain: &SigningChain,
        report: &mut Report,
    ) -> Option<SignedTreeHead> {
        let (file, origin) = (file.to_owned(), head.origin().clone());
        let expected = self.origin_like(&origin.to_string())?;
        if !expected.is_same_ledger(&origin) {
            let expected = format!("{}/{}", expected.name, expected.ledger);
            let other = Divergence::OtherLedger { file, expected, found: origin.to_string() };
            report.assurance.divergences.push(other);
            return None;
        }
        match head.clone().verify_with_chain(chain) {
            Ok(signed) => return Some(signed),
            Err(TreeHeadError::Note(NoteError::NoKnownSignature)) => {
                report.assurance.divergences.push(Divergence::OtherKeys { file });
            }
            Err(error) => report.gaps.push(Gap::KnownHead { file, what: error.to_string() }),
        }
        None
    }
}

impl Fault {
    /// Returns a fault of the ledger's keys, which vouch for every position.
    fn of_note(kind: FaultKind) -> Self {
        Self {
            file: NOTE.to_owned(),
            offset: 0,
            first_position: 1,
            last_position: None,
            kind: Box::new(kind),
            torn: false,
        }
    }
}

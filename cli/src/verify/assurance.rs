//! What memory outside the folder confirms of a ledger: keys and tree heads that the verifier brought.
//!
//! The bytes of a folder can be whole and still be an older copy, or another ledger signed with other keys. Only who knows a
//! key and remembers a head can tell.

use std::collections::BTreeSet;

use bitacora_formats::{
    Generation, KeyProblem, LedgerId, LedgerName, NoteError, Origin, SignedTreeHead, SigningChain, TreeHash,
    TreeHead, TreeHeadError, UnverifiedTreeHead, VerifierKey, WitnessPolicy,
};

use super::archives::Archives;
use super::cosigned::{PlacedEnd, WitnessedHead};
use super::fault::{Fault, FaultKind, Gap};
use super::folder::NOTE;
use super::report::{Head, Report};

/// A tree head that the verifier has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHead {
    /// The file that it was read from.
    pub file: String,
    /// The head.
    pub head: UnverifiedTreeHead,
}

/// How the ledger is not the one that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// The head is of another ledger, or of one under another name.
    #[error("{file}: a tree head of {found}, this is {expected}; another ledger stands in its place")]
    OtherLedger {
        /// The head's file.
        file: String,
        /// The ledger in the folder.
        expected: String,
        /// The one that the head is of.
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
        /// The root that is remembered.
        expected: TreeHash,
        /// What the ledger has there.
        found: String,
    },
}

impl Divergence {
    /// Whether it is that the ledger does not go on, and says nothing of what is there.
    fn is_of_the_end(&self) -> bool {
        matches!(self, Self::Shorter { .. } | Self::Generation { .. })
    }
}

/// What the verifier's own memory comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assurance {
    /// How many keys were brought that are the ledger's.
    pub keys: usize,
    /// The lowest number among them in the ledger's chain of signing keys.
    pub key_number: Option<u32>,
    /// The number of the key that signed for the last segment.
    pub signed_by: Option<u32>,
    /// The numbers that are known from elsewhere: of keys that were brought, or that signed a head which was kept or which enough of the
    /// brought witnesses cosigned.
    pub known: BTreeSet<u32>,
    /// The heads that were brought and are on this history: file and size.
    pub heads: Vec<(String, u64)>,
    /// The largest head that enough of the brought witnesses cosigned.
    pub witnessed: Option<WitnessedHead>,
    /// How the ledger is not the one that is remembered.
    pub divergences: Vec<Divergence>,
    /// Whether the tree was made again of every event's leaf or record, so that its roots are more than statements.
    pub whole_tree: bool,
}

impl Assurance {
    /// Whether a key that the verifier knows stands behind what signed the last segment: it or one before it.
    ///
    /// A leaked seed can endorse a false successor, whose seed can endorse the true one. So a successor counts only once something that the
    /// verifier brought is by it: the key itself, a head, or one that witnesses cosigned.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.is_endorsed() && self.signed_by.is_some_and(|signed_by| self.known.contains(&signed_by))
    }

    /// Whether a key that the verifier knows endorsed the one that signed the last segment, or is it.
    #[must_use]
    pub fn is_endorsed(&self) -> bool {
        self.key_number.zip(self.signed_by).is_some_and(|(known, signed_by)| known <= signed_by)
    }

    /// Takes in the number of a key that is known from elsewhere.
    pub(super) fn know(&mut self, number: Option<u32>) {
        self.known.extend(number);
    }

    /// The size of the largest head on this history that was brought, or cosigned by witnesses who were; a head of nothing remembers nothing.
    #[must_use]
    pub fn known_size(&self) -> Option<u64> {
        let kept = self.heads.iter().map(|(_, size)| *size);
        kept.chain(self.witnessed.as_ref().map(|head| head.size)).max().filter(|size| *size > 0)
    }

    /// Whether both stand behind the whole of it.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.has_key() && self.known_size().is_some() && self.whole_tree && self.divergences.is_empty()
    }
}

/// What the verifier brought, compared with the ledger's keys.
#[derive(Default)]
pub(super) struct Brought {
    /// Each with the number of the key that signed it.
    heads: Vec<(String, SignedTreeHead, Option<u32>)>,
    /// Ascending.
    sizes: Vec<u64>,
}

/// Whose folder this is, as far as its files say before they are checked.
pub(super) struct Claimed<'a> {
    pub(super) name: Option<&'a LedgerName>,
    pub(super) ledger: LedgerId,
    /// What is compared with what the verifier brought; `None` where it is not known who may sign, or for which ledger.
    pub(super) chain: Option<&'a SigningChain>,
}

impl Brought {
    /// Compares keys and heads with the ledger's chain of keys; a key that is not one of them is a fault.
    pub(super) fn compare(
        claimed: &Claimed<'_>,
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
        let mut brought = Self::default();
        for KnownHead { file, head } in known {
            if let Some(signed) = claimed.verify(file, head, chain, report) {
                brought.sizes.push(signed.head().size);
                let number = signed.signing_key(chain);
                brought.heads.push((file.clone(), signed, number));
            }
        }
        brought.sizes.sort_unstable();
        Ok(brought)
    }

    pub(super) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Holds the heads against what was read of a ledger. Where that is not all of it, what a head says of the rest is not
    /// known.
    pub(super) fn hold(
        self,
        last: (Head, Generation),
        (ends, archives): (&[PlacedEnd], &Archives),
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

/// A head over events that stand in archives alone. Their tree is known at some sizes without keys.
fn hold_archived(file: String, head: &TreeHead, archives: &Archives, report: &mut Report) {
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

/// How a head that is remembered is not of a ledger that was read to its end.
pub(super) fn on_history(
    file: &str,
    head: &TreeHead,
    (last, generation): (Head, Generation),
    ends: &[PlacedEnd],
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

impl Claimed<'_> {
    fn first_key(&self, chain: &SigningChain) -> Option<String> {
        let name = self.name?.clone();
        let origin = Origin { name, ledger: self.ledger, generation: Generation::FIRST };
        origin.keys(chain).first().map(ToString::to_string)
    }

    /// The problem of a key, where another one of those that are known is in the chain.
    fn beside(&self, problem: KeyProblem, trusted: &[VerifierKey], chain: &SigningChain) -> KeyProblem {
        let is_in_chain = |key: &VerifierKey| {
            self.origin_like(key.name()).is_some_and(|origin| origin.place_of(key, chain).is_ok())
        };
        match problem {
            KeyProblem::NotInChain if trusted.iter().any(is_in_chain) => KeyProblem::OtherSuccessor,
            problem => problem,
        }
    }

    /// Whether a key is named as one of this ledger.
    fn is_named_by(&self, key: &VerifierKey) -> bool {
        let named = key.name().parse::<Origin>().ok();
        named.zip(self.origin_like(key.name())).is_some_and(|(named, own)| own.is_same_ledger(&named))
    }

    /// The ledger's origin, under the name that it goes by here or, where nobody said one, under that of the key.
    fn origin_like(&self, key_name: &str) -> Option<Origin> {
        let said = key_name.parse::<Origin>().ok().map(|origin| origin.name);
        let name = self.name.cloned().or(said)?;
        Some(Origin { name, ledger: self.ledger, generation: Generation::FIRST })
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
    /// A fault of the ledger's keys, which vouch for every position.
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

//! The manifest of an archive: the ledger's statement about it, in clear and signed.
//!
//! It is a signed note (c2sp.org/signed-note). No tree head has its first line, so that neither is ever taken for the other.

mod text;

use super::error::{ArchiveError, ManifestError};
use super::range::{ArchiveRange, Revision};
use super::table::PART_ENTRY_BYTES;
use super::tree::grown;
use bitacora_formats::Frontier;
use bitacora_formats::limits::{MAX_ARCHIVE_PARTS, MAX_MANIFEST_BYTES, MAX_MANIFEST_LINES, MAX_TYPE_BYTES};
use bitacora_formats::text_problem;
use bitacora_formats::verify_consistency;
use bitacora_formats::{
    ChainHash, Epoch, Generation, KekId, MAX_STATE_BYTES, Micros, Position, SegmentNumber, TreeHash,
};
use bitacora_formats::{Keyring, SigningChain};
use bitacora_formats::{LedgerOrigin, SignedTreeHead, UnverifiedTreeHead};
use bitacora_formats::{SignedNote, UnverifiedNote, sign_checked};

/// The first line of a manifest.
pub const MANIFEST_FIRST_LINE: &str = "bitacora-archive v1";

/// The part of an archive that is in clear; everything else is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The ledger, in the generation that the archive was made in.
    pub origin: LedgerOrigin,
    /// The positions.
    pub range: ArchiveRange,
    /// The times of the first and the last event's frames.
    pub times: (Micros, Micros),
    /// The time at which the archive was made, by the writer's clock.
    pub made: Micros,
    /// The version of the reactor that the ledger ran under.
    pub reactor: u32,
    /// Bytes of all records and sealed parts, as they are in the ledger before compression.
    pub content_bytes: u64,
    /// The events whose content is removed, if there are any.
    pub expiry: Option<ExpiryLine>,
    /// The number of events of each type, sorted by type. Expired ones count.
    pub kinds: Vec<(String, u64)>,
    /// The chain before the frame that holds the first position.
    pub chain_before: ChainLink,
    /// The chain before the frame that holds the position after the last.
    pub chain_after: ChainLink,
    /// The segments that begin in the archive, in order.
    pub segments: Vec<SegmentLink>,
    /// The tree before the first position.
    pub tree_before: Frontier,
    /// The roots of the complete subtrees that the archive's leaves are, from left to right.
    pub subtrees: Vec<TreeHash>,
    /// The root of the tree that ends with the last position.
    pub root_after: TreeHash,
    /// A tree head of that size or a later one.
    pub tree_head: Option<TreeHeadProof>,
    /// The state that is in the archive.
    pub state: Option<StateLine>,
    /// The archive's data key, wrapped for holders of the keyring.
    pub key: WrappedKey,
    /// The ledger's signing keys, as far as there were some.
    pub signing_keys: SigningChain,
    /// The part table.
    pub table: TableDigest,
}

/// The chain at a frame that holds a given position: archives that lie next to each other meet in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLink {
    /// The first position of the frame.
    pub position: Position,
    /// The chain hash before the frame: the one in its header.
    pub hash: ChainHash,
}

/// A segment that begins in an archive, so that references to segments can still be resolved once they are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentLink {
    /// Its number.
    pub number: SegmentNumber,
    /// The position of its first event.
    pub first: Position,
    /// The opening that wrote it.
    pub epoch: Epoch,
    /// Its generation.
    pub generation: Generation,
    /// The chain hash before it: the one in its header.
    pub hash: ChainHash,
}

/// A tree head that covers an archive, and the proof that it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeHeadProof {
    /// The note of the head.
    pub note: String,
    /// That the head's tree grew from the one that ends with the archive; empty if they are one.
    pub consistency: Vec<TreeHash>,
}

/// The expired events of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiryLine {
    /// The revision of the archive. In the first one events are expired if the ledger was restored from archives in which they were.
    pub revision: Revision,
    /// The number of expired events.
    pub events: u64,
}

/// The state that an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateLine {
    /// The last event that is folded.
    pub position: Position,
    /// Bytes of the state.
    pub bytes: u64,
}

/// The data key of an archive, wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedKey {
    /// The id of the key-encryption key that wraps it.
    pub kek: KekId,
    /// Makes the wrapping key one of its own.
    pub salt: [u8; 16],
    /// The key, encrypted, with its tag.
    pub sealed: [u8; 48],
    /// A value that only the data key itself gives.
    pub commitment: [u8; 32],
}

/// The number, length and digest that a part table must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableDigest {
    /// The number of parts.
    pub parts: u64,
    /// Bytes of the table.
    pub bytes: u64,
    /// BLAKE3 of them.
    pub digest: [u8; 32],
}

/// A manifest as it is written, before its signature is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedManifest {
    manifest: Manifest,
    note: UnverifiedNote,
}

/// A manifest that one of the signing keys in it signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedManifest {
    manifest: Manifest,
    note: SignedNote,
    tree_head: Option<SignedTreeHead>,
}

impl Manifest {
    /// Signs it with the keyring's active signing key.
    ///
    /// # Errors
    /// [`ManifestError`] for a manifest that could not be read back.
    pub fn sign(&self, keyring: &Keyring) -> Result<SignedManifest, ArchiveError> {
        self.check()?;
        let note = sign_checked(&text::write(self), &self.origin.to_string(), keyring.signing().key);
        Ok(UnverifiedManifest::parse(note.as_bytes())?.verify_alone()?)
    }

    /// The archive's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.expiry.map_or(Revision::FIRST, |expiry| expiry.revision)
    }

    /// The name of the archive in its store.
    #[must_use]
    pub fn object_name(&self) -> String {
        self.range.object_name(self.origin.ledger, self.origin.generation, self.revision())
    }

    /// The tree that ends with the last position.
    #[must_use]
    pub fn tree_after(&self) -> Option<Frontier> {
        grown(&self.tree_before, self.range, &self.subtrees)
    }

    /// Checks that this archive goes on from the one with the other manifest: same ledger, and the same chain and tree
    /// where they meet.
    ///
    /// # Errors
    /// [`ArchiveError::Neighbour`] names the first property that differs.
    pub fn follows(&self, before: &Self) -> Result<(), ArchiveError> {
        let differs = |what| Err(ArchiveError::Neighbour { earlier: before.range, later: self.range, what });
        if !self.origin.is_same_ledger(&before.origin) {
            return differs("the ledger");
        }
        if self.origin.generation < before.origin.generation {
            return differs("the generation, which does not go back,");
        }
        if before.range.last().next() != Some(self.range.first()) {
            return differs("the position");
        }
        if self.chain_before != before.chain_after {
            return differs("the link of the chain");
        }
        if before.tree_after().as_ref() != Some(&self.tree_before) {
            return differs("the tree");
        }
        if self.times.0 < before.times.1 {
            return differs("the time, which does not go back,");
        }
        let segments = before.segments.last().zip(self.segments.first());
        if segments.is_some_and(|(earlier, later)| !later.goes_on_from(earlier)) {
            return differs("the number of the segment");
        }
        if !are_one_chain(&self.signing_keys, &before.signing_keys) {
            return differs("a signing key");
        }
        Ok(())
    }

    /// Checks that its lines agree with one another.
    fn check(&self) -> Result<(), ManifestError> {
        self.check_size()?;
        let problem = self
            .contents_problem()
            .or_else(|| self.chain_problem())
            .or_else(|| self.tree_problem())
            .or_else(|| self.parts_problem());
        problem.map_or(Ok(()), |problem| Err(ManifestError::Contradiction { problem }))
    }

    fn check_size(&self) -> Result<(), ManifestError> {
        for (keyword, lines) in [(text::KIND, self.kinds.len()), (text::SEGMENT, self.segments.len())] {
            if lines > MAX_MANIFEST_LINES {
                return Err(ManifestError::TooMany { keyword });
            }
        }
        Ok(())
    }

    fn contents_problem(&self) -> Option<&'static str> {
        if self.times.0 > self.times.1 {
            return Some("the last event is older than the first");
        }
        let is_type = |kind: &str| text_problem(kind, MAX_TYPE_BYTES).is_none();
        if !self.kinds.iter().all(|(kind, count)| is_type(kind) && *count > 0) {
            return Some("a type that no event has");
        }
        if !self.kinds.is_sorted_by(|(one, _), (other, _)| one < other) {
            return Some("the types are not sorted");
        }
        let is_expiry = |expiry: ExpiryLine| (1..=self.range.events()).contains(&expiry.events);
        if !self.expiry.is_none_or(is_expiry) {
            return Some("more or fewer events are expired than an archive of its revision can have");
        }
        let events = self.kinds.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
        (events != Some(self.range.events())).then_some("the types do not add up to the events")
    }

    fn chain_problem(&self) -> Option<&'static str> {
        let (before, after) = (self.chain_before, self.chain_after);
        let (first, last) = (self.range.first(), self.range.last());
        if before.position > first || after.position > last.next()? || before.position > after.position {
            return Some("the links of the chain are not those of its ends");
        }
        if before.position == after.position && before.hash != after.hash {
            return Some("one frame has two links of the chain");
        }
        let segments = &self.segments;
        let is_inside = |segment: &SegmentLink| {
            self.range.contains(segment.first) && segment.generation <= self.origin.generation
        };
        let is_row = segments.windows(2).all(|pair| match pair {
            [one, other] => other.goes_on_from(one) && other.first > one.first,
            _ => true,
        });
        let begins = |segment: &SegmentLink| {
            (segment.first == Position::FIRST) == (segment.number == SegmentNumber::FIRST)
        };
        let begins_with_one =
            first > Position::FIRST || segments.first().is_some_and(|one| one.number == SegmentNumber::FIRST);
        if !segments.iter().all(is_inside) || !is_row || !segments.iter().all(begins) || !begins_with_one {
            return Some("the segments are not those that begin in it");
        }
        None
    }

    fn tree_problem(&self) -> Option<&'static str> {
        let after = self.tree_after();
        let same = after.is_some_and(|tree| tree.root() == self.root_after);
        (!same).then_some("the subtrees do not make the tree after it")
    }

    fn parts_problem(&self) -> Option<&'static str> {
        let TableDigest { parts, bytes, .. } = self.table;
        if parts > MAX_ARCHIVE_PARTS as u64 || bytes != parts * PART_ENTRY_BYTES as u64 {
            return Some("the part table has another length than its parts");
        }
        let fits =
            |state: StateLine| self.range.contains(state.position) && state.bytes <= MAX_STATE_BYTES as u64;
        (!self.state.is_none_or(fits)).then_some("the state is none of its events")
    }
}

impl SegmentLink {
    fn goes_on_from(&self, before: &Self) -> bool {
        before.number.next() == Some(self.number)
            && self.epoch >= before.epoch
            && self.generation >= before.generation
    }
}

impl UnverifiedManifest {
    /// Reads a manifest. Its statements mean nothing before it is verified.
    ///
    /// # Errors
    /// A [`ManifestError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLong { bytes: bytes.len() });
        }
        let note = std::str::from_utf8(bytes).map_err(|_| ManifestError::NotText)?;
        let note = UnverifiedNote::parse_any(note)?;
        // Of a second signature nobody could say whether it was changed.
        if note.signatures().len() != 1 {
            return Err(ManifestError::Signatures { found: note.signatures().len() });
        }
        let manifest = text::parse(note.text())?;
        manifest.check()?;
        // Numbers can be written in more than one way, a manifest in one.
        if text::write(&manifest) != note.text() {
            return Err(ManifestError::Contradiction { problem: "it is not written as manifests are" });
        }
        Ok(Self { manifest, note })
    }

    /// Returns the manifest before it is verified, to choose the keys to verify it with.
    #[must_use]
    pub fn unverified(&self) -> &Manifest {
        &self.manifest
    }

    /// Verifies it with the signing keys of the ledger, which are known.
    ///
    /// # Errors
    /// [`ManifestError::OtherKeys`] where the keys in it are not those of the chain, as far as both go; and as
    /// [`UnverifiedManifest::verify_alone`].
    pub fn verify(self, chain: &SigningChain) -> Result<SignedManifest, ManifestError> {
        if are_one_chain(&self.manifest.signing_keys, chain) {
            self.verify_alone()
        } else {
            Err(ManifestError::OtherKeys)
        }
    }

    /// Verifies it with the keys in it. It is then the statement of a holder of these keys. Only a key that is known
    /// from elsewhere tells whose keys they are.
    ///
    /// # Errors
    /// A [`ManifestError`] where none of them signed it, or where the tree head in it is not of this history.
    pub fn verify_alone(self) -> Result<SignedManifest, ManifestError> {
        let Self { manifest, note } = self;
        let note = note.verify(&manifest.origin.keys(&manifest.signing_keys))?;
        let head = manifest.tree_head.as_ref().map(|proof| verify_head(proof, &manifest)).transpose()?;
        Ok(SignedManifest { manifest, note, tree_head: head })
    }
}

impl SignedManifest {
    /// Returns the signed manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The note; its text form stands in the archive.
    #[must_use]
    pub fn note(&self) -> &SignedNote {
        &self.note
    }

    /// The tree head in it.
    #[must_use]
    pub fn tree_head(&self) -> Option<&SignedTreeHead> {
        self.tree_head.as_ref()
    }

    /// The number of the key that signed it, in the chain of the keys in it.
    #[must_use]
    pub fn signing_key(&self) -> Option<u32> {
        let chain = &self.manifest.signing_keys;
        let signed = |public| self.note.signers().iter().any(|signer| signer.public() == public);
        (1..=chain.active_index()).rev().find(|number| chain.key(*number).is_some_and(signed))
    }
}

fn verify_head(proof: &TreeHeadProof, manifest: &Manifest) -> Result<SignedTreeHead, ManifestError> {
    let head = UnverifiedTreeHead::parse(&proof.note)?.verify_with_chain(&manifest.signing_keys)?;
    if !head.head().origin.is_same_ledger(&manifest.origin) {
        return Err(ManifestError::Contradiction { problem: "the tree head is of another ledger" });
    }
    let (from, to) = (manifest.range.last().get(), head.head().size);
    verify_consistency(from, to, &proof.consistency, &manifest.root_after, &head.head().root)?;
    Ok(head)
}

/// Returns `true` if two chains of keys are one, as far as both go.
fn are_one_chain(one: &SigningChain, other: &SigningChain) -> bool {
    (1..=one.active_index().min(other.active_index())).all(|number| one.key(number) == other.key(number))
}

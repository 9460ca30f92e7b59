//! The proof of one event from a ledger's folder: evidence and receipts.
//!
//! The event is read with the formats alone; the inclusion proof comes from the ledger's own tree. A proof is verified
//! as a third party would before it is given out.

mod entry;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::limits::{MAX_HEADS_BYTES, MAX_NOTE_BYTES};
use bitacora_formats::{
    Evidence, EvidenceContent, EvidenceError, HeadStep, HeadsWalk, InclusionReceipt, Keyring, LeafEntry,
    LedgerKeys, LedgerName, Position, ReceiptError, RevealedPart, SegmentNumber, SignedTreeHead,
    UnverifiedEvidence, UnverifiedReceipt, UnverifiedTreeHead, decode_record,
};
use bitacora_ledger::{Environment, InclusionProof, Ledger, OpenError, ReadError};

use crate::verify::LedgerFolder;

pub(crate) use entry::EntryError;

/// The part of the event that its evidence discloses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisclosedPart {
    /// Its position, time and commitment.
    Nothing,
    /// Its record.
    Record,
    /// Its record and its data subject's part.
    Part,
}

/// The reason why there is no proof.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProveError {
    #[error("{file}: {source}; nothing was proven")]
    Disk { file: String, source: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("position {position}: {source}; nothing was proven")]
    Entry { position: Position, source: EntryError },
    #[error(
        "no tree head in the folder covers position {position}; one is signed within a second while a service runs, and when it ends"
    )]
    NoHead { position: Position },
    #[error("what was made does not hold: {0}; verify the ledger")]
    Evidence(#[from] EvidenceError),
    #[error("what was made does not hold: {0}; verify the ledger")]
    Receipt(#[from] ReceiptError),
}

/// A ledger's folder, for proofs.
pub(crate) struct ProofSource<'a> {
    folder: &'a Path,
    keyring: Arc<Keyring>,
    ledger: Ledger,
}

impl<'a> ProofSource<'a> {
    /// Opens it for reading: nothing is changed, and a service may have it.
    pub(crate) fn open(
        environment: &Environment,
        folder: &'a Path,
        keyring: Keyring,
        name: &LedgerName,
    ) -> Result<Self, ProveError> {
        let keyring = Arc::new(keyring);
        let ledger = Ledger::open_for_reading(environment, folder, Arc::clone(&keyring), Some(name))?;
        Ok(Self { folder, keyring, ledger })
    }

    /// Returns the evidence of the event, as JSON.
    pub(crate) fn evidence(
        &self,
        position: Position,
        disclosed: DisclosedPart,
    ) -> Result<String, ProveError> {
        let (head, proof) = self.proof(position)?;
        let content = match disclosed {
            DisclosedPart::Nothing => None,
            DisclosedPart::Record | DisclosedPart::Part => Some(self.content(position, disclosed)?),
        };
        let evidence = Evidence {
            position,
            time: proof.leaf.time,
            commitment: proof.leaf.commitment,
            content,
            proof: proof.hashes,
            tree_head: head.note().to_string(),
            signing_keys: self.keyring.signing_chain_note(),
        };
        let json = evidence.to_json();
        let keys = head.head().origin.keys(self.keyring.signing_chain());
        UnverifiedEvidence::parse(json.as_bytes())?.verify(&keys)?;
        Ok(json)
    }

    /// Returns the receipt of the event, as text.
    pub(crate) fn receipt(&self, position: Position) -> Result<String, ProveError> {
        let (head, InclusionProof { leaf, hashes, .. }) = self.proof(position)?;
        let keys = head.head().origin.keys(self.keyring.signing_chain());
        let text = receipt_text(position, leaf, hashes, head.note().to_string());
        UnverifiedReceipt::parse(&text)?.verify(&keys)?;
        Ok(text)
    }

    fn proof(&self, position: Position) -> Result<(SignedTreeHead, InclusionProof), ProveError> {
        let covers = |head: &SignedTreeHead| head.head().size >= position.get();
        let head = match self.last_cosigned()?.filter(covers) {
            Some(cosigned) => Some(cosigned),
            None => self.last_head()?.filter(covers),
        };
        let head = head.ok_or(ProveError::NoHead { position })?;
        let proof = self.ledger.prove_inclusion(position, head.head().size)?;
        Ok((head, proof))
    }

    fn content(&self, position: Position, disclosed: DisclosedPart) -> Result<EvidenceContent, ProveError> {
        let failed = |source| ProveError::Entry { position, source };
        let entry = entry::find(&self.ledger, position).map_err(failed)?;
        let keys = LedgerKeys::new(&self.keyring, self.ledger.id());
        let record = decode_record(&entry.record).map_err(|error| failed(error.into()))?;
        let blind = keys.blind(&record.source, &record.id);
        let part: Option<RevealedPart> = match disclosed {
            DisclosedPart::Part => {
                let opened = entry::open(self.folder, &keys, &record, entry.part.as_deref());
                opened.map_err(failed)?
            }
            DisclosedPart::Nothing | DisclosedPart::Record => None,
        };
        Ok(EvidenceContent { blind, record: entry.record, part })
    }

    /// Returns the last head beside the segments that witnesses cosigned. With it the proof needs no other memory of the ledger.
    fn last_cosigned(&self) -> Result<Option<SignedTreeHead>, ProveError> {
        let folder = LedgerFolder::new(self.folder);
        let failed = |file: String| move |source| ProveError::Disk { file, source };
        let listing = folder.list().map_err(failed(self.folder.display().to_string()))?;
        for number in listing.segments.iter().rev() {
            let note = match cosigned_note(&folder, *number) {
                Ok(note) => note,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(format!("the cosigned head of segment {number}"))(error)),
            };
            let head = UnverifiedTreeHead::parse(&note).ok();
            let head = head.and_then(|head| head.verify_with_chain(self.keyring.signing_chain()).ok());
            if let Some(head) = head.filter(|head| head.head().origin.ledger == self.ledger.id()) {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Returns the last tree head beside the segments that the ledger has signed.
    fn last_head(&self) -> Result<Option<SignedTreeHead>, ProveError> {
        let folder = LedgerFolder::new(self.folder);
        let failed = |file: String| move |source| ProveError::Disk { file, source };
        let listing = folder.list().map_err(failed(self.folder.display().to_string()))?;
        for number in listing.segments.iter().rev() {
            let notes = match notes(&folder, *number) {
                Ok(notes) => notes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(format!("the tree heads of segment {number}"))(error)),
            };
            let mut signed = notes.iter().rev().filter_map(|note| {
                let head = UnverifiedTreeHead::parse(note).ok()?;
                head.verify_with_chain(self.keyring.signing_chain()).ok()
            });
            let is_own = |head: &SignedTreeHead| head.head().origin.ledger == self.ledger.id();
            if let Some(head) = signed.find(is_own) {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }
}

/// Returns a receipt of these parts.
pub(crate) fn receipt_text(
    position: Position,
    leaf: LeafEntry,
    proof: Vec<bitacora_formats::TreeHash>,
    tree_head: String,
) -> String {
    InclusionReceipt { position, leaf, proof, tree_head }.to_string()
}

/// Returns the note in the file of a segment's cosigned head; bytes that are no text are no note.
fn cosigned_note(folder: &LedgerFolder<'_>, number: SegmentNumber) -> io::Result<String> {
    let mut bytes = Vec::new();
    folder.open_cosigned(number)?.take(MAX_NOTE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Returns the notes in the file of a segment's heads.
fn notes(folder: &LedgerFolder<'_>, number: SegmentNumber) -> io::Result<Vec<String>> {
    let mut bytes = Vec::new();
    folder.open_heads(number)?.take(MAX_HEADS_BYTES as u64).read_to_end(&mut bytes)?;
    let mut walk = HeadsWalk::new(&bytes);
    let mut notes = Vec::new();
    while let HeadStep::Entry(entry) = walk.step() {
        notes.push(entry.note);
    }
    Ok(notes)
}

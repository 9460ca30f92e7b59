//! The proof of one event from a ledger's folder: evidence and receipts.
//!
//! Event, leaves and tree are read with the formats alone. A proof is verified as a third party would before it is given
//! out.

mod archived_events;
mod entry;
mod event_reader;
mod tree;

use std::io::{self, Read};
use std::path::Path;

use bitacora_formats::limits::{MAX_HEADS_BYTES, MAX_NOTE_BYTES};
use bitacora_formats::{
    Evidence, EvidenceContent, EvidenceError, HeadStep, HeadsWalk, InclusionReceipt, Keyring, LeafEntry,
    LedgerName, LedgerOrigin, Position, ReceiptError, RevealedPart, SegmentNumber, SignedTreeHead, TreeHash,
    UnverifiedEvidence, UnverifiedReceipt, UnverifiedTreeHead, decode_record,
};

pub use self::entry::EntryError;
use self::event_reader::{EventReader, is_absent};
use self::tree::InclusionProof;
use crate::archive_store::ArchiveStore;
use crate::folder::LedgerFolder;

/// The part of the event that its evidence discloses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisclosedPart {
    /// Its position, time and commitment.
    Nothing,
    /// Its record.
    Record,
    /// Its record and its data subject's part.
    Part,
}

/// The reason why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The disk gave an error.
    #[error("{file}: {source}; nothing was proven")]
    Disk {
        /// The file or folder.
        file: String,
        /// The error of the disk.
        source: io::Error,
    },
    /// There is no ledger in the folder.
    #[error("{0}: no ledger here; nothing was proven")]
    Missing(String),
    /// The keyring does not open the ledger, or its segments cannot be read.
    #[error("{folder}: {source}; bring the keyring that this ledger was written with")]
    Keyring {
        /// The ledger's folder.
        folder: String,
        /// The key that is missing or wrong.
        source: EntryError,
    },
    /// The tree head is of a ledger with another name.
    #[error("{folder}: found the ledger {found}, expected {expected}; nothing was proven")]
    OtherName {
        /// The ledger's folder.
        folder: String,
        /// The name that was asked for.
        expected: LedgerName,
        /// The name in its tree head.
        found: LedgerName,
    },
    /// The event cannot be read.
    #[error("position {position}: {source}; nothing was proven")]
    Entry {
        /// The event's position.
        position: Position,
        /// The reason.
        source: EntryError,
    },
    /// No tree head covers the event.
    #[error(
        "no tree head in the folder covers position {position}; one is signed within a second while a service runs, and when it ends"
    )]
    NoHead {
        /// The event's position.
        position: Position,
    },
    /// The evidence that was made does not hold.
    #[error("what was made does not hold: {0}; verify the ledger")]
    Evidence(#[from] EvidenceError),
    /// The receipt that was made does not hold.
    #[error("what was made does not hold: {0}; verify the ledger")]
    Receipt(#[from] ReceiptError),
}

/// A ledger's folder, for proofs.
pub struct ProofSource<'a> {
    path: &'a Path,
    keyring: &'a Keyring,
    name: &'a LedgerName,
    archives: Option<&'a dyn ArchiveStore>,
}

impl<'a> ProofSource<'a> {
    /// Names the folder, the ledger's keys and name, and the store of its archives. Nothing is changed there, and a
    /// service may have the ledger open.
    #[must_use]
    pub fn new(
        path: &'a Path,
        keyring: &'a Keyring,
        name: &'a LedgerName,
        archives: Option<&'a dyn ArchiveStore>,
    ) -> Self {
        Self { path, keyring, name, archives }
    }

    /// Returns the evidence of the event, as JSON.
    ///
    /// # Errors
    /// A [`ProveError`].
    pub fn evidence(&self, position: Position, disclosed: DisclosedPart) -> Result<String, ProveError> {
        let folder = LedgerFolder::new(self.path);
        let mut events = self.open(&folder)?;
        let (head, proof) = self.proof(&mut events, position)?;
        let content = match disclosed {
            DisclosedPart::Nothing => None,
            DisclosedPart::Record | DisclosedPart::Part => {
                let content = self.content(&mut events, position, disclosed);
                content.map_err(|source| ProveError::Entry { position, source })?
            }
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
    ///
    /// # Errors
    /// A [`ProveError`].
    pub fn receipt(&self, position: Position) -> Result<String, ProveError> {
        let folder = LedgerFolder::new(self.path);
        let mut events = self.open(&folder)?;
        let (head, InclusionProof { leaf, hashes }) = self.proof(&mut events, position)?;
        let keys = head.head().origin.keys(self.keyring.signing_chain());
        let text = receipt_text(position, leaf, hashes, head.note().to_string());
        UnverifiedReceipt::parse(&text)?.verify(&keys)?;
        Ok(text)
    }

    fn open<'b>(&'b self, folder: &'b LedgerFolder<'b>) -> Result<EventReader<'b>, ProveError> {
        let shown = || self.path.display().to_string();
        let events = match EventReader::open(folder, self.keyring, self.archives) {
            Ok(Some(events)) => events,
            Ok(None) => return Err(ProveError::Missing(shown())),
            Err(EntryError::Disk(error)) if is_absent(&error) => return Err(ProveError::Missing(shown())),
            Err(EntryError::Disk(source)) => return Err(ProveError::Disk { file: shown(), source }),
            Err(source) => return Err(ProveError::Keyring { folder: shown(), source }),
        };
        events.check_keyring().map_err(|source| ProveError::Keyring { folder: shown(), source })?;
        Ok(events)
    }

    fn proof(
        &self,
        events: &mut EventReader<'_>,
        position: Position,
    ) -> Result<(SignedTreeHead, InclusionProof), ProveError> {
        let head = self.head(events, position)?;
        let LedgerOrigin { name: found, .. } = &head.head().origin;
        if found != self.name {
            let (folder, expected) = (self.path.display().to_string(), self.name.clone());
            return Err(ProveError::OtherName { folder, expected, found: found.clone() });
        }
        let proof = tree::prove(events, position, head.head());
        let proof = proof.map_err(|source| ProveError::Entry { position, source })?;
        Ok((head, proof))
    }

    /// Returns what is disclosed of the event; nothing of one whose content expired.
    fn content(
        &self,
        events: &mut EventReader<'_>,
        position: Position,
        disclosed: DisclosedPart,
    ) -> Result<Option<EvidenceContent>, EntryError> {
        let keys = events.keys.clone();
        let event = events.event(position)?;
        let record = decode_record(&event.record)?;
        if record.expired().is_some() {
            return if disclosed == DisclosedPart::Part { Err(EntryError::Expired) } else { Ok(None) };
        }
        let blind = keys.blind(&record.source, &record.id);
        let part: Option<RevealedPart> = match disclosed {
            DisclosedPart::Part => Some(entry::open(self.path, &keys, &record, event.part.as_deref())?),
            DisclosedPart::Nothing | DisclosedPart::Record => None,
        };
        Ok(Some(EvidenceContent { blind, record: event.record.clone(), part }))
    }

    /// Returns the head to prove under: the last cosigned one, which needs no other memory of the ledger, or the last
    /// signed one where that does not cover the event.
    fn head(&self, events: &EventReader<'_>, position: Position) -> Result<SignedTreeHead, ProveError> {
        let covers = |head: &SignedTreeHead| head.head().size >= position.get();
        let cosigned =
            self.last(events, "the cosigned head", |folder, number| Ok(vec![cosigned_note(folder, number)?]));
        let head = match cosigned?.filter(covers) {
            Some(cosigned) => Some(cosigned),
            None => self.last(events, "the tree heads", notes)?.filter(covers),
        };
        head.ok_or(ProveError::NoHead { position })
    }

    /// Returns the last of the notes beside the segments that this ledger has signed.
    fn last(
        &self,
        events: &EventReader<'_>,
        what: &str,
        read: impl Fn(&LedgerFolder<'_>, SegmentNumber) -> io::Result<Vec<String>>,
    ) -> Result<Option<SignedTreeHead>, ProveError> {
        let failed = |file: String| move |source| ProveError::Disk { file, source };
        let listing = events.folder.list().map_err(failed(self.path.display().to_string()))?;
        for number in listing.segments.iter().rev() {
            let notes = match read(events.folder, *number) {
                Ok(notes) => notes,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(failed(format!("{what} of segment {number}"))(error)),
            };
            let mut signed = notes.iter().rev().filter_map(|note| {
                let head = UnverifiedTreeHead::parse(note).ok()?;
                head.verify_with_chain(self.keyring.signing_chain()).ok()
            });
            let is_own = |head: &SignedTreeHead| head.head().origin.ledger == events.ledger();
            if let Some(head) = signed.find(is_own) {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }
}

/// Returns a receipt of these parts.
#[must_use]
pub fn receipt_text(position: Position, leaf: LeafEntry, proof: Vec<TreeHash>, tree_head: String) -> String {
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

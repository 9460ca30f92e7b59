//! The check against rollback: an older copy, a lost end, or a new ledger in the old one's place.

use std::sync::Arc;

use bitacora_formats::{
    Decompressor, Generation, LedgerId, LedgerName, Origin, Position, RecordData, SignedTreeHead,
    SigningChain, TreeHash, TreeHeadError, UnverifiedTreeHead, decode_body, decode_record,
};

use crate::error::ReadError;
use crate::receipt::Head;
use crate::replay::Replayed;
use crate::segments::Segment;
use crate::service_events::{CREATED_KIND, RECOVERED_KIND};

/// A difference between a ledger and the memory of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rollback {
    /// Another ledger stands under its name.
    #[error(
        "this ledger was made under the name {found}, not {expected}; bring the right one back to each name"
    )]
    OtherName {
        /// The name that it stands under.
        expected: LedgerName,
        /// The one that its first event says.
        found: LedgerName,
    },
    /// Another ledger has its name.
    #[error(
        "this is ledger {found}, the one remembered under the name {} is {}; bring that one back, or give this one an anchor of its own",
        remembered.name, remembered.ledger
    )]
    OtherLedger {
        /// The origin that is remembered.
        remembered: Origin,
        /// The ledger that is there.
        found: LedgerId,
    },
    /// Another ledger has its name and its identity: it was made with another keyring.
    #[error(
        "this ledger is not signed by the keyring that signed what is remembered under the name {0}; it is another one in its place: bring that one back, and find out who put this one here"
    )]
    OtherSigner(LedgerName),
    /// It is of another generation: a copy from before a declared loss, or one after it that was not declared to its end.
    #[error(
        "generation {} with {size} events is remembered, this is generation {found}; bring the newer copy back, or declare the loss with `bitacora recover --declare-loss`", remembered.0
    )]
    Generation {
        /// The generation that is remembered.
        remembered: Generation,
        /// Its events.
        size: u64,
        /// The root over them.
        root: TreeHash,
        /// The one that is there.
        found: u32,
    },
    /// It has fewer events than it had.
    #[error(
        "{remembered} events with the root {root} are remembered, this ledger has {found}; it is an older copy or lost its end, or a copy that was written to with the same keyring has moved the anchor: bring the one back that has those events, or declare the loss with `bitacora recover --declare-loss`"
    )]
    Shorter {
        /// The size that is remembered.
        remembered: u64,
        /// The root that is remembered.
        root: TreeHash,
        /// The number of events that are there.
        found: u64,
    },
    /// Its first events are others.
    #[error(
        "the first {size} events had the root {remembered}, here they have {}; it is another history, or a copy that was written to with the same keyring has moved the anchor: bring the right one back",
        found.map_or_else(|| "none".to_owned(), |root| root.to_string())
    )]
    OtherRoot {
        /// The size that is remembered.
        size: u64,
        /// The root that is remembered.
        remembered: TreeHash,
        /// The root of as many events here; `None` where no frame ends there.
        found: Option<TreeHash>,
    },
    /// A witness has cosigned more events than it has.
    #[error(
        "witness {witness} has cosigned {remembered} events of it, this ledger has {found}; it is an older copy or lost its end: bring the newer one back, or declare the loss with `bitacora recover --declare-loss`"
    )]
    Witnessed {
        /// The name of the witness.
        witness: String,
        /// The number of events that its last head covers.
        remembered: u64,
        /// The number of events that are there.
        found: u64,
    },
    /// A witness has cosigned other events.
    #[error(
        "witness {witness} has cosigned another tree of the first {size} events; it is another history: bring the right one back"
    )]
    WitnessedHistory {
        /// The name of the witness.
        witness: String,
        /// The size at which, or before which, the two differ.
        size: u64,
    },
    /// The remembered head was not signed by this ledger.
    #[error(
        "what is remembered of it shows nothing: {0}; find out who wrote it before anything else, then begin anew with --new-anchor"
    )]
    Untrusted(TreeHeadError),
    /// The bytes at the anchor cannot be a tree head.
    #[error("{0}")]
    Damaged(String),
    /// The anchor remembers nothing of a ledger that has signed tree heads.
    #[error(
        "the anchor remembers nothing of it, and {size} of its events are under a tree head; if the anchor's disk is not mounted, mount it; if it is a new anchor, say so with --new-anchor"
    )]
    Forgotten {
        /// The size of the last head beside its segments.
        size: u64,
    },
}

/// The facts about a ledger that others may remember.
pub(crate) struct Standing<'a> {
    pub(crate) ledger: LedgerId,
    pub(crate) generation: Generation,
    pub(crate) head: Head,
    pub(crate) signers: &'a SigningChain,
}

impl<'a> Standing<'a> {
    /// Returns the standing of a ledger that was read.
    pub(crate) fn of(replayed: &Replayed, signers: &'a SigningChain) -> Self {
        let Replayed { ledger, generation, head, .. } = *replayed;
        Self { ledger, generation, head, signers }
    }

    /// Compares the ledger with the note of a head that is remembered of it; `segment_holding` gives the segment of a position
    /// up to the head.
    pub(crate) fn check(
        &self,
        note: &str,
        segment_holding: impl FnOnce(Position) -> Option<Arc<Segment>>,
    ) -> Result<SignedTreeHead, Rollback> {
        let unverified = UnverifiedTreeHead::parse(note).map_err(Rollback::Untrusted)?;
        let remembered = unverified.origin().clone();
        if remembered.ledger != self.ledger {
            return Err(Rollback::OtherLedger { remembered, found: self.ledger });
        }
        let signed = unverified.verify_with_chain(self.signers).map_err(Rollback::Untrusted)?;
        self.check_head(&signed, segment_holding)?;
        Ok(signed)
    }

    /// The same for a head whose signature was verified.
    pub(crate) fn check_head(
        &self,
        signed: &SignedTreeHead,
        segment_holding: impl FnOnce(Position) -> Option<Arc<Segment>>,
    ) -> Result<(), Rollback> {
        let head = signed.head();
        let (size, root, found) = (head.size, head.root, self.head.position.get());
        if head.origin.generation != self.generation {
            let (remembered, found) = (head.origin.generation, self.generation.0);
            return Err(Rollback::Generation { remembered, size, root, found });
        }
        if size > found {
            return Err(Rollback::Shorter { remembered: size, root, found });
        }
        let found = match Position::new(size) {
            Some(last) if last == self.head.position => Some(self.head.tree_root),
            Some(last) => segment_holding(last).and_then(|segment| segment.root_after(last)),
            None => None,
        };
        if found == Some(root) { Ok(()) } else { Err(Rollback::OtherRoot { size, remembered: root, found }) }
    }
}

/// The name that the ledger was made under, as its first event says; `None` if that does not say one.
pub(crate) fn name_of(
    first: &Segment,
    decompressor: &mut Decompressor,
) -> Result<Option<LedgerName>, ReadError> {
    let created = first_data(first, CREATED_KIND, decompressor)?;
    let name = created.as_ref().and_then(|created| created.get("name")?.as_str());
    Ok(name.and_then(|name| name.parse().ok()))
}

/// A declared loss, as the segment's first event records it.
pub(crate) struct SaidLoss {
    pub(crate) generation: Generation,
    /// The note of the head that is lost, and the one that the anchor remembered, as far as they are known.
    pub(crate) notes: Vec<String>,
}

impl SaidLoss {
    /// `None` if the segment's first event declares no loss.
    pub(crate) fn of(segment: &Segment, decompressor: &mut Decompressor) -> Result<Option<Self>, ReadError> {
        let Some(said) = first_data(segment, RECOVERED_KIND, decompressor)? else { return Ok(None) };
        let generation = said.get("generation").and_then(|number| u32::try_from(number.as_u64()?).ok());
        let lost = said.get("lostHead").and_then(|lost| lost.get("note"));
        let notes = [lost, said.get("anchored")].into_iter().flatten();
        let notes = notes.filter_map(|note| Some(note.as_str()?.to_owned())).collect();
        Ok(generation.map(|generation| Self { generation: Generation(generation), notes }))
    }
}

/// The data of the segment's first event, if that is one of this type and has any.
fn first_data(
    segment: &Segment,
    kind: &str,
    decompressor: &mut Decompressor,
) -> Result<Option<serde_json::Value>, ReadError> {
    let Some(place) = segment.find(segment.first)? else { return Ok(None) };
    let body = segment.open(&place, decompressor)?;
    let corrupt = |error: &dyn std::fmt::Display| segment.corrupt(place.offset, Some(&place), error);
    let decoded = decode_body(&body, place.header.count).map_err(|error| corrupt(&error))?;
    let Some(entry) = decoded.entries().next() else { return Ok(None) };
    let record = decode_record(entry.record).map_err(|error| corrupt(&error))?;
    let data = match &record.data {
        RecordData::Json(json) if record.kind == kind => serde_json::from_slice(json.as_bytes()).ok(),
        _ => None,
    };
    Ok(data)
}

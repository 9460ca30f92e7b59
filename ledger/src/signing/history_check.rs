//! The comparison of a ledger's history with what others remember of it, and with what its events say of it.

use std::sync::Arc;

use bitacora_formats::{
    Decompressor, Generation, LedgerId, LedgerName, Position, RecordData, SignedTreeHead, SigningChain,
    UnverifiedTreeHead, decode_body, decode_record,
};

use crate::append::service_events::{CREATED_KIND, RECOVERED_KIND};
use crate::heads::rollback::Rollback;
use crate::read_error::ReadError;
use crate::receipt::Head;
use crate::replay::ReplayedLog;
use crate::segments::Segment;

/// The facts about a ledger that others may remember.
pub(crate) struct HistoryCheck<'a> {
    pub(crate) ledger: LedgerId,
    pub(crate) generation: Generation,
    pub(crate) head: Head,
    pub(crate) signers: &'a SigningChain,
}

impl<'a> HistoryCheck<'a> {
    /// Returns the standing of a ledger that was read.
    pub(crate) fn of(replayed: &ReplayedLog, signers: &'a SigningChain) -> Self {
        let ReplayedLog { ledger, generation, head, .. } = *replayed;
        Self { ledger, generation, head, signers }
    }

    /// Compares the ledger with the note of a known head of it; `segment_holding` gives the segment of a position
    /// up to the head.
    pub(crate) fn check(
        &self,
        note: &str,
        segment_holding: impl FnOnce(Position) -> Option<Arc<Segment>>,
    ) -> Result<SignedTreeHead, Rollback> {
        let unverified = UnverifiedTreeHead::parse(note).map_err(Rollback::Untrusted)?;
        let known = unverified.origin().clone();
        if known.ledger != self.ledger {
            return Err(Rollback::OtherLedger { known, found: self.ledger });
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
            let (known, found) = (head.origin.generation, self.generation.0);
            return Err(Rollback::Generation { known, size, root, found });
        }
        if size > found {
            return Err(Rollback::Shorter { known: size, root, found });
        }
        let found = match Position::new(size) {
            Some(last) if last == self.head.position => Some(self.head.tree_root),
            Some(last) => segment_holding(last).and_then(|segment| segment.root_after(last)),
            None => None,
        };
        if found == Some(root) { Ok(()) } else { Err(Rollback::OtherRoot { size, known: root, found }) }
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
pub(crate) struct RecordedLoss {
    pub(crate) generation: Generation,
    /// The note of the head that is lost, and the one that the anchor held, as far as they are known.
    pub(crate) notes: Vec<String>,
}

impl RecordedLoss {
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

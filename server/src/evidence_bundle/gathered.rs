//! The events of a bundle as they are gathered, each with what opens its commitment.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{
    After, Commitment, EventDraft, LedgerKeys, Micros, Position, Record, Secret, commitment, encode_record,
};
use bitacora_ledger::{InclusionProof, PublishedHead, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use serde::Serialize;

use crate::json::hex;
use crate::limits::{MAX_BUNDLE_BYTES, MAX_BUNDLE_EVENTS};
use crate::page::write_event_on_line;
use crate::problem::{Code, Problem};

/// The size of an event's proof beside its record, about, bytes.
const PROOF_BYTES: usize = 1024;

/// Events, and what opens the commitment of each.
#[derive(Default)]
pub(super) struct Gathered {
    events: Vec<u8>,
    opened: Vec<OpenedEvent>,
    /// Bytes of the records.
    records: usize,
}

/// An event in the tree, and what opens its commitment.
struct OpenedEvent {
    position: Position,
    time: Micros,
    commitment: Commitment,
    opening: Opening,
}

/// A record, with the blind of its commitment.
enum Opening {
    Record(Secret, Vec<u8>),
    /// Not read yet where it lies: an event of a data subject does not show the seal in its record.
    Unread(Secret),
    /// The content expired: nothing is left that gives the commitment.
    Expired,
}

/// A line of the proofs. Blind and record are left out where the content expired.
#[derive(Serialize)]
struct ProofLine {
    position: String,
    time: String,
    commitment: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    blind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<String>,
    proof: Vec<String>,
}

impl Gathered {
    /// Takes in a page of events. Returns the beginning of the next one.
    pub(super) fn take_page(
        &mut self,
        ledger: &IndexedLedger,
        keys: &LedgerKeys,
        query: &ReadQuery,
    ) -> Result<Option<ReadFrom>, Problem> {
        let begin = self.opened.len();
        // An expired event does not say its session or run any more.
        let is_of_a_session = query.filter.session.is_some() || query.filter.run.is_some();
        let end = ledger.read_each(query, &mut |event| {
            if event.expired_by.is_none() || !is_of_a_session {
                self.take(event, keys);
            }
        })?;
        for opened in self.opened.iter_mut().skip(begin) {
            opened.opening = match std::mem::replace(&mut opened.opening, Opening::Expired) {
                Opening::Unread(blind) => {
                    let record = stored_record(ledger, opened, &blind)?;
                    Opening::Record(blind, record)
                }
                opening => opening,
            };
            if let Opening::Record(_, record) = &opened.opening {
                self.records += record.len();
            }
        }
        self.check_limits()?;
        Ok(end.next)
    }

    fn take(&mut self, stored: StoredEvent<'_>, keys: &LedgerKeys) {
        let is_expired = stored.expired_by.is_some();
        self.events = write_event_on_line(&stored, std::mem::take(&mut self.events));
        self.events.push(b'\n');
        let StoredEvent { position, time, commitment: expected, redactions, event, .. } = stored;
        let opened = |opening| OpenedEvent { position, time, commitment: expected, opening };
        if is_expired {
            self.opened.push(opened(Opening::Expired));
            return;
        }
        let blind = keys.blind(&event.source, &event.id);
        let record = match Record::draft(event, redactions) {
            EventDraft::Clear(record) => encode_record(&record).ok(),
            EventDraft::Sensitive { .. } => None,
        };
        let record = record.filter(|record| commitment(&blind, record) == expected);
        self.opened.push(opened(match record {
            Some(record) => Opening::Record(blind, record),
            None => Opening::Unread(blind),
        }));
    }

    fn check_limits(&self) -> Result<(), Problem> {
        let bytes = self.events.len() + self.records / 3 * 4 + self.opened.len() * PROOF_BYTES;
        if self.opened.len() <= MAX_BUNDLE_EVENTS && bytes <= MAX_BUNDLE_BYTES {
            return Ok(());
        }
        let detail = format!(
            "a bundle has at most {MAX_BUNDLE_EVENTS} events and {} MiB; choose a shorter range, a session or a run",
            MAX_BUNDLE_BYTES >> 20
        );
        Err(Problem::new(Code::BadQuery, detail))
    }

    /// Returns the first and the last position.
    pub(super) fn span(&self) -> Option<(Position, Position)> {
        Some((self.opened.first()?.position, self.opened.last()?.position))
    }

    /// Returns the number of events.
    pub(super) fn count(&self) -> usize {
        self.opened.len()
    }

    /// Returns the events, as the interface gives them, one a line.
    pub(super) fn into_events(self) -> Vec<u8> {
        self.events
    }

    /// Returns the proof of each event under this head, one a line. Each is compared with the head first.
    pub(super) fn proofs(&self, ledger: &IndexedLedger, head: &PublishedHead) -> Result<Vec<u8>, Problem> {
        let mut lines = Vec::with_capacity(self.records / 3 * 4 + self.opened.len() * PROOF_BYTES);
        for opened in &self.opened {
            let InclusionProof { leaf, hashes, root, .. } =
                ledger.prove_inclusion(opened.position, head.size)?;
            if root != head.root || leaf.commitment != opened.commitment || leaf.time != opened.time {
                let what = format!("the tree has another event at position {}", opened.position);
                return Err(ReadError::TreeBehind(what).into());
            }
            let (blind, record) = match &opened.opening {
                Opening::Record(blind, record) => (Some(hex(blind.expose())), Some(BASE64.encode(record))),
                Opening::Unread(_) | Opening::Expired => (None, None),
            };
            let line = ProofLine {
                position: opened.position.to_string(),
                time: opened.time.0.to_string(),
                commitment: opened.commitment.to_string(),
                blind,
                record,
                proof: hashes.iter().map(|hash| BASE64.encode(hash.0)).collect(),
            };
            serde_json::to_writer(&mut lines, &line)
                .map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

/// Reads a record where it lies.
fn stored_record(ledger: &IndexedLedger, opened: &OpenedEvent, blind: &Secret) -> Result<Vec<u8>, Problem> {
    let mut found = None;
    let before = After::new(opened.position.get() - 1);
    ledger
        .ledger()
        .visit(before, opened.position, &mut |visited| found = encode_record(&visited.record).ok())?;
    let found = found.filter(|record| commitment(blind, record) == opened.commitment);
    found.ok_or_else(|| {
        let detail = format!(
            "the record at position {} is not the one that was committed to; verify the ledger",
            opened.position
        );
        Problem::new(Code::Internal, detail)
    })
}

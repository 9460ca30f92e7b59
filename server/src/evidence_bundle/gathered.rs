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

/// An event's record, with the blind of its commitment.
struct OpenedEvent {
    position: Position,
    time: Micros,
    commitment: Commitment,
    blind: Secret,
    /// `None` until it is read where it lies: an event of a data subject does not show the seal in its record.
    record: Option<Vec<u8>>,
}

/// A line of the proofs.
#[derive(Serialize)]
struct ProofLine {
    position: String,
    time: String,
    commitment: String,
    blind: String,
    record: String,
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
        let end = ledger.read_each(query, &mut |event| self.take(event, keys))?;
        for opened in self.opened.iter_mut().skip(begin) {
            let record = match opened.record.take() {
                Some(record) => record,
                None => stored_record(ledger, opened)?,
            };
            self.records += record.len();
            opened.record = Some(record);
        }
        self.check_limits()?;
        Ok(end.next)
    }

    fn take(&mut self, stored: StoredEvent<'_>, keys: &LedgerKeys) {
        // Nothing of its content can be shown, or proven.
        if stored.expired_by.is_some() {
            return;
        }
        self.events = write_event_on_line(&stored, std::mem::take(&mut self.events));
        self.events.push(b'\n');
        let blind = keys.blind(&stored.event.source, &stored.event.id);
        let StoredEvent { position, time, commitment: expected, redactions, event, .. } = stored;
        let record = match Record::draft(event, redactions) {
            EventDraft::Clear(record) => encode_record(&record).ok(),
            EventDraft::Sensitive { .. } => None,
        };
        let record = record.filter(|record| commitment(&blind, record) == expected);
        self.opened.push(OpenedEvent { position, time, commitment: expected, blind, record });
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
            let line = ProofLine {
                position: opened.position.to_string(),
                time: opened.time.0.to_string(),
                commitment: opened.commitment.to_string(),
                blind: hex(opened.blind.expose()),
                record: BASE64.encode(opened.record.as_deref().unwrap_or_default()),
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
fn stored_record(ledger: &IndexedLedger, opened: &OpenedEvent) -> Result<Vec<u8>, Problem> {
    let mut found = None;
    let before = After::new(opened.position.get() - 1);
    ledger
        .ledger()
        .visit(before, opened.position, &mut |visited| found = encode_record(&visited.record).ok())?;
    let found = found.filter(|record| commitment(&opened.blind, record) == opened.commitment);
    found.ok_or_else(|| {
        let detail = format!(
            "the record at position {} is not the one that was committed to; verify the ledger",
            opened.position
        );
        Problem::new(Code::Internal, detail)
    })
}

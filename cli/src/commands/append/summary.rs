//! The summary of one command's appends.

use serde_json::{Value, json};

use crate::ledger_access::append_retry::{AppendOutcome, EventReceipt};
use crate::terminal::output::printable;

/// The events and requests acknowledged so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    requests: u64,
    created: u64,
    duplicates: u64,
    derived: usize,
    first: Option<u64>,
    last: Option<u64>,
    head: Option<(String, String)>,
}

impl Summary {
    pub(super) fn add(&mut self, outcome: &AppendOutcome) {
        self.requests += 1;
        self.derived += outcome.derived;
        self.head = Some((outcome.head_position.clone(), outcome.head_hash.clone()));
        for receipt in &outcome.receipts {
            if receipt.is_new {
                self.created += 1;
            } else {
                self.duplicates += 1;
            }
            if let Ok(position) = receipt.position.parse() {
                self.first = Some(self.first.map_or(position, |first: u64| first.min(position)));
                self.last = Some(self.last.map_or(position, |last: u64| last.max(position)));
            }
        }
    }

    /// Returns the number of acknowledged events, repetitions included.
    pub(super) fn events(&self) -> u64 {
        self.created + self.duplicates
    }

    pub(super) fn to_json(&self, retries: u64) -> Value {
        let text = |position: Option<u64>| position.map(|position| position.to_string());
        let head = self.head.as_ref().map(|(position, hash)| json!({"position": position, "hash": hash}));
        json!({
            "events": self.events(),
            "created": self.created,
            "duplicates": self.duplicates,
            "derived": self.derived,
            "first": text(self.first),
            "last": text(self.last),
            "requests": self.requests,
            "retries": retries,
            "head": head,
        })
    }

    pub(super) fn line(&self, retries: u64) -> String {
        let Self { requests, created, duplicates, .. } = self;
        let mut line =
            format!("{created} events appended, {duplicates} were there before, {requests} requests");
        if let (Some(first), Some(last)) = (self.first, self.last) {
            line.push_str(&format!(", positions {first} to {last}"));
        }
        if retries > 0 {
            line.push_str(&format!(", {retries} tries repeated"));
        }
        line
    }
}

pub(super) fn receipt_json(receipt: &EventReceipt) -> Value {
    json!({
        "id": receipt.id,
        "position": receipt.position,
        "streamVersion": receipt.stream_version,
        "commitment": receipt.commitment,
        "status": status(receipt),
    })
}

pub(super) fn receipt_line(receipt: &EventReceipt) -> String {
    format!("{:>10} {:<9} {}", receipt.position, status(receipt), printable(&receipt.id))
}

fn status(receipt: &EventReceipt) -> &'static str {
    if receipt.is_new { "created" } else { "duplicate" }
}

//! The receipt of an append, and the head it rests on.

use bitacora_formats::{ChainHash, Commitment, Micros, Position, StreamVersion, TreeHash};
use bitacora_governance::DerivedValue;

/// The answer to an append: the proof that its events are synced to disk, at these positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendReceipt {
    /// The lowest position among the request's own events.
    pub first: Position,
    /// The highest position among the request's own events.
    pub last: Position,
    /// One for each event, in the request's order.
    pub results: Vec<EventReceipt>,
    /// The events that the reactor added in the same atomic step.
    pub derived: Vec<DerivedReceipt>,
    /// A durable head that covers all of it.
    pub head: Head,
}

impl AppendReceipt {
    /// Returns `true` if every event had been accepted before, so that nothing was added.
    #[must_use]
    pub fn only_duplicates(&self) -> bool {
        self.results.iter().all(|result| result.status == ReceiptStatus::Duplicate)
    }

    /// Returns the events that the reactor added for this very append, and none of an earlier one that it repeats.
    pub fn new_derived(&self) -> impl Iterator<Item = &DerivedReceipt> {
        let created = self.results.iter().filter(|result| result.status == ReceiptStatus::Created);
        let first = created.map(|result| result.position).min();
        self.derived.iter().filter(move |derived| first.is_some_and(|first| derived.position > first))
    }
}

/// The place of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventReceipt {
    /// The event's `id`.
    pub id: String,
    /// Its position in the ledger.
    pub position: Position,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// The commitment to its record.
    pub commitment: Commitment,
    /// The part of this append in it: added, or found.
    pub status: ReceiptStatus,
}

/// The origin of a receipt: this append, or an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// This append added it.
    Created,
    /// An earlier append had added it; the receipt is the original one.
    Duplicate,
}

/// The place of an event that the reactor derived. Two are equal if they are of the same event at the same place.
#[derive(Debug, Clone)]
pub struct DerivedReceipt {
    /// Its `id`.
    pub id: String,
    /// Its `type`.
    pub kind: String,
    /// Its stream (`subject`).
    pub stream: String,
    /// Its position in the ledger.
    pub position: Position,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// The commitment to its record.
    pub commitment: Commitment,
    /// The time of its frame.
    pub time: Micros,
    /// The meaning of the event, if it was derived for this very append; else the log has to be read.
    pub meaning: Option<DerivedValue>,
}

impl PartialEq for DerivedReceipt {
    fn eq(&self, other: &Self) -> bool {
        let Self { id, kind, stream, position, stream_version, commitment, time, meaning: _ } = self;
        (id, kind, stream, position, stream_version, commitment, time)
            == (
                &other.id,
                &other.kind,
                &other.stream,
                &other.position,
                &other.stream_version,
                &other.commitment,
                &other.time,
            )
    }
}

impl Eq for DerivedReceipt {}

/// The last durable position and what commits to all up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last durable position; every ledger has one, since position 1 is `ledger.created`.
    pub position: Position,
    /// The hash of the frame that ends there.
    pub hash: ChainHash,
    /// The time of that frame.
    pub time: Micros,
    /// The RFC 6962 root over all events up to it; the tree's size is the position.
    pub tree_root: TreeHash,
}

//! The calls of an indexed ledger that the ledger itself answers.
//!
//! Each is named, so that no call bypasses the index by accident. `read` and `read_each` search the index, and `close` ends its
//! followers first: these three are the indexed ledger's own.

use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{After, LeafEntry, LedgerId, Micros, Position, StreamVersion, TreeHash, VerifierKey};
use bitacora_ledger::{
    AppendError, AppendRequest, ConsistencyProof, Environment, Head, InclusionProof, Ledger, LogFault,
    PendingAppend, PublishedHead, ReadError, Status, StoredEvent,
};
use tokio::sync::watch;

use super::IndexedLedger;

impl IndexedLedger {
    /// Returns the ledger below the index. Its reads look at every event, and its `close` leaves the followers running.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.inner.index.ledger
    }
}

/// Writing.
impl IndexedLedger {
    /// Appends as [`Ledger::append`] does.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append(&self, request: AppendRequest<'_>) -> Result<PendingAppend, AppendError> {
        self.ledger().append(request)
    }

    /// Appends in the reserved lane, as [`Ledger::append_ahead`] does.
    ///
    /// # Errors
    /// As [`Ledger::append_ahead`].
    pub fn append_ahead(&self, request: AppendRequest<'_>) -> Result<PendingAppend, AppendError> {
        self.ledger().append_ahead(request)
    }

    /// Returns the digest under which a piece of content is stored: [`Ledger::content_digest`].
    ///
    /// # Errors
    /// As [`Ledger::content_digest`].
    pub fn content_digest(&self, subject: Option<&str>, piece: &[u8]) -> Result<[u8; 32], AppendError> {
        self.ledger().content_digest(subject, piece)
    }

    /// Ends the segment: [`Ledger::end_segment`].
    pub fn end_segment(&self) {
        self.ledger().end_segment();
    }

    /// Takes no more appends, or takes them again: [`Ledger::set_read_only`].
    pub fn set_read_only(&self, read_only: bool) {
        self.ledger().set_read_only(read_only);
    }
}

/// Reading single events and positions.
impl IndexedLedger {
    /// Returns the event at a position: [`Ledger::event`].
    ///
    /// # Errors
    /// As [`Ledger::event`].
    pub fn event(&self, position: Position) -> Result<StoredEvent<'static>, ReadError> {
        self.ledger().event(position)
    }

    /// Returns the last version and position of a stream: [`Ledger::stream_tip`].
    #[must_use]
    pub fn stream_tip(&self, stream: &str) -> Option<(StreamVersion, Position)> {
        self.ledger().stream_tip(stream)
    }

    /// Divides a range of events into pieces: [`Ledger::divide`].
    #[must_use]
    pub fn divide(&self, after: After, until: Position, events: u64, pieces: usize) -> Vec<Position> {
        self.ledger().divide(after, until, events, pieces)
    }

    /// Returns the first position at a time or later: [`Ledger::first_at`].
    ///
    /// # Errors
    /// As [`Ledger::first_at`].
    pub fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        self.ledger().first_at(time)
    }

    /// Returns the first position that is certainly at a time or later: [`Ledger::first_certainly_at`].
    ///
    /// # Errors
    /// As [`Ledger::first_certainly_at`].
    pub fn first_certainly_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        self.ledger().first_certainly_at(time)
    }
}

/// Heads and proofs.
impl IndexedLedger {
    /// Returns the durable head: [`Ledger::head`].
    #[must_use]
    pub fn head(&self) -> Head {
        self.ledger().head()
    }

    /// Returns a receiver of every new durable head: [`Ledger::watch_head`].
    #[must_use]
    pub fn watch_head(&self) -> watch::Receiver<Head> {
        self.ledger().watch_head()
    }

    /// Returns the newest signed tree head: [`Ledger::tree_head`].
    #[must_use]
    pub fn tree_head(&self) -> Option<Arc<PublishedHead>> {
        self.ledger().tree_head()
    }

    /// Returns the newest tree head with its cosignatures: [`Ledger::witnessed_head`].
    #[must_use]
    pub fn witnessed_head(&self) -> Option<Arc<PublishedHead>> {
        self.ledger().witnessed_head()
    }

    /// Returns leaves of the tree: [`Ledger::leaves`].
    ///
    /// # Errors
    /// As [`Ledger::leaves`].
    pub fn leaves(&self, group: u64, width: usize) -> Result<Vec<LeafEntry>, ReadError> {
        self.ledger().leaves(group, width)
    }

    /// Returns a tile of the tree: [`Ledger::tile`].
    ///
    /// # Errors
    /// As [`Ledger::tile`].
    pub fn tile(&self, level: u32, index: u64, width: usize) -> Result<Vec<TreeHash>, ReadError> {
        self.ledger().tile(level, index, width)
    }

    /// Proves that an event is in the tree: [`Ledger::prove_inclusion`].
    ///
    /// # Errors
    /// As [`Ledger::prove_inclusion`].
    pub fn prove_inclusion(&self, position: Position, size: u64) -> Result<InclusionProof, ReadError> {
        self.ledger().prove_inclusion(position, size)
    }

    /// Proves that one tree extends another: [`Ledger::prove_consistency`].
    ///
    /// # Errors
    /// As [`Ledger::prove_consistency`].
    pub fn prove_consistency(&self, from: u64, to: u64) -> Result<ConsistencyProof, ReadError> {
        self.ledger().prove_consistency(from, to)
    }
}

/// Identity and condition.
impl IndexedLedger {
    /// Returns the ledger's identity: [`Ledger::id`].
    #[must_use]
    pub fn id(&self) -> LedgerId {
        self.ledger().id()
    }

    /// Returns the key that its tree heads are verified with: [`Ledger::verifier_key`].
    #[must_use]
    pub fn verifier_key(&self) -> Option<VerifierKey> {
        self.ledger().verifier_key()
    }

    /// Returns the environment for files of a folder: [`Ledger::environment_of`].
    #[must_use]
    pub fn environment_of(&self, folder: &Path, environment: &Environment) -> Environment {
        self.ledger().environment_of(folder, environment)
    }

    /// Returns the status of the log: [`Ledger::status`]. The index has its own: [`Self::index_status`].
    #[must_use]
    pub fn status(&self) -> Status {
        self.ledger().status()
    }

    /// Returns the reason why the ledger holds less than it did: [`Ledger::doubt`].
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        self.ledger().doubt()
    }

    /// Returns the damage by which events are lost: [`Ledger::damage`].
    #[must_use]
    pub fn damage(&self) -> Option<LogFault> {
        self.ledger().damage()
    }

    /// Returns the damage by which events behind the head are lost: [`Ledger::lost_end`].
    #[must_use]
    pub fn lost_end(&self) -> Option<LogFault> {
        self.ledger().lost_end()
    }
}

//! The status of a ledger, for `/readyz`, `/metrics` and the operator.

use crate::heads::signer_handle::HeadStatus;
use crate::heads::witness::handle::WitnessedStatus;
use crate::host::scrub_progress::ScrubStatus;
use crate::receipt::Head;
use crate::writer_state::{Counters, WriterState};

/// A moment's view of a ledger; every number is read without stopping the sequencer.
#[derive(Debug, Clone)]
pub struct Status {
    /// The state of the writer: ready, or the reason for which no append can be made durable.
    pub writer: WriterState,
    /// The durable head.
    pub head: Head,
    /// Bytes waiting for the sequencer.
    pub queue_bytes: usize,
    /// Requests waiting for the sequencer.
    pub queue_requests: usize,
    /// Segment files that hold events.
    pub segments: usize,
    /// `true` if every stored byte that this opening found was walked over. Old segments are walked over in the background, after the
    /// opening. Damage found there makes the ledger read-only.
    pub is_proven: bool,
    /// The rounds of the scrub, which read every frame on this disk again.
    pub scrub: ScrubStatus,
    /// The state of the tree heads.
    pub heads: HeadStatus,
    /// The state of the tree heads at the witnesses; `None` without witnesses.
    pub witnessed: Option<WitnessedStatus>,
    /// Counted since this opening.
    pub counters: Counters,
}

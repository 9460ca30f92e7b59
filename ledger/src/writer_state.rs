//! The state of a ledger's writer: whether it takes appends, and what it has done since the opening.

use crate::log_fault::LogFault;

/// Totals since this opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events made durable, the service's own included.
    pub events: u64,
    /// Frames synced.
    pub frames: u64,
    /// Bytes written to segments.
    pub stored_bytes: u64,
    /// Bytes of the same frames before compression.
    pub body_bytes: u64,
    /// Time spent in `fdatasync`, in microseconds.
    pub sync_us: u64,
    /// Events answered as duplicates.
    pub duplicates: u64,
    /// Requests refused by the sequencer.
    pub refused: u64,
    /// Secrets replaced before an append.
    pub redactions: u64,
}

/// The ability of a ledger to make appends durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriterState {
    /// Yes.
    Ready,
    /// No, and nothing is lost: reads go on, and appends are refused without effect until the reason is gone.
    ReadOnly(ReadOnlyReason),
    /// No, for good in this process: a write or sync of the live segment failed, so what reached the disk is unknown.
    Poisoned(String),
    /// No: the ledger is draining.
    Closing,
    /// No: the ledger is closed.
    Closed,
}

impl WriterState {
    /// Returns `true` if an append could be made durable now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Returns `true` if appends are refused until the ledger is opened again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Poisoned(_) | Self::Closing | Self::Closed) || self.is_wrong()
    }

    /// Returns `true` if appends are refused for good, because the stored bytes are not what they have to be.
    pub(crate) fn is_wrong(&self) -> bool {
        matches!(self, Self::ReadOnly(ReadOnlyReason::Corrupt(_) | ReadOnlyReason::Diverged(_)))
    }
}

/// The reasons for which a ledger takes no appends although nothing failed under it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadOnlyReason {
    /// The next segment could not be made for want of space.
    #[error(
        "the disk is full: the next segment could not be made; appends resume by themselves when there is space"
    )]
    DiskFull,
    /// The next segment could not be made for another reason.
    #[error("the next segment could not be made: {0}; it is tried again")]
    NoSegment(String),
    /// Too many identities of ended segments are in memory, and the disk does not take their tables.
    #[error("the tables of ended segments could not be written: {0}; it is tried again")]
    NoIdTable(String),
    /// The stored bytes are damaged; what is proven is still served.
    #[error("{0}; appends stay refused until the file is restored from a copy")]
    Corrupt(LogFault),
    /// Others remember another history of this ledger.
    #[error("{0}; appends stay refused: find out which copy is the right one")]
    Diverged(String),
    /// The anchor that has to remember tree heads does not answer.
    #[error("{0}; appends resume by themselves when it answers")]
    NoAnchor(String),
    /// This handle only reads.
    #[error(
        "the ledger is open for reading only; append through the service, or while no other process has it"
    )]
    ForReading,
    /// An operator asked for it.
    #[error("an operator set this ledger read-only")]
    Operator,
}

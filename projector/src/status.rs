//! The status of the index, for `/v1/projections`, `/metrics` and the operator.

use bitacora_formats::Position;

/// A moment's view of a ledger's index.
#[derive(Debug, Clone)]
pub struct IndexStatus {
    /// The format of the index.
    pub version: u16,
    /// The last position up to which it knows every event; `None` before the first.
    pub position: Option<Position>,
    /// Durable events past that position.
    pub lag: u64,
    /// The state of the index.
    pub state: IndexState,
    /// The digest over all whole blocks from the ledger's first position on, and the last position they cover.
    pub digest: Option<(Position, [u8; 32])>,
    /// Blocks on the disk.
    pub blocks: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Blocks that were not believed since the ledger was opened.
    pub doubts: u64,
}

/// The state of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    /// It follows the head.
    Ok,
    /// It is being made, or made again; what it does not know yet is read from the log.
    Rebuilding,
    /// Something it needs fails, and is tried again; what it does not know is read from the log.
    Degraded(String),
    /// Its follower has ended on a defect or with the ledger.
    Stopped,
}

impl IndexState {
    /// The state's name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rebuilding => "rebuilding",
            Self::Degraded(_) => "degraded",
            Self::Stopped => "stopped",
        }
    }
}

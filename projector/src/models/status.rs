//! The status of a read model, for `/v1/projections`, `/metrics` and the operator.

use bitacora_formats::Position;

use super::recall_slots::RecallRefusal;

/// A moment's view of one model.
#[derive(Debug, Clone)]
pub struct ModelStatus {
    /// Its name.
    pub name: &'static str,
    /// The version of its fold.
    pub version: u32,
    /// The last event that is folded; `None` before the first.
    pub position: Option<Position>,
    /// Durable events past that one.
    pub lag: u64,
    /// The state of the model.
    pub state: ModelState,
    /// `true` if questions are answered from it now. A degraded model may have nothing to answer from.
    pub answers: bool,
    /// Rows, and what they come to, as of a position: the same events give the same.
    pub digest: Option<(Position, u64, [u8; 32])>,
    /// The position of its last cut; `None` without one. Rows that no event behind it wrote have left.
    pub cut: Option<Position>,
    /// Rows that have left. They are not counted as rows.
    pub left: u64,
    /// `true` while rows have yet to leave.
    pub is_cutting: bool,
    /// Events that could not be folded, because they change rows that left. While there are any, it is folded again.
    pub late: u64,
    /// Bytes of its tables on the disk; `None` while nothing is answered. Rows that only the journal holds are not counted.
    pub bytes: Option<u64>,
    /// The number of times that its rows were not believed since the ledger was opened.
    pub doubts: u64,
}

/// The state of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelState {
    /// It follows the head, and answers.
    Ok,
    /// It is folded, or folded again, or its rows are looked through; it answers once that is done.
    Rebuilding,
    /// Something it needs fails, and is tried again; it answers what it knows, if there is anything.
    Degraded(String),
    /// It cannot take in an event, which is named, or not read what it wrote itself, and answers no more.
    Stopped(String),
}

impl ModelState {
    /// The state's name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rebuilding => "rebuilding",
            Self::Degraded(_) => "degraded",
            Self::Stopped(_) => "stopped",
        }
    }
}

/// The reasons for which a model does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is folded, or folded again; it will answer once it has come to where it was.
    #[error("{model} is being folded from the log; ask again")]
    Rebuilding {
        /// The model.
        model: &'static str,
    },
    /// It has nothing to answer from, and what it is folded from or kept in fails. It is tried again.
    #[error("{model} cannot be folded from the log now: {why}")]
    Failing {
        /// The model.
        model: &'static str,
        /// The failure.
        why: String,
    },
    /// Rows that left the store are asked about. They are folded again from the first event.
    #[error(
        "the answer needs rows of {model} that left the store; they are folded again, up to position {position} of {of} so far; ask again"
    )]
    Recalling {
        /// The model.
        model: &'static str,
        /// The last event that is folded; 0 before the first.
        position: u64,
        /// The position that it has to come to.
        of: u64,
    },
    /// The same, and it is not folded again yet.
    #[error("the answer needs rows of {model} that left the store; {why}; ask again in {retry_after_s} s")]
    RecallWaits {
        /// The model.
        model: &'static str,
        /// The reason.
        why: RecallRefusal,
        /// Seconds before which it is not begun.
        retry_after_s: u64,
    },
    /// Rows that left the store cannot be folded again.
    #[error("the answer needs rows of {model} that left the store, and they cannot be folded again: {why}")]
    NotRecalled {
        /// The model.
        model: &'static str,
        /// The failure: events that are missing.
        why: String,
    },
    /// It stopped at an event.
    #[error("{model} has stopped: {why}")]
    Stopped {
        /// The model.
        model: &'static str,
        /// The place and the reason.
        why: String,
    },
}

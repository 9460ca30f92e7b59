//! The reasons for which the deciding state cannot be had where content of events that it rests on expired.

use bitacora_formats::Position;

use crate::archive_tier::{ArchiveTierError, ArchiveTierErrorKind};

/// Content that the deciding state rests on expired, and no state that stands behind it can be used. Nothing is decided without those
/// events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the deciding state cannot be had: the content of the event at position {position} expired, and no readable state stands behind it: {why}"
)]
pub struct MissingState {
    /// The position of the event.
    pub position: Position,
    /// The reason for which no state can be used.
    pub why: MissingStateReason,
}

impl MissingState {
    /// Returns `true` if the state may be there later: the store did not answer, or lacks the archive now.
    #[must_use]
    pub fn may_be_there_later(&self) -> bool {
        matches!(&self.why, MissingStateReason::Archive(error) if error.kind == ArchiveTierErrorKind::Unavailable)
    }
}

/// The reasons for which no kept state can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingStateReason {
    /// None is kept that this program reads.
    #[error(
        "no archive keeps a state by versions {oldest} to {newest} of the rules; bring back the archives with their manifests"
    )]
    None {
        /// The first version whose states this program reads.
        oldest: u32,
        /// The last one.
        newest: u32,
    },
    /// The newest one that can be read stands before the event.
    #[error(
        "found the newest readable state after position {0}; bring back the archives behind it, with their manifests"
    )]
    Earlier(Position),
    /// The archive that keeps it does not give it.
    #[error("{0}; bring that archive back, with the ledger's keyring")]
    Archive(ArchiveTierError),
    /// The state that a restoration carried along cannot be used.
    #[error("{file}: {what}; restore the ledger from its archives again")]
    Restored {
        /// The file.
        file: String,
        /// The fault, in words.
        what: String,
    },
    /// It is no state that this program can restore.
    #[error("the state after position {position} cannot be used: {what}")]
    Unfit {
        /// The last event that is folded in it.
        position: Position,
        /// The fault, in words.
        what: String,
    },
}

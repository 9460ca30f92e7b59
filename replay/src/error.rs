//! The reasons why a replay has no result.

use bitacora_formats::Position;
use bitacora_governance::{REACTOR_VERSION, UnwritableState};
use bitacora_ledger::{ReadError, ReplayProgressError};

/// The reason why a replay has no result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The log could not be read.
    #[error(transparent)]
    Ledger(#[from] ReadError),
    /// The file of a stopped replay could not be used.
    #[error(transparent)]
    Progress(#[from] ReplayProgressError),
    /// The state of a stopped replay is not one.
    #[error(
        "what was kept of an earlier replay: {0}; remove the file, and everything is folded from the first event on"
    )]
    Kept(String),
    /// The state in the archives is not one.
    #[error("the state that archives keep: {0}")]
    Archived(String),
    /// The archives hold no state by these rules that is old enough.
    #[error("archives keep no state by version {REACTOR_VERSION} of the rules of an event up to {0}")]
    NoneArchived(Position),
    /// No policy has this version.
    #[error("there is no version {0} of the policy")]
    NoSuchPolicy(u64),
    /// The tried policy cannot judge.
    #[error("the policy: {0}")]
    Policy(String),
    /// The state has no digest.
    #[error(transparent)]
    State(#[from] UnwritableState),
}

//! The reasons why a replay has no result.

use bitacora_formats::Position;
use bitacora_governance::{OLDEST_READABLE_STATE, REACTOR_VERSION, UnwritableState};
use bitacora_ledger::{MissingStateReason, ReadError, ReplayProgressError};

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
    /// A kept state cannot be read.
    #[error("the state that a replay has to begin with: {0}")]
    KeptState(#[from] MissingStateReason),
    /// The archives hold no state that this program reads and that is old enough.
    #[error(
        "archives keep no state by versions {OLDEST_READABLE_STATE} to {REACTOR_VERSION} of the rules of an event up to {0}"
    )]
    NoneArchived(Position),
    /// Content of events expired, and no kept state stands behind them and before the end of the replay.
    #[error(
        "the content of the event at position {last} expired, and no state is kept between it and position {to}{}",
        first_kept(*.behind)
    )]
    Expired {
        /// The end of the replay.
        to: Position,
        /// The last event up to there whose content expired.
        last: Position,
        /// The first kept state behind the end, if there is one.
        behind: Option<Position>,
    },
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

/// The remedy for a replay that ends before the first state.
fn first_kept(behind: Option<Position>) -> String {
    behind.map_or_else(String::new, |position| format!("; replay to position {position} or a later one"))
}

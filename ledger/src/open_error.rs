//! The reasons for which a ledger cannot be opened.

use std::io;

use bitacora_formats::{Generation, Position};

use crate::archive_tier::ArchiveTierError;
use crate::heads::anchor::AnchorError;
use crate::heads::rollback::Rollback;
use crate::log_fault::LogFault;
use crate::missing_state::MissingState;
use crate::options::OptionsError;

/// The reasons for which a ledger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error("{0}: no ledger here; it is never made by opening")]
    Missing(String),
    /// Another process has it.
    #[error("{0} is open in another process; stop that one first")]
    Locked(String),
    /// The options do not fit each other.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The keyring is not this ledger's.
    #[error("{file}: {what}; bring the keyring this ledger was written with")]
    Keyring {
        /// The segment that told.
        file: String,
        /// The key that is missing or wrong.
        what: String,
    },
    /// Nothing proven is left to serve.
    #[error("{0}; restore the file from a copy")]
    Corrupt(LogFault),
    /// Tables that stand for released segments are gone, and the archives do not give what they are made of.
    #[error("{0}; the ledger was not opened: its tables are made from what lies there")]
    Archive(ArchiveTierError),
    /// Events that the deciding state rests on expired, and no state behind them can be read.
    #[error("{0}; the ledger was not opened: nothing is decided by a state that lacks events")]
    State(MissingState),
    /// Every epoch, or every segment number, is used.
    #[error("all {max} {0} of this ledger are used; it can still be read, and a new ledger takes events", max = u32::MAX)]
    Exhausted(&'static str),
    /// It is not the ledger that the anchor remembers.
    #[error(transparent)]
    RolledBack(#[from] Rollback),
    /// The anchor, which has to be asked, does not answer.
    #[error("{0}; nothing was changed")]
    Anchor(AnchorError),
    /// A loss was to be declared where there is none.
    #[error("nothing is lost: the ledger has every event that is remembered of it; nothing was changed")]
    NothingLost,
    /// A loss was to be declared of events that archives hold.
    #[error(
        "positions {} to {through} are lost here and lie in archives; restore them with `bitacora archive restore`", retained.get() + 1
    )]
    Archived {
        /// The last event that is left in the log.
        retained: Position,
        /// The last event in archives.
        through: Position,
    },
    /// A declared loss begins a generation that no known head explains.
    #[error(
        "found the loss of generation {found} declared, expected generation {expected}; nothing was changed: remove the file declared-loss, and declare the loss again"
    )]
    GenerationJumps {
        /// The generation that was declared.
        found: Generation,
        /// The one after the newest that log and anchor show.
        expected: Generation,
    },
    /// Frames were to be put back where none are missing that there are.
    #[error(
        "nothing in quarantine continues the log; nothing was changed: restore the files from a copy, or declare the loss with `bitacora recover --declare-loss`"
    )]
    NothingToPutBack,
    /// A loss was to be declared of events that memory had put aside.
    #[error(
        "positions {first} to {last} are lost here and lie in quarantine; nothing was given up: put them back with `bitacora recover --put-back`"
    )]
    ToPutBack {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// A loss is declared, and the log may not say it yet.
    #[error(
        "{what}: {source}; generation {generation} is declared: unless the log says so already, finish it with `bitacora recover --declare-loss`"
    )]
    Unrecorded {
        /// The step that failed.
        what: String,
        /// The generation that is to begin.
        generation: Generation,
        /// The cause.
        source: io::Error,
    },
    /// The disk gave an error, and no loss is declared. A torn write may have been put aside before.
    #[error("{what}: {source}; the ledger was not opened: try again once the disk does what it is asked")]
    Disk {
        /// The step that failed.
        what: String,
        /// The disk's error.
        source: io::Error,
    },
}

impl From<AnchorError> for OpenError {
    fn from(error: AnchorError) -> Self {
        match error {
            AnchorError::Damaged { .. } => Self::RolledBack(Rollback::Damaged(error.to_string())),
            other => Self::Anchor(other),
        }
    }
}

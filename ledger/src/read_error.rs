//! The reasons for which stored events cannot be read.

use bitacora_formats::Position;

use crate::archive_tier::ArchiveTierError;
use crate::log_fault::LogFault;

/// The reasons for which stored events cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// Nothing stands at the position yet.
    #[error("position {asked} is past the head at {head}")]
    PastHead {
        /// The position asked for.
        asked: Position,
        /// The last durable one.
        head: Position,
    },
    /// The stored bytes are damaged there.
    #[error("{0}; restore the file from a copy")]
    Corrupt(LogFault),
    /// The disk gave an error.
    #[error("{file}: {what}")]
    Disk {
        /// The file.
        file: String,
        /// The disk's error.
        what: String,
    },
    /// The tree's leaves, or what is above them, cannot be read or are being made again.
    #[error("the tree over the events cannot be read now: {0}; try again")]
    TreeBehind(String),
    /// They lie in archives, which do not give them.
    #[error(transparent)]
    Archive(ArchiveTierError),
    /// A state cannot be folded from before this event, whose content was removed.
    #[error(
        "the content of the event at position {position} expired under the retention policy; begin behind it, with a state that an archive keeps"
    )]
    Expired {
        /// The position of the event.
        position: Position,
    },
    /// There is not enough memory to open a frame.
    #[error("not enough memory to open a frame; try again")]
    Memory,
}

impl ReadError {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PastHead { .. } => "not-found",
            Self::Corrupt(_) => "corrupt",
            Self::Disk { .. } => "disk-error",
            Self::TreeBehind(_) => "tree-behind",
            Self::Archive(error) => error.code(),
            Self::Expired { .. } => "content-expired",
            Self::Memory => "out-of-memory",
        }
    }
}

//! The errors of the watch: of a whole connection, and of one transcript.

use std::io;
use std::path::PathBuf;

use bitacora_client::ClientError;
use bitacora_connect::{ConnectionError, SpoolError};

use crate::limits::{ANSWER_PATIENCE, LINES_TO_KNOW, MAX_LINE_BYTES};

/// The reason why a connection cannot be watched now.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The connection cannot be used.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The service did not answer, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The service did not answer in time.
    #[error("found no answer within {} s; the service is slow or hangs", ANSWER_PATIENCE.as_secs())]
    Late,
    /// The service's answer is of another program, or of another version.
    #[error("found an answer that no bitacora gives; check the service's address and version")]
    Answer,
    /// The spool cannot be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// Another event took even the id that a gap was given at random.
    #[error(
        "the gap of call {0} is not recorded: another event has its id; something stands between the watch and the ledger"
    )]
    IdTaken(String),
    /// The system has no random bytes.
    #[error("found no random bytes; the system's generator does not answer")]
    Random,
    /// A file of the watch cannot be written.
    #[error("{}: {source}; the transcripts are read again after a restart", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Something in a transcript that cannot be read, or that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TranscriptFault {
    /// The file cannot be opened or read.
    #[error("cannot be read: {0}; its calls are not compared")]
    Unreadable(String),
    /// The path leads elsewhere.
    #[error("found a symbolic link; expected a transcript; it is not followed")]
    Link,
    /// A folder, a pipe or a device lies there.
    #[error("found no regular file; expected a transcript")]
    NoFile,
    /// Another file lies there now, or the one that was read is shorter or changed before the position reached.
    #[error(
        "found a transcript that was truncated, rewritten or replaced; it is read again from its beginning"
    )]
    Rewritten,
    /// A line is longer than any that is taken.
    #[error("found a line of more than {MAX_LINE_BYTES} bytes at byte {0}; its calls are not compared")]
    LongLine(u64),
    /// A line is not JSON, or lacks what its kind has.
    #[error("found a line at byte {at} that cannot be read: {why}; its calls are not compared")]
    Line {
        /// The line's beginning.
        at: u64,
        /// The fault.
        why: String,
    },
    /// Nothing in it is known.
    #[error(
        "found {LINES_TO_KNOW} lines and none that is known; the harness's version is newer than this program"
    )]
    UnknownForm,
    /// It is of a form that is not read.
    #[error("found a transcript of a form that is not read; update the harness")]
    OldForm,
    /// There are more transcripts than are followed.
    #[error("found more transcripts than are followed; the oldest are left out")]
    TooMany,
}

impl TranscriptFault {
    /// Returns the kind of the fault in one word. Of one transcript each kind is told once.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Link => "link",
            Self::NoFile => "no-file",
            Self::Rewritten => "rewritten",
            Self::LongLine(_) => "long-line",
            Self::Line { .. } => "line",
            Self::UnknownForm => "unknown-form",
            Self::OldForm => "old-form",
            Self::TooMany => "too-many",
        }
    }
}

//! The reasons why an export is not made.

use std::io;

use bitacora_export::ExportError;

use crate::error::CommandFailure;
use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportFailure {
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(
        "a Parquet file is not written to stdout, because its end names places in it; name a file with --out"
    )]
    ParquetToStdout,
    #[error(
        "what went to stdout cannot be gone on with; leave --resume out, or name the position with --after"
    )]
    ResumedStdout,
    #[error("found --until {until} at or before --after {after}; expected a later one")]
    EmptyRange { after: u64, until: u64 },
    #[error(
        "found --after {after}, past the head at {head}: the ledger is not the one that had it, or it was rolled back; compare them with `bitacora verify`"
    )]
    PastHead { after: u64, head: String },
    #[error("found --before {before} at or before --since {since}; expected a later time")]
    EmptySpan { since: String, before: String },
    #[error("interrupted; what was written stays, and the same command with --resume goes on")]
    Interrupted,
    #[error("an agent's token makes no exports; use one of an operator, an admin or an auditor")]
    Agent,
    #[error("the system gives no thread for writing: {0}; --resume goes on")]
    Thread(io::Error),
    #[error("the writing thread takes nothing more; --resume goes on")]
    Gone,
    #[error(
        "a loss was declared at position {0} since the export began, and what it read may be given up; remove the part and begin again"
    )]
    LossSince(String),
    #[error("the service does not know the id of the ledger, which did not open; see `bitacora status`")]
    Closed,
}

impl CommandFailure for ExportFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::ParquetToStdout
            | Self::ResumedStdout
            | Self::EmptyRange { .. }
            | Self::EmptySpan { .. } => Exit::Usage,
            Self::PastHead { .. } => Exit::Diverged,
            Self::Agent => Exit::Refused,
            Self::Interrupted => Exit::Interrupted,
            Self::Export(_) | Self::Thread(_) | Self::Gone | Self::LossSince(_) | Self::Closed => {
                Exit::Failed
            }
        }
    }
}

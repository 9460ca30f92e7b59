//! The reason why not everything was read.

use bitacora_client::{ClientError, Refusal};
use bitacora_ledger::ReadError;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::ledger_access::token_advice::token_advice;

/// The reason why not everything was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The ledger in the folder cannot be read.
    #[error(transparent)]
    Ledger(#[from] ReadError),
    /// The service refuses, or does not answer.
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    /// The service fails after it began to answer.
    #[error("reading failed on the way: {what}; go on after position {position}")]
    OnTheWay {
        /// The reason, in the service's words.
        what: String,
        /// The last position that was read.
        position: String,
        /// The code of the problem; empty where the service names none.
        code: String,
    },
    /// The service's answer names no position.
    #[error("the service's answer names no position: {0}; check that both are of one version")]
    Position(String),
    /// The service's answer ends early.
    #[error("the answer was cut after position {position}; go on from there")]
    Cut {
        /// The last position that was read.
        position: String,
    },
}

/// The codes of problems which say that events are damaged, or in an archive that does not give them.
const INCOMPLETE_READS: [&str; 4] = ["corrupt", "archive-unavailable", "archive-damaged", "key-retired"];

impl CommandFailure for ReadFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Client(ClientError::Refused(Refusal { problem, .. }))
                if matches!(problem.status, 401 | 403) =>
            {
                Exit::Refused
            }
            Self::Ledger(ReadError::Corrupt(_) | ReadError::Archive(_)) => Exit::Incomplete,
            Self::Client(ClientError::Refused(Refusal { problem, .. }))
                if INCOMPLETE_READS.contains(&problem.code.as_str()) =>
            {
                Exit::Incomplete
            }
            Self::OnTheWay { code, .. } if INCOMPLETE_READS.contains(&code.as_str()) => Exit::Incomplete,
            _ => Exit::Failed,
        }
    }
}

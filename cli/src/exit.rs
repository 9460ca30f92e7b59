//! How the program ends, as numbers that scripts rely on.

use std::process::ExitCode;

use bitacora_client::{ClientError, Refusal};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Something failed.
    Failed,
    /// The command line does not make sense.
    Usage,
    /// The ledger refuses it.
    Refused,
    /// Verified, with nothing external to compare with.
    Alone,
    /// Not the history that others remember: rolled back, or another one.
    Diverged,
    /// Verified, and found to be not what it must be.
    Invalid,
    /// Something that had to be verified could not be.
    Incomplete,
    /// Whoever ran it wanted it to end.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Alone => 10,
            Self::Diverged => 30,
            Self::Invalid => 40,
            Self::Incomplete => 50,
            // As shells count: 128 and SIGINT.
            Self::Interrupted => 130,
        }
    }
}

impl From<&ClientError> for Exit {
    fn from(error: &ClientError) -> Self {
        match error {
            ClientError::Refused(Refusal { problem, .. }) if !problem.retryable => {
                // What is not there refuses nothing.
                if problem.status == 404 || problem.status >= 500 { Self::Failed } else { Self::Refused }
            }
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

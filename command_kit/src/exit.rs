//! The exit codes, which scripts rely on.
//! Their meaning is documented in `docs/exit_codes.md`.

use std::process::ExitCode;

use bitacora_client::{ClientError, Refusal};
use bitacora_verify::Verdict;

/// The exit of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Something failed, or a named thing does not exist.
    Failed,
    /// The command line does not make sense.
    Usage,
    /// The ledger refuses it.
    Refused,
    /// Verified, with nothing external to compare with.
    Alone,
    /// The history is not the one that others remember: rolled back, or another one.
    Diverged,
    /// Verified, and found invalid.
    Invalid,
    /// Something to check is missing, or fails for now.
    Incomplete,
    /// The user or the system interrupted it.
    Interrupted,
}

impl Exit {
    /// Returns the number that the program ends with.
    pub fn code(self) -> u8 {
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
            ClientError::Refused(Refusal { problem, .. })
                if matches!(&*problem.code, "corrupt" | "key-retired") =>
            {
                Self::Incomplete
            }
            ClientError::Refused(Refusal { problem, .. }) if !problem.retryable => {
                // A missing resource or a broken service is a failure, not a refusal.
                if problem.status == 404 || problem.status >= 500 { Self::Failed } else { Self::Refused }
            }
            _ => Self::Failed,
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Confirmed => Self::Done,
            Verdict::Alone => Self::Alone,
            Verdict::Diverged => Self::Diverged,
            Verdict::Incomplete => Self::Incomplete,
            Verdict::Invalid => Self::Invalid,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_told_and_no_other() {
        let page = include_str!("../../docs/exit_codes.md");
        let told: Vec<u8> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
            .collect();
        let all = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Refused,
            Exit::Alone,
            Exit::Diverged,
            Exit::Invalid,
            Exit::Incomplete,
            Exit::Interrupted,
        ];
        assert_eq!(told, all.map(Exit::code));
    }
}

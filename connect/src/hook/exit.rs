//! The end of a hook process: its output, and its exit code.

use bitacora_harness::{Dialect, HookVerdict, NO_OPINION};

/// The exit code that blocks a call in every harness.
const BLOCKED: u8 = 2;
/// The exit code of a hook that failed and blocks nothing.
const FAILED: u8 = 1;

/// The output of the process, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookExit {
    /// For the harness.
    pub stdout: String,
    /// For the agent, if the exit code blocks the call; else for people.
    pub stderr: String,
    /// The exit code: 0, or 2 for a call that is blocked.
    pub code: u8,
    /// The exit code where the harness does not get the whole output: 2 if its silence would let a call run that may not.
    pub unheard: u8,
}

impl HookExit {
    /// A call that may not run.
    pub(super) fn blocked(stderr: String) -> Self {
        Self { stdout: String::new(), stderr, code: BLOCKED, unheard: BLOCKED }
    }

    /// An input that asks for nothing, or that nobody can read.
    pub(super) fn without_opinion(stderr: String) -> Self {
        Self { stdout: NO_OPINION.to_owned(), stderr, code: 0, unheard: FAILED }
    }

    /// The verdict about a call, in the words of its harness. Unheard, only an allow that the harness takes from silence passes.
    pub(super) fn verdict(dialect: Dialect, stdout: String, stderr: String, enforce: bool) -> Self {
        let is_allow = stdout == dialect.answer(&HookVerdict::Allow);
        let unheard = match (is_allow, dialect.takes_silence_as_allow()) {
            (true, true) => 0,
            (true, false) if !enforce => FAILED,
            _ => BLOCKED,
        };
        Self { stdout, stderr, code: 0, unheard }
    }
}

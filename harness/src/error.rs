//! The error for input that no hook can act on.

/// Input that is not what the dialect's harness sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The input is not JSON, or not an object with the members of a hook.
    #[error("found input that is no hook's: {0}; expected the JSON object that the harness writes")]
    NotAHook(String),
    /// A tool call lacks a member that a decision needs.
    #[error("found a hook `{event}` without `{member}`; expected it in each tool call")]
    Missing {
        /// The harness's name of the hook.
        event: String,
        /// The member.
        member: &'static str,
    },
    /// A name is longer than the ledger takes.
    #[error("found a `{member}` of {bytes} bytes; expected at most {limit}")]
    TooLong {
        /// The member.
        member: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

impl HookError {
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::NotAHook(error.to_string())
    }
}

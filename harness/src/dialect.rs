//! The harnesses whose hooks are understood.

use std::fmt;
use std::str::FromStr;

use crate::answer::HookVerdict;
use crate::error::HookError;
use crate::event::HookInput;
use crate::{claude, codex, cursor, gemini};

/// The hook language of one harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

/// The error for a name that is no dialect's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{0}`; expected `claude`, `codex`, `gemini` or `cursor`")]
pub struct UnknownDialect(String);

impl Dialect {
    /// All dialects, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Cursor];

    /// Returns the name in paths and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the harness's name in events.
    #[must_use]
    pub fn harness(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini-cli",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the harness's name for people.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
        }
    }

    /// Returns `true` if the harness can ask its user about a call that a hook leaves open. Where it cannot, a review is a deny.
    #[must_use]
    pub fn can_ask(self) -> bool {
        matches!(self, Self::Claude | Self::Cursor)
    }

    /// Returns `true` if the harness goes on with a call whose hook ended well and wrote nothing, by its own rules.
    #[must_use]
    pub fn takes_silence_as_allow(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::Gemini)
    }

    /// Reads what the harness wrote to its hook.
    ///
    /// # Errors
    /// The input is not this harness's.
    pub fn read(self, input: &[u8]) -> Result<HookInput, HookError> {
        match self {
            Self::Claude => claude::read(input),
            Self::Codex => codex::read(input),
            Self::Gemini => gemini::read(input),
            Self::Cursor => cursor::read(input),
        }
    }

    /// Writes a verdict about a call, as the harness reads it from its hook's output.
    ///
    /// No dialect turns a review into a call that runs unasked.
    #[must_use]
    pub fn answer(self, verdict: &HookVerdict<'_>) -> String {
        match self {
            Self::Claude => claude::answer(verdict),
            Self::Codex => codex::answer(verdict),
            Self::Gemini => gemini::answer(verdict),
            Self::Cursor => cursor::answer(verdict),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| UnknownDialect(name.chars().take(40).collect()))
    }
}

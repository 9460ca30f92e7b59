//! The reader of command lines: the programs that a line runs, their effects, and the files they name.
//!
//! The reader accepts one small grammar. Bash, dash, zsh, busybox and mksh read every text of that grammar alike. All other texts
//! are [`UnreadableCommand`]: nobody may allow them without a person.
//!
//! This crate may not know files, clocks, processes, or policies. It is a pure function from a text to a [`ShellReading`].

mod action;
mod characters;
mod line;
mod mentions;
mod programs;
mod reader;
mod shell_words;
mod unreadable;

pub use action::{Access, Effect, FileUse, ShellAction};
pub use line::{
    CommandConnector, CommandLine, Redirection, RedirectionKind, ShellWord, SimpleCommand, parse,
};
pub use mentions::mentions;
pub use programs::{ListedOption, ListedUse, listed_uses};
pub use reader::{MAX_COMMANDS, MAX_TEXT_BYTES, MAX_WORDS};
pub use unreadable::{Construct, UnreadableCommand};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

/// The reading of a text for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellReading {
    /// Every shell runs exactly these programs, with exactly these arguments.
    Readable(Vec<ShellAction>),
    /// The text is outside of the grammar, or a program has an argument that its entry does not list. The actions are those that
    /// were recognised all the same: a rule may deny or review because of them, and may never allow.
    Unreadable(UnreadableCommand, Vec<ShellAction>),
}

/// Reads a command line that is given in a folder nobody knows.
#[must_use]
pub fn read(text: &str) -> ShellReading {
    read_in(text, None)
}

/// Reads a command line that is given in this folder: going there changes nothing.
#[must_use]
pub fn read_in(text: &str, cwd: Option<&str>) -> ShellReading {
    match parse(text).and_then(|line| programs::actions(&line, cwd)) {
        Ok(actions) => ShellReading::Readable(actions),
        Err(unreadable) => ShellReading::Unreadable(unreadable, mentions(text)),
    }
}

#[cfg(test)]
mod attacks;

//! A text of the grammar: simple commands, their words and redirections.

use crate::reader::LineReader;
use crate::unreadable::UnreadableCommand;

/// A text of the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Its simple commands, in order. There is at least one.
    pub commands: Vec<SimpleCommand>,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The joint with the command before it.
    pub joint: CommandConnector,
    /// The program and its arguments. There is at least one word.
    pub words: Vec<ShellWord>,
    /// Its redirections, in order.
    pub redirections: Vec<Redirection>,
    /// The byte at which it begins.
    pub offset: usize,
}

/// The joint of a command with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandConnector {
    /// It is the first.
    First,
    /// `|`
    Pipe,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a new line.
    Then,
}

/// One word, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellWord {
    /// The text that the program gets, or, of a glob, the pattern.
    pub text: String,
    /// `true` if a shell replaces it by the names of files.
    pub is_glob: bool,
    /// `true` if some of it was quoted.
    pub is_quoted: bool,
    /// The byte at which it begins.
    pub offset: usize,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The effect on the file.
    pub kind: RedirectionKind,
    /// The file, where it names one.
    pub file: Option<ShellWord>,
}

/// The effect of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectionKind {
    /// `< file`
    Reads,
    /// `> file`, `>> file`, `2> file`, `2>> file`.
    Writes,
    /// `2>&1`, `1>&2`, `>&2`, `> /dev/null`, `2> /dev/null`: no file is touched, and none is named.
    Harmless,
}

/// Reads a text.
///
/// # Errors
/// The first construct that the grammar does not have.
pub fn parse(text: &str) -> Result<CommandLine, UnreadableCommand> {
    LineReader::new(text)?.read()
}

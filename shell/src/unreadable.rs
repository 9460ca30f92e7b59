//! The constructs for which a command line cannot be read.

use thiserror::Error;

/// The reason for which a command line cannot be read. It is reviewed, never allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("byte {offset}: {construct}")]
pub struct UnreadableCommand {
    /// The construct that stands there.
    pub construct: Construct,
    /// The byte at which it begins.
    pub offset: usize,
}

/// A construct that the grammar does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
#[non_exhaustive]
pub enum Construct {
    /// The text has no command.
    #[error("no command")]
    Empty,
    /// The text has more than [`crate::MAX_TEXT_BYTES`].
    #[error("a text that is too long; divide it")]
    TooLong,
    /// The text has more than [`crate::MAX_COMMANDS`].
    #[error("too many commands; divide the text")]
    TooManyCommands,
    /// The text has more than [`crate::MAX_WORDS`].
    #[error("too many words; divide the text")]
    TooManyWords,
    /// A control character other than a new line, and a tab.
    #[error("a control character")]
    ControlCharacter,
    /// A character that is not ASCII: outside of quotes any one, in quotes one that is not in the list.
    #[error("a character that is not ASCII; quote letters, leave out blanks and marks")]
    NonAscii,
    /// A quote without its end.
    #[error("a quote without an end")]
    OpenQuote,
    /// Two pieces in single quotes without anything between them. An option of zsh makes one quote of them.
    #[error("two pieces in single quotes side by side; write them as one")]
    AdjacentQuotes,
    /// An operator without a command before or behind it.
    #[error("an operator without a command on one of its sides")]
    MissingCommand,
    /// `$` outside of quotes.
    #[error("an expansion; write the value out")]
    Expansion,
    /// `$` in double quotes.
    #[error("an expansion in double quotes; write the value out, or use single quotes")]
    QuotedExpansion,
    /// A backquote outside of single quotes.
    #[error("a command in backquotes; run it by itself")]
    Backquote,
    /// A backslash outside of quotes.
    #[error("a backslash outside of quotes; use single quotes")]
    Backslash,
    /// A backslash in double quotes, before a character that is not in the list.
    #[error("a backslash in double quotes; use single quotes")]
    QuotedBackslash,
    /// `!` outside of single quotes, `^` that does not stand behind a letter or digit.
    #[error("a character of the shell's history; use single quotes")]
    History,
    /// `{` or `}` outside of quotes.
    #[error("a brace; write the words out, or use single quotes")]
    Brace,
    /// `(` or `)` outside of quotes.
    #[error("a parenthesis; run the commands by themselves, or use single quotes")]
    Parenthesis,
    /// `[` or `]` outside of quotes.
    #[error("a bracket; use single quotes, or `test`")]
    Bracket,
    /// `#` outside of quotes.
    #[error("a number sign; leave comments out, or use single quotes")]
    Comment,
    /// `~` that does not stand behind a letter or digit.
    #[error("a tilde; write the folder out")]
    Tilde,
    /// `=` at the beginning of a word.
    #[error("a word that begins with `=`; use single quotes")]
    Equals,
    /// `*` or `?` where a shell's answer could be an option, a folder above, or a whole tree.
    #[error("a glob that is neither below a folder nor behind `--`; write `./` before it, or name the files")]
    Glob,
    /// `&` that is not a part of `&&`.
    #[error("a command in the background; run it by itself")]
    Background,
    /// `<<` and `<<<`.
    #[error("a here-document; write a file, or quote the text")]
    HereDocument,
    /// `<(` and `>(`.
    #[error("a process substitution; run the command by itself")]
    ProcessSubstitution,
    /// A redirection that is not in the list, has no blank before it, or stands before its command.
    #[error("a redirection that is not in the list; write it behind a blank, at the end of its command")]
    Redirection,
    /// A value for a variable before a command.
    #[error("an assignment; run the command without it")]
    Assignment,
    /// The name of a program in quotes, or with characters that are not in the list.
    #[error("a program whose name is not plain; write it without quotes")]
    ProgramName,
    /// A word that one of the shells keeps for itself: a keyword, an alias, a builtin that runs or changes things.
    #[error("a word that a shell keeps for itself; run a program by itself")]
    ShellWord,
    /// A builtin of one of the shells with an argument that a shell may evaluate.
    #[error("an argument that a shell may evaluate")]
    EvaluatedArgument,
    /// A program has an option or operand that its entry does not list.
    #[error("an argument that the program's entry does not list")]
    UnlistedArgument,
    /// git in another folder than the call's, whose configuration may run programs.
    #[error("git in another folder; run it where the call begins")]
    GitElsewhere,
    /// A program that runs its arguments, a text, or its piped input.
    #[error("a program that runs what it is given; run that by itself")]
    RunsOthers,
}

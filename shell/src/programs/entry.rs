//! An entry of the table: the arguments that a program may have, and their meaning.

use super::arguments::CommandArguments;
use crate::action::{Access, Effect, FileUse, ShellAction};
use crate::unreadable::UnreadableCommand;

/// A program, and every way to use it that the table lists.
pub(super) struct Program {
    /// The names that it is called by.
    pub(super) names: &'static [&'static str],
    /// Flags that may stand before the words of a use, separated by blanks.
    pub(super) before: &'static str,
    /// Its uses. The ones with the most words come into question; the first of them that lists every argument is taken.
    pub(super) uses: &'static [ProgramUse],
}

/// One way to use a program.
pub(super) struct ProgramUse {
    /// The words behind the program that choose this use, separated by blanks: `stash list`.
    pub(super) words: &'static str,
    /// The words of the part, where they differ from these words.
    pub(super) part: Option<&'static str>,
    /// The most that the program may do.
    pub(super) effect: Effect,
    /// The way in which the program reads its options.
    pub(super) style: Style,
    /// `true` if a word such as `@file` names a file of further arguments. Then every word that begins with `@` is refused.
    pub(super) has_argument_files: bool,
    /// Options without a value, separated by blanks. `-#` stands for a dash and a number.
    pub(super) flags: &'static [&'static str],
    /// Flags of which one must stand there, separated by blanks. Without one the program would do something else. Empty: none is needed.
    pub(super) needs: &'static str,
    /// Options with a value: their names, separated by blanks.
    pub(super) values: &'static [&'static [(&'static str, OptionValue)]],
    /// The words that are no options.
    pub(super) operands: Operands,
}

/// A use that only looks, without any arguments. Entries begin with it.
pub(super) const LOOKS: ProgramUse = ProgramUse {
    words: "",
    part: None,
    effect: Effect::Looks,
    style: Style::Gnu,
    has_argument_files: false,
    flags: &[],
    needs: "",
    values: &[],
    operands: Operands::None,
};

/// The same of a use that acts.
pub(super) const ACTS: ProgramUse = ProgramUse { effect: Effect::Acts, ..LOOKS };

/// The way in which a program reads its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `-x`, `-xy`, `-Nvalue`, `--long`, `--long=value`; `--` ends them. GNU reads them between operands too, BSD does not. So the
    /// value of an option behind an operand may also be a file.
    Gnu,
    /// The same, and every version of the program reads them between operands.
    Mixed,
    /// The same, up to the first operand.
    Leading,
    /// `-long` and `--long`, `-long=value`, between operands too, as the flags of Go.
    Single,
    /// The same, up to the first operand.
    SingleLeading,
    /// Every word is an operand: the rule of the use reads them.
    Words,
}

/// The value of an option.
#[derive(Clone, Copy)]
pub(super) enum OptionValue {
    /// A text that names no file.
    Text(Check),
    /// The same, and only behind `=` or attached to a short option.
    Perhaps(Check),
    /// The same, and left out only at the end of the command.
    UnlessLast(Check),
    /// A file.
    File(Access),
    /// A glob that the program compares names of files with.
    Pattern(Access),
}

/// A text that an argument may be.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// Every text that does not begin with a dash.
    Any,
    /// Every text.
    Prose,
    /// Digits.
    Number,
    /// Digits, with a sign before them and a unit behind them, if need be.
    Count,
    /// Letters, digits and `_-./:,@%+^=~#`, not beginning with a dash.
    Word,
    /// One of these, separated by blanks.
    Of(&'static str),
    /// The texts for which this function returns `true`.
    By(fn(&str) -> bool),
}

/// The words of a command that are no options.
pub(super) enum Operands {
    /// There are none.
    None,
    /// Each one is such a text and names no file.
    Texts(Check),
    /// Each one names a file.
    Files(Access),
    /// The same; without any it is the working folder.
    FilesOrHere(Access),
    /// A rule reads them, and may look at the options too.
    By(Rule, &'static str),
}

/// Reads the operands of a use. The text beside it in [`Operands::By`] describes them for people.
pub(super) type Rule = fn(&CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand>;

/// The meaning of operands.
#[derive(Default)]
pub(super) struct OperandMeaning {
    /// The parts that name it. Without any the use names it.
    pub(super) parts: Vec<String>,
    /// The files that the operands name.
    pub(super) files: Vec<FileUse>,
    /// Programs that are run by this one.
    pub(super) runs: Vec<ShellAction>,
}

impl OperandMeaning {
    /// Nothing but these files.
    pub(super) fn of(files: Vec<FileUse>) -> OperandMeaning {
        OperandMeaning { files, ..OperandMeaning::default() }
    }
}

impl Check {
    /// Returns `true` if the text is one of these.
    pub(super) fn takes(self, text: &str) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            Check::Any => !text.starts_with('-'),
            Check::Prose => true,
            Check::Number => is_number(text),
            Check::Count => {
                let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
                is_number(unsigned.trim_end_matches(|c: char| c.is_ascii_alphabetic()))
            }
            Check::Word => is_word(text),
            Check::Of(words) => words.split_whitespace().any(|word| word == text),
            Check::By(rule) => rule(text),
        }
    }
}

/// Returns `true` if a text is a plain word, which no shell and no program reads as anything else.
pub(super) fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+^=~#".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Returns an entry without flags before its words.
pub(super) const fn program(names: &'static [&'static str], uses: &'static [ProgramUse]) -> Program {
    Program { names, before: "", uses }
}

//! The table as values, for the page of the documentation and for comparisons with real programs.

use super::entry::{Check, Operands, OptionValue, ProgramUse, Style};
use super::table;
use crate::action::Effect;

/// One way to use a program, as the table lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedUse {
    /// The names of the programs that may be used so.
    pub programs: &'static [&'static str],
    /// The words behind the program that choose this use.
    pub words: Vec<&'static str>,
    /// The part of the first of the programs. A rule may give a longer one.
    pub part: String,
    /// The most that the program may do.
    pub effect: Effect,
    /// `true` if options stand up to the first operand only.
    pub is_leading: bool,
    /// Options without a value. `-#` stands for a dash and a number.
    pub flags: Vec<&'static str>,
    /// Flags of which one must stand there. Empty: none is needed.
    pub needs: Vec<&'static str>,
    /// Options with a value.
    pub options: Vec<ListedOption>,
    /// The words that are no options, in words.
    pub operands: String,
}

/// An option with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedOption {
    /// Its names.
    pub names: Vec<&'static str>,
    /// The value, in words.
    pub value: String,
    /// The values that there are, where each is listed.
    pub choices: Vec<&'static str>,
    /// `true` if it also stands without the value, and never before one in a word of its own.
    pub is_optional: bool,
}

/// Returns every use of the table.
#[must_use]
pub fn listed_uses() -> Vec<ListedUse> {
    table::programs()
        .flat_map(|program| program.uses.iter().map(|used| listed(program.names, used)))
        .collect()
}

fn listed(programs: &'static [&'static str], used: &'static ProgramUse) -> ListedUse {
    let words = used.part.unwrap_or(used.words);
    let name = programs.first().copied().unwrap_or_default();
    ListedUse {
        programs,
        words: used.words.split_whitespace().collect(),
        part: format!("{name} {words}").trim_end().to_owned(),
        effect: used.effect,
        is_leading: matches!(used.style, Style::Leading | Style::SingleLeading),
        flags: used.flags.iter().flat_map(|flags| flags.split_whitespace()).collect(),
        needs: used.needs.split_whitespace().collect(),
        options: used.values.iter().flat_map(|values| values.iter()).map(option).collect(),
        operands: match used.operands {
            Operands::None => String::new(),
            Operands::Texts(check) => format!("texts: {}", described(check)),
            Operands::Files(_) => "files".to_owned(),
            Operands::FilesOrHere(_) => "files, or the working folder".to_owned(),
            Operands::By(_, takes) => takes.to_owned(),
        },
    }
}

fn option((names, takes): &(&'static str, OptionValue)) -> ListedOption {
    let (value, check) = match takes {
        OptionValue::Text(check) | OptionValue::Perhaps(check) | OptionValue::UnlessLast(check) => {
            (described(*check), Some(*check))
        }
        OptionValue::File(_) => ("a file".to_owned(), None),
        OptionValue::Pattern(_) => ("a glob for names of files".to_owned(), None),
    };
    let choices = match check {
        Some(Check::Of(words)) => words.split_whitespace().collect(),
        _ => Vec::new(),
    };
    let is_optional = matches!(takes, OptionValue::Perhaps(_));
    ListedOption { names: names.split_whitespace().collect(), value, choices, is_optional }
}

fn described(check: Check) -> String {
    match check {
        Check::Any => "a text that does not begin with a dash".to_owned(),
        Check::Prose => "a text".to_owned(),
        Check::Number => "a number".to_owned(),
        Check::Count => "a number with a sign and a unit".to_owned(),
        Check::Word => "a plain word".to_owned(),
        Check::Of(words) => words.split_whitespace().collect::<Vec<_>>().join(", "),
        Check::By(_) => "a text that the reader looks into".to_owned(),
    }
}

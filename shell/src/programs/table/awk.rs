//! `awk`: programs that print fields of lines.
//! They neither run a program, nor open a file, nor look at the environment.

use super::sed::has_plain_classes;
use crate::action::Access::Reads;
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::OptionValue::Text;
use crate::programs::entry::{Check, LOOKS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::unreadable::UnreadableCommand;

/// The names that a program may have: statements, variables that awk keeps, functions that only compute, and some of everybody's own.
/// All others are refused, `getline`, `system` and `ENVIRON` among them.
const NAMES: &str = "BEGIN END FILENAME FNR FS NF NR OFS ORS RS \
    break continue else exit for if in next print printf while \
    gsub index int length match split sprintf sub substr tolower toupper \
    a b c count d f found i j k key last line m max min n name p prev s seen sum t total v val value w x y z";
/// Words that run programs or read files that no operand names. Outside of plain texts they are refused in every place. So an error
/// in finding the ends of texts and expressions does not let them pass.
const DANGERS: [&str; 7] = ["system", "getline", "ENVIRON", "PROCINFO", "close", "fflush", "@"];
/// Characters before a regular expression: behind all others, a slash may divide.
const BEFORE_EXPRESSION: &str = "\n;{}(,!~&|";
/// Marks that stand for themselves. `>` and `|` follow in the code; `@`, `#` and backslashes are refused.
const MARKS: &str = "{}$,;=!~+-*%()[]?:<";

pub(super) const PROGRAMS: &[Program] = &[program(
    &["awk", "gawk", "mawk"],
    &[ProgramUse {
        style: Style::Leading,
        values: &[&[("-F", Text(Check::Any)), ("-v", Text(Check::By(is_variable)))]],
        operands: Operands::By(prints, "a program that computes and prints, then files"),
        ..LOOKS
    }],
)];

fn prints(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((program, files)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    args.text(*program, Check::By(is_listed))?;
    // A word with `=` sets a variable, and gawk opens connections for names in `/inet`.
    let is_file = |text: &str| !text.contains('=') && !text.starts_with("/inet");
    if let Some(odd) = files.iter().find(|file| file.word.is_glob || !is_file(&file.word.text)) {
        return Err(unlisted(odd.word.offset));
    }
    Ok(OperandMeaning::of(args.files(files, Reads)?))
}

fn is_variable(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(name: &str) -> bool {
    NAMES.split_whitespace().any(|listed| listed == name)
}

/// Returns `true` if every token of a program is listed.
fn is_listed(program: &str) -> bool {
    let mut rest = program;
    // Braces that are open, and the last character that is no blank. At the beginning a new line stands for it.
    let (mut depth, mut last) = (0_usize, '\n');
    while let Some(next) = rest.chars().next() {
        let behind = rest.get(next.len_utf8()..).unwrap_or_default();
        let after = match next {
            ' ' | '\t' => {
                rest = behind;
                continue;
            }
            '\n' => Some(behind),
            '"' => text_ended(behind),
            '/' if BEFORE_EXPRESSION.contains(last) => expression_ended(behind),
            _ if next.is_ascii_alphanumeric() || matches!(next, '_' | '.') => name_ended(rest),
            '&' | '|' => behind.strip_prefix(next).filter(|behind| !behind.starts_with(['&', '|'])),
            // In braces it could name a file for `print`.
            '>' if depth == 0 => Some(behind),
            _ if MARKS.contains(next) => {
                match next {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                Some(behind)
            }
            _ => None,
        };
        let Some(after) = after else { return false };
        (rest, last) = (after, next);
    }
    true
}

/// Returns the text behind a number, or behind a name that is listed.
fn name_ended(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let word = text.strip_suffix(behind)?;
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    (is_number || is_name(word)).then_some(behind)
}

/// Returns the text behind the end of a text in quotes. With a backslash, it holds nothing that would be dangerous outside of it.
fn text_ended(text: &str) -> Option<&str> {
    let (inner, behind) = split_at_mark(text, '"')?;
    let is_dangerous = inner.contains(['|', '>']) || DANGERS.iter().any(|danger| inner.contains(danger));
    (!inner.contains('\\') || !is_dangerous).then_some(behind)
}

/// Returns the text behind the end of a regular expression. Programs differ in whether a slash in brackets ends it, so that there
/// is none. It holds nothing that would be dangerous if it were no expression.
fn expression_ended(text: &str) -> Option<&str> {
    let (inner, behind) = split_at_mark(text, '/')?;
    let is_statement = inner.contains(['|', '>']) && inner.contains([';', '"', '{', '}'])
        || inner.contains("print")
        || DANGERS.iter().any(|danger| inner.contains(danger));
    (has_plain_classes(inner) && !inner.starts_with('=') && !is_statement).then_some(behind)
}

/// Splits a text at the first mark that no backslash stands before: the text before it, and the text behind it. It must stand on
/// the same line.
fn split_at_mark(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, next) in text.char_indices() {
        match next {
            '\n' => return None,
            _ if next == mark && !is_escaped => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => is_escaped = next == '\\' && !is_escaped,
        }
    }
    None
}

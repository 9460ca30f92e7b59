//! `awk`: programs that print fields of lines, and neither run a program, nor open a file, nor look at the environment.

use crate::action::Access::Reads;
use crate::programs::arguments::{Given, unlisted};
use crate::programs::entry::Takes::Text;
use crate::programs::entry::{Check, LOOKS, Meaning, Operands, Program, Style, Use, program};
use crate::unreadable::Unreadable;

/// The names that a program may have: statements, variables that awk keeps, functions that only compute, and some of everybody's own.
/// All others are refused, `getline`, `system` and `ENVIRON` among them.
const NAMES: &str = "BEGIN END FILENAME FNR FS NF NR OFS ORS RS \
    break continue else exit for if in next print printf while \
    gsub index int length match split sprintf sub substr tolower toupper \
    a b c count d f found i j k key last line m max min n name p prev s seen sum t total v val value w x y z";
/// Marks that stand for themselves. `>` and `|` follow in the code; `@`, `#` and backslashes are refused.
const MARKS: &str = "{}$,;=!~+-*%()[]?:<";

pub(super) const PROGRAMS: &[Program] = &[program(
    &["awk", "gawk", "mawk"],
    &[Use {
        style: Style::Leading,
        values: &[&[("-F", Text(Check::Any)), ("-v", Text(Check::By(is_variable)))]],
        operands: Operands::By(prints, "a program that computes and prints, then files"),
        ..LOOKS
    }],
)];

fn prints(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let Some((program, files)) = given.operands.split_first() else { return Err(unlisted(given.offset)) };
    given.text(*program, Check::By(is_listed))?;
    // A word with `=` sets a variable, and gawk opens connections for names in `/inet`.
    let is_file = |text: &str| !text.contains('=') && !text.starts_with("/inet");
    if let Some(odd) = files.iter().find(|file| file.word.is_glob || !is_file(&file.word.text)) {
        return Err(unlisted(odd.word.offset));
    }
    Ok(Meaning::of(given.files(files, Reads)?))
}

fn is_variable(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(name: &str) -> bool {
    NAMES.split_whitespace().any(|listed| listed == name)
}

/// Whether every token of a program is listed.
fn is_listed(program: &str) -> bool {
    let mut rest = program;
    // Braces that are open, and whether a value has just ended: then `/` would divide, and a program that divides is refused.
    let (mut depth, mut is_behind_value) = (0_usize, false);
    while let Some(next) = rest.chars().next() {
        let behind = rest.get(next.len_utf8()..).unwrap_or_default();
        rest = match next {
            ' ' | '\t' => {
                rest = behind;
                continue;
            }
            '\n' => {
                is_behind_value = false;
                behind
            }
            '"' => {
                is_behind_value = true;
                match text_ended(behind) {
                    Some(behind) => behind,
                    None => return false,
                }
            }
            '/' if !is_behind_value => {
                is_behind_value = true;
                match expression_ended(behind) {
                    Some(behind) => behind,
                    None => return false,
                }
            }
            _ if next.is_ascii_alphanumeric() || matches!(next, '_' | '.') => {
                let behind =
                    rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
                let word = rest.get(..rest.len() - behind.len()).unwrap_or_default();
                let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
                if !is_number && !is_name(word) {
                    return false;
                }
                is_behind_value = true;
                behind
            }
            '&' | '|' => {
                is_behind_value = false;
                match behind.strip_prefix(next) {
                    Some(behind) if !behind.starts_with(['&', '|']) => behind,
                    _ => return false,
                }
            }
            // In braces it could name a file for `print`.
            '>' if depth == 0 => {
                is_behind_value = false;
                behind
            }
            _ if MARKS.contains(next) => {
                match next {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                is_behind_value = matches!(next, ')' | ']');
                behind
            }
            _ => return false,
        };
    }
    true
}

/// What follows the end of a text in quotes.
fn text_ended(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    for (at, next) in text.char_indices() {
        match next {
            '\n' => return None,
            '"' if !is_escaped => return text.get(at + 1..),
            _ => is_escaped = next == '\\' && !is_escaped,
        }
    }
    None
}

/// What follows the end of a regular expression. Programs differ in whether a slash in brackets ends it, so that there is none.
fn expression_ended(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    let mut brackets = 0_usize;
    for (at, next) in text.char_indices() {
        match next {
            '\n' => return None,
            '/' if !is_escaped => return if brackets == 0 { text.get(at + 1..) } else { None },
            '[' if !is_escaped => brackets += 1,
            ']' if !is_escaped => brackets = 0,
            _ => {}
        }
        is_escaped = next == '\\' && !is_escaped;
    }
    None
}

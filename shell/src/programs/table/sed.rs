//! `sed`: scripts that print, delete and replace lines.
//! They neither run a program nor write a file of their own.

use crate::action::Access::{self, Reads, Writes};
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::OptionValue::Text;
use crate::programs::entry::{
    ACTS, Check, LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, program,
};
use crate::unreadable::UnreadableCommand;

const FLAGS: &str = "-E -n -r -s -u -z --quiet --regexp-extended --silent";
const VALUES: &[(&str, OptionValue)] = &[("-e --expression", Text(Check::By(is_listed)))];

pub(super) const PROGRAMS: &[Program] = &[program(
    &["sed", "gsed"],
    &[
        ProgramUse {
            flags: &[FLAGS],
            values: &[VALUES],
            operands: Operands::By(prints, "a script, then files"),
            ..LOOKS
        },
        ProgramUse {
            part: Some("-i"),
            flags: &[FLAGS, "-i --in-place"],
            values: &[VALUES],
            operands: Operands::By(edits, "a script, then files"),
            ..ACTS
        },
    ],
)];

fn prints(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    script_and_files(args, 0, Reads)
}

/// BSD wants a suffix behind `-i`, which is an empty word where there is none. GNU takes that word for the script, and prints.
fn edits(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let has_suffix = args.operands.first().is_some_and(|first| first.word.text.is_empty());
    script_and_files(args, usize::from(has_suffix), Writes)
}

fn script_and_files(
    args: &CommandArguments<'_>,
    skipped: usize,
    access: Access,
) -> Result<OperandMeaning, UnreadableCommand> {
    let operands = args.operands.get(skipped..).unwrap_or_default();
    if args.has(&["-e", "--expression"]) {
        return Ok(OperandMeaning::of(args.files(operands, access)?));
    }
    let Some((script, files)) = operands.split_first() else {
        return Err(unlisted(args.offset));
    };
    args.text(*script, Check::By(is_listed))?;
    Ok(OperandMeaning::of(args.files(files, access)?))
}

/// Returns `true` if a script is made of addresses with the commands `p`, `d`, `q`, `=` and `s`. The flags of `s` are digits, `g`,
/// `i`, `I` and `p`.
fn is_listed(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', '\n', ';']);
    while !rest.is_empty() {
        let Some(behind) = command(rest) else { return false };
        let behind = behind.trim_start_matches(' ');
        rest = behind.trim_start_matches([' ', '\n', ';']);
        // Something has to end a command.
        if !rest.is_empty() && rest.len() == behind.len() {
            return false;
        }
    }
    true
}

/// Returns the text behind a command that is listed.
fn command(text: &str) -> Option<&str> {
    let mut rest = address(text).unwrap_or(text);
    if rest.len() < text.len()
        && let Some(behind) = rest.strip_prefix(',')
    {
        rest = address(behind)?;
    }
    let rest = rest.trim_start_matches(' ');
    match rest.strip_prefix(['p', 'd', 'q', '=']) {
        Some(behind) => Some(behind),
        None => replacement(rest.strip_prefix('s')?),
    }
}

/// Returns the text behind a line's number, `$`, or a regular expression in slashes.
fn address(text: &str) -> Option<&str> {
    if let Some(behind) = text.strip_prefix('$') {
        return Some(behind);
    }
    if let Some(behind) = text.strip_prefix('/') {
        return enclosed(behind, '/');
    }
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (behind.len() < text.len()).then_some(behind)
}

/// Returns the text behind `/expression/replacement/flags`.
fn replacement(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| "/|#,:@!%_".contains(*mark))?;
    let behind = enclosed(text.strip_prefix(mark)?, mark)?;
    let behind = enclosed(behind, mark)?;
    Some(behind.trim_start_matches(|c: char| c.is_ascii_digit() || "giIp".contains(c)))
}

/// Returns the text behind the mark that ends a text. Programs differ in whether a mark behind a backslash, or in brackets, ends
/// it. So the text must not end with a backslash, and every class in it must be closed before the mark.
fn enclosed(text: &str, mark: char) -> Option<&str> {
    let (inner, behind) = text.split_once(mark)?;
    (!inner.contains('\n') && has_plain_classes(inner)).then_some(behind)
}

/// Returns `true` if every program finds the same ends of the classes and of the escapes in a regular expression. A plain class is
/// `[` or `[^`, then characters and names such as `[:alpha:]`, then `]`. A bracket or a backslash among the characters is refused.
pub(super) fn has_plain_classes(expression: &str) -> bool {
    let mut rest = expression;
    while let Some((before, behind)) = rest.split_once(['[', '\\']) {
        let is_class = rest.as_bytes().get(before.len()) == Some(&b'[');
        let ended = if is_class { class_ended(behind) } else { escape_ended(behind) };
        let Some(behind) = ended else { return false };
        rest = behind;
    }
    true
}

/// Returns the text behind the character after a backslash.
fn escape_ended(text: &str) -> Option<&str> {
    let mut letters = text.chars();
    letters.next().map(|_| letters.as_str())
}

/// Returns the text behind the end of a plain class.
fn class_ended(text: &str) -> Option<&str> {
    let first = text.strip_prefix('^').unwrap_or(text);
    let mut rest = first;
    loop {
        rest = rest.trim_start_matches(|c: char| !"[]\\".contains(c));
        if let Some(behind) = rest.strip_prefix(']') {
            // At the beginning it is one of the characters.
            return (rest.len() < first.len()).then_some(behind);
        }
        let (name, behind) = rest.strip_prefix("[:")?.split_once(":]")?;
        if !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        rest = behind;
    }
}

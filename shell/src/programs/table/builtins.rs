//! Builtins of shells, and the programs of the same names.
//! The grammar refuses those of their arguments that a shell evaluates.

use crate::action::Access::{Enters, Lists};
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::Check::{By, Prose, Word};
use crate::programs::entry::OptionValue::Text;
use crate::programs::entry::{ACTS, LOOKS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::unreadable::UnreadableCommand;

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["echo", "printf"],
        &[ProgramUse { style: Style::Words, operands: Operands::Texts(Prose), ..LOOKS }],
    ),
    program(&["true", "false", "pwd"], &[LOOKS]),
    program(&["sleep"], &[ProgramUse { operands: Operands::Texts(By(is_duration)), ..LOOKS }]),
    program(
        &["test"],
        &[ProgramUse {
            style: Style::Words,
            operands: Operands::By(test, "a test of a file, or a comparison"),
            ..LOOKS
        }],
    ),
    program(&["which", "type"], &[ProgramUse { flags: &["-a"], operands: Operands::Texts(Word), ..LOOKS }]),
    program(
        &["command"],
        &[ProgramUse { words: "-v", part: Some("-v"), operands: Operands::Texts(Word), ..LOOKS }],
    ),
    program(&["cd"], &[ProgramUse { operands: Operands::By(enter, "a folder"), ..LOOKS }]),
    program(
        &["kill"],
        &[ProgramUse {
            flags: &["-9 -15 -HUP -INT -KILL -TERM"],
            values: &[&[("-s", Text(Word))]],
            operands: Operands::Texts(By(|text| text.bytes().all(|byte| byte.is_ascii_digit()))),
            ..ACTS
        }],
    ),
];

/// The word behind a test of a file is a file. The grammar has no others than these, and comparisons.
fn test(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((first, rest)) = args.operands.split_first() else { return Ok(OperandMeaning::default()) };
    let is_of_file =
        matches!(first.word.text.as_str(), "-d" | "-e" | "-f" | "-h" | "-L" | "-r" | "-s" | "-w" | "-x");
    match rest {
        [file] if is_of_file => Ok(OperandMeaning::of(args.files(&[*file], Lists)?)),
        _ => {
            for operand in &args.operands {
                args.text(*operand, Prose)?;
            }
            Ok(OperandMeaning::default())
        }
    }
}

/// One folder. Without one it would go home, with a dash to where it was before, and with a sign zsh goes back in its list.
fn enter(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let [folder] = args.operands.as_slice() else { return Err(unlisted(args.offset)) };
    let path = folder.word.text.as_str();
    // A shell takes the step before `..` away, the system goes up from where a link leads.
    let goes_down = path.split('/').skip_while(|step| *step == "..").all(|step| step != "..");
    let is_plain =
        goes_down && !(args.is_elsewhere && path.starts_with("..")) && !path.starts_with(['+', '-']);
    if folder.word.is_glob || path.is_empty() || !is_plain {
        return Err(unlisted(folder.word.offset));
    }
    Ok(OperandMeaning::of(args.files(&[*folder], Enters)?))
}

/// Returns `true` for a number, with a unit if need be.
fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

//! `jq`: filters that compute with their input, and look neither at the environment nor at other files.

use crate::action::Access::Reads;
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, Operand, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Prose};
use crate::programs::entry::OptionValue::{File, Text};
use crate::programs::entry::{
    LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, Style, program,
};
use crate::programs::filter;
use crate::unreadable::UnreadableCommand;

/// Without `-f`, `-L` and `--args`, which read filters and modules from files, or change the meaning of the operands.
const FLAGS: &str = "-C -M -R -S -a -c -e -j -n -r -s --ascii-output --color-output --compact-output --exit-status \
    --join-output --monochrome-output --null-input --raw-input --raw-output --seq --slurp --sort-keys --stream --tab";
/// The values behind the name of a variable, except for that of `--indent`.
const VALUES: &[(&str, OptionValue)] =
    &[("--arg --argjson", Text(Prose)), ("--rawfile --slurpfile", File(Reads)), ("--indent", Text(Number))];

pub(super) const PROGRAMS: &[Program] = &[program(
    &["jq"],
    &[ProgramUse {
        style: Style::Words,
        flags: &[FLAGS],
        values: &[VALUES],
        operands: Operands::By(filters, "a filter, then files; `--arg` and its like name a variable first"),
        ..LOOKS
    }],
)];

fn filters(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut rest = args.operands.as_slice();
    let mut files = Vec::new();
    let mut has_filter = false;
    while let Some((operand, after)) = rest.split_first() {
        rest = after;
        let text = operand.word.text.as_str();
        if operand.word.is_glob && !has_filter {
            return Err(unlisted(operand.word.offset));
        }
        match text {
            "--arg" | "--argjson" | "--rawfile" | "--slurpfile" => {
                rest = named(args, operand, rest, &mut files)?;
            }
            "--indent" => rest = taken(args, operand, rest, 1)?.1,
            _ if text.starts_with('-') && text.len() > 1 => check_flag(operand)?,
            _ if has_filter => files.extend(args.file(*operand, Reads)?),
            _ => {
                args.text(*operand, By(filter::is_listed))?;
                has_filter = true;
            }
        }
    }
    Ok(OperandMeaning::of(files))
}

/// Returns the words that an option takes, and those behind them.
fn taken<'g, 'w>(
    args: &CommandArguments<'w>,
    option: &Operand<'w>,
    rest: &'g [Operand<'w>],
    count: usize,
) -> Result<(&'g [Operand<'w>], &'g [Operand<'w>]), UnreadableCommand> {
    let (taken, rest) = rest.split_at_checked(count).ok_or_else(|| unlisted(option.word.offset))?;
    for value in taken {
        args.text(*value, if count == 1 { Number } else { Prose })?;
    }
    Ok((taken, rest))
}

/// Reads a variable with its value, which is a file for two of these options.
fn named<'g, 'w>(
    args: &CommandArguments<'w>,
    option: &Operand<'w>,
    rest: &'g [Operand<'w>],
    files: &mut Vec<FileUse>,
) -> Result<&'g [Operand<'w>], UnreadableCommand> {
    let (taken, rest) = taken(args, option, rest, 2)?;
    if let [_, value] = taken
        && matches!(option.word.text.as_str(), "--rawfile" | "--slurpfile")
    {
        args.text(*value, Any)?;
        files.extend(args.file(*value, Reads)?);
    }
    Ok(rest)
}

fn check_flag(operand: &Operand<'_>) -> Result<(), UnreadableCommand> {
    let text = operand.word.text.as_str();
    let is_listed = |flag: &str| FLAGS.split_whitespace().any(|listed| listed == flag);
    let are_listed = |letters: &str| letters.chars().all(|letter| is_listed(&format!("-{letter}")));
    let is_flag =
        is_listed(text) || !text.starts_with("--") && text.strip_prefix('-').is_some_and(are_listed);
    if is_flag && !operand.word.is_glob { Ok(()) } else { Err(unlisted(operand.word.offset)) }
}

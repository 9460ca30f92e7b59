//! `find`: the predicates that only look.

use crate::action::Access::{Lists, Writes};
use crate::action::{Access, Effect, FileUse};
use crate::programs::arguments::{CommandArguments, Operand, here, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Of};
use crate::programs::entry::OptionValue::{File, Pattern, Text};
use crate::programs::entry::{
    ACTS, LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, Style, program,
};
use crate::unreadable::UnreadableCommand;

/// Predicates and operators without a value.
const FLAGS: &str = "( ) ! , -a -and -daystart -depth -d -empty -executable -false -ls -mount -nogroup -not -nouser -noleaf -o \
    -or -print -print0 -prune -quit -readable -true -writable -x -xdev";
/// Predicates with a value.
const VALUES: &[(&str, OptionValue)] = &[
    ("-name -iname -path -ipath -wholename -iwholename -lname -ilname", Pattern(Lists)),
    ("-regex -iregex", Text(Any)),
    ("-regextype", Text(Of("awk egrep emacs grep posix-awk posix-basic posix-egrep posix-extended sed"))),
    ("-maxdepth -mindepth -inum", Text(Number)),
    ("-amin -atime -cmin -ctime -links -mmin -mtime -size -used", Text(By(is_amount))),
    ("-type -xtype", Text(By(is_type))),
    ("-group -user -perm -fstype -printf", Text(By(is_plain))),
    ("-newer -anewer -cnewer -samefile", File(Lists)),
];

pub(super) const PROGRAMS: &[Program] = &[program(
    &["find"],
    &[
        ProgramUse {
            style: Style::Words,
            flags: &[FLAGS],
            values: &[VALUES],
            operands: Operands::By(looks, "folders, then predicates"),
            ..LOOKS
        },
        ProgramUse {
            part: Some("-delete"),
            effect: Effect::Acts,
            style: Style::Words,
            flags: &[FLAGS, "-delete"],
            values: &[VALUES],
            operands: Operands::By(deletes, "folders, then predicates"),
            ..ACTS
        },
    ],
)];

fn looks(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    Ok(OperandMeaning::of(searched(args, Lists)?))
}

fn deletes(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    Ok(OperandMeaning::of(searched(args, Writes)?))
}

/// Returns the folders before the first predicate, and the files that predicates name.
fn searched(args: &CommandArguments<'_>, access: Access) -> Result<Vec<FileUse>, UnreadableCommand> {
    let is_predicate = |operand: &&Operand<'_>| {
        operand.word.text.starts_with('-') || matches!(operand.word.text.as_str(), "(" | ")" | "!" | ",")
    };
    let count = args.operands.iter().take_while(|operand| !is_predicate(operand)).count();
    let (folders, mut rest) = args.operands.split_at_checked(count).unwrap_or_default();
    let mut files = args.files(folders, access)?;
    if files.is_empty() {
        files.push(here(access));
    }
    while let Some((predicate, after)) = rest.split_first() {
        rest = after;
        let word = predicate.word;
        if word.is_glob
            || args.used.flags.iter().all(|flags| flags.split_whitespace().all(|flag| flag != word.text))
        {
            let (value, behind) = rest.split_first().ok_or_else(|| unlisted(word.offset))?;
            if word.is_glob || value.word.is_glob {
                return Err(unlisted(word.offset));
            }
            files.extend(valued(args.used, predicate, &value.word.text)?);
            rest = behind;
        }
    }
    Ok(files)
}

fn valued(
    used: &'static ProgramUse,
    predicate: &Operand<'_>,
    value: &str,
) -> Result<Option<FileUse>, UnreadableCommand> {
    let word = predicate.word;
    let named = |(names, _): &&(&str, OptionValue)| names.split_whitespace().any(|name| name == word.text);
    let listed = used.values.iter().flat_map(|values| values.iter()).find(named);
    let path = value.to_owned();
    match listed {
        Some((_, Text(check))) if check.takes(value) => Ok(None),
        Some((_, File(access))) if Any.takes(value) => {
            Ok(Some(FileUse { path, access: *access, is_pattern: false }))
        }
        Some((_, Pattern(access))) if Any.takes(value) => {
            Ok(Some(FileUse { path, access: *access, is_pattern: true }))
        }
        _ => Err(unlisted(word.offset)),
    }
}

/// Returns `true` for a number with a sign and a unit: `+10k`.
fn is_amount(text: &str) -> bool {
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    Number.takes(
        number.strip_suffix(['b', 'c', 'w', 'k', 'M', 'G', 'T', 'P', 's', 'm', 'h', 'd']).unwrap_or(number),
    )
}

/// Letters for kinds of files, with commas.
fn is_type(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| "bcdpfls,".contains(c))
}

/// Returns `true` for a mode, a name or a format.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')
}

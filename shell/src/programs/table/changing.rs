//! Programs that make, copy, move and remove files.

use crate::action::Access::{self, Lists, Reads, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, Operand, unlisted};
use crate::programs::entry::Check::{By, Word};
use crate::programs::entry::OptionValue::{File, Text};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, program};
use crate::unreadable::UnreadableCommand;

/// Without `--parents`, which makes the folders of files again where they go.
const COPY: &str = "-H -L -P -R -T -a -f -i -l -n -p -r -s -u -v -x --archive --force --interactive --no-clobber --no-target-directory \
    --recursive --symbolic-link --update --verbose";

/// Modes that look like options.
const TAKEN_AWAY: &str = "-X -r -s -t -w -x";

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["mkdir"],
        &[ProgramUse { flags: &["-p -v --parents --verbose"], operands: Operands::Files(Writes), ..ACTS }],
    ),
    program(
        &["rmdir"],
        &[ProgramUse { flags: &["-p -v --parents --verbose"], operands: Operands::Files(Writes), ..ACTS }],
    ),
    program(
        &["touch"],
        &[ProgramUse {
            flags: &["-a -c -h -m --no-create --no-dereference"],
            values: &[&[("-d --date -t", Text(Word)), ("-r --reference", File(Lists))]],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
    program(
        &["rm"],
        &[ProgramUse {
            flags: &["-I -R -d -f -i -r -v --dir --force --interactive --recursive --verbose"],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
    program(
        &["cp"],
        &[ProgramUse {
            flags: &[COPY],
            values: &[&[("-t --target-directory", File(Writes))]],
            operands: Operands::By(copied, "files, then where they go"),
            ..ACTS
        }],
    ),
    program(
        &["mv"],
        &[ProgramUse {
            flags: &["-T -f -i -n -u -v --force --interactive --no-clobber --update --verbose"],
            values: &[&[("-t --target-directory", File(Writes))]],
            operands: Operands::By(moved, "files, then where they go"),
            ..ACTS
        }],
    ),
    program(
        &["ln"],
        &[ProgramUse {
            flags: &["-T -f -i -n -r -s -v --force --no-dereference --relative --symbolic --verbose"],
            operands: Operands::By(linked, "files, then where they go"),
            ..ACTS
        }],
    ),
    program(
        &["chmod"],
        &[ProgramUse {
            flags: &["-R -c -f -v --changes --quiet --recursive --verbose", TAKEN_AWAY],
            operands: Operands::By(mode_changed, "a mode, then files"),
            ..ACTS
        }],
    ),
    program(
        &["tee"],
        &[ProgramUse {
            flags: &["-a -i --append --ignore-interrupts"],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
];

/// All but the last one are read, with everything below them.
fn copied(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let is_recursive = args.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    // The target of every link below a folder would be copied.
    if is_recursive && args.has(&["-L"]) {
        return Err(unlisted(args.offset));
    }
    placed(args, if is_recursive { Access::ReadsTree } else { Reads })
}

/// All but the last one are taken away, and the last one is written.
fn moved(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    placed(args, Writes)
}

/// All but the last one are linked to. A single one is linked to in the working folder.
fn linked(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.as_slice() {
        [from] => {
            let mut files = args.files(&[*from], Reads)?;
            files.push(below(".", *from));
            Ok(OperandMeaning::of(files))
        }
        _ => placed(args, Reads),
    }
}

/// Files, and where they go.
fn placed(args: &CommandArguments<'_>, access: Access) -> Result<OperandMeaning, UnreadableCommand> {
    let mut folders: Vec<&str> = args
        .options
        .iter()
        .filter(|option| matches!(option.name, "-t" | "--target-directory"))
        .filter_map(|option| option.value.as_deref())
        .collect();
    let count = args.operands.len() - usize::from(folders.is_empty() && !args.operands.is_empty());
    let (from, to) = args.operands.split_at_checked(count).unwrap_or_default();
    let mut files = args.files(from, access)?;
    files.append(&mut args.files(to, Writes)?);
    // The target may be a folder: then each name in it is written.
    folders.extend(to.iter().map(|to| to.word.text.as_str()));
    for folder in folders {
        files.extend(from.iter().map(|operand| below(folder, *operand)));
    }
    Ok(OperandMeaning::of(files))
}

/// Returns the name of an operand in a folder.
fn below(folder: &str, operand: Operand<'_>) -> FileUse {
    let name = operand.word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let path = format!("{}/{name}", folder.trim_end_matches('/'));
    FileUse { path, access: Writes, is_pattern: operand.word.is_glob }
}

fn mode_changed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let taken_away: Vec<&str> = TAKEN_AWAY.split_whitespace().collect();
    if args.has(&taken_away) {
        return Ok(OperandMeaning::of(args.files(&args.operands, Writes)?));
    }
    let Some((mode, files)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    args.text(*mode, By(is_mode))?;
    Ok(OperandMeaning::of(args.files(files, Writes)?))
}

fn is_mode(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "augorwxXst+-=,".contains(c))
}

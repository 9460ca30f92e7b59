//! Programs that make, copy, move and remove files.

use crate::action::Access::{self, Lists, Reads, Writes};
use crate::programs::arguments::{Given, unlisted};
use crate::programs::entry::Check::{By, Word};
use crate::programs::entry::Takes::{File, Text};
use crate::programs::entry::{ACTS, Meaning, Operands, Program, Use, program};
use crate::unreadable::Unreadable;

const COPY: &str = "-H -L -P -R -T -a -f -i -l -n -p -r -s -u -v -x --archive --force --interactive --no-clobber --no-target-directory \
    --parents --recursive --symbolic-link --update --verbose";

/// Modes that look like options.
const TAKEN_AWAY: &str = "-X -r -s -t -w -x";

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["mkdir"],
        &[Use { flags: &["-p -v --parents --verbose"], operands: Operands::Files(Writes), ..ACTS }],
    ),
    program(
        &["rmdir"],
        &[Use { flags: &["-p -v --parents --verbose"], operands: Operands::Files(Writes), ..ACTS }],
    ),
    program(
        &["touch"],
        &[Use {
            flags: &["-a -c -h -m --no-create --no-dereference"],
            values: &[&[("-d --date -t", Text(Word)), ("-r --reference", File(Lists))]],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
    program(
        &["rm"],
        &[Use {
            flags: &["-I -R -d -f -i -r -v --dir --force --interactive --recursive --verbose"],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
    program(
        &["cp"],
        &[Use {
            flags: &[COPY],
            values: &[&[("-t --target-directory", File(Writes))]],
            operands: Operands::By(copied, "files, then where they go"),
            ..ACTS
        }],
    ),
    program(
        &["mv"],
        &[Use {
            flags: &["-T -f -i -n -u -v --force --interactive --no-clobber --update --verbose"],
            values: &[&[("-t --target-directory", File(Writes))]],
            operands: Operands::Files(Writes),
            ..ACTS
        }],
    ),
    program(
        &["ln"],
        &[Use {
            flags: &["-T -f -i -n -r -s -v --force --no-dereference --relative --symbolic --verbose"],
            operands: Operands::By(copied, "files, then where they go"),
            ..ACTS
        }],
    ),
    program(
        &["chmod"],
        &[Use {
            flags: &["-R -c -f -v --changes --quiet --recursive --verbose", TAKEN_AWAY],
            operands: Operands::By(mode_changed, "a mode, then files"),
            ..ACTS
        }],
    ),
    program(
        &["tee"],
        &[Use { flags: &["-a -i --append --ignore-interrupts"], operands: Operands::Files(Writes), ..ACTS }],
    ),
];

/// All but the last one are read, with whatever lies below them.
fn copied(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let is_recursive = given.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let read: Access = if is_recursive { Access::ReadsTree } else { Reads };
    let count = if given.has(&["-t", "--target-directory"]) {
        given.operands.len()
    } else {
        given.operands.len().saturating_sub(1)
    };
    let (from, to) = given.operands.split_at_checked(count).unwrap_or_default();
    let mut files = given.files(from, read)?;
    files.append(&mut given.files(to, Writes)?);
    // Where they go may be a folder: then each name in it is written.
    if let [to] = to {
        for operand in from {
            let name = operand.word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let path = format!("{}/{name}", to.word.text.trim_end_matches('/'));
            files.push(crate::action::FileUse { path, access: Writes, is_pattern: operand.word.is_glob });
        }
    }
    Ok(Meaning::of(files))
}

fn mode_changed(given: &Given<'_>) -> Result<Meaning, Unreadable> {
    let taken_away: Vec<&str> = TAKEN_AWAY.split_whitespace().collect();
    if given.has(&taken_away) {
        return Ok(Meaning::of(given.files(&given.operands, Writes)?));
    }
    let Some((mode, files)) = given.operands.split_first() else { return Err(unlisted(given.offset)) };
    given.text(*mode, By(is_mode))?;
    Ok(Meaning::of(given.files(files, Writes)?))
}

fn is_mode(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "augorwxXst+-=,".contains(c))
}

//! Programs that show files, folders and the machine.

use crate::action::Access::{Lists, Reads, ReadsTree};
use crate::programs::arguments::{CommandArguments, here, unlisted};
use crate::programs::entry::Check::{Any, By, Count, Number, Of, Word};
use crate::programs::entry::OptionValue::{File, Perhaps, Text};
use crate::programs::entry::{
    LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, Style, program,
};
use crate::unreadable::UnreadableCommand;

const CAT: &str = "-A -E -T -b -e -n -s -t -u -v --number --number-nonblank --show-all --show-ends \
    --show-nonprinting --show-tabs --squeeze-blank";
const LS: &str = "-1 -A -B -C -F -G -H -L -Q -R -S -U -X -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s -t \
    -u -v -x --all --almost-all --author --classify --directory --full-time --group-directories-first \
    --human-readable --inode --no-group --numeric-uid-gid --recursive --reverse --si --size";
const LS_VALUES: &[(&str, OptionValue)] = &[
    ("--color", Perhaps(Of("always auto never"))),
    ("--format", Text(Of("across commas horizontal long single-column verbose vertical"))),
    ("--hide --ignore", Text(Any)),
    ("--sort", Text(Of("none size time version extension width"))),
    ("--time", Text(Of("atime access use ctime status birth creation mtime modification"))),
    ("--time-style", Text(Any)),
];
const TREE: &str = "-A -C -D -F -J -N -Q -S -U -X -a -c -d -f -g -h -i -n -p -q -r -s -t -u -v --device \
    --dirsfirst --du --ignore-case --inodes --matchdirs --noreport --prune --si";
const TREE_VALUES: &[(&str, OptionValue)] =
    &[("-L --filelimit", Text(Number)), ("-I -P", Text(Any)), ("--charset", Text(Word))];
const STAT: &str = "-L -f -l -n -q -r -s -t -x --dereference --file-system --terse";
const FILE: &str = "-0 -I -L -N -b -h -i -k -n -r --brief --dereference --extension --keep-going --mime \
    --mime-encoding --mime-type --no-dereference --no-pad --raw";
const DU: &str = "-0 -H -P -S -a -b -c -h -k -l -m -s -x --all --apparent-size --bytes --count-links \
    --human-readable --inodes --null --one-file-system --separate-dirs --si --summarize --total";
const DU_VALUES: &[(&str, OptionValue)] =
    &[("-d --max-depth", Text(Number)), ("-t --threshold", Text(Count)), ("--exclude", Text(Any))];
const DF: &str = "-H -P -T -a -h -i -k -l -m --all --human-readable --inodes --local --portability \
    --print-type --si --total";
const DIFF: &str = "-B -E -N -T -Z -a -b -c -d -e -i -n -q -r -s -t -u -w -y --brief --expand-tabs \
    --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --ignore-tab-expansion \
    --ignore-trailing-space --initial-tab --left-column --minimal --new-file --no-dereference --normal \
    --recursive --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines --text";
const DIFF_VALUES: &[(&str, OptionValue)] = &[
    ("-C -U -W --width", Text(Number)),
    ("--context --unified", Perhaps(Number)),
    ("-I --ignore-matching-lines -x --exclude -L --label", Text(Any)),
    ("--color", Perhaps(Of("always auto never"))),
];
const READLINK: &str = "-e -f -m -n -q -s -z --canonicalize --canonicalize-existing --canonicalize-missing \
    --no-newline --quiet --strip --zero";
const DATE_VALUES: &[(&str, OptionValue)] = &[
    ("-d --date", Text(By(is_date))),
    ("-r --reference", File(Lists)),
    ("-I --iso-8601", Perhaps(Of("date hours minutes seconds ns"))),
    ("--rfc-3339", Text(Of("date seconds ns"))),
];

pub(super) const PROGRAMS: &[Program] = &[
    program(&["cat"], &[ProgramUse { flags: &[CAT], operands: Operands::Files(Reads), ..LOOKS }]),
    program(
        &["head", "tail"],
        &[ProgramUse {
            flags: &["-# -q -r -v -z --quiet --silent --verbose --zero-terminated"],
            values: &[&[("-n --lines -c --bytes", Text(Count))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["wc"],
        &[ProgramUse {
            flags: &["-L -c -l -m -w --bytes --chars --lines --max-line-length --words"],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["ls"],
        &[ProgramUse {
            flags: &[LS],
            values: &[LS_VALUES],
            operands: Operands::By(named, "files, or the working folder"),
            ..LOOKS
        }],
    ),
    program(
        &["tree"],
        &[ProgramUse {
            flags: &[TREE],
            values: &[TREE_VALUES],
            operands: Operands::FilesOrHere(Lists),
            ..LOOKS
        }],
    ),
    program(
        &["stat"],
        &[ProgramUse {
            // The format behind `-f` of BSD is a file to GNU.
            flags: &[STAT],
            values: &[&[("-c --format --printf", Text(Any))]],
            operands: Operands::Files(Lists),
            ..LOOKS
        }],
    ),
    program(
        &["file"],
        &[ProgramUse {
            flags: &[FILE],
            values: &[&[("-F --separator", Text(Any))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["du"],
        &[ProgramUse { flags: &[DU], values: &[DU_VALUES], operands: Operands::FilesOrHere(Lists), ..LOOKS }],
    ),
    program(&["df"], &[ProgramUse { flags: &[DF], operands: Operands::Files(Lists), ..LOOKS }]),
    program(
        &["diff"],
        &[ProgramUse {
            flags: &[DIFF],
            values: &[DIFF_VALUES],
            operands: Operands::By(compared, "files or folders"),
            ..LOOKS
        }],
    ),
    program(
        &["cmp"],
        &[ProgramUse {
            flags: &["-b -l -s --print-bytes --quiet --silent --verbose"],
            values: &[&[("-n --bytes", Text(Number))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["comm"],
        &[ProgramUse {
            flags: &["-1 -2 -3 -i -z --check-order --nocheck-order --total --zero-terminated"],
            values: &[&[("--output-delimiter", Text(Any))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "md5sum", "b2sum"],
        &[ProgramUse {
            flags: &["-b -t -z --binary --tag --text --zero"],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["shasum"],
        &[ProgramUse {
            flags: &["-b -t"],
            values: &[&[("-a --algorithm", Text(Of("1 224 256 384 512")))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(&["md5"], &[ProgramUse { flags: &["-q -r"], operands: Operands::Files(Reads), ..LOOKS }]),
    program(
        &["xxd"],
        &[ProgramUse {
            // Behind a file, what looks like an option is the file that it writes.
            style: Style::Leading,
            flags: &["-b -e -i -p -u"],
            values: &[&[("-c -g -l -s", Text(Count))]],
            operands: Operands::By(one_file, "a file"),
            ..LOOKS
        }],
    ),
    program(
        &["od"],
        &[ProgramUse {
            flags: &["-a -b -c -d -i -l -o -s -v -x"],
            values: &[&[("-A", Text(Of("d n o x"))), ("-t", Text(Word)), ("-N -j", Text(Count))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["hexdump"],
        &[ProgramUse {
            flags: &["-C -b -c -d -o -v -x"],
            values: &[&[("-n -s", Text(Number))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["basename", "dirname"],
        &[ProgramUse {
            flags: &["-a -z --multiple --zero"],
            values: &[&[("-s --suffix", Text(Any))]],
            operands: Operands::Texts(Any),
            ..LOOKS
        }],
    ),
    program(
        &["realpath", "readlink"],
        &[ProgramUse {
            flags: &[READLINK],
            values: &[&[("--relative-to --relative-base", File(Lists))]],
            operands: Operands::Files(Lists),
            ..LOOKS
        }],
    ),
    program(
        &["date"],
        &[ProgramUse {
            flags: &["-R -u --rfc-email --universal --utc"],
            values: &[DATE_VALUES],
            operands: Operands::Texts(By(is_format)),
            ..LOOKS
        }],
    ),
    program(
        &["uname"],
        &[ProgramUse {
            flags: &["-a -i -m -n -o -p -r -s -v --all --machine --kernel-name --kernel-release"],
            ..LOOKS
        }],
    ),
    program(&["whoami", "nproc", "arch", "tty"], &[LOOKS]),
    program(
        &["id"],
        &[ProgramUse { flags: &["-G -g -n -r -u --group --groups --name --real --user"], ..LOOKS }],
    ),
];

/// Files whose names `ls` shows. `-L` and `-R` together lead behind every link below a folder.
fn named(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if args.has(&["-L"]) && args.has(&["-R", "--recursive"]) {
        return Err(unlisted(args.offset));
    }
    let files = args.files(&args.operands, Lists)?;
    Ok(OperandMeaning::of(if files.is_empty() { vec![here(Lists)] } else { files }))
}

/// Two files or folders. Without `-r` too, the files at the top of two folders are compared. With it, and with `-N`, which reads
/// the files of only one of them, links in them are followed unless an option says otherwise.
fn compared(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    if args.has(&["-r", "--recursive", "-N", "--new-file"]) && !args.has(&["--no-dereference"]) {
        return Err(unlisted(args.offset));
    }
    Ok(OperandMeaning::of(args.files(&args.operands, ReadsTree)?))
}

/// One file: a second one would be written.
fn one_file(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.as_slice() {
        [] => Ok(OperandMeaning::default()),
        [file] if !file.word.is_glob => Ok(OperandMeaning::of(args.files(&[*file], Reads)?)),
        [file, ..] => Err(unlisted(file.word.offset)),
    }
}

/// Returns `true` for a date in words: digits alone would set something of the kernel's under BSD, and `TZ="…"` in it names a file.
fn is_date(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -+:,./@".contains(c);
    text.chars().all(is_plain) && !text.starts_with('-') && text.contains(|c: char| !c.is_ascii_digit())
}

/// Returns `true` for a format. Without its `+` it would be a time to set the clock to.
fn is_format(text: &str) -> bool {
    text.starts_with('+')
}

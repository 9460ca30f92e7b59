//! Programs that sort, cut and count lines.

use crate::action::Access::Reads;
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Of, Prose, Word};
use crate::programs::entry::OptionValue::{Perhaps, Text};
use crate::programs::entry::{
    LOOKS, OperandMeaning, Operands, OptionValue, Program, ProgramUse, Style, program,
};
use crate::unreadable::UnreadableCommand;

/// Without `-o` and `--compress-program`, and without `-T`, the folder for data that does not fit into memory. Such data goes to
/// files of its own in the system's folder for them. So does the copy that `-m` keeps of a file that is its output too.
const SORT: &str = "-C -M -V -b -c -d -f -g -h -i -m -n -r -s -u -z --check --dictionary-order --general-numeric-sort \
    --human-numeric-sort --ignore-case --ignore-leading-blanks --ignore-nonprinting --merge --month-sort \
    --numeric-sort --reverse --stable --unique --version-sort --zero-terminated";
const SORT_VALUES: &[(&str, OptionValue)] = &[
    ("-k --key", Text(By(is_key))),
    ("-t --field-separator", Text(Any)),
    ("--check", Perhaps(Of("quiet silent diagnose-first"))),
];
const CUT_VALUES: &[(&str, OptionValue)] = &[
    ("-b -c -f --bytes --characters --fields", Text(By(is_list))),
    ("-d --delimiter --output-delimiter", Text(Prose)),
];
const NL_VALUES: &[(&str, OptionValue)] = &[
    ("-b -d -f -h -n -s --body-numbering --header-numbering --number-format --number-separator", Text(Any)),
    ("-i -l -v -w --line-increment --number-width --starting-line-number", Text(Number)),
];
const COLUMN_VALUES: &[(&str, OptionValue)] = &[
    ("-N -R -o -s --output-separator --separator --table-columns --table-right", Text(Any)),
    ("-c --output-width", Text(Number)),
];

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["sort"],
        &[ProgramUse { flags: &[SORT], values: &[SORT_VALUES], operands: Operands::Files(Reads), ..LOOKS }],
    ),
    program(
        &["uniq"],
        &[ProgramUse {
            // Behind a file, what looks like an option is the file that BSD writes.
            style: Style::Leading,
            flags: &[
                "-D -c -d -i -u -z --all-repeated --count --ignore-case --repeated --unique --zero-terminated",
            ],
            values: &[&[("-f -s -w --check-chars --skip-chars --skip-fields", Text(Number))]],
            operands: Operands::By(one_file, "a file"),
            ..LOOKS
        }],
    ),
    program(
        &["cut"],
        &[ProgramUse {
            flags: &["-n -s -z --complement --only-delimited --zero-terminated"],
            values: &[CUT_VALUES],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["tr"],
        &[ProgramUse {
            flags: &["-C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1"],
            operands: Operands::Texts(Prose),
            ..LOOKS
        }],
    ),
    program(
        &["paste"],
        &[ProgramUse {
            flags: &["-s -z --serial --zero-terminated"],
            values: &[&[("-d --delimiters", Text(Any))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["fold"],
        &[ProgramUse {
            flags: &["-b -s --bytes --spaces"],
            values: &[&[("-w --width", Text(Number))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["nl"],
        &[ProgramUse {
            flags: &["-p --no-renumber"],
            values: &[NL_VALUES],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(&["rev"], &[ProgramUse { operands: Operands::Files(Reads), ..LOOKS }]),
    program(
        &["tac"],
        &[ProgramUse {
            // Of a pipe it keeps a copy in a file without a name, as `sort` does.
            flags: &["-b --before"],
            values: &[&[("-s --separator", Text(Any))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["column"],
        &[ProgramUse {
            flags: &["-J -L -e -n -t -x --fillrows --json --table"],
            values: &[COLUMN_VALUES],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["strings"],
        &[ProgramUse {
            has_argument_files: true,
            flags: &["-a -f --all --print-file-name"],
            values: &[&[("-n --bytes", Text(Number)), ("-t --radix", Text(Of("d o x")))]],
            operands: Operands::Files(Reads),
            ..LOOKS
        }],
    ),
    program(
        &["seq"],
        &[ProgramUse {
            style: Style::Leading,
            flags: &["-w --equal-width"],
            values: &[&[("-s --separator", Text(Any))]],
            operands: Operands::Texts(Word),
            ..LOOKS
        }],
    ),
];

/// One file: a second one would be written.
fn one_file(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.as_slice() {
        [] => Ok(OperandMeaning::default()),
        [file] if !file.word.is_glob => Ok(OperandMeaning::of(args.files(&[*file], Reads)?)),
        [file, ..] => Err(unlisted(file.word.offset)),
    }
}

/// Fields and letters: `2,2n`, `1.3`.
fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".,".contains(c))
}

/// Numbers and ranges: `1,3-5`, `-2`.
fn is_list(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || ",-".contains(c))
}

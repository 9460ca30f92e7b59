//! Programs that test, check and format a project.
//! They run its code, or programs that its configuration names.

use crate::action::Access::{Lists, Reads, ReadsTree, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, here, unlisted};
use crate::programs::entry::Check::{Any, Number, Of, Word};
use crate::programs::entry::OptionValue::{self, File, Perhaps, Text};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::unreadable::UnreadableCommand;

const CHECK: ProgramUse = ProgramUse { style: Style::Mixed, operands: Operands::Files(Reads), ..ACTS };
/// A program that reads further arguments from files such as `@file`.
const CHECK_WITH_ARGUMENT_FILES: ProgramUse = ProgramUse { has_argument_files: true, ..CHECK };
/// Without `-c`, `-p`, `-o`, `--rootdir`, `--confcutdir`: they name modules to load and folders to run.
const PYTEST: &str = "-l -q -qq -s -v -vv -vvv -x --cache-clear --co --collect-only --exitfirst --failed-first --ff --last-failed --lf \
    --new-first --nf --no-header --no-summary --quiet --showlocals --stepwise --sw --verbose";
const PYTEST_VALUES: &[(&str, OptionValue)] = &[
    ("-k -m", Text(Any)),
    ("-n --numprocesses", Text(Of("0 1 2 3 4 6 8 12 16 auto"))),
    ("--durations --maxfail --timeout", Text(Number)),
    ("--color --tb --capture -r", Text(Word)),
    // Another warning names a module to load.
    ("-W", Text(Of("default error ignore once"))),
    ("--cov-report", Text(Of("html term term-missing term-missing:skip-covered term:skip-covered xml"))),
    ("--cov", Perhaps(Word)),
    ("--ignore --deselect", Text(Word)),
    ("--junitxml --junit-xml", File(Writes)),
];
const JEST: &str = "-b -i -o -u --bail --ci --clearCache --colors --coverage --detectOpenHandles --forceExit --json --listTests \
    --no-cache --no-coverage --onlyChanged --passWithNoTests --runInBand --silent --update --updateSnapshot --verbose --watchAll";
const JEST_VALUES: &[(&str, OptionValue)] = &[
    ("-t --testNamePattern --testPathPattern --testPathIgnorePatterns", Text(Any)),
    ("-w --maxWorkers --testTimeout --bail", Text(Word)),
    ("--watchAll --coverage", Perhaps(Of("false true"))),
];
const VITEST: &str = "-u --allowOnly --bail --coverage --no-color --passWithNoTests --run --silent --typecheck --update --watch";
const VITEST_VALUES: &[(&str, OptionValue)] = &[
    ("-t --testNamePattern", Text(Any)),
    ("--reporter --project --bail --testTimeout --pool", Text(Word)),
    ("--coverage --watch", Perhaps(Of("false true"))),
];
const ESLINT: &str = "--cache --color --debug --no-color --no-error-on-unmatched-pattern --no-ignore --no-warn-ignored --quiet";
const ESLINT_VALUES: &[(&str, OptionValue)] = &[
    ("--ext --rule", Text(Any)),
    ("--max-warnings", Text(Number)),
    ("-f --format", Text(Of("compact html json stylish unix"))),
    ("-o --output-file", File(Writes)),
];
const TSC: &str = "-b -v -w --build --clean --declaration --emitDeclarationOnly --force --incremental --listFiles --noEmit --noUnusedLocals \
    --noUnusedParameters --pretty --skipLibCheck --strict --verbose --version --watch --allowJs --checkJs --esModuleInterop --dry";
const TSC_VALUES: &[(&str, OptionValue)] = &[
    ("-p --project", File(Reads)),
    ("--outDir --outFile --declarationDir --tsBuildInfoFile", File(Writes)),
    ("-t --target -m --module --jsx --lib --moduleResolution", Text(Word)),
    ("--pretty --incremental --noEmit", Perhaps(Of("false true"))),
];
const RUFF: &str = "-e -q -s -v --diff --exit-zero --isolated --no-cache --preview --quiet --show-files --silent --statistics --verbose";
const RUFF_VALUES: &[(&str, OptionValue)] = &[
    ("--extend-select --ignore --line-length --output-format --select --target-version", Text(Word)),
    ("--exclude --extend-exclude", Text(Any)),
];

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["pytest", "py.test"],
        &[ProgramUse {
            flags: &[PYTEST],
            values: &[PYTEST_VALUES],
            operands: Operands::By(tests, "files, each with a test's name"),
            ..CHECK_WITH_ARGUMENT_FILES
        }],
    ),
    program(&["jest"], &[ProgramUse { flags: &[JEST], values: &[JEST_VALUES], ..CHECK }]),
    program(
        &["vitest"],
        &[
            ProgramUse { flags: &[VITEST], values: &[VITEST_VALUES], ..CHECK },
            ProgramUse { words: "run", flags: &[VITEST], values: &[VITEST_VALUES], ..CHECK },
        ],
    ),
    program(
        &["playwright"],
        &[ProgramUse {
            words: "test",
            flags: &["--headed --list --quiet -x -u"],
            values: &[&[
                ("-g --grep", Text(Any)),
                ("--project --reporter --retries --workers -j --timeout", Text(Word)),
            ]],
            ..CHECK
        }],
    ),
    program(
        &["eslint"],
        &[
            ProgramUse { flags: &[ESLINT], values: &[ESLINT_VALUES], ..CHECK },
            ProgramUse {
                part: Some("--fix"),
                flags: &[ESLINT, "--fix"],
                needs: "--fix",
                values: &[ESLINT_VALUES],
                operands: Operands::Files(Writes),
                ..CHECK
            },
        ],
    ),
    program(
        &["prettier"],
        &[
            ProgramUse {
                flags: &[
                    "-c -l -u --check --ignore-unknown --list-different --no-color --no-error-on-unmatched-pattern",
                ],
                needs: "-c -l --check --list-different",
                values: &[&[("--log-level --loglevel", Text(Word))]],
                operands: Operands::Files(Reads),
                ..CHECK
            },
            ProgramUse {
                part: Some("--write"),
                flags: &[
                    "-l -u -w --ignore-unknown --list-different --no-color --no-error-on-unmatched-pattern --write",
                ],
                needs: "-w --write",
                values: &[&[("--log-level --loglevel", Text(Word))]],
                operands: Operands::Files(Writes),
                ..CHECK
            },
            ProgramUse {
                part: Some("print"),
                flags: &["-u --ignore-unknown --no-color --no-error-on-unmatched-pattern"],
                values: &[&[("--log-level --loglevel", Text(Word))]],
                operands: Operands::By(printed, "files and folders"),
                ..CHECK
            },
        ],
    ),
    program(&["tsc"], &[ProgramUse { flags: &[TSC], values: &[TSC_VALUES], ..CHECK_WITH_ARGUMENT_FILES }]),
    program(
        &["mypy", "pyright"],
        &[ProgramUse {
            flags: &[
                "--check-untyped-defs --ignore-missing-imports --namespace-packages --no-error-summary --pretty --show-error-codes \
                --strict --verbose --version -v",
            ],
            values: &[&[
                ("--follow-imports --python-version", Text(Word)),
                ("-p --package -m --module", Text(Word)),
            ]],
            ..CHECK_WITH_ARGUMENT_FILES
        }],
    ),
    program(
        &["ruff"],
        &[
            ProgramUse {
                words: "check",
                flags: &[RUFF],
                values: &[RUFF_VALUES],
                operands: Operands::By(checked, "files and folders"),
                ..CHECK_WITH_ARGUMENT_FILES
            },
            ProgramUse {
                words: "check",
                part: Some("check --fix"),
                flags: &[RUFF, "--fix --unsafe-fixes"],
                needs: "--fix",
                values: &[RUFF_VALUES],
                operands: Operands::FilesOrHere(Writes),
                ..CHECK_WITH_ARGUMENT_FILES
            },
            ProgramUse {
                words: "format",
                part: Some("format --check"),
                flags: &["-q --check --diff --quiet"],
                needs: "--check --diff",
                values: &[RUFF_VALUES],
                operands: Operands::Files(Reads),
                ..CHECK_WITH_ARGUMENT_FILES
            },
            ProgramUse {
                words: "format",
                flags: &["-q --quiet"],
                values: &[RUFF_VALUES],
                operands: Operands::FilesOrHere(Writes),
                ..CHECK_WITH_ARGUMENT_FILES
            },
            ProgramUse { words: "--version", ..ACTS },
        ],
    ),
    program(
        &["black"],
        &[
            ProgramUse {
                part: Some("--check"),
                flags: &["-q -v --check --diff --quiet --verbose"],
                needs: "--check --diff",
                values: &[&[("-l --line-length", Text(Number))]],
                ..CHECK
            },
            ProgramUse {
                flags: &["-q -v --quiet --verbose"],
                values: &[&[("-l --line-length", Text(Number))]],
                operands: Operands::Files(Writes),
                ..CHECK
            },
        ],
    ),
    program(
        &["flake8", "pylint"],
        &[ProgramUse {
            flags: &["-v --count --statistics --show-source"],
            values: &[&[("--disable --enable --exclude --ignore --max-line-length --select", Text(Any))]],
            ..CHECK
        }],
    ),
    program(
        &["shellcheck"],
        &[ProgramUse {
            flags: &["-a -x --color"],
            values: &[&[("-e -f -s -S --exclude --format --severity --shell", Text(Word))]],
            ..CHECK
        }],
    ),
];

/// Files, each with the name of a test behind two colons, and the reports that are written beside them.
fn tests(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut files: Vec<FileUse> = args.files(&args.operands, Reads)?;
    for file in &mut files {
        if let Some((path, _)) = file.path.split_once("::") {
            file.path = path.to_owned();
        }
    }
    for report in args.options.iter().filter(|option| option.name == "--cov-report") {
        let made = match report.value.as_deref() {
            Some("html") => "htmlcov",
            Some("xml") => "coverage.xml",
            _ => continue,
        };
        files.push(FileUse { path: made.to_owned(), access: Writes, is_pattern: false });
    }
    Ok(OperandMeaning::of(files))
}

/// Files and folders whose contents are printed. Prettier looks for the names that a glob in quotes matches.
fn printed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let has_wildcard = |text: &str| text.contains(['*', '?', '[', '{', '(', '!']);
    match args.operands.iter().find(|operand| has_wildcard(&operand.word.text)) {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => Ok(OperandMeaning::of(args.files(&args.operands, ReadsTree)?)),
    }
}

fn checked(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    // They print what they find wrong in sources, not the files of a tree.
    let files = args.files(&args.operands, Reads)?;
    Ok(OperandMeaning::of(if files.is_empty() { vec![here(Lists)] } else { files }))
}

//! Programs that build and test a project. They run its code.

use crate::action::Access::{Lists, Reads, ReadsTree, Writes};
use crate::action::FileUse;
use crate::programs::arguments::{CommandArguments, Operand, unlisted};
use crate::programs::entry::Check::{Any, By, Number, Of, Word};
use crate::programs::entry::OptionValue::{self, File, Perhaps, Text};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, Style, is_word, program};
use crate::unreadable::UnreadableCommand;

const GO: ProgramUse = ProgramUse { style: Style::Single, ..ACTS };
/// Without those that name programs, other folders, or options for compilers and linkers: `-exec`, `-toolexec`, `-C`, `-overlay`,
/// `-modfile`, `-ldflags` and their like.
const GO_BUILD: &str = "-a -asan -cover -i -msan -n -race -trimpath -v -work -x";
const GO_BUILD_VALUES: &[(&str, OptionValue)] = &[
    ("-p", Text(Number)),
    ("-tags -coverpkg", Text(Word)),
    // With `mod`, whatever module is named would be fetched.
    ("-mod", Text(Of("readonly vendor"))),
    ("-covermode", Text(Of("atomic count set"))),
    ("-buildvcs", Text(Of("auto false true"))),
];
const GO_TEST: &str = "-benchmem -c -cover -failfast -fullpath -json -race -short -v";
const GO_TEST_VALUES: &[(&str, OptionValue)] = &[
    ("-bench -fuzz -list -run -skip", Text(Any)),
    ("-benchtime -fuzztime -timeout", Text(Word)),
    ("-count -parallel", Text(Number)),
    ("-cpu -shuffle -vet", Text(Word)),
    ("-o -outputdir", File(Writes)),
    ("-blockprofile -coverprofile -cpuprofile -memprofile -mutexprofile -trace", File(Writes)),
];
const PACKAGES: Operands = Operands::By(packages, "packages");
const GOLANGCI: &str = "-v --allow-parallel-runners --fast --fast-only --new --no-config --tests --verbose";
const GOLANGCI_VALUES: &[(&str, OptionValue)] = &[
    ("-D -E --disable --enable --enable-only", Text(Word)),
    ("--new-from-rev --out-format --timeout --build-tags", Text(Word)),
    ("-j --concurrency --max-issues-per-linter --max-same-issues", Text(Number)),
];
/// Without `--config`, `-Z`, `-C`, `--manifest-path` and toolchains.
const CARGO: &str = "-q -r -v -vv --all --all-features --all-targets --benches --bins --examples --frozen --keep-going \
    --lib --locked --message-format --no-default-features --offline --quiet --release --tests --verbose --workspace";
const CARGO_VALUES: &[(&str, OptionValue)] = &[
    ("-F -p --bench --bin --example --exclude --features --package --profile --target --test", Text(Word)),
    ("-j --jobs", Text(Number)),
    ("--color", Text(Of("always auto never"))),
    ("--message-format", Text(Word)),
];
/// Names of lints, and how they are taken.
const LINTS: &str = "-A -D -F -W";
const RUNS_TASK: &str = "a task, then words for it";

const fn cargo(words: &'static str, flags: &'static [&'static str]) -> ProgramUse {
    ProgramUse {
        words,
        style: Style::Mixed,
        flags,
        values: &[CARGO_VALUES],
        operands: Operands::Texts(Word),
        ..ACTS
    }
}

const fn go(words: &'static str, flags: &'static [&'static str], operands: Operands) -> ProgramUse {
    ProgramUse { words, flags, values: &[GO_BUILD_VALUES], operands, ..GO }
}

const fn golangci(flags: &'static [&'static str]) -> ProgramUse {
    ProgramUse { words: "run", style: Style::Mixed, flags, values: &[GOLANGCI_VALUES], ..ACTS }
}

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["go"],
        &[
            ProgramUse {
                values: &[GO_BUILD_VALUES, &[("-o", File(Writes))]],
                ..go("build", &[GO_BUILD], PACKAGES)
            },
            ProgramUse {
                values: &[GO_BUILD_VALUES, GO_TEST_VALUES],
                ..go("test", &[GO_BUILD, GO_TEST], PACKAGES)
            },
            ProgramUse {
                style: Style::SingleLeading,
                ..go("run", &[GO_BUILD], Operands::By(run, "a package, then words for it"))
            },
            go("vet", &[GO_BUILD, "-json"], PACKAGES),
            go("install", &[GO_BUILD], PACKAGES),
            ProgramUse {
                part: Some("install module@version"),
                ..go("install", &[GO_BUILD], Operands::By(modules, "packages of modules with versions"))
            },
            go("generate", &["-n -v -x"], PACKAGES),
            go("get", &["-d -t -u -v -x"], Operands::By(modules, "packages, with versions if need be")),
            go("fmt", &["-n -x"], PACKAGES),
            go("fix", &[], PACKAGES),
            go("clean", &["-cache -i -modcache -n -r -testcache -x"], PACKAGES),
            // Without `-u`, `-versions` and `-retracted`, which ask other machines.
            ProgramUse {
                values: &[GO_BUILD_VALUES, &[("-f", Text(Any))]],
                ..go("list", &[GO_BUILD, "-compiled -deps -e -export -find -json -m -test"], PACKAGES)
            },
            go("doc", &["-all -c -cmd -short -src -u"], Operands::Texts(Word)),
            go("env", &["-json"], Operands::Texts(Word)),
            go("version", &["-m -v"], Operands::Files(Reads)),
            go("mod tidy", &["-e -v -x"], Operands::None),
            go("mod download", &["-json -x"], Operands::Texts(Word)),
            go("mod verify", &[], Operands::None),
            go("mod vendor", &["-e -v"], Operands::None),
            go("mod graph", &[], Operands::None),
            go("mod why", &["-m -vendor"], Operands::Texts(Word)),
            go("mod init", &[], Operands::Texts(Word)),
            ProgramUse {
                values: &[&[("-func", File(Reads)), ("-o", File(Writes))]],
                ..go("tool cover", &[], Operands::None)
            },
            go("work sync", &[], Operands::None),
        ],
    ),
    program(
        &["gofmt", "goimports"],
        &[
            ProgramUse { flags: &["-e -l -s"], needs: "-l", operands: Operands::Files(Reads), ..GO },
            ProgramUse {
                flags: &["-d -e -l -s"],
                operands: Operands::By(printed, "files and folders"),
                ..GO
            },
            ProgramUse {
                part: Some("-w"),
                flags: &["-d -e -l -s -w"],
                needs: "-w",
                operands: Operands::Files(Writes),
                ..GO
            },
        ],
    ),
    program(
        &["golangci-lint"],
        &[
            ProgramUse { operands: Operands::Files(Reads), ..golangci(&[GOLANGCI]) },
            ProgramUse {
                part: Some("run --fix"),
                needs: "--fix",
                operands: Operands::FilesOrHere(Writes),
                ..golangci(&[GOLANGCI, "--fix"])
            },
            ProgramUse { words: "fmt", operands: Operands::FilesOrHere(Writes), ..ACTS },
            ProgramUse { words: "linters", ..ACTS },
            ProgramUse { words: "version", ..ACTS },
            ProgramUse { words: "--version", ..ACTS },
        ],
    ),
    Program {
        names: &["cargo"],
        before: "-q --frozen --locked --offline --quiet",
        uses: &[
            ProgramUse { words: "--version", ..ACTS },
            cargo("build", &[CARGO]),
            cargo("check", &[CARGO]),
            cargo("doc", &[CARGO, "--document-private-items --no-deps"]),
            cargo("bench", &[CARGO, "--no-run"]),
            ProgramUse {
                operands: Operands::By(tests, "a test's name, then words for the tests behind `--`"),
                ..cargo("test", &[CARGO, "--doc --no-fail-fast --no-run"])
            },
            ProgramUse {
                operands: Operands::By(tests, "a test's name, then words for the tests behind `--`"),
                ..cargo("nextest run", &[CARGO, "--no-capture --no-fail-fast --no-run"])
            },
            ProgramUse {
                operands: Operands::By(lints, "lints behind `--`"),
                ..cargo("clippy", &[CARGO, "--no-deps"])
            },
            ProgramUse {
                part: Some("clippy --fix"),
                needs: "--fix",
                operands: Operands::By(lints, "lints behind `--`"),
                ..cargo("clippy", &[CARGO, "--allow-dirty --allow-staged --fix --no-deps"])
            },
            ProgramUse {
                operands: Operands::By(tests, "words for the program behind `--`"),
                ..cargo("run", &[CARGO])
            },
            ProgramUse {
                operands: Operands::By(nothing_else, "`--` and flags of rustfmt"),
                ..cargo("fmt", &["-q --all --check --quiet"])
            },
            cargo(
                "tree",
                &[
                    "-d -e -i --all-features --duplicates --locked --no-default-features --no-dedupe --offline --workspace",
                ],
            ),
            cargo("metadata", &["--all-features --locked --no-default-features --no-deps --offline"]),
            cargo("add", &["--build --dev --dry-run --no-default-features --optional -q --quiet"]),
            cargo("remove", &["--build --dev --dry-run -q --quiet"]),
            cargo("update", &["--aggressive --dry-run --offline --workspace"]),
            cargo("fetch", &["--locked --offline"]),
            cargo("clean", &["--doc --dry-run --release -r"]),
            cargo("install", &["-f --all-features --force --locked --no-default-features"]),
            cargo("search", &[]),
            // `audit fix` changes the manifest.
            ProgramUse { operands: Operands::None, ..cargo("audit", &[]) },
            cargo("deny check", &[]),
        ],
    },
    program(
        &["rustc", "rustup"],
        &[
            ProgramUse { words: "--version", ..ACTS },
            ProgramUse { words: "show", ..ACTS },
            ProgramUse { words: "toolchain list", ..ACTS },
        ],
    ),
    program(
        &["make", "gmake"],
        &[ProgramUse {
            flags: &[
                "-B -k -n -s --always-make --dry-run --just-print --keep-going --no-print-directory --quiet --silent",
            ],
            values: &[&[("-j --jobs", Perhaps(Number))]],
            operands: Operands::By(targets, "targets"),
            ..ACTS
        }],
    ),
    program(
        &["just"],
        &[
            ProgramUse { words: "--list", ..ACTS },
            ProgramUse { words: "-l", part: Some("--list"), ..ACTS },
            ProgramUse {
                style: Style::Leading,
                flags: &["-n -q --dry-run --quiet"],
                operands: Operands::By(targets, "recipes with their words"),
                ..ACTS
            },
        ],
    ),
    program(
        &["task"],
        &[
            ProgramUse { words: "--list", ..ACTS },
            ProgramUse {
                style: Style::Leading,
                flags: &["-f -n -s --dry --force --silent"],
                operands: Operands::By(targets, "tasks"),
                ..ACTS
            },
        ],
    ),
    program(
        &["mise"],
        &[
            ProgramUse {
                words: "run",
                style: Style::Leading,
                flags: &["-f -q -r --force --quiet --raw"],
                values: &[&[("-j --jobs", Text(Number))]],
                operands: Operands::By(task, RUNS_TASK),
                ..ACTS
            },
            ProgramUse {
                words: "r",
                part: Some("run"),
                style: Style::Leading,
                operands: Operands::By(task, RUNS_TASK),
                ..ACTS
            },
            ProgramUse { words: "tasks", flags: &["--json --hidden"], ..ACTS },
            ProgramUse { words: "tasks ls", part: Some("tasks"), flags: &["--json --hidden"], ..ACTS },
            ProgramUse {
                words: "ls",
                flags: &["-c -i -l --current --installed --json --local"],
                operands: Operands::Texts(Word),
                ..ACTS
            },
            ProgramUse { words: "current", operands: Operands::Texts(Word), ..ACTS },
            ProgramUse { words: "which", operands: Operands::Texts(Word), ..ACTS },
            ProgramUse { words: "install", operands: Operands::Texts(Word), ..ACTS },
            ProgramUse { words: "--version", ..ACTS },
        ],
    ),
];

/// Returns `true` if a text means nothing to any shell, into whose text a runner of tasks may put it.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%=".contains(c);
    !text.is_empty() && !text.starts_with('=') && text.chars().all(is_plain)
}

/// Packages of the project and of the modules that it names: without a version, go fetches no other module.
fn packages(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.iter().find(|operand| operand.word.text.contains('@')) {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => modules(args),
    }
}

/// Packages, each with the version of its module behind `@`, which is fetched.
fn modules(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    // Names with a dot as their first step are folders.
    let files = args.files(&args.operands, Lists)?;
    for operand in &args.operands {
        args.text(*operand, Word)?;
    }
    Ok(OperandMeaning::of(files))
}

/// Sources of Go, printed as a whole or where they change. Of a folder, every source below it.
fn printed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut files = args.files(&args.operands, ReadsTree)?;
    for file in files.iter_mut().filter(|file| file.path.ends_with(".go")) {
        file.access = Reads;
    }
    Ok(OperandMeaning::of(files))
}

/// A package or files, and then words that it reads as it likes.
fn run(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((package, rest)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    // A version would be fetched.
    args.text(*package, By(|text| is_word(text) && !text.contains('@')))?;
    let mut files = vec![FileUse { path: package.word.text.clone(), access: Reads, is_pattern: false }];
    files.extend(words(rest)?);
    Ok(OperandMeaning::of(files))
}

/// Words for a program of the project, each of which may name a file.
fn words(operands: &[Operand<'_>]) -> Result<Vec<FileUse>, UnreadableCommand> {
    let words: Vec<_> = operands.iter().map(|operand| operand.word.clone()).collect();
    crate::programs::unknown::possible_files(&words)
}

fn tests(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    for operand in args.operands.iter().filter(|operand| !operand.is_behind_dashes) {
        args.text(*operand, Word)?;
    }
    let behind: Vec<_> = args.operands.iter().filter(|operand| operand.is_behind_dashes).copied().collect();
    Ok(OperandMeaning::of(words(&behind)?))
}

/// Lints with how they are taken: all other options behind `--` are the compiler's.
fn lints(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let is_lint = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:".contains(c)) && !text.starts_with('-')
    };
    for operand in &args.operands {
        let text = operand.word.text.as_str();
        let is_listed = LINTS.split_whitespace().any(|flag| flag == text) || is_lint(text);
        if operand.word.is_glob || !operand.is_behind_dashes || !is_listed {
            return Err(unlisted(operand.word.offset));
        }
    }
    Ok(OperandMeaning::default())
}

fn nothing_else(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    match args.operands.iter().find(|operand| operand.word.text != "--check" || !operand.is_behind_dashes) {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => Ok(OperandMeaning::default()),
    }
}

/// A part for each target: trust in one is not trust in another. Without any it is the program alone.
fn targets(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let is_target = |text: &str| {
        is_word(text)
            && !text.contains(['=', '+', '%', '^', '~', '#'])
            && text.contains(|c: char| c.is_ascii_alphabetic())
    };
    let mut meaning = OperandMeaning::default();
    for operand in &args.operands {
        let text = args.text(*operand, By(is_target))?;
        meaning.parts.push(format!("{} {text}", args.name));
    }
    Ok(meaning)
}

/// A task and words for it, which the runner may put into a text for a shell.
pub(super) fn task(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((task, rest)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    let name = args.text(*task, Word)?;
    let part = format!("{} {} {name}", args.name, args.used.part.unwrap_or(args.used.words));
    Ok(OperandMeaning { parts: vec![part], files: words_for_task(args, rest)?, runs: Vec::new() })
}

/// Returns the files that words for a task may name.
///
/// # Errors
/// A word that a shell could read otherwise, that begins another task, or that npm takes for an option of its own.
pub(super) fn words_for_task(
    args: &CommandArguments<'_>,
    operands: &[Operand<'_>],
) -> Result<Vec<FileUse>, UnreadableCommand> {
    let mut is_behind_dashes = args.name != "npm";
    for operand in operands {
        let text = operand.word.text.as_str();
        is_behind_dashes |= text == "--" || operand.is_behind_dashes;
        if operand.word.is_glob
            || !is_plain(text)
            || text == ":::"
            || text.starts_with('-') && !is_behind_dashes
        {
            return Err(unlisted(operand.word.offset));
        }
    }
    words(operands)
}

//! Programs that run a file or another program.

use crate::action::Access::Reads;
use crate::action::{Effect, FileUse, ShellAction};
use crate::line::ShellWord;
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::Check::{self, By};
use crate::programs::entry::OptionValue::Text;
use crate::programs::entry::{
    ACTS, LOOKS, OperandMeaning, Operands, Program, ProgramUse, Style, is_word, program,
};
use crate::programs::{ProgramCall, unknown};
use crate::unreadable::UnreadableCommand;

/// A script, with nothing before it: options could be a script themselves.
const SCRIPT: ProgramUse =
    ProgramUse { style: Style::Words, operands: Operands::By(script, "a file, then words for it"), ..ACTS };

const fn module(words: &'static str) -> ProgramUse {
    ProgramUse { words, ..ACTS }
}

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["python", "python3", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"],
        &[
            module("--version"),
            module("-V"),
            ProgramUse {
                operands: Operands::By(runs_pytest, "what pytest takes"),
                style: Style::Words,
                ..module("-m pytest")
            },
            ProgramUse { operands: Operands::Files(Reads), ..module("-m py_compile") },
            module("-m json.tool"),
            SCRIPT,
        ],
    ),
    program(
        &["node", "nodejs"],
        &[
            module("--version"),
            module("-v"),
            ProgramUse { operands: Operands::Files(Reads), ..module("--check") },
            SCRIPT,
        ],
    ),
    program(
        &["ruby", "perl"],
        &[
            module("--version"),
            module("-v"),
            ProgramUse { operands: Operands::Files(Reads), ..module("-c") },
            SCRIPT,
        ],
    ),
    program(
        &["php"],
        &[
            module("--version"),
            module("-v"),
            // `-c` names a configuration, and the file behind it would run.
            ProgramUse { operands: Operands::Files(Reads), ..module("-l") },
            SCRIPT,
        ],
    ),
    program(&["tsx", "ts-node"], &[module("--version"), SCRIPT]),
    program(
        &["bash", "sh", "zsh", "dash"],
        &[
            module("--version"),
            ProgramUse { operands: Operands::By(parsed, "files"), ..module("-n") },
            ProgramUse { operands: Operands::By(shell_script, "a file, then words for it"), ..SCRIPT },
        ],
    ),
    program(
        &["timeout", "gtimeout"],
        &[ProgramUse {
            style: Style::Leading,
            flags: &["--foreground --preserve-status"],
            values: &[&[("-k --kill-after", Text(By(is_duration))), ("-s --signal", Text(Check::Word))]],
            operands: Operands::By(timed, "a time, then a program with its arguments"),
            ..LOOKS
        }],
    ),
    program(
        &["npx", "bunx"],
        &[ProgramUse {
            style: Style::Leading,
            flags: &["--no-install"],
            operands: Operands::By(packaged, "a program of the table with its arguments"),
            ..ACTS
        }],
    ),
    program(
        &["uv", "poetry", "pipenv", "pdm"],
        &[ProgramUse {
            words: "run",
            style: Style::Leading,
            operands: Operands::By(packaged, "a program of the table with its arguments"),
            ..ACTS
        }],
    ),
];

/// A file of the interpreter's language. Nobody knows its use of the words.
fn script(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((file, rest)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    let path = args.text(*file, Check::Word)?;
    if path.starts_with("/dev/") || path.starts_with("/proc/") {
        return Err(unlisted(file.word.offset));
    }
    let words: Vec<_> = rest.iter().map(|operand| operand.word.clone()).collect();
    let mut files = vec![FileUse { path: path.to_owned(), access: Reads, is_pattern: false }];
    files.extend(unknown::possible_files(&words)?);
    Ok(OperandMeaning::of(files))
}

/// A script of a shell. Before it, a word that begins with `+` is an option: `+c` runs the next word.
fn shell_script(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    refuse_plus(args)?;
    script(args)
}

/// Scripts that a shell only parses. `+n` would take that back.
fn parsed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    refuse_plus(args)?;
    Ok(OperandMeaning::of(args.files(&args.operands, Reads)?))
}

fn refuse_plus(args: &CommandArguments<'_>) -> Result<(), UnreadableCommand> {
    let first = args.operands.first();
    match first.filter(|operand| operand.word.is_glob || operand.word.text.starts_with('+')) {
        Some(odd) => Err(unlisted(odd.word.offset)),
        None => Ok(()),
    }
}

/// Builtins of shells, in their own way or with arguments that the grammar looks at. A program that runs others finds no such
/// program, or another one.
const BUILTINS: [&str; 6] = ["cd", "command", "kill", "printf", "test", "type"];

/// Returns the actions of the program that the words from here on call.
fn inner(args: &CommandArguments<'_>, skipped: usize) -> Result<Vec<ShellAction>, UnreadableCommand> {
    let words: Vec<_> = args.operands.iter().skip(skipped).map(|operand| operand.word.clone()).collect();
    let Some((program, behind)) = words.split_first() else { return Err(unlisted(args.offset)) };
    if !is_word(&program.text) || BUILTINS.contains(&program.text.as_str()) || program.text == args.name {
        return Err(unlisted(program.offset));
    }
    let call = ProgramCall {
        program,
        args: behind,
        is_piped: args.is_piped,
        is_elsewhere: args.is_elsewhere,
        cwd: args.cwd,
    };
    call.actions()
}

/// A time, and a program with its arguments.
fn timed(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some(time) = args.operands.first() else { return Err(unlisted(args.offset)) };
    args.text(*time, By(is_duration))?;
    Ok(OperandMeaning { runs: inner(args, 1)?, ..OperandMeaning::default() })
}

/// A program that is installed with the project's packages, or fetched: it acts, with any name.
fn packaged(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let mut runs = inner(args, 0)?;
    let before = if args.used.words.is_empty() {
        args.name.to_owned()
    } else {
        format!("{} {}", args.name, args.used.words)
    };
    for action in &mut runs {
        action.effect = action.effect.max(Effect::Acts);
        action.part = format!("{before} {}", action.part);
    }
    Ok(OperandMeaning { runs, ..OperandMeaning::default() })
}

/// The tests of the project, as the module of an interpreter.
fn runs_pytest(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let program =
        ShellWord { text: "pytest".to_owned(), is_glob: false, is_quoted: false, offset: args.offset };
    let words: Vec<_> = args.operands.iter().map(|operand| operand.word.clone()).collect();
    let call = ProgramCall {
        program: &program,
        args: &words,
        is_piped: args.is_piped,
        is_elsewhere: args.is_elsewhere,
        cwd: args.cwd,
    };
    let files = call.actions()?.into_iter().flat_map(|action| action.files).collect();
    Ok(OperandMeaning::of(files))
}

/// Returns `true` for a number, with a unit if need be.
fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

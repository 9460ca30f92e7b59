//! Programs that install packages of a project and run its tasks.

use super::building::{task, words_for_task};
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::Check::{By, Number, Of, Word};
use crate::programs::entry::OptionValue::{self, Text};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::unreadable::UnreadableCommand;

const PLAIN: &str = "-s --if-present --silent --workspaces";
const WORKSPACE: &[(&str, OptionValue)] = &[("-F -w --filter --workspace", Text(Word))];
const INSTALL: &str = "-D -E -O -P -f -g --dev --exact --force --frozen-lockfile --global --ignore-scripts --immutable --legacy-peer-deps \
    --no-audit --no-fund --no-optional --no-save --offline --omit --only --optional --peer --prefer-offline --production --save --save-dev \
    --save-exact --silent --verbose";
const LOOKED_UP: &str = "-a -g -l --all --depth --global --json --long --parseable --production";

const fn tasks(words: &'static str, operands: Operands) -> ProgramUse {
    ProgramUse { words, style: Style::Leading, flags: &[PLAIN], values: &[WORKSPACE], operands, ..ACTS }
}

const fn installs(words: &'static str) -> ProgramUse {
    ProgramUse {
        words,
        style: Style::Mixed,
        flags: &[INSTALL],
        values: &[WORKSPACE, &[("--omit", Text(Of("dev optional peer")))]],
        operands: Operands::Texts(By(is_package)),
        ..ACTS
    }
}

const fn looks_up(words: &'static str) -> ProgramUse {
    ProgramUse {
        words,
        style: Style::Mixed,
        flags: &[LOOKED_UP],
        values: &[WORKSPACE, &[("--depth", Text(Number))]],
        operands: Operands::Texts(By(is_package)),
        ..ACTS
    }
}

const RUN: Operands = Operands::By(task, "a task, then words for it");
const TEST: Operands = Operands::By(test, "words for the task");

pub(super) const PROGRAMS: &[Program] = &[
    program(
        &["npm", "pnpm", "yarn", "bun"],
        &[
            ProgramUse { words: "--version", ..ACTS },
            ProgramUse { words: "-v", part: Some("--version"), ..ACTS },
            tasks("run", RUN),
            tasks("run-script", RUN),
            tasks("test", TEST),
            tasks("start", TEST),
            tasks("t", TEST),
            installs("install"),
            installs("i"),
            installs("ci"),
            installs("add"),
            installs("remove"),
            installs("uninstall"),
            installs("update"),
            installs("upgrade"),
            looks_up("ls"),
            looks_up("list"),
            looks_up("outdated"),
            looks_up("view"),
            looks_up("info"),
            looks_up("why"),
            looks_up("explain"),
            // A word behind it, `fix`, would install packages.
            ProgramUse { operands: Operands::None, ..looks_up("audit") },
            installs("audit fix"),
            ProgramUse { words: "pack", flags: &["--dry-run --json"], ..ACTS },
            ProgramUse {
                words: "publish",
                style: Style::Mixed,
                flags: &["--dry-run --provenance"],
                values: &[&[("--access --tag", Text(Word))]],
                ..ACTS
            },
            ProgramUse { words: "version", operands: Operands::Texts(Word), ..ACTS },
            ProgramUse { words: "init", flags: &["-y --yes"], ..ACTS },
        ],
    ),
    program(
        &["yarn", "pnpm"],
        &[ProgramUse {
            style: Style::Leading,
            flags: &["-s --silent"],
            operands: Operands::By(named_task, "a task, then words for it"),
            ..ACTS
        }],
    ),
    program(
        &["pip", "pip3"],
        &[
            ProgramUse { words: "--version", ..ACTS },
            ProgramUse {
                words: "list",
                flags: &["-o -v --outdated --user"],
                values: &[&[("--format", Text(Word))]],
                ..ACTS
            },
            ProgramUse { words: "show", flags: &["-f -v"], operands: Operands::Texts(Word), ..ACTS },
            ProgramUse { words: "freeze", flags: &["-l --local --user"], ..ACTS },
            ProgramUse { words: "check", ..ACTS },
        ],
    ),
];

/// Returns `true` for a package by its name, with its version, or a folder. An address would name another machine: `https://…`,
/// `host:path`.
fn is_package(text: &str) -> bool {
    let named = text.replace("@npm:", "@");
    Word.takes(text) && !named.contains(':') && !named.contains("//")
}

/// Words for the one task that the verb names.
fn test(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    Ok(OperandMeaning::of(words_for_task(args, &args.operands)?))
}

/// A task without a verb. A command with a verb is another use.
fn named_task(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((task, rest)) = args.operands.split_first() else { return Ok(OperandMeaning::default()) };
    let verbs =
        ["exec", "dlx", "node", "config", "link", "set", "plugin", "create", "env", "import", "patch", "x"];
    let name = args.text(*task, Word)?;
    if verbs.contains(&name) {
        return Err(unlisted(task.word.offset));
    }
    let files = words_for_task(args, rest)?;
    Ok(OperandMeaning { parts: vec![format!("{} {name}", args.name)], files, runs: Vec::new() })
}

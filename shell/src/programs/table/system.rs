//! Programs that manage containers, machines and packages of the system.
//! Their verbs are told apart, their options are not known.

use crate::action::Effect;
use crate::programs::arguments::{CommandArguments, unlisted};
use crate::programs::entry::{ACTS, OperandMeaning, Operands, Program, ProgramUse, Style, program};
use crate::programs::unknown;
use crate::unreadable::UnreadableCommand;

/// The longest word that is a verb, in bytes.
const MAX_VERB_BYTES: usize = 40;

pub(super) const PROGRAMS: &[Program] = &[program(
    &[
        "apt",
        "apt-get",
        "aws",
        "az",
        "brew",
        "docker",
        "docker-compose",
        "dotnet",
        "flyctl",
        "gcloud",
        "gradle",
        "helm",
        "heroku",
        "kubectl",
        "mvn",
        "npm-check",
        "podman",
        "systemctl",
        "terraform",
        "vercel",
        "wrangler",
    ],
    &[ProgramUse {
        effect: Effect::Unknown,
        style: Style::Words,
        operands: Operands::By(verb, "a verb, then any words"),
        ..ACTS
    }],
)];

/// The first word names the action. Every other one may name a file.
fn verb(args: &CommandArguments<'_>) -> Result<OperandMeaning, UnreadableCommand> {
    let Some((verb, rest)) = args.operands.split_first() else { return Err(unlisted(args.offset)) };
    let text = verb.word.text.as_str();
    let is_verb = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= MAX_VERB_BYTES
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | ':'));
    if !is_verb || verb.word.is_glob {
        return Err(unlisted(verb.word.offset));
    }
    let words: Vec<_> = rest.iter().map(|operand| operand.word.clone()).collect();
    let files = unknown::possible_files(&words)?;
    Ok(OperandMeaning { parts: vec![format!("{} {text}", args.name)], files, runs: Vec::new() })
}

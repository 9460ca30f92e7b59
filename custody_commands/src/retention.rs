//! `retention`: the policy that says how long events are kept.

use std::path::PathBuf;

use bitacora_api::{RetentionAnswer, RetentionRuleAnswer};
use clap::{Args, Subcommand};
use hyper::Method;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::ledger_access::context::CommandContext;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, TextTable, cells};

/// The arguments of `retention`.
pub type RetentionArguments = OptionalCommand<RetentionCommand>;

/// The commands of `retention`.
#[derive(Debug, Subcommand)]
pub enum RetentionCommand {
    /// Show the retention policy (default).
    Show,
    /// Set the whole retention policy, in place of the one before.
    Set(SetArguments),
}

/// The arguments of `retention set`.
#[derive(Debug, Args)]
pub struct SetArguments {
    /// A JSON list of rules; `-` is stdin. An empty list keeps everything.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The reason; recorded for good.
    #[arg(long, value_name = "WORDS")]
    reason: String,
    /// The person on whose behalf it is done; recorded for good.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// The body that sets the policy, with the rules as the file has them.
#[derive(Serialize)]
struct RetentionDocument {
    rules: Document,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

/// Runs `retention`.
pub fn run(arguments: RetentionArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(RetentionCommand::Show) {
        RetentionCommand::Show => context.show("retention", show),
        RetentionCommand::Set(SetArguments { file, reason, by }) => {
            let policy = RetentionDocument { rules: Document::read(&file)?, reason, by };
            context.act(&Method::PUT, "retention", Some(&policy))
        }
    }
}

fn show(policy: &RetentionAnswer, output: &mut Output) -> Result<(), OutputError> {
    let mut table = TextTable::new(&["rule", "days", "events", "shorter because"]);
    for rule in &policy.rules {
        table.add(cells![Cell::id(&rule.rule), rule.keep_days, event_words(rule), &rule.shorter_because]);
    }
    table.write("no rule: everything is kept", output)
}

/// Formats the events that a rule is about: `types tool.*, of a data subject`.
fn event_words(rule: &RetentionRuleAnswer) -> String {
    let listed = |what: &str, globs: &Option<Vec<String>>| {
        globs.as_ref().map(|globs| format!("{what} {}", globs.join(" | ")))
    };
    let subjects = rule.subjects.map(|named| if named { "of a data subject" } else { "of no data subject" });
    let parts = [listed("types", &rule.types), listed("streams", &rule.streams), subjects.map(str::to_owned)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}

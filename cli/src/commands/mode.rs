//! `mode`: the enforcement mode: whether verdicts are enforced, or only recorded.

use bitacora_api::{ModeAnswer, ModeRequest, ModeScopeAnswer};
use clap::{Args, Subcommand};
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::table::{TextTable, cells};

pub(crate) type ModeArguments = OptionalCommand<ModeCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ModeCommand {
    /// Show the enforcement mode (default).
    Show,
    /// Record decisions but allow every call; panic and suspensions still apply.
    Observe(ModeScope),
    /// Enforce decisions.
    Enforce(ModeScope),
}

/// The scope: calls that match all of it. Without any, all calls that no other scope matches.
#[derive(Debug, Args)]
pub(crate) struct ModeScope {
    /// The tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The role of the caller.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

pub(crate) fn run(arguments: ModeArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(ModeCommand::Show) {
        ModeCommand::Show => show(context),
        ModeCommand::Observe(scope) => set("observe", scope, context),
        ModeCommand::Enforce(scope) => set("enforce", scope, context),
    }
}

fn set(mode: &str, scope: ModeScope, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let ModeScope { tool, agent, role, note } = scope;
    let is_scoped = tool.is_some() || agent.is_some() || role.is_some();
    let scope = is_scoped.then_some(ModeScopeAnswer { tool, agent, role });
    context.act(&Method::PUT, "mode", Some(&ModeRequest { mode: mode.to_owned(), scope, note }))
}

fn show(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<ModeAnswer>("mode")? else { return Ok(Exit::Done) };
    let mut table = TextTable::new(&["mode", "calls"]);
    for scoped in pages.iter().flat_map(|page| &page.scopes) {
        table.add(cells![&scoped.mode, scoped.scope.to_string()]);
    }
    let others = if table.is_empty() { "all" } else { "all others" };
    pages.first().into_iter().for_each(|page| table.add(cells![&page.mode, others]));
    table.write("", &mut context.output)?;
    Ok(Exit::Done)
}

//! `mode`: the enforcement mode: whether verdicts are enforced, or only recorded.

use bitacora_api::{ModeAnswer, ModeScopeAnswer};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::with_service;
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::TextTable;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModeArguments {
    #[command(subcommand)]
    command: Option<ModeCommand>,
}

#[derive(Debug, Subcommand)]
enum ModeCommand {
    /// Show the enforcement mode (default).
    Show,
    /// Record decisions but allow every call; panic and suspensions still apply.
    Observe(ModeScope),
    /// Enforce decisions.
    Enforce(ModeScope),
}

/// The scope: calls that match all of it. Without any, all calls that no other scope matches.
#[derive(Debug, Args)]
struct ModeScope {
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

pub(crate) fn run(
    arguments: &ModeArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let (mode, scope) = match arguments.command.as_ref().unwrap_or(&ModeCommand::Show) {
        ModeCommand::Show => {
            show(global, output)?;
            return Ok(Exit::Done);
        }
        ModeCommand::Observe(scope) => ("observe", scope),
        ModeCommand::Enforce(scope) => ("enforce", scope),
    };
    let body = scope.body(mode);
    with_service(global, |service| service.put("mode", body)?.write_act(global, output))?;
    Ok(Exit::Done)
}

impl ModeScope {
    fn body(&self, mode: &str) -> String {
        let Self { tool, agent, role, note } = self;
        let is_scoped = tool.is_some() || agent.is_some() || role.is_some();
        let scope = is_scoped.then(|| {
            let scope = JsonObject::new().maybe("tool", tool.as_deref());
            scope.maybe("agent", agent.as_deref()).maybe("role", role.as_deref()).end()
        });
        JsonObject::new().text("mode", mode).maybe_raw("scope", scope).maybe("note", note.as_deref()).end()
    }
}

fn show(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<ModeAnswer>(service, "mode", global, output)? else {
            return Ok(());
        };
        let mut table = TextTable::new(&["mode", "calls"]);
        let scopes: Vec<_> = pages.iter().flat_map(|page| &page.scopes).collect();
        for scoped in &scopes {
            table.row(&[&scoped.mode, &scope_words(&scoped.scope)]);
        }
        if let Some(page) = pages.first() {
            table.row(&[&page.mode, if scopes.is_empty() { "all" } else { "all others" }]);
        }
        Ok(table.write("", output)?)
    })
}

fn scope_words(scope: &ModeScopeAnswer) -> String {
    let part = |name, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let parts = [part("tool", &scope.tool), part("agent", &scope.agent), part("role", &scope.role)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

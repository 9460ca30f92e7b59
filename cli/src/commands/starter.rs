//! `starter`: a comparison of the ledger's policy and tools with the built-in ones, and an upgrade.

use bitacora_api::{PolicyDocumentAnswer, StarterAnswer, StarterToolAnswer, StarterUpgradeAnswer};
use clap::Subcommand;
use hyper::Method;
use serde_json::Value;
use serde_json::value::RawValue;

use super::policy::differences;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::named;
use crate::options::optional_command::OptionalCommand;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::TextTable;

/// The notice where the active policy is an earlier starter.
pub(crate) const OUTDATED: &str = "the active policy is an earlier starter; `bitacora starter` shows the difference, \
     `bitacora starter upgrade` publishes and activates the current one";

pub(crate) type StarterArguments = OptionalCommand<StarterCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum StarterCommand {
    /// Show the ledger's differences from the starter policy and tools (default).
    Show,
    /// Replace an earlier starter policy by the current one, activate it, and register its changed tools.
    Upgrade,
}

pub(crate) fn run(arguments: &StarterArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command {
        None | Some(StarterCommand::Show) => show(context),
        Some(StarterCommand::Upgrade) => {
            let answer = context.send(&Method::POST, "starter:upgrade", None::<&()>)?;
            context.answer(&answer, write_upgrade)
        }
    }
}

fn show(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let answer = context.get("starter")?;
    if context.is_json() {
        return context.raw(&answer);
    }
    let starter: StarterAnswer = answer.read()?;
    let active = starter.active.as_deref().unwrap_or("-");
    context.output.line(printable(&match starter.state.as_str() {
        "none" => "no policy is active; `bitacora policy publish --starter --activate`".to_owned(),
        "current" => format!("current: version {active} is the starter of this program"),
        "outdated" => format!("outdated: version {active} is an earlier starter; `bitacora starter upgrade` publishes and activates the current one"),
        _ => format!("own: version {active} was never a starter; `bitacora starter upgrade` leaves it alone"),
    }))?;
    if let (Some(told), Some(active)) = (&starter.differences, &starter.active)
        && starter.state != "current"
    {
        let before: PolicyDocumentAnswer = context.read(&named("policy", active))?;
        context.output.line("")?;
        context.output.line(format_args!("from version {} to the starter", printable(active)))?;
        differences::write(told, &before.document, &starter.document, &mut context.output)?;
    }
    write_tools(&starter.tools, &mut context.output)?;
    Ok(Exit::Done)
}

/// Writes the tools that differ from the starter's, member by member.
fn write_tools(tools: &[StarterToolAnswer], output: &mut Output) -> Result<(), OutputError> {
    let mut table = TextTable::new(&["", "tool", "is"]);
    for tool in tools {
        let named = match &tool.server {
            Some(server) => format!("{server}/{}", tool.tool),
            None => tool.tool.clone(),
        };
        match (tool.state.as_str(), &tool.registered) {
            ("current", _) => (),
            ("absent", _) => table.row(&["", &named, "not registered; an upgrade leaves it so"]),
            (state, Some(registered)) => {
                let changed = if state == "own" { "your own; an upgrade leaves it alone" } else { "changed" };
                table.row(&["~", &named, changed]);
                write_members(&named, registered, &tool.document, &mut table);
            }
            (_, None) => table.row(&["+", &named, "new"]),
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    output.line("")?;
    table.write("", output)
}

/// Writes the members of a tool's registration that differ.
fn write_members(tool: &str, before: &RawValue, after: &RawValue, table: &mut TextTable) {
    let [before, after] = [before, after].map(differences::members);
    let members = |document: &Value| document.as_object().cloned().unwrap_or_default();
    let (before, after) = (members(&before), members(&after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
        for (sign, members) in [("-", &before), ("+", &after)] {
            if let Some(value) = members.get(name) {
                table.row(&[sign, &format!("{tool}.{name}"), &value.to_string()]);
            }
        }
    }
}

fn write_upgrade(upgraded: &StarterUpgradeAnswer, output: &mut Output) -> Result<(), OutputError> {
    for tool in &upgraded.tools {
        output.line(format_args!("{}  {}", printable(&tool.tool), printable(&tool.status)))?;
    }
    let version = printable(&upgraded.version);
    if upgraded.published {
        output.line(format_args!("version {version} published"))?;
    }
    if upgraded.activated {
        output.line(format_args!("version {version} activated"))?;
    }
    match &upgraded.position {
        Some(position) => output.line(format_args!("recorded from position {} on", printable(position)))?,
        None => {
            output.line(format_args!("nothing to do: version {version} is the starter of this program"))?;
        }
    }
    Ok(())
}

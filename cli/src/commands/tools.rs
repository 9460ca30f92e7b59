//! `tools`: the registry of tools that may be called.

mod seen;
mod usage;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitacora_api::{ActAnswer, ToolAnswer, ToolList};
use bitacora_governance::STARTER_TOOLS;
use bitacora_vocabulary::{Name, ToolDocument};
use clap::{Args, Subcommand};
use serde_json::json;
use serde_json::value::RawValue;

use self::seen::SeenArguments;
use self::usage::UsageArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::{Document, DocumentError, place_of};
use crate::ledger_access::pages::{each_page, pages_to_show};
use crate::ledger_access::service::{ServiceClient, ServiceFailure, with_query, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::TextTable;
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArguments {
    #[command(subcommand)]
    command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// List the registered tools (default).
    List,
    /// List tools that calls named and nobody registered.
    Seen,
    /// Show the calls of tools: number, decisions, outcomes and durations.
    Usage(UsageArguments),
    /// Register tools, or change registered ones; unchanged ones are left alone.
    Register {
        /// The tool or an array of tools, as in `tool.registered`; `-` is stdin.
        #[arg(value_name = "FILE", required_unless_present_any = ["starter", "seen"], conflicts_with_all = ["starter", "seen"])]
        file: Option<PathBuf>,
        /// Register the tools of coding agents, as `tools starter` writes them.
        #[arg(long)]
        starter: bool,
        #[command(flatten)]
        seen: SeenArguments,
    },
    /// Revoke a tool, so that it can no longer be called.
    Revoke {
        /// The tool's name.
        tool: String,
        /// The server of the tool.
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        reason: Option<String>,
    },
    /// Write the starter tools of coding agents.
    Starter,
}

pub(crate) fn run(
    arguments: &ToolsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ToolsCommand::List) {
        ToolsCommand::List => list(global, output)?,
        ToolsCommand::Starter => output.bytes(STARTER_TOOLS.as_bytes())?,
        ToolsCommand::Seen => seen::list(global, output)?,
        ToolsCommand::Usage(arguments) => usage::list(arguments, global, output)?,
        ToolsCommand::Register { file, seen, .. } => with_service(global, |service| {
            let file = match (file, seen.tool()) {
                (Some(file), _) => ToolsFile::read(Document::read(file)?.text(), &place_of(file))?,
                (None, Some(seen)) => ToolsFile::read(&seen.document(service)?, "the tool that was seen")?,
                (None, None) => ToolsFile::read(STARTER_TOOLS, "the tools to begin with")?,
            };
            register(&file, service, global, output)
        })?,
        ToolsCommand::Revoke { tool, server, reason } => {
            let path = format!("tools/{}", percent_encoded(tool));
            let path = with_query(&path, &[("server", server.as_deref())]);
            let body = reason.as_deref().map(|reason| JsonObject::new().text("reason", reason).end());
            with_service(global, |service| service.delete(&path, body)?.write_act(global, output))?;
        }
    }
    Ok(Exit::Done)
}

fn list(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<ToolList>(service, "tools", global, output)? else {
            return Ok(());
        };
        let mut table =
            TextTable::new(&["tool", "server", "version", "risk", "blast radius", "roles", "review"]);
        for tool in pages.iter().flat_map(|page| &page.tools) {
            let Ok(document) = serde_json::from_value::<ToolDocument>(tool.document.clone()) else {
                return Err(ServiceFailure::Strange.into());
            };
            let roles: Vec<&str> = document.allowed_roles.iter().map(Name::as_str).collect();
            table.row(&[
                &document.tool,
                document.server.as_deref().unwrap_or("-"),
                &document.version,
                word(&json!(document.risk)),
                word(&json!(document.blast_radius)),
                &roles.join(","),
                if document.requires_review { "always" } else { "-" },
            ]);
        }
        let none = "no tool is registered, so none may be called; `bitacora tools register --starter`";
        Ok(table.write(none, output)?)
    })
}

fn word(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// The tools of a file, as written and parsed.
struct ToolsFile(Vec<(Box<RawValue>, ToolDocument)>);

impl ToolsFile {
    fn read(text: &str, place: &str) -> Result<Self, DocumentError> {
        let unfit = |what: String| DocumentError::Unfit { place: place.to_owned(), what };
        let tools: Vec<Box<RawValue>> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).map_err(|error| unfit(error.to_string()))?
        } else {
            vec![serde_json::from_str(text).map_err(|error| unfit(error.to_string()))?]
        };
        let tools = tools.into_iter().enumerate().map(|(index, tool)| {
            let document = serde_json::from_str(tool.get());
            let document = document.map_err(|error| unfit(format!("tool {}: {error}", index + 1)))?;
            Ok((tool, document))
        });
        tools.collect::<Result<_, _>>().map(Self)
    }
}

/// Registers tools one after the other. After a fault, a repeated command sends the missing ones.
fn register(
    file: &ToolsFile,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut known = BTreeMap::new();
    each_page(service, "tools", |_, page: ToolList| {
        let name = |tool: &ToolAnswer, member| Some(tool.document.get(member)?.as_str()?.to_owned());
        known.extend(
            page.tools.iter().map(|tool| ((name(tool, "tool"), name(tool, "server")), tool.document.clone())),
        );
        Ok(())
    })?;
    for (text, document) in &file.0 {
        let name = (Some(document.tool.to_string()), document.server.as_ref().map(ToString::to_string));
        // As the service would answer it: space and the order of members mean nothing.
        let meant = serde_json::to_value(document).ok();
        let (status, position) = match known.get(&name) {
            same @ Some(_) if same == meant.as_ref() => ("unchanged", None),
            found => {
                let status = if found.is_some() { "changed" } else { "registered" };
                let path = format!("tools/{}", percent_encoded(&document.tool));
                let act: ActAnswer = service.put(&path, text.get().to_owned())?.read()?;
                (status, Some(act.position))
            }
        };
        if global.json {
            output.json(&json!({"tool": document.tool, "server": document.server, "status": status, "position": position}))?;
        } else {
            let place = position.map(|position| format!(" at position {position}")).unwrap_or_default();
            let tool = printable(&document.tool);
            output.line(format_args!("{tool}  {status}{}", printable(&place)))?;
        }
    }
    Ok(())
}

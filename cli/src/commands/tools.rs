//! `tools`: the registry of tools that may be called.

mod seen;
pub(super) mod usage;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitacora_api::{ActAnswer, StopRequest, ToolList};
use bitacora_governance::STARTER_TOOLS;
use bitacora_vocabulary::{Name, ToolDocument};
use clap::Subcommand;
use hyper::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use self::seen::SeenArguments;
use self::usage::UsageArguments;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::{Document, DocumentError, place_of};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::ServiceFailure;
use crate::options::optional_command::OptionalCommand;
use crate::options::words::word;
use crate::terminal::table::{Cell, TextTable, cells};

pub(crate) type ToolsArguments = OptionalCommand<ToolsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the registered tools (default).
    List,
    /// List unregistered tools that calls named.
    Seen,
    /// Show the calls of tools: number, decisions, outcomes and durations.
    Usage(UsageArguments),
    /// Register or change tools; skips unchanged ones.
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
    /// Revoke a tool: its calls are denied.
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

pub(crate) fn run(arguments: ToolsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(ToolsCommand::List) {
        ToolsCommand::List => list(context),
        ToolsCommand::Starter => {
            context.output.bytes(STARTER_TOOLS.as_bytes())?;
            Ok(Exit::Done)
        }
        ToolsCommand::Seen => seen::list(context),
        ToolsCommand::Usage(arguments) => usage::list(&arguments, context),
        ToolsCommand::Register { file, seen, .. } => {
            let file = match (file, seen.tool()) {
                (Some(file), _) => ToolsFile::read(Document::read(&file)?.text(), &place_of(&file))?,
                (None, Some(seen)) => ToolsFile::read(&seen.document(context)?, "the tool that was seen")?,
                (None, None) => ToolsFile::read(STARTER_TOOLS, "the tools to begin with")?,
            };
            register(&file, context)
        }
        ToolsCommand::Revoke { tool, server, reason } => {
            let path = with_query(&named("tools", &tool), &json!({"server": server}));
            let body = reason.map(|reason| StopRequest { reason });
            context.act(&Method::DELETE, &path, body.as_ref())
        }
    }
}

fn list(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<ToolList>("tools")? else { return Ok(Exit::Done) };
    let mut table = TextTable::new(&["tool", "server", "version", "risk", "blast radius", "roles", "review"]);
    for tool in pages.into_iter().flat_map(|page| page.tools) {
        let document: ToolDocument =
            serde_json::from_str(tool.document.get()).map_err(|_| ServiceFailure::Strange)?;
        let roles: Vec<&str> = document.allowed_roles.iter().map(Name::as_str).collect();
        table.add(cells![
            Cell::id(&*document.tool),
            document.server.as_deref(),
            Cell::id(&*document.version),
            Cell::id(word(document.risk)),
            Cell::id(word(document.blast_radius)),
            roles.join(","),
            if document.requires_review { "always" } else { "-" },
        ]);
    }
    let none = "no tool is registered, so none may be called; `bitacora tools register --starter`";
    table.write(none, &mut context.output)?;
    Ok(Exit::Done)
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
fn register(file: &ToolsFile, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let name = |document: &Value, member| Some(document.get(member)?.as_str()?.to_owned());
    let known = context.items::<ToolList>("tools")?;
    let known = known.iter().filter_map(|tool| serde_json::from_str(tool.document.get()).ok());
    let known: BTreeMap<_, Value> = known
        .map(|document: Value| ((name(&document, "tool"), name(&document, "server")), document))
        .collect();
    for (text, document) in &file.0 {
        let name = (Some(document.tool.to_string()), document.server.as_ref().map(ToString::to_string));
        // As the service would answer it: space and the order of members mean nothing.
        let meant = serde_json::to_value(document).ok();
        let (status, position) = match known.get(&name) {
            same @ Some(_) if same == meant.as_ref() => ("unchanged", None),
            found => {
                let status = if found.is_some() { "changed" } else { "registered" };
                let answer = context.send(&Method::PUT, &named("tools", &document.tool), Some(text))?;
                (status, Some(answer.read::<ActAnswer>()?.position))
            }
        };
        let tool = &document.tool;
        if context.is_json() {
            let line =
                json!({"tool": tool, "server": document.server, "status": status, "position": position});
            context.print(&line)?;
        } else {
            let place = position.map(|position| format!(" at position {position}")).unwrap_or_default();
            context.say(format_args!("{tool}  {status}{place}"))?;
        }
    }
    Ok(Exit::Done)
}

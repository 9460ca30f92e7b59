//! `tools seen` and `tools register --seen`: tools that calls named and nobody registered.
//!
//! A tool of an MCP server may also be taken by its definition: the registration's version then names the newest recorded one, and
//! the proxy holds the calls of any other.

use bitacora_api::{
    BlastRadius, Risk, SeenToolRegistration, StoredEventPage, ToolAnswer, ToolList, UnregisteredToolAnswer,
    UnregisteredToolList,
};
use bitacora_mcp::{definition_version, stream_of_tool};
use bitacora_vocabulary::{EventData, ToolDescribed, ToolDocument, ToolDrifted};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::rows::{Row, RowTable};
use crate::terminal::table::{Cell, TextTable, cells};

/// Pages of recorded definitions that are looked through, and events on each.
const MAX_PAGES: usize = 100;
const PAGE_EVENTS: usize = 1_000;
/// The registration of a seen tool.
#[derive(Debug, Args)]
pub(crate) struct SeenArguments {
    /// Register the tool of this name, as `tools seen` lists it: with any arguments, and approvals bound to all of them.
    #[arg(long, value_name = "NAME", conflicts_with = "starter", requires = "risk")]
    seen: Option<String>,
    /// The server that the calls name.
    #[arg(long, value_name = "NAME", requires = "seen")]
    server: Option<String>,
    /// The effect that its calls have on the world.
    #[arg(long, value_enum, requires = "seen")]
    risk: Option<RiskArgument>,
    /// The damage that a call may do. [default: medium for read, high for write, critical for destructive]
    #[arg(long, value_enum, requires = "seen")]
    blast_radius: Option<BlastRadiusArgument>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RiskArgument {
    /// It only reads.
    Read,
    /// It changes things that can be changed back.
    Write,
    /// It changes things that cannot be changed back.
    Destructive,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BlastRadiusArgument {
    /// Damage to the agent's own work.
    Low,
    /// Damage to work shared with others.
    Medium,
    /// Damage to things that others depend on.
    High,
    /// Damage that cannot be repaired; never without a person.
    Critical,
}

impl From<RiskArgument> for Risk {
    fn from(risk: RiskArgument) -> Self {
        match risk {
            RiskArgument::Read => Self::Read,
            RiskArgument::Write => Self::Write,
            RiskArgument::Destructive => Self::Destructive,
        }
    }
}

impl From<BlastRadiusArgument> for BlastRadius {
    fn from(radius: BlastRadiusArgument) -> Self {
        match radius {
            BlastRadiusArgument::Low => Self::Low,
            BlastRadiusArgument::Medium => Self::Medium,
            BlastRadiusArgument::High => Self::High,
            BlastRadiusArgument::Critical => Self::Critical,
        }
    }
}

/// The reason why a seen tool is not registered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeenFailure {
    #[error(
        "no call named the tool `{0}`; `bitacora tools seen` lists those that calls named; nothing was sent"
    )]
    NotSeen(String),
    #[error("calls named the tool `{tool}` {as_seen}, not {as_named}; nothing was sent")]
    OtherServer { tool: String, as_seen: String, as_named: String },
    #[error(
        "the tool `{0}` is registered already; `bitacora tools register FILE` changes it; nothing was sent"
    )]
    Registered(String),
}

impl CommandFailure for SeenFailure {}

/// The tool to register, and its operator's settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenTool<'a> {
    name: &'a str,
    server: Option<&'a str>,
    risk: Risk,
    blast_radius: Option<BlastRadius>,
}

impl SeenArguments {
    /// Returns the tool, where one is named.
    pub(super) fn tool(&self) -> Option<SeenTool<'_>> {
        let Self { seen, server, risk, blast_radius } = self;
        let (name, risk) = (seen.as_deref()?, (*risk)?);
        let blast_radius = blast_radius.map(BlastRadius::from);
        Some(SeenTool { name, server: server.as_deref(), risk: risk.into(), blast_radius })
    }
}

impl SeenTool<'_> {
    /// Returns the registration of a tool that calls named, and that is not registered. It holds nothing that the tool says of itself.
    pub(super) fn document(self, context: &mut CommandContext) -> Result<String, CommandError> {
        let definition = self.newest_definition(context)?;
        if let Some(changed) = self.registered_otherwise(definition.as_deref(), context)? {
            return Ok(changed);
        }
        let seen = context.items::<UnregisteredToolList>("unregistered-tools")?.into_iter();
        let servers: Vec<_> = seen.filter(|one| one.tool == self.name).map(|one| one.server).collect();
        let is_described = definition.is_some() && servers.is_empty() && self.registered(context)?.is_none();
        if !is_described && !servers.iter().any(|server| server.as_deref() == self.server) {
            return Err(self.not_seen(context, servers)?.into());
        }
        Ok(self.registration(definition.as_deref()).document().to_string())
    }

    fn registration<'a>(&'a self, version: Option<&'a str>) -> SeenToolRegistration<'a> {
        let Self { name, server, risk, blast_radius } = *self;
        SeenToolRegistration { tool: name, server, version, risk, blast_radius }
    }

    /// Returns the version that names the newest recorded definition of a tool of an MCP server.
    fn newest_definition(self, context: &mut CommandContext) -> Result<Option<String>, CommandError> {
        let Some(stream) = stream_of_tool(self.name).filter(|_| self.server.is_none()) else {
            return Ok(None);
        };
        let mut until: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let query = json!({"stream": stream, "dir": "backward", "limit": PAGE_EVENTS, "until": until});
            let page: StoredEventPage = context.read(&with_query("events", &query))?;
            let mut events =
                page.events.iter().filter_map(|stored| serde_json::from_str(stored.event.get()).ok());
            if let Some(digest) = events.find_map(|event: Value| self.digest_in(&event)) {
                return Ok(Some(definition_version(&digest)));
            }
            until = match page.next {
                Some(next) => Some(next),
                None => return Ok(None),
            };
        }
        Ok(None)
    }

    fn digest_in(self, event: &Value) -> Option<String> {
        let kind = event.get("type")?.as_str()?;
        let is_about_it = event.pointer("/data/tool")?.as_str()? == self.name;
        let is_definition = is_about_it && [ToolDescribed::KIND, ToolDrifted::KIND].contains(&kind);
        event.pointer("/data/digest")?.as_str().filter(|_| is_definition).map(str::to_owned)
    }

    fn registered(self, context: &mut CommandContext) -> Result<Option<Value>, CommandError> {
        let tools = context.items::<ToolList>("tools")?;
        let mut documents = tools.iter().filter_map(|tool| serde_json::from_str(tool.document.get()).ok());
        Ok(documents.find(|document: &Value| {
            let text = |member| document.get(member).and_then(Value::as_str);
            text("tool") == Some(self.name) && text("server") == self.server
        }))
    }

    /// Returns the registration of a tool that is registered, with another definition: everything else stays, but for the risk.
    fn registered_otherwise(
        self,
        definition: Option<&str>,
        context: &mut CommandContext,
    ) -> Result<Option<String>, CommandError> {
        let Some(definition) = definition else { return Ok(None) };
        let Some(mut document) = self.registered(context)? else { return Ok(None) };
        if document.get("version").and_then(Value::as_str) == Some(definition) {
            return Ok(None);
        }
        if let Some(members) = document.as_object_mut() {
            members.insert("version".to_owned(), definition.into());
            members.insert("risk".to_owned(), json!(self.risk));
            members.insert("blast_radius".to_owned(), json!(self.registration(None).blast_radius()));
        }
        Ok(Some(document.to_string()))
    }

    /// Returns the error that names the seen tools instead.
    fn not_seen(
        self,
        context: &mut CommandContext,
        servers: Vec<Option<String>>,
    ) -> Result<SeenFailure, CommandError> {
        let of = |server: Option<&str>| {
            server.map_or("without a server".to_owned(), |server| format!("of server `{server}`"))
        };
        let tool = self.name.to_owned();
        if let Some(seen) = servers.into_iter().next() {
            let (as_seen, as_named) = (of(seen.as_deref()), of(self.server));
            return Ok(SeenFailure::OtherServer { tool, as_seen, as_named });
        }
        let is_it = |one: &ToolAnswer| {
            serde_json::from_str::<ToolDocument>(one.document.get()).is_ok_and(|document| {
                document.tool.as_str() == self.name && document.server.as_deref() == self.server
            })
        };
        let is_registered = context.items::<ToolList>("tools")?.iter().any(is_it);
        Ok(if is_registered { SeenFailure::Registered(tool) } else { SeenFailure::NotSeen(tool) })
    }
}

/// Lists all of them.
pub(super) fn list(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<UnregisteredToolList>("unregistered-tools")? else {
        return Ok(Exit::Done);
    };
    let table = TextTable::of(pages.iter().flat_map(|page| &page.tools));
    table.write("every tool that calls named is registered", &mut context.output)?;
    if !table.is_empty() {
        context.say(
            "`bitacora tools register --seen NAME --server NAME --risk read|write|destructive` registers one",
        )?;
    }
    Ok(Exit::Done)
}

impl Row for UnregisteredToolAnswer {
    const HEADINGS: &'static [&'static str] =
        &["tool", "server", "agent", "calls", "first", "last", "last time"];

    fn cells(&self) -> Vec<Cell> {
        let Self { tool, server, agent, calls, first, last, last_time } = self;
        let (first, last) = (Cell::id(first), Cell::id(last));
        cells![Cell::id(tool), server, agent, calls, first, last, Cell::time(last_time)]
    }
}

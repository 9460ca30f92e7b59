//! `grants`: standing consent to calls within a scope.

use bitacora_api::{GrantAnswer, GrantGivenAnswer, GrantList, GrantRequest, GrantScopeAnswer, NoteRequest};
use clap::{Args, Subcommand};
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::named;
use crate::options::optional_command::OptionalCommand;
use crate::options::time::EndTime;
use crate::rows::{Row, RowList};
use crate::terminal::output::printable;
use crate::terminal::table::{Cell, cells, to_the_second};

pub(crate) type GrantsArguments = OptionalCommand<GrantsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List the grants in force (default).
    List,
    /// Give consent to calls that match all of these: they need no approval. Denied calls stay denied.
    Give(GiveArguments),
    /// Revoke a grant.
    Revoke {
        /// The grant's id.
        grant: String,
        /// The reason.
        #[arg(long, value_name = "WORDS")]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GiveArguments {
    /// The tool.
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The context, as decisions show it.
    #[arg(long, value_name = "CONTEXT")]
    context: String,
    /// The agent.
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// The workspace, as decisions show it.
    #[arg(long, value_name = "FOLDER")]
    workspace: String,
    /// A permitted part of commands, as approvals show it; repeatable. [default: the context alone]
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<String>,
    /// The session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The lifetime, or its end: 12h, 30d, 2026-12-24.
    #[arg(long = "for", value_name = "TIME")]
    end: EndTime,
    /// The grant's id. [default: a random one]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

pub(crate) fn run(arguments: GrantsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(GrantsCommand::List) {
        GrantsCommand::List => {
            context.list::<GrantList>("grants", "nobody has consented to calls beforehand")
        }
        GrantsCommand::Give(given) => give(given, context),
        GrantsCommand::Revoke { grant, note } => {
            let body = note.map(|note| NoteRequest { note });
            context.act(&Method::DELETE, &named("grants", &grant), body.as_ref())
        }
    }
}

fn give(given: GiveArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let GiveArguments { tool, context: of, agent, workspace, parts, session, end, id, note } = given;
    let scope = GrantScopeAnswer {
        tool,
        server: None,
        context: Some(of),
        agent: Some(agent),
        session,
        workspace: Some(workspace),
        parts: (!parts.is_empty()).then_some(parts),
    };
    let request = GrantRequest { grant: id, scope, expires: end.text(), note };
    let answer = context.send(&Method::POST, "grants", Some(&request))?;
    context.answer(&answer, |given: &GrantGivenAnswer, output| {
        let until = to_the_second(&request.expires);
        let words =
            format!("grant {} holds until {until}, recorded at position {}", given.grant, given.position);
        output.line(printable(&words))
    })
}

impl Row for GrantAnswer {
    const HEADINGS: &'static [&'static str] = &["grant", "until", "calls", "note"];

    fn cells(&self) -> Vec<Cell> {
        cells![Cell::id(&self.grant), Cell::time(&self.expires), scope_words(&self.scope), &self.note]
    }
}

/// Formats a scope: `of fs.write on src, agent coder`.
fn scope_words(scope: &GrantScopeAnswer) -> String {
    let part = |joint: &str, value: &Option<String>| value.as_ref().map(|value| format!("{joint}{value}"));
    let commands = scope.parts.as_ref().map(|parts| parts.join(" | "));
    let parts = [
        part(" on ", &scope.context),
        part(" with ", &commands),
        part(", agent ", &scope.agent),
        part(", in ", &scope.workspace),
        part(", session ", &scope.session),
    ];
    format!("of {}{}", scope.tool, parts.into_iter().flatten().collect::<String>())
}

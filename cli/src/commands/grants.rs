//! `grants`: standing consent to calls within a scope.

use bitacora_api::{GrantGivenAnswer, GrantList, GrantScopeAnswer};
use bitacora_formats::{Micros, format_time};
use bitacora_ledger::{Clock, SystemClock};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::with_service;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second};
use crate::ttl::ttl;
use bitacora_client::percent_encoded;
use bitacora_import::{JsonObject, json_array, json_text};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GrantsArguments {
    #[command(subcommand)]
    command: Option<GrantsCommand>,
}

#[derive(Debug, Subcommand)]
enum GrantsCommand {
    /// List the grants in force (default).
    List,
    /// Give consent to calls that match all of this, so that they need no approval; denied calls stay denied.
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
struct GiveArguments {
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
    /// A part that commands may have, as approvals show it; repeatable. [default: the context alone]
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<String>,
    /// The session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The lifetime: 12h, 30d.
    #[arg(long = "for", value_name = "TIME", value_parser = ttl)]
    ttl: Micros,
    /// The grant's id. [default: a random one]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
}

pub(crate) fn run(
    arguments: &GrantsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&GrantsCommand::List) {
        GrantsCommand::List => list(global, output)?,
        GrantsCommand::Give(given) => give(given, global, output)?,
        GrantsCommand::Revoke { grant, note } => {
            let path = format!("grants/{}", percent_encoded(grant));
            let body = note.as_deref().map(|note| JsonObject::new().text("note", note).end());
            with_service(global, |service| service.delete(&path, body)?.write_act(global, output))?;
        }
    }
    Ok(Exit::Done)
}

fn give(arguments: &GiveArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let GiveArguments { tool, context, agent, workspace, parts, session, ttl, id, note } = arguments;
    let scope = JsonObject::new()
        .text("tool", tool)
        .text("context", context)
        .text("agent", agent)
        .text("workspace", workspace)
        .maybe_raw("parts", (!parts.is_empty()).then(|| json_array(parts.iter().map(|part| json_text(part)))))
        .maybe("session", session.as_deref());
    let expires = format_time(Micros(SystemClock.now().0.saturating_add(ttl.0)));
    let body = JsonObject::new()
        .maybe("grant", id.as_deref())
        .raw("scope", scope.end())
        .text("expires", &expires)
        .maybe("note", note.as_deref())
        .end();
    with_service(global, |service| {
        let answer = service.post("grants", Some(body))?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let given: GrantGivenAnswer = answer.read()?;
        Ok(output.line(printable(&format!(
            "grant {} holds until {}, recorded at position {}",
            given.grant,
            to_the_second(&expires),
            given.position
        )))?)
    })
}

fn list(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<GrantList>(service, "grants", global, output)? else {
            return Ok(());
        };
        let mut table = TextTable::new(&["grant", "until", "calls", "note"]);
        for grant in pages.iter().flat_map(|page| &page.grants) {
            let note = grant.note.as_deref().unwrap_or("-");
            table.row(&[&grant.grant, &to_the_second(&grant.expires), &scope_words(&grant.scope), note]);
        }
        Ok(table.write("nobody has consented to calls beforehand", output)?)
    })
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

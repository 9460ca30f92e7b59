//! Tools: those that are registered, and those that calls named and nobody registered.

use bitacora_api::{
    ActAnswer, Risk, SeenToolRegistration, ToolAnswer, ToolList, UnregisteredToolAnswer,
    UnregisteredToolList, paths,
};
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;

use super::at;
use crate::command_line::CommandLine;
use crate::components::{act_fields, moment_cell, name, quoted};
use crate::form::FormFields;
use crate::page::Done;
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The effects of a call on the world, as a form names them, with their words.
const RISKS: [(&str, Risk, &str); 3] = [
    ("read", Risk::Read, "it only reads"),
    ("write", Risk::Write, "it changes what can be changed back"),
    ("destructive", Risk::Destructive, "it changes what cannot be changed back"),
];

/// The members of a registration that the page shows.
#[derive(Deserialize)]
struct Registration {
    tool: String,
    #[serde(default)]
    server: Option<String>,
    risk: String,
    blast_radius: String,
    #[serde(default)]
    requires_review: bool,
    #[serde(default)]
    description: String,
}

pub(super) fn section(
    visit: &Visit,
    registered: &ToolList,
    seen: &UnregisteredToolList,
) -> Result<Markup, PageError> {
    let table = Table {
        caption: "Registered tools".to_owned(),
        columns: vec![
            TableColumn::text("Tool"),
            TableColumn::text("Server"),
            TableColumn::text("Risk"),
            TableColumn::text("Damage"),
            TableColumn::text("Always reviewed"),
            TableColumn::text("Description"),
        ],
        rows: registered.tools.iter().filter_map(registered_row).collect(),
        empty: "No tool is registered, so every call waits for a person or is denied.",
    };
    Ok(html! {
        section #tools {
            h2 { "Tools" }
            h3 { "Seen, and not registered" }
            (seen_table(visit, seen)?.markup())
            @if visit.may_govern() && !seen.tools.is_empty() {
                p.note { "A registered tool takes any arguments, and an approval holds for exactly those that were asked for. The policy still decides each call." }
            }
            @if seen.next.is_some() { p.note { "There are more: " code { (CommandLine::new(visit, "tools seen").line()) } " lists all." } }
            details open[registered.tools.len() < 20] {
                summary { (registered.tools.len()) @if registered.next.is_some() { " and more" } " registered, revision " (registered.revision) }
                (table.markup())
            }
        }
    })
}

fn registered_row(tool: &ToolAnswer) -> Option<Vec<TableCell>> {
    let found: Registration = serde_json::from_str(tool.document.get()).ok()?;
    let short: String = found.description.chars().take(160).collect();
    Some(vec![
        TableCell::chosen(found.tool),
        TableCell::maybe_chosen(found.server.as_deref()),
        TableCell::text(found.risk),
        TableCell::text(found.blast_radius),
        TableCell::text(if found.requires_review { "yes" } else { "no" }),
        TableCell::chosen(short),
    ])
}

fn seen_table(visit: &Visit, seen: &UnregisteredToolList) -> Result<Table, PageError> {
    let mut columns = vec![
        TableColumn::text("Tool"),
        TableColumn::text("Server"),
        TableColumn::text("Agent"),
        TableColumn::number("Calls"),
        TableColumn::text("Last"),
    ];
    if visit.may_govern() {
        columns.push(TableColumn::text("Register"));
    }
    let rows = seen.tools.iter().map(|tool| {
        let mut cells = vec![
            TableCell::chosen(&tool.tool),
            TableCell::maybe_chosen(tool.server.as_deref()),
            TableCell::maybe_chosen(tool.agent.as_deref()),
            TableCell::count(tool.calls),
            moment_cell(&visit.zone, &tool.last_time),
        ];
        if visit.may_govern() {
            cells.push(TableCell::new("", registration(visit, tool)?));
        }
        Ok(cells)
    });
    Ok(Table {
        caption: "Tools that calls named and nobody registered".to_owned(),
        columns,
        rows: rows.collect::<Result<_, PageError>>()?,
        empty: "Every tool that a call named is registered.",
    })
}

fn registration(visit: &Visit, tool: &UnregisteredToolAnswer) -> Result<Markup, PageError> {
    Ok(html! {
        details.row-act {
            summary { "Register as seen" }
            form method="post" action=(visit.page(&["admin", "tools"])) {
                (act_fields(visit)?)
                input type="hidden" name="tool" value=(tool.tool);
                @if let Some(server) = &tool.server { input type="hidden" name="server" value=(server); }
                fieldset {
                    legend { "What a call of " (name(&tool.tool)) " does" }
                    @for (risk, _, words) in RISKS {
                        label { input type="radio" name="risk" value=(risk) required; " " (risk) ": " (words) }
                    }
                }
                button { "Register" }
            }
        }
    })
}

/// Registers a tool as its calls named it. It holds nothing that the tool says of itself.
pub(super) async fn register(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    visit.must_govern()?;
    let tool = form.raw("tool").filter(|tool| !tool.is_empty());
    let tool = tool.ok_or_else(|| PageError::Field("the form names no tool".to_owned()))?;
    let server = form.raw("server");
    let risk = RISKS.iter().find(|(name, ..)| form.get("risk") == Some(name));
    let (risk_name, risk, _) =
        *risk.ok_or_else(|| PageError::Field("choose what a call of the tool does".to_owned()))?;
    must_be_seen(visit, tool, server).await?;
    let seen = SeenToolRegistration { tool, server, version: None, risk, blast_radius: None };
    let path = visit.api(paths::TOOL, &[tool], "");
    visit.send::<ActAnswer>(Method::PUT, &path, &seen.document()).await?;
    Ok(Done {
        to: at(visit, "tools"),
        notice: format!("The tool {} is registered; its risk is {risk_name}.", quoted(tool)),
    })
}

/// Refuses a tool that is registered meanwhile: what a colleague wrote of it would be replaced.
async fn must_be_seen(visit: &Visit, tool: &str, server: Option<&str>) -> Result<(), PageError> {
    let mut query = super::LISTED.to_owned();
    loop {
        let page = visit.get::<UnregisteredToolList>(paths::UNREGISTERED_TOOLS, &[], &query).await?.value;
        if page.tools.iter().any(|seen| seen.tool == tool && seen.server.as_deref() == server) {
            return Ok(());
        }
        let Some(next) = page.next else {
            return Err(PageError::Field(format!(
                "{} was registered meanwhile, or no call named it; open the page again",
                quoted(tool)
            )));
        };
        query = format!("{}&after={next}", super::LISTED);
    }
}

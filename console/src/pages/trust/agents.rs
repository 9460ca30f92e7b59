//! Suspended agents: suspend one, resume one.

use bitacora_api::{ActAnswer, StopRequest, StopsAnswer, SuspendedAgent, paths};
use http::Method;
use maud::{Markup, html};

use super::acts::reason_of;
use crate::command_line::CommandLine;
use crate::components::{act_fields, name, next_link, quoted};
use crate::csv_file::CsvFile;
use crate::form::FormFields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after", "limit"]);
    let answered = visit.get::<StopsAnswer>(paths::PANIC, &[], &query).await?;
    let suspended = &answered.value.suspended;
    let table = Table {
        caption: "Suspended agents".to_owned(),
        columns: columns(),
        rows: rows(visit, &answered.value),
        empty: "No agent is suspended.",
    };
    let content = html! {
        section #suspended data-fresh { (table.markup()) (next_link(visit, answered.value.next.as_deref())) }
        @if visit.may_govern() {
            div.cards {
                section.card { h2 { "Suspend an agent" }
                    p.note { "Its calls are denied from now on, in every mode, until somebody resumes it." }
                    (form(visit, "suspend", "Suspend", true, None)?)
                }
                @for agent in suspended { section.card {
                    h2 { "Resume agent " (name(&agent.agent)) }
                    (form(visit, "resume", "Resume", false, Some(&agent.agent))?)
                } }
            }
        }
    };
    let mut page = Page::new(Section::Trust, "Suspended agents", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::PANIC, &[], &query));
    page.command = Some(CommandLine::new(visit, "agents").line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| {
        let path = visit.api(paths::PANIC, &[], "");
        CsvFile { columns: columns(), path, rows, next: |list: &StopsAnswer| list.next.as_deref() }
            .body(visit.clone())
    });
    Ok(page)
}

fn columns() -> Vec<TableColumn> {
    ["Agent", "Reason"].map(TableColumn::text).to_vec()
}

fn rows(_: &Visit, list: &StopsAnswer) -> Vec<Vec<TableCell>> {
    let row =
        |agent: &SuspendedAgent| vec![TableCell::chosen(&agent.agent), TableCell::chosen(&agent.reason)];
    list.suspended.iter().map(row).collect()
}

fn form(
    visit: &Visit,
    verb: &str,
    label: &str,
    is_stop: bool,
    agent: Option<&str>,
) -> Result<Markup, PageError> {
    Ok(html! {
        form.stacked method="post" action=(visit.page(&["trust", "agents", verb])) {
            (act_fields(visit)?)
            @match agent {
                Some(agent) => { input type="hidden" name="agent" value=(agent); }
                None => { label { "Agent " input name="agent" required autocomplete="off" spellcheck="false" value=(visit.query.exact("agent").unwrap_or_default()); } }
            }
            label { "Reason " input name="reason" required; }
            button .bad[is_stop] { (label) }
        }
    })
}

/// Suspends an agent.
pub(super) async fn suspend(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    change(visit, form.get("agent"), form, "suspend", "is suspended").await
}

/// Resumes an agent.
pub(super) async fn resume(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    // The page wrote the name itself.
    change(visit, form.exact("agent"), form, "resume", "is resumed: its calls are decided again").await
}

async fn change(
    visit: &Visit,
    agent: Option<&str>,
    form: &FormFields,
    verb: &str,
    words: &str,
) -> Result<Done, PageError> {
    let agent = agent.ok_or_else(|| PageError::Field("Name the agent.".to_owned()))?;
    let path = paths::act(paths::AGENT, &[&visit.ledger, agent], verb);
    let request = StopRequest { reason: reason_of(form)? };
    visit.send::<ActAnswer>(Method::POST, &path, &request).await?;
    Ok(Done { to: visit.page(&["trust", "agents"]), notice: format!("Agent {} {words}.", quoted(agent)) })
}

//! Calls: the audit table, and the story of each.

mod ladder;
mod story;

use bitacora_api::{CallAnswer, CallList, paths};
use maud::html;

pub(crate) use self::story::one;
use super::history::{Choice, HistoryList, ID_CHARS, asked, clipped, file_path, list_rows};
use crate::command_line::CommandLine;
use crate::components::{duration, event_link, grouped, moment_cell, name, verdict_badge};
use crate::csv_file::CsvFile;
use crate::limits::CSV_ROWS;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// The filters of the table, but for its time span.
pub(super) const FILTERS: [&str; 9] =
    ["agent", "tool", "verdict", "outcome", "reason", "session", "run", "actor", "call"];
/// The verdicts that can be asked for.
const VERDICTS: [&str; 4] = ["allow", "review", "deny", "none"];
/// The outcomes and states that can be asked for.
const OUTCOMES: [&str; 11] = [
    "ok",
    "error",
    "timeout",
    "interrupted",
    "rejected",
    "blocked",
    "denied",
    "pending",
    "open",
    "expired",
    "withdrawn",
];

/// Lists calls, the newest first.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let span = TimeSpan::of(visit)?;
    let names = [&FILTERS[..], &["after"]].concat();
    let path = visit.api(paths::CALLS, &[], &asked(visit, &names, &span, list_rows(visit)));
    let answered = visit.interface.get::<CallList>(&path).await?;
    let list = &answered.value;
    let table = Table {
        caption: "Calls, the newest first".to_owned(),
        columns: columns(),
        rows: list.calls.iter().map(|call| row(visit, call)).collect(),
        empty: "",
    };
    let table_and_filters = HistoryList {
        things: "calls",
        filters: &FILTERS,
        texts: &[("agent", "Agent"), ("tool", "Tool"), ("reason", "Reason"), ("session", "Session")],
        choices: &[
            Choice { name: "verdict", label: "Verdict", words: &VERDICTS },
            Choice { name: "outcome", label: "Outcome", words: &OUTCOMES },
        ],
        span: &span,
        table: &table,
        next: list.next.as_deref(),
        outside: list.outside.as_ref(),
    };
    let content = html! {
        (table_and_filters.markup(visit))
        p.note { "The CSV file has all calls that match, " (grouped(CSV_ROWS)) " at most." }
    };
    let mut page = Page::new(Section::Calls, "Calls", content);
    page.position = answered.position;
    page.json = Some(path);
    page.command = Some(CommandLine::new(visit, "calls").filters(visit, &FILTERS).span(&span).line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit, &span));
    Ok(page)
}

/// Returns every call that matches as a file.
fn file(visit: &Visit, span: &TimeSpan) -> ConsoleBody {
    let path = file_path(visit, paths::CALLS, &FILTERS, span);
    let rows = |visit: &Visit, list: &CallList| list.calls.iter().map(|call| row(visit, call)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::text("Asked"),
        TableColumn::text("Call"),
        TableColumn::text("Tool"),
        TableColumn::text("Agent"),
        TableColumn::text("Verdict"),
        TableColumn::text("Reason"),
        TableColumn::text("Outcome"),
        TableColumn::number("Took"),
        TableColumn::number("USD"),
        TableColumn::text("Answered by"),
        TableColumn::text("Session"),
        TableColumn::text("Event"),
    ]
}

fn row(visit: &Visit, call: &CallAnswer) -> Vec<TableCell> {
    let address = visit.page(&["calls", &call.call]);
    let decision = call.decision.as_ref();
    let verdict = decision.map(|decision| decision.verdict.as_str());
    let is_observed = decision.is_some_and(|decision| decision.mode == "observe");
    let verdict_shown = html! { @if let Some(verdict) = verdict {
        @if is_observed && verdict != "allow" { span.quiet-text title="The ledger only observes: the call may run all the same" { "would " } }
        (verdict_badge(verdict))
    } };
    let outcome = call.outcome.as_ref();
    let took = outcome.and_then(|outcome| outcome.duration_ms);
    let cost = outcome.and_then(|outcome| outcome.cost_usd.as_deref());
    let session = call.session.as_deref();
    let session_link = html! { @if let Some(session) = session {
        a href=(visit.page(&["sessions", session])) { (name(&clipped(session, ID_CHARS))) }
    } };
    let tool =
        call.server.as_deref().map_or_else(|| call.tool.clone(), |server| format!("{server}/{}", call.tool));
    vec![
        moment_cell(&visit.zone, &call.time),
        TableCell::new(
            &call.call,
            html! { a href=(address) data-item { (name(&clipped(&call.call, ID_CHARS))) } },
        ),
        TableCell::chosen(tool),
        TableCell::maybe_chosen(call.agent.as_deref()),
        TableCell::new(verdict.unwrap_or_default(), verdict_shown),
        TableCell::maybe(decision.map(|decision| decision.reason_code.as_str())),
        TableCell::new(&call.state, verdict_badge(&call.state)),
        TableCell::new(
            took.map(|took| took.to_string()).unwrap_or_default(),
            html! { @if let Some(took) = took { (duration(took)) } },
        ),
        TableCell::usd(cost),
        TableCell::maybe_chosen(call.approval.as_ref().and_then(|approval| approval.by.as_deref())),
        TableCell::new(session.unwrap_or_default(), session_link),
        TableCell::new(&call.position, event_link(visit, &call.position)),
    ]
}

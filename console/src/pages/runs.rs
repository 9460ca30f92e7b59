//! Runs: graphs and tasks, step by step.

use bitacora_api::{RunAnswer, RunList, RunStepAnswer, RunStepList, StoredEventPage, paths};
use maud::{Markup, html};

use super::history::{
    Answers, Choice, Clock, HistoryList, ID_CHARS, Order, asked, clipped, file_path, kind_links, list_rows,
    timeline_path, timeline_with,
};
use crate::command_line::CommandLine;
use crate::components::{
    Fact, NOTHING, Tone, badge, duration, event_link, exact_usd, facts, grouped, in_order, moment,
    moment_cell, name, next_link, not_told, quoted, time_between, unless_zero, verdict_badge,
};
use crate::csv_file::CsvFile;
use crate::form::query;
use crate::limits::PAGE_ROWS;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// The filters of the list.
pub(super) const FILTERS: [&str; 3] = ["agent", "state", "case"];
/// The states of a run.
const STATES: [&str; 5] = ["running", "paused", "completed", "failed", "aborted"];

/// The part of a run's page that has its steps in a table.
pub(super) const STEPS: &str = "table";

/// Those among them of a run that goes on.
const UNENDED: [&str; 2] = ["running", "paused"];

/// Lists runs, the newest first.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let span = TimeSpan::of(visit)?;
    let names = [&FILTERS[..], &["after"]].concat();
    let path = visit.api(paths::RUNS, &[], &asked(visit, &names, &span, list_rows(visit)));
    let answered = visit.interface.get::<RunList>(&path).await?;
    let list = &answered.value;
    let table = Table {
        caption: "Runs, the newest first".to_owned(),
        columns: columns(),
        rows: list.runs.iter().map(|run| row(visit, run)).collect(),
        empty: "",
    };
    let content = HistoryList {
        things: "runs",
        filters: &FILTERS,
        texts: &[("agent", "Agent"), ("case", "Case")],
        choices: &[Choice { name: "state", label: "State", words: &STATES }],
        span: &span,
        table: &table,
        next: list.next.as_deref(),
        outside: None,
    };
    let mut page = Page::new(Section::Runs, "Runs", content.markup(visit));
    page.position = answered.position;
    page.json = Some(path);
    page.command = Some(CommandLine::new(visit, "runs").filters(visit, &FILTERS).span(&span).line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit, &span));
    Ok(page)
}

/// Returns every run that matches as a file.
fn file(visit: &Visit, span: &TimeSpan) -> ConsoleBody {
    let path = file_path(visit, paths::RUNS, &FILTERS, span);
    let rows = |visit: &Visit, list: &RunList| list.runs.iter().map(|run| row(visit, run)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::text("Run"),
        TableColumn::text("State"),
        TableColumn::text("Agent"),
        TableColumn::text("Graph"),
        TableColumn::text("Began"),
        TableColumn::text("Last event"),
        TableColumn::text("Node"),
        TableColumn::number("Steps"),
        TableColumn::number("Failed"),
        TableColumn::number("Calls"),
        TableColumn::number("USD"),
    ]
}

fn row(visit: &Visit, run: &RunAnswer) -> Vec<TableCell> {
    let link =
        html! { a href=(visit.page(&["runs", &run.run])) data-item { (name(&clipped(&run.run, ID_CHARS))) } };
    let (began, last) = in_order(&run.time, &run.last_time);
    vec![
        TableCell::new(&run.run, link),
        TableCell::new(&run.state, state(run)),
        TableCell::maybe_chosen(run.agent.as_deref()),
        TableCell::chosen(run.graph.as_deref().unwrap_or(&run.kind)),
        moment_cell(&visit.zone, began),
        moment_cell(&visit.zone, last),
        TableCell::maybe_chosen(run.node.as_deref()),
        TableCell::count(run.steps),
        TableCell::count(run.failed_steps),
        TableCell::count(run.calls),
        TableCell::usd(unless_zero(&run.cost_usd)),
    ]
}

fn state(run: &RunAnswer) -> Markup {
    html! { (verdict_badge(&run.state)) @if run.overdue { " " (badge("overdue", Tone::Bad)) } }
}

/// Shows one run: what it came to, and its steps or its events.
pub(crate) async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let answered = visit.get::<RunAnswer>(paths::RUN, &[id], "").await?;
    let run = &answered.value;
    let is_steps = visit.query.get("part") == Some(STEPS);
    let shown = if is_steps { steps(visit, id).await } else { events(visit, id, run.agent.as_deref()).await };
    let shown = match shown {
        Err(error) if error.is_told_on(visit) => {
            let path = visit.api(paths::RUN, &[id], "");
            Part { content: not_told(&error), table: None, next: None, path }
        }
        shown => shown?,
    };
    let content = html! {
        section #run data-fresh { (head(visit, run)) }
        h2 { "What happened" }
        nav.pills aria-label="Parts of the timeline" {
            (kind_links(visit))
            a href=(format!("{}?part={STEPS}", visit.path)) aria-current=[is_steps.then_some("true")] { "Table of steps" }
            @if !is_steps { span.order { (Order::of(visit, Order::Oldest).links(visit)) } }
        }
        section #events data-fresh { (shown.content) (next_link(visit, shown.next.as_deref())) }
    };
    let mut page = Page::new(Section::Runs, format!("Run {}", quoted(id)), content);
    page.position = answered.position;
    page.json = Some(shown.path);
    page.table = shown.table;
    page.command = Some(CommandLine::new(visit, "runs").argument(id).line());
    Ok(page)
}

/// The lower part of a run's page.
struct Part {
    content: Markup,
    table: Option<Table>,
    next: Option<String>,
    path: String,
}

async fn events(visit: &Visit, id: &str, agent: Option<&str>) -> Result<Part, PageError> {
    let path = timeline_path(visit, "run", id, Order::of(visit, Order::Oldest));
    let events = visit.interface.get::<StoredEventPage>(&path).await?.value;
    let answers = Answers::load(visit, &events.events).await;
    let content = html! {
        @if events.events.is_empty() { p.empty { "This run has no events of this kind." } }
        (timeline_with(visit, &events.events, Clock::Ledger, &answers, agent))
    };
    Ok(Part { content, table: None, next: events.next, path })
}

async fn steps(visit: &Visit, id: &str) -> Result<Part, PageError> {
    let path = visit.api(paths::RUN_STEPS, &[id], &asked(visit, &["after"], &TimeSpan::default(), PAGE_ROWS));
    let list = visit.interface.get::<RunStepList>(&path).await?.value;
    let table = Table {
        caption: "Steps of the run, the newest first".to_owned(),
        columns: vec![
            TableColumn::text("Node"),
            TableColumn::text("Status"),
            TableColumn::number("Attempt"),
            TableColumn::text("Action"),
            TableColumn::text("Began"),
            TableColumn::number("Took"),
            TableColumn::number("USD"),
            TableColumn::text("Output"),
            TableColumn::text("Event"),
        ],
        rows: list.steps.iter().map(|step| step_row(visit, step)).collect(),
        empty: "No step of this run is recorded.",
    };
    Ok(Part { content: table.markup(), table: Some(table), next: list.next, path })
}

fn step_row(visit: &Visit, step: &RunStepAnswer) -> Vec<TableCell> {
    let status =
        html! { (verdict_badge(&step.status)) @if let Some(error) = &step.error_type { " " (name(error)) } };
    let took = step.duration_ms.map(|took| took.to_string()).unwrap_or_default();
    let output = step.output.as_ref().and_then(|output| output.summary.as_deref());
    vec![
        TableCell::chosen(&step.node),
        TableCell::new(&step.status, status),
        TableCell::text(step.attempt.to_string()),
        TableCell::maybe_chosen(step.action.as_deref()),
        moment_cell(&visit.zone, &step.time),
        TableCell::new(took, html! { @if let Some(took) = step.duration_ms { (duration(took)) } }),
        TableCell::usd(step.cost_usd.as_deref()),
        TableCell::maybe_chosen(output),
        TableCell::new(&step.position, event_link(visit, &step.position)),
    ]
}

/// Returns how long a run took: as its end told, else from its first event to its last one.
fn took(run: &RunAnswer) -> Markup {
    let (began, last) = in_order(&run.time, &run.last_time);
    let is_going_on = UNENDED.contains(&run.state.as_str());
    html! { @match (run.duration_ms, time_between(began, last)) {
        (Some(took), _) => (duration(took)),
        _ if is_going_on => "not ended",
        (None, Some(took)) => { (duration(took)) ", from its first event to its last" },
        (None, None) => (NOTHING),
    } }
}

fn head(visit: &Visit, run: &RunAnswer) -> Markup {
    let calls = format!("{}{}", visit.page(&["calls"]), query([("run", run.run.as_str())].into_iter()));
    let (began, last) = in_order(&run.time, &run.last_time);
    facts([
        Fact::new("State", html! { (state(run)) @if let Some(why) = &run.why { " " (name(why)) } }),
        Fact::text("Agent", run.agent.as_deref()),
        Fact::text("Graph", Some(run.graph.as_deref().unwrap_or(&run.kind))),
        Fact::new("Began", moment(&visit.zone, began)),
        Fact::new("Last event", moment(&visit.zone, last)),
        Fact::new("Took", took(run)),
        Fact::new(
            "Steps",
            html! {
                (grouped(run.steps))
                @if run.failed_steps > 0 { " · " (grouped(run.failed_steps)) " failed" }
                @if run.retries > 0 { " · " (grouped(run.retries)) " retried" }
            },
        ),
        Fact::new("Calls", html! { a href=(calls) { (grouped(run.calls)) } }),
        Fact::new(
            "Cost",
            html! { @match unless_zero(&run.cost_usd) { Some(cost) => strong { (exact_usd(cost)) }, None => (NOTHING) } " · " (grouped(&run.tokens_in)) " tokens in, " (grouped(&run.tokens_out)) " out" },
        ),
        Fact::text("At node", run.node.as_deref()),
        Fact::text("Case", run.case.as_deref()),
        Fact::text("Subtask", run.subtask.as_deref()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ended_took_some_time_and_its_last_event_is_not_before_its_first() {
        let run = |state: &str, more: &str| -> RunAnswer {
            let json = format!(
                r#"{{"run":"r","state":"{state}","overdue":false,"position":"1","time":"2026-11-27T10:00:02Z","last":"2",
                    "lastTime":"2026-11-27T10:00:00.5Z","kind":"graph","steps":0,"failedSteps":0,"retries":0,"calls":0,"costUsd":"0",
                    "tokensIn":"0","tokensOut":"0"{more}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let took = |state, more| took(&run(state, more)).into_string();
        assert_eq!(took("completed", r#","durationMs":1000"#), "1.0 s");
        assert_eq!(took("completed", ""), "1.5 s, from its first event to its last");
        assert_eq!(took("failed", ""), "1.5 s, from its first event to its last");
        assert_eq!([took("running", ""), took("paused", "")], ["not ended", "not ended"]);
    }
}

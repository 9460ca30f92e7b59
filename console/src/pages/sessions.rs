//! Sessions: what agents did, from beginning to end.

use bitacora_api::{GapList, SessionAnswer, SessionList, SessionShown, StoredEventPage, paths};
use maud::{Markup, html};

use super::history::{
    Answers, Choice, Clock, HistoryList, ID_CHARS, Order, asked, clipped, file_path, kind_links, list_rows,
    timeline_path, timeline_with,
};
use crate::command_line::CommandLine;
use crate::components::{
    Fact, NOTHING, call_link, duration, event_link, exact_usd, facts, grouped, in_order, moment, moment_cell,
    name, next_link, part_or_reason, quoted, run_link, spent, text, time_between, verdict_badge,
};
use crate::csv_file::CsvFile;
use crate::form::query;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// The filters of the list, but for its time span.
pub(super) const FILTERS: [&str; 3] = ["agent", "harness", "state"];

/// Lists sessions, the newest first.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let span = TimeSpan::of(visit)?;
    let names = [&FILTERS[..], &["after"]].concat();
    let path = visit.api(paths::SESSIONS, &[], &asked(visit, &names, &span, list_rows(visit)));
    let answered = visit.interface.get::<SessionList>(&path).await?;
    let list = &answered.value;
    let table = Table {
        caption: "Sessions, the newest first".to_owned(),
        columns: columns(),
        rows: list.sessions.iter().map(|session| row(visit, session)).collect(),
        empty: "",
    };
    let content = HistoryList {
        things: "sessions",
        filters: &FILTERS,
        texts: &[("agent", "Agent"), ("harness", "Harness")],
        choices: &[Choice { name: "state", label: "State", words: &["open", "ended"] }],
        span: &span,
        table: &table,
        next: list.next.as_deref(),
        outside: list.outside.as_ref(),
    };
    let mut page = Page::new(Section::Sessions, "Sessions", content.markup(visit));
    page.position = answered.position;
    page.json = Some(path);
    page.command = Some(CommandLine::new(visit, "sessions").filters(visit, &FILTERS).span(&span).line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit, &span));
    Ok(page)
}

/// Returns every session that matches as a file.
fn file(visit: &Visit, span: &TimeSpan) -> ConsoleBody {
    let path = file_path(visit, paths::SESSIONS, &FILTERS, span);
    let rows =
        |visit: &Visit, list: &SessionList| list.sessions.iter().map(|session| row(visit, session)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::text("Session"),
        TableColumn::text("State"),
        TableColumn::text("Agent"),
        TableColumn::text("Began"),
        TableColumn::text("Last event"),
        TableColumn::number("Calls"),
        TableColumn::number("Denied"),
        TableColumn::number("Failed"),
        TableColumn::number("Gaps"),
        TableColumn::number("USD"),
        TableColumn::text("Harness"),
        TableColumn::text("Model"),
    ]
}

fn row(visit: &Visit, session: &SessionAnswer) -> Vec<TableCell> {
    let address = visit.page(&["sessions", &session.session]);
    let link = html! { a href=(address) data-item { (name(&clipped(&session.session, ID_CHARS))) } };
    let (began, last) = in_order(&session.time, &session.last_time);
    let failed = session.calls.ends.error + session.calls.ends.timeout + session.calls.ends.interrupted;
    vec![
        TableCell::new(&session.session, link),
        TableCell::new(&session.state, verdict_badge(&session.state)),
        TableCell::maybe_chosen(session.agent.as_deref()),
        moment_cell(&visit.zone, began),
        moment_cell(&visit.zone, last),
        TableCell::count(session.calls.all),
        TableCell::count(session.calls.denied),
        TableCell::count(failed),
        TableCell::count(session.gaps),
        TableCell::usd(spent(&session.spending)),
        TableCell::maybe_chosen(session.harness.as_deref()),
        TableCell::maybe_chosen(session.model.as_deref()),
    ]
}

/// Shows one session: what it came to, and its events.
pub(crate) async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let answered = visit.get::<SessionShown>(paths::SESSION, &[id], "").await?;
    let shown = &answered.value;
    let order = Order::of(visit, Order::Oldest);
    let path = timeline_path(visit, "session", id, order);
    let clock = if shown.session.imported { Clock::Own } else { Clock::Ledger };
    let gaps = part_or_reason(visit, gaps(visit, &shown.session).await)?;
    let events = part_or_reason(visit, events(visit, &path, clock, shown.session.agent.as_deref()).await)?;
    let content = html! {
        section #session data-fresh { (head(visit, &shown.session)) (runs(visit, shown)) (gaps) }
        h2 { "What happened" }
        nav.pills aria-label="Parts of the timeline" { (kind_links(visit)) span.order { (order.links(visit)) } }
        section #events data-fresh { (events) }
    };
    let mut page = Page::new(Section::Sessions, format!("Session {}", quoted(id)), content);
    page.position = answered.position;
    page.json = Some(path);
    page.command = Some(CommandLine::new(visit, "sessions show").argument(id).line());
    Ok(page)
}

async fn events(visit: &Visit, path: &str, clock: Clock, agent: Option<&str>) -> Result<Markup, PageError> {
    let events = visit.interface.get::<StoredEventPage>(path).await.map_err(PageError::from)?.value;
    let answers = Answers::load(visit, &events.events).await;
    Ok(html! {
        @if events.events.is_empty() { p.empty { "This session has no events of this kind." } }
        @if clock == Clock::Own { p.note { "This session was imported. Times are those of its own recording." } }
        (timeline_with(visit, &events.events, clock, &answers, agent))
        (next_link(visit, events.next.as_deref()))
    })
}

fn head(visit: &Visit, session: &SessionAnswer) -> Markup {
    let calls = &session.calls;
    let spending = &session.spending;
    let (began, last) = in_order(&session.time, &session.last_time);
    let of = |name: &str, value: &str| {
        let fields = [("session", session.session.as_str()), (name, value)];
        format!(
            "{}{}",
            visit.page(&["calls"]),
            query(fields.into_iter().filter(|(_, value)| !value.is_empty()))
        )
    };
    let count = |count: u64, word: &str, name: &str, value: &str| {
        html! { @if count > 0 { " · " a href=(of(name, value)) { (grouped(count)) " " (word) } } }
    };
    html! {
        (facts([
            Fact::new("State", html! { (verdict_badge(&session.state)) @if let Some(end) = &session.ended { " " (name(&end.reason)) } }),
            Fact::new("Agent", html! { @match &session.agent { Some(agent) => (name(agent)), None => "-" } @if session.imported { " · imported" } }),
            Fact::new("Began", moment(&visit.zone, began)),
            Fact::new("Last event", html! {
                (moment(&visit.zone, last))
                @if let Some(took) = time_between(began, last) { " · after " (duration(took)) }
            }),
            Fact::new("Calls", html! {
                a href=(of("", "")) { (grouped(calls.all)) }
                (count(calls.denied, "denied", "verdict", "deny"))
                (count(calls.reviewed, "reviewed", "verdict", "review"))
                (count(calls.ends.error, "failed", "outcome", "error"))
                (count(calls.pending, "waiting", "outcome", "pending"))
                (count(calls.open, "open", "outcome", "open"))
            }),
            Fact::new("Cost", html! {
                @match spent(spending) { Some(cost) => strong { (exact_usd(cost)) }, None => (NOTHING) }
                @if spending.without_cost > 0 { " · " (grouped(spending.without_cost)) " without a price" }
            }),
            Fact::new("Models", html! { (grouped(spending.model_calls)) " calls · " (grouped(&spending.tokens_in)) " tokens in, " (grouped(&spending.tokens_out)) " out" }),
            Fact::new("Turns", html! { (grouped(session.turns)) }),
            Fact::new("Approvals", html! {
                (grouped(session.approvals.asked)) " asked"
                @if session.approvals.refused > 0 { " · " (grouped(session.approvals.refused)) " refused" }
                @if session.approvals.pending > 0 { " · " (grouped(session.approvals.pending)) " waiting" }
            }),
            Fact::text("Harness", harness(session).as_deref()),
            Fact::text("Model", session.model.as_deref()),
            Fact::text("Folder", session.cwd.as_deref()),
        ]))
    }
}

fn harness(session: &SessionAnswer) -> Option<String> {
    let harness = session.harness.as_deref()?;
    Some(format!("{harness} {}", session.version.as_deref().unwrap_or_default()))
}

fn runs(visit: &Visit, shown: &SessionShown) -> Markup {
    html! { @if !shown.newest_runs.is_empty() {
        p { "Runs: " @for run in &shown.newest_runs { (run_link(visit, &run.run)) " " } }
    } }
}

/// Returns the calls whose record is incomplete, where there are some.
async fn gaps(visit: &Visit, session: &SessionAnswer) -> Result<Markup, PageError> {
    if session.gaps == 0 {
        return Ok(html! {});
    }
    let asked = query([("session", session.session.as_str()), ("limit", "100")].into_iter());
    let gaps = visit.get::<GapList>(paths::GAPS, &[], &asked).await?.value;
    Ok(html! {
        details.gaps open {
            summary { (grouped(session.gaps)) " calls whose record is incomplete" }
            ul { @for gap in &gaps.gaps {
                li { (call_link(visit, &gap.call)) " has no " (text(&gap.missing)) " · " (text(&gap.evidence)) " · "
                    (event_link(visit, &gap.position)) }
            } }
            @if gaps.next.is_some() { p.note { "These are the newest hundred." } }
        }
    })
}

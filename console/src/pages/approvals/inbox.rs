//! The inbox: the calls that wait, as cards, the oldest first.

use bitacora_api::{ApprovalAnswer, ApprovalList, PENDING, paths};
use maud::html;
use tokio::task::JoinSet;

use super::answers::Typed;
use super::background::Background;
use super::card::card;
use super::policy::ActivePolicy;
use super::verdicts::State;
use crate::command_line::CommandLine;
use crate::components::{code_text, moment_cell, name, next_link};
use crate::csv_file::CsvFile;
use crate::form::query;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// Cards of a page.
const CARDS: usize = 20;
/// Rows of a file.
const ROWS_OF_A_FILE: usize = 1_000;
/// The most cards of which an open page asks what has become.
const MAX_SHOWN: usize = 100;

/// Lists the calls that wait. A page that is open names the cards that it shows: of those that wait no more it is told why.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let is_file = visit.query.get("format").is_some();
    let limit = match visit.wants_rows_as_file() {
        // The file reads its rows itself.
        true => 1,
        false if is_file => ROWS_OF_A_FILE,
        false => CARDS,
    };
    let limit = limit.to_string();
    let asked = query(
        [("after", visit.query.get("after")), ("limit", Some(limit.as_str()))]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let answered = visit.get::<ApprovalList>(paths::APPROVALS, &[], &asked).await?;
    let ApprovalList { approvals: mut all, next } = answered.value;
    let waiting = all.len();
    let table = table(visit, &all);
    all.extend(over(visit, &all).await);
    all.sort_by_key(|approval| approval.position.parse::<u64>().unwrap_or(u64::MAX));
    let mut cards = Vec::new();
    if !is_file {
        let (policy, behind) = tokio::join!(ActivePolicy::load(visit), backgrounds(visit, &all));
        for (approval, behind) in all.iter().zip(&behind) {
            let state = State { approval, policy: &policy, is_alone: false };
            let behind = behind.as_ref().filter(|_| state.is_open());
            cards.push(card(visit, &state, behind, Typed::default())?);
        }
    }
    let content = html! {
        div.inbox-head {
            p #count data-fresh role="status" {
                @if waiting == 0 { "No call waits for a person." }
                @else { (waiting) @if next.is_some() { "+" } " " (if waiting == 1 { "call waits" } else { "calls wait" }) ", the oldest first." }
            }
            p.note.keys { kbd { "j" } " " kbd { "k" } " next, previous · " kbd { "a" } " approve · " kbd { "r" } " reject · " kbd { "e" } " edit" }
        }
        div #cards data-list { @for card in &cards { (card) } }
        div #pages data-fresh { (next_link(visit, next.as_deref())) }
    };
    let mut page = Page::new(Section::Approvals, "Approvals", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::APPROVALS, &[], &asked));
    page.command = Some(CommandLine::new(visit, "approvals").line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit));
    Ok(page)
}

/// Returns every call that waits as a file.
fn file(visit: &Visit) -> ConsoleBody {
    let path = visit.api(paths::APPROVALS, &[], "");
    let rows =
        |visit: &Visit, list: &ApprovalList| list.approvals.iter().map(|one| row(visit, one)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

/// Returns what stands behind each of those that wait, asked for side by side.
async fn backgrounds(visit: &Visit, all: &[ApprovalAnswer]) -> Vec<Option<Background>> {
    let mut loading = JoinSet::new();
    for (at, approval) in all.iter().enumerate().filter(|(_, approval)| approval.status == PENDING) {
        let (visit, approval) = (visit.clone(), approval.clone());
        loading.spawn(async move { (at, Background::load(&visit, &approval).await) });
    }
    let mut found: Vec<Option<Background>> = all.iter().map(|_| None).collect();
    while let Some(loaded) = loading.join_next().await {
        if let Ok((at, behind)) = loaded
            && let Some(place) = found.get_mut(at)
        {
            *place = Some(behind);
        }
    }
    found
}

/// Returns those that an open page shows, and that wait no more.
async fn over(visit: &Visit, waiting: &[ApprovalAnswer]) -> Vec<ApprovalAnswer> {
    let shown = visit.query.get("shown").unwrap_or_default();
    let gone = shown.split(',').filter(|id| !id.is_empty() && !waiting.iter().any(|one| one.id == **id));
    let mut over = Vec::new();
    for id in gone.take(MAX_SHOWN) {
        let Ok(answered) = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await else { continue };
        // One of another page waits still.
        if answered.value.status != PENDING {
            over.push(answered.value);
        }
    }
    over
}

fn table(visit: &Visit, approvals: &[ApprovalAnswer]) -> Table {
    Table {
        caption: "Calls that wait for a person".to_owned(),
        columns: columns(),
        rows: approvals.iter().map(|approval| row(visit, approval)).collect(),
        empty: "No call waits for a person.",
    }
}

fn columns() -> Vec<TableColumn> {
    ["Approval", "Tool", "Context", "Agent", "Reasons", "Asked", "Expires"].map(TableColumn::text).to_vec()
}

fn row(visit: &Visit, approval: &ApprovalAnswer) -> Vec<TableCell> {
    let address = visit.page(&["approvals", &approval.id]);
    vec![
        TableCell::new(&approval.id, html! { a href=(address) { (name(&approval.id)) } }),
        TableCell::new(&approval.tool, code_text(&approval.tool)),
        TableCell::maybe_chosen(approval.context.as_deref()),
        TableCell::maybe_chosen(approval.agent.as_deref()),
        TableCell::text(approval.reason_codes.as_deref().unwrap_or_default().join(" ")),
        moment_cell(&visit.zone, &approval.asked),
        moment_cell(&visit.zone, &approval.expires),
    ]
}

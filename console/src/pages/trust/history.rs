//! The recorded history of a dimension, each outcome with what the record was after it.

use bitacora_api::{DimensionAnswer, OutcomeRecord, TrustHistory, paths};
use maud::{Markup, html};
use serde::Deserialize;

use crate::components::{
    Tone, badge, call_link, dimension_address, dimension_query, moment_cell, name, text, verdict_badge,
};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The members of `trust.observed` and `trust.set` that are shown.
#[derive(Deserialize, Default)]
struct OutcomeMembers {
    outcome: Option<String>,
    post_check_passed: Option<bool>,
    call: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    unreported: bool,
}

/// Returns the table of a dimension's outcomes, and the `until` of the next page.
pub(super) async fn table(visit: &Visit, of: &DimensionAnswer) -> Result<(Table, Option<String>), PageError> {
    let until = visit.query.get("until").map(|until| format!("&until={}", paths::percent_encoded(until)));
    let query = format!("{}&limit=50{}", dimension_query(of), until.unwrap_or_default());
    let history = visit.get::<TrustHistory>(paths::TRUST_HISTORY, &[], &query).await?.value;
    let rows = history.outcomes.iter().map(|outcome| row(visit, of, outcome));
    let table = Table {
        caption: "Outcomes, the newest first".to_owned(),
        columns: vec![
            TableColumn::number("Position"),
            TableColumn::text("Time"),
            TableColumn::text("Outcome"),
            TableColumn::text("Call"),
            TableColumn::text("Remarks"),
        ],
        rows: rows.collect(),
        empty: "Nothing was observed.",
    };
    Ok((table, history.next))
}

fn row(visit: &Visit, of: &DimensionAnswer, record: &OutcomeRecord) -> Vec<TableCell> {
    let shown: OutcomeMembers = serde_json::from_str(record.data.get()).unwrap_or_default();
    let then = format!("{}&at={}", dimension_address(visit, of), paths::percent_encoded(&record.position));
    let outcome = if record.r#type == "trust.set" { "set" } else { shown.outcome.as_deref().unwrap_or("-") };
    let remarks = remarks(record, &shown);
    vec![
        TableCell::new(
            &record.position,
            html! { a href=(then) title="The trust after this event" { (text(&record.position)) } },
        ),
        moment_cell(&visit.zone, &record.time),
        TableCell::new(outcome, outcome_badge(outcome)),
        TableCell::new(
            shown.call.as_deref().unwrap_or_default(),
            html! { @if let Some(call) = &shown.call { (call_link(visit, call)) } },
        ),
        remarks,
    ]
}

fn outcome_badge(outcome: &str) -> Markup {
    match outcome {
        "auto_approved" => badge("went well alone", Tone::Good),
        other => verdict_badge(other),
    }
}

/// Returns who told it, why, and how far it counts.
fn remarks(record: &OutcomeRecord, shown: &OutcomeMembers) -> TableCell {
    let by = record.actor.as_deref();
    let why = shown.reason.as_deref();
    let check =
        shown.post_check_passed.map(|passed| if passed { "check passed" } else { "check failed" }.to_owned());
    let counts = match record.counts {
        Some(false) => Some("imported, does not count yet".to_owned()),
        Some(true) => Some("imported".to_owned()),
        None => None,
    };
    let unreported = shown.unreported.then(|| "no outcome came in time".to_owned());
    let others: Vec<_> = [check, counts, unreported].into_iter().flatten().collect();
    let said = [by.map(|by| format!("by {by}")), why.map(str::to_owned)].into_iter().flatten();
    let text = said.chain(others.iter().cloned()).collect::<Vec<_>>().join("; ");
    TableCell::new(
        text,
        html! {
            @if let Some(by) = by { "by " (name(by)) " " }
            @if let Some(why) = why { q { (name(why)) } " " }
            (others.join("; "))
        },
    )
}

//! Now: whether everything is all right, and what waits.

mod decisions;
mod health;
mod stops;
mod tail;
mod waiting;

use bitacora_api::{HeadAnswer, paths};
use maud::{Markup, html};

pub(crate) use self::stops::act;
use crate::command_line::CommandLine;
use crate::components::not_told;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page. A part that cannot be had says so, and keeps none of the others from being shown.
pub(crate) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let head = visit.get::<HeadAnswer>(paths::HEAD, &[], "").await?;
    let (stops, waiting, decisions, health, tail) = tokio::join!(
        stops::part(visit),
        waiting::part(visit),
        decisions::part(visit),
        health::part(visit, &head.value),
        tail::part(visit),
    );
    let content = html! {
        section #stops data-fresh aria-label="Stops and mode" { (or_reason(stops)) }
        section #waiting data-fresh aria-label="What waits" { (or_reason(waiting)) }
        section #decisions data-fresh aria-label="Decisions" { (or_reason(decisions)) }
        div.halves {
            section #health data-fresh aria-label="The ledger" { (health) }
            section #tail data-fresh aria-label="The newest events" { (or_reason(tail)) }
        }
    };
    let mut page = Page::new(Section::Now, "Now", content);
    page.position = head.position;
    page.json = Some(visit.api(paths::HEAD, &[], ""));
    page.json_parts = vec![
        ("head", visit.api(paths::HEAD, &[], "")),
        ("mode", visit.api(paths::MODE, &[], "")),
        ("stops", visit.api(paths::PANIC, &[], "")),
        ("approvals", visit.api(paths::APPROVALS, &[], "?limit=100")),
        ("breakers", visit.api(paths::BREAKERS, &[], "?state=open&limit=100")),
        ("budgets", visit.api(paths::BUDGETS, &[], "?limit=200")),
        ("decisions", decisions::path(visit)?),
        ("ledger", visit.api(paths::LEDGER, &[], "")),
        ("events", visit.api(paths::EVENTS, &[], tail::NEWEST)),
    ];
    page.command = Some(CommandLine::new(visit, "status").line());
    Ok(page)
}

/// Returns a part, or why it cannot be shown.
fn or_reason(part: Result<Markup, PageError>) -> Markup {
    part.unwrap_or_else(|error| not_told(&error))
}

//! The newest events.

use bitacora_api::{StoredEvent, StoredEventPage, paths};
use maud::{Markup, html};
use serde::Deserialize;

use crate::components::{moment, name, text};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The newest events, the newest first.
pub(super) const NEWEST: &str = "?dir=backward&limit=16";

/// The attributes of an event that a line shows.
#[derive(Default, Deserialize)]
struct Attributes {
    r#type: String,
    agent: Option<String>,
    call: Option<String>,
}

pub(super) async fn part(visit: &Visit) -> Result<Markup, PageError> {
    let page = visit.get::<StoredEventPage>(paths::EVENTS, &[], NEWEST).await?.value;
    Ok(html! {
        h2 { a href=(visit.page(&["events"])) { "The newest events" } }
        div.wide tabindex="0" role="region" aria-label="The newest events" {
            table.tail {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Event" } th scope="col" { "Agent" } th scope="col" { "Call" } } }
                tbody { @for stored in &page.events { (line(visit, stored)) } }
            }
        }
        @if page.events.is_empty() { p.empty { "No event is recorded yet." } }
    })
}

fn line(visit: &Visit, stored: &StoredEvent) -> Markup {
    let of: Attributes = serde_json::from_str(stored.event.get()).unwrap_or_default();
    html! { tr {
        td { (moment(&visit.zone, &stored.recorded_at)) }
        td { a href=(visit.page(&["events", &stored.position])) { (text(&of.r#type)) } }
        td { @if let Some(agent) = &of.agent { (name(agent)) } }
        td { @if let Some(call) = &of.call { a href=(visit.page(&["calls", call])) { (name(call)) } } }
    } }
}

//! Events: as they stand in the log, each with its proof.

mod proof;

use bitacora_api::{StoredEvent, StoredEventPage, paths};
use maud::{Markup, html};
use serde_json::Value;

use super::history::{Clock, Event, Order, filter_form, outside, summary, timeline};
use crate::command_line::CommandLine;
use crate::components::{Fact, Tone, badge, event_link, facts, long_text, moment, next_link, text};
use crate::form::query;
use crate::json::pretty;
use crate::limits::PAGE_ROWS;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// The filters of the list, but for its time span.
pub(super) const FILTERS: [&str; 8] = ["type", "agent", "session", "run", "call", "actor", "stream", "tag"];

/// Lists events, the newest first.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let span = TimeSpan::of(visit)?;
    let order = Order::of(visit, Order::Newest);
    let rows = PAGE_ROWS.to_string();
    let (times, paging) = (span.parameters(), order.parameters(visit));
    let set = FILTERS.iter().filter_map(|name| Some((*name, visit.query.exact(name)?)));
    let others = times.iter().chain(&paging).map(|(name, value)| (*name, value.as_str()));
    let path = visit.api(paths::EVENTS, &[], &query(set.chain(others).chain([("limit", rows.as_str())])));
    let answered = visit.interface.get::<StoredEventPage>(&path).await?;
    let list = &answered.value;
    let texts = [
        ("type", "Type"),
        ("agent", "Agent"),
        ("session", "Session"),
        ("run", "Run"),
        ("call", "Call"),
        ("stream", "Stream"),
        ("tag", "Tag"),
    ];
    let content = html! {
        (filter_form(visit, &texts, &[], Some(&span)))
        nav.pills aria-label="Order" { span.order { (order.links(visit)) } }
        section #events data-fresh {
            @if list.events.is_empty() { (outside("events", &FILTERS, visit, &span, None)) }
            (timeline(visit, &list.events, Clock::Ledger))
            (next_link(visit, list.next.as_deref()))
        }
    };
    let mut page = Page::new(Section::Evidence, "Events", content);
    page.position = answered.position;
    page.json = Some(path);
    let command = CommandLine::new(visit, if order == Order::Newest { "read --backward" } else { "read" });
    page.command = Some(command.filters(visit, &FILTERS).span(&span).line());
    Ok(page)
}

/// Shows one event, with its proof.
pub(crate) async fn one(visit: &Visit, position: &str) -> Result<Page, PageError> {
    let answered = visit.get::<StoredEvent>(paths::EVENT, &[position], "").await?;
    let stored = &answered.value;
    let event = Event::read(stored);
    let proof = proof::proof(visit, stored).await?;
    let content = html! {
        (neighbours(visit, stored, answered.position))
        p.sentence { (summary(visit, &event)) }
        (head(visit, &event))
        h2 { "Data" }
        (data(&event))
        (proof)
    };
    let mut page = Page::new(Section::Evidence, format!("Event {position}"), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::EVENT, &[position], ""));
    let before = position.parse::<u64>().unwrap_or(1).saturating_sub(1);
    page.command =
        Some(CommandLine::new(visit, &format!("read --after {before} --until {position} --json")).line());
    Ok(page)
}

fn neighbours(visit: &Visit, stored: &StoredEvent, head: Option<u64>) -> Markup {
    let at = stored.position.parse::<u64>().unwrap_or(1);
    let link = |at: u64, word: &str, key: &str| {
        html! { a href=(visit.page(&["events", &at.to_string()])) data-key=(key) { (word) } " " }
    };
    html! { nav.paging aria-label="Neighbours" {
        @if at > 1 { (link(at - 1, "← Previous", "p")) }
        @if head.is_none_or(|head| at < head) { (link(at + 1, "Next →", "n")) }
        a href=(visit.page(&["events"])) { "All events" }
    } }
}

fn head(visit: &Visit, event: &Event<'_>) -> Markup {
    let stored = event.stored;
    let link = |name: &str| -> Option<Markup> {
        let section = match name {
            "session" => "sessions",
            "run" => "runs",
            "call" => "calls",
            "causationid" => "events",
            _ => return None,
        };
        let value = event.attribute(name)?;
        Some(html! { a href=(visit.page(&[section, value])) { (text(value)) } })
    };
    html! {
        (facts([
            Fact::text("Type", Some(event.kind())),
            Fact::new("Recorded", moment(&visit.zone, &stored.recorded_at)),
            Fact::text("Position", Some(&stored.position)),
            Fact::text("Version in its stream", Some(&stored.stream_version)),
            stored.derived.then(|| Fact::new("Origin", html! { "added by the reactor, in the same frame as its cause" })).flatten(),
            (stored.redactions > 0).then(|| Fact::new("Redacted", html! { (stored.redactions) " secrets were removed before it was recorded" })).flatten(),
            stored.erased.then(|| Fact::new("Contents", badge("erased", Tone::Plain))).flatten(),
            stored.erased_by.as_ref().and_then(|position| Fact::new("Erased by", event_link(visit, position))),
            stored.expired_by.as_ref().and_then(|position| Fact::new("Expired under", event_link(visit, position))),
            stored.unreadable.then(|| Fact::new("Contents", badge("unreadable", Tone::Bad))).flatten(),
        ]))
        details open {
            summary { "Attributes" }
            dl.attributes { @for (name, value) in event.attributes() {
                dt { (text(name)) }
                dd { @match link(name) { Some(link) => (link), None => (text(&plain(value))) } }
            } }
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn data(event: &Event<'_>) -> Markup {
    if event.stored.erased {
        return html! { p.empty { "The contents were erased with their data subject: its key is destroyed. The event stays in the log, and its commitment below still proves that it was there." } };
    }
    if event.stored.unreadable {
        return html! { p.empty { "The contents cannot be opened: the file of their data subject's key is damaged." } };
    }
    if let Some(binary) = event.binary() {
        return html! { p.note { "Bytes, in base64" } (long_text(binary)) };
    }
    match event.written() {
        Some(data) => long_text(&pretty(data)),
        None => html! { p.empty { "It has no data." } },
    }
}

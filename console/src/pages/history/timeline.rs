//! Events one below the other, each in a line that says what happened.

use bitacora_api::{StoredEvent, paths};
use maud::{Markup, html};

use super::kinds::kinds_asked;
use super::{Answers, Event, summary};
use crate::components::{event_link, moment, text};
use crate::form::query;
use crate::limits::PAGE_ROWS;
use crate::visit::Visit;

/// The clock that a timeline shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time of recording.
    Ledger,
    /// The time that an event tells: of what was recorded elsewhere and imported.
    Own,
}

/// The order of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Oldest,
    Newest,
}

impl Order {
    /// Reads the order from the query of a page.
    pub(crate) fn of(visit: &Visit, default: Self) -> Self {
        match visit.query.get("order") {
            Some("newest") => Self::Newest,
            Some("oldest") => Self::Oldest,
            _ => default,
        }
    }

    /// Returns the parameters of the interface for this order and the page that is asked for.
    pub(crate) fn parameters(self, visit: &Visit) -> Vec<(&'static str, String)> {
        let after = visit.query.get("after").map(str::to_owned);
        match self {
            Self::Oldest => after.into_iter().map(|after| ("after", after)).collect(),
            Self::Newest => {
                let until = after.into_iter().map(|until| ("until", until));
                [("dir", "backward".to_owned())].into_iter().chain(until).collect()
            }
        }
    }

    /// Returns the links to both orders.
    pub(crate) fn links(self, visit: &Visit) -> Markup {
        let link = |order: Self, word: &str| {
            let kept = visit.query.without(&["order", "after", "format", "done"]);
            let address = format!("{}{}", visit.path, query(kept.chain([("order", word)])));
            html! { a href=(address) aria-current=[(order == self).then_some("true")] { (word) " first" } }
        };
        html! { (link(Self::Oldest, "oldest")) (link(Self::Newest, "newest")) }
    }
}

/// Returns the path that asks for one page of the events of a session or a run, of the part of the timeline that is shown.
pub(crate) fn timeline_path(visit: &Visit, name: &str, value: &str, order: Order) -> String {
    let rows = PAGE_ROWS.to_string();
    let mut fields = vec![(name, value), ("limit", rows.as_str())];
    fields.extend(kinds_asked(visit).iter().map(|kind| ("type", *kind)));
    let paging = order.parameters(visit);
    fields.extend(paging.iter().map(|(name, value)| (*name, value.as_str())));
    visit.api(paths::EVENTS, &[], &query(fields.into_iter()))
}

/// Returns events as a list, in the order that they come in.
pub(crate) fn timeline(visit: &Visit, events: &[StoredEvent], clock: Clock) -> Markup {
    timeline_with(visit, events, clock, &Answers::default())
}

/// Returns the same, with the answers of the approvals that were asked for.
pub(crate) fn timeline_with(
    visit: &Visit,
    events: &[StoredEvent],
    clock: Clock,
    answers: &Answers,
) -> Markup {
    html! {
        ol.history { @for stored in events { (line(visit, stored, clock, answers)) } }
    }
}

fn line(visit: &Visit, stored: &StoredEvent, clock: Clock, answers: &Answers) -> Markup {
    let event = Event::read(stored);
    let own = event.attribute("time").filter(|_| clock == Clock::Own);
    let call = event.call().map(|call| visit.page(&["calls", call]));
    html! {
        li data-item tabindex="-1" data-type=(event.kind()) {
            span.when { (moment(&visit.zone, own.unwrap_or(&stored.recorded_at))) }
            span.kind { @match call {
                Some(address) => a href=(address) title="The whole story of this call" data-key="o" { (text(event.kind())) },
                None => (text(event.kind())),
            } }
            div.said { (summary(visit, &event)) (answers.of(visit, &event)) }
            (event_link(visit, &stored.position))
        }
    }
}

//! Events one below the other, each in a line that says what happened.

use std::collections::HashMap;

use bitacora_api::{StoredEvent, paths};
use maud::{Markup, html};

use super::kinds::kinds_asked;
use super::{Answers, Event, summary};
use crate::components::{event_link, moment, name, text};
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
    html! {
        ol.history { @for stored in events { (line(visit, stored, clock, &Answers::default(), None)) } }
    }
}

/// Returns the events of a session or a run of this agent, with the answers of the approvals that were asked for. What another agent did
/// there names it.
pub(crate) fn timeline_with(
    visit: &Visit,
    events: &[StoredEvent],
    clock: Clock,
    answers: &Answers,
    agent: Option<&str>,
) -> Markup {
    let whose = Some(TimelineAgents::of(agent, events));
    html! {
        ol.history { @for stored in events { (line(visit, stored, clock, answers, whose.as_ref())) } }
    }
}

/// The agent of the events of a session or a run.
struct TimelineAgents<'a> {
    /// The agent of its first event.
    agent: Option<&'a str>,
    /// The agents of the calls that are told of. Not every event of a call names its agent.
    of_calls: HashMap<String, String>,
}

impl<'a> TimelineAgents<'a> {
    fn of(agent: Option<&'a str>, events: &[StoredEvent]) -> Self {
        let named = events
            .iter()
            .map(Event::read)
            .filter_map(|event| Some((event.call()?.to_owned(), event.attribute("agent")?.to_owned())));
        Self { agent, of_calls: named.collect() }
    }

    /// Returns the agent of an event, where it is another one.
    fn other<'b>(&'b self, event: &'b Event<'_>) -> Option<&'b str> {
        let of_call = || self.of_calls.get(event.call()?).map(String::as_str);
        event.attribute("agent").or_else(of_call).filter(|agent| self.agent != Some(*agent))
    }
}

fn line(
    visit: &Visit,
    stored: &StoredEvent,
    clock: Clock,
    answers: &Answers,
    whose: Option<&TimelineAgents<'_>>,
) -> Markup {
    let event = Event::read(stored);
    let other = whose.and_then(|whose| whose.other(&event));
    let own = event.attribute("time").filter(|_| clock == Clock::Own);
    let call = event.call().map(|call| visit.page(&["calls", call]));
    html! {
        li data-item tabindex="-1" data-type=(event.kind()) {
            span.when { (moment(&visit.zone, own.unwrap_or(&stored.recorded_at))) }
            span.kind { @match call {
                Some(address) => a href=(address) title="The whole story of this call" data-key="o" { (text(event.kind())) },
                None => (text(event.kind())),
            } }
            div.said { @if let Some(agent) = other { span.quiet-text { "agent " (name(agent)) } " " } (summary(visit, &event)) (answers.of(visit, &event)) }
            (event_link(visit, &stored.position))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_agent_did_in_a_session_names_it() {
        let stored = |attributes: &str| -> StoredEvent {
            let json = format!(
                r#"{{"position":"1","commitment":"","recordedAt":"t","streamVersion":"1","derived":false,"redactions":0,"erased":false,
                    "event":{{"type":"tool.requested"{attributes}}}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let events = [
            r#","agent":"coder","call":"a""#,
            r#","agent":"other","call":"b""#,
            r#","call":"b""#,
            r#","data":{"call":"b"}"#,
            r#","call":"a""#,
            "",
        ]
        .map(stored);
        let others = |agent| {
            let whose = TimelineAgents::of(agent, &events);
            events.each_ref().map(|stored| whose.other(&Event::read(stored)).map(str::to_owned))
        };
        let other = Some("other".to_owned());
        assert_eq!(others(Some("coder")), [None, other.clone(), other.clone(), other, None, None]);
        assert_eq!(others(None).iter().flatten().count(), 5, "a session of nobody names each");
    }
}

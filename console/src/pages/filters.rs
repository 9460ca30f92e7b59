//! The filters that each list takes. Under one that it does not know, its rows would be taken for an answer to something else.

use maud::{Markup, html};

use super::{calls, costs, events, runs, sessions};
use crate::components::{DIMENSION_PARTS, name};
use crate::form::{FormFields, query};
use crate::visit::Visit;

/// The ends of a time span.
const TIMES: [&str; 2] = ["since", "before"];
/// Parameters of every page: its part of a list, its form, and what an act or an open page adds.
const OF_EVERY_PAGE: [&str; 7] = ["after", "limit", "order", "format", "zone", "done", "shown"];
/// The most misspelt filters that are named.
const NAMED: usize = 8;

/// Returns the filters of the list at an address behind the ledger's; nothing where no list is there.
fn filters(rest: &[&str]) -> Option<Vec<&'static str>> {
    let with_times = |names: &[&'static str]| Some([names, &TIMES].concat());
    match rest {
        ["calls"] => with_times(&calls::FILTERS),
        ["sessions"] => with_times(&sessions::FILTERS),
        ["runs"] => with_times(&runs::FILTERS),
        ["events"] => with_times(&events::FILTERS),
        ["trust"] => Some(DIMENSION_PARTS.to_vec()),
        ["costs"] => Some([&costs::FILTERS[..], &["by"]].concat()),
        ["costs", "budgets"] => Some(vec!["budget", "agent"]),
        ["policy", "suggestions"] => Some(vec!["state"]),
        ["approvals"] | ["policy", "grants"] => Some(Vec::new()),
        _ => None,
    }
}

/// The filters of a query that a list cannot heed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misspelt {
    /// Those that it does not know.
    unknown: Vec<String>,
    /// Those that come more than once.
    repeated: Vec<String>,
    known: Vec<&'static str>,
}

impl Misspelt {
    /// Returns those of a query; nothing where the list at this address heeds all of it.
    pub(crate) fn of(asked: &FormFields, rest: &[&str]) -> Option<Self> {
        let known = filters(rest)?;
        let (mut unknown, mut repeated, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (field, _) in asked.without(&OF_EVERY_PAGE) {
            let place = if !known.contains(&field) {
                &mut unknown
            } else if seen.contains(&field) {
                &mut repeated
            } else {
                seen.push(field);
                continue;
            };
            if !place.iter().any(|named| named == field) {
                place.push(field.to_owned());
            }
        }
        (!unknown.is_empty() || !repeated.is_empty()).then_some(Self { unknown, repeated, known })
    }

    /// Returns the words in the place of the rows, and the way to those that the other filters leave.
    pub(crate) fn notice(&self, visit: &Visit) -> Markup {
        let unheeded: Vec<&str> = self.unknown.iter().chain(&self.repeated).map(String::as_str).collect();
        let left_out = [&unheeded[..], &["after", "format", "done"]].concat();
        let address = format!("{}{}", visit.path, query(visit.query.without(&left_out)));
        let one = unheeded.len() == 1;
        html! {
            p.notice.refusal role="alert" {
                (self.sentence()) " Nothing is listed, since all rows would be no answer. "
                a href=(address) { "Leave " (if one { "it" } else { "them" }) " out" }
            }
        }
    }

    fn sentence(&self) -> Markup {
        let names = |of: &[String]| {
            html! { @for (at, field) in of.iter().take(NAMED).enumerate() { @if at > 0 { " or " } (name(field)) } }
        };
        html! {
            @if !self.unknown.is_empty() {
                "No filter is called " (names(&self.unknown))
                @if self.known.is_empty() { "; this list has none." }
                @else { "; filters are " @for (at, field) in self.known.iter().enumerate() { @if at > 0 { ", " } code { (field) } } "." }
            }
            @if !self.repeated.is_empty() {
                @if !self.unknown.is_empty() { " " }
                "A filter comes more than once: " (names(&self.repeated)) "."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misspelt(rest: &[&str], asked: &str) -> Option<Misspelt> {
        Misspelt::of(&FormFields::parse(asked.as_bytes()), rest)
    }

    #[test]
    fn a_filter_that_a_list_does_not_know_is_told_with_those_that_it_knows() {
        let found = misspelt(&["calls"], "verdct=deny&agent=coder&verdct=x&<b>=1").unwrap();
        assert_eq!(found.unknown, ["verdct", "<b>"]);
        let told = found.sentence().into_string();
        let boxed = |of: &str| format!("<bdi><code class=\"name\">{of}</code></bdi>");
        let begin = format!(
            "No filter is called {} or {}; filters are <code>agent",
            boxed("verdct"),
            boxed("&lt;b&gt;")
        );
        assert!(told.starts_with(&begin) && told.contains("<code>verdict</code>"), "{told}");
        let none = misspelt(&["approvals"], "agent=coder").unwrap().sentence().into_string();
        assert_eq!(none, format!("No filter is called {}; this list has none.", boxed("agent")));
        let twice = misspelt(&["calls"], "verdict=deny&verdict=allow").unwrap();
        assert_eq!(twice.repeated, ["verdict"]);
    }

    #[test]
    fn what_pages_and_forms_ask_for_is_heeded() {
        for (rest, asked) in [
            (
                &["calls"][..],
                "agent=a&tool=&verdict=deny&outcome=&since=x&before=&zone=UTC&after=3&format=csv",
            ),
            (&["sessions"], "agent=a&harness=h&state=open&zone=UTC"),
            (&["runs"], "agent=a&state=failed&case=c&zone=UTC"),
            (&["events"], "type=a&tag=b&order=oldest&after=3"),
            (&["trust"], "tool=a&context=b&model=c&task_type=d&workspace=e&order=bottom&limit=5"),
            (&["costs"], "by=day&since=2026-01-01&before=&session=s&run=r"),
            (&["costs", "budgets"], "budget=b&agent=a"),
            (&["policy", "suggestions"], "state=open&done=0"),
            (&["approvals"], "shown=a,b&after=3"),
            (&["calls"], "verdct="),
            (&["calls", "c1"], "at=3"),
        ] {
            assert_eq!(misspelt(rest, asked), None, "{rest:?}?{asked}");
        }
    }
}

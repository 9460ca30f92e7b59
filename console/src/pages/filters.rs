//! The parameters that each page takes. Under one that it does not know, what it shows would be taken for an answer to something else.

use maud::{Markup, html};

use super::history::{clipped, kind_words};
use super::{calls, costs, events, runs, sessions};
use crate::components::{DIMENSION_PARTS, name};
use crate::form::{FormFields, query};
use crate::visit::Visit;

/// The ends of a time span, and the zone that they are told in.
const TIMES: [&str; 3] = ["since", "before", "zone"];
/// Parameters of every list: what an act or an open page adds, and the form.
const OF_EVERY_LIST: [&str; 2] = ["done", "format"];
/// Parameters of lists that have pages of a size that is asked for.
const SIZED: [&str; 2] = ["after", "limit"];
/// Parameters that the console itself adds: those that come again say nothing else.
const OF_ACTS: &str = "done";
/// The most misspelt filters that are named.
const NAMED: usize = 8;
/// The characters of a value that are told.
const VALUE_CHARS: usize = 60;

/// Returns the filters of the list at an address behind the ledger's, and its other parameters; nothing where no list is there.
fn filters(rest: &[&str]) -> Option<(Vec<&'static str>, Vec<&'static str>)> {
    let with_times = |names: &[&'static str], more: &[&'static str]| {
        Some(([names, &TIMES[..2]].concat(), [&["after", "zone"], more].concat()))
    };
    match rest {
        ["calls"] => with_times(&calls::FILTERS, &[]),
        ["sessions"] => with_times(&sessions::FILTERS, &[]),
        ["runs"] => with_times(&runs::FILTERS, &[]),
        ["events"] => with_times(&events::FILTERS, &["order"]),
        ["trust"] => Some((DIMENSION_PARTS.to_vec(), [&SIZED[..], &["order"]].concat())),
        ["costs"] => Some(([&costs::FILTERS[..], &["by"]].concat(), Vec::new())),
        ["costs", "budgets"] => Some((vec!["budget", "agent"], SIZED.to_vec())),
        ["policy", "suggestions"] => Some((vec!["state"], SIZED.to_vec())),
        ["policy", "grants"] => Some((Vec::new(), SIZED.to_vec())),
        ["approvals"] => Some((Vec::new(), vec!["after", "shown"])),
        _ => None,
    }
}

/// Returns the values that a parameter may have at an address; nothing where it may have any.
fn values(rest: &[&str], field: &str) -> Option<Vec<&'static str>> {
    match (rest, field) {
        (_, "format") => Some(vec!["csv", "json"]),
        (["costs"], "by") => Some(costs::groups()),
        (["trust"], "order") => Some(vec!["top", "bottom"]),
        (["events"] | ["sessions" | "runs", _], "order") => Some(vec!["oldest", "newest"]),
        (["sessions", _], "part") => Some(kind_words()),
        (["runs", _], "part") => Some([kind_words(), vec![runs::STEPS]].concat()),
        _ => None,
    }
}

/// The parameters of a query that a page cannot heed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Misspelt {
    /// Those that its list does not know.
    unknown: Vec<String>,
    /// Those that come more than once.
    repeated: Vec<String>,
    /// Those with a value that the page does not know, with those that it knows.
    unlike: Vec<(String, String, Vec<&'static str>)>,
    /// The filters of its list; nothing where the page is none.
    known: Option<Vec<&'static str>>,
}

impl Misspelt {
    /// Returns those of a query; nothing where the page at this address heeds all of it.
    pub(crate) fn of(asked: &FormFields, rest: &[&str]) -> Option<Self> {
        let (known, others) = filters(rest).unzip();
        let others = others.unwrap_or_default();
        let mut found = Self { known, ..Self::default() };
        let mut seen = Vec::new();
        // One that says nothing comes before another one all the same: the page would read the first.
        for field in asked.names().filter(|field| *field != OF_ACTS) {
            let is_known = |known: &Vec<&str>| {
                known.contains(&field) || others.contains(&field) || OF_EVERY_LIST.contains(&field)
            };
            if !found.known.as_ref().is_none_or(is_known) {
                if asked.without(&[]).any(|(said, _)| said == field) {
                    add(&mut found.unknown, field);
                }
            } else if seen.contains(&field) {
                add(&mut found.repeated, field);
            } else {
                seen.push(field);
                let value = asked.get(field).unwrap_or_default();
                let words = values(rest, field).filter(|words| !value.is_empty() && !words.contains(&value));
                found.unlike.extend(words.map(|words| (field.to_owned(), value.to_owned(), words)));
            }
        }
        let is_heeded = found.unknown.is_empty() && found.repeated.is_empty() && found.unlike.is_empty();
        (!is_heeded).then_some(found)
    }

    /// Returns the words in the place of the rows, and the way to those that the other parameters leave.
    pub(crate) fn notice(&self, visit: &Visit) -> Markup {
        let unlike = self.unlike.iter().map(|(field, ..)| field);
        let mut unheeded: Vec<&str> =
            self.unknown.iter().chain(&self.repeated).chain(unlike).map(String::as_str).collect();
        unheeded.dedup();
        let left_out = [&unheeded[..], &["after", "format", "done"]].concat();
        let address = format!("{}{}", visit.path, query(visit.query.without(&left_out)));
        let one = unheeded.len() == 1;
        html! {
            p.notice.refusal role="alert" {
                (self.sentence())
                @if self.known.is_some() { " Nothing is listed, since all rows would be no answer. " }
                @else { " Nothing is shown, since the page would be no answer. " }
                a href=(address) { "Leave " (if one { "it" } else { "them" }) " out" }
            }
        }
    }

    fn sentence(&self) -> Markup {
        let names = |of: &[String]| {
            html! { @for (at, field) in of.iter().take(NAMED).enumerate() { @if at > 0 { " or " } (name(field)) } }
        };
        let known = self.known.as_deref().unwrap_or_default();
        let listed = |words: &[&str]| {
            html! { @for (at, word) in words.iter().enumerate() { @if at > 0 { ", " } code { (word) } } }
        };
        html! {
            @if !self.unknown.is_empty() {
                "No filter is called " (names(&self.unknown))
                @if known.is_empty() { "; this list has none." }
                @else { "; filters are " (listed(known)) "." }
            }
            @if !self.repeated.is_empty() {
                @if !self.unknown.is_empty() { " " }
                (if self.known.is_some() { "A filter" } else { "A part of the address" }) " comes more than once: " (names(&self.repeated)) "."
            }
            @for (at, (field, value, words)) in self.unlike.iter().enumerate() {
                @if at > 0 || !self.unknown.is_empty() || !self.repeated.is_empty() { " " }
                code { (field) } " is never " (name(&clipped(value, VALUE_CHARS))) "; it is one of " (listed(words)) "."
            }
        }
    }
}

/// Adds a name once.
fn add(names: &mut Vec<String>, field: &str) {
    if !names.iter().any(|named| named == field) {
        names.push(field.to_owned());
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
    fn a_parameter_that_comes_again_is_told_also_where_one_of_them_is_empty() {
        for (rest, asked, field) in [
            (&["calls"][..], "agent=&agent=nobody", "agent"),
            (&["trust"], "tool=Bash&tool=", "tool"),
            (&["costs"], "by=&by=", "by"),
            (&["calls"], "zone=UTC&zone=Europe/Berlin", "zone"),
            (&["sessions", "s"], "part=calls&part=turns", "part"),
            (&["calls", "c"], "at=1&at=2", "at"),
        ] {
            assert_eq!(misspelt(rest, asked).unwrap().repeated, [field], "{rest:?}?{asked}");
        }
    }

    #[test]
    fn a_value_that_a_page_does_not_know_is_told_with_those_that_it_knows() {
        for (rest, asked, told) in [
            (&["costs"][..], "by=zzz", "<code>by</code> is never "),
            (&["sessions", "s"], "part=table", "<code>part</code> is never "),
            (&["runs", "r"], "order=top", "it is one of <code>oldest</code>, <code>newest</code>."),
            (&["admin"], "format=xml", "it is one of <code>csv</code>, <code>json</code>."),
        ] {
            let shown = misspelt(rest, asked).unwrap().sentence().into_string();
            assert!(shown.contains(told), "{rest:?}?{asked}: {shown}");
        }
        for (rest, asked) in
            [(&["calls"][..], "limit=5"), (&["calls"], "order=newest"), (&["costs"], "zone=UTC")]
        {
            assert_eq!(misspelt(rest, asked).unwrap().unknown.len(), 1, "{rest:?}?{asked}");
        }
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
            (&["runs", "r"], "part=table&after=2&order=&format=json"),
            (&["sessions", "s"], "part=calls&order=newest"),
            (&["trust", "record"], "tool=+Read&at=3&until=2"),
        ] {
            assert_eq!(misspelt(rest, asked), None, "{rest:?}?{asked}");
        }
    }
}

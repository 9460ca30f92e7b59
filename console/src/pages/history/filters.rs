//! Filters of lists: the form, what it asks of the interface, and the command line that asks the same.

use bitacora_api::OutsideAnswer;
use maud::{Markup, html};

use crate::components::{filter_field, grouped, name, text};
use crate::form::query;
use crate::limits::PAGE_ROWS;
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// A filter with a few words to choose from.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) words: &'static [&'static str],
}

impl Choice {
    fn markup(&self, visit: &Visit) -> Markup {
        let chosen = visit.query.exact(self.name);
        html! { label { (self.label) " " select name=(self.name) {
            option value="" { "any" }
            @for word in self.words { option value=(word) selected[chosen == Some(word)] { (word) } }
            @if let Some(other) = chosen.filter(|chosen| !self.words.contains(chosen)) {
                option value=(other) selected { (other) }
            }
        } } }
    }
}

/// Returns the form of a list's filters: texts, choices, and a time span.
pub(crate) fn filter_form(
    visit: &Visit,
    texts: &[(&str, &str)],
    choices: &[Choice],
    span: Option<&TimeSpan>,
) -> Markup {
    html! {
        form.filters method="get" action=(visit.path) role="search" {
            @for (name, label) in texts { (filter_field(visit, name, label)) }
            @for choice in choices { (choice.markup(visit)) }
            @if let Some(span) = span { (span.fields(visit)) }
            button { "Show" }
            @if visit.query.without(&["format", "done", "zone"]).next().is_some() { a href=(visit.path) { "Clear" } }
        }
        @if let Some(span) = span { (span.offers(visit)) }
    }
}

/// Returns the rows of a list that are asked for. Of those that a file replaces, one tells whether the interface takes the filters.
pub(crate) fn list_rows(visit: &Visit) -> usize {
    if visit.wants_rows_as_file() { 1 } else { PAGE_ROWS }
}

/// Returns what the interface is asked: these filters, the time span, one page of so many rows.
pub(crate) fn asked(visit: &Visit, names: &[&str], span: &TimeSpan, rows: usize) -> String {
    let times = span.parameters();
    let times = times.iter().map(|(name, time)| (*name, time.as_str()));
    let filters = names.iter().filter_map(|name| Some((*name, visit.query.exact(name)?)));
    let rows = rows.to_string();
    query(filters.chain(times).chain([("limit", rows.as_str())]))
}

/// Returns the path of a list with its filters and its time span, without a page, for a file of all that match.
pub(crate) fn file_path(visit: &Visit, template: &str, names: &[&str], span: &TimeSpan) -> String {
    let times = span.parameters();
    let times = times.iter().map(|(name, time)| (*name, time.as_str()));
    let set = names.iter().filter_map(|name| Some((*name, visit.query.exact(name)?)));
    visit.api(template, &[], &query(set.chain(times)))
}

/// Returns the sentence about a page without rows that has another one behind it.
pub(crate) fn looked_at(things: &str) -> Markup {
    html! { p.empty { "None of the " (things) " that were looked at for this page matches. The next page looks further back." } }
}

/// Returns the sentence about a list without rows.
pub(crate) fn outside(
    things: &str,
    names: &[&str],
    visit: &Visit,
    span: &TimeSpan,
    outside: Option<&OutsideAnswer>,
) -> Markup {
    let set: Vec<_> = names.iter().filter_map(|name| Some((*name, visit.query.exact(name)?))).collect();
    html! {
        p.empty {
            "No " (things) " match"
            @for (at, (field, value)) in set.iter().enumerate() {
                (if at == 0 { " " } else { ", " }) (text(field)) " " (name(value))
            }
            @if span.is_bounded() { " in this time span" }
            "."
            @if let Some(outside) = outside {
                " " (if outside.more { "At least " } else { "" }) (grouped(outside.count)) " " (things) " match at other times. "
                @if outside.count > 0 {
                    @let kept = visit.query.without(&["since", "before", "zone", "after", "format", "done"]);
                    a href=(format!("{}{}", visit.path, query(kept))) { "Show all times" }
                }
            } @else if !set.is_empty() {
                " " a href=(visit.path) { "Clear the filters" }
            }
        }
    }
}

//! A list of the past: its filters, the rows of a page or why there are none, the way to the next page.

use bitacora_api::OutsideAnswer;
use maud::{Markup, html};

use super::filters::{Choice, filter_form, looked_at, outside};
use crate::components::next_link;
use crate::table::Table;
use crate::time_span::TimeSpan;
use crate::visit::Visit;

/// A list of one kind of things.
pub(crate) struct HistoryList<'a> {
    /// The things, in the plural; also the id of the part that follows changes.
    pub(crate) things: &'static str,
    /// The names of the filters, but for the time span.
    pub(crate) filters: &'a [&'a str],
    /// The filters that are typed, with their labels.
    pub(crate) texts: &'a [(&'a str, &'a str)],
    pub(crate) choices: &'a [Choice],
    pub(crate) span: &'a TimeSpan,
    pub(crate) table: &'a Table,
    /// The `after` of the next page.
    pub(crate) next: Option<&'a str>,
    /// The number of those that match at other times, where the interface tells it.
    pub(crate) outside: Option<&'a OutsideAnswer>,
}

impl HistoryList<'_> {
    pub(crate) fn markup(&self, visit: &Visit) -> Markup {
        html! {
            (filter_form(visit, self.texts, self.choices, Some(self.span)))
            section #(self.things) data-fresh {
                @if !self.table.rows.is_empty() { (self.table.markup()) }
                @else if self.next.is_some() { (looked_at(self.things)) }
                @else { (outside(self.things, self.filters, visit, self.span, self.outside)) }
                (next_link(visit, self.next))
            }
        }
    }
}

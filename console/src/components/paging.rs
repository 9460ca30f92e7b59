//! Lists that have more pages, and their filters.

use maud::{Markup, html};

use crate::visit::Visit;

/// Returns the link to the next page of a list, with the filters of this one.
pub(crate) fn next_link(visit: &Visit, next: Option<&str>) -> Markup {
    html! {
        nav.paging aria-label="Pages of this list" {
            @if visit.query.get("after").is_some() {
                a href=(format!("{}{}", visit.path, visit.query.with("after", None))) { "First page" }
            }
            @if let Some(next) = next {
                a rel="next" href=(format!("{}{}", visit.path, visit.query.with("after", Some(next)))) { "Next page" }
            }
        }
    }
}

/// Returns a field of a filter, with what it was set to.
pub(crate) fn filter_field(visit: &Visit, name: &str, label: &str) -> Markup {
    html! {
        label { (label) " " input name=(name) value=(visit.query.exact(name).unwrap_or_default()); }
    }
}

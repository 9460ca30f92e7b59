//! Facts: names with their values.

use maud::{Markup, html};

use super::text;

/// A name with its value.
pub(crate) struct Fact {
    name: &'static str,
    value: Markup,
}

impl Fact {
    pub(crate) fn new(name: &'static str, value: Markup) -> Option<Self> {
        Some(Self { name, value })
    }

    /// A text that anybody may have written; no fact where there is none.
    pub(crate) fn text(name: &'static str, value: Option<&str>) -> Option<Self> {
        let value = value?;
        Some(Self { name, value: text(value) })
    }
}

/// Returns those facts that there are.
pub(crate) fn facts(all: impl IntoIterator<Item = Option<Fact>>) -> Markup {
    html! {
        dl.facts { @for fact in all.into_iter().flatten() {
            div { dt { (fact.name) } dd { (fact.value) } }
        } }
    }
}

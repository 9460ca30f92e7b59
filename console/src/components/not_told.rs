//! Notices in the place of parts that cannot be told now.

use maud::{Markup, html};

use super::sentence;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Returns the words for something that cannot be told now.
pub(crate) fn not_told(error: &PageError) -> Markup {
    html! { p.notice.refusal { "Not known now: " (sentence(&error.to_string())) } }
}

/// Returns a part of a page; where it cannot be told now, that and why. The other parts are shown all the same.
pub(crate) fn part_or_reason(visit: &Visit, part: Result<Markup, PageError>) -> Result<Markup, PageError> {
    match part {
        Err(error) if error.is_told_on(visit) => Ok(not_told(&error)),
        part => part,
    }
}

//! Lengths of time that a form offers.

use maud::{Markup, html};

use crate::form::FormFields;
use crate::page_error::PageError;

/// The field of the hours.
const FIELD: &str = "hours";

/// Hours that a form offers, with their words.
pub(crate) type OfferedHours = [(u32, &'static str)];

/// Returns the field that chooses among them.
pub(crate) fn hours_field(label: &str, offered: &OfferedHours, first: u32) -> Markup {
    html! {
        label { (label) " " select name=(FIELD) { @for (hours, words) in offered {
            option value=(hours) selected[*hours == first] { (words) }
        } } }
    }
}

/// Returns the hours that a form chose.
pub(crate) fn chosen_hours(form: &FormFields, offered: &OfferedHours) -> Result<u32, PageError> {
    let chosen = form.get(FIELD).and_then(|hours| hours.parse().ok());
    let chosen = chosen.filter(|chosen| offered.iter().any(|(hours, _)| hours == chosen));
    chosen.ok_or_else(|| PageError::Field("Choose one of the times in the list.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_not_offered_is_refused() {
        let offered = [(1, "an hour"), (24, "a day")];
        let chosen = |form: &[u8]| chosen_hours(&FormFields::parse(form), &offered).ok();
        assert_eq!(chosen(b"hours=24"), Some(24));
        for other in [&b"hours=2"[..], b"hours=-1", b"hours=x", b""] {
            assert_eq!(chosen(other), None);
        }
    }
}

//! The hidden fields that every form of a session carries.

use maud::{Markup, html};

use crate::page_error::PageError;
use crate::sign_in::random_secret;
use crate::visit::Visit;

/// The field of a session's secret.
pub(crate) const SECRET_FIELD: &str = "form_secret";
/// The field by which a form that is sent twice is recognised.
pub(crate) const ACT_FIELD: &str = "act";
/// The field with the key of the session, which the script adds from what the browser keeps for this port.
pub(crate) const KEY_FIELD: &str = "key";

/// Returns the hidden fields of a form.
pub(crate) fn act_fields(visit: &Visit) -> Result<Markup, PageError> {
    let act = random_secret()?;
    Ok(html! {
        input type="hidden" name=(SECRET_FIELD) value=(visit.form_secret);
        input type="hidden" name=(ACT_FIELD) value=(act);
    })
}

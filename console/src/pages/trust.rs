//! Trust: what dimensions have shown, the thresholds that decide, breakers and stopped agents.

mod acts;
mod agents;
mod history;
mod list;
mod months;
mod record;

use crate::form::FormFields;
use crate::page::{Done, Page};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page at an address of this part.
pub(crate) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list::show(visit).await,
        ["record"] => record::show(visit).await,
        ["agents"] => agents::show(visit).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// Does the act at an address of this part.
pub(crate) async fn act(visit: &Visit, rest: &[&str], form: &FormFields) -> Result<Done, PageError> {
    visit.must_govern()?;
    match rest {
        ["record", "set"] => acts::set(visit, form).await,
        ["record", "probe"] => acts::probe(visit, form).await,
        ["record", "close"] => acts::close(visit, form).await,
        ["agents", "suspend"] => agents::suspend(visit, form).await,
        ["agents", "resume"] => agents::resume(visit, form).await,
        _ => Err(PageError::NoSuchPage),
    }
}

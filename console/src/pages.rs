//! The pages, each in a file of its own.

mod admin;
mod approvals;
mod calls;
mod costs;
mod events;
mod evidence;
mod filters;
mod history;
mod now;
mod policy;
mod runs;
mod sessions;
mod trust;

use http::Response;

pub(crate) use self::filters::Misspelt;
use crate::form::FormFields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::visit::Visit;

/// Makes the page at an address behind the ledger's.
pub(crate) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] | ["now"] => now::show(visit).await,
        ["approvals"] => approvals::list(visit).await,
        ["approvals", approval] => approvals::one(visit, approval).await,
        ["sessions"] => sessions::list(visit).await,
        ["sessions", session] => sessions::one(visit, session).await,
        ["runs"] => runs::list(visit).await,
        ["runs", run] => runs::one(visit, run).await,
        ["calls"] => calls::list(visit).await,
        ["calls", call] => calls::one(visit, call).await,
        ["events"] => events::list(visit).await,
        ["events", position] => events::one(visit, position).await,
        ["trust", rest @ ..] => trust::show(visit, rest).await,
        ["policy", rest @ ..] => policy::show(visit, rest).await,
        ["costs", rest @ ..] => costs::show(visit, rest).await,
        ["evidence"] => evidence::show(visit).await,
        ["admin"] => admin::show(visit).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// Returns a file at an address behind the ledger's, where one is there.
pub(crate) async fn file(visit: &Visit, rest: &[&str]) -> Option<Result<Response<ConsoleBody>, PageError>> {
    match rest {
        ["evidence", "bundle"] => Some(evidence::download(visit).await),
        _ => None,
    }
}

/// Does an act whose answer is shown once, as the answer itself, where the address names one.
pub(crate) async fn act_shown_once(
    visit: &Visit,
    rest: &[&str],
    form: &FormFields,
) -> Option<Result<Page, PageError>> {
    match rest {
        ["admin", "tokens"] => Some(admin::create_token(visit, form).await),
        _ => None,
    }
}

/// Does the act at an address behind the ledger's.
pub(crate) async fn act(visit: &Visit, rest: &[&str], form: &FormFields) -> Result<Done, PageError> {
    match rest {
        ["now", "panic", verb] => now::act(visit, verb, form).await,
        ["approvals", approval, verb] => approvals::resolve(visit, approval, verb, form).await,
        ["trust", rest @ ..] => trust::act(visit, rest, form).await,
        ["policy", rest @ ..] => policy::act(visit, rest, form).await,
        ["evidence", "verify"] => evidence::start(visit).await,
        ["admin", rest @ ..] => admin::act(visit, rest, form).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// Returns the part of the console that an address belongs to.
pub(crate) fn section_of(path: &str) -> Section {
    let part = path.split('/').nth(3).unwrap_or_default();
    let part = if part == "events" { Section::Evidence.names().0 } else { part };
    Section::ALL.into_iter().find(|section| section.names().0 == part).unwrap_or(Section::Now)
}

//! The ledgers that a viewer may see, on the pages that are of none.

use bitacora_api::{LedgerAnswer, LedgerList, paths};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use maud::{Markup, html};

use super::{client, signing};
use crate::components::name;
use crate::console::Console;
use crate::interface::InterfaceClient;
use crate::layout::bare_page;
use crate::page_error::PageError;
use crate::response::{ConsoleBody, html_response, redirect};

/// Shows the ledgers that the viewer may see; the only one at once.
pub(super) async fn show(console: &Console, parts: &Parts) -> Result<Response<ConsoleBody>, PageError> {
    let found = signing::session_of(console, parts)?;
    let interface = client(console, parts, found.as_ref().and_then(|session| session.token()));
    let Some(list) = open_to(&interface).await? else {
        return Ok(signing::ask_again(console, parts, found.is_some()));
    };
    if let [only] = &list[..] {
        return Ok(redirect(&format!("/console/{}/now", paths::percent_encoded(&only.name))));
    }
    Ok(html_response(StatusCode::OK, bare_page("Ledgers", &ledger_links(&list))))
}

/// Returns the ledgers that are open to a viewer; nothing where the service does not know them.
async fn open_to(interface: &InterfaceClient) -> Result<Option<Vec<LedgerAnswer>>, PageError> {
    match interface.get::<LedgerList>(paths::LEDGERS).await {
        Ok(answered) => Ok(Some(answered.value.ledgers)),
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn ledger_links(list: &[LedgerAnswer]) -> Markup {
    html! {
        ul.ledgers { @for ledger in list {
            li { a href=(format!("/console/{}/now", paths::percent_encoded(&ledger.name))) { (ledger.name) } " · " (ledger.state) }
        } }
    }
}

/// Returns the page for a viewer whose token this ledger does not take. Only where no ledger takes it, the session ends.
pub(super) async fn not_taken(
    console: &Console,
    parts: &Parts,
    ledger: &str,
    interface: &InterfaceClient,
) -> Result<Response<ConsoleBody>, PageError> {
    let Some(list) = open_to(interface).await? else {
        return Ok(signing::ask_again(console, parts, true));
    };
    let content = html! {
        p.notice.refusal role="alert" { "The ledger " (name(ledger)) " does not take your token. Nothing was done." }
        (ledger_links(&list))
        p { a href=(signing::sign_in_address(parts)) { "Sign in with another token" } }
    };
    Ok(html_response(StatusCode::FORBIDDEN, bare_page("Not your ledger", &content)))
}

/// Returns the page for a ledger that is not there, with those that are there for the viewer.
pub(super) async fn no_ledger(
    console: &Console,
    parts: &Parts,
    ledger: &str,
    interface: &InterfaceClient,
) -> Result<Response<ConsoleBody>, PageError> {
    let Some(list) = open_to(interface).await? else {
        let has_session = signing::session_of(console, parts)?.is_some();
        return Ok(signing::ask_again(console, parts, has_session));
    };
    let content = html! {
        p.notice.refusal role="alert" { "There is no ledger " (name(ledger)) "." @if parts.method == Method::POST { " Nothing was done." } }
        @if list.is_empty() { p { "No ledger is open to you." } }
        @else { p { "Ledgers that are open to you:" } (ledger_links(&list)) }
    };
    Ok(html_response(StatusCode::NOT_FOUND, bare_page("No such ledger", &content)))
}

//! Admin: tokens, roles, modes, tools, rates, and the service itself.

mod modes;
mod roles;
mod service;
mod tokens;
mod tools;

use bitacora_api::{
    KeysAnswer, LedgerAnswer, ModeAnswer, PrincipalList, RateList, ToolList, UnregisteredToolList, paths,
};
use maud::html;

use crate::command_line::CommandLine;
use crate::form::FormFields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

pub(crate) use self::tokens::create as create_token;

/// Items of each list on the page.
const LISTED: &str = "?limit=100";

/// Makes the page.
pub(crate) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after"]);
    let (principals, ledger, keys, mode, rates, seen, registered) = tokio::try_join!(
        visit.get::<PrincipalList>(paths::PRINCIPALS, &[], &query),
        visit.get::<LedgerAnswer>(paths::LEDGER, &[], ""),
        visit.get::<KeysAnswer>(paths::KEYS, &[], ""),
        visit.get::<ModeAnswer>(paths::MODE, &[], LISTED),
        visit.get::<RateList>(paths::RATES, &[], LISTED),
        visit.get::<UnregisteredToolList>(paths::UNREGISTERED_TOOLS, &[], LISTED),
        visit.get::<ToolList>(paths::TOOLS, &[], LISTED),
    )?;
    let (ledger, keys, mode) = (ledger.value, keys.value, mode.value);
    let (rates, seen, registered) = (rates.value, seen.value, registered.value);
    let content = html! {
        nav.within aria-label="On this page" {
            a href="#tokens" { "Tokens" } a href="#roles" { "Roles" } a href="#mode" { "Mode" } a href="#tools" { "Tools" }
            a href="#rates" { "Rates" } a href="#service" { "Service" }
        }
        (tokens::section(visit, &principals.value)?)
        (roles::section())
        (modes::section(visit, &mode)?)
        (tools::section(visit, &registered, &seen)?)
        (modes::rates(visit, &rates))
        (service::section(visit, &ledger, &keys)?)
    };
    let mut page = Page::new(Section::Admin, "Admin", content);
    page.position = principals.position;
    page.json = Some(visit.api(paths::PRINCIPALS, &[], &query));
    page.command = Some(CommandLine::new(visit, "token list").line());
    page.is_cut = principals.value.next.is_some();
    page.table = Some(tokens::table(visit, &principals.value)?);
    Ok(page)
}

/// Does an act of this page.
pub(crate) async fn act(visit: &Visit, rest: &[&str], form: &FormFields) -> Result<Done, PageError> {
    match rest {
        ["tokens", principal, "revoke"] => tokens::revoke(visit, principal, form).await,
        ["mode"] => modes::set(visit, form).await,
        ["tools"] => tools::register(visit, form).await,
        ["read-only"] => service::read_only(visit, form).await,
        ["seal"] => service::seal(visit).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// Returns the address of the page, at a section.
fn at(visit: &Visit, section: &str) -> String {
    format!("{}#{section}", visit.page(&["admin"]))
}

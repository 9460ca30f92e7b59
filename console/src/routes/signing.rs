//! Signing in and out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use bitacora_api::{CallerAnswer, LedgerList, paths};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use maud::{Markup, html};

use super::{client, url_of};
use crate::command_line::command_at;
use crate::components::{KEY_FIELD, SECRET_FIELD, name, sentence, text};
use crate::console::Console;
use crate::form::{FormFields, query};
use crate::interface::InterfaceClient;
use crate::layout::bare_page;
use crate::page_error::PageError;
use crate::response::{ConsoleBody, html_response, redirect};
use crate::sign_in::{Session, cookies_of, ended_below, ended_cookie, session_cookie};

/// The page that a viewer comes to without a better one.
const HOME: &str = "/console";
/// The fewest slashes of a page's address: `/console/main/now`.
const SLASHES_OF_A_PAGE: usize = 3;
/// The most ledgers below which cookies of other pages are removed at once.
const CLEARED_LEDGERS: usize = 16;

/// Returns the session that the request's cookies name; an error where they name two that live.
pub(super) fn session_of(console: &Console, parts: &Parts) -> Result<Option<Arc<Session>>, PageError> {
    let mut living = console.sessions.living(&cookies_of(&parts.headers), Instant::now());
    if living.len() > 1 {
        return Err(PageError::TwoSessions);
    }
    Ok(living.pop())
}

/// Returns the page for a browser that sent two sessions: a page at another port may have set one of the cookies. Those of other paths
/// than the console's own are removed.
pub(super) fn two_sessions(parts: &Parts) -> Response<ConsoleBody> {
    let host = url_of(parts);
    let content = html! {
        p.notice.refusal role="alert" { (PageError::TwoSessions.to_string()) ". Nothing was done." }
        p { "Another program on this machine may have set one of its cookies. Those that it set for single pages were removed now: open the page again." }
        p { "If this comes again, remove the cookies of " code { (text(host)) } " in the settings of your browser, and "
            a href="/console/sign-in" { "sign in" } "." }
    };
    let mut response = html_response(PageError::TwoSessions.status(), bare_page("Two sessions", &content));
    for cookie in ended_below(&parts.headers, parts.uri.path()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Returns an address of the console; the first page in the place of any other.
pub(super) fn own_address(asked: Option<&str>) -> &str {
    let is_own = |address: &&str| {
        let rest = address.strip_prefix(HOME);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
            && !["//", "/."].iter().any(|step| address.split('?').next().unwrap_or_default().contains(step))
    };
    asked.filter(is_own).unwrap_or(HOME)
}

/// Returns `true` for what a page of another origin asks for. From another site browsers send no cookie along with it; from another port
/// of the same host they do.
pub(super) fn is_from_elsewhere(parts: &Parts) -> bool {
    parts.headers.get_all("sec-fetch-site").iter().any(|site| site != "same-origin" && site != "none")
}

/// Returns a page that opens the same address again, this time from here and with the cookie.
pub(super) fn come_again(parts: &Parts) -> Response<ConsoleBody> {
    let address = parts.uri.path_and_query().map_or(HOME, |address| address.as_str());
    let content = html! { p { a href=(address) { "Go on" } } };
    let mut response = html_response(StatusCode::OK, bare_page("Opening", &content));
    if let Ok(refresh) = HeaderValue::try_from(format!("0; url={address}")) {
        response.headers_mut().insert("refresh", refresh);
    }
    response
}

/// The words for a form of somebody who is not signed in.
pub(super) const NOT_SIGNED_IN: &str =
    "Nothing was done: your session has ended, or your token was revoked or has expired. Sign in.";

/// Returns the page that asks who is there, with a word about what came before.
pub(super) fn ask(parts: &Parts, words: Option<&str>) -> Response<ConsoleBody> {
    form_page(parts, StatusCode::UNAUTHORIZED, address_of(parts), words)
}

/// Returns the same page. A session whose token is not taken any more ends, and is told so.
pub(super) fn ask_again(console: &Console, parts: &Parts, had_session: bool) -> Response<ConsoleBody> {
    if !had_session {
        return ask(parts, None);
    }
    let words = "Your token is not valid any more: it was revoked, or it has expired. Nothing was done. Sign in with another one.";
    let mut response = ask(parts, Some(words));
    end_session(console, parts, &mut response);
    response
}

/// Returns the address of the page that asks who is there, and leads back here.
pub(super) fn sign_in_address(parts: &Parts) -> String {
    format!("/console/sign-in{}", query([("next", address_of(parts))].into_iter()))
}

/// Returns the address that the viewer asked for, or that its form was on.
fn address_of(parts: &Parts) -> &str {
    let address = parts.uri.path_and_query().map_or(HOME, |address| address.as_str());
    own_address(Some(if parts.method == http::Method::POST {
        page_of_act(parts.uri.path())
    } else {
        address
    }))
}

/// Returns the page that an act is on: it stands below it. What stands right below a ledger is a page itself.
fn page_of_act(path: &str) -> &str {
    let (page, _) = path.rsplit_once('/').unwrap_or((path, ""));
    if page.matches('/').count() >= SLASHES_OF_A_PAGE { page } else { path }
}

/// Ends what the request's cookies name.
fn end_sessions(console: &Console, parts: &Parts) {
    for id in cookies_of(&parts.headers) {
        console.sessions.end(id);
    }
}

/// Ends it, and removes the cookie.
fn end_session(console: &Console, parts: &Parts, response: &mut Response<ConsoleBody>) {
    end_sessions(console, parts);
    if let Some(cookie) = ended_cookie(&parts.headers) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn form_page(parts: &Parts, status: StatusCode, next: &str, refusal: Option<&str>) -> Response<ConsoleBody> {
    let content = html! {
        @if let Some(refusal) = refusal { p.notice.refusal role="alert" { (sentence(refusal)) } }
        form.sign-in method="post" action="/console/sign-in" {
            input type="hidden" name="next" value=(next);
            label for="token" { "Token" }
            input type="text" name="username" autocomplete="username" value="bitacora" hidden;
            input #token name="token" type="password" autocomplete="current-password" required placeholder="bt_…" autofocus;
            button { "Sign in" }
        }
        p.note { "The token stays in the service; this browser gets a session of 12 hours. "
            code { (command_at(url_of(parts), "console")) } " opens this page signed in, and " code { (command_at(url_of(parts), "token create")) } " makes a token." }
    };
    html_response(status, bare_page("Sign in", &content))
}

/// Shows the form, or for a link whom it signs in.
pub(super) async fn show(console: &Console, parts: &Parts) -> Result<Response<ConsoleBody>, PageError> {
    let asked = FormFields::read(parts.uri.query().unwrap_or_default().as_bytes())?;
    let next = own_address(asked.get("next"));
    let Some(code) = asked.get("code") else { return Ok(form_page(parts, StatusCode::OK, next, None)) };
    let Some(token) = console.links.look(code, Instant::now()) else {
        return Ok(form_page(parts, StatusCode::OK, next, Some(USED_LINK)));
    };
    let identity = identity(&client(console, parts, Some(&token))).await?;
    let present = session_of(console, parts).ok().flatten().and_then(|session| session.viewer.clone());
    let content = html! {
        form.sign-in method="post" action="/console/sign-in" {
            input type="hidden" name="next" value=(next);
            input type="hidden" name="code" value=(code);
            p { "This link signs you in as " strong { (name(&identity.actor)) } ", " (identity.role) ", once. What you do is recorded under that name." }
            @if let Some(present) = present {
                p.notice { "You are signed in as " strong { (name(&present.actor)) } ", " (present.role)
                    ". Signing in ends that session" (name_from_then_on(&present.actor, &identity.actor)) "." }
            }
            button { "Sign in" }
        }
    };
    Ok(html_response(StatusCode::OK, bare_page("Sign in", &content)))
}

/// The value by which the script of a form asks for the key of the session.
const WANTED_KEY: &str = "wanted";

/// Returns the end of a sentence: the name that acts are recorded under, where it changes.
fn name_from_then_on(present: &str, next: &str) -> &'static str {
    if present == next {
        " and begins another one under the same name"
    } else {
        ": what you do from then on is recorded under the other name"
    }
}

/// The words for a link that signs nobody in.
const USED_LINK: &str = "This link was used already, or has expired. `bitacora console` opens another one.";

/// The words for a text that cannot be a token.
const NO_TOKEN: &str =
    "This is not a whole token. A token is `bt_` and 43 letters, digits, `-` or `_`: copy all of it.";
/// The beginning of every token.
const TOKEN_PREFIX: &str = "bt_";
/// The length of the rest.
const TOKEN_CHARACTERS: usize = 43;

/// Returns `true` for a text that may be a token: another one is not asked about.
fn is_token(text: &str) -> bool {
    let rest = text.strip_prefix(TOKEN_PREFIX).unwrap_or_default();
    rest.len() == TOKEN_CHARACTERS
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Begins a session with a token or a link.
pub(super) async fn sign_in(
    console: &Console,
    parts: &Parts,
    form: &Bytes,
) -> Result<Response<ConsoleBody>, PageError> {
    let form = FormFields::read(form)?;
    let next = own_address(form.get("next"));
    let token = match (form.get("code"), form.get("token")) {
        (Some(code), _) => console.links.take(code, Instant::now()),
        (None, token) => token.map(|token| token.to_owned().into()),
    };
    let Some(token) = token else {
        let words = if form.get("code").is_some() { USED_LINK } else { NO_TOKEN };
        return Ok(form_page(parts, StatusCode::UNAUTHORIZED, next, Some(words)));
    };
    if !is_token(&token) {
        return Ok(form_page(parts, StatusCode::UNAUTHORIZED, next, Some(NO_TOKEN)));
    }
    let viewer = match identity_for(console, parts, &token, next).await {
        Ok(viewer) => viewer,
        Err(error) => return Ok(form_page(parts, error.status(), next, Some(&error.to_string()))),
    };
    let ledgers = client(console, parts, Some(&token)).get::<LedgerList>(paths::LEDGERS).await;
    // A session of before ends, so that nobody goes on in it.
    end_sessions(console, parts);
    let is_keyed = form.get(KEY_FIELD) == Some(WANTED_KEY);
    let (id, session) = console.sessions.begin(token, viewer, is_keyed, Instant::now())?;
    let mut response = match session.handed_over() {
        Some(key) => html_response(StatusCode::OK, handing_over(next, &key)),
        None => redirect(next),
    };
    let addresses = cookie_addresses(ledgers.ok().map(|ledgers| ledgers.value), next);
    let ended: BTreeSet<_> =
        addresses.iter().flat_map(|address| ended_below(&parts.headers, address)).collect();
    for cookie in session_cookie(&parts.headers, &id).into_iter().chain(ended) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the page that hands its script the mark and the key of the session, and leads on. No address has them, so that no history keeps
/// them.
fn handing_over(next: &str, key: &str) -> Markup {
    bare_page("Signed in", &html! { p { a #signed-in href=(next) data-key=(key) { "Go on" } } })
}

/// Returns addresses on whose way a page at another port may have set cookies: the pages of ledgers, and the one that comes next.
fn cookie_addresses(ledgers: Option<LedgerList>, next: &str) -> Vec<String> {
    let ledgers = ledgers.map(|list| list.ledgers).unwrap_or_default().into_iter();
    let of_ledgers = ledgers
        .map(|ledger| format!("{HOME}/{}", paths::percent_encoded(&ledger.name)))
        .take(CLEARED_LEDGERS);
    of_ledgers.chain(["/console/sign-in".to_owned(), next.to_owned()]).collect()
}

/// Asks who holds a token: in the ledger that the next page is of, else in any.
async fn identity_for(
    console: &Console,
    parts: &Parts,
    token: &str,
    next: &str,
) -> Result<CallerAnswer, PageError> {
    let interface = client(console, parts, Some(token));
    let ledger = super::segments(next.split('?').next().unwrap_or_default());
    let Some([ledger, ..]) = ledger.as_deref() else { return identity(&interface).await };
    match interface.get(&paths::path(paths::CALLER, &[ledger])).await {
        Ok(answered) => Ok(answered.value),
        // The address is of no ledger that is there; its page will say so.
        Err(error) if [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND].contains(&error.status()) => {
            identity(&interface).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Asks who holds the token of this client, in the first ledger that is there for it.
pub(super) async fn identity(interface: &InterfaceClient) -> Result<CallerAnswer, PageError> {
    let list: LedgerList = interface.get(paths::LEDGERS).await?.value;
    let main = list.ledgers.iter().find(|ledger| ledger.name == "main");
    let ledger = main.or(list.ledgers.first()).ok_or(PageError::NoSuchPage)?;
    Ok(interface.get(&paths::path(paths::CALLER, &[&ledger.name])).await?.value)
}

/// Returns the session of those who come from an address without a token: the service let them in.
pub(super) fn begin_open(
    console: &Console,
    parts: &Parts,
    address: &Arc<str>,
) -> Result<(Arc<Session>, Option<HeaderValue>), PageError> {
    let (id, session) = console.sessions.of_address(address, Instant::now())?;
    Ok((session, session_cookie(&parts.headers, &id)))
}

/// Ends a session.
pub(super) fn sign_out(
    console: &Console,
    parts: &Parts,
    form: &Bytes,
) -> Result<Response<ConsoleBody>, PageError> {
    let form = FormFields::read(form)?;
    let living = console.sessions.living(&cookies_of(&parts.headers), Instant::now());
    let is_own = form.raw(SECRET_FIELD).is_some_and(|sent| living.iter().any(|session| session.made(sent)));
    if !is_own {
        return Err(PageError::OtherSession);
    }
    let mut response = redirect("/console/sign-in");
    end_session(console, parts, &mut response);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_signs_in_for_an_act_comes_back_to_its_page() {
        for (act, page) in [
            ("/console/main/approvals/7/reject", "/console/main/approvals/7"),
            ("/console/main/now/stop", "/console/main/now"),
            ("/console/main/policy", "/console/main/policy"),
            ("/console/zone", "/console/zone"),
        ] {
            assert_eq!(page_of_act(act), page);
        }
    }

    #[test]
    fn the_key_is_in_the_page_that_answers_and_in_no_address() {
        let page = handing_over("/console/main/calls?tool=a&x=\"", "mark.key").into_string();
        assert!(
            page.contains(r#"href="/console/main/calls?tool=a&amp;x=&quot;" data-key="mark.key""#),
            "{page}"
        );
        assert_eq!(page.matches("mark.key").count(), 1);
    }

    #[test]
    fn a_link_for_the_same_person_speaks_of_no_other_name() {
        assert!(!name_from_then_on("operator:1", "operator:1").contains("other name"));
        assert!(name_from_then_on("operator:1", "operator:2").contains("the other name"));
    }

    #[test]
    fn nobody_is_led_to_another_site() {
        for own in ["/console", "/console/main/now", "/console/main/calls?tool=a%20b", "/console?x"] {
            assert_eq!(own_address(Some(own)), own);
        }
        for other in [
            "https://evil.example/console",
            "//evil.example/console",
            "/\\evil.example",
            "/consoles",
            "/console@evil.example",
            "/console/\\evil",
            "/console/\r\nx",
            "/console/..//evil.example",
            "/console//evil.example",
            "",
        ] {
            assert_eq!(own_address(Some(other)), HOME, "{other:?}");
        }
    }
}

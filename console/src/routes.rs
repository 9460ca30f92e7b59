//! The addresses of the console, and what answers at each.

mod acting;
mod ledgers;
mod linking;
mod serving;
mod signing;

use std::sync::Arc;

use bitacora_api::{AskedUrl, CallerAnswer, LedgerAnswer, StopsAnswer, paths};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use maud::{Markup, html};
use tokio::time::timeout;

use crate::assets::{ASSETS, Asset};
use crate::components::{SECRET_FIELD, clipped_name, name, not_told, quoted, sentence, text};
use crate::console::{Console, FormSender};
use crate::csv_file::PAGE_ALONE;
use crate::form::FormFields;
use crate::interface::{InterfaceClient, InterfaceError};
use crate::layout::{bare_page, ledger_page};
use crate::limits::{MAX_FORM_BYTES, MAX_UNKNOWN_FORM_BYTES, REFRESH_WAIT};
use crate::live;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::pages::{self, Misspelt};
use crate::response::{ConsoleBody, body, html_response, redirect, text_response, unknown_body};
use crate::visit::{EverythingStopped, GOVERNORS, NoEvents, Visit, name_of_segment};
use crate::zone::{ZONE_COOKIE, Zone};

/// The caching of files whose address changes with their contents.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Tells who sends a form: the session that its cookie names, if it is one alone.
fn form_sender(console: &Console, head: &Parts) -> FormSender {
    let session = signing::session_of(console, head).ok().flatten();
    let viewer = session.as_ref().and_then(|session| session.viewer.as_ref());
    let max_form_bytes = match (&head.method, &session) {
        (&Method::POST, Some(_)) => MAX_FORM_BYTES,
        _ => MAX_UNKNOWN_FORM_BYTES,
    };
    FormSender {
        max_form_bytes,
        viewer: viewer.map(|viewer| viewer.actor.clone()),
        may_govern: viewer.is_some_and(|viewer| GOVERNORS.contains(&viewer.role.as_str())),
    }
}

/// Answers a request from this address.
async fn answer(console: &Console, request: Request<Bytes>, address: &Arc<str>) -> Response<ConsoleBody> {
    let (parts, form) = request.into_parts();
    let path = parts.uri.path();
    if let Some(asset) = Asset::at(path) {
        return asset_response(asset);
    }
    if path.starts_with(ASSETS) {
        return refused(&PageError::NoSuchPage);
    }
    if matches!(parts.method, Method::GET | Method::HEAD) && signing::is_from_elsewhere(&parts) {
        if is_stream(&parts) {
            return refused(&PageError::FromElsewhere);
        }
        return signing::come_again(&parts);
    }
    let answered = match (&parts.method, path.trim_end_matches('/')) {
        (&Method::GET | &Method::HEAD, "/console/sign-in") => signing::show(console, &parts).await,
        (&Method::POST, "/console/sign-in") => signing::sign_in(console, &parts, &form).await,
        (&Method::POST, "/console/sign-out") => signing::sign_out(console, &parts, &form),
        (&Method::POST, "/console/links") => Ok(linking::make(console, &parts).await),
        (&Method::POST, "/console/zone") => set_zone(console, &parts, &form),
        (&Method::GET | &Method::HEAD, "/console") => ledgers::show(console, &parts).await,
        _ => of_ledger(console, &parts, &form, address).await,
    };
    answered.unwrap_or_else(|error| match error {
        PageError::TwoSessions => signing::two_sessions(&parts),
        error => refused(&error),
    })
}

/// Returns `true` for what the script of an open page asks for, rather than a viewer.
fn is_refresh(parts: &Parts) -> bool {
    parts.headers.get("sec-fetch-dest").is_some_and(|destination| destination == "empty")
}

/// Returns `true` for the stream of what changes.
fn is_stream(parts: &Parts) -> bool {
    let segments = segments(parts.uri.path()).unwrap_or_default();
    matches!(&segments[..], [_, last] if last == "live")
}

fn asset_response(asset: &'static Asset) -> Response<ConsoleBody> {
    let mut response = Response::new(body(asset.text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(header::CACHE_CONTROL, FOR_EVER);
    response
}

/// Returns the page of a refusal to somebody of whom nothing is known.
fn refused(error: &PageError) -> Response<ConsoleBody> {
    html_response(error.status(), bare_page("Not shown", &html! { p { (sentence(&error.to_string())) } }))
}

fn client(console: &Console, parts: &Parts, token: Option<&str>) -> InterfaceClient {
    InterfaceClient::new(console.interface.clone(), token, parts.extensions.clone())
}

/// Answers with a page of one ledger, or does an act on it.
async fn of_ledger(
    console: &Console,
    parts: &Parts,
    form: &Bytes,
    address: &Arc<str>,
) -> Result<Response<ConsoleBody>, PageError> {
    let segments = segments(parts.uri.path()).ok_or(PageError::NoSuchPage)?;
    let names: Vec<&str> = segments.iter().map(String::as_str).collect();
    let Some((ledger, rest)) = names.split_first() else { return Err(PageError::NoSuchPage) };
    let (visit, cookie) = match visit(console, parts, ledger, address).await? {
        Visited::Known(visit, cookie) => (visit, cookie),
        Visited::Unknown(response) => return Ok(response),
    };
    let mut response = match parts.method {
        Method::GET | Method::HEAD if rest == ["live"] => live::changes(&console.changes, &visit)?,
        Method::GET | Method::HEAD => {
            let _turn = match is_refresh(parts) {
                true => timeout(REFRESH_WAIT, console.refreshes.acquire()).await.ok(),
                false => None,
            };
            page(&visit, rest).await
        }
        Method::POST => acting::act(&visit, rest, FormFields::read(form)?).await,
        _ => return Err(PageError::Method(parts.method.clone())),
    };
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the host that a request names, with its port.
fn url_of(parts: &Parts) -> &str {
    parts.extensions.get::<AskedUrl>().map(|asked| asked.0.as_str()).unwrap_or_default()
}

/// Returns the parts of a path behind `/console`, each decoded once.
fn segments(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix("/console/")?;
    let decode = |part: &str| {
        let field = format!("p={}", part.replace('+', "%2B").replace('&', "%26"));
        form_urlencoded::parse(field.as_bytes()).next().map(|(_, name)| name_of_segment(name.into_owned()))
    };
    rest.trim_end_matches('/').split('/').map(decode).collect()
}

/// The statuses of the interface for the name of a ledger that is not there.
const NO_LEDGER: [StatusCode; 2] = [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST];

/// The viewer of a ledger.
enum Visited {
    Known(Box<Visit>, Option<HeaderValue>),
    /// Nobody that the ledger knows; the page that asks them to sign in.
    Unknown(Response<ConsoleBody>),
}

async fn visit(
    console: &Console,
    parts: &Parts,
    ledger: &str,
    address: &Arc<str>,
) -> Result<Visited, PageError> {
    let query = FormFields::read(parts.uri.query().unwrap_or_default().as_bytes())?;
    let found = signing::session_of(console, parts)?;
    let interface = client(console, parts, found.as_ref().and_then(|session| session.token()));
    let [caller, state, stops] =
        [paths::CALLER, paths::LEDGER, paths::PANIC].map(|template| paths::path(template, &[ledger]));
    let stops = format!("{stops}?limit=1");
    let (caller, state, stops) = tokio::join!(
        interface.get::<CallerAnswer>(&caller),
        interface.get::<LedgerAnswer>(&state),
        interface.get::<StopsAnswer>(&stops),
    );
    let caller = match caller {
        Ok(answered) => answered.value,
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => {
            let page = match found {
                // What an open page follows by itself ends nothing: the viewer is told at the next page, or the next act.
                Some(_) if !is_stream(parts) => {
                    ledgers::not_taken(console, parts, ledger, &interface).await?
                }
                _ if parts.method == Method::POST => signing::ask(parts, Some(signing::NOT_SIGNED_IN)),
                _ => signing::ask(parts, None),
            };
            return Ok(Visited::Unknown(page));
        }
        Err(error) if NO_LEDGER.contains(&error.status()) => {
            return Ok(Visited::Unknown(ledgers::no_ledger(console, parts, ledger, &interface).await?));
        }
        Err(error) => return Err(error.into()),
    };
    let (session, cookie) = match found {
        Some(session) => (session, None),
        None => signing::begin_open(console, parts, address)?,
    };
    let visit = Visit {
        form_secret: session.form_secret()?,
        session,
        ledger: ledger.to_owned(),
        caller,
        // Where even these are not told, the parts of the page say so.
        no_events: state.ok().and_then(|answered| NoEvents::of(answered.value)),
        stopped: stops.ok().and_then(|answered| EverythingStopped::of(answered.value)),
        interface,
        url: url_of(parts).to_owned(),
        path: parts.uri.path().to_owned(),
        query,
        is_head: parts.method == Method::HEAD,
        zone: Zone::of(&parts.headers),
    };
    Ok(Visited::Known(Box::new(visit), cookie))
}

async fn page(visit: &Visit, rest: &[&str]) -> Response<ConsoleBody> {
    if let Some(file) = pages::file(visit, rest).await {
        return file.unwrap_or_else(|error| not_shown(visit, &error));
    }
    if let Some(misspelt) = Misspelt::of(&visit.query, rest) {
        let section = pages::section_of(&visit.path);
        let page = Page::new(
            section,
            section.names().1,
            html! { (stop_told(visit, section)) (misspelt.notice(visit)) },
        );
        return html_response(StatusCode::BAD_REQUEST, ledger_page(visit, &page, None));
    }
    match pages::show(visit, rest).await {
        Ok(page) => match visit.query.get("format") {
            Some("json") => as_json(visit, page.json_at(visit.query.get("part")))
                .await
                .unwrap_or_else(|error| not_shown(visit, &error)),
            Some("csv") => as_csv(visit, page),
            _ => {
                let notice = visit.query.get("done").and_then(|act| visit.session.take_notice(act));
                html_response(StatusCode::OK, ledger_page(visit, &page, notice.as_ref()))
            }
        },
        Err(error) if error.is_told_on(visit) => html_response(StatusCode::OK, not_known(visit, &error)),
        Err(error) => not_shown(visit, &error),
    }
}

/// Returns the page of what cannot be told now. It is a page as any other: it is asked for again while it stands open.
fn not_known(visit: &Visit, error: &PageError) -> Markup {
    let section = pages::section_of(&visit.path);
    let address = format!("{}{}", visit.path, visit.query.with("done", None));
    let content = html! {
        (stop_told(visit, section))
        section #not-known data-fresh data-poll aria-label="What is not known" {
            (not_told(error))
            p { a href=(address) { "Try again" } }
        }
    };
    ledger_page(visit, &Page::new(section, section.names().1, content), None)
}

/// Returns the interface's own answer.
async fn as_json(visit: &Visit, path: Option<&str>) -> Result<Response<ConsoleBody>, PageError> {
    let path = path.ok_or(PageError::NoSuchPage)?;
    let answer = visit.interface.get_text(path).await?;
    Ok(text_response(StatusCode::OK, "application/json", answer.value))
}

/// Returns the rows of a page as a file. Its length is known only once it is made, which no question for its head is worth.
fn as_csv(visit: &Visit, page: Page) -> Response<ConsoleBody> {
    let media_type = "text/csv; charset=utf-8; header=present";
    let mut response = match (page.file, &page.table) {
        (_, Some(_)) if visit.is_head => Response::new(unknown_body()),
        (Some(file), _) => Response::new(file),
        (None, Some(table)) => Response::new(body(table.csv() + if page.is_cut { PAGE_ALONE } else { "" })),
        (None, None) => return not_shown(visit, &PageError::NoSuchPage),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    let name = format!("attachment; filename=\"{}.csv\"", page.section.names().0);
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// Returns the page of a refusal to a viewer of the ledger.
fn not_shown(visit: &Visit, error: &PageError) -> Response<ConsoleBody> {
    let (status, page) = refusal(visit, error);
    html_response(status, page)
}

fn refusal(visit: &Visit, error: &PageError) -> (StatusCode, Markup) {
    if let PageError::Shown(shown) = error {
        return (shown.0, ledger_page(visit, &shown.1, None));
    }
    let section = pages::section_of(&visit.path);
    let title = if error.status() == StatusCode::NOT_FOUND { "Not found" } else { "Not done" };
    let content = html! {
        (stop_told(visit, section))
        p.notice.refusal role="alert" { (sentence(&error.to_string())) }
        @if let PageError::Interface(InterfaceError::Refused(problem)) = error {
            p { "Code: " code { (text(&problem.code)) }
                @if problem.retryable { ". The same request may succeed later." } }
        }
        @if let PageError::NotSignedInHere = error {
            p { "The session is that of " (name(&visit.caller.actor)) ". " a href="/console/sign-in" { "Sign in again" } "." }
        }
        p { a href=(visit.page(&[section.names().0])) { "Back to " (section.names().1) } }
    };
    (error.status(), ledger_page(visit, &Page::new(section, title, content), None))
}

/// Says on a page in the place of Now that everything is stopped. Now tells it in its own content, and the frame of other pages does.
fn stop_told(visit: &Visit, section: Section) -> Markup {
    html! { @if section == Section::Now { @if let Some(stopped) = &visit.stopped {
        p.notice.refusal {
            strong { "Everything is stopped." } " Every call is denied"
            @if let Some(reason) = &stopped.reason { " (" (clipped_name(reason)) ")" }
            ". " a href=(visit.page(&["now"])) { "See Now" }
        }
    } } }
}

/// Sets the viewer's time zone.
fn set_zone(console: &Console, parts: &Parts, form: &Bytes) -> Result<Response<ConsoleBody>, PageError> {
    let form = FormFields::read(form)?;
    let session = signing::session_of(console, parts)?.ok_or(PageError::OtherSession)?;
    if !form.raw(SECRET_FIELD).is_some_and(|sent| session.made(sent)) {
        return Err(PageError::OtherSession);
    }
    let name = form.get("zone").unwrap_or("UTC");
    let zone = Zone::named(name).ok_or_else(|| {
        PageError::Field(format!("{} is no time zone; write one as Europe/Berlin, or UTC", quoted(name)))
    })?;
    let mut response = redirect(signing::own_address(form.get("next")));
    let cookie =
        format!("{ZONE_COOKIE}={}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=31536000", zone.name);
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_decoded_once() {
        let parts = |path| segments(path).unwrap();
        assert_eq!(parts("/console/main/sessions/a%2Fb%252F/"), ["main", "sessions", "a/b%2F"]);
        assert_eq!(parts("/console/main/a+b&c=d"), ["main", "a+b&c=d"]);
        assert_eq!(parts("/console/main/..%2f..%2fadmin"), ["main", "../../admin"]);
        assert_eq!(parts("/console/main/sessions/~../x"), ["main", "sessions", "..", "x"]);
        assert_eq!(segments("/consoles/main"), None);
    }
}

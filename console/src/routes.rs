//! The addresses of the console, and what answers at each.

mod linking;
mod signing;

use bitacora_api::{CallerAnswer, LedgerList, paths};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use maud::html;

use crate::assets::{ASSETS, Asset};
use crate::components::{ACT_FIELD, SECRET_FIELD, text};
use crate::console::{Console, ConsoleBody, body, html_response, redirect, text_response};
use crate::form::FormFields;
use crate::interface::{InterfaceClient, InterfaceError};
use crate::layout::{bare_page, ledger_page};
use crate::live;
use crate::page::{Done, Page};
use crate::page_error::PageError;
use crate::pages;
use crate::sign_in::Notice;
use crate::visit::Visit;
use crate::zone::{ZONE_COOKIE, Zone};

/// The caching of files whose address changes with their contents.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Answers a request.
pub(crate) async fn answer(console: &Console, request: Request<Bytes>) -> Response<ConsoleBody> {
    let (parts, form) = request.into_parts();
    let path = parts.uri.path();
    if let Some(asset) = Asset::at(path) {
        return asset_response(asset);
    }
    if path.starts_with(ASSETS) {
        return refused(&PageError::NoSuchPage);
    }
    let answered = match (&parts.method, path.trim_end_matches('/')) {
        (&Method::GET | &Method::HEAD, "/console/sign-in") => signing::show(console, &parts).await,
        (&Method::POST, "/console/sign-in") => signing::sign_in(console, &parts, &form).await,
        (&Method::POST, "/console/sign-out") => signing::sign_out(console, &parts, &form),
        (&Method::POST, "/console/links") => Ok(linking::make(console, &parts).await),
        (&Method::POST, "/console/zone") => set_zone(console, &parts, &form),
        (&Method::GET | &Method::HEAD, "/console") => ledgers(console, &parts).await,
        _ => of_ledger(console, &parts, &form).await,
    };
    answered.unwrap_or_else(|error| refused(&error))
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
    html_response(error.status(), bare_page("Not shown", &html! { p { (text(&error.to_string())) } }))
}

/// Shows the ledgers that the viewer may see; the only one at once.
async fn ledgers(console: &Console, parts: &Parts) -> Result<Response<ConsoleBody>, PageError> {
    let found = signing::session_of(console, parts);
    let token = found.as_ref().and_then(|session| session.token.as_deref());
    let interface = client(console, parts, token);
    let list = match interface.get::<LedgerList>(paths::LEDGERS).await {
        Ok(answered) => answered.value.ledgers,
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => return Ok(signing::ask(parts, None)),
        Err(error) => return Err(error.into()),
    };
    if let [only] = &list[..] {
        return Ok(redirect(&format!("/console/{}/now", paths::percent_encoded(&only.name))));
    }
    let content = html! {
        ul.ledgers { @for ledger in &list {
            li { a href=(format!("/console/{}/now", paths::percent_encoded(&ledger.name))) { (ledger.name) } " · " (ledger.state) }
        } }
    };
    Ok(html_response(StatusCode::OK, bare_page("Ledgers", &content)))
}

fn client(console: &Console, parts: &Parts, token: Option<&str>) -> InterfaceClient {
    InterfaceClient::new(console.interface.clone(), token, parts.extensions.clone())
}

/// Answers with a page of one ledger, or does an act on it.
async fn of_ledger(
    console: &Console,
    parts: &Parts,
    form: &Bytes,
) -> Result<Response<ConsoleBody>, PageError> {
    let segments = segments(parts.uri.path()).ok_or(PageError::NoSuchPage)?;
    let names: Vec<&str> = segments.iter().map(String::as_str).collect();
    let Some((ledger, rest)) = names.split_first() else { return Err(PageError::NoSuchPage) };
    let (visit, cookie) = match visit(console, parts, ledger).await? {
        Visited::Known(visit, cookie) => (visit, cookie),
        Visited::Unknown(response) => return Ok(response),
    };
    let mut response = match parts.method {
        Method::GET | Method::HEAD if rest == ["live"] => live::changes(&console.changes, &visit),
        Method::GET | Method::HEAD => page(&visit, rest).await,
        Method::POST => act(&visit, rest, &FormFields::parse(form)).await,
        _ => return Err(PageError::Method(parts.method.clone())),
    };
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the parts of a path behind `/console`, each decoded once.
fn segments(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix("/console/")?;
    let decode = |part: &str| {
        let field = format!("p={}", part.replace('+', "%2B").replace('&', "%26"));
        form_urlencoded::parse(field.as_bytes()).next().map(|(_, decoded)| decoded.into_owned())
    };
    rest.trim_end_matches('/').split('/').map(decode).collect()
}

/// The viewer of a ledger.
enum Visited {
    Known(Box<Visit>, Option<HeaderValue>),
    /// Nobody that the ledger knows; the page that asks them to sign in.
    Unknown(Response<ConsoleBody>),
}

async fn visit(console: &Console, parts: &Parts, ledger: &str) -> Result<Visited, PageError> {
    let found = signing::session_of(console, parts);
    if found.is_none() && signing::is_link_from_elsewhere(parts) {
        return Ok(Visited::Unknown(signing::come_again(parts)));
    }
    let token = found.as_ref().and_then(|session| session.token.clone());
    let interface = client(console, parts, token.as_deref());
    let path = paths::path(paths::CALLER, &[ledger]);
    let caller = match interface.get::<CallerAnswer>(&path).await {
        Ok(answered) => answered.value,
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => {
            return Ok(Visited::Unknown(signing::ask(parts, found.as_deref())));
        }
        Err(error) => return Err(error.into()),
    };
    let (session, cookie) = match found {
        Some(session) => (session, None),
        None => signing::begin_open(console, parts)?,
    };
    let visit = Visit {
        session,
        ledger: ledger.to_owned(),
        caller,
        interface,
        path: parts.uri.path().to_owned(),
        query: FormFields::parse(parts.uri.query().unwrap_or_default().as_bytes()),
        zone: Zone::of(&parts.headers),
    };
    Ok(Visited::Known(Box::new(visit), cookie))
}

async fn page(visit: &Visit, rest: &[&str]) -> Response<ConsoleBody> {
    if let Some(file) = pages::file(visit, rest).await {
        return file.unwrap_or_else(|error| not_shown(visit, &error));
    }
    match pages::show(visit, rest).await {
        Ok(page) => match visit.query.get("format") {
            Some("json") => {
                as_json(visit, page.json.as_deref()).await.unwrap_or_else(|error| not_shown(visit, &error))
            }
            Some("csv") => as_csv(page),
            _ => {
                let notice = visit.query.get("done").and_then(|act| visit.session.take_notice(act));
                html_response(StatusCode::OK, ledger_page(visit, &page, notice.as_ref()))
            }
        },
        Err(error) => not_shown(visit, &error),
    }
}

/// Returns the interface's own answer.
async fn as_json(visit: &Visit, path: Option<&str>) -> Result<Response<ConsoleBody>, PageError> {
    let path = path.ok_or(PageError::NoSuchPage)?;
    let answer = visit.interface.get_text(path).await?;
    Ok(text_response(StatusCode::OK, "application/json", answer.value))
}

fn as_csv(page: Page) -> Response<ConsoleBody> {
    let media_type = "text/csv; charset=utf-8; header=present";
    let mut response = match (page.file, &page.table) {
        (Some(file), _) => Response::new(file),
        (None, Some(table)) => Response::new(body(table.csv())),
        (None, None) => return refused(&PageError::NoSuchPage),
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
    if let PageError::Shown(shown) = error {
        return html_response(shown.0, ledger_page(visit, &shown.1, None));
    }
    let section = pages::section_of(&visit.path);
    let title = if error.status() == StatusCode::NOT_FOUND { "Not found" } else { "Not done" };
    let content = html! {
        p.notice.refusal role="alert" { (text(&error.to_string())) }
        @if let PageError::Interface(InterfaceError::Refused(problem)) = error {
            p { "Code: " code { (text(&problem.code)) }
                @if problem.retryable { ". The same request may succeed later." } }
        }
        p { a href=(visit.page(&[section.names().0])) { "Back to " (section.names().1) } }
    };
    html_response(error.status(), ledger_page(visit, &Page::new(section, title, content), None))
}

/// Does what a form asks for, once, and leads to the page that shows it.
async fn act(visit: &Visit, rest: &[&str], form: &FormFields) -> Response<ConsoleBody> {
    if !form.raw(SECRET_FIELD).is_some_and(|sent| visit.session.made(sent)) {
        return not_shown(visit, &PageError::OtherSession);
    }
    let Some(act) = form.get(ACT_FIELD) else { return not_shown(visit, &PageError::OtherSession) };
    if !visit.session.is_first(act) {
        let text = "This form was sent before. Nothing was done again.".to_owned();
        visit.session.tell(act, Notice { text, is_refusal: true });
        let section = pages::section_of(&visit.path).names().0;
        return redirect(&with_notice(&visit.page(&[section]), act));
    }
    if let Some(shown) = pages::act_shown_once(visit, rest, form).await {
        return match shown {
            Ok(page) => html_response(StatusCode::OK, ledger_page(visit, &page, None)),
            Err(error) => {
                visit.session.forget(act);
                not_shown(visit, &error)
            }
        };
    }
    match pages::act(visit, rest, form).await {
        Ok(Done { to, notice }) => {
            visit.session.tell(act, Notice { text: notice, is_refusal: false });
            redirect(&with_notice(&to, act))
        }
        Err(error) => {
            visit.session.forget(act);
            not_shown(visit, &error)
        }
    }
}

fn with_notice(to: &str, act: &str) -> String {
    let (page, section) = to.split_once('#').map_or((to, None), |(page, section)| (page, Some(section)));
    let joint = if page.contains('?') { '&' } else { '?' };
    let section = section.map(|section| format!("#{section}")).unwrap_or_default();
    format!("{page}{joint}done={}{section}", paths::percent_encoded(act))
}

/// Sets the viewer's time zone.
fn set_zone(console: &Console, parts: &Parts, form: &Bytes) -> Result<Response<ConsoleBody>, PageError> {
    let form = FormFields::parse(form);
    let session = signing::session_of(console, parts).ok_or(PageError::OtherSession)?;
    if !form.raw(SECRET_FIELD).is_some_and(|sent| session.made(sent)) {
        return Err(PageError::OtherSession);
    }
    let name = form.get("zone").unwrap_or("UTC");
    let zone = Zone::named(name).ok_or_else(|| {
        PageError::Field(format!("`{name}` is no time zone; name one as Europe/Berlin, or UTC"))
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
        assert_eq!(segments("/consoles/main"), None);
    }
}

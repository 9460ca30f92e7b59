//! The check of the page that a request comes from, and of the host name that it was sent to.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bitacora_api::paths;

use crate::access::path_roles::is_open_path;
use crate::api::Api;
use crate::http::origin::{SourcePage, WebRules};
use crate::http::peer::Peer;
use crate::problem::{Code, Problem};

/// Methods that act on nothing.
const READING: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];
/// Headers of an answer that pages of an allowed origin may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "etag, ledger-id, ledger-position, ledger-doubt, bitacora-tiers, preference-applied, location, retry-after, content-digest, signature-input, signature",
);
/// Headers that pages of an allowed origin may send.
const TAKEN_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, if-match, if-none-match, bitacora-append-condition, ledger-min-position, last-event-id, prefer, content-digest",
);
/// Methods that pages of an allowed origin may use.
const TAKEN_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
/// Seconds for which a browser may remember an answer to its preflight request.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// Refuses what a page of another site asks for, and lets pages of allowed origins read their answers.
pub(crate) async fn guard(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    // No browser speaks over a Unix socket, or within a process. What the console asks for a browser has passed its own guard.
    if matches!(peer, Some(Peer::Unix | Peer::Owner | Peer::Console { .. })) {
        return next.run(request).await;
    }
    let page = api.web.page(request.headers());
    if let Some(problem) = refusal(&api.web, &page, peer, &request) {
        return shown_to(&page, problem.closing().into_response());
    }
    if let SourcePage::Allowed(origin) = &page
        && is_preflight(&request)
    {
        return preflight_answer(origin);
    }
    shown_to(&page, next.run(request).await)
}

/// Returns the reason for which a request is refused: the page that it comes from, or the name that it was sent to.
fn refusal(rules: &WebRules, page: &SourcePage, peer: Option<Peer>, request: &Request) -> Option<Problem> {
    let headers = request.headers();
    let has_token = headers.contains_key(header::AUTHORIZATION);
    let cross_site = |detail| Some(Problem::new(Code::CrossSite, detail));
    if !READING.contains(request.method()) {
        match page {
            SourcePage::Own => (),
            SourcePage::Allowed(_) if has_token => (),
            SourcePage::Allowed(_) => return cross_site("a page of another origin acts with a token alone"),
            SourcePage::Foreign => {
                return cross_site(
                    "this page may not act here; `serve --allow-origin` names pages that may, each with a token",
                );
            }
        }
    }
    let path = request.extensions().get::<MatchedPath>();
    let is_open = path.is_some_and(|path| is_open_path(request.method(), path.as_str()));
    let is_sign_in = path.is_some_and(|path| path.as_str() == paths::SIGN_IN);
    // A caller elsewhere is nobody without a token, so what it may read is the same whatever page sends it.
    if has_token || is_open && !is_sign_in || peer == Some(Peer::Remote) || is_preflight(request) {
        return None;
    }
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    // A person who types a token into the page has to be here: a foreign name would hand it to the owner of that name.
    let is_known = |host| rules.serves(host) || is_sign_in && rules.allows_host(host);
    if host.is_some_and(|host| !is_known(host)) {
        let detail = "without a token only the hosts localhost, 127.0.0.1, [::1] and the addresses that are listened on are served";
        return Some(Problem::new(Code::MisdirectedHost, detail));
    }
    // A link on any page may lead to the sign-in page; no page can frame or read it.
    if *page == SourcePage::Own || is_sign_in {
        None
    } else {
        cross_site("without a token only pages of this service may read it")
    }
}

/// Returns `true` if a browser asks whether a page may send a request.
fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight_answer(origin: &HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, TAKEN_METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, TAKEN_HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
    share_with(origin, headers);
    response
}

/// The answer, which pages of an allowed origin may read and no others.
fn shown_to(page: &SourcePage, mut response: Response) -> Response {
    if let SourcePage::Allowed(origin) = page {
        share_with(origin, response.headers_mut());
    }
    response
}

fn share_with(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests;

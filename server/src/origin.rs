//! Web pages: requests of another site's page, or under a foreign host name, are refused.
//!
//! A browser sends what any page asks it to. `Origin` and `Sec-Fetch-Site` tell which page that is, and a page cannot forge them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::is_open_path;
use crate::api::Api;
use crate::connection::Peer;
use crate::problem::{Code, Problem};
use crate::resources::sign_in;

/// Names of this machine that no name server can point elsewhere.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The header in which a browser says how the page relates to the service.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Methods that act on nothing.
const READING: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];
/// Headers of an answer that pages of an allowed origin may read.
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("etag, ledger-id, ledger-position, location, retry-after");
/// Headers that pages of an allowed origin may send.
const TAKEN_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, if-match, if-none-match, bitacora-append-condition, ledger-min-position, last-event-id",
);
/// Methods that pages of an allowed origin may use.
const TAKEN_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
/// Seconds for which a browser may remember an answer to its preflight request.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The origin of a web page, as browsers send it: `scheme://host`, and the port where it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// The text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an origin; name one exactly, as http://HOST:PORT or https://HOST:PORT, without a path")]
pub struct NotAnOrigin;

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let text = text.to_ascii_lowercase();
        let (scheme, authority) = text.split_once("://").ok_or(NotAnOrigin)?;
        let own_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(NotAnOrigin),
        };
        let (host, port) = host_and_port(authority).ok_or(NotAnOrigin)?;
        Ok(Self(match port {
            Some(port) if port != own_port => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        }))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Pages and host names that a service knows.
#[derive(Debug, Default)]
pub(crate) struct WebRules {
    /// Origins whose pages may act, with a token.
    allowed: Vec<Origin>,
    /// Addresses that the service listens on.
    addresses: Vec<IpAddr>,
}

/// The page that a request comes from.
#[derive(Debug, PartialEq, Eq)]
enum Page {
    /// No page at all, or one of this service.
    Own,
    /// A page of an origin that the service was told of, as the header names it.
    Allowed(HeaderValue),
    Foreign,
}

impl WebRules {
    pub(crate) fn new(allowed: Vec<Origin>, addresses: &[SocketAddr]) -> Self {
        Self { allowed, addresses: addresses.iter().map(SocketAddr::ip).collect() }
    }

    /// The page that these headers tell of. A page that is not known to be the service's own, or allowed, is foreign.
    fn page(&self, headers: &HeaderMap) -> Page {
        let sites = headers.get_all(SEC_FETCH_SITE);
        let is_from_here =
            sites.iter().all(|site| [b"same-origin".as_slice(), b"none"].contains(&site.as_bytes()));
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) if is_from_here => Page::Own,
            (Some(origin), None) if is_from_here && self.is_own(origin, headers) => Page::Own,
            (Some(origin), None) if self.allows(origin) => Page::Allowed(origin.clone()),
            _ => Page::Foreign,
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.allowed.iter().any(|allowed| allowed.0.as_bytes() == origin.as_bytes())
    }

    /// Returns `true` for the host of an allowed origin: a proxy passes on the name that it is reached under.
    fn allows_host(&self, host: &[u8]) -> bool {
        let hosts = self.allowed.iter().filter_map(|origin| origin.0.split_once("://"));
        hosts.into_iter().any(|(_, allowed)| allowed.as_bytes().eq_ignore_ascii_case(host))
    }

    /// Returns `true` if an origin is the very address that the request was sent to. The service speaks no TLS, so its own scheme is
    /// `http`.
    fn is_own(&self, origin: &HeaderValue, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
        let authority = origin.as_bytes().strip_prefix(b"http://").unwrap_or_default();
        authority.eq_ignore_ascii_case(host) && self.serves(host)
    }

    /// Returns `true` if a host is one of this service: a name of this machine, or an address that it listens on. A name server can point
    /// any other name here.
    fn serves(&self, host: &[u8]) -> bool {
        let Some((host, _)) = str::from_utf8(host).ok().and_then(host_and_port) else { return false };
        if LOOPBACK_NAMES.iter().any(|name| host.eq_ignore_ascii_case(name)) {
            return true;
        }
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let listens = |own: &IpAddr| own.is_unspecified() || address == Some(*own);
        address.is_some() && self.addresses.iter().any(listens)
    }
}

/// Refuses what a page of another site asks for, and lets pages of allowed origins read their answers.
pub(crate) async fn guard(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    // No browser speaks over a Unix socket, or within a process.
    if matches!(peer, Some(Peer::Unix | Peer::Owner)) {
        return next.run(request).await;
    }
    let page = api.web.page(request.headers());
    if let Some(problem) = refusal(&api.web, &page, peer, &request) {
        return shown_to(&page, problem.closing().into_response());
    }
    if let Page::Allowed(origin) = &page
        && is_preflight(&request)
    {
        return preflight_answer(origin);
    }
    shown_to(&page, next.run(request).await)
}

/// Returns the reason for which a request is refused: the page that it comes from, or the name that it was sent to.
fn refusal(rules: &WebRules, page: &Page, peer: Option<Peer>, request: &Request) -> Option<Problem> {
    let headers = request.headers();
    let has_token = headers.contains_key(header::AUTHORIZATION);
    let cross_site = |detail| Some(Problem::new(Code::CrossSite, detail));
    if !READING.contains(request.method()) {
        match page {
            Page::Own => (),
            Page::Allowed(_) if has_token => (),
            Page::Allowed(_) => return cross_site("a page of another origin acts with a token alone"),
            Page::Foreign => {
                return cross_site(
                    "this page may not act here; `serve --allow-origin` names pages that may, each with a token",
                );
            }
        }
    }
    let path = request.extensions().get::<MatchedPath>();
    let is_open = path.is_some_and(|path| is_open_path(request.method(), path.as_str()));
    let is_sign_in = path.is_some_and(|path| path.as_str() == sign_in::PATH);
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
    if *page == Page::Own || is_sign_in {
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
fn shown_to(page: &Page, mut response: Response) -> Response {
    if let Page::Allowed(origin) = page {
        share_with(origin, response.headers_mut());
    }
    response
}

fn share_with(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// Host and port of an authority: `host`, `host:port`, `[::1]:port`.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.strip_prefix('[') {
        Some(_) => authority.find(']')? + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at_checked(end)?;
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        Some(_) => return None,
        None if port.is_empty() => None,
        None => return None,
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_address = inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    (is_address || is_name).then_some((host, port))
}

#[cfg(test)]
mod tests;

//! Pages for browsers beside the interface: what makes them, the guard before them, and the interface as they ask it.

mod sign_in_attempts;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::any;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;
use tokio::time::Instant;
use tower_service::Service as _;

use self::sign_in_attempts::SignInAttempts;
use bitacora_api::AskedUrl;

use crate::api::Api;
use crate::http::lanes::Lane;
use crate::http::origin::WebRules;
use crate::http::peer::{ConnectionSlot, Peer, PeerAddress};
use crate::http::pool::CallerKey;
use crate::problem::{Code, Problem};

/// The path that all pages lie below.
pub(crate) const PAGES: &str = "/console";
/// The path that a token or a link is sent to.
const SIGN_IN: &str = "/console/sign-in";
/// The same with any path behind it.
const PAGES_BELOW: &str = "/console/{*page}";

/// The body of a page, and of an answer of the interface to what makes it.
pub type PageBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;
/// An answer on its way.
pub type PageFuture<'a> = Pin<Box<dyn Future<Output = Response<PageBody>> + Send + 'a>>;

/// The sender of a form, as far as its head tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormSender {
    /// The most bytes of its form.
    pub max_form_bytes: usize,
    /// The name that a viewer's acts are recorded under; none for somebody who has not signed in.
    pub viewer: Option<String>,
    /// `true` if the viewer may govern agents: those forms wait for nobody else's.
    pub may_govern: bool,
}

/// The address that a browser's connection comes from, as far as sharing goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserAddress(pub Arc<str>);

/// Pages that are served to browsers below `/console`.
pub trait Pages: Send + Sync + 'static {
    /// Tells who sends a form, before any of it is read.
    fn form_sender(&self, head: &Parts) -> FormSender;

    /// Answers a browser. Its request came to a host of this service, and where it acts, from one of the service's own pages.
    fn answer(&self, request: axum::http::Request<Bytes>, from: BrowserAddress) -> PageFuture<'_>;
}

/// The public interface, asked in the same process on behalf of a browser.
#[derive(Clone)]
pub struct ServiceInterface(Router);

impl ServiceInterface {
    pub(crate) fn new(interface: Router) -> Self {
        Self(interface)
    }

    /// Asks. The request is authenticated by its headers alone, and has the extensions of the browser's.
    pub async fn ask(&self, mut request: axum::http::Request<Bytes>) -> Response<PageBody> {
        let peer = request.extensions().get::<Peer>().copied();
        let is_near = matches!(peer, Some(Peer::Tcp | Peer::Unix));
        request.extensions_mut().insert(Peer::Console { is_near });
        let answered = self.0.clone().call(request.map(Body::from)).await;
        let response = answered.unwrap_or_else(|never| match never {});
        response.map(|body| body.map_err(Into::into).boxed_unsync())
    }
}

/// The gate before the pages.
struct PagesGate {
    api: Arc<Api>,
    pages: Arc<dyn Pages>,
    attempts: SignInAttempts,
}

/// Adds pages to the interface.
pub(crate) fn with_pages(interface: Router, api: &Arc<Api>, pages: Arc<dyn Pages>) -> Router {
    api.serve_pages();
    let gate = PagesGate { api: Arc::clone(api), pages, attempts: SignInAttempts::default() };
    let routes = Router::new().route(PAGES, any(answer)).route(PAGES_BELOW, any(answer));
    interface.merge(routes.with_state(Arc::new(gate)))
}

async fn answer(State(gate): State<Arc<PagesGate>>, request: Request) -> Result<impl IntoResponse, Problem> {
    let rules = &gate.api.web;
    refuse_other_pages(rules, &request)?;
    let (mut parts, body) = request.into_parts();
    let host = parts.headers.get(header::HOST).cloned();
    let host = host.as_ref().map(HeaderValue::as_bytes).unwrap_or_default();
    let address =
        parts.extensions.get::<PeerAddress>().map_or(CallerKey::new(""), |address| address.0.clone());
    let is_attempt = parts.method == Method::POST && parts.uri.path() == SIGN_IN;
    if is_attempt {
        gate.attempts.admit(&address, Instant::now())?;
    }
    parts.extensions = of_connection(&parts.extensions, rules.serves(host));
    if let Some(url) = rules.url_of(host) {
        parts.extensions.insert(AskedUrl(url));
    }
    let FormSender { max_form_bytes, viewer, may_govern } = gate.pages.form_sender(&parts);
    // A viewer's share is the one that a program with the same token has.
    let key = viewer.map_or_else(|| address.clone(), |viewer| CallerKey::new(&format!("/{viewer}")));
    let lane = if may_govern { Lane::Acts } else { Lane::Others };
    let form = gate.api.bodies.read_form(lane, &key, &parts.headers, body, max_form_bytes).await?;
    let request = axum::http::Request::from_parts(parts, form.bytes());
    let response = gate.pages.answer(request, BrowserAddress(address.name())).await;
    if is_attempt && response.status() == StatusCode::UNAUTHORIZED {
        gate.attempts.failed(address, Instant::now());
    }
    Ok(response.map(Body::new))
}

/// Returns what is known of the browser's connection, without what the router noted of the page. A request to the name of a proxy is one
/// from elsewhere, though the proxy is on this machine.
fn of_connection(known: &Extensions, is_own_host: bool) -> Extensions {
    let mut kept = Extensions::new();
    if let Some(peer) = known.get::<Peer>() {
        kept.insert(if is_own_host { *peer } else { Peer::Remote });
    }
    if let Some(slot) = known.get::<ConnectionSlot>() {
        kept.insert(slot.clone());
    }
    kept
}

/// Refuses a host that is none of this service's, and an act of another page: a cookie comes along with whatever page sends it.
fn refuse_other_pages(rules: &WebRules, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_own = match (hosts.next(), hosts.next()) {
        (Some(host), None) => rules.serves(host.as_bytes()) || rules.allows_host(host.as_bytes()),
        _ => false,
    };
    if !is_own {
        let detail = "the console is served under localhost, 127.0.0.1, [::1], the addresses that are listened on, and hosts that \
                      `serve --allow-origin` names";
        return Err(Problem::new(Code::MisdirectedHost, detail));
    }
    if matches!(*request.method(), Method::GET | Method::HEAD) || rules.is_own_page(headers) {
        return Ok(());
    }
    Err(Problem::new(Code::CrossSite, "only the console's own pages act on it").closing())
}

//! The console as a whole: a request of a browser comes in, a response goes out.

use std::convert::Infallible;
use std::sync::Arc;

use bitacora_api::SignInLink;
use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use maud::Markup;

use crate::interface::{BoxError, PublicInterface};
use crate::live::ChangeHubs;
use crate::sign_in::{Sessions, SignInLinks};

/// The body of a response to a browser.
pub type ConsoleBody = UnsyncBoxBody<Bytes, BoxError>;

/// The sources that a page may load from, and who may show it: nothing of another origin, and nobody in a frame.
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
);

/// The sender of a form, as far as its head tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormSender {
    /// The most bytes of its form.
    pub max_form_bytes: usize,
    /// The name that a viewer's acts are recorded under; none for somebody who has not signed in.
    pub viewer: Option<String>,
    /// `true` if the viewer may govern agents.
    pub may_govern: bool,
}

/// The console of a service.
pub struct Console {
    pub(crate) interface: Arc<dyn PublicInterface>,
    pub(crate) sessions: Sessions,
    pub(crate) links: SignInLinks,
    pub(crate) changes: ChangeHubs,
}

impl Console {
    /// A console that asks this interface.
    #[must_use]
    pub fn new(interface: Arc<dyn PublicInterface>) -> Self {
        Self {
            interface,
            sessions: Sessions::default(),
            links: SignInLinks::default(),
            changes: ChangeHubs::default(),
        }
    }

    /// Tells who sends a form, before any of it is read.
    #[must_use]
    pub fn form_sender(&self, head: &Parts) -> FormSender {
        crate::routes::form_sender(self, head)
    }

    /// Answers a browser at this address. The service has checked the host and the origin of the request, and its body has no more
    /// bytes than [`Self::form_sender`] tells.
    pub async fn answer(&self, request: Request<Bytes>, address: Arc<str>) -> Response<ConsoleBody> {
        let mut response = crate::routes::answer(self, request, &address).await;
        let headers = response.headers_mut();
        let fixed = [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_POLICY);
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    }

    /// Makes a link that signs in once as the holder of this token, for a few minutes. It is as secret as the token: it belongs on a
    /// terminal, and in no file that others read. `None` if no ledger takes the token, or the system gives no random bytes: the address
    /// without it serves as well.
    pub async fn sign_in_link(&self, token: &str) -> Option<SignInLink> {
        self.link(Some(token), Extensions::new()).await.ok()
    }
}

/// Returns a body that is there as a whole.
pub(crate) fn body(bytes: impl Into<Bytes>) -> ConsoleBody {
    Full::new(bytes.into()).map_err(|never: Infallible| -> BoxError { match never {} }).boxed_unsync()
}

/// Returns a response with a text of this media type.
pub(crate) fn text_response(
    status: StatusCode,
    media_type: &'static str,
    text: String,
) -> Response<ConsoleBody> {
    let mut response = Response::new(body(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Returns a page.
pub(crate) fn html_response(status: StatusCode, page: Markup) -> Response<ConsoleBody> {
    text_response(status, "text/html; charset=utf-8", page.into_string())
}

/// Returns a page that is written already.
pub(crate) fn html_bytes(status: StatusCode, page: Bytes) -> Response<ConsoleBody> {
    let mut response = html_response(status, Markup::default());
    *response.body_mut() = body(page);
    response
}

/// Returns a response that leads to another page.
pub(crate) fn redirect(to: &str) -> Response<ConsoleBody> {
    let mut response = Response::new(body(Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let to = HeaderValue::try_from(to).unwrap_or(HeaderValue::from_static("/console"));
    response.headers_mut().insert(header::LOCATION, to);
    response
}

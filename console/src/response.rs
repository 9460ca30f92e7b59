//! Responses to browsers.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::channel::Channel;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use maud::Markup;

use crate::interface::BoxError;

/// The body of a response to a browser.
pub type ConsoleBody = UnsyncBoxBody<Bytes, BoxError>;

/// Returns a body that is there as a whole.
pub(crate) fn body(bytes: impl Into<Bytes>) -> ConsoleBody {
    Full::new(bytes.into()).map_err(|never: Infallible| -> BoxError { match never {} }).boxed_unsync()
}

/// Returns the body of an answer to `HEAD` whose length nobody knows: none is sent, and none is named.
pub(crate) fn unknown_body() -> ConsoleBody {
    let (_ended, body) = Channel::<Bytes, BoxError>::new(1);
    body.boxed_unsync()
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

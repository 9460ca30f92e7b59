//! The console as the service meets it: a request of a browser comes in, a response goes out.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, header};

use crate::compressed::{compressed, may_be_compressed};
use crate::console::{Console, FormSender};
use crate::response::ConsoleBody;

/// The sources that a page may load from, and who may show it: nothing of another origin, and nobody in a frame.
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
);

impl Console {
    /// Tells who sends a form, before any of it is read.
    #[must_use]
    pub fn form_sender(&self, head: &Parts) -> FormSender {
        super::form_sender(self, head)
    }

    /// Answers a browser at this address. The service has checked the host and the origin of the request, and its body has no more
    /// bytes than [`Self::form_sender`] tells.
    pub async fn answer(&self, request: Request<Bytes>, address: Arc<str>) -> Response<ConsoleBody> {
        let is_taken = may_be_compressed(request.method(), request.headers());
        let response = super::answer(self, request, &address).await;
        let mut response = compressed(response, is_taken).await;
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
}

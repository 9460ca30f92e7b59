//! Answers that the ledger signs for the request they answer, so that no other program can give them.

use std::convert::Infallible;

use axum::body::{Body, to_bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use bitacora_formats::{Micros, SignedExchange, body_digest};
use bitacora_ledger::Ledger;

use crate::problem::{Code, FaultLocation, Problem};

/// The digest of a body (RFC 9530).
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// The components that a signature covers, and its parameters (RFC 9421).
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
/// The signature.
const SIGNATURE: HeaderName = HeaderName::from_static("signature");
/// The most bytes of an answer that is signed. Answers to hooks have a few hundred.
const MAX_SIGNED_BYTES: usize = 1024 * 1024;

/// Microseconds in a second.
const MICROS_PER_SECOND: u64 = 1_000_000;

/// The parts of a request that the signature of its answer covers.
pub(crate) struct AnsweredRequest {
    method: Method,
    uri: Uri,
    digest: Option<HeaderValue>,
}

impl<S: Sync> FromRequestParts<S> for AnsweredRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let digest = parts.headers.get(CONTENT_DIGEST).cloned();
        Ok(Self { method: parts.method.clone(), uri: parts.uri.clone(), digest })
    }
}

impl AnsweredRequest {
    /// Refuses a body that is not the one of the request's digest.
    pub(crate) fn check_digest(&self, body: &[u8]) -> Result<(), Problem> {
        match &self.digest {
            Some(digest) if digest.as_bytes() != body_digest(body).as_bytes() => {
                let fault = "found a digest that is not the body's; expected sha-256 alone";
                Err(Problem::new(Code::BadHeader, format!("the header Content-Digest: {fault}"))
                    .with_fault(FaultLocation::Header("content-digest"), fault))
            }
            _ => Ok(()),
        }
    }

    /// Returns the answer, or the problem as an answer, with the ledger's signature.
    pub(crate) async fn signed(
        &self,
        ledger: &Ledger,
        now: Micros,
        answer: Result<Response, Problem>,
    ) -> Response {
        let (mut parts, body) = answer.into_response().into_parts();
        let Ok(body) = to_bytes(body, MAX_SIGNED_BYTES).await else {
            return Problem::new(Code::Unknown, "found an answer that is too long to be signed")
                .into_response();
        };
        let digest = body_digest(&body);
        let exchange = SignedExchange {
            method: self.method.as_str(),
            path: self.uri.path(),
            query: self.uri.query().unwrap_or_default(),
            request_digest: self.digest.as_ref().and_then(|digest| digest.to_str().ok()),
            status: parts.status.as_u16(),
            answer_digest: &digest,
        };
        let fields = ledger.answer_signer().sign(&exchange, now.0 / MICROS_PER_SECOND);
        set(&mut parts.headers, CONTENT_DIGEST, &digest);
        set(&mut parts.headers, SIGNATURE_INPUT, &fields.input);
        set(&mut parts.headers, SIGNATURE, &fields.signature);
        Response::from_parts(parts, Body::from(body))
    }
}

/// Sets a field. Each value is of visible characters, so none is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

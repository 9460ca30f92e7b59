//! Answers that the ledger signs for the request and the caller, so that no other program can give them.

use std::sync::Arc;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bitacora_api::paths;
use bitacora_formats::{Micros, SignedExchange, body_digest};
use bitacora_ledger::Ledger;

use crate::api::Api;
use crate::http::body::{CONTENT_DIGEST, other_digest};
use crate::http::path::PathNames;
use crate::http::query::bad_query;
use crate::problem::{Code, Problem};
use crate::router::access_guard::KnownCaller;

/// The components that a signature covers, and its parameters (RFC 9421).
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
/// The signature.
const SIGNATURE: HeaderName = HeaderName::from_static("signature");
/// The most bytes of an answer that is signed: what clients take. A longer one, and one that comes piece by piece, is not.
const MAX_SIGNED_BYTES: u64 = 16 * 1024 * 1024;
/// The parameter that makes an answer fresh. The signature covers it, and no resource sees it.
const NONCE: &str = "nonce";
/// The most bytes of a nonce.
const MAX_NONCE_BYTES: usize = 64;
/// Microseconds in a second.
const MICROS_PER_SECOND: u64 = 1_000_000;

/// The paths whose bodies are taken in piece by piece. Nobody compares such a body to its digest, so its answer is not signed.
const STREAMED: [&str; 5] = [
    paths::INGEST,
    paths::STREAM_INGEST,
    paths::LEDGER_OTLP_TRACES,
    paths::LEDGER_OTLP_LOGS,
    paths::LEDGER_OTLP_METRICS,
];

/// The paths of acts that take no body, beside those of questions.
const WITHOUT_BODY: [&str; 1] = [paths::PROJECTION];

/// Refuses a digest of something where nobody reads a body, and a nonce that is none.
pub(crate) async fn compare(path: MatchedPath, request: Request, next: Next) -> Response {
    let is_question = request.method() == Method::GET || request.method() == Method::HEAD;
    let reads_none = is_question || WITHOUT_BODY.contains(&path.as_str());
    let digest = request.headers().get(CONTENT_DIGEST);
    if reads_none && digest.is_some_and(|digest| digest.as_bytes() != body_digest(b"").as_bytes()) {
        return other_digest().into_response();
    }
    // A nonce that is one was taken out before.
    let left = take_nonce(&mut request.uri().clone()).err();
    match left.filter(|_| asks_for_signature(request.headers(), path.as_str())) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

/// Signs the answer to a request whose sender is known and that names the digest of its body, also a refusal of what the sender may not.
pub(crate) async fn sign(
    State(api): State<Arc<Api>>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    if !asks_for_signature(request.headers(), path.as_str()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    // A path without a ledger has no key to sign with.
    let ledger = match PathNames::from_request_parts(&mut parts, &api).await {
        Ok(names) => api.ledger_of(&names).ok(),
        Err(problem) => return problem.into_response(),
    };
    let asked = SignedRequest::of(&parts);
    // One that is none stays for `compare`, behind the check of the caller.
    let _is_one = take_nonce(&mut parts.uri).is_ok();
    let answer = next.run(Request::from_parts(parts, body)).await;
    let is_known = answer.extensions().get::<KnownCaller>().is_some();
    match ledger.filter(|_| is_known) {
        Some(ledger) => asked.signed(ledger.ledger(), api.ledgers.now(), answer).await,
        None => answer,
    }
}

/// Returns `true` if a query parameter is one that signing takes.
pub(crate) fn takes_parameter(headers: &HeaderMap, path: &str, name: &str) -> bool {
    name == NONCE && asks_for_signature(headers, path)
}

fn asks_for_signature(headers: &HeaderMap, path: &str) -> bool {
    headers.contains_key(CONTENT_DIGEST) && !STREAMED.contains(&path)
}

/// The parts of a request that the signature of its answer covers.
struct SignedRequest {
    method: Method,
    uri: Uri,
    digest: HeaderValue,
    authorization: Option<HeaderValue>,
}

impl SignedRequest {
    fn of(parts: &Parts) -> Self {
        let field = |name: HeaderName| parts.headers.get(name).cloned();
        Self {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            digest: field(CONTENT_DIGEST).unwrap_or(HeaderValue::from_static("")),
            authorization: field(header::AUTHORIZATION),
        }
    }

    /// Returns the answer with the ledger's signature. One that is too long stays without.
    async fn signed(&self, ledger: &Ledger, now: Micros, answer: Response) -> Response {
        if answer.body().size_hint().exact().is_none_or(|bytes| bytes > MAX_SIGNED_BYTES) {
            return answer;
        }
        let (mut parts, body) = answer.into_parts();
        let Ok(body) = to_bytes(body, usize::try_from(MAX_SIGNED_BYTES).unwrap_or(usize::MAX)).await else {
            return Problem::new(Code::Internal, "the answer cannot be read").into_response();
        };
        let digest = body_digest(&body);
        let (Ok(request_digest), Ok(authorization)) =
            (self.digest.to_str(), self.authorization.as_ref().map(HeaderValue::to_str).transpose())
        else {
            return Response::from_parts(parts, Body::from(body));
        };
        let exchange = SignedExchange {
            method: self.method.as_str(),
            path: self.uri.path(),
            query: self.uri.query().unwrap_or_default(),
            request_digest,
            authorization: authorization.map(str::trim),
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

/// Takes the nonce out of a query, if there is one.
fn take_nonce(uri: &mut Uri) -> Result<(), Problem> {
    let is_nonce = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| name == NONCE);
    let query = uri.query().unwrap_or_default();
    let mut nonces = query.split('&').filter(is_nonce);
    let Some(nonce) = nonces.next() else { return Ok(()) };
    let value = nonce.split_once('=').map(|(_, value)| value).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if nonces.next().is_some()
        || value.is_empty()
        || value.len() > MAX_NONCE_BYTES
        || !value.bytes().all(is_plain)
    {
        let wanted = format!("is not one word of at most {MAX_NONCE_BYTES} letters, digits, `-` and `_`");
        return Err(bad_query(NONCE, &wanted));
    }
    let left: Vec<&str> = query.split('&').filter(|pair| !is_nonce(pair)).collect();
    let left = match left.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), left.join("&")),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(left.parse().map_err(|_| bad_query(NONCE, "leaves no query behind"))?);
    *uri = Uri::from_parts(parts).map_err(|_| bad_query(NONCE, "leaves no query behind"))?;
    Ok(())
}

/// Sets a field. Each value is of visible characters, so none is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

//! Errors of exports in the protocol's own words: a `Status` in the encoding of the request.

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use bitacora_api::{ProblemAnswer, paths};
use bitacora_otlp::{Encoding, status_bytes};

use crate::http::media::media_type;
use crate::limits::MAX_EXPORT_PROBLEM_BYTES;
use crate::problem::{Code, Problem};

/// The statuses after which an exporter tries again.
const RETRIED: [u16; 4] = [429, 502, 503, 504];
/// The pause that is asked for where a problem names none, in seconds.
const RETRY_AFTER_S: u32 = 1;

/// Returns the encoding of an export.
pub(crate) fn encoding_of(headers: &HeaderMap) -> Result<Encoding, Problem> {
    match media_type(headers)?.as_str() {
        "application/x-protobuf" => Ok(Encoding::Protobuf),
        "application/json" => Ok(Encoding::Json),
        _ => {
            let detail = "an export is application/x-protobuf or application/json";
            Err(Problem::new(Code::UnsupportedMediaType, detail))
        }
    }
}

/// Returns the media type of an encoding.
pub(crate) fn media_of(encoding: Encoding) -> HeaderValue {
    HeaderValue::from_static(match encoding {
        Encoding::Protobuf => "application/x-protobuf",
        Encoding::Json => "application/json",
    })
}

/// Has every error of an export be a `Status`. Where trying again can help, the HTTP status is one after which exporters do.
pub(crate) async fn tell_in_protocol(path: MatchedPath, request: Request, next: Next) -> Response {
    if !paths::EXPORTS.contains(&path.as_str()) {
        return next.run(request).await;
    }
    // A request in no encoding that is known is answered in the one that people read.
    let encoding = encoding_of(request.headers()).unwrap_or(Encoding::Json);
    let response = next.run(request).await;
    if response.status().as_u16() < 400 {
        return response;
    }
    in_protocol(response, encoding).await
}

async fn in_protocol(response: Response, encoding: Encoding) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_EXPORT_PROBLEM_BYTES).await.unwrap_or_default();
    let problem: Option<ProblemAnswer> = serde_json::from_slice(&bytes).ok();
    let is_retryable = problem.as_ref().is_some_and(|problem| problem.retryable);
    if is_retryable && parts.status.is_server_error() && !RETRIED.contains(&parts.status.as_u16()) {
        parts.status = StatusCode::SERVICE_UNAVAILABLE;
    }
    let headers = &mut parts.headers;
    if is_retryable && RETRIED.contains(&parts.status.as_u16()) && !headers.contains_key(header::RETRY_AFTER)
    {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    headers.insert(header::CONTENT_TYPE, media_of(encoding));
    headers.remove(header::CONTENT_LENGTH);
    let message = problem.map_or_else(String::new, |problem| match problem.code.as_str() {
        "" => problem.detail,
        code => format!("{code}: {}", problem.detail),
    });
    let status = status_bytes(parts.status.as_u16(), &message, encoding);
    Response::from_parts(parts, Body::from(status))
}

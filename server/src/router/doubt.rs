//! Marks in the answers of a ledger that has lost a part, so that none passes for a whole one.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::Api;
use crate::http::path::ledger_name;
use crate::problem::{Code, Problem};

/// The header with the reason for which an answer rests on less than there was.
const LEDGER_DOUBT: HeaderName = HeaderName::from_static("ledger-doubt");
/// The part of a path before a ledger's name.
const LEDGERS: &str = "/v1/ledgers/";

/// Has every answer about a ledger in doubt say so in the header `Ledger-Doubt`. That something is not there is no answer of a
/// damaged ledger: it may be in what is lost.
pub(crate) async fn tell(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().strip_prefix(LEDGERS).unwrap_or_default();
    let name = path.split(['/', ':']).next().and_then(|name| ledger_name(name).ok());
    let response = next.run(request).await;
    let ledger = name.and_then(|name| api.ledgers.ledger(&name).ok());
    let Some((ledger, doubt)) = ledger.and_then(|ledger| ledger.doubt().map(|doubt| (ledger, doubt))) else {
        return response;
    };
    if response.status() == StatusCode::NOT_FOUND
        && let Some(fault) = ledger.damage()
    {
        return Problem::new(Code::Corrupt, format!("{fault}; it may have been in what is lost"))
            .into_response();
    }
    let mut response = response;
    let visible: String = doubt.chars().filter(|one| matches!(one, ' '..='~')).collect();
    if let Ok(value) = HeaderValue::from_str(&visible) {
        response.headers_mut().insert(LEDGER_DOUBT, value);
    }
    response
}

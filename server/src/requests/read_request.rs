//! A question about one ledger, and an answer that names the state it rests on.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_ledger::Head;
use bitacora_projector::IndexedLedger;
use serde::Serialize;

use crate::access::caller::Caller;
use crate::api::{Api, requested_position};
use crate::http::media::JSON;
use crate::http::path::PathNames;
use crate::http::query::Query;
use crate::json::json_of;
use crate::problem::Problem;

/// The position that an answer's state stands at.
pub(crate) const LEDGER_POSITION: HeaderName = HeaderName::from_static("ledger-position");
/// The caching of answers that may change: they are asked for each time.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// The caching of answers that only an expiry changes: the service looks for expired events once a day, so an hour adds little.
pub(crate) const UNTIL_EXPIRY: HeaderValue = HeaderValue::from_static("private, max-age=3600");
/// The caching of answers that never change: a reader may keep them for a year.
pub(crate) const IMMUTABLE: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");

/// A request to read from the ledger that its path names. A resource takes its parameters, refuses what is left of them,
/// and only then waits for the state that is asked for.
pub(crate) struct ReadRequest {
    pub(crate) caller: Caller,
    pub(crate) ledger: IndexedLedger,
    pub(crate) names: PathNames,
    pub(crate) headers: HeaderMap,
    parameters: Option<String>,
}

impl FromRequestParts<Arc<Api>> for ReadRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, api).await?;
        let names = PathNames::from_request_parts(parts, api).await?;
        let ledger = api.ledger_of(&names)?;
        let parameters = parts.uri.query().map(str::to_owned);
        Ok(Self { caller, ledger, names, headers: parts.headers.clone(), parameters })
    }
}

impl ReadRequest {
    /// The parameters, for a resource to take.
    pub(crate) fn query(&self) -> Result<Query<'_>, Problem> {
        Query::parse(self.parameters.as_deref())
    }

    /// For a resource that knows no parameters.
    pub(crate) fn takes_no_parameters(&self) -> Result<(), Problem> {
        self.query()?.finish()
    }

    /// The position that the client asks for with `Ledger-Min-Position`.
    pub(crate) fn requested_position(&self) -> Result<Option<Position>, Problem> {
        requested_position(&self.headers)
    }

    /// Waits for the state that the client asks for with `Ledger-Min-Position`; the head that the answer rests on.
    pub(crate) async fn state(&self, api: &Api) -> Result<Head, Problem> {
        api.wait_for_requested_state(self.ledger.ledger(), &self.headers).await?;
        Ok(self.ledger.head())
    }
}

/// An answer that rests on the state at this head.
pub(crate) fn answer_at(head: &Head, media_type: HeaderValue, cache: HeaderValue, body: Body) -> Response {
    answer_at_position(head.position, media_type, cache, body)
}

/// The same of an answer as JSON, which is not kept.
pub(crate) fn json_answer(head: &Head, answer: &impl Serialize) -> Result<Response, Problem> {
    Ok(answer_at(head, JSON, NO_STORE, json_of(answer)?.into()))
}

/// An answer that rests on the state at this position.
pub(crate) fn answer_at_position(
    position: Position,
    media_type: HeaderValue,
    cache: HeaderValue,
    body: Body,
) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, cache);
    headers.insert(LEDGER_POSITION, HeaderValue::from(position.get()));
    response
}

/// Says which head an answer rests on.
pub(crate) fn set_ledger_position(headers: &mut HeaderMap, head: &Head) {
    headers.insert(LEDGER_POSITION, HeaderValue::from(head.position.get()));
}

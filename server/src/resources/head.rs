//! `GET …/head`: how far the ledger is durable, and what commits to all of it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bitacora_formats::format_time;

use super::openapi::PROBLEM;
use crate::answers::{HeadAnswer, ProblemAnswer};
use crate::api::{Api, set_ledger_position};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::path::PathNames;
use crate::problem::Problem;
use crate::query::Query;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/head",
    tag = "read",
    operation_id = "readHead",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    responses(
        (status = 200, description = "The durable head", body = HeadAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn head(
    State(api): State<Arc<Api>>,
    names: PathNames,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    Query::parse(parameters.as_deref())?.finish()?;
    api.wait_for_asked_state(&ledger, &headers).await?;
    let head = ledger.head();
    let mut json = JsonWriter::with_capacity(256);
    json.begin_object();
    json.place_member("position", head.position.get());
    json.hex_member("hash", &head.hash.0);
    json.text_member("time", &format_time(head.time));
    json.hex_member("treeRoot", &head.tree_root.0);
    json.end_object();
    let mut response = Response::new(Body::from(json.into_bytes()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set_ledger_position(headers, &head);
    Ok(response)
}

//! `/v1/projections`: how far derived state has come, for every ledger and projection.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bitacora_formats::{LedgerName, Position};
use bitacora_projector::{IndexState, IndexStatus};

use super::openapi::Refusals;
use crate::answers::ProjectionList;
use crate::api::Api;
use crate::json::JsonWriter;
use crate::ledgers::{MAX_LEDGERS, Slot};
use crate::media::JSON;
use crate::path::ledger_name;
use crate::problem::Problem;
use crate::query::{Query, bad_query};

/// The name of the index among projections.
const INDEX: &str = "index";
/// What one projection takes in an answer, about, bytes.
const PROJECTION_BYTES: usize = 320;

#[utoipa::path(
    get,
    path = "/v1/projections",
    tag = "operation",
    operation_id = "listProjections",
    params(
        ("after" = Option<String>, Query, description = "Only of ledgers past this name"),
        ("limit" = Option<usize>, Query, description = "Of at most this many ledgers"),
    ),
    responses(
        (status = 200, description = "The projections, by ledger", body = ProjectionList),
        Refusals,
    )
)]
pub(crate) async fn list(
    State(api): State<Arc<Api>>,
    RawQuery(parameters): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Query::parse(parameters.as_deref())?;
    let after = query.take("after")?.map(|name| ledger_name(&name)).transpose()?;
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(MAX_LEDGERS);
    query.finish()?;
    if !(1..=MAX_LEDGERS).contains(&limit) {
        return Err(bad_query("limit", &format!("is not 1 to {MAX_LEDGERS}")));
    }
    let slots = api.ledgers.all();
    let mut rest = slots
        .range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
        .filter_map(|(name, slot)| match slot {
            Slot::Open(ledger) => Some((name, ledger)),
            Slot::Failed(_) | Slot::Waiting(_) => None,
        })
        .peekable();
    let mut json = JsonWriter::with_capacity(PROJECTION_BYTES * slots.len().min(limit));
    json.begin_object();
    json.key("projections");
    json.begin_array();
    let mut last = None;
    for (name, ledger) in rest.by_ref().take(limit) {
        write_index(name, &ledger.index_status(), &mut json);
        last = Some(name);
    }
    json.end_array();
    if let (Some(last), Some(_)) = (last, rest.peek()) {
        json.text_member("next", last.as_str());
    }
    json.end_object();
    let mut response = Response::new(Body::from(json.into_bytes()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn write_index(ledger: &LedgerName, status: &IndexStatus, json: &mut JsonWriter) {
    json.begin_object();
    json.text_member("ledger", ledger.as_str());
    json.text_member("name", INDEX);
    json.number_member("version", status.version.into());
    json.text_member("state", status.state.name());
    if let IndexState::Degraded(why) = &status.state {
        json.text_member("why", why);
    }
    json.place_member("position", status.position.map_or(0, Position::get));
    json.number_member("lag", status.lag);
    if let Some((position, digest)) = &status.digest {
        json.hex_member("digest", digest);
        json.place_member("digestPosition", position.get());
    }
    json.end_object();
}

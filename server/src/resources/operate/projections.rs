//! `/v1/projections`: the progress of each ledger's projections; `…/projections/{projection}:rebuild`.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bitacora_formats::{LedgerName, Position};
use bitacora_projector::{IndexState, IndexStatus, ModelState, ModelStatus, ReadModels};

use crate::api::Api;
use crate::http::media::JSON;
use crate::http::path::ledger_name;
use crate::http::query::{Query, bad_query};
use crate::json::JsonWriter;
use crate::ledgers::MAX_LEDGERS;
use crate::ledgers::slot::Slot;
use crate::problem::{Code, Problem};
use crate::requests::act::no_such_verb;
use crate::requests::read_model_query::read_models;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{InLedger, Refusals};
use bitacora_api::{ProjectionList, RebuildAnswer};

/// The name of the index among projections.
const INDEX: &str = "index";
/// The size of one projection in an answer, about, bytes.
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
        for status in ledger.read_models().map(ReadModels::status).unwrap_or_default() {
            write_model(name, &status, &mut json);
        }
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

fn write_model(ledger: &LedgerName, status: &ModelStatus, json: &mut JsonWriter) {
    json.begin_object();
    json.text_member("ledger", ledger.as_str());
    json.text_member("name", status.name);
    json.number_member("version", status.version.into());
    json.text_member("state", status.state.name());
    if let ModelState::Degraded(why) | ModelState::Stopped(why) = &status.state {
        json.text_member("why", why);
    }
    json.place_member("position", status.position.map_or(0, Position::get));
    json.number_member("lag", status.lag);
    if let Some((position, rows, digest)) = &status.digest {
        json.number_member("rows", *rows);
        json.hex_member("digest", digest);
        json.place_member("digestPosition", position.get());
    }
    json.end_object();
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/projections/{projection}",
    tag = "operation",
    operation_id = "rebuildProjection",
    params(
        InLedger,
        ("projection" = String, Path, description = "A read model's name, with `:rebuild` behind it"),
    ),
    responses(
        (status = 202, body = RebuildAnswer, description = "Begun: it is folded from the log again beside the one that answers, whose place it takes once it has come to where that one stands. `/v1/projections` shows how far it is"),
        Refusals,
    )
)]
pub(crate) async fn fold_again(request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let named = request.names.named.as_deref().unwrap_or_default();
    let name = named.strip_suffix(":rebuild");
    let models = read_models(&request.ledger)?;
    if let Some(name) = name.filter(|name| models.fold_again(name)) {
        let mut json = JsonWriter::with_capacity(PROJECTION_BYTES);
        json.begin_object();
        json.text_member("projection", name);
        json.end_object();
        let mut response = Response::new(Body::from(json.into_bytes()));
        *response.status_mut() = StatusCode::ACCEPTED;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        return Ok(response);
    }
    let Some(name) = name else {
        return Err(no_such_verb("what is done with a read model is `:rebuild`"));
    };
    let known: Vec<_> = models.status().iter().map(|model| model.name).collect();
    let detail = format!("there is no read model `{name}`; there are {}", known.join(", "));
    Err(Problem::new(Code::NoSuchResource, detail))
}

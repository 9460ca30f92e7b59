//! `/v1/ledgers`: the list of ledgers with the state of each, and the act that makes one.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bitacora_formats::LedgerName;
use bitacora_ledger::{Status, WriterState};

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::media::JSON;
use crate::http::path::{PathNames, ledger_name};
use crate::http::query::{Query, bad_query};
use crate::json::JsonWriter;
use crate::ledgers::readiness::why_writer_is_not_ready;
use crate::ledgers::slot::Slot;
use crate::ledgers::{MAX_LEDGERS, no_such_ledger};
use crate::page::write_head;
use crate::problem::{Code, Problem};
use crate::resources::description::{InLedger, Refusals};
use crate::resources::operate::admin::json_body;
use bitacora_api::{LedgerAnswer, LedgerCreation, LedgerList};

/// The size of one ledger in an answer, about, bytes.
const LEDGER_BYTES: usize = 384;

#[utoipa::path(
    get,
    path = "/v1/ledgers",
    tag = "ledgers",
    operation_id = "listLedgers",
    params(
        ("after" = Option<String>, Query, description = "Only ledgers past this name"),
        ("limit" = Option<usize>, Query, description = "At most this many"),
    ),
    responses(
        (status = 200, description = "The ledgers, by name", body = LedgerList),
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
    let mut rest =
        slots.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)).peekable();
    let mut json = JsonWriter::with_capacity(LEDGER_BYTES * slots.len().min(limit));
    json.begin_object();
    json.key("ledgers");
    json.begin_array();
    let mut last = None;
    for (name, slot) in rest.by_ref().take(limit) {
        write_ledger(name, slot, &mut json);
        last = Some(name);
    }
    json.end_array();
    if let (Some(last), Some(_)) = (last, rest.peek()) {
        json.text_member("next", last.as_str());
    }
    json.end_object();
    Ok(json_answer(StatusCode::OK, json))
}

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}",
    tag = "ledgers",
    operation_id = "showLedger",
    params(InLedger),
    responses(
        (status = 200, description = "How it is doing", body = LedgerAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    names: PathNames,
    RawQuery(parameters): RawQuery,
) -> Result<Response, Problem> {
    Query::parse(parameters.as_deref())?.finish()?;
    let name =
        names.ledger.ok_or_else(|| Problem::new(Code::InvalidLedgerName, "the path names no ledger"))?;
    let slots = api.ledgers.all();
    let slot = slots.get(&name).ok_or_else(|| no_such_ledger(&name))?;
    Ok(ledger_answer(StatusCode::OK, &name, slot))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers",
    tag = "ledgers",
    operation_id = "createLedger",
    request_body(content = LedgerCreation),
    responses(
        (status = 201, description = "Made and durable; the caller's token is its first admin's", body = LedgerAnswer),
        Refusals,
    )
)]
pub(crate) async fn create(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let LedgerCreation { name } = json_body(&api, &caller, &headers, body, r#"{"name":"…"}"#).await?;
    let name = ledger_name(&name)?;
    let maker = caller.as_first_admin(&api.authenticator)?;
    let slot = api.ledgers.create(name.clone(), maker).await?;
    let mut response = ledger_answer(StatusCode::CREATED, &name, &slot);
    if let Ok(location) = HeaderValue::try_from(format!("/v1/ledgers/{name}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn ledger_answer(status: StatusCode, name: &LedgerName, slot: &Slot) -> Response {
    let mut json = JsonWriter::with_capacity(LEDGER_BYTES);
    write_ledger(name, slot, &mut json);
    json_answer(status, json)
}

/// Writes `{"name":…,"state":…}` and the members of that state.
fn write_ledger(name: &LedgerName, slot: &Slot, json: &mut JsonWriter) {
    json.begin_object();
    json.text_member("name", name.as_str());
    match slot {
        Slot::Failed(why) => {
            json.text_member("state", "failed");
            json.text_member("why", why);
        }
        Slot::Waiting(why) => {
            json.text_member("state", "waiting");
            json.text_member("why", why);
        }
        Slot::Open(ledger) => {
            let Status { writer, head, queue_bytes, queue_requests, segments, .. } = ledger.status();
            json.text_member("state", state_name(&writer));
            if let Some(why) = why_writer_is_not_ready(&writer) {
                json.text_member("why", &why);
            }
            json.text_member("id", &ledger.id().to_string());
            json.key("head");
            write_head(&head, json);
            if let Some(key) = ledger.verifier_key() {
                json.text_member("verifierKey", &key.to_string());
            }
            json.number_member("segments", segments as u64);
            json.number_member("queueRequests", queue_requests as u64);
            json.number_member("queueBytes", queue_bytes as u64);
        }
    }
    json.end_object();
}

/// The state of a ledger's writer, as programs know it.
pub(crate) fn state_name(writer: &WriterState) -> &'static str {
    match writer {
        WriterState::Ready => "ready",
        WriterState::ReadOnly(_) => "read-only",
        WriterState::Poisoned(_) => "stopped",
        WriterState::Closing => "closing",
        WriterState::Closed => "closed",
    }
}

fn json_answer(status: StatusCode, json: JsonWriter) -> Response {
    let mut response = Response::new(Body::from(json.into_bytes()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

//! `/v1/ledgers`: the list of ledgers with the state of each, and the act that makes one.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bitacora_formats::LedgerName;
use bitacora_ledger::{Status, WriterState};
use serde::Serialize;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::media::JSON;
use crate::http::path::{PathNames, ledger_name};
use crate::http::query::{Query, bad_query};
use crate::json::json_of;
use crate::ledgers::readiness::why_writer_is_not_ready;
use crate::ledgers::slot::Slot;
use crate::ledgers::{MAX_LEDGERS, no_such_ledger};
use crate::page::head_reference;
use crate::problem::{Code, Problem};
use crate::resources::description::{InLedger, Refusals};
use crate::resources::operate::admin::json_body;
use bitacora_api::{LedgerAnswer, LedgerCreation, LedgerList, paths};

#[utoipa::path(
    get,
    path = paths::LEDGERS,
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
    let ledgers: Vec<_> = rest.by_ref().take(limit).map(|(name, slot)| ledger_answer(name, slot)).collect();
    let next = rest.peek().and(ledgers.last()).map(|last| last.name.clone());
    json_answer(StatusCode::OK, &LedgerList { ledgers, next })
}

#[utoipa::path(
    get,
    path = paths::LEDGER,
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
    json_answer(StatusCode::OK, &ledger_answer(&name, slot))
}

#[utoipa::path(
    post,
    path = paths::LEDGERS,
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
    let mut response = json_answer(StatusCode::CREATED, &ledger_answer(&name, &slot))?;
    if let Ok(location) = HeaderValue::try_from(format!("/v1/ledgers/{name}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn ledger_answer(name: &LedgerName, slot: &Slot) -> LedgerAnswer {
    let name = name.to_string();
    match slot {
        Slot::Failed(why) => LedgerAnswer { why: Some(why.clone()), ..LedgerAnswer::new(name, "failed") },
        Slot::Waiting(why) => LedgerAnswer { why: Some(why.clone()), ..LedgerAnswer::new(name, "waiting") },
        Slot::Open(ledger) => {
            let Status { writer, head, queue_bytes, queue_requests, segments, heads, .. } = ledger.status();
            LedgerAnswer {
                why: why_writer_is_not_ready(&writer),
                id: Some(ledger.id().to_string()),
                head: Some(head_reference(&head)),
                verifier_key: ledger.verifier_key().map(|key| key.to_string()),
                answer_key: Some(ledger.ledger().answer_signer().key_id()),
                signed: Some(heads.size.to_string()),
                anchored: heads.anchored.map(|size| size.to_string()),
                witnessed: ledger.witnessed_head().map(|head| head.size.to_string()),
                segments: Some(segments as u64),
                queue_requests: Some(queue_requests as u64),
                queue_bytes: Some(queue_bytes as u64),
                ..LedgerAnswer::new(name, state_name(&writer))
            }
        }
    }
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

/// An answer about the service itself.
pub(super) fn json_answer(status: StatusCode, answer: &impl Serialize) -> Result<Response, Problem> {
    let mut response = Response::new(Body::from(json_of(answer)?));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

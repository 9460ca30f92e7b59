//! `…/tools`: what may be called at all.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::{Name, ToolChanged, ToolDocument, ToolRegistered, ToolRevoked};

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, ProblemAnswer, ToolList};
use crate::api::Api;
use crate::governed::{Governed, act_answer, governance, json_bytes, optional_note};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::path::PathNames;
use crate::problem::{Code, Place, Problem};
use crate::query::{Query, bad_query};
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of the registry.
const STREAM: &str = "governance/tools";
/// Tools of a page, when the client names no limit, and at most.
const MAX_PAGE_TOOLS: usize = 100;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/tools",
    tag = "governance",
    operation_id = "listTools",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("after" = Option<usize>, Query, description = "How many to pass over: the `next` of the page before"),
        ("limit" = Option<usize>, Query, description = "At most this many, up to 100"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "The tools, by name and server", body = ToolList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let after = query.take_parsed::<usize>("after", "a number")?.unwrap_or_default();
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(MAX_PAGE_TOOLS);
    query.finish()?;
    if !(1..=MAX_PAGE_TOOLS).contains(&limit) {
        return Err(bad_query("limit", &format!("is not 1 to {MAX_PAGE_TOOLS}")));
    }
    let head = question.state(&api).await?;
    let (revision, count, tools) = governance(&question.ledger)?.read(|state| {
        let registry = state.tools();
        let page: Vec<_> = registry.iter().skip(after).take(limit).cloned().collect();
        (registry.revision(), registry.len(), page)
    });
    let mut json = JsonWriter::with_capacity(1_024 * tools.len());
    json.begin_object();
    json.place_member("revision", revision);
    json.key("tools");
    json.begin_array();
    for tool in &tools {
        json.begin_object();
        json.place_member("revision", tool.revision);
        json.serialized_member("document", &tool.document);
        json.end_object();
    }
    json.end_array();
    if after.saturating_add(tools.len()) < count {
        json.number_member("next", after.saturating_add(tools.len()) as u64);
    }
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

#[utoipa::path(
    put,
    path = "/v1/ledgers/{ledger}/tools/{tool}",
    tag = "governance",
    operation_id = "putTool",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("tool" = String, Path, description = "The tool's name, percent-encoded once"),
    ),
    request_body(content = Object, description = "What the tool is, as `tool.registered` records it"),
    responses(
        (status = 200, description = "Recorded in the place of what it was", body = ActAnswer),
        (status = 201, description = "Recorded; it was not registered before", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn put(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    let governance = governance(&ledger)?;
    let body = json_bytes(&api, &headers, body).await?;
    let document: ToolDocument = serde_json::from_slice(body.as_slice())
        .map_err(|error| Problem::new(Code::BadBody, format!("the body is no tool: {error}")))?;
    if names.named.as_deref() != Some(document.tool.as_str()) {
        let fault = "it is not the tool that the path names";
        return Err(Problem::new(
            Code::BadBody,
            format!("the member `tool` of the body is not taken: {fault}"),
        )
        .with_fault(Place::Body { line: None, pointer: "/tool".to_owned() }, fault));
    }
    let _one_at_a_time = api.acting.lock().await;
    let is_known =
        governance.read(|state| state.tools().get(&document.tool, document.server.as_deref()).is_some());
    let (status, event) = if is_known {
        (StatusCode::OK, Governed::act(&ledger, &caller, STREAM, &ToolChanged(document))?)
    } else {
        (StatusCode::CREATED, Governed::act(&ledger, &caller, STREAM, &ToolRegistered(document))?)
    };
    let appended = event.append(&api, &ledger).await?;
    Ok(act_answer(status, &appended, |_| ()))
}

#[utoipa::path(
    delete,
    path = "/v1/ledgers/{ledger}/tools/{tool}",
    tag = "governance",
    operation_id = "revokeTool",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("tool" = String, Path, description = "The tool's name, percent-encoded once"),
        ("server" = Option<String>, Query, description = "The server it belongs to"),
    ),
    responses(
        (status = 200, description = "Recorded: it may no longer be called", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn revoke(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    let governance = governance(&ledger)?;
    let mut query = Query::parse(parameters.as_deref())?;
    let server = query.take("server")?;
    query.finish()?;
    let server = server
        .map(Name::new)
        .transpose()
        .map_err(|error| bad_query("server", &format!("is not taken: {error}")))?;
    let named = names.named.unwrap_or_default();
    let reason = optional_note(&api, &headers, body, "reason").await?;
    let _one_at_a_time = api.acting.lock().await;
    let is_known = governance.read(|state| state.tools().get(&named, server.as_deref()).is_some());
    let tool = Name::new(named).ok().filter(|_| is_known);
    let tool = tool
        .ok_or_else(|| Problem::new(Code::NoSuchGoverned, "there is no such tool; `…/tools` lists them"))?;
    let revoked = ToolRevoked { tool, server, reason };
    let appended = Governed::act(&ledger, &caller, STREAM, &revoked)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |_| ()))
}

//! `…/tools`: the registry of tools that may be called.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_vocabulary::{DimensionPart, Name, ToolChanged, ToolDocument, ToolRegistered, ToolRevoked};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::json::raw_json;
use crate::limits::MAX_PAGE_TOOLS;
use crate::problem::{Code, FaultLocation, Problem};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::strict_object::read_known;
use bitacora_api::{ActAnswer, ToolAnswer, ToolList, paths};

/// The stream of the registry.
pub(super) const STREAM: &str = "governance/tools";

/// The place of a tool in the registry: its name, and its server.
type ToolKey = (Name, Option<Name>);

#[utoipa::path(
    get,
    path = paths::TOOLS,
    tag = "governance",
    operation_id = "listTools",
    params(
        InLedger,
        ("after" = Option<String>, Query, description = "The `next` of the page before"),
        ("limit" = Option<usize>, Query, description = "At most this many, up to 100"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The tools, by name and server", body = ToolList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<ToolKey>::take_up_to(&mut query, MAX_PAGE_TOOLS)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let registry = copy.state.tools();
    let behind = registry.iter().filter(|tool| {
        let place = (tool.document.tool.as_str(), tool.document.server.as_deref());
        paging.after.as_ref().is_none_or(|(tool, server)| place > (tool.as_str(), server.as_deref()))
    });
    let page = paging.page(behind, |tool| (tool.document.tool.clone(), tool.document.server.clone()));
    let tools = page.items.into_iter().map(|tool| {
        Ok(ToolAnswer { revision: tool.revision.to_string(), document: raw_json(&tool.document)? })
    });
    let tools = tools.collect::<Result<_, Problem>>()?;
    let list = ToolList { revision: registry.revision().to_string(), tools, next: page.next };
    written_page_at(&request, head.position, &list)
}

#[utoipa::path(
    put,
    path = paths::TOOL,
    tag = "governance",
    operation_id = "putTool",
    params(
        InLedger,
        ("tool" = String, Path, description = "The tool's name, percent-encoded once"),
    ),
    request_body(content = Object, description = "What the tool is, as `tool.registered` records it"),
    responses(
        (status = 200, description = "Recorded in the place of what it was", body = ActAnswer),
        (status = 201, description = "Recorded; it was not registered before", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn put(mut act: Act) -> Result<Response, Problem> {
    let body = act.body().await?;
    let document: ToolDocument = read_known(body.as_slice(), "tool")?;
    let fault = if act.named() != document.tool.as_str() {
        Some("it is not the tool that the path names")
    } else if document.tool.as_str() == DimensionPart::EVERY {
        Some("`*` is no tool's name; rules use it for every one")
    } else {
        None
    };
    if let Some(fault) = fault {
        return Err(Problem::new(
            Code::BadBody,
            format!("the member `tool` of the body is not taken: {fault}"),
        )
        .with_fault(FaultLocation::Body { line: None, pointer: "/tool".to_owned() }, fault));
    }
    let _one_at_a_time = act.turn().await;
    let is_known = is_registered(&act, &document.tool, document.server.as_deref());
    let (status, recorded) = if is_known {
        (StatusCode::OK, act.record(STREAM, &ToolChanged(document)).await?)
    } else {
        (StatusCode::CREATED, act.record(STREAM, &ToolRegistered(document)).await?)
    };
    recorded.answer_as(status, |position| ActAnswer { position })
}

fn is_registered(act: &Act, tool: &str, server: Option<&str>) -> bool {
    act.governance().read(|state| state.tools().get(tool, server).is_some())
}

#[utoipa::path(
    delete,
    path = paths::TOOL,
    tag = "governance",
    operation_id = "revokeTool",
    params(
        InLedger,
        ("tool" = String, Path, description = "The tool's name, percent-encoded once"),
        ("server" = Option<String>, Query, description = "The server it belongs to"),
    ),
    responses(
        (status = 200, description = "Recorded: it may no longer be called", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn revoke(mut act: Act) -> Result<Response, Problem> {
    let server = act.query(|query| Ok(query.take("server")?.map(String::from)))?;
    let server = server
        .map(Name::new)
        .transpose()
        .map_err(|error| bad_query("server", &format!("is not taken: {error}")))?;
    let reason = act.note("reason").await?;
    let _one_at_a_time = act.turn().await;
    let is_known = is_registered(&act, act.named(), server.as_deref());
    let tool = Name::new(act.named()).ok().filter(|_| is_known);
    let tool = tool
        .ok_or_else(|| Problem::new(Code::NoSuchGoverned, "there is no such tool; `…/tools` lists them"))?;
    act.record(STREAM, &ToolRevoked { tool, server, reason }).await?.answer()
}

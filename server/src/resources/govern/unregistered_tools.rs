//! `…/unregistered-tools`: tools that calls named and nobody registered.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_vocabulary::Name;

use crate::api::Api;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{UnregisteredToolAnswer, UnregisteredToolList, paths};

/// The agent of calls that name none.
const NOBODY: &str = "-";

/// The place of a tool in the list: the agent that named it, its name, its server.
type SeenKey = (String, Name, Option<Name>);

#[utoipa::path(
    get,
    path = paths::UNREGISTERED_TOOLS,
    tag = "governance",
    operation_id = "listUnregisteredTools",
    params(InLedger, OfPage, AtLeast),
    responses(
        (status = 200, description = "The tools, by agent, name and server", body = UnregisteredToolList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<SeenKey>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let behind = copy.state.tool_sightings().filter(|(agent, tool, server, _)| {
        let is_behind =
            |(of, named, at): &SeenKey| (*agent, *tool, *server) > (of.as_str(), named, at.as_ref());
        paging.after.as_ref().is_none_or(is_behind)
    });
    let page = paging
        .page(behind, |(agent, tool, server, _)| ((*agent).to_owned(), (*tool).clone(), server.cloned()));
    let tools = page.items.into_iter().map(|(agent, tool, server, sighting)| UnregisteredToolAnswer {
        tool: tool.to_string(),
        server: server.map(ToString::to_string),
        agent: Some(agent).filter(|agent| *agent != NOBODY).map(str::to_owned),
        calls: sighting.calls,
        first: sighting.first.to_string(),
        last: sighting.last.to_string(),
        last_time: format_time(sighting.time),
    });
    let list = UnregisteredToolList { tools: tools.collect(), next: page.next };
    written_page_at(&request, head.position, &list)
}

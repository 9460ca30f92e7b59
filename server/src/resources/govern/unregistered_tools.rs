//! `…/unregistered-tools`: tools that calls named and nobody registered.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_vocabulary::Name;

use crate::api::Api;
use crate::json::JsonWriter;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::UnregisteredToolList;

/// The size of one tool in an answer, about, bytes.
const TOOL_BYTES: usize = 256;
/// The agent of calls that name none.
const NOBODY: &str = "-";

/// The place of a tool in the list: the agent that named it, its name, its server.
type SeenKey = (String, Name, Option<Name>);

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/unregistered-tools",
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
    let mut json = JsonWriter::with_capacity(64 + TOOL_BYTES * page.items.len());
    json.begin_object();
    page.write("tools", &mut json, |(agent, tool, server, sighting), json| {
        json.begin_object();
        json.text_member("tool", tool);
        if let Some(server) = server {
            json.text_member("server", server);
        }
        if *agent != NOBODY {
            json.text_member("agent", agent);
        }
        json.number_member("calls", sighting.calls);
        json.place_member("first", sighting.first);
        json.place_member("last", sighting.last);
        json.text_member("lastTime", &format_time(sighting.time));
        json.end_object();
    });
    json.end_object();
    Ok(page_answer(&request, &head, json.into_bytes()))
}

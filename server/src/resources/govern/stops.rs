//! `…/panic` and `…/agents/{agent}`: stops of all agents or of one, in every mode.

use std::ops::Bound;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_vocabulary::{AgentName, AgentResumed, AgentSuspended, FreeText, PanicEngaged, PanicReleased};

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ActAnswer, StopRequest, StopsAnswer, SuspendedAgent, paths};

/// The stream of all stops.
const STREAM: &str = "governance/stops";

#[utoipa::path(
    get,
    path = paths::PANIC,
    tag = "governance",
    operation_id = "showStops",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Whether everything is stopped, and which agents are, by name", body = StopsAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<AgentName>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let stops = copy.state.all_stops();
    let from = paging.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let page = paging
        .page(stops.suspended.range::<AgentName, _>((from, Bound::Unbounded)), |(agent, _)| (*agent).clone());
    let suspended = page
        .items
        .into_iter()
        .map(|(agent, reason)| SuspendedAgent { agent: agent.to_string(), reason: reason.to_string() });
    let answer = StopsAnswer {
        panic: stops.panic.is_some(),
        reason: stops.panic.as_ref().map(ToString::to_string),
        suspended: suspended.collect(),
        next: page.next,
    };
    written_page_at(&request, head.position, &answer)
}

#[utoipa::path(
    post,
    path = paths::PANIC,
    tag = "governance",
    operation_id = "engagePanic",
    params(InLedger),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded: every call is denied from here on", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn engage(mut act: Act) -> Result<Response, Problem> {
    let reason = read_reason(&mut act).await?;
    act.record(STREAM, &PanicEngaged { by: None, reason }).await?.answer()
}

#[utoipa::path(
    delete,
    path = paths::PANIC,
    tag = "governance",
    operation_id = "releasePanic",
    params(InLedger),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded: calls are decided again", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn release(mut act: Act) -> Result<Response, Problem> {
    let reason = read_reason(&mut act).await?;
    act.record(STREAM, &PanicReleased { by: None, reason }).await?.answer()
}

#[utoipa::path(
    post,
    path = paths::AGENT,
    tag = "governance",
    operation_id = "stopAgent",
    params(
        InLedger,
        ("agent" = String, Path, description = "The agent, percent-encoded once, and what becomes of it: `coder:suspend` or `coder:resume`"),
    ),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn change(mut act: Act) -> Result<Response, Problem> {
    let (agent, verb) = act.named_verb();
    let suspends = match verb {
        "suspend" => true,
        "resume" => false,
        _ => return Err(no_such_verb("what becomes of an agent is `:suspend` or `:resume`")),
    };
    let agent = AgentName::new(agent)
        .map_err(|error| Problem::new(Code::NoSuchGoverned, format!("there is no such agent: {error}")))?;
    let reason = read_reason(&mut act).await?;
    let recorded = if suspends {
        act.record(STREAM, &AgentSuspended { agent, by: None, reason }).await?
    } else {
        act.record(STREAM, &AgentResumed { agent, by: None, reason }).await?
    };
    recorded.answer()
}

pub(crate) async fn read_reason(act: &mut Act) -> Result<FreeText, Problem> {
    act.read(|members| members.require("reason")).await
}

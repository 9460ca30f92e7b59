//! `…/panic` and `…/agents/{agent}`: what stops agents, all of them or one, in every mode.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::vocabulary::{
    AgentName, AgentResumed, AgentSuspended, PanicEngaged, PanicReleased, Words,
};
use bitacora_governance::MAX_LISTED;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, ProblemAnswer, StopRequest, StopsAnswer};
use crate::api::Api;
use crate::governed::{Governed, act_answer, governance, json_bytes};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::members::Members;
use crate::path::PathNames;
use crate::problem::{Code, Problem};
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of all stops.
const STREAM: &str = "governance/stops";

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/panic",
    tag = "governance",
    operation_id = "showStops",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Whether everything is stopped, and which agents are, up to 1,000", body = StopsAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    question.takes_no_parameters()?;
    let head = question.state(&api).await?;
    let (panic, suspended, count) = governance(&question.ledger)?.read(|state| {
        let stops = state.all_stops();
        let suspended: Vec<_> = stops
            .suspended
            .iter()
            .take(MAX_LISTED)
            .map(|(agent, reason)| (agent.clone(), reason.clone()))
            .collect();
        (stops.panic.clone(), suspended, stops.suspended.len())
    });
    let mut json = JsonWriter::with_capacity(64 + 128 * suspended.len());
    json.begin_object();
    json.bool_member("panic", panic.is_some());
    if let Some(reason) = &panic {
        json.text_member("reason", reason);
    }
    json.key("suspended");
    json.begin_array();
    for (agent, reason) in &suspended {
        json.begin_object();
        json.text_member("agent", agent);
        json.text_member("reason", reason);
        json.end_object();
    }
    json.end_array();
    json.bool_member("complete", suspended.len() == count);
    json.end_object();
    Ok(answer_at(&head, JSON, NO_STORE, json.into_bytes().into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/panic",
    tag = "governance",
    operation_id = "engagePanic",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded: every call is denied from here on", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn engage(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let reason = read_reason(&api, &headers, body).await?;
    let event = Governed::act(&ledger, &caller, STREAM, &PanicEngaged { by: None, reason })?;
    Ok(act_answer(StatusCode::OK, &event.append(&api, &ledger).await?, |_| ()))
}

#[utoipa::path(
    delete,
    path = "/v1/ledgers/{ledger}/panic",
    tag = "governance",
    operation_id = "releasePanic",
    params(("ledger" = String, Path, description = "The ledger's name"),),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded: calls are decided again", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn release(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let reason = read_reason(&api, &headers, body).await?;
    let event = Governed::act(&ledger, &caller, STREAM, &PanicReleased { by: None, reason })?;
    Ok(act_answer(StatusCode::OK, &event.append(&api, &ledger).await?, |_| ()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/agents/{agent}",
    tag = "governance",
    operation_id = "stopAgent",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("agent" = String, Path, description = "The agent, percent-encoded once, and what becomes of it: `coder:suspend` or `coder:resume`"),
    ),
    request_body(content = StopRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn change(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let named = names.named.unwrap_or_default();
    let (agent, act) = named.rsplit_once(':').unwrap_or((&named, ""));
    if !matches!(act, "suspend" | "resume") {
        let detail = "what becomes of an agent is `:suspend` or `:resume`";
        return Err(Problem::new(Code::NoSuchResource, detail));
    }
    let agent = AgentName::new(agent)
        .map_err(|error| Problem::new(Code::NoSuchGoverned, format!("there is no such agent: {error}")))?;
    let reason = read_reason(&api, &headers, body).await?;
    let event = match act {
        "suspend" => Governed::act(&ledger, &caller, STREAM, &AgentSuspended { agent, by: None, reason })?,
        _ => Governed::act(&ledger, &caller, STREAM, &AgentResumed { agent, by: None, reason })?,
    };
    Ok(act_answer(StatusCode::OK, &event.append(&api, &ledger).await?, |_| ()))
}

pub(crate) async fn read_reason(api: &Api, headers: &HeaderMap, body: Body) -> Result<Words, Problem> {
    let body = json_bytes(api, headers, body).await?;
    let mut members = Members::of_body(body.as_slice())?;
    let reason = members.require("reason")?;
    members.finish()?;
    Ok(reason)
}

//! `…/policy-cache`: the part of the deciding state that concerns one executor.
//! It is for programs that predict the decisions about its calls.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_governance::{CutProgress, Executor};

use crate::api::Api;
use crate::followers::follow_body::follow_body;
use crate::followers::watcher::{WatchedState, Watcher};
use crate::http::media::{EVENT_STREAM, ListForm, list_form};
use crate::http::query::bad_query;
use crate::http::resume::LEDGER_ID;
use crate::json::{json_of, raw_json};
use crate::problem::{Code, Problem};
use crate::requests::listing::answer_tagged;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at};
use crate::requests::service_event::{PlaceName, governance};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{ExecutorAnswer, PolicyCacheAnswer, paths};

#[utoipa::path(
    get,
    path = paths::POLICY_CACHE,
    tag = "governance",
    operation_id = "showPolicyCache",
    params(
        InLedger,
        ("agent" = Option<String>, Query, description = "The agent whose calls are predicted; an agent's token names none but its own"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What of the state concerns the calls of one executor, in a form of the program's own", body = PolicyCacheAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let executor = take_executor(&request)?;
    request.state(&api).await?;
    let governance = governance(&request.ledger)?;
    let watched = WatchedState::now(&api, &request.ledger, governance)?;
    let begin = WatchedState::begin(&request.ledger, &executor, &request.caller)?;
    // The caller is a part of it: the same address answers another one otherwise.
    let tag = format!("\"c{}.{}.{}.{}\"", watched.position, executor.actor, begin.rules, begin.form);
    let position = watched.position;
    let bytes = api
        .read(move || {
            let state = &watched.copy.state;
            let mut answer = PolicyCacheAnswer {
                ledger: begin.ledger.to_string(),
                position: position.to_string(),
                time: format_time(watched.time),
                governed_time: format_time(state.governed_time()),
                rules: begin.rules,
                form: begin.form,
                executor: ExecutorAnswer { agent: executor.agent.clone(), actor: executor.actor.clone() },
                pieces: Vec::new(),
            };
            let mut progress = CutProgress::default();
            while let Some(piece) = state.next_piece(None, &executor, &mut progress) {
                answer.pieces.push(raw_json(&piece)?);
            }
            json_of(&answer)
        })
        .await?;
    let bytes = api.hold_answer(bytes).await?;
    Ok(answer_tagged(&request, position, &tag, bytes))
}

#[utoipa::path(
    get,
    path = paths::POLICY_CACHE_WATCH,
    tag = "governance",
    operation_id = "watchPolicyCache",
    params(
        InLedger,
        ("agent" = Option<String>, Query, description = "The agent whose calls are predicted; an agent's token names none but its own"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "All of it, then what changes of it, as events: `state` in one or more pieces, `at` half a second after the last word", content_type = "text/event-stream", body = String),
        Refusals,
    )
)]
pub(crate) async fn watch(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let executor = take_executor(&request)?;
    if list_form(&request.headers)? != ListForm::Follow {
        return Err(Problem::new(Code::NotAcceptable, "offered is text/event-stream, which has no end"));
    }
    let head = request.state(&api).await?;
    let ledger = request.ledger;
    let governance = Arc::clone(governance(&ledger)?);
    let id = ledger.id();
    let watcher = Watcher::new(api, request.caller, ledger, governance, executor).await?;
    let mut response = answer_at(&head, EVENT_STREAM, NO_STORE, follow_body(watcher));
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(LEDGER_ID, id);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("authorization"));
    Ok(response)
}

/// Takes the executor that would ask for the calls, as `decide` takes it: an agent's token speaks for that agent alone.
fn take_executor(request: &ReadRequest) -> Result<Executor, Problem> {
    let mut query = request.query()?;
    let named = query.take("agent")?;
    query.finish()?;
    let named =
        named.map(PlaceName::new).transpose().map_err(|error| bad_query("agent", &error.to_string()))?;
    let agent = request.caller.requested_agent(named.as_deref())?.map(str::to_owned);
    Ok(Executor { agent, actor: request.caller.caller().to_owned() })
}

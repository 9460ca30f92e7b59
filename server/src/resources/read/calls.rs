//! `…/calls`: the audit table.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::{CALL_OUTCOMES, CALL_VERDICTS, CallQuery, outcome_word};

use crate::api::Api;
use crate::http::query::take_word;
use crate::problem::{Code, Problem, quoted};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::time_spans::TimeParams;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{CallAnswer, CallList, paths};

/// The model that is asked.
const MODEL: &str = "calls";

#[utoipa::path(
    get,
    path = paths::CALLS,
    tag = "governance",
    operation_id = "listCalls",
    params(
        InLedger,
        ("call" = Option<String>, Query, description = "Only those that had this id: it is another call's after one has ended, and calls that were recorded elsewhere have ids of their own"),
        ("run" = Option<String>, Query, description = "Only those of this run"),
        ("session" = Option<String>, Query, description = "Only those of this session"),
        ("agent" = Option<String>, Query, description = "Only those of this agent"),
        ("actor" = Option<String>, Query, description = "Only those that this actor asked for"),
        ("tool" = Option<String>, Query, description = "Only those of this tool"),
        ("outcome" = Option<String>, Query, description = "Only those of which this came: they ended `ok`, `error`, `timeout`, `interrupted`, `rejected` or `blocked`, or no end is told of them and they are `open`, `pending` while a person is asked, `denied`, `rejected`, `expired` or `withdrawn`"),
        ("verdict" = Option<String>, Query, description = "Only those of which this was said: `allow`, `review`, `deny`; `none` for those of which nothing was"),
        ("reason" = Option<String>, Query, description = "Only those whose last decision has this reason, in one word"),
        ("since" = Option<String>, Query, description = "Only those that happened at this RFC 3339 time or later: the ledger's time for what happened here, their own for calls of an accepted import"),
        ("before" = Option<String>, Query, description = "Only those that happened before this time"),
        ("recorded_since" = Option<String>, Query, description = "Only those recorded at this time or later"),
        ("recorded_before" = Option<String>, Query, description = "Only those recorded before this time"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Calls, the newest first; 20,000 are looked at for a page at most", body = CallList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let outcome = take_word(&mut query, "outcome", &CALL_OUTCOMES.map(outcome_word))?;
    let outcome = CALL_OUTCOMES.into_iter().find(|stored| outcome == Some(outcome_word(stored)));
    let verdict = take_word(&mut query, "verdict", &CALL_VERDICTS)?.map(str::to_owned);
    let mut text = |name: &str| query.take(name).map(|text| text.map(Into::into));
    let mut asked = CallQuery {
        call: text("call")?,
        run: text("run")?,
        session: text("session")?,
        agent: text("agent")?,
        actor: text("actor")?,
        tool: text("tool")?,
        outcome: outcome.map(str::to_owned),
        verdict,
        reason: text("reason")?,
        ..CallQuery::default()
    };
    let times = TimeParams::take(&mut query)?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let between = times.positions(&api, &request).await?;
    (asked.between, asked.from, asked.before) = (between.happened, between.from, between.before);
    (asked.page_end, asked.limit) = (paging.after.and_then(Position::new), paging.limit);
    let found = ask_model(&api, &request, MODEL, move |models| models.calls(&asked)).await?;
    let next = found.next.and_then(|next| PageParams::next(&next.get()));
    let outside = found.outside.map(Into::into);
    let page = CallList { calls: found.calls.into_iter().map(Into::into).collect(), next, outside };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::CALL,
    tag = "governance",
    operation_id = "showCall",
    params(
        InLedger,
        ("call" = String, Path, description = "Its id"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The call that has this id, or had it last", body = CallAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let id = request.names.named.clone().unwrap_or_default();
    let asked = id.clone();
    let (found, position) = ask_model(&api, &request, MODEL, move |models| models.call(&asked)).await?;
    let missing = || {
        Problem::new(Code::NoSuchCall, format!("no call {} is recorded", quoted(&id)))
            .with("position", position)
    };
    written_page_at(&request, position, &CallAnswer::from(found.ok_or_else(missing)?))
}

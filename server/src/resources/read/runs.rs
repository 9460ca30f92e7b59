//! `…/runs`: runs with their states, and their steps.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_projector::{RunQuery, RunState};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::{Code, Problem, quoted};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::requests::time_spans::{Times, first_position_at};
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{RunAnswer, RunList, RunStepList, paths};

/// The model that is asked.
const MODEL: &str = "runs";
/// The states of a run that can be asked for.
const STATES: [RunState; 5] =
    [RunState::Running, RunState::Paused, RunState::Completed, RunState::Failed, RunState::Aborted];

#[utoipa::path(
    get,
    path = paths::RUNS,
    tag = "governance",
    operation_id = "listRuns",
    params(
        InLedger,
        ("state" = Option<String>, Query, description = "Only those that are `running`, `paused`, `completed`, `failed` or `aborted`"),
        ("agent" = Option<String>, Query, description = "Only those of this agent"),
        ("case" = Option<String>, Query, description = "Only those about this case"),
        ("since" = Option<String>, Query, description = "Only those that began at this RFC 3339 time or later"),
        ("before" = Option<String>, Query, description = "Only those that began before this time"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Runs, those that began last first; 20,000 are looked at for a page at most", body = RunList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let state: Option<String> = query.take("state")?.map(Into::into);
    if state.as_ref().is_some_and(|asked| !STATES.iter().any(|state| state.as_str() == asked)) {
        let states = STATES.map(|state| format!("`{}`", state.as_str())).join(", ");
        return Err(bad_query("state", &format!("is none of {states}")));
    }
    let agent = query.take("agent")?.map(Into::into);
    let case = query.take("case")?.map(Into::into);
    let times = Times::take(&mut query, "since", "before")?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let from = match times.since {
        Some(since) => Some(first_position_at(&api, &request, since).await?),
        None => None,
    };
    let (since, begun_before) = (times.since, times.before);
    let before = paging.after.and_then(Position::new);
    let asked = RunQuery { state, agent, case, since, begun_before, from, before, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.runs(&asked)).await?;
    let next = found.next.and_then(|next| PageParams::next(&next.get()));
    let page = RunList { runs: found.runs.into_iter().map(Into::into).collect(), next };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::RUN,
    tag = "governance",
    operation_id = "showRun",
    params(
        InLedger,
        ("run" = String, Path, description = "Its id"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "The run", body = RunAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let id = request.names.named.clone().unwrap_or_default();
    let asked = id.clone();
    let (found, position) = ask_model(&api, &request, MODEL, move |models| models.run(&asked)).await?;
    let run = found.ok_or_else(|| unknown(&id))?;
    written_page_at(&request, position, &RunAnswer::from(run))
}

#[utoipa::path(
    get,
    path = paths::RUN_STEPS,
    tag = "governance",
    operation_id = "listRunSteps",
    params(
        InLedger,
        ("run" = String, Path, description = "Its id"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "The steps of the run, the newest first", body = RunStepList),
        Refusals,
    )
)]
pub(crate) async fn steps(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let id = request.names.named.clone().unwrap_or_default();
    let (asked, before, limit) = (id.clone(), paging.after.and_then(Position::new), paging.limit);
    let found = ask_model(&api, &request, MODEL, move |models| {
        let known = models.run(&asked)?.0.is_some();
        Ok((known, models.run_steps(&asked, before, limit)?))
    });
    let (is_known, found) = found.await?;
    if !is_known {
        return Err(unknown(&id));
    }
    let last = found.items.last().map(|step| step.position).filter(|_| found.more);
    let next = last.and_then(|last| PageParams::next(&last));
    let page = RunStepList { steps: found.items.into_iter().map(Into::into).collect(), next };
    written_page_at(&request, found.position, &page)
}

fn unknown(run: &str) -> Problem {
    Problem::new(Code::NoSuchRun, format!("no run {} is recorded", quoted(run)))
}

//! `…/runs`: runs with their states, and their steps.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, Position, format_time, format_usd};
use bitacora_projector::{RunQuery, RunState, RunStep, RunSummary, StepContent};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::{Code, Problem};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{RunAnswer, RunList, RunStepAnswer, RunStepList, StepContentAnswer, paths};

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
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Runs, those that began last first", body = RunList),
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
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let before = paging.after.and_then(Position::new);
    let asked = RunQuery { state, agent, case, before, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.runs(&asked)).await?;
    let last = found.items.last().map(|run| run.position).filter(|_| found.more);
    let next = last.and_then(|last| PageParams::next(&last));
    let page = RunList { runs: found.items.into_iter().map(answer).collect(), next };
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
    written_page_at(&request, position, &answer(found.ok_or_else(|| unknown(&id))?))
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
    let page = RunStepList { steps: found.items.into_iter().map(step_answer).collect(), next };
    written_page_at(&request, found.position, &page)
}

fn unknown(run: &str) -> Problem {
    Problem::new(Code::NoSuchRun, format!("no run {run} is recorded"))
}

fn answer(run: RunSummary) -> RunAnswer {
    RunAnswer {
        state: run.state.as_str().to_owned(),
        run: run.run,
        overdue: run.overdue,
        why: run.why,
        position: run.position.to_string(),
        time: format_time(Micros(run.time)),
        last: run.last.to_string(),
        last_time: format_time(Micros(run.last_time)),
        kind: run.kind,
        graph: run.graph,
        agent: run.agent,
        case: run.case,
        subtask: run.subtask,
        node: run.node,
        steps: run.steps,
        failed_steps: run.failed_steps,
        calls: run.calls,
        cost_usd: format_usd(run.cost_micro_usd),
        tokens_in: run.tokens_in.to_string(),
        tokens_out: run.tokens_out.to_string(),
        duration_ms: run.duration_ms,
    }
}

fn step_answer(step: RunStep) -> RunStepAnswer {
    RunStepAnswer {
        position: step.position.to_string(),
        time: format_time(Micros(step.time)),
        node: step.node,
        node_type: step.node_type,
        attempt: step.attempt,
        status: step.status,
        last: step.last.to_string(),
        iteration: step.iteration,
        action: step.action,
        error_type: step.error_type,
        input: content(step.input),
        output: content(step.output),
        model: step.model,
        duration_ms: step.duration_ms,
        cost_usd: step.cost_micro_usd.map(|cost| format_usd(cost.into())),
        tokens_in: step.tokens_in,
        tokens_out: step.tokens_out,
    }
}

/// `None` where nothing was told of them.
fn content(told: StepContent) -> Option<StepContentAnswer> {
    let StepContent { sha256, bytes, summary } = told;
    let is_told = sha256.is_some() || bytes.is_some() || summary.is_some();
    is_told.then_some(StepContentAnswer { sha256, bytes, summary })
}

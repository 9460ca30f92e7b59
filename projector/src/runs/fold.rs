//! The fold of events into runs.

use std::borrow::Cow;

use bitacora_vocabulary::{
    EventData as _, RunAborted, RunCompleted, RunFailed, RunOverdue, RunPaused, RunResumed, RunStarted,
    RunStep as StepEvent, ToolRequested,
};
use serde::Deserialize;

use super::content::RunContent;
use super::{RunState, RunStep, RunSummary, StepContent};
use crate::models::{AssuranceMarker, FoldError, FoldEvent, Model, Rows, Tokens, count_or_zero, lenient};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct RunsModel;

/// The runs, by their ids.
pub(super) const RUN: u8 = 1;
/// The ids of runs, by where they are named first.
pub(super) const BEGUN: u8 = 2;
/// Beginnings of runs, by their state.
pub(super) const BY_STATE: u8 = 3;
/// Beginnings of runs, by their agent.
pub(super) const BY_AGENT: u8 = 4;
/// Beginnings of runs, by the case that they are about.
pub(super) const BY_CASE: u8 = 7;
/// The steps of a run, by where they are named first.
pub(super) const STEPS: u8 = 5;
/// The position at which an attempt of a run's node is first named.
const STEP_OF: u8 = 6;

/// The data of any of the events. None has all of these.
#[derive(Deserialize)]
struct RunEventView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    run: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    graph: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    agent: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    case: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    subtask: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    node: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    node_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
    #[serde(default, deserialize_with = "count_or_zero")]
    attempt: u64,
    #[serde(default, deserialize_with = "lenient")]
    iteration: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    action: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    input: Option<RunContent>,
    #[serde(default, deserialize_with = "lenient")]
    output: Option<RunContent>,
    #[serde(default, deserialize_with = "lenient")]
    input_summary: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    summary: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    error_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    tokens: Option<Tokens>,
    #[serde(default, deserialize_with = "lenient")]
    cost_micro_usd: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    duration_ms: Option<u64>,
    #[serde(default)]
    assurance: Option<AssuranceMarker>,
}

impl Model for RunsModel {
    fn name(&self) -> &'static str {
        "runs"
    }

    fn version(&self) -> u32 {
        5
    }

    fn leaving(&self) -> &'static [u8] {
        &[RUN, STEPS]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            RunStarted::KIND,
            StepEvent::KIND,
            RunPaused::KIND,
            RunResumed::KIND,
            RunCompleted::KIND,
            RunFailed::KIND,
            RunAborted::KIND,
            RunOverdue::KIND,
            ToolRequested::KIND,
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let kind = &*event.record.kind;
        if kind == ToolRequested::KIND {
            return called(event, rows);
        }
        let Some(payload) = event.data::<RunEventView<'_>>()? else { return Ok(()) };
        let Some(id) = payload.run.as_deref().or(event.record.run.as_deref()) else { return Ok(()) };
        let (before, mut run) = run_of(event, rows, id, payload.assurance)?;
        match kind {
            RunStarted::KIND => started(event, &mut run, payload),
            StepEvent::KIND => step(event, rows, &mut run, payload)?,
            RunOverdue::KIND => run.overdue = true,
            _ => changed(kind, &mut run, payload),
        }
        store(rows, before.as_ref(), &run)
    }
}

fn called(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let payload = event.requested()?;
    let (run, assurance) =
        payload.map_or((None, None), |payload| (payload.run.as_deref(), payload.assurance));
    let Some(id) = run.or(event.record.run.as_deref()) else { return Ok(()) };
    let (before, mut run) = run_of(event, rows, id, assurance)?;
    run.calls += 1;
    store(rows, before.as_ref(), &run)
}

/// The run as it stood, if it was named before, and as it stands with this event.
fn run_of(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    id: &str,
    assurance: Option<AssuranceMarker>,
) -> Result<(Option<RunSummary>, RunSummary), FoldError> {
    let before = rows.row::<RunSummary>(&rows.key(RUN, &[id]))?;
    let (position, time) = (event.position.get(), event.happened(assurance).0);
    let first = || RunSummary {
        run: id.to_owned(),
        position,
        time,
        kind: "-".to_owned(),
        agent: event.record.agent.as_deref().map(str::to_owned),
        ..RunSummary::default()
    };
    let run = before.clone().unwrap_or_else(first);
    Ok((before, RunSummary { last: position, last_time: time, ..run }))
}

/// Stores a run, and where it is found.
fn store(rows: &mut Rows<'_>, before: Option<&RunSummary>, run: &RunSummary) -> Result<(), FoldError> {
    let position = run.position;
    if before.is_none() {
        rows.put(&rows.key(BEGUN, &[]).at(position), &run.run)?;
    }
    for (table, was, is) in [
        (BY_STATE, before.map(|run| run.state.as_str()), Some(run.state.as_str())),
        (BY_AGENT, before.and_then(|run| run.agent.as_deref()), run.agent.as_deref()),
        (BY_CASE, before.and_then(|run| run.case.as_deref()), run.case.as_deref()),
    ] {
        if was == is {
            continue;
        }
        if let Some(was) = was {
            rows.unpost(rows.key(table, &[was]), position)?;
        }
        if let Some(is) = is {
            rows.post(rows.key(table, &[is]), position)?;
        }
    }
    rows.put(&rows.key(RUN, &[&run.run]), run)?;
    Ok(())
}

fn started(event: &FoldEvent<'_>, run: &mut RunSummary, payload: RunEventView<'_>) {
    run.kind = payload.kind.unwrap_or_else(|| "-".to_owned());
    run.graph = payload.graph;
    run.case = payload.case;
    run.subtask = payload.subtask;
    run.agent =
        payload.agent.or_else(|| event.record.agent.as_deref().map(str::to_owned)).or(run.agent.take());
}

fn changed(kind: &str, run: &mut RunSummary, payload: RunEventView<'_>) {
    run.state = match kind {
        RunPaused::KIND => RunState::Paused,
        RunResumed::KIND => RunState::Running,
        RunCompleted::KIND => RunState::Completed,
        RunFailed::KIND => RunState::Failed,
        _ => RunState::Aborted,
    };
    run.overdue &= matches!(run.state, RunState::Running | RunState::Paused);
    run.why = payload.reason.or(payload.error_type).or(payload.status);
    run.node = payload.node.or(run.node.take());
    run.duration_ms = payload.duration_ms.or(run.duration_ms);
    // The figures of the end are of the whole run, its steps included.
    if let Some(cost) = payload.cost_micro_usd {
        run.cost_micro_usd = cost.into();
    }
    if let Some(tokens) = payload.tokens {
        (run.tokens_in, run.tokens_out) = (tokens.read.into(), tokens.written.into());
    }
}

fn step(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    run: &mut RunSummary,
    payload: RunEventView<'_>,
) -> Result<(), FoldError> {
    let (Some(node), Some(node_type), Some(status)) = (payload.node, payload.node_type, payload.status)
    else {
        return Err(FoldError::Contradiction("a step without a node or a status"));
    };
    let place = rows.key(STEP_OF, &[&run.run, &node, &payload.attempt.to_string()]);
    let known = rows.row::<u64>(&place)?;
    let position = event.position.get();
    let key = rows.key(STEPS, &[&run.run]).at(known.unwrap_or(position));
    let before = rows.row::<RunStep>(&key)?;
    let (time, tokens) = (event.happened(payload.assurance).0, payload.tokens.unwrap_or_default());
    let step = RunStep {
        position: before.as_ref().map_or(position, |step| step.position),
        time: before.as_ref().map_or(time, |step| step.time),
        attempt: payload.attempt,
        last: position,
        // The end of a try need not repeat what its beginning told.
        iteration: payload.iteration.or_else(|| before.as_ref()?.iteration),
        action: payload.action.or_else(|| before.as_ref()?.action.clone()),
        model: payload.model.or_else(|| before.as_ref()?.model.clone()),
        error_type: payload.error_type,
        input: StepContent::merge(
            payload.input,
            payload.input_summary,
            before.as_ref().map(|step| &step.input),
        ),
        output: StepContent::merge(payload.output, payload.summary, before.as_ref().map(|step| &step.output)),
        duration_ms: payload.duration_ms,
        cost_micro_usd: payload.cost_micro_usd,
        tokens_in: tokens.read,
        tokens_out: tokens.written,
        node,
        node_type,
        status,
    };
    count_step(run, before.as_ref(), &step);
    if known.is_none() {
        rows.put(&place, &position)?;
    }
    rows.put(&key, &step)?;
    Ok(())
}

/// Counts a step of a run as an event tells it, in the place of what the events before told of the same step.
fn count_step(run: &mut RunSummary, before: Option<&RunStep>, step: &RunStep) {
    let has_failed = |step: &RunStep| matches!(step.status.as_str(), "error" | "timeout");
    run.steps += u64::from(before.is_none());
    run.retries += u64::from(before.is_none() && step.attempt > 1);
    run.failed_steps += u64::from(has_failed(step));
    run.failed_steps = run.failed_steps.saturating_sub(u64::from(before.is_some_and(has_failed)));
    // The end of a try tells what all of it took. What the run's end told may be less than its steps did.
    let (cost, read, written) =
        before.map_or((0, 0, 0), |step| (step.cost_micro_usd.unwrap_or(0), step.tokens_in, step.tokens_out));
    let replaced = |sum: u128, old: u64, new: u64| (sum + u128::from(new)).saturating_sub(u128::from(old));
    run.cost_micro_usd = replaced(run.cost_micro_usd, cost, step.cost_micro_usd.unwrap_or(0));
    run.tokens_in = replaced(run.tokens_in, read, step.tokens_in);
    run.tokens_out = replaced(run.tokens_out, written, step.tokens_out);
    run.node = Some(step.node.clone());
}

#[cfg(test)]
mod tests {
    use bitacora_api::RunAnswer;

    use super::*;

    #[test]
    fn a_try_after_the_first_one_of_a_node_is_one_retry() {
        let step =
            |attempt, status: &str| RunStep { attempt, status: status.to_owned(), ..RunStep::default() };
        let (failed, begun, ended) = (step(1, "error"), step(2, "started"), step(2, "ok"));
        let mut run = RunSummary::default();
        count_step(&mut run, None, &failed);
        count_step(&mut run, None, &begun);
        count_step(&mut run, Some(&begun), &ended);
        let run = RunAnswer::from(run);
        assert_eq!((run.steps, run.failed_steps, run.retries), (2, 1, 1));
    }
}

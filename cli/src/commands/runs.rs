//! `runs`: runs with their states and steps.

use bitacora_api::{RunAnswer, RunList, RunStepAnswer, RunStepList, StepContentAnswer};
use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::joined_pages;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::{ServiceUse, raw};
use crate::options::time::PastTime;
use crate::rows::{Row, RowList};
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, FieldLines, cells};

#[derive(Debug, Args, Serialize)]
pub(crate) struct RunsArguments {
    /// The run to show with its steps.
    #[serde(skip)]
    run: Option<String>,
    /// Only runs in this state: `running`, `paused`, `completed`, `failed` or `aborted`.
    #[arg(long, conflicts_with = "run")]
    state: Option<String>,
    /// Only runs of this agent.
    #[arg(long, conflicts_with = "run")]
    agent: Option<String>,
    /// Only runs about this case.
    #[arg(long, conflicts_with = "run")]
    case: Option<String>,
    /// Only runs that began at this time or later: 24h, yesterday, 2026-11-20.
    #[arg(long, conflicts_with = "run", value_name = "TIME")]
    since: Option<PastTime>,
    /// Only runs that began before this time.
    #[arg(long, conflicts_with = "run", value_name = "TIME")]
    before: Option<PastTime>,
}

/// A run with its steps, for programs.
#[derive(Serialize)]
struct RunWithSteps<'a> {
    run: &'a RawValue,
    steps: &'a RawValue,
}

pub(crate) fn run(arguments: &RunsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    if let Some(run) = &arguments.run {
        return show(run, context);
    }
    let path = with_query("runs", arguments);
    let is_asked = path != "runs";
    context.list::<RunList>(&path, if is_asked { "there is no such run" } else { "no run is recorded" })
}

impl Row for RunAnswer {
    const HEADINGS: &'static [&'static str] =
        &["began", "state", "steps", "failed", "calls", "USD told", "agent", "kind", "run"];
    const DISPENSABLE: &'static [&'static str] = &["kind", "failed", "calls", "USD told"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::time(&self.time),
            standing(self),
            self.steps,
            self.failed_steps,
            self.calls,
            told(&self.cost_usd).map_or_else(|| "-".into(), Cell::id),
            &self.agent,
            &self.kind,
            Cell::id(&self.run),
        ]
    }
}

fn show(run: &str, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = named("runs", run);
    let steps = format!("{path}/steps");
    let answer = context.get(&path)?;
    if context.is_json() {
        let steps = joined_pages::<RunStepList>(context.service()?, &steps)?;
        let steps = steps.member("steps").unwrap_or("[]");
        let both = RunWithSteps { run: answer.raw()?, steps: raw(steps)? };
        return context.print(&both);
    }
    write(&answer.read()?, &mut context.output)?;
    context.list::<RunStepList>(&steps, "it has no steps")
}

impl Row for RunStepAnswer {
    const HEADINGS: &'static [&'static str] =
        &["position", "began", "status", "round", "try", "ms", "USD", "model", "node", "action", "in", "out"];
    const DISPENSABLE: &'static [&'static str] = &["round", "try", "action", "model", "began", "in"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::id(&self.position),
            Cell::time(&self.time),
            Cell::id(&self.status),
            self.iteration,
            self.attempt,
            self.duration_ms,
            self.cost_usd.as_ref().map_or_else(|| "-".into(), Cell::id),
            &self.model,
            &self.node,
            &self.action,
            content(self.input.as_ref()),
            content(self.output.as_ref()),
        ]
    }
}

/// Returns the summary of contents; else their length, else the beginning of their digest.
fn content(told: Option<&StepContentAnswer>) -> String {
    let Some(told) = told else { return "-".to_owned() };
    let words = told.summary.clone();
    let length = || told.bytes.map(|bytes| format!("{bytes} bytes"));
    let digest = || told.sha256.as_deref().map(|digest| format!("sha256:{digest:.12}"));
    words.or_else(length).or_else(digest).unwrap_or_else(|| "-".to_owned())
}

/// Returns the cost that a run reported. Most report none; the reported costs of their calls are in `costs`.
fn told(cost_usd: &str) -> Option<&str> {
    Some(cost_usd).filter(|cost| *cost != "0")
}

/// Returns the state of a run, with `overdue` where it has reported no end for too long.
fn standing(run: &RunAnswer) -> String {
    if run.overdue { format!("{}, overdue", run.state) } else { run.state.clone() }
}

fn write(run: &RunAnswer, output: &mut Output) -> Result<(), OutputError> {
    let state = standing(run);
    let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    FieldLines::new()
        .with("run", &run.run)
        .with("state", format!("{state}{why}"))
        .with("kind", &run.kind)
        .maybe("graph", run.graph.as_ref())
        .maybe("agent", run.agent.as_ref())
        .maybe("case", run.case.as_ref())
        .maybe("subtask", run.subtask.as_ref())
        .with("began", format!("{} (position {})", run.time, run.position))
        .with("last seen", format!("{} (position {})", run.last_time, run.last))
        .maybe("stands at", run.node.as_ref())
        .maybe("took", run.duration_ms.map(|took| format!("{took} ms")))
        .maybe("cost told, USD", told(&run.cost_usd))
        .with("calls", run.calls)
        .write(output)
}

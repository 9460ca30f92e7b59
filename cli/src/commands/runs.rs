//! `runs`: runs with their states and steps.

use bitacora_api::{RunAnswer, RunList, RunStepList, StepContentAnswer};
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{joined_pages, pages_to_show};
use crate::ledger_access::service::{ServiceClient, with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
pub(crate) struct RunsArguments {
    /// The run to show with its steps.
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
}

pub(crate) fn run(
    arguments: &RunsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    with_read_models(global, |service| match &arguments.run {
        Some(run) => show(run, service, global, output),
        None => list(arguments, service, global, output),
    })?;
    Ok(Exit::Done)
}

fn list(
    arguments: &RunsArguments,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let RunsArguments { state, agent, case, .. } = arguments;
    let asked = [("state", state.as_deref()), ("agent", agent.as_deref()), ("case", case.as_deref())];
    let path = with_query("runs", &asked);
    let Some(pages) = pages_to_show::<RunList>(service, &path, global, output)? else { return Ok(()) };
    let mut table =
        TextTable::new(&["began", "state", "steps", "failed", "calls", "USD told", "agent", "kind", "run"]);
    for run in pages.iter().flat_map(|page| &page.runs) {
        table.row(&[
            &to_the_second(&run.time),
            &standing(run),
            &run.steps.to_string(),
            &run.failed_steps.to_string(),
            &run.calls.to_string(),
            told(&run.cost_usd).unwrap_or("-"),
            run.agent.as_deref().unwrap_or("-"),
            &run.kind,
            &run.run,
        ]);
    }
    let is_asked = asked.iter().any(|(_, part)| part.is_some());
    Ok(table.write(if is_asked { "there is no such run" } else { "no run is recorded" }, output)?)
}

fn show(
    run: &str,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let path = format!("runs/{}", percent_encoded(run));
    let steps = format!("{path}/steps");
    let answer = service.get(&path)?;
    if global.json {
        let steps = joined_pages::<RunStepList>(service, &steps)?;
        let steps = steps.member("steps").unwrap_or("[]");
        return Ok(output.json_text(&JsonObject::new().raw("run", answer.text()).raw("steps", steps).end())?);
    }
    write(&answer.read()?, output)?;
    let Some(pages) = pages_to_show::<RunStepList>(service, &steps, global, output)? else { return Ok(()) };
    let mut table = TextTable::new(&[
        "position", "began", "status", "round", "try", "ms", "USD", "model", "node", "action", "in", "out",
    ]);
    for step in pages.iter().flat_map(|page| &page.steps) {
        table.row(&[
            &step.position,
            &to_the_second(&step.time),
            &step.status,
            &step.iteration.map_or("-".to_owned(), |round| round.to_string()),
            &step.attempt.to_string(),
            &step.duration_ms.map_or("-".to_owned(), |took| took.to_string()),
            step.cost_usd.as_deref().unwrap_or("-"),
            step.model.as_deref().unwrap_or("-"),
            &step.node,
            step.action.as_deref().unwrap_or("-"),
            &content(step.input.as_ref()),
            &content(step.output.as_ref()),
        ]);
    }
    Ok(table.write("it has no steps", output)?)
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

fn write(run: &RunAnswer, output: &mut Output) -> Result<(), CommandError> {
    let state = standing(run);
    let state = run.why.as_ref().map_or_else(|| state.clone(), |why| format!("{state}: {why}"));
    let began = format!("{} (position {})", run.time, run.position);
    let last = format!("{} (position {})", run.last_time, run.last);
    let took = run.duration_ms.map(|took| format!("{took} ms"));
    Ok(write_fields(
        &[
            ("run", Some(&run.run)),
            ("state", Some(&state)),
            ("kind", Some(&run.kind)),
            ("graph", run.graph.as_deref()),
            ("agent", run.agent.as_deref()),
            ("case", run.case.as_deref()),
            ("subtask", run.subtask.as_deref()),
            ("began", Some(&began)),
            ("last seen", Some(&last)),
            ("stands at", run.node.as_deref()),
            ("took", took.as_deref()),
            ("cost told, USD", told(&run.cost_usd)),
            ("calls", Some(&run.calls.to_string())),
        ],
        output,
    )?)
}

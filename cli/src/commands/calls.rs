//! `calls`: the audit table of tool calls.

use std::num::NonZeroUsize;

use bitacora_api::{CallAnswer, CallDecisionAnswer, CallList, OutsideAnswer};
use clap::Args;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::wanted;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::ServiceUse;
use crate::options::time::PastTime;
use crate::rows::{Row, RowTable};
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells};

#[derive(Debug, Args, Serialize)]
pub(crate) struct CallsArguments {
    /// The call to show in full.
    #[serde(skip)]
    call: Option<String>,
    /// Only calls that had this id: one after another, or in several recordings.
    #[arg(long, conflicts_with = "call", value_name = "CALL")]
    #[serde(rename = "call")]
    id: Option<String>,
    /// Only calls of this run.
    #[arg(long, conflicts_with = "call")]
    run: Option<String>,
    /// Only calls of this session.
    #[arg(long, conflicts_with = "call")]
    session: Option<String>,
    /// Only calls of this agent.
    #[arg(long, conflicts_with = "call")]
    agent: Option<String>,
    /// Only calls that this actor requested.
    #[arg(long, conflicts_with = "call")]
    actor: Option<String>,
    /// Only calls of this tool.
    #[arg(long, conflicts_with = "call")]
    tool: Option<String>,
    /// Only calls with this outcome (`ok`, `error`, `timeout`, …) or state: `open`, `pending`, `denied`, `expired`, `withdrawn`.
    #[arg(long, conflicts_with = "call", value_name = "STATUS")]
    outcome: Option<String>,
    /// Only calls with this verdict: `allow`, `review`, `deny`; `none` for calls without one.
    #[arg(long, conflicts_with = "call")]
    verdict: Option<String>,
    /// Only calls whose last decision has this reason, as the list shows it: `policy-deny`, `score-too-low`, …
    #[arg(long, conflicts_with = "call")]
    reason: Option<String>,
    /// Only calls at this time or later: 24h, yesterday, 2026-11-20. Calls of an accepted import have their own time, all others that of the ledger.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    since: Option<PastTime>,
    /// Only calls before this time.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    before: Option<PastTime>,
    /// Only calls recorded at this time or later.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    recorded_since: Option<PastTime>,
    /// Only calls recorded before this time.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    recorded_before: Option<PastTime>,
    /// Show at most this many calls, the newest first.
    #[arg(long, conflicts_with = "call", value_name = "CALLS", default_value = "100", value_parser = wanted)]
    #[serde(skip)]
    limit: NonZeroUsize,
}

pub(crate) fn run(arguments: &CallsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    if let Some(call) = &arguments.call {
        return context.show(&named("calls", call), write);
    }
    let path = with_query("calls", arguments);
    let Some(pages) = context.pages_up_to::<CallList>(&path, arguments.limit)? else { return Ok(Exit::Done) };
    let outside = pages.last().and_then(|page| page.outside.as_ref());
    let empty = none_found(outside, path != "calls", ["there is no such call", "no call is recorded"]);
    TextTable::of(pages.iter().flat_map(|page| &page.calls)).write(&empty, &mut context.output)?;
    if pages.last().is_some_and(|page| page.next.is_some()) {
        context.say("and more: ask for them with --limit, or for fewer with --session, --agent or --tool")?;
    }
    Ok(Exit::Done)
}

/// Returns the text for an empty list: one of `[there is none, none is recorded]`. It counts entries outside of the given time too.
pub(crate) fn none_found(outside: Option<&OutsideAnswer>, is_asked: bool, words: [&str; 2]) -> String {
    let [no_such, none_at_all] = words;
    match outside {
        Some(OutsideAnswer { count: 0, more: false }) => format!("{no_such}, at any time"),
        Some(OutsideAnswer { count, more }) => {
            let at_least = if *more { "at least " } else { "" };
            format!("{no_such} in that time; outside of it: {at_least}{count}")
        }
        None if is_asked => no_such.to_owned(),
        None => none_at_all.to_owned(),
    }
}

impl Row for CallAnswer {
    const HEADINGS: &'static [&'static str] =
        &["position", "time", "agent", "tool", "context", "verdict", "outcome", "call"];
    const DISPENSABLE: &'static [&'static str] = &["context", "agent"];

    fn cells(&self) -> Vec<Cell> {
        let decision = self.decision.as_ref();
        cells![
            Cell::id(&self.position),
            Cell::time(&self.time),
            &self.agent,
            &self.tool,
            decision.and_then(|decision| decision.context.as_deref()),
            decision.map_or_else(|| "-".into(), |decision| Cell::id(&decision.verdict)),
            Cell::id(&self.state),
            Cell::id(&self.call),
        ]
    }
}

fn write(call: &CallAnswer, output: &mut Output) -> Result<(), OutputError> {
    let at = |position: &str, what: String| format!("{what} (position {position})");
    let decision = call.decision.as_ref().map(|decision| {
        let rule = decision.rule.as_ref().map_or(String::new(), |rule| format!(", rule {rule}"));
        at(&decision.position, format!("{}: {}{rule}", decision.verdict, decision.reason_code))
    });
    let approval = call.approval.as_ref().map(|approval| {
        let place = approval.resolved_position.as_deref().unwrap_or(&approval.position);
        let said = approval.resolution.as_deref().unwrap_or("pending");
        let by = approval.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        at(place, format!("{}: {said}{by}", approval.id))
    });
    let outcome = call.outcome.as_ref().map(|outcome| {
        let exit = outcome.exit_code.map_or(String::new(), |code| format!(", exit code {code}"));
        let took = outcome.duration_ms.map_or(String::new(), |took| format!(", {took} ms"));
        let late = if call.late { ", after it was given up" } else { "" };
        let against = if ran_unallowed(call) { ", though it was not allowed" } else { "" };
        at(&outcome.position, format!("{}{exit}{took}{late}{against}", outcome.status))
    });
    let ended = call.outcome.as_ref();
    let artifacts = ended.filter(|ended| !ended.artifacts.is_empty()).map(|ended| {
        let all = ended.artifacts.iter().map(|artifact| {
            let more = [artifact.kind.as_deref(), artifact.digest.as_deref()];
            more.into_iter().flatten().fold(artifact.path.clone(), |told, more| format!("{told} {more}"))
        });
        all.collect::<Vec<_>>().join(", ")
    });
    let earlier = call.earlier.as_ref();
    let earlier =
        earlier.map(|position| format!("another call had this id (position {position}); --id shows all"));
    FieldLines::new()
        .with("call", &call.call)
        .maybe("earlier", earlier)
        .with("asked for", at(&call.position, format!("{}, {} times", call.time, call.asked)))
        .with("tool", &call.tool)
        .maybe("server", call.server.as_ref())
        .maybe("agent", call.agent.as_ref())
        .maybe("actor", call.actor.as_ref())
        .maybe("session", call.session.as_ref())
        .maybe("run", call.run.as_ref())
        .maybe("model", call.model.as_ref())
        .maybe("task type", call.task_type.as_ref())
        .maybe("recorded", call.imported.then(|| format!("elsewhere; here at {}", call.recorded)))
        .maybe("decision", decision)
        .maybe("reason", call.decision.as_ref().map(|decision| &decision.reason))
        .maybe("approval", approval)
        .with("outcome", outcome.unwrap_or_else(|| call.state.clone()))
        .maybe("error", ended.and_then(|ended| ended.error_type.as_ref()))
        .maybe("cost, USD", ended.and_then(|ended| ended.cost_usd.as_ref()))
        .maybe("went in", ended.and_then(|ended| ended.input_summary.as_ref()))
        .maybe("artifacts", artifacts)
        .maybe("came out", ended.and_then(|ended| ended.summary.as_ref()))
        .write(output)
}

/// Returns `true` if the call ran although its decision forbade it.
fn ran_unallowed(call: &CallAnswer) -> bool {
    let is_no = |decision: &CallDecisionAnswer| decision.verdict != "allow" && decision.mode == "enforce";
    let has_run = call.outcome.as_ref().is_some_and(|end| !matches!(&*end.status, "rejected" | "blocked"));
    has_run && call.decision.as_ref().is_some_and(is_no)
}

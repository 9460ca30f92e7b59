//! `calls`: the audit table of tool calls.

use std::num::NonZeroUsize;

use bitacora_api::{CallAnswer, CallDecisionAnswer, CallList, OutsideAnswer};
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{pages_to_show_up_to, wanted};
use crate::ledger_access::service::{with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;

#[derive(Debug, Args)]
pub(crate) struct CallsArguments {
    /// The call to show in full.
    call: Option<String>,
    /// Only calls that had this id: one after another, or in several recordings.
    #[arg(long, conflicts_with = "call", value_name = "CALL")]
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
    /// Only calls with this outcome (`ok`, `error`, `timeout`, …) or state: `open`, `waiting`, `denied`, `expired`, `withdrawn`.
    #[arg(long, conflicts_with = "call", value_name = "STATUS")]
    outcome: Option<String>,
    /// Only calls with this verdict: `allow`, `review`, `deny`; `none` for calls without one.
    #[arg(long, conflicts_with = "call")]
    verdict: Option<String>,
    /// Only calls at this time or later, in RFC 3339. Calls of an accepted import have their own time, all others that of the ledger.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    since: Option<String>,
    /// Only calls before this time.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    before: Option<String>,
    /// Only calls recorded at this time or later.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    recorded_since: Option<String>,
    /// Only calls recorded before this time.
    #[arg(long, conflicts_with = "call", value_name = "TIME")]
    recorded_before: Option<String>,
    /// The most calls to show, the newest first.
    #[arg(long, conflicts_with = "call", value_name = "CALLS", default_value = "100", value_parser = wanted)]
    limit: NonZeroUsize,
}

pub(crate) fn run(
    arguments: &CallsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match &arguments.call {
        Some(call) => show(call, global, output)?,
        None => list(arguments, global, output)?,
    }
    Ok(Exit::Done)
}

fn list(arguments: &CallsArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let query = [
        ("call", arguments.id.as_deref()),
        ("run", arguments.run.as_deref()),
        ("session", arguments.session.as_deref()),
        ("agent", arguments.agent.as_deref()),
        ("actor", arguments.actor.as_deref()),
        ("tool", arguments.tool.as_deref()),
        ("outcome", arguments.outcome.as_deref()),
        ("verdict", arguments.verdict.as_deref()),
        ("since", arguments.since.as_deref()),
        ("before", arguments.before.as_deref()),
        ("recorded_since", arguments.recorded_since.as_deref()),
        ("recorded_before", arguments.recorded_before.as_deref()),
    ];
    with_read_models(global, |service| {
        let (path, most) = (with_query("calls", &query), arguments.limit.get());
        let pages = pages_to_show_up_to::<CallList>(service, &path, most, global, output)?;
        let Some(pages) = pages else { return Ok(()) };
        let mut table =
            TextTable::new(&["position", "time", "agent", "tool", "context", "verdict", "outcome", "call"]);
        pages.iter().flat_map(|page| &page.calls).for_each(|call| row(&mut table, call));
        let is_asked = query.iter().any(|(_, part)| part.is_some());
        let outside = pages.last().and_then(|page| page.outside.as_ref());
        let none = none_found(outside, is_asked, ["there is no such call", "no call is recorded"]);
        table.write(&none, output)?;
        if pages.last().is_some_and(|page| page.next.is_some()) {
            output.line(
                "and more: ask for them with --limit, or for fewer with --session, --agent or --tool",
            )?;
        }
        Ok(())
    })
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

fn row(table: &mut TextTable, call: &CallAnswer) {
    let decision = call.decision.as_ref();
    table.row(&[
        &call.position,
        &to_the_second(&call.time),
        call.agent.as_deref().unwrap_or("-"),
        &call.tool,
        decision.and_then(|decision| decision.context.as_deref()).unwrap_or("-"),
        decision.map_or("-", |decision| &decision.verdict),
        &call.state,
        &call.call,
    ]);
}

fn show(call: &str, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = format!("calls/{}", percent_encoded(call));
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        Ok(write(&answer.read()?, output)?)
    })
}

fn write(call: &CallAnswer, output: &mut Output) -> Result<(), crate::terminal::output::OutputError> {
    let at = |position: &str, what: String| format!("{what} (position {position})");
    let decision = call.decision.as_ref().map(|decision| {
        let rule = decision.rule.as_ref().map_or(String::new(), |rule| format!(", rule {rule}"));
        at(&decision.position, format!("{}: {}{rule}", decision.verdict, decision.reason_code))
    });
    let approval = call.approval.as_ref().map(|approval| {
        let place = approval.resolved_position.as_deref().unwrap_or(&approval.position);
        let said = approval.resolution.as_deref().unwrap_or("waits");
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
    let outcome = outcome.unwrap_or_else(|| call.state.clone());
    let recorded = call.imported.then(|| format!("elsewhere; here at {}", call.recorded));
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
    write_fields(
        &[
            ("call", Some(&call.call)),
            ("earlier", earlier.as_deref()),
            ("asked for", Some(&at(&call.position, format!("{}, {} times", call.time, call.asked)))),
            ("tool", Some(&call.tool)),
            ("server", call.server.as_deref()),
            ("agent", call.agent.as_deref()),
            ("actor", call.actor.as_deref()),
            ("session", call.session.as_deref()),
            ("run", call.run.as_deref()),
            ("model", call.model.as_deref()),
            ("task type", call.task_type.as_deref()),
            ("recorded", recorded.as_deref()),
            ("decision", decision.as_deref()),
            ("reason", call.decision.as_ref().map(|decision| decision.reason.as_str())),
            ("approval", approval.as_deref()),
            ("outcome", Some(&outcome)),
            ("error", ended.and_then(|ended| ended.error_type.as_deref())),
            ("cost, USD", ended.and_then(|ended| ended.cost_usd.as_deref())),
            ("went in", ended.and_then(|ended| ended.input_summary.as_deref())),
            ("artifacts", artifacts.as_deref()),
            ("came out", ended.and_then(|ended| ended.summary.as_deref())),
        ],
        output,
    )
}

/// Returns `true` if the call ran although its decision forbade it.
fn ran_unallowed(call: &CallAnswer) -> bool {
    let is_no = |decision: &CallDecisionAnswer| decision.verdict != "allow" && decision.mode == "enforce";
    let has_run = call.outcome.as_ref().is_some_and(|end| !matches!(&*end.status, "rejected" | "blocked"));
    has_run && call.decision.as_ref().is_some_and(is_no)
}

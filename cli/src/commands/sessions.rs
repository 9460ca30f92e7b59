//! `sessions`: sessions with their agents, programs, times and results.

use std::num::NonZeroUsize;

use bitacora_api::{SessionAnswer, SessionCallsAnswer, SessionList, SessionShown};
use clap::{Args, Subcommand};

use crate::commands::calls::none_found;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{pages_to_show_up_to, wanted};
use crate::ledger_access::service::{with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List sessions, the newest first (default).
    List(ListArguments),
    /// Show one session in full.
    Show {
        /// The session's id.
        session: String,
    },
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only sessions of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only sessions that this program ran.
    #[arg(long, value_name = "NAME")]
    harness: Option<String>,
    /// Only sessions in this state: `open` or `ended`.
    #[arg(long)]
    state: Option<String>,
    /// Only sessions begun at this time or later, in RFC 3339; those of an accepted import by their own time.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sessions begun before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Only sessions first named in the ledger at this time or later.
    #[arg(long, value_name = "TIME")]
    recorded_since: Option<String>,
    /// Only sessions first named in the ledger before this time.
    #[arg(long, value_name = "TIME")]
    recorded_before: Option<String>,
    /// The most sessions to show, the newest first.
    #[arg(long, value_name = "SESSIONS", default_value = "100", value_parser = wanted)]
    limit: NonZeroUsize,
}

pub(crate) fn run(
    arguments: &SessionsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match &arguments.command {
        Some(SessionsCommand::Show { session }) => show(session, global, output)?,
        Some(SessionsCommand::List(arguments)) => list(arguments, global, output)?,
        None => list(&arguments.list, global, output)?,
    }
    Ok(Exit::Done)
}

fn list(arguments: &ListArguments, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let query = [
        ("agent", arguments.agent.as_deref()),
        ("harness", arguments.harness.as_deref()),
        ("state", arguments.state.as_deref()),
        ("since", arguments.since.as_deref()),
        ("before", arguments.before.as_deref()),
        ("recorded_since", arguments.recorded_since.as_deref()),
        ("recorded_before", arguments.recorded_before.as_deref()),
    ];
    with_read_models(global, |service| {
        let (path, most) = (with_query("sessions", &query), arguments.limit.get());
        let pages = pages_to_show_up_to::<SessionList>(service, &path, most, global, output)?;
        let Some(pages) = pages else { return Ok(()) };
        let mut table = TextTable::new(&[
            "began",
            "last seen",
            "state",
            "calls",
            "denied",
            "failed",
            "USD",
            "agent",
            "harness",
            "session",
        ]);
        pages.iter().flat_map(|page| &page.sessions).for_each(|session| row(&mut table, session));
        let is_asked = query.iter().any(|(_, part)| part.is_some());
        let outside = pages.last().and_then(|page| page.outside.as_ref());
        let none = none_found(outside, is_asked, ["there is no such session", "no session is recorded"]);
        table.write(&none, output)?;
        if pages.last().is_some_and(|page| page.next.is_some()) {
            output.line("and more: ask for them with --limit, or for fewer with --agent or --since")?;
        }
        Ok(())
    })
}

fn row(table: &mut TextTable, session: &SessionAnswer) {
    table.row(&[
        &to_the_second(&session.time),
        &to_the_second(&session.last_time),
        &session.state,
        &session.calls.all.to_string(),
        &session.calls.denied.to_string(),
        &(session.calls.error + session.calls.timeout).to_string(),
        cost(session),
        session.agent.as_deref().unwrap_or("-"),
        session.harness.as_deref().unwrap_or("-"),
        &session.session,
    ]);
}

/// Returns the session's cost; `-` where no call reported one.
fn cost(session: &SessionAnswer) -> &str {
    let spending = &session.spending;
    let is_untold = spending.cost_usd == "0" && spending.without_cost > 0;
    if is_untold { "-" } else { &spending.cost_usd }
}

fn show(session: &str, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let path = format!("sessions/{}", percent_encoded(session));
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let shown: SessionShown = answer.read()?;
        write(&shown.session, output)?;
        if shown.newest_runs.is_empty() {
            return Ok(());
        }
        let mut table = TextTable::new(&["position", "run"]);
        for run in &shown.newest_runs {
            table.row(&[&run.position, &run.run]);
        }
        Ok(table.write("it names no run", output)?)
    })
}

fn write(session: &SessionAnswer, output: &mut Output) -> Result<(), OutputError> {
    let at = |time: &str, position: &str| format!("{time} (position {position})");
    let harness = session.harness.as_ref().map(|harness| match &session.version {
        Some(version) => format!("{harness} {version}"),
        None => harness.clone(),
    });
    let said = if session.started.is_some() { "" } else { ", which it does not say itself" };
    let began = format!("{}{said}", at(&session.time, &session.position));
    let ended = match &session.ended {
        Some(end) => format!("{}: {}", at(&end.time, &end.position), end.reason),
        None => "not as far as is recorded".to_owned(),
    };
    let told = session.ended.as_ref().and_then(|end| end.totals.as_ref()).map(|totals| {
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let cost = totals.cost_usd.as_deref().unwrap_or("?");
        format!("{} calls, {} turns, {cost} USD", number(totals.calls), number(totals.turns))
    });
    let (calls, approvals, spent) = (&session.calls, &session.approvals, &session.spending);
    let said = format!("{} allowed, {} for review, {} denied", calls.allowed, calls.reviewed, calls.denied);
    let came = came_of(calls);
    let asked = format!(
        "{}: {} given, {} refused, {} lapsed, {} waiting",
        approvals.asked, approvals.given, approvals.refused, approvals.lapsed, approvals.waiting
    );
    write_fields(
        &[
            ("session", Some(&session.session)),
            ("state", Some(&session.state)),
            ("began", Some(&began)),
            ("ended", Some(&ended)),
            ("last seen", Some(&at(&session.last_time, &session.last))),
            ("harness", harness.as_deref()),
            ("model", session.model.as_deref()),
            ("agent", session.agent.as_deref()),
            ("actor", session.actor.as_deref()),
            ("cwd", session.cwd.as_deref()),
            ("recorded", session.imported.then_some("elsewhere")),
            ("events", Some(&session.events.to_string())),
            ("turns", Some(&session.turns.to_string())),
            ("calls", Some(&calls.all.to_string())),
            ("was said", Some(&said)),
            ("came of it", Some(&came)),
            ("approvals", Some(&asked)),
            ("gaps", Some(&session.gaps.to_string())),
            ("cost, USD", Some(cost(session))),
            ("tokens", Some(&format!("{} in, {} out", spent.tokens_in, spent.tokens_out))),
            ("by its own word", told.as_deref()),
            ("runs", Some(&session.runs.to_string())),
        ],
        output,
    )
}

fn came_of(calls: &SessionCallsAnswer) -> String {
    let parts = [
        (calls.ok, "ok"),
        (calls.error, "error"),
        (calls.timeout, "timeout"),
        (calls.interrupted, "interrupted"),
        (calls.rejected, "rejected"),
        (calls.blocked, "blocked"),
        (calls.stopped, "stopped"),
        (calls.lapsed, "lapsed"),
        (calls.waiting, "waiting"),
        (calls.open, "open"),
    ];
    parts.map(|(count, word)| format!("{count} {word}")).join(", ")
}

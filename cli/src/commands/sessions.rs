//! `sessions`: sessions with their agents, programs, times and results.

use std::num::NonZeroUsize;

use bitacora_api::{SessionAnswer, SessionCallsAnswer, SessionList, SessionRunAnswer, SessionShown};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::commands::calls::none_found;
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

#[derive(Debug, Args, Serialize)]
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
    /// Only sessions begun at this time or later: 24h, yesterday, 2026-11-20; those of an accepted import by their own time.
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Only sessions begun before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<PastTime>,
    /// Only sessions first named in the ledger at this time or later.
    #[arg(long, value_name = "TIME")]
    recorded_since: Option<PastTime>,
    /// Only sessions first named in the ledger before this time.
    #[arg(long, value_name = "TIME")]
    recorded_before: Option<PastTime>,
    /// Show at most this many sessions, the newest first.
    #[arg(long, value_name = "SESSIONS", default_value = "100", value_parser = wanted)]
    #[serde(skip)]
    limit: NonZeroUsize,
}

pub(crate) fn run(arguments: &SessionsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    match &arguments.command {
        Some(SessionsCommand::Show { session }) => context.show(&named("sessions", session), show),
        Some(SessionsCommand::List(arguments)) => list(arguments, context),
        None => list(&arguments.list, context),
    }
}

fn list(arguments: &ListArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("sessions", arguments);
    let Some(pages) = context.pages_up_to::<SessionList>(&path, arguments.limit)? else {
        return Ok(Exit::Done);
    };
    let outside = pages.last().and_then(|page| page.outside.as_ref());
    let words = ["there is no such session", "no session is recorded"];
    let empty = none_found(outside, path != "sessions", words);
    TextTable::of(pages.iter().flat_map(|page| &page.sessions)).write(&empty, &mut context.output)?;
    if pages.last().is_some_and(|page| page.next.is_some()) {
        context.say("and more: ask for them with --limit, or for fewer with --agent or --since")?;
    }
    Ok(Exit::Done)
}

impl Row for SessionAnswer {
    const HEADINGS: &'static [&'static str] =
        &["began", "last seen", "state", "calls", "denied", "failed", "USD", "agent", "harness", "session"];
    const DISPENSABLE: &'static [&'static str] = &["last seen", "harness"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::time(&self.time),
            Cell::time(&self.last_time),
            Cell::id(&self.state),
            self.calls.all,
            self.calls.denied,
            self.calls.ends.error + self.calls.ends.timeout,
            Cell::id(cost(self)),
            &self.agent,
            &self.harness,
            Cell::id(&self.session),
        ]
    }
}

/// Returns the session's cost; `-` where no call reported one.
fn cost(session: &SessionAnswer) -> &str {
    let spending = &session.spending;
    let is_untold = spending.cost_usd == "0" && spending.without_cost > 0;
    if is_untold { "-" } else { &spending.cost_usd }
}

fn show(shown: &SessionShown, output: &mut Output) -> Result<(), OutputError> {
    write(&shown.session, output)?;
    if shown.newest_runs.is_empty() {
        return Ok(());
    }
    TextTable::of(&shown.newest_runs).write("it names no run", output)
}

impl Row for SessionRunAnswer {
    const HEADINGS: &'static [&'static str] = &["position", "run"];

    fn cells(&self) -> Vec<Cell> {
        cells![Cell::id(&self.position), Cell::id(&self.run)]
    }
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
    let asked = format!(
        "{}: {} given, {} refused, {} lapsed, {} pending",
        approvals.asked, approvals.given, approvals.refused, approvals.lapsed, approvals.pending
    );
    FieldLines::new()
        .with("session", &session.session)
        .with("state", &session.state)
        .with("began", began)
        .with("ended", ended)
        .with("last seen", at(&session.last_time, &session.last))
        .maybe("harness", harness)
        .maybe("model", session.model.as_ref())
        .maybe("agent", session.agent.as_ref())
        .maybe("actor", session.actor.as_ref())
        .maybe("cwd", session.cwd.as_ref())
        .maybe("recorded", session.imported.then_some("elsewhere"))
        .with("events", session.events)
        .with("turns", session.turns)
        .with("calls", calls.all)
        .with("was said", said)
        .with("came of it", came_of(calls))
        .with("approvals", asked)
        .with("gaps", session.gaps)
        .with("cost, USD", cost(session))
        .with("tokens", format!("{} in, {} out", spent.tokens_in, spent.tokens_out))
        .maybe("by its own word", told)
        .with("runs", session.runs)
        .write(output)
}

fn came_of(calls: &SessionCallsAnswer) -> String {
    let parts = [
        (calls.ends.ok, "ok"),
        (calls.ends.error, "error"),
        (calls.ends.timeout, "timeout"),
        (calls.ends.interrupted, "interrupted"),
        (calls.ends.rejected, "rejected"),
        (calls.ends.blocked, "blocked"),
        (calls.stopped, "stopped"),
        (calls.lapsed, "lapsed"),
        (calls.pending, "pending"),
        (calls.open, "open"),
    ];
    parts.map(|(count, word)| format!("{count} {word}")).join(", ")
}

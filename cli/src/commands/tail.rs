//! `tail`: the newest events and those to come of a service; or the contents of a folder.

mod writer;

use std::io::{self, IsTerminal, Write};
use std::str::FromStr;

use bitacora_formats::{After, Position};
use bitacora_ledger::{Ledger, ReadError, ReadFrom, ReadQuery};
use clap::{Args, ValueEnum};

use self::writer::TailWriter;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::access::{Access, AccessError, event_loop};
use crate::ledger_access::each_line::MAX_LINE_BYTES;
use crate::ledger_access::interrupt::{self, InterruptError, Interrupts};
use crate::ledger_access::line::{AnswerLine, event_line, read_line};
use crate::ledger_access::read_failure::ReadFailure;
use crate::ledger_access::token_advice::token_advice;
use crate::options::filters::Filters;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use bitacora_client::{ClientError, Connection, FollowError, FollowItem, FollowStream, Refusal};

/// The default number of past events.
const DEFAULT_LAST_EVENTS: u16 = 10;
/// The most past events: they are held until the first one is shown.
const MAX_LAST_EVENTS: i64 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct TailArguments {
    /// Begin with this many of the last matching events. [default: 10]
    #[arg(short = 'n', long, value_name = "EVENTS", value_parser = clap::value_parser!(u16).range(0..=MAX_LAST_EVENTS))]
    last: Option<u16>,
    /// Begin with the event at this position, or at the `start`.
    #[arg(long, value_name = "POSITION|start", conflicts_with = "last")]
    from: Option<TailStart>,
    /// Begin after this position, where an earlier tail ended.
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["last", "from"])]
    after: Option<After>,
    /// End after the last event that is durable now.
    #[arg(long)]
    until_caught_up: bool,
    /// Colour the lines; `auto` does so on a terminal without NO_COLOR.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(flatten)]
    filters: Filters,
}

/// The beginning of a tail: a position, or the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TailStart(After);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl FromStr for TailStart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "start" {
            return Ok(Self(After::START));
        }
        let position: Position = text.parse().map_err(|error| format!("{error}, nor `start`"))?;
        Ok(Self(After::new(position.get() - 1)))
    }
}

/// The reason why it did not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TailFailure {
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    #[error(transparent)]
    Last(#[from] ReadFailure),
    #[error("{}; go on with --after {position}", printable(what))]
    OnTheWay { what: String, position: After },
    #[error(transparent)]
    Follow(FollowError),
    #[error("the stream ended after position {position}: {source}")]
    Ended { position: After, source: ClientError },
}

impl From<FollowError> for TailFailure {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Client(error) => Self::Client(error),
            FollowError::Failed { what, position } => Self::OnTheWay { what, position },
            error => Self::Follow(error),
        }
    }
}

impl CommandFailure for TailFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Last(failure) => failure.exit(),
            Self::Client(ClientError::Refused(Refusal { problem, .. }))
                if matches!(problem.status, 401 | 403) =>
            {
                Exit::Refused
            }
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    arguments: &TailArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let access = Access::open_for_reading(global)?;
    let mut writer = TailWriter { output, as_json: global.json, coloured: arguments.color.applies() };
    interrupt::end_soon_after_one().map_err(AccessError::Runtime)?;
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        match access {
            Access::Service(client) => tokio::select! {
                done = follow(arguments, &global.ledger, client, &mut writer) => done,
                () = interrupts.next() => Err(InterruptError.into()),
            },
            Access::Folder(folder) => tokio::select! {
                done = show_folder(arguments, &folder.ledger, &mut writer) => done,
                () = interrupts.next() => Err(InterruptError.into()),
            },
        }
    })?;
    Ok(Exit::Done)
}

impl ColorChoice {
    fn applies(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                io::stdout().is_terminal() && !unwanted
            }
        }
    }
}

impl TailArguments {
    /// Returns the position to begin after, unless that depends on the ledger's end.
    fn beginning(&self) -> Option<After> {
        self.from.map(|from| from.0).or(self.after)
    }

    fn last(&self) -> u16 {
        self.last.unwrap_or(DEFAULT_LAST_EVENTS)
    }
}

async fn follow(
    arguments: &TailArguments,
    ledger: &bitacora_formats::LedgerName,
    mut client: Connection,
    writer: &mut TailWriter<'_>,
) -> Result<(), CommandError> {
    let (path, filters) = (format!("/v1/ledgers/{ledger}/events"), arguments.filters.to_query().join("&"));
    let after = match arguments.beginning() {
        Some(after) => after,
        None => show_last(arguments.last(), &format!("{path}?{filters}"), &mut client, writer).await?,
    };
    let following = FollowStream::past(client, &path, &filters, after).map_err(TailFailure::from)?;
    show_following(following, arguments.until_caught_up, writer).await
}

/// Shows new events, across the service's restarts: each once, in order.
async fn show_following(
    mut following: FollowStream,
    until_caught_up: bool,
    writer: &mut TailWriter<'_>,
) -> Result<(), CommandError> {
    loop {
        if !following.has_more() {
            writer.output.flush()?;
        }
        let position = following.seen();
        let next = following.next().await.map_err(|error| match error {
            FollowError::Client(source) if following.has_begun() => TailFailure::Ended { position, source },
            error => error.into(),
        });
        match next? {
            FollowItem::Event { mut line, .. } => {
                line.push(b'\n');
                writer.event(&line)?;
            }
            FollowItem::CaughtUp { .. } if until_caught_up => return Ok(writer.output.flush()?),
            FollowItem::CaughtUp { .. } => {}
            FollowItem::Away { why } => {
                tell(&format!("{}; coming back past position {}", printable(&why), following.seen()));
            }
            FollowItem::Back => tell("the service is back"),
        }
    }
}

/// Shows the last events that match; returns the position up to which everything was looked at.
async fn show_last(
    count: u16,
    path: &str,
    client: &mut Connection,
    writer: &mut TailWriter<'_>,
) -> Result<After, CommandError> {
    // One is asked for in any case: its answer tells where the ledger stands.
    let path = format!("{path}&dir=backward&limit={}", count.max(1));
    let mut answer = client.get(&path, "application/x-ndjson").await.map_err(TailFailure::from)?;
    let cut = || CommandError::from(ReadFailure::Cut { position: "0".to_owned() });
    let strange = |client: &Connection| CommandError::from(TailFailure::from(client.strange()));
    let (mut lines, mut unread) = (Vec::new(), Vec::new());
    loop {
        let piece = answer.next().await.ok().flatten().ok_or_else(cut)?;
        unread.extend_from_slice(&piece);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let rest = unread.split_off(end + 1);
            let line = std::mem::replace(&mut unread, rest);
            match read_line(&line) {
                Some(AnswerLine::Event { .. }) => lines.push(line),
                Some(AnswerLine::End { position: Some(position) }) => {
                    for line in lines.iter().take(count.into()).rev() {
                        writer.event(line)?;
                    }
                    writer.output.flush()?;
                    return position.parse().map_err(|_| strange(client));
                }
                Some(AnswerLine::Error { what, code }) => {
                    let what = printable(&what);
                    return Err(ReadFailure::OnTheWay { what, position: "0".to_owned(), code }.into());
                }
                Some(AnswerLine::End { position: None }) | None => return Err(strange(client)),
            }
        }
        if unread.len() > MAX_LINE_BYTES {
            return Err(strange(client));
        }
    }
}

/// Shows a folder as it stands. To follow, ask the service that adds to it.
async fn show_folder(
    arguments: &TailArguments,
    ledger: &Ledger,
    writer: &mut TailWriter<'_>,
) -> Result<(), CommandError> {
    let filter = arguments.filters.to_filter();
    let until = Some(ledger.head().position);
    let mut query = ReadQuery { from: ReadFrom::Before(None), until, limit: usize::MAX, filter };
    let failed = |error: ReadError| CommandError::from(ReadFailure::from(error));
    match arguments.beginning() {
        Some(after) => {
            let mut next = Some(ReadFrom::After(after));
            while let Some(from) = next {
                query.from = from;
                let page = ledger.read(&query).map_err(failed)?;
                for stored in &page.events {
                    writer.event(&event_line(stored))?;
                }
                writer.output.flush()?;
                next = page.next;
                // A page is read without a pause; here an interruption is heard.
                tokio::task::yield_now().await;
            }
        }
        None => {
            let (mut lines, wanted) = (Vec::new(), usize::from(arguments.last()));
            let mut next = Some(query.from);
            while let Some(from) = next.filter(|_| lines.len() < wanted) {
                (query.from, query.limit) = (from, wanted - lines.len());
                let page = ledger.read(&query).map_err(failed)?;
                lines.extend(page.events.iter().map(event_line));
                next = page.next;
                tokio::task::yield_now().await;
            }
            for line in lines.iter().rev() {
                writer.event(line)?;
            }
            writer.output.flush()?;
        }
    }
    if !arguments.until_caught_up {
        tell("nobody serves this folder, so nothing more comes; with --url a service is followed");
    }
    Ok(())
}

/// Writes a notice to stderr, which is not part of the result.
fn tell(what: &str) {
    let _unheard = writeln!(io::stderr(), "bitacora: {what}").is_err();
}

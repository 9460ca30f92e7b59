//! `import`: external recordings into a ledger, through the service or in its folder; each event once.

mod flow;
mod shown;

use std::io;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bitacora_formats::Micros;
use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_ledger::CloseError;
use clap::Args;

use self::flow::{Flow, ToldAs};
use self::shown::Shown;
use crate::access::{Access, AccessError, event_loop};
use crate::append_retry::Miss;
use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::import::{
    FilesError, Format, LineMapping, Pointer, Reading, Report, ReportError, ReportPlace, SourceFile, Tally,
    Template, find, home_transcripts,
};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::progress::ImportBar;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Files, or folders with .jsonl and .ndjson files; plain, or packed with zstd or gzip; `-` is stdin. [default: the
    /// transcripts in ~/.claude/projects]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The format of the files. [default: detected from their contents]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write lines that made no event to this file as JSON objects, at the import's end; only an earlier report is replaced.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The most events of a request.
    #[arg(long, value_name = "EVENTS", default_value_t = MAX_REQUEST_EVENTS as u16,
        value_parser = clap::value_parser!(u16).range(1..=MAX_REQUEST_EVENTS as i64))]
    batch: u16,
    /// Count this import towards trust at once; refused if anything was not imported. `imports` shows what waiting imports would change.
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    mapping: MappingArguments,
}

/// The mapping of any lines of JSON to events. TEXT may hold `{place}`; a PLACE is a member, a path `a.b`, or a JSON pointer `/a/b`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Mapping of any lines of JSON; {place} in TEXT stands for what is there")]
pub(crate) struct MappingArguments {
    /// The events' type.
    #[arg(long = "type", value_name = "TEXT")]
    kind: Option<Template>,
    /// The events' stream; for CloudEvents, the stream of events without one.
    #[arg(long, value_name = "TEXT")]
    stream: Option<String>,
    /// The events' source.
    #[arg(long, value_name = "TEXT")]
    source: Option<Template>,
    /// The identity of a line: one place or several, joined by `:`. [default: the file and the line's number]
    #[arg(long, value_name = "PLACE", value_delimiter = ',')]
    id_from: Vec<Pointer>,
    /// The time of the event: RFC 3339, or a number since 1970 in s, ms, µs or ns.
    #[arg(long, value_name = "PLACE")]
    time_from: Option<Pointer>,
    /// The events' actor.
    #[arg(long, value_name = "PLACE")]
    actor_from: Option<Pointer>,
    /// The events' agent.
    #[arg(long, value_name = "PLACE")]
    agent_from: Option<Pointer>,
    /// The events' session.
    #[arg(long, value_name = "PLACE")]
    session_from: Option<Pointer>,
    /// The events' run.
    #[arg(long, value_name = "PLACE")]
    run_from: Option<Pointer>,
    /// The events' tool call.
    #[arg(long, value_name = "PLACE")]
    call_from: Option<Pointer>,
}

/// The reason why not everything was imported. Events acknowledged before stay, and the same command resumes from there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportFailure {
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("--type and the flags beside it map any lines of JSON; leave them out, or say --format lines")]
    Mapping,
    #[error("--stream: {0}")]
    Stream(<Template as std::str::FromStr>::Err),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error("--report: {0}; the import did not go on, run it again to complete it")]
    Reporting(io::Error),
    #[error("{0}; what was acknowledged stays, run the same import again to go on")]
    Missed(Box<Miss>),
    #[error("the reading thread ended early; run the same import again to go on")]
    Reading,
    #[error(
        "not everything was imported, and so nothing was accepted; mend what was rejected and run it again"
    )]
    NotAccepted,
    #[error("{0}")]
    Unreadable(String),
    #[error(transparent)]
    Close(#[from] CloseError),
}

impl ImportFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Mapping | Self::Stream(_) | Self::Report(ReportError::Source { .. }) => Exit::Usage,
            Self::Missed(miss) => miss.exit(),
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    arguments: &ImportArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let began = Instant::now();
    let reading = arguments.mapping.reading(&arguments.paths, arguments.format, arguments.batch.into())?;
    let mapping = format!("import/1{}", reading.lines.flags());
    let place = |path: &PathBuf| ReportPlace::check(path, &reading.files);
    let place = arguments.report.as_ref().map(place).transpose().map_err(ImportFailure::from)?;
    let bytes = reading.files.iter().map(|file| file.bytes).sum();
    let mut access = Access::open(global)?;
    // Last of all: whatever is wrong leaves no file.
    let report = place.map(|place| place.begin()).transpose().map_err(ImportFailure::from)?;
    let (report, listing) = report.unzip();
    let tally = Tally { report: listing, ..Tally::default() };
    let told = ToldAs { mapping: &mapping, accept: arguments.accept };
    let mut flow = Flow::new(ImportBar::new(bytes));
    let ended = event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let before = access.stored_bytes(&global.ledger).await;
        let has_answered = before.is_some();
        let way = (&access, &global.ledger);
        let ended = flow.run(reading, tally, way, &told, has_answered, &mut interrupts).await;
        let after = access.stored_bytes(&global.ledger).await;
        flow.landed.stored = after.zip(before).and_then(|(after, before)| after.checked_sub(before));
        ended
    });
    flow.clear();
    let closed = access.end();
    let tally = flow.tally.take();
    // Of an import that did not come to its end there is none, and what was there stays.
    let reported = report.filter(|_| tally.is_some()).map_or(Ok(()), Report::finish);
    let path = arguments.report.as_ref().filter(|_| reported.is_ok());
    let path = path.map(|path| path.display().to_string());
    let shown = Shown { tally: tally.as_ref(), landed: &flow.landed, elapsed: began.elapsed(), report: path };
    // Acknowledged events are reported also after a failure.
    if global.json {
        output.json(&shown.to_json())?;
    } else {
        shown.lines().into_iter().try_for_each(|line| output.line(line))?;
    }
    ended?;
    closed.map_err(ImportFailure::from)?;
    reported.map_err(ImportFailure::from)?;
    if let Some(fault) = tally.as_ref().and_then(shown::fault) {
        return Err(fault.into());
    }
    if arguments.accept && !flow.landed.accepted {
        return Err(ImportFailure::NotAccepted.into());
    }
    Ok(Exit::Done)
}

impl MappingArguments {
    /// Returns the reader of these files. Their contents decide the format where none is named.
    pub(crate) fn reading(
        &self,
        paths: &[PathBuf],
        format: Option<Format>,
        batch_events: usize,
    ) -> Result<Reading, ImportFailure> {
        let Self { kind, stream, source, id_from, time_from, .. } = self;
        let Self { actor_from, agent_from, session_from, run_from, call_from, .. } = self;
        let places = [time_from, actor_from, agent_from, session_from, run_from, call_from];
        let is_mapped = kind.is_some()
            || source.is_some()
            || !id_from.is_empty()
            || places.into_iter().any(Option::is_some);
        let format = match format {
            None if is_mapped => Some(Format::Lines),
            None if paths.is_empty() => Some(Format::ClaudeCode),
            Some(format) if is_mapped && format != Format::Lines => return Err(ImportFailure::Mapping),
            format => format,
        };
        let template = || stream.as_deref().map(str::parse).transpose().map_err(ImportFailure::Stream);
        let stream_template = if format == Some(Format::Lines) { template()? } else { None };
        let lines = LineMapping {
            kind: kind.clone(),
            stream: stream_template,
            source: source.clone(),
            id: id_from.clone(),
            time: time_from.clone(),
            actor: actor_from.clone(),
            agent: agent_from.clone(),
            session: session_from.clone(),
            run: run_from.clone(),
            call: call_from.clone(),
        };
        let files = find_files(paths)?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Reading {
            files,
            format,
            stream: stream.clone(),
            lines,
            batch_events,
            now: Micros(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)),
        })
    }
}

fn find_files(paths: &[PathBuf]) -> Result<Vec<SourceFile>, FilesError> {
    if paths.is_empty() { find(&[home_transcripts()?]) } else { find(paths) }
}

//! `import`: external recordings into a ledger, through the service or in its folder; each event once.

mod report;
mod target;

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_import::{
    Format, ImportDescription, ImportError, ImportFlow, ImportSummary, ImportTally, ReportError, ReportPlace,
    fault,
};
use bitacora_ledger::CloseError;
use clap::{Args, ValueEnum};

use self::report::Report;
use self::target::OpenedTarget;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::input_file;
use crate::ledger_access::access::{Access, AccessError, event_loop};
use crate::ledger_access::append_retry::Miss;
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::options::global::Global;
use crate::options::mapping_arguments::MappingArguments;
use crate::terminal::output::{Output, printable};
use crate::terminal::progress::ImportBar;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Files, or folders with .jsonl and .ndjson files; plain, or packed with zstd or gzip; `-` is stdin. [default: the
    /// transcripts in ~/.claude/projects]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The format of the files. [default: detected from their contents]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Write lines that were not imported to this file, as JSON objects, at the end. It replaces only an earlier report.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The largest number of events of a request.
    #[arg(long, value_name = "EVENTS", default_value_t = MAX_REQUEST_EVENTS as u16,
        value_parser = clap::value_parser!(u16).range(1..=MAX_REQUEST_EVENTS as i64))]
    batch: u16,
    /// Count this import towards trust at once; refused if anything was not imported. `imports` shows what pending imports would change.
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    mapping: MappingArguments,
}

/// The name of a format on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum FormatName {
    /// One CloudEvent a line.
    Cloudevents,
    /// A transcript of Claude Code.
    ClaudeCode,
    /// One tool call of a coding agent's session a line, with its outcome.
    Actions,
    /// Labelled runs of an agent with their messages, as from tau-bench.
    Runs,
    /// One stored event a line, as `export` writes it.
    Stored,
    /// Any JSON, mapped by `--type` and the flags beside it.
    Lines,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Cloudevents => Self::Cloudevents,
            FormatName::ClaudeCode => Self::ClaudeCode,
            FormatName::Actions => Self::Actions,
            FormatName::Runs => Self::Runs,
            FormatName::Stored => Self::Stored,
            FormatName::Lines => Self::Lines,
        }
    }
}

/// The reason why not everything was imported. Events acknowledged before stay, and the same command resumes from there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportFailure {
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

/// Returns the error of the command for one of the import.
fn command_error(error: ImportError<Miss>) -> CommandError {
    match error {
        ImportError::Missed(miss) => ImportFailure::Missed(Box::new(miss)).into(),
        ImportError::Reading => ImportFailure::Reading.into(),
        ImportError::Reporting(source) => ImportFailure::Reporting(source).into(),
        ImportError::NoThread(_) => ImportFailure::Unreadable(error.to_string()).into(),
        ImportError::Interrupted => InterruptError.into(),
    }
}

impl CommandFailure for ImportFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Report(ReportError::Source { .. }) => Exit::Usage,
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
    let reading = arguments.mapping.reading(
        &arguments.paths,
        arguments.format.map(Format::from),
        arguments.batch.into(),
    )?;
    let mapping = format!("import/1{}", reading.lines.flags());
    let place = |path: &PathBuf| ReportPlace::check(path, &reading.files, input_file::open);
    let place = arguments.report.as_ref().map(place).transpose().map_err(ImportFailure::from)?;
    let bytes = reading.files.iter().map(|file| file.bytes).sum();
    let mut access = Access::open(global)?;
    // Last of all: whatever is wrong leaves no file.
    let report = place.as_ref().map(Report::begin).transpose().map_err(ImportFailure::from)?;
    let (report, listing) = report.unzip();
    let tally = ImportTally::new(printable, listing);
    let description = ImportDescription { mapping: &mapping, accept: arguments.accept };
    let bar = ImportBar::new(bytes);
    let mut flow = ImportFlow::new(bar.clone());
    let ended = event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let before = access.stored_bytes(&global.ledger).await;
        let target = OpenedTarget { access: &access, ledger: &global.ledger, has_answered: before.is_some() };
        let ended = flow.run(reading, tally, &target, &description, &mut interrupts).await;
        let after = access.stored_bytes(&global.ledger).await;
        flow.landed.stored = after.zip(before).and_then(|(after, before)| after.checked_sub(before));
        ended.map_err(command_error)
    });
    bar.clear();
    let closed = access.end();
    let tally = flow.tally.take();
    // Of an import that did not come to its end there is none, and what was there stays.
    let reported = report.filter(|_| tally.is_some()).map_or(Ok(()), Report::finish);
    let path = arguments.report.as_ref().filter(|_| reported.is_ok());
    let path = path.map(|path| path.display().to_string());
    let summary =
        ImportSummary { tally: tally.as_ref(), landed: &flow.landed, elapsed: began.elapsed(), report: path };
    // Acknowledged events are reported also after a failure.
    if global.json {
        output.json(&summary.to_json())?;
    } else {
        summary.lines().into_iter().try_for_each(|line| output.line(line))?;
    }
    ended?;
    closed.map_err(ImportFailure::from)?;
    reported.map_err(ImportFailure::from)?;
    if let Some(fault) = tally.as_ref().and_then(fault) {
        return Err(ImportFailure::Unreadable(fault).into());
    }
    if arguments.accept && !flow.landed.accepted {
        return Err(ImportFailure::NotAccepted.into());
    }
    Ok(Exit::Done)
}

//! `export`: stored events as a file in another format, with a manifest that the ledger records.

mod failure;
mod record;
mod selection;
mod source;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use bitacora_export::{
    ExportError, ExportFile, ExportFormat, ExportNames, ExportPlan, FinishedFile, HeadMark, LineBatch,
};
use bitacora_formats::format_time;
use bitacora_ledger::{Clock, SystemClock};
use clap::{Args, ValueEnum};
use serde_json::json;

use self::failure::ExportFailure;
use self::selection::ExportSelection;
use self::source::{BatchSender, LedgerSource};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{AccessError, event_loop};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::program::note;
use crate::terminal::output::{Output, printable};
use crate::terminal::progress::EventBar;

/// Batches between the reader and the writer.
const WAITING_BATCHES: usize = 2;
/// The name of stdout.
const STDOUT: &str = "-";

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The file to write; `-` is stdout. An existing file is refused.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The format of the file.
    #[arg(long, value_enum, default_value_t = FormatName::Jsonl)]
    format: FormatName,
    /// Go on with an interrupted export of the same selection.
    #[arg(long)]
    resume: bool,
    /// Record the export of a folder in its ledger. A service records every export.
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    selection: ExportSelection,
}

/// The name of a format on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// One stored event a line, as `read --json` prints it.
    Jsonl,
    /// A batch of CloudEvents in JSON.
    Cloudevents,
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Events of the Open Cybersecurity Schema Framework, one a line.
    Ocsf,
}

impl From<FormatName> for ExportFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Jsonl => Self::Jsonl,
            FormatName::Cloudevents => Self::Cloudevents,
            FormatName::Csv => Self::Csv,
            FormatName::Parquet => Self::Parquet,
            FormatName::Ocsf => Self::Ocsf,
        }
    }
}

pub(crate) fn run(
    mut arguments: ExportArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let names = (arguments.out != Path::new(STDOUT)).then(|| ExportNames::new(&arguments.out));
    arguments.check(names.as_ref())?;
    let interrupted = match &names {
        Some(names) if arguments.resume => {
            Some(ExportFile::interrupted_plan(names).map_err(ExportFailure::from)?)
        }
        _ => None,
    };
    if let Some(plan) = &interrupted {
        arguments.selection.adopt_times(&plan.selection);
    }
    let runtime = event_loop()?;
    let mut source = runtime.block_on(LedgerSource::open(&context.global))?;
    let file = arguments.open(names, &source)?;
    let ended = runtime.block_on(copy(file, &mut source, &arguments.selection));
    drop(source);
    let finished = match ended {
        Ok(finished) => finished,
        // A reader that closed stdout has seen enough.
        Err(CopyError::Closed) => return Ok(Exit::Done),
        Err(CopyError::Failed(error)) => return Err(error),
    };
    let recorded = if finished.plan.is_recorded { Some(record::record(&finished, context)?) } else { None };
    finished.publish().map_err(ExportFailure::from)?;
    arguments.tell(&finished, recorded.as_ref(), context)?;
    Ok(Exit::Done)
}

/// The end of a copy without a file.
enum CopyError {
    Closed,
    Failed(CommandError),
}

impl<E: Into<CommandError>> From<E> for CopyError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Reads everything that is still missing, and writes it on a thread beside.
async fn copy(
    file: ExportFile,
    source: &mut LedgerSource,
    selection: &ExportSelection,
) -> Result<FinishedFile, CopyError> {
    let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
    let (after, until) = (file.reached(), selection.until(&file.plan().head));
    let bar = EventBar::new("export", until.saturating_sub(after));
    let (sender, receiver) = sync_channel(WAITING_BATCHES);
    let writer = thread::Builder::new().name("export".to_owned()).spawn(move || write(file, &receiver));
    let writer = writer.map_err(ExportFailure::Thread)?;
    let mut batches = BatchSender::new(sender, after, bar);
    let read = tokio::select! {
        read = source.read(selection, after..=until, &mut batches) => read,
        () = interrupts.next() => Err(InterruptError.into()),
    };
    drop(batches);
    let (mut file, written) = writer.join().map_err(|_| ExportFailure::Writer)?;
    match written {
        Err(error) if error.is_closed_pipe() => return Err(CopyError::Closed),
        written => written.map_err(ExportFailure::from)?,
    }
    if let Err(error) = read {
        // What was read up to here stays, for `--resume`.
        file.checkpoint().map_err(ExportFailure::from)?;
        return Err(CopyError::Failed(error));
    }
    let losses = source.losses(selection.after(), until).await?;
    match file.finish(losses) {
        Err(error) if error.is_closed_pipe() => Err(CopyError::Closed),
        finished => Ok(finished.map_err(ExportFailure::from)?),
    }
}

/// Writes batches until the reader has no more.
fn write(mut file: ExportFile, batches: &Receiver<LineBatch>) -> (ExportFile, Result<(), ExportError>) {
    for batch in batches {
        if let Err(error) = file.take(&batch) {
            return (file, Err(error));
        }
    }
    (file, Ok(()))
}

impl ExportArguments {
    /// Refuses arguments and names before anything is opened.
    fn check(&self, names: Option<&ExportNames>) -> Result<(), ExportFailure> {
        match names {
            Some(names) => names.check(self.resume).map_err(ExportError::from)?,
            None if self.format == FormatName::Parquet => return Err(ExportFailure::ParquetToStdout),
            None if self.resume => return Err(ExportFailure::ResumedStdout),
            None => (),
        }
        Ok(())
    }

    /// Opens the file, new or where it was left.
    fn open(&self, names: Option<ExportNames>, source: &LedgerSource) -> Result<ExportFile, ExportFailure> {
        let plan = ExportPlan {
            format: self.format.into(),
            ledger: source.id.clone(),
            name: source.name.clone(),
            selection: self.selection.text(),
            head: HeadMark { position: source.head.position.clone(), hash: source.head.hash.clone() },
            began: format_time(SystemClock.now()),
            is_recorded: self.record || source.is_service(),
        };
        let (filter, after) = (self.selection.row_filter(), self.selection.after());
        Ok(match names {
            Some(names) if self.resume => ExportFile::resume(&plan, filter, names)?,
            Some(names) => ExportFile::create(plan, filter, names, after)?,
            None => ExportFile::stream(plan, filter, Box::new(io::stdout()), after)?,
        })
    }

    /// Tells what was written, on stdout unless that is the file.
    fn tell(
        &self,
        finished: &FinishedFile,
        recorded: Option<&record::RecordedExport>,
        context: &mut CommandContext,
    ) -> Result<(), CommandError> {
        let is_stdout = self.out == Path::new(STDOUT);
        if is_stdout {
            if let Some(recorded) = recorded {
                note(&format!("recorded at position {}", recorded.position));
            }
            return Ok(());
        }
        if context.is_json() {
            let tally = &finished.tally;
            let told = json!({
                "file": self.out, "format": finished.plan.format, "rows": tally.rows, "first": tally.first.map(|first| first.to_string()),
                "last": tally.last.map(|last| last.to_string()), "bytes": finished.bytes, "sha256": finished.sha256,
                "manifestSha256": finished.manifest_sha256, "recorded": recorded.map(|recorded| &recorded.position),
            });
            return Ok(context.output.json(&told)?);
        }
        self.lines(finished, recorded, &mut context.output)
    }

    fn lines(
        &self,
        finished: &FinishedFile,
        recorded: Option<&record::RecordedExport>,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let tally = &finished.tally;
        let file = printable(&self.out.display().to_string());
        let range = match (tally.first, tally.last) {
            (Some(first), Some(last)) => format!(", positions {first} to {last}"),
            _ => String::new(),
        };
        output.line(format_args!("file        {file}"))?;
        output.line(format_args!("rows        {}{range}", tally.rows))?;
        output.line(format_args!("bytes       {}, SHA-256 {}", finished.bytes, finished.sha256))?;
        output
            .line(format_args!("manifest    {file}.manifest.json, SHA-256 {}", finished.manifest_sha256))?;
        match recorded {
            Some(recorded) if recorded.has_receipt => {
                output.line(format_args!(
                    "recorded    at position {}, receipt {file}.receipt",
                    recorded.position
                ))?;
            }
            Some(recorded) => output.line(format_args!("recorded    at position {}", recorded.position))?,
            None => output.line("recorded    no: a folder records an export with --record alone")?,
        }
        Ok(())
    }
}

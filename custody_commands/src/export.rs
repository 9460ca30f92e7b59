//! `export`: stored events as a file in another format, with a manifest that the ledger records.

mod failure;
mod record;
mod selection;
mod source;

use std::io;
use std::path::{Path, PathBuf};

use bitacora_export::{
    ExportError, ExportFile, ExportFormat, ExportNames, ExportPlan, ExportWriter, FinishedFile,
};
use bitacora_formats::format_time;
use bitacora_ledger::{Clock, SystemClock};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use self::failure::ExportFailure;
use self::selection::ExportSelection;
use self::source::LedgerSource;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{AccessError, event_loop};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::interrupt::{self, InterruptError, Interrupts};
use crate::terminal::note;
use crate::terminal::output::printable;
use crate::terminal::progress::EventBar;

/// The name of stdout.
const STDOUT: &str = "-";
/// The note where all rows are read and the ledger does not record the export, for example because it is read-only.
const UNRECORDED: &str = "the part holds every row, but the ledger does not record the export; --resume does that once it takes appends";

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The file to write; `-` is stdout. An existing file is refused.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The format of the file.
    #[arg(long, default_value = "jsonl", value_parser = formats())]
    format: ExportFormat,
    /// Go on with an interrupted export of the same selection.
    #[arg(long)]
    resume: bool,
    /// Record the export of a folder in its ledger. A service records every export.
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    selection: ExportSelection,
}

fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    let named = |name: String| ExportFormat::ALL.into_iter().find(|format| format.as_str() == name);
    PossibleValuesParser::new(ExportFormat::ALL.map(ExportFormat::as_str))
        .map(move |name| named(name).unwrap_or(ExportFormat::Jsonl))
}

/// Runs `export`.
pub fn run(mut arguments: ExportArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let names = (arguments.out != Path::new(STDOUT)).then(|| ExportNames::new(&arguments.out));
    let is_stdout = names.is_none();
    arguments.check(names.as_ref())?;
    let runtime = event_loop()?;
    let mut source = runtime.block_on(LedgerSource::open(&context.global))?;
    if let Some(names) = names.as_ref().filter(|_| arguments.resume) {
        let interrupted = ExportFile::interrupted_plan(names).map_err(ExportFailure::from)?;
        arguments.selection.adopt_times(&interrupted.selection);
        runtime.block_on(source.refuse_loss_since(&interrupted))?;
    }
    if is_stdout {
        // A reader that takes nothing keeps nobody from ending it.
        interrupt::end_soon_after_one().map_err(AccessError::Runtime)?;
    }
    let file = arguments.open(names, &source)?;
    let copied = runtime.block_on(copy(file, &mut source, &arguments.selection, is_stdout));
    drop(source);
    let finished = match copied {
        // A reader that closed stdout has seen enough.
        Err(error) if is_closed_pipe(&error) => return Ok(Exit::Done),
        copied => copied?,
    };
    let recorded = finished.plan.is_recorded.then(|| record::record(&finished, context)).transpose();
    if recorded.is_err() && !is_stdout {
        note(UNRECORDED);
    }
    let recorded = recorded?;
    finished.publish().map_err(ExportFailure::from)?;
    let file = printable(&arguments.out.display().to_string());
    if is_stdout {
        recorded.iter().for_each(|recorded| note(&format!("recorded at position {}", recorded.position)));
    } else if context.is_json() {
        context.output.json(&finished.to_json(&file, recorded.as_ref()))?;
    } else {
        let lines = finished.lines(&file, recorded.as_ref());
        lines.into_iter().try_for_each(|line| context.output.line(line))?;
    }
    Ok(Exit::Done)
}

fn is_closed_pipe(error: &CommandError) -> bool {
    let failure = error.source().and_then(|source| source.downcast_ref::<ExportFailure>());
    matches!(failure, Some(ExportFailure::Export(error)) if error.is_closed_pipe())
}

/// Reads everything that is still missing, while a thread writes it.
async fn copy(
    file: ExportFile,
    source: &mut LedgerSource,
    selection: &ExportSelection,
    is_stdout: bool,
) -> Result<FinishedFile, CommandError> {
    let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
    let (after, until) = (file.reached(), selection.until(&file.plan().head));
    let bar = EventBar::new("export", until.saturating_sub(after));
    let progress = Box::new(move |positions| bar.advance(positions));
    let (writer, mut batches) = ExportWriter::start(file, progress).map_err(ExportFailure::Thread)?;
    let read = tokio::select! {
        read = source.read(selection, after..=until, &mut batches) => read,
        () = interrupts.next() => Err(interrupted(is_stdout)),
    };
    drop(batches);
    let (mut file, written) = writer.join().map_err(ExportFailure::from)?;
    written.map_err(ExportFailure::from)?;
    if read.is_err() {
        // What was read up to here stays, for `--resume`.
        file.checkpoint().map_err(ExportFailure::from)?;
    }
    read?;
    let losses = source.losses(selection.after()..=until, None).await?;
    Ok(file.finish(losses).map_err(ExportFailure::from)?)
}

/// Returns the end of an interrupted export. One to stdout cannot be gone on with.
fn interrupted(is_stdout: bool) -> CommandError {
    if is_stdout { InterruptError.into() } else { ExportFailure::Interrupted.into() }
}

impl ExportArguments {
    /// Refuses arguments and names before anything is opened.
    fn check(&self, names: Option<&ExportNames>) -> Result<(), ExportFailure> {
        self.selection.check()?;
        match names {
            Some(names) => names.check(self.resume).map_err(ExportError::from)?,
            None if self.format == ExportFormat::Parquet => return Err(ExportFailure::ParquetToStdout),
            None if self.resume => return Err(ExportFailure::ResumedStdout),
            None => (),
        }
        Ok(())
    }

    /// Opens the file, new or where it was left.
    fn open(&self, names: Option<ExportNames>, source: &LedgerSource) -> Result<ExportFile, ExportFailure> {
        self.selection.check_begins_in_the_ledger(&source.head)?;
        let plan = ExportPlan {
            format: self.format,
            ledger: source.id.clone(),
            name: source.ledger.to_string(),
            selection: self.selection.text(),
            head: source.head.clone(),
            began: format_time(SystemClock.now()),
            is_recorded: self.record || source.is_service(),
        };
        let (filter, after) = (self.selection.row_filter(), self.selection.after());
        Ok(match names {
            Some(names) if self.resume => ExportFile::resume(&plan, filter, names, after)?,
            Some(names) => ExportFile::create(plan, filter, &names, after)?,
            None => ExportFile::stream(plan, filter, Box::new(io::stdout()), after)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_export_names_the_way_on_where_there_is_one() {
        let [file, stdout] = [false, true].map(interrupted);
        assert_eq!((file.exit(), stdout.exit()), (Exit::Interrupted, Exit::Interrupted));
        assert!(file.to_string().contains("--resume"), "{file}");
        assert_eq!(stdout.to_string(), "interrupted");
    }
}

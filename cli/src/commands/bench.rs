//! `bench`: measures the speed and size of this ledger on this machine and disk.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use bitacora_bench::{
    BenchError, BenchGroup, BenchPlan, LoadShape, Results, SavedError, StopSignal, UnmeasuredPart,
    markdown_lines, read_saved, svg, text_lines,
};
use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tokio::sync::oneshot;
use tracing_subscriber::filter::LevelFilter;

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::new_file::{self, NewFileError};
use crate::ledger_access::access::{AccessError, event_loop};
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::options::global::Global;
use crate::options::mapping_arguments::MappingArguments;
use crate::terminal::logging::{self, LogForm};
use crate::terminal::output::Output;
use crate::terminal::progress::WorkSpinner;

/// The default of the seconds that a measurement runs; their limits follow.
const DEFAULT_SECONDS: &str = "4";
const MIN_MEASURED: Duration = Duration::from_millis(100);
const MAX_MEASURED: Duration = Duration::from_mins(1);
/// The default number of events of the filled ledger; the limit follows.
const DEFAULT_EVENTS: u64 = 1_000_000;
const MAX_EVENTS: u64 = 30_000_000;
/// The time that a measurement gets to end and clean up after an interruption.
const END_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Measure only these; repeatable.
    #[arg(long, value_name = "WHAT", value_parser = group_parser())]
    only: Vec<BenchGroup>,
    /// The duration of each measurement, after a warm-up of a quarter of it.
    #[arg(long, value_name = "SECONDS", default_value = DEFAULT_SECONDS, value_parser = seconds)]
    seconds: Duration,
    /// Append in these shapes instead: callers x events of a request, as 16x100.
    #[arg(long, value_name = "CALLERSxEVENTS")]
    shape: Vec<LoadShape>,
    /// The number of events of the ledger for reads, openings and verifications, to the next thousand.
    #[arg(long, value_name = "EVENTS", default_value_t = DEFAULT_EVENTS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_EVENTS))]
    events: u64,
    /// Archive the contents of these files, read as by `import`; pack them with zstd too.
    #[arg(long, value_name = "FILE")]
    records: Vec<PathBuf>,
    #[command(flatten)]
    mapping: MappingArguments,
    /// A folder to create on the measured disk, removed at the end. [default: one below the current folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Measure nothing; show the results that an earlier run wrote with --json.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "seconds", "shape", "events", "records", "folder"])]
    from: Option<PathBuf>,
    /// Show each figure as a multiple of that of an earlier run, from its --json.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Write tables in Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Draw throughput and latency as SVG into this file, which must not exist.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The reason why a benchmark ended without figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchFailure {
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error(transparent)]
    Saved(#[from] SavedError),
    #[error("{0}; the plot was not written")]
    Plot(NewFileError),
    #[error("nothing to archive; name files with --records")]
    NoRecords,
    #[error("{}; the other parts are shown", told(.0))]
    Parts(Vec<UnmeasuredPart>),
    #[error("the measuring failed on a defect")]
    Defect,
}

impl CommandFailure for BenchFailure {}

pub(crate) fn run(
    arguments: &BenchArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    arguments.plot.as_deref().map_or(Ok(()), new_file::refuse_existing).map_err(BenchFailure::Plot)?;
    // Read first: whoever names a file that is none should not wait for the figures to hear of it.
    let read = |path: &PathBuf| read_saved(path).map_err(BenchFailure::from);
    let earlier = arguments.compare.as_ref().map(read).transpose()?;
    let results = match &arguments.from {
        Some(path) => read(path)?,
        None => measure(arguments)?,
    };
    if global.json {
        output.json(&results.to_json())?;
    } else if arguments.markdown {
        markdown_lines(&results).iter().try_for_each(|line| output.line(line))?;
    } else {
        text_lines(&results, earlier.as_ref()).iter().try_for_each(|line| output.line(line))?;
    }
    output.flush()?;
    if let Some(path) = &arguments.plot {
        new_file::write(path, svg(&results).as_bytes()).map_err(BenchFailure::Plot)?;
    }
    match results.failures {
        failures if failures.is_empty() => Ok(Exit::Done),
        failures => Err(BenchFailure::Parts(failures).into()),
    }
}

fn told(failures: &[UnmeasuredPart]) -> String {
    let failures =
        failures.iter().map(|UnmeasuredPart { part, what }| format!("{part} was not measured: {what}"));
    failures.collect::<Vec<_>>().join("; ")
}

/// Returns the parser of a group's name.
fn group_parser() -> impl TypedValueParser<Value = BenchGroup> {
    let values = BenchGroup::names().map(|(name, description)| PossibleValue::new(name).help(description));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<BenchGroup>())
}

/// Parses seconds, with or without a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let seconds = seconds.filter(|seconds| (MIN_MEASURED..=MAX_MEASURED).contains(seconds));
    let (least, most) = (MIN_MEASURED.as_secs_f64(), MAX_MEASURED.as_secs());
    seconds.ok_or_else(|| format!("{least} to {most} seconds expected"))
}

fn measure(arguments: &BenchArguments) -> Result<Results, CommandError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let folder = arguments.folder.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from(format!("bitacora-bench-{}", std::process::id())));
    let mut groups = arguments.only.clone();
    if groups.is_empty() {
        groups = BenchGroup::ALL.to_vec();
    }
    let measured = arguments.seconds;
    let (shapes, events) = (arguments.shape.clone(), arguments.events);
    let records = match arguments.records.as_slice() {
        [] if groups == [BenchGroup::Archive] => return Err(BenchFailure::NoRecords.into()),
        [] => None,
        files => Some(arguments.mapping.reading(files, None, MAX_REQUEST_EVENTS)?),
    };
    let mut plan = BenchPlan { groups, shapes, events, records, measured, folder: folder.clone() };
    let stop = StopSignal::default();
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let (sender, mut receiver) = oneshot::channel();
        let stopped = stop.clone();
        thread::spawn(move || {
            let spinner = WorkSpinner::new();
            let measured = bitacora_bench::measure(&mut plan, &stopped, &|what| spinner.tell(what));
            drop(spinner);
            // The receiver may be gone.
            let _unheard = sender.send(measured).is_err();
        });
        let measured = tokio::select! {
            measured = &mut receiver => measured,
            () = interrupts.next() => {
                stop.set();
                // The folder is removed by whoever measures, before it says that it has ended.
                if tokio::time::timeout(END_PATIENCE, receiver).await.is_err() {
                    // It is in the middle of something long, which ends with this program.
                    bitacora_bench::remove(&folder);
                }
                return Err(InterruptError.into());
            }
        };
        Ok(measured.map_err(|_| BenchFailure::Defect)?.map_err(BenchFailure::from)?)
    })
}

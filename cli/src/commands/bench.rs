//! `bench`: measures what this ledger costs on this machine and disk.

mod shown;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use tokio::sync::oneshot;
use tracing_subscriber::filter::LevelFilter;

use crate::access::{AccessError, event_loop};
use crate::arguments::Global;
use crate::bench::{self, BenchError, Group, Plan, Results, Stop};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::logging::{self, LogForm};
use crate::output::Output;
use crate::progress::Doing;

/// Seconds of a measurement, where nobody says, and at most.
const DEFAULT_SECONDS: u64 = 4;
const MAX_SECONDS: u64 = 3_600;
/// How long whoever measures has to end and clean up after an interruption.
const END_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Measure these alone; may be named several times.
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Vec<Group>,
    /// How long each measurement runs, after a warm-up of a quarter of it.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    seconds: u64,
    /// A folder to make on the disk to be measured; it is removed at the end. [default: one below the current folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Why a benchmark did not end with figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchFailure {
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error("the measuring failed on a defect")]
    Defect,
}

pub(crate) fn run(
    arguments: &BenchArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let results = measure(arguments)?;
    if global.json {
        output.json(&results.to_json())?;
    } else {
        shown::lines(&results).iter().try_for_each(|line| output.line(line))?;
    }
    Ok(Exit::Done)
}

fn measure(arguments: &BenchArguments) -> Result<Results, CommandError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let folder = arguments.folder.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from(format!("bitacora-bench-{}", std::process::id())));
    let mut groups = arguments.only.clone();
    if groups.is_empty() {
        groups = Group::ALL.to_vec();
    }
    let plan = Plan { groups, measured: Duration::from_secs(arguments.seconds), folder };
    let stop = Stop::default();
    event_loop()?.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let (sender, mut receiver) = oneshot::channel();
        let stopped = stop.clone();
        thread::spawn(move || {
            let doing = Doing::new();
            let measured = bench::measure(&plan, &stopped, &|what| doing.tell(what));
            drop(doing);
            // Whoever was to hear of it may have gone.
            let _unheard = sender.send(measured).is_err();
        });
        let measured = tokio::select! {
            measured = &mut receiver => measured,
            () = interrupts.next() => {
                stop.set();
                // The folder is removed by whoever measures, before it says that it has ended.
                let _ended = tokio::time::timeout(END_PATIENCE, receiver).await.is_ok();
                return Err(CommandError::Interrupted);
            }
        };
        Ok(measured.map_err(|_| BenchFailure::Defect)?.map_err(BenchFailure::from)?)
    })
}

//! Benchmarks of the ledger on this machine and disk, beside those of the bare disk.
//!
//! Loops are closed: a caller sends its next request when it has the answer to the one before. Each measurement has a
//! warm-up that does not count. All files are in a separate folder, which is removed at the end.

mod append;
mod archiving;
mod bare;
mod connection;
mod dataset;
mod floors;
mod heads;
mod http;
mod latency;
mod machine;
mod opening;
mod pool;
mod reading;
mod replaying;
mod results;
mod rolling;
mod scratch;
mod service;
mod shape;
mod stop;
mod verifying;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitacora_archiver::ArchiverError;
use bitacora_formats::LedgerName;
use bitacora_ledger::{AppendError, CloseError, CreateError, Environment, OpenError, ReadError};
use bitacora_server::DataError;
use clap::ValueEnum;

use self::dataset::Dataset;
pub(crate) use self::floors::{Floor, floors, reservations};
pub(crate) use self::results::{Failure, Figure, Measurement, Results};
use self::scratch::Scratch;
pub(crate) use self::scratch::remove;
pub(crate) use self::shape::Shape;
pub(crate) use self::stop::Stop;
use crate::import::Reading;

/// The part of a measurement's time that its warm-up takes: one in so many.
const WARM_UP_SHARE: u32 = 4;

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The disk alone: write and sync.
    Disk,
    /// Appends in this process.
    Append,
    /// Appends over HTTP, to a separate service on loopback.
    Http,
    /// Decisions over HTTP, each before a call and its outcome; beside plain appends.
    Decide,
    /// Replays of the state that decides, and openings with it.
    Replay,
    /// Latency while segments end and begin.
    Roll,
    /// The cost of signed tree heads for appends.
    Heads,
    /// Archives of the records of --records, beside zstd.
    Archive,
    /// A load of many events, and its memory; the groups below are measured on its ledger.
    Load,
    /// Reads of all events, and of one stream.
    Read,
    /// Openings of a ledger.
    Open,
    /// Verification of a ledger, beside the speed of its hash.
    Verify,
}

impl Group {
    /// All groups, in the order of their measurement.
    pub(crate) const ALL: [Self; 12] = [
        Self::Load,
        Self::Read,
        Self::Open,
        Self::Verify,
        Self::Disk,
        Self::Append,
        Self::Http,
        Self::Decide,
        Self::Replay,
        Self::Roll,
        Self::Heads,
        Self::Archive,
    ];

    /// Returns the group's name on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns `true` if it is measured on a filled ledger.
    fn needs_load(self) -> bool {
        matches!(self, Self::Load | Self::Read | Self::Open | Self::Verify)
    }
}

/// The measurements to run, and their folder.
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    /// The shapes of appends; if empty, those with floors.
    pub(crate) shapes: Vec<Shape>,
    /// The number of events of the ledger for reads, openings and verifications.
    pub(crate) events: u64,
    /// The records to archive, if any.
    pub(crate) records: Option<Reading>,
    /// The duration of each measurement, after its warm-up.
    pub(crate) measured: Duration,
    /// The folder to create; it must not exist.
    pub(crate) folder: PathBuf,
}

/// The reason why not everything was measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("{}: exists already; name a folder that can be made and removed again", .0.display())]
    Exists(PathBuf),
    #[error("{}: {source}", path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("{what}: {source}; nothing was measured with it")]
    System { what: &'static str, source: io::Error },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Keyring(#[from] crate::keyring_file::KeyringFileError),
    #[error(transparent)]
    Keys(#[from] crate::key_generation::KeyGenerationError),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("what was measured on does not verify: a defect; its figures are worth nothing")]
    Verify,
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("the service that is measured {0}")]
    Service(String),
    #[error("{0} made no answer within its time; measure longer with --seconds")]
    Nothing(&'static str),
    #[error(transparent)]
    Archive(#[from] ArchiverError),
    #[error("stopped")]
    Stopped,
}

/// The listener for the name of the current measurement.
pub(crate) type Told<'a> = &'a (dyn Fn(&str) + Sync);

/// Runs all measurements of the plan, in its order. A part that fails is reported in the results, beside those of the
/// others.
///
/// # Errors
/// The folder cannot be created, or the run was interrupted. The folder is removed then too.
pub(crate) fn measure(plan: &mut Plan, stop: &Stop, told: Told<'_>) -> Result<Results, BenchError> {
    let environment = Environment::real();
    let scratch = Scratch::make(&plan.folder)?;
    let mut results = Results::new(machine::look_at(&plan.folder), plan.measured, plan.events);
    let groups = plan.groups.clone();
    let planned = |group: &Group| groups.contains(group);
    // First of all: the memory that a load takes is this process's, so nothing may have run in it before.
    let on_load: Vec<Group> =
        Group::ALL.into_iter().filter(planned).filter(|group| group.needs_load()).collect();
    if !on_load.is_empty() {
        measure_on_load(&environment, &scratch, &on_load, &mut results, (stop, told))?;
    }
    for group in Group::ALL.into_iter().filter(planned).filter(|group| !group.needs_load()) {
        let measurements = match group {
            Group::Disk => bare::measure(&environment, &scratch, stop, told),
            Group::Append => append::measure(&environment, &scratch, plan, stop, told),
            Group::Http => http::measure(&scratch, plan, stop, told),
            Group::Decide => http::deciding::measure(&scratch, plan, stop, told),
            Group::Replay => replaying::measure(&environment, &scratch, plan.events, stop, told),
            Group::Archive => match plan.records.take() {
                Some(records) => archiving::measure(&environment, &scratch, records, stop, told),
                None => Ok(Vec::new()),
            },
            Group::Heads => heads::measure(&environment, &scratch, plan.measured, stop, told),
            _ => rolling::measure(&environment, &scratch, plan.measured, stop, told),
        };
        results.take(group.name(), measurements)?;
    }
    Ok(results)
}

/// Fills a ledger, and measures on it. If filling fails, none of these can be measured.
fn measure_on_load(
    environment: &Environment,
    scratch: &Scratch,
    groups: &[Group],
    results: &mut Results,
    (stop, told): (&Stop, Told<'_>),
) -> Result<(), BenchError> {
    let made = Dataset::make(environment, scratch, results.events, stop, told);
    let (dataset, load) = match made {
        Ok(made) => made,
        Err(error) => return results.take(Group::Load.name(), Err(error)),
    };
    results.measurements.push(load);
    for group in groups {
        let measurements = match group {
            Group::Read => reading::measure(environment, &dataset, stop, told),
            Group::Open => opening::measure(environment, &dataset, stop, told),
            Group::Verify => verifying::measure(&dataset, stop, told),
            _ => Ok(Vec::new()),
        };
        results.take(group.name(), measurements)?;
    }
    Ok(())
}

/// Returns the counting time of a measurement that begins now: from the end of its warm-up, for its duration.
fn counting(measured: Duration) -> Range<Instant> {
    let from = Instant::now() + measured / WARM_UP_SHARE;
    from..from + measured
}

/// Returns the name of the one ledger of every benchmark folder.
fn ledger_name() -> Result<LedgerName, BenchError> {
    "main".parse().map_err(|_| BenchError::Nothing("the name of a ledger"))
}

//! Measuring what the ledger costs on this machine and disk, beside what the disk alone costs.
//!
//! Closed loops: a caller sends its next request when it has the answer to the one before. Each measurement has a
//! warm-up that does not count. Everything is made in a folder of its own, which goes when the measuring ends.

mod append;
mod bare;
mod connection;
mod http;
mod latency;
mod machine;
mod pool;
mod results;
mod scratch;
mod service;
mod stop;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitacora_formats::LedgerName;
use bitacora_ledger::{AppendError, CloseError, CreateError, Environment, OpenError};
use bitacora_server::DataError;
use clap::ValueEnum;

pub(crate) use self::results::{Figure, Measurement, Results};
use self::scratch::Scratch;
pub(crate) use self::stop::Stop;

/// A measurement runs this part of its time before it counts.
const WARM_UP_SHARE: u32 = 4;

/// What is measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The disk alone: write and sync.
    Disk,
    /// Appends in this process.
    Append,
    /// Appends over HTTP, to a service of its own on loopback.
    Http,
}

impl Group {
    pub(crate) const ALL: [Self; 3] = [Self::Disk, Self::Append, Self::Http];
}

/// What to measure, and where.
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    /// How long each measurement runs, after its warm-up.
    pub(crate) measured: Duration,
    /// The folder to make; it must not exist.
    pub(crate) folder: PathBuf,
}

/// Why nothing, or not everything, was measured.
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
    Keys(#[from] crate::commands::keys::KeysError),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("the service that is measured {0}")]
    Service(String),
    #[error("{0} made no answer within its time; measure longer with --seconds")]
    Nothing(&'static str),
    #[error("stopped")]
    Stopped,
}

/// Who is told what is being measured.
pub(crate) type Told<'a> = &'a (dyn Fn(&str) + Sync);

/// Measures all that the plan names, in its order.
///
/// # Errors
/// The folder is removed then too.
pub(crate) fn measure(plan: &Plan, stop: &Stop, told: Told<'_>) -> Result<Results, BenchError> {
    let environment = Environment::real();
    let scratch = Scratch::make(&plan.folder)?;
    let mut results = Results::new(machine::look_at(&plan.folder), plan.measured);
    for group in &plan.groups {
        let measurements = match group {
            Group::Disk => bare::measure(&environment, &scratch, stop, told),
            Group::Append => append::measure(&environment, &scratch, plan.measured, stop, told),
            Group::Http => http::measure(&scratch, plan.measured, stop, told),
        };
        results.measurements.extend(measurements?);
    }
    Ok(results)
}

/// When a measurement that begins now counts: from the end of its warm-up, for its time.
fn counting(measured: Duration) -> Range<Instant> {
    let from = Instant::now() + measured / WARM_UP_SHARE;
    from..from + measured
}

/// The one ledger of every folder that is measured in.
fn ledger_name() -> Result<LedgerName, BenchError> {
    "main".parse().map_err(|_| BenchError::Nothing("the name of a ledger"))
}

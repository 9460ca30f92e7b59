//! Benchmarks of the ledger on this machine and disk, beside those of the bare disk.
//!
//! Loops are closed: a caller sends its next request when it has the answer to the one before. Each measurement has a
//! warm-up that does not count. All files are in a separate folder, which is removed at the end.

mod append;
mod archiving;
mod bare;
mod connection;
mod dataset;
mod error;
mod floors;
mod heads;
mod http;
mod latency;
mod machine;
mod measure;
mod opening;
mod plan;
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

pub(crate) use self::error::BenchError;
pub(crate) use self::floors::{Floor, floors, reservations};
pub(crate) use self::measure::measure;
pub(crate) use self::plan::{BenchGroup, BenchPlan};
pub(crate) use self::results::{Figure, Measurement, Results, UnmeasuredPart};
pub(crate) use self::scratch::remove;
pub(crate) use self::shape::LoadShape;
pub(crate) use self::stop::StopSignal;

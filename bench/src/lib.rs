//! Benchmarks of the ledger on this machine and disk, beside those of the bare disk: `bitacora bench` is a command over
//! this crate.
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
mod keyring;
mod latency;
mod machine;
mod measure;
mod opening;
mod output;
mod plan;
mod pool;
mod reading;
mod replaying;
mod results;
mod rolling;
mod saved;
mod scratch;
mod service;
mod shape;
mod stop;
mod verifying;

pub use self::error::BenchError;
pub use self::measure::measure;
pub use self::output::{markdown_lines, svg, text_lines};
pub use self::plan::{BenchGroup, BenchPlan, MeasurementListener, NotAGroup};
pub use self::results::{Results, UnmeasuredPart};
pub use self::saved::{SavedError, read_saved};
pub use self::scratch::remove;
pub use self::shape::{LoadShape, NotAShape};
pub use self::stop::StopSignal;

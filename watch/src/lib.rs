//! The watch over connected harnesses: their transcripts, compared with what the gate recorded.
//!
//! A harness writes each session to a transcript, whether or not its hooks ran. The watch reads the transcripts as they grow
//! and asks the service for each call that ran. A call that the gate never saw becomes a `coverage.gap`; answers of models
//! become `model.called`. It speaks with the connection's own token. Ids are derived from session and call, so whatever is
//! read twice is recorded once. This crate parses no flags and prints nothing.

mod error;
mod evidence;
mod followed;
mod gate;
mod limits;
mod matching;
mod positions;
mod report;
mod roots;
mod sealed_file;
mod status;
mod tail;
#[cfg(test)]
mod tests;
mod watcher;
mod watches;

pub use error::{TranscriptFault, WatchError};
pub use limits::{GRACE, POLL};
pub use report::WatchReport;
pub use status::{STALE_AFTER, WatchStatus, read_status};
pub use watcher::Watcher;
pub use watches::Watches;

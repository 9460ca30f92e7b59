//! The pace and the progress of the scrub's rounds.

use std::time::Duration;

use bitacora_formats::Micros;

use crate::limits::{SCRUB_BYTES_PER_S, SCRUB_ROUND_PAUSE};

/// The pace of the scrub's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrubOptions {
    /// The most bytes that are read in a second, on average over two frames.
    pub bytes_per_s: u64,
    /// The least time from the end of one round to the beginning of the next.
    pub pause: Duration,
}

impl Default for ScrubOptions {
    fn default() -> Self {
        Self { bytes_per_s: SCRUB_BYTES_PER_S, pause: SCRUB_ROUND_PAUSE }
    }
}

/// The progress of the scrub's rounds since the opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScrubStatus {
    /// Rounds that read every frame on this disk and found all of them whole.
    pub rounds: u64,
    /// The time at which the last of them ended.
    pub completed: Option<Micros>,
    /// The time that has passed since, by the clock that never goes back.
    pub age: Option<Duration>,
    /// Bytes that were read in all rounds.
    pub bytes: u64,
}

/// The same, as the scrub notes it.
#[derive(Debug, Default)]
pub(crate) struct ScrubProgress {
    pub(crate) rounds: u64,
    /// By both clocks.
    pub(crate) completed: Option<(Micros, Duration)>,
    pub(crate) bytes: u64,
}

impl ScrubProgress {
    /// Returns the status at a moment of the clock that never goes back.
    pub(crate) fn status(&self, passed: Duration) -> ScrubStatus {
        ScrubStatus {
            rounds: self.rounds,
            completed: self.completed.map(|(time, _)| time),
            age: self.completed.map(|(_, at)| passed.saturating_sub(at)),
            bytes: self.bytes,
        }
    }
}

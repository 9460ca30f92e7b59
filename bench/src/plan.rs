//! The plan of a benchmark: groups of measurements, their duration and their folder.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::shape::LoadShape;
use bitacora_import::ImportPlan;

/// The part of a measurement's time that its warm-up takes: one in so many.
const WARM_UP_SHARE: u32 = 4;

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchGroup {
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

impl BenchGroup {
    /// All groups, in the order of their measurement.
    pub const ALL: [Self; 12] = [
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
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Append => "append",
            Self::Http => "http",
            Self::Decide => "decide",
            Self::Replay => "replay",
            Self::Roll => "roll",
            Self::Heads => "heads",
            Self::Archive => "archive",
            Self::Load => "load",
            Self::Read => "read",
            Self::Open => "open",
            Self::Verify => "verify",
        }
    }

    /// Returns `true` if it is measured on a filled ledger.
    pub(super) fn needs_load(self) -> bool {
        matches!(self, Self::Load | Self::Read | Self::Open | Self::Verify)
    }
}

/// The measurements to run, and their folder.
pub struct BenchPlan {
    /// The groups to measure.
    pub groups: Vec<BenchGroup>,
    /// The shapes of appends; if empty, those with floors.
    pub shapes: Vec<LoadShape>,
    /// The number of events of the ledger for reads, openings and verifications.
    pub events: u64,
    /// The records to archive, if any.
    pub records: Option<ImportPlan>,
    /// The duration of each measurement, after its warm-up.
    pub measured: Duration,
    /// The folder to create; it must not exist.
    pub folder: PathBuf,
}

/// The listener for the name of the current measurement.
pub type MeasurementListener<'a> = &'a (dyn Fn(&str) + Sync);

/// Returns the counting time of a measurement that begins now: from the end of its warm-up, for its duration.
pub(super) fn counting(measured: Duration) -> Range<Instant> {
    let from = Instant::now() + measured / WARM_UP_SHARE;
    from..from + measured
}

//! The plan of a benchmark: groups of measurements, their duration and their folder.

use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::shape::LoadShape;
use bitacora_import::ImportPlan;

/// The part of a measurement's time that its warm-up takes: one in so many.
const WARM_UP_SHARE: u32 = 4;

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchGroup {
    /// Write and sync of the disk alone.
    Disk,
    /// Appends in this process.
    Append,
    /// Appends over HTTP.
    Http,
    /// Decisions over HTTP.
    Decide,
    /// Replays of the state that decides.
    Replay,
    /// Latency while segments end and begin.
    Roll,
    /// The cost of signed tree heads.
    Heads,
    /// Archives of records.
    Archive,
    /// A load of many events.
    Load,
    /// Reads of the filled ledger.
    Read,
    /// Openings of the filled ledger.
    Open,
    /// Verification of the filled ledger.
    Verify,
}

/// The name and description of each group, in the order of a list of them.
const DESCRIPTIONS: [(BenchGroup, &str, &str); 12] = [
    (BenchGroup::Disk, "disk", "The disk alone: write and sync"),
    (BenchGroup::Append, "append", "Appends in this process"),
    (BenchGroup::Http, "http", "Appends over HTTP, to a separate service on loopback"),
    (
        BenchGroup::Decide,
        "decide",
        "Decisions over HTTP, each before a call and its outcome; beside plain appends",
    ),
    (BenchGroup::Replay, "replay", "Replays of the state that decides, and openings with it"),
    (BenchGroup::Roll, "roll", "Latency while segments end and begin"),
    (BenchGroup::Heads, "heads", "The cost of signed tree heads for appends"),
    (BenchGroup::Archive, "archive", "Archives of the records of --records, beside zstd"),
    (
        BenchGroup::Load,
        "load",
        "A load of many events, and its memory; the groups below are measured on its ledger",
    ),
    (BenchGroup::Read, "read", "Reads of all events, and of one stream"),
    (BenchGroup::Open, "open", "Openings of a ledger"),
    (BenchGroup::Verify, "verify", "Verification of a ledger, beside the speed of its hash"),
];

/// The error of a text that names no group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {0:?}, expected the name of a group")]
pub struct NotAGroup(String);

impl FromStr for BenchGroup {
    type Err = NotAGroup;

    fn from_str(text: &str) -> Result<Self, NotAGroup> {
        let group = DESCRIPTIONS.iter().find(|(_, name, _)| *name == text);
        group.map(|(group, ..)| *group).ok_or_else(|| NotAGroup(text.to_owned()))
    }
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

    /// Returns the name and the description of each group, in the order of a list of them.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        DESCRIPTIONS.iter().map(|(_, name, description)| (*name, *description))
    }

    /// Returns the group's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        DESCRIPTIONS.iter().find(|(group, ..)| *group == self).map_or("", |(_, name, _)| *name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_one_name_and_is_read_from_it() {
        assert_eq!(BenchGroup::names().count(), BenchGroup::ALL.len());
        for group in BenchGroup::ALL {
            assert_eq!(group.name().parse(), Ok(group));
        }
        assert_eq!("disk ".parse::<BenchGroup>(), Err(NotAGroup("disk ".to_owned())));
    }
}

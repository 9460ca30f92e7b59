//! The results of benchmarks, in the form in which they are saved and compared.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::BenchError;
use super::machine::BenchMachine;

/// Everything of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    form: Form,
    pub(crate) version: String,
    /// The seconds that each measurement ran, after its warm-up.
    pub(crate) measured_s: f64,
    /// The number of events of the ledger for reads, openings and verifications.
    pub(crate) events: u64,
    pub(crate) machine: BenchMachine,
    pub(crate) measurements: Vec<Measurement>,
    /// Parts that could not be measured to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<UnmeasuredPart>,
}

/// A part that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Failure")]
pub struct UnmeasuredPart {
    /// The part's name on the command line.
    pub part: String,
    /// The cause.
    pub what: String,
}

/// The name and form of the file; a file without it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    #[serde(rename = "bitacora-bench 1")]
    First,
}

impl Results {
    pub(super) fn new(machine: BenchMachine, measured: Duration, events: u64) -> Self {
        Self {
            form: Form::First,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            measured_s: measured.as_secs_f64(),
            events,
            machine,
            measurements: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Takes in the results of a part, or its failure.
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn take(
        &mut self,
        part: &str,
        measured: Result<Vec<Measurement>, BenchError>,
    ) -> Result<(), BenchError> {
        match measured {
            Ok(measurements) => self.measurements.extend(measurements),
            Err(BenchError::Stopped) => return Err(BenchError::Stopped),
            Err(error) => {
                self.failures.push(UnmeasuredPart { part: part.to_owned(), what: error.to_string() });
            }
        }
        Ok(())
    }

    /// Returns the figure of this name in the measurement of this name.
    pub(crate) fn figure(&self, measurement: &str, figure: Figure) -> Option<f64> {
        let found = self.measurements.iter().find(|found| found.name == measurement)?;
        found.figures.get(&figure).copied()
    }

    /// Returns the results as they are saved.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Numbers and texts under names: there is nothing in it that JSON cannot say.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// The key that finds it in another run: its group and its setting.
    pub(crate) name: String,
    /// The description for people.
    pub(crate) what: String,
    pub(crate) figures: BTreeMap<Figure, f64>,
    /// The distribution: shares of the answers, and the time within which they came, in microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) curve: Vec<(f64, f64)>,
}

impl Measurement {
    pub(super) fn new(name: &str, what: impl Into<String>) -> Self {
        Self { name: name.to_owned(), what: what.into(), figures: BTreeMap::new(), curve: Vec::new() }
    }

    pub(super) fn with(mut self, figure: Figure, value: f64) -> Self {
        self.figures.insert(figure, value);
        self
    }
}

/// The kind of a measured number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    EventsPerS,
    P50Us,
    P99Us,
    P999Us,
    MaxUs,
    /// The longest answer as a multiple of the median.
    MaxOverP50,
    Answers,
    EventsAFrame,
    /// Bytes before compression for each stored one.
    Compression,
    StoredBytesAnEvent,
    MeanSyncUs,
    /// The share of the time in which a sync was under way.
    DiskBusy,
    /// Processor time of the load's callers, in cores.
    CallerCores,
    /// Processor time of the service, in cores.
    ServiceCores,
    /// Segments begun.
    Segments,
    /// The time from the last answer until all read models had caught up.
    IndexLagMs,
    BytesPerS,
    BytesAFrame,
    /// Bytes a second as a share of the speed of hashing alone.
    ShareOfBlake3,
    /// Events a second as a share of those without signed tree heads.
    ShareWithoutHeads,
    /// The median answer as a multiple of that of a plain append with as many callers, in the same run.
    TimesAnAppend,
    /// Calls a second that were decided, and reported as ended.
    CallsPerS,
    /// The most memory of a load as a multiple of that of its first quarter.
    MemoryGrowth,
    /// The most memory in the first quarter of a load.
    EarlyMemoryBytes,
    /// The size of the JSON lines, before compression.
    LineBytes,
    /// The size of the compressed lines.
    PackedBytes,
    /// The size of the index in them.
    IndexBytes,
    /// The size of the lines as a multiple of the compressed size.
    TimesSmaller,
    /// The compressed size as a share of that of zstd -19 with long matches.
    ShareOfZstd19,
    /// The most memory of the service, or of this process where there is none.
    PeakMemoryBytes,
}

impl Figure {
    /// Returns the figure's name for people.
    pub(crate) fn said(self) -> &'static str {
        match self {
            Self::EventsPerS => "events/s",
            Self::P50Us => "p50 µs",
            Self::P99Us => "p99 µs",
            Self::P999Us => "p99.9 µs",
            Self::MaxUs => "max µs",
            Self::MaxOverP50 => "max/p50",
            Self::Answers => "answers",
            Self::EventsAFrame => "events a frame",
            Self::Compression => "times compressed",
            Self::StoredBytesAnEvent => "stored bytes an event",
            Self::MeanSyncUs => "mean sync µs",
            Self::DiskBusy => "disk busy",
            Self::CallerCores => "cores of the load",
            Self::ServiceCores => "cores of the service",
            Self::Segments => "segments",
            Self::IndexLagMs => "index lag ms",
            Self::BytesPerS => "bytes/s",
            Self::BytesAFrame => "bytes a frame",
            Self::ShareOfBlake3 => "of BLAKE3's speed",
            Self::ShareWithoutHeads => "of the speed without tree heads",
            Self::TimesAnAppend => "times a plain append's median",
            Self::CallsPerS => "calls/s",
            Self::MemoryGrowth => "times the memory of the first quarter",
            Self::EarlyMemoryBytes => "memory bytes in the first quarter",
            Self::LineBytes => "bytes of lines",
            Self::PackedBytes => "bytes packed",
            Self::IndexBytes => "bytes of them index",
            Self::TimesSmaller => "times smaller",
            Self::ShareOfZstd19 => "of zstd -19 --long",
            Self::PeakMemoryBytes => "peak memory bytes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_fails_keeps_the_rest_and_a_stop_ends_all() {
        let machine = serde_json::json!({
            "cores": 2, "cpu": "c", "memory_mib": 1, "file_system": "ext4", "kernel": "6",
        });
        let machine = serde_json::from_value(machine).unwrap();
        let mut results = Results::new(machine, Duration::from_secs(1), 1);
        let measured = |name| Ok(vec![Measurement::new(name, name).with(Figure::Answers, 1.0)]);
        results.take("disk", measured("disk/a")).unwrap();
        results.take("decide", Err(BenchError::Service("did not allow".to_owned()))).unwrap();
        results.take("roll", measured("roll/b")).unwrap();
        let names: Vec<_> = results.measurements.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["disk/a", "roll/b"]);
        let saved: Results = serde_json::from_value(results.to_json()).unwrap();
        assert_eq!(saved, results);
        let [UnmeasuredPart { part, what }] = &saved.failures[..] else { panic!("{:?}", saved.failures) };
        assert_eq!((part.as_str(), what.as_str()), ("decide", "the service that is measured did not allow"));
        assert!(matches!(results.take("x", Err(BenchError::Stopped)), Err(BenchError::Stopped)));
    }
}

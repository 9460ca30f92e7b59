//! Benchmarks of latency while one segment ends and the next one begins.

use std::time::Duration;

use bitacora_ledger::{Environment, Ledger, Options};

use super::append::{Load, event_loop};
use super::error::BenchError;
use super::latency::as_number;
use super::plan::MeasurementListener;
use super::pool;
use super::results::Figure;
use super::results::Measurement;
use super::scratch::Scratch;
use super::shape::LoadShape;
use super::stop::StopSignal;

/// The size of segments: small enough that they end all the time.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;
const SHAPE: LoadShape = LoadShape { callers: 16, events: 100 };

pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    measured: Duration,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let what = format!("segments of 8 MiB rolling, {SHAPE}");
    listener(&what);
    let place = scratch.place("roll")?;
    let options = Options { segment_bytes: SEGMENT_BYTES, ..Options::default() };
    let keyring = place.begin(environment, &options)?;
    let ledger = Ledger::open(environment, &place.ledger()?, keyring, options)?;
    let before = ledger.status().segments;
    let load = Load { ledger: &ledger, shape: SHAPE, measured, stop };
    let measurement = load.run(&event_loop()?, Measurement::new("roll/16x100", what))?;
    let rolled = ledger.status().segments.saturating_sub(before);
    ledger.close()?;
    Ok(vec![measurement.with(Figure::Segments, as_number(rolled as u64))])
}

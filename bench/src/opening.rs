//! Benchmarks of opening a filled ledger.

use std::time::Instant;

use bitacora_ledger::Environment;

use super::dataset::Dataset;
use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::plan::MeasurementListener;
use super::results::Figure;
use super::results::Measurement;
use super::stop::StopSignal;

/// The number of openings with the files in the system's cache.
const WARM_OPENINGS: usize = 3;

pub(super) fn measure(
    environment: &Environment,
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    let openings = |name: &str, warmth: &str, count: usize| -> Result<Measurement, BenchError> {
        let what = format!("opening {} events again, {warmth}", dataset.events);
        listener(&what);
        let latencies = Latencies::new();
        for _ in 0..count {
            stop.check()?;
            let began = Instant::now();
            let ledger = dataset.open(environment)?;
            latencies.add(began.elapsed());
            ledger.close()?;
        }
        let described = latencies.describe(Measurement::new(name, what));
        let seconds = described.figures.get(&Figure::P50Us).copied().unwrap_or_default() / 1e6;
        Ok(described.with(Figure::EventsPerS, as_number(dataset.events) / seconds))
    };
    dataset.forget_cached()?;
    Ok(vec![openings("open/cold", "cold", 1)?, openings("open/warm", "warm", WARM_OPENINGS)?])
}

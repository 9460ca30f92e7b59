//! Benchmarks of appends in this process, by callers on an event loop like the service's.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_ledger::{AppendRequest, Counters, Environment, Ledger, Options};
use tokio::runtime::Runtime;

use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::plan::{BenchPlan, MeasurementListener, counting};
use super::pool::{self, Caller};
use super::results::Figure;
use super::results::Measurement;
use super::scratch::Scratch;
use super::shape::LoadShape;
use super::stop::StopSignal;

/// The shapes that have floors.
const SHAPES: [LoadShape; 4] =
    [LoadShape::new(1, 1), LoadShape::new(256, 1), LoadShape::new(16, 100), LoadShape::new(4, 1_000)];

pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    plan: &BenchPlan,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let shapes = if plan.shapes.is_empty() { &SHAPES[..] } else { &plan.shapes };
    let runtime = event_loop()?;
    let measurements = shapes.iter().map(|shape| {
        let what = format!("in process, {shape}");
        listener(&what);
        let place = scratch.place(&format!("append-{}", shape.name()))?;
        let options = Options::default();
        let keyring = place.begin(environment, &options)?;
        let ledger = Ledger::open(environment, &place.ledger()?, keyring, options)?;
        let load = Load { ledger: &ledger, shape: *shape, measured: plan.measured, stop };
        let into = Measurement::new(&format!("append/{}", shape.name()), what);
        let measurement = load.run(&runtime, into)?;
        ledger.close()?;
        Ok(measurement)
    });
    measurements.collect()
}

/// Returns an event loop with as many threads as there are cores, as the service has.
pub(super) fn event_loop() -> Result<Runtime, BenchError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|source| BenchError::System { what: "the event loop", source })
}

/// A closed loop: every caller sends, waits for the answer, and sends again.
pub(super) struct Load<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) shape: LoadShape,
    pub(super) measured: Duration,
    pub(super) stop: &'a StopSignal,
}

impl Load<'_> {
    pub(super) fn run(&self, runtime: &Runtime, into: Measurement) -> Result<Measurement, BenchError> {
        let latencies = Arc::new(Latencies::new());
        let counts = counting(self.measured);
        let counts_from = counts.start;
        let LoadShape { callers, events } = self.shape;
        let callers: Vec<_> = (0..callers)
            .map(|number| {
                let calls = CallerRequests {
                    caller: Caller::new(&into.name, number, callers),
                    events,
                    latencies: Arc::clone(&latencies),
                    counts: counts.clone(),
                    stop: self.stop.clone(),
                    counted: 0,
                };
                let ledger = self.ledger.clone();
                if callers == 1 {
                    // A lone caller needs no event loop, and would wait for it.
                    runtime.spawn_blocking(move || calls.run_alone(&ledger))
                } else {
                    runtime.spawn(async move { calls.run(&ledger).await })
                }
            })
            .collect();
        self.stop.wait_until(counts_from);
        let (began, before) = (Instant::now(), self.ledger.status().counters);
        let mut made = 0;
        for caller in callers {
            let ended = runtime.block_on(caller);
            made += ended.map_err(|_| BenchError::Nothing("a caller"))??;
        }
        let (took, after) = (began.elapsed(), self.ledger.status().counters);
        self.stop.check()?;
        if made == 0 {
            return Err(BenchError::Nothing("a request"));
        }
        Ok(latencies.describe(describe_work(into, &before, &after, took)))
    }
}

/// One caller's requests, and their latencies.
struct CallerRequests {
    caller: Caller,
    events: usize,
    latencies: Arc<Latencies>,
    counts: Range<Instant>,
    stop: StopSignal,
    counted: u64,
}

impl CallerRequests {
    /// Returns the next request and its start; `None` once the time is over.
    fn next(&mut self) -> Option<(AppendRequest<'_>, Instant)> {
        let request = AppendRequest::of(self.caller.events(self.events));
        let began = Instant::now();
        let goes_on = began < self.counts.end || self.latencies.count() == 0;
        (goes_on && !self.stop.is_set()).then_some((request, began))
    }

    /// Takes in the acknowledgement of the request sent at `began`.
    fn acknowledged(&mut self, began: Instant) {
        if began >= self.counts.start {
            self.latencies.add(began.elapsed());
            self.counted += 1;
        }
    }

    /// Appends until the time is over; returns the number of requests that counted.
    async fn run(mut self, ledger: &Ledger) -> Result<u64, BenchError> {
        while let Some((request, began)) = self.next() {
            ledger.append(request)?.await?;
            self.acknowledged(began);
        }
        Ok(self.counted)
    }

    /// Does the same as [`Self::run`], on a separate thread.
    fn run_alone(mut self, ledger: &Ledger) -> Result<u64, BenchError> {
        while let Some((request, began)) = self.next() {
            ledger.append(request)?.wait()?;
            self.acknowledged(began);
        }
        Ok(self.counted)
    }
}

/// Adds the differences of the ledger's own counters.
pub(super) fn describe_work(
    into: Measurement,
    before: &Counters,
    after: &Counters,
    took: Duration,
) -> Measurement {
    let between = |count: fn(&Counters) -> u64| as_number(count(after) - count(before));
    let (events, frames) = (between(|c| c.events), between(|c| c.frames).max(1.0));
    let stored = between(|c| c.stored_bytes);
    let sync_us = between(|c| c.sync_us);
    into.with(Figure::EventsPerS, events / took.as_secs_f64())
        .with(Figure::EventsAFrame, events / frames)
        .with(Figure::Compression, between(|c| c.body_bytes) / stored.max(1.0))
        .with(Figure::StoredBytesAnEvent, stored / events.max(1.0))
        .with(Figure::MeanSyncUs, sync_us / frames)
        .with(Figure::DiskBusy, sync_us / 1e6 / took.as_secs_f64())
}

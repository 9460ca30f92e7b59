//! Benchmarks of reads of a filled ledger: all events, and one stream.

use std::time::{Duration, Instant};

use bitacora_formats::After;
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Environment, Filter, ReadFrom, ReadQuery};

use super::connection::ask_for_lines;
use super::dataset::{Dataset, SOUGHT_EVENTS, Sought};
use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::plan::MeasurementListener;
use super::results::Figure;
use super::results::Measurement;
use super::service::ServiceProcess;
use super::stop::StopSignal;

/// The most events of the scan over HTTP: more would not change the figures.
const MAX_HTTP_SCAN_EVENTS: u64 = 1_000_000;
/// The number of scanned events between two checks for an interruption.
const SCANNED_BETWEEN_CHECKS: u64 = 100_000;
/// The number of reads of the stream, once it is warm.
const WARM_READS: u64 = 20;

pub(super) fn measure(
    environment: &Environment,
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    let mut measurements =
        vec![scan(environment, dataset, stop, listener)?, pages(environment, dataset, stop, listener)?];
    measurements.extend(over_http(dataset, stop, listener)?);
    Ok(measurements)
}

/// Scans every record opened and decoded in place, as a fold of the log reads it.
fn scan(
    environment: &Environment,
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Measurement, BenchError> {
    let what = "full scan in process, records as they lie".to_owned();
    listener(&what);
    let ledger = dataset.open(environment)?;
    let (began, mut events, mut reached) = (Instant::now(), 0, After::START);
    let head = ledger.head().position;
    while let Some(next) = reached.first_position().filter(|next| *next <= head) {
        stop.check()?;
        let until = next.plus(SCANNED_BETWEEN_CHECKS - 1).map_or(head, |until| until.min(head));
        ledger.visit(reached, until, &mut |visited| events += u64::from(!visited.record.id.is_empty()))?;
        reached = until.into();
    }
    let rate = as_number(events) / began.elapsed().as_secs_f64();
    ledger.close()?;
    Ok(Measurement::new("read/scan", what).with(Figure::EventsPerS, rate))
}

/// Reads every event as a value of its own, with its commitment.
fn pages(
    environment: &Environment,
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Measurement, BenchError> {
    let what = format!("full scan in process, pages of {MAX_PAGE_EVENTS}");
    listener(&what);
    let ledger = dataset.open(environment)?;
    let (latencies, began) = (Latencies::new(), Instant::now());
    let (mut from, mut events) = (ReadFrom::After(After::START), 0);
    loop {
        stop.check()?;
        let asked = Instant::now();
        let query = ReadQuery { from, until: None, limit: MAX_PAGE_EVENTS, filter: Filter::default() };
        let page = ledger.read(&query)?;
        latencies.add(asked.elapsed());
        events += page.events.len() as u64;
        match page.next {
            Some(next) => from = next,
            None => break,
        }
    }
    let rate = as_number(events) / began.elapsed().as_secs_f64();
    ledger.close()?;
    Ok(latencies.describe(Measurement::new("read/pages", what)).with(Figure::EventsPerS, rate))
}

fn over_http(
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    // Twice: the first service makes whatever it keeps about the ledger, the second finds it.
    drop(ServiceProcess::start(&dataset.place)?.caught_up(stop)?);
    let service = ServiceProcess::start(&dataset.place)?.caught_up(stop)?;
    let session = format!("{SOUGHT_EVENTS} events of one session of {}, over HTTP", dataset.events);
    let scattered = format!("{SOUGHT_EVENTS} events scattered over {}, over HTTP", dataset.events);
    let mut measurements = Vec::new();
    for (sought, name, what) in
        [(Sought::Session, "read/stream", session), (Sought::Scattered, "read/scattered", scattered)]
    {
        listener(&what);
        dataset.forget_cached()?;
        let cold = Latencies::new();
        cold.add(expect(&service, &sought.path(), SOUGHT_EVENTS, stop)?);
        let warm = Latencies::new();
        for _ in 0..WARM_READS {
            stop.check()?;
            warm.add(expect(&service, &sought.path(), SOUGHT_EVENTS, stop)?);
        }
        measurements.push(cold.describe(Measurement::new(&format!("{name}-cold"), format!("{what}, cold"))));
        measurements.push(warm.describe(Measurement::new(&format!("{name}-warm"), format!("{what}, warm"))));
    }
    let events = dataset.events.min(MAX_HTTP_SCAN_EVENTS);
    let all = format!("scan of {events} events over HTTP, NDJSON");
    listener(&all);
    let took = expect(&service, &format!("/v1/ledgers/main/events?after=0&limit={events}"), events, stop)?;
    let rate = as_number(events) / took.as_secs_f64();
    measurements.push(Measurement::new("read/scan-http", all).with(Figure::EventsPerS, rate));
    Ok(measurements)
}

/// Reads at least `events` events, and returns the time that this took.
fn expect(
    service: &ServiceProcess,
    path: &str,
    events: u64,
    stop: &StopSignal,
) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let read = ask_for_lines(service, path, stop);
    stop.check()?;
    let read = read.map_err(|error| BenchError::Service(format!("broke off a read: {error}")))?;
    if read < events {
        return Err(BenchError::Service(format!("answered {read} events where there are {events}")));
    }
    Ok(began.elapsed())
}

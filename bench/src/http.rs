//! Benchmarks of appends over HTTP: many connections to a separate service on loopback.

pub(super) mod deciding;
mod request;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bitacora_formats::BodyForm;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use self::request::PreparedRequest;
use super::connection::{HttpAnswer, HttpConnection};
use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::plan::{BenchPlan, MeasurementListener, counting};
use super::results::Figure;
use super::results::Measurement;
use super::scratch::Scratch;
use super::service::ServiceProcess;
use super::shape::LoadShape;
use super::stop::LOOK_EVERY;
use super::stop::StopSignal;
use super::{machine, pool};

/// The shapes that have floors.
const SHAPES: [LoadShape; 4] =
    [LoadShape::new(1, 1), LoadShape::new(256, 1), LoadShape::new(16, 100), LoadShape::new(4, 1_000)];
/// The number of events from which on requests are written as NDJSON, smaller ones as a batch.
const NDJSON_EVENTS: usize = 1_000;

pub(super) fn measure(
    scratch: &Scratch,
    plan: &BenchPlan,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let shapes = if plan.shapes.is_empty() { &SHAPES[..] } else { &plan.shapes };
    let runtime = one_thread()?;
    let measurements = shapes.iter().map(|shape| {
        let place = scratch.place(&format!("http-{}", shape.name()))?;
        let service = ServiceProcess::start(&place)?;
        let load = Load { service: &service, shape: *shape, form: form_of(*shape) };
        let name = format!("http/{}", shape.name());
        let what = format!("over HTTP, {shape}{}", form_named(load.form));
        listener(&format!("{what} (service {})", service.id()));
        let into = Measurement::new(&name, what);
        let measurement = runtime.block_on(load.run(into, counting(plan.measured), stop))?;
        let ended = Instant::now();
        service.wait_until_caught_up(stop)?;
        Ok(measurement.with(Figure::IndexLagMs, ended.elapsed().as_secs_f64() * 1e3))
    });
    measurements.collect()
}

/// Returns an event loop of one thread: the service has the other cores.
fn one_thread() -> Result<Runtime, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| BenchError::System { what: "the event loop", source })
}

fn form_of(shape: LoadShape) -> BodyForm {
    match shape.events {
        1 => BodyForm::Structured,
        NDJSON_EVENTS.. => BodyForm::Ndjson,
        _ => BodyForm::Batch,
    }
}

fn form_named(form: BodyForm) -> &'static str {
    match form {
        BodyForm::Ndjson => " (NDJSON)",
        _ => "",
    }
}

struct Load<'a> {
    service: &'a ServiceProcess,
    shape: LoadShape,
    form: BodyForm,
}

impl Load<'_> {
    async fn run(
        &self,
        into: Measurement,
        counts: Range<Instant>,
        stop: &StopSignal,
    ) -> Result<Measurement, BenchError> {
        let latencies = Arc::new(Latencies::new());
        let mut callers = JoinSet::new();
        let LoadShape { callers: connections, events } = self.shape;
        for number in 0..connections {
            let requests = PreparedRequest::several(
                &into.name,
                &self.service.authorization,
                (number, connections),
                events,
                self.form,
            );
            let connection = HttpConnection::open(self.service.address).await;
            let connection = connection.map_err(|error| broken(&error))?;
            callers.spawn(call(connection, requests, Arc::clone(&latencies), counts.clone()));
        }
        let took = watch(self.service, callers, counts, stop).await?;
        let answers = latencies.count();
        if answers == 0 {
            return Err(BenchError::Nothing("a request over HTTP"));
        }
        let events = as_number(answers) * as_number(events as u64);
        Ok(took.describe(latencies.describe(into)).with(Figure::EventsPerS, events / took.seconds))
    }
}

type Callers = JoinSet<Result<(), BenchError>>;

/// The resources used in the time that counts.
struct Took {
    seconds: f64,
    caller_cores: f64,
    service_cores: f64,
    peak_memory_bytes: u64,
}

impl Took {
    fn describe(&self, measurement: Measurement) -> Measurement {
        measurement
            .with(Figure::CallerCores, self.caller_cores)
            .with(Figure::ServiceCores, self.service_cores)
            .with(Figure::PeakMemoryBytes, as_number(self.peak_memory_bytes))
    }
}

/// Waits until the callers have come to the end of their time.
async fn watch(
    service: &ServiceProcess,
    mut callers: Callers,
    counts: Range<Instant>,
    stop: &StopSignal,
) -> Result<Took, BenchError> {
    wait_until(counts.start, stop, &mut callers).await?;
    let (own, served) = (std::process::id(), service.id());
    let processor = || (machine::processor_s(own), machine::processor_s(served));
    let (began, before) = (Instant::now(), processor());
    wait_until(counts.end, stop, &mut callers).await?;
    while let Some(ended) = callers.join_next().await {
        ended.map_err(|_| BenchError::Nothing("a connection"))??;
    }
    let (seconds, after) = (began.elapsed().as_secs_f64(), processor());
    Ok(Took {
        seconds,
        caller_cores: (after.0 - before.0) / seconds,
        service_cores: (after.1 - before.1) / seconds,
        peak_memory_bytes: service.peak_memory_bytes(),
    })
}

/// Sleeps until `then`, or until an interruption or the failure of a connection.
async fn wait_until(then: Instant, stop: &StopSignal, callers: &mut Callers) -> Result<(), BenchError> {
    while Instant::now() < then {
        tokio::time::sleep(LOOK_EVERY.min(then.saturating_duration_since(Instant::now()))).await;
        stop.check()?;
        if let Some(ended) = callers.try_join_next() {
            ended.map_err(|_| BenchError::Nothing("a connection"))??;
        }
    }
    Ok(())
}

/// Sends until the time is over and something counts. Every answer must acknowledge new events.
async fn call(
    mut connection: HttpConnection,
    mut requests: Vec<PreparedRequest>,
    latencies: Arc<Latencies>,
    counts: Range<Instant>,
) -> Result<(), BenchError> {
    let mut number = 0;
    loop {
        for request in &mut requests {
            let bytes = request.numbered(number);
            number += 1;
            let began = Instant::now();
            if began >= counts.end && latencies.count() > 0 {
                return Ok(());
            }
            let answer = connection.ask(bytes).await.map_err(|error| broken(&error))?;
            if answer.status != 201 {
                return Err(refused(&answer));
            }
            if began >= counts.start {
                latencies.add(began.elapsed());
            }
        }
    }
}

fn refused(answer: &HttpAnswer) -> BenchError {
    let why = String::from_utf8_lossy(&answer.start).into_owned();
    BenchError::Service(format!("answered {}: {}", answer.status, bitacora_formats::printable(&why)))
}

fn broken(error: &std::io::Error) -> BenchError {
    BenchError::Service(format!("broke off: {error}"))
}

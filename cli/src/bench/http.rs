//! Appends over HTTP: a load of many connections against a service of its own, on loopback and on the same cores.

mod request;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::BodyForm;
use tokio::task::JoinSet;

use self::request::PreparedRequest;
use super::append::shape;
use super::connection::Connection;
use super::latency::{Latencies, as_number};
use super::results::Figure;
use super::scratch::Scratch;
use super::service::Service;
use super::{BenchError, Measurement, Stop, Told, counting, machine, pool};

/// Connections, events that each sends at once, and how they are written.
const SHAPES: [(usize, usize, BodyForm); 4] = [
    (1, 1, BodyForm::Structured),
    (256, 1, BodyForm::Structured),
    (16, 100, BodyForm::Batch),
    (4, 1_000, BodyForm::Ndjson),
];
/// How often the load looks whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn measure(
    scratch: &Scratch,
    measured: Duration,
    stop: &Stop,
    told: Told<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    // One thread: the service has the other ones.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| BenchError::System { what: "the event loop", source })?;
    let place = scratch.place("http")?;
    let service = Service::start(&place)?;
    let measurements = SHAPES.iter().map(|(connections, events, form)| {
        let name = format!("http/{connections}x{events}");
        let what = format!("over HTTP, {}{}", shape(*connections, *events), form_named(*form));
        told(&format!("{what} (service {})", service.id()));
        let load = Load { service: &service, connections: *connections, events: *events, form: *form };
        runtime.block_on(load.run(Measurement::new(&name, what), counting(measured), stop))
    });
    measurements.collect()
}

fn form_named(form: BodyForm) -> &'static str {
    match form {
        BodyForm::Ndjson => " (NDJSON)",
        _ => "",
    }
}

struct Load<'a> {
    service: &'a Service,
    connections: usize,
    events: usize,
    form: BodyForm,
}

impl Load<'_> {
    async fn run(
        &self,
        into: Measurement,
        counts: Range<Instant>,
        stop: &Stop,
    ) -> Result<Measurement, BenchError> {
        let latencies = Arc::new(Latencies::new());
        let mut callers = JoinSet::new();
        for number in 0..self.connections {
            let requests =
                PreparedRequest::several(&into.name, number, self.connections, self.events, self.form);
            let connection = Connection::open(self.service.address).await;
            let connection = connection.map_err(|error| broken(&error))?;
            callers.spawn(call(connection, requests, Arc::clone(&latencies), counts.clone()));
        }
        tokio::time::sleep_until(counts.start.into()).await;
        let (own, service) = (std::process::id(), self.service.id());
        let processor = || (machine::processor_s(own), machine::processor_s(service));
        let (began, before) = (Instant::now(), processor());
        while began < counts.end && Instant::now() < counts.end {
            tokio::time::sleep(LOOK_EVERY).await;
            stop.check()?;
            if let Some(ended) = callers.try_join_next() {
                ended.map_err(|_| BenchError::Nothing("a connection"))??;
            }
        }
        while let Some(ended) = callers.join_next().await {
            ended.map_err(|_| BenchError::Nothing("a connection"))??;
        }
        let (took, after) = (began.elapsed().as_secs_f64(), processor());
        let answers = latencies.count();
        if answers == 0 {
            return Err(BenchError::Nothing("a request over HTTP"));
        }
        let events = as_number(answers) * as_number(self.events as u64);
        Ok(latencies
            .describe(into)
            .with(Figure::EventsPerS, events / took)
            .with(Figure::CallerCores, (after.0 - before.0) / took)
            .with(Figure::ServiceCores, (after.1 - before.1) / took)
            .with(Figure::PeakMemoryBytes, as_number(self.service.peak_memory_bytes())))
    }
}

/// Sends until the time is over. Every answer must be that something was added.
async fn call(
    mut connection: Connection,
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
            if began >= counts.end {
                return Ok(());
            }
            let answer = connection.ask(bytes).await.map_err(|error| broken(&error))?;
            if answer.status != 201 {
                let why = String::from_utf8_lossy(&answer.start).into_owned();
                let why = crate::output::printable(&why);
                return Err(BenchError::Service(format!("answered {}: {why}", answer.status)));
            }
            if began >= counts.start {
                latencies.add(began.elapsed());
            }
        }
    }
}

fn broken(error: &std::io::Error) -> BenchError {
    BenchError::Service(format!("broke off: {error}"))
}

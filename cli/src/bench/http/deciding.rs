//! Decisions over HTTP: each connection asks before a call, reports how the call ended, and goes on with the next one. Beside
//! them plain appends by as many connections: what a decision takes is told as a multiple of those.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::request::{NO_NUMBER, PreparedRequest, head};
use super::{Load, broken, form_of, one_thread, refused, watch};
use crate::bench::connection::Connection;
use crate::bench::latency::{Latencies, as_number};
use crate::bench::results::Figure;
use crate::bench::scratch::Scratch;
use crate::bench::service::Service;
use crate::bench::{BenchError, Measurement, Plan, Shape, Stop, Told, counting, pool};

/// How many ask at once.
const CALLERS: [usize; 2] = [1, 256];
const JSON: &str = "application/json";
/// What is measured is an answer that lets the call begin.
const ALLOWED: &[u8] = br#""verdict":"allow""#;

pub(in crate::bench) fn measure(
    scratch: &Scratch,
    plan: &Plan,
    stop: &Stop,
    told: Told<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let runtime = one_thread()?;
    let mut measurements = Vec::new();
    for callers in CALLERS {
        let place = scratch.place(&format!("append-{callers}"))?;
        let service = Service::start(&place)?;
        let shape = Shape::new(callers, 1);
        let load = Load { service: &service, shape, form: form_of(shape) };
        let what = format!("plain appends beside decisions, {shape}");
        told(&what);
        let into = Measurement::new(&format!("decide/append-{callers}"), what);
        let appends = runtime.block_on(load.run(into, counting(plan.measured), stop))?;
        drop((service, place));

        let place = scratch.place(&format!("decide-{callers}"))?;
        let service = Service::start(&place)?;
        let what = format!("decisions over HTTP, {callers} callers, each with its outcome");
        told(&what);
        let into = Measurement::new(&format!("decide/{callers}"), what);
        let deciding = async {
            govern(&service).await?;
            decide(&service, callers, into, counting(plan.measured), stop).await
        };
        let decisions = runtime.block_on(deciding)?;
        let p50 = |measurement: &Measurement| measurement.figures.get(&Figure::P50Us).copied().unwrap_or(0.0);
        let times = p50(&decisions) / p50(&appends).max(f64::MIN_POSITIVE);
        measurements.push(appends);
        measurements.push(decisions.with(Figure::TimesAnAppend, times));
    }
    Ok(measurements)
}

/// Registers a tool, and has a policy allow its calls.
async fn govern(service: &Service) -> Result<(), BenchError> {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes a file",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent", "admin"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": ["/path"], "context_from": {"pointer": "/path", "normaliser": "path"},
    });
    let policy = json!({"rules": [{
        "id": "measured", "match": {"tool": "fs.*", "context": "src/**"}, "action": "allow", "trust": "ignore",
        "reason": "what is measured is allowed",
    }]});
    let acts = [
        ("PUT", "tools/fs.write", tool),
        ("PUT", "policy", policy),
        ("POST", "policy/1:activate", json!({})),
    ];
    let mut connection = Connection::open(service.address).await.map_err(|error| broken(&error))?;
    for (method, resource, body) in acts {
        act(&mut connection, method, resource, &body).await?;
    }
    Ok(())
}

async fn act(
    connection: &mut Connection,
    method: &str,
    resource: &str,
    body: &Value,
) -> Result<(), BenchError> {
    let body = body.to_string();
    let request = [head(method, resource, JSON, body.len()), body.into_bytes()].concat();
    let answer = connection.ask(&request).await.map_err(|error| broken(&error))?;
    if answer.status < 300 { Ok(()) } else { Err(refused(&answer)) }
}

async fn decide(
    service: &Service,
    connections: usize,
    into: Measurement,
    counts: Range<Instant>,
    stop: &Stop,
) -> Result<Measurement, BenchError> {
    let latencies = Arc::new(Latencies::new());
    let mut callers = JoinSet::new();
    for number in 0..connections {
        let connection = Connection::open(service.address).await.map_err(|error| broken(&error))?;
        callers.spawn(call(connection, Call::of(number), Arc::clone(&latencies), counts.clone()));
    }
    let took = watch(service, callers, counts, stop).await?;
    let answers = latencies.count();
    if answers == 0 {
        return Err(BenchError::Nothing("a decision over HTTP"));
    }
    let calls = as_number(answers) / took.seconds;
    Ok(took.describe(latencies.describe(into)).with(Figure::CallsPerS, calls))
}

/// A call as one connection makes it, again and again.
struct Call {
    asked: PreparedRequest,
    ended: PreparedRequest,
}

impl Call {
    fn of(connection: usize) -> Self {
        let (call, agent) = (format!("{connection}-{NO_NUMBER}"), format!("agent-{connection}"));
        let asked = json!({
            "call": call, "agent": agent, "tool": "fs.write", "model": "a-model", "task_type": "measure",
            "session": format!("session-{connection}"), "args": {"path": format!("src/m{connection}/a.rs")},
        });
        let ended = json!({"call": call, "agent": agent, "status": "ok", "durationMs": 12});
        let request =
            |resource, body: Value| PreparedRequest::post(resource, JSON, body.to_string().as_bytes());
        Self { asked: request("decide", asked), ended: request("outcome", ended) }
    }
}

/// Calls until the time is over. Every decision must allow.
async fn call(
    mut connection: Connection,
    mut call: Call,
    latencies: Arc<Latencies>,
    counts: Range<Instant>,
) -> Result<(), BenchError> {
    for number in 0.. {
        let asked = call.asked.numbered(number);
        let began = Instant::now();
        if began >= counts.end {
            break;
        }
        let answer = connection.ask(asked).await.map_err(|error| broken(&error))?;
        if answer.status >= 300 {
            return Err(refused(&answer));
        }
        if !connection.has_heard(ALLOWED) {
            return Err(BenchError::Service("did not allow a call".to_owned()));
        }
        if began >= counts.start {
            latencies.add(began.elapsed());
        }
        let answer = connection.ask(call.ended.numbered(number)).await.map_err(|error| broken(&error))?;
        if answer.status >= 300 {
            return Err(refused(&answer));
        }
    }
    Ok(())
}

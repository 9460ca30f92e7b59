//! Benchmarks of decisions over HTTP, beside plain appends by as many connections.
//!
//! Each connection asks before a call, reports its outcome, and goes on with the next call. The cost of a decision is
//! reported as a multiple of an append. Then decisions alone are measured, whose calls nobody ends, and decisions
//! during uploads at full speed.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::request::{NO_NUMBER, PreparedRequest, head};
use super::{Load, broken, form_of, one_thread, refused, watch};
use crate::connection::HttpConnection;
use crate::error::BenchError;
use crate::latency::{Latencies, as_number};
use crate::plan::{BenchPlan, MeasurementListener, counting};
use crate::pool;
use crate::results::Figure;
use crate::results::Measurement;
use crate::scratch::Scratch;
use crate::service::ServiceProcess;
use crate::shape::LoadShape;
use crate::stop::StopSignal;

/// The numbers of concurrent callers.
const CALLERS: [usize; 2] = [1, 256];
/// The longest time for decisions alone: their calls stay open, and the number of open calls is limited.
const ALONE: Duration = Duration::from_secs(2);
/// The shape of the uploads beside a lone caller's decisions.
const UPLOADS: LoadShape = LoadShape::new(4, 1_000);
const JSON: &str = "application/json";
/// The mark of an answer that counts: the call may begin.
const ALLOWED: &[u8] = br#""verdict":"allow""#;

pub(crate) fn measure(
    scratch: &Scratch,
    plan: &BenchPlan,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let runtime = one_thread()?;
    let mut measurements = Vec::new();
    for callers in CALLERS {
        let place = scratch.place(&format!("append-{callers}"))?;
        let service = ServiceProcess::start(&place)?;
        let shape = LoadShape::new(callers, 1);
        let load = Load { service: &service, shape, form: form_of(shape) };
        let what = format!("plain appends beside decisions, {shape}");
        listener(&what);
        let into = Measurement::new(&format!("decide/append-{callers}"), what);
        let appends = runtime.block_on(load.run(into, counting(plan.measured), stop))?;
        drop((service, place));

        let shares =
            [("", "each with its outcome", plan.measured), ("alone-", "alone", plan.measured.min(ALONE))];
        let mut decided = Vec::new();
        for (name, how, measured) in shares {
            let place = scratch.place(&format!("decide-{name}{callers}"))?;
            let service = ServiceProcess::start(&place)?;
            let what = format!("decisions over HTTP, {callers} callers, {how}");
            listener(&what);
            let into = Measurement::new(&format!("decide/{name}{callers}"), what);
            let deciding = async {
                govern(&service).await?;
                let decisions = DecideLoad { callers, ends: name.is_empty() };
                decide(&service, decisions, into, counting(measured), stop).await
            };
            let decisions = runtime.block_on(deciding)?;
            let times = p50(&decisions) / p50(&appends).max(f64::MIN_POSITIVE);
            decided.push(decisions.with(Figure::TimesAnAppend, times));
        }
        measurements.push(appends);
        measurements.extend(decided);
    }
    listener("decisions beside uploads");
    measurements.extend(runtime.block_on(beside_uploads(scratch, plan, stop))?);
    Ok(measurements)
}

fn p50(measurement: &Measurement) -> f64 {
    measurement.figures.get(&Figure::P50Us).copied().unwrap_or(0.0)
}

/// Measures a lone caller's decisions during uploads by others; the latency is a multiple of that of the uploads.
async fn beside_uploads(
    scratch: &Scratch,
    plan: &BenchPlan,
    stop: &StopSignal,
) -> Result<Vec<Measurement>, BenchError> {
    let place = scratch.place("decide-beside")?;
    let service = ServiceProcess::start(&place)?;
    govern(&service).await?;
    let load = Load { service: &service, shape: UPLOADS, form: form_of(UPLOADS) };
    let uploads = Measurement::new("decide/uploads", format!("uploads beside decisions, {UPLOADS}"));
    let into = Measurement::new(
        "decide/beside-uploads",
        format!("decisions over HTTP, 1 callers, each with its outcome, beside {UPLOADS}"),
    );
    let counts = counting(plan.measured);
    let decisions = DecideLoad { callers: 1, ends: true };
    let (uploads, decisions) = tokio::join!(
        load.run(uploads, counts.clone(), stop),
        decide(&service, decisions, into, counts.clone(), stop)
    );
    let (uploads, decisions) = (uploads?, decisions?);
    let times = p50(&decisions) / p50(&uploads).max(f64::MIN_POSITIVE);
    Ok(vec![uploads, decisions.with(Figure::TimesAnAppend, times)])
}

/// The callers of a measurement.
#[derive(Clone, Copy)]
struct DecideLoad {
    callers: usize,
    /// Set when each call is ended before the next one.
    ends: bool,
}

/// Registers a tool, and has a policy allow its calls.
async fn govern(service: &ServiceProcess) -> Result<(), BenchError> {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes a file",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}, "change": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent", "admin"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": ["/path", "/change"], "context_from": {"pointer": "/path", "normaliser": "path"},
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
    let mut connection = HttpConnection::open(service.address).await.map_err(|error| broken(&error))?;
    for (method, resource, body) in acts {
        act(&mut connection, &service.authorization, (method, resource), &body).await?;
    }
    Ok(())
}

async fn act(
    connection: &mut HttpConnection,
    authorization: &str,
    what: (&str, &str),
    body: &Value,
) -> Result<(), BenchError> {
    let body = body.to_string();
    let request = [head(what, authorization, JSON, body.len()), body.into_bytes()].concat();
    let answer = connection.ask(&request).await.map_err(|error| broken(&error))?;
    if answer.status < 300 { Ok(()) } else { Err(refused(&answer)) }
}

async fn decide(
    service: &ServiceProcess,
    decisions: DecideLoad,
    into: Measurement,
    counts: Range<Instant>,
    stop: &StopSignal,
) -> Result<Measurement, BenchError> {
    let latencies = Arc::new(Latencies::new());
    let mut callers = JoinSet::new();
    for number in 0..decisions.callers {
        let connection = HttpConnection::open(service.address).await.map_err(|error| broken(&error))?;
        callers.spawn(call(
            connection,
            RepeatedCall::of(number, decisions.ends, &service.authorization),
            Arc::clone(&latencies),
            counts.clone(),
        ));
    }
    let took = watch(service, callers, counts, stop).await?;
    let answers = latencies.count();
    if answers == 0 {
        return Err(BenchError::Nothing("a decision over HTTP"));
    }
    let calls = as_number(answers) / took.seconds;
    Ok(took.describe(latencies.describe(into)).with(Figure::CallsPerS, calls))
}

/// A call that one connection repeats.
struct RepeatedCall {
    asked: PreparedRequest,
    ended: Option<PreparedRequest>,
}

impl RepeatedCall {
    fn of(connection: usize, ends: bool, authorization: &str) -> Self {
        let (call, agent) = (format!("{connection}-{NO_NUMBER}"), format!("agent-{connection}"));
        let asked = json!({
            "call": call, "agent": agent, "tool": "fs.write", "model": "a-model", "task_type": "measure",
            "session": format!("session-{connection}"),
            // No call is the one before it again: the guard against loops would deny that.
            "args": {"path": format!("src/m{connection}/a.rs"), "change": NO_NUMBER},
        });
        let ended = json!({"call": call, "agent": agent, "status": "ok", "durationMs": 12});
        let request = |resource, body: Value| {
            PreparedRequest::post(authorization, resource, JSON, body.to_string().as_bytes())
        };
        Self { asked: request("decide", asked), ended: ends.then(|| request("outcome", ended)) }
    }
}

/// Makes calls until the time is over and something counts. Every decision must allow.
async fn call(
    mut connection: HttpConnection,
    mut call: RepeatedCall,
    latencies: Arc<Latencies>,
    counts: Range<Instant>,
) -> Result<(), BenchError> {
    for number in 0.. {
        let asked = call.asked.numbered(number);
        let began = Instant::now();
        if began >= counts.end && latencies.count() > 0 {
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
        let Some(ended) = &mut call.ended else { continue };
        let answer = connection.ask(ended.numbered(number)).await.map_err(|error| broken(&error))?;
        if answer.status >= 300 {
            return Err(refused(&answer));
        }
    }
    Ok(())
}

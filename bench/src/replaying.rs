//! Benchmarks of a ledger of decided calls: appends, folding, and openings with and without a snapshot.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bitacora_formats::{After, Data, Event, Json, Keyring, Position};
use bitacora_governance::{ObservedEvent, Policy, ReactorState, State};
use bitacora_ledger::{AppendRequest, Environment, Fold, Ledger};
use bitacora_vocabulary::{
    EventData, PolicyActivated, PolicyPublished, Rule, ToolCompleted, ToolRegistered, ToolRequested,
    TrustRules,
};
use serde_json::{Value, json};

use super::error::BenchError;
use super::keyring::options_beside;
use super::latency::{Latencies, as_number};
use super::plan::MeasurementListener;
use super::results::Figure;
use super::results::Measurement;
use super::scratch::{Scratch, ScratchLedger};
use super::stop::StopSignal;

/// The most events: the number that openings are promised for.
const MAX_EVENTS: u64 = 10_000_000;
/// The number of events of a call: asked, decided, ended, observed.
const EVENTS_A_CALL: u64 = 4;
/// The number of calls of one request; the number of callers follows.
const CALLS_A_REQUEST: u64 = 100;
const CALLERS: u64 = 8;
/// The number of contexts of calls, each with trust of its own.
const CONTEXTS: u64 = 1_000;

pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    events: u64,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    let place = scratch.place("decided")?;
    let keyring = place.begin(environment, &options_beside(&place.keyring(), environment))?;
    let rounds = (events.min(MAX_EVENTS) / EVENTS_A_CALL).div_ceil(CALLS_A_REQUEST * CALLERS).max(1);
    let calls = rounds * CALLS_A_REQUEST * CALLERS;
    let made = format!("{calls} calls decided and ended, in process, {CALLERS} × {CALLS_A_REQUEST}");
    listener(&made);
    let ledger = open(environment, &place, &keyring)?;
    govern(&ledger)?;
    let began = Instant::now();
    fill(&ledger, rounds, stop)?;
    let seconds = began.elapsed().as_secs_f64();
    let filled = Measurement::new("replay/calls", made).with(Figure::CallsPerS, as_number(calls) / seconds);

    let head = ledger.head().position;
    let what = format!("the state that decides, made again from {head} events on one core");
    listener(&what);
    let began = Instant::now();
    let mut again = Again(State::default());
    ledger.fold(After::START, head, &mut again)?;
    let seconds = began.elapsed().as_secs_f64();
    let folded = Measurement::new("replay/fold", what)
        .with(Figure::EventsPerS, as_number(head.get()) / seconds)
        .with(Figure::MaxUs, seconds * 1e6);
    let is_same = ledger.governance().is_some_and(|live| live.read(|live| *live == again.0));
    if !is_same {
        return Err(BenchError::Service(
            "decides by another state than its log comes to: a defect".to_owned(),
        ));
    }
    ledger.close()?;

    let openings = |name: &str, how: &str| -> Result<Measurement, BenchError> {
        stop.check()?;
        let what = format!("opening {head} events of decided calls again, {how}");
        listener(&what);
        let (latencies, began) = (Latencies::new(), Instant::now());
        let ledger = open(environment, &place, &keyring)?;
        latencies.add(began.elapsed());
        ledger.close()?;
        Ok(latencies.describe(Measurement::new(name, what)))
    };
    let with = openings("replay/open", "with a snapshot of the state")?;
    remove_snapshots(&place)?;
    let without = openings("replay/open-without", "without one")?;
    Ok(vec![filled, folded, with, without])
}

fn open(
    environment: &Environment,
    place: &ScratchLedger,
    keyring: &Arc<Keyring>,
) -> Result<Ledger, BenchError> {
    let options = options_beside(&place.keyring(), environment);
    Ok(Ledger::open(environment, &place.ledger()?, Arc::clone(keyring), options)?)
}

struct Again(State);

impl Fold for Again {
    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn reads(&self, kind: &str) -> bool {
        State::reads(kind)
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.0.fold(frame);
    }

    fn reached(&mut self, _: Position) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Registers a tool, and has a policy allow its calls.
fn govern(ledger: &Ledger) -> Result<(), BenchError> {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes a file", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": ["/path", "/change"], "context_from": {"pointer": "/path", "normaliser": "path"},
    });
    let rules = json!([{
        "id": "measured", "match": {"tool": "fs.*"}, "action": "allow", "trust": "ignore",
        "reason": "what is measured is allowed",
    }]);
    let trust = TrustRules::v2();
    let unreadable = |_| BenchError::Nothing("the policy that is measured");
    let parsed: Vec<Rule> =
        serde_json::from_value(rules.clone()).map_err(|_| BenchError::Nothing("the rules"))?;
    let digest = Policy::compile(&parsed, &trust).map_err(unreadable)?.digest().to_string();
    let policy = json!({"version": 1, "digest": digest, "rules": rules, "trust": trust, "author": "bench"});
    let acts = [
        event(ToolRegistered::KIND, "tool".to_owned(), "operator:bench", &tool),
        event(PolicyPublished::KIND, "policy".to_owned(), "operator:bench", &policy),
        event(PolicyActivated::KIND, "active".to_owned(), "operator:bench", &json!({"version": 1})),
    ];
    // Each is examined with what was durable before it.
    for act in acts {
        ledger.append(AppendRequest::of(vec![act?]))?.wait()?;
    }
    Ok(())
}

fn fill(ledger: &Ledger, rounds: u64, stop: &StopSignal) -> Result<(), BenchError> {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let round = next.fetch_add(1, Ordering::Relaxed);
                        if round >= rounds * CALLERS {
                            return Ok(());
                        }
                        stop.check()?;
                        calls(ledger, round)?;
                    }
                })
            })
            .collect();
        callers.into_iter().try_for_each(|caller| {
            caller.join().unwrap_or(Err(BenchError::Nothing("a caller of decided calls")))
        })
    })
}

/// Appends as many calls as a request holds, then their outcomes.
fn calls(ledger: &Ledger, round: u64) -> Result<(), BenchError> {
    let numbers = || round * CALLS_A_REQUEST..(round + 1) * CALLS_A_REQUEST;
    let asked = numbers().map(|number| {
        let call = format!("c{number}");
        let path = format!("src/m{}/a.rs", number % CONTEXTS);
        let args = json!({"path": path, "change": call});
        let data = json!({"call": call, "tool": "fs.write", "model": "a-model", "args": args});
        event(ToolRequested::KIND, format!("{call}#requested"), "agent:bench", &data)
    });
    let ended = numbers().map(|number| {
        let call = format!("c{number}");
        let data = json!({"call": call, "status": "ok", "duration_ms": 12});
        event(ToolCompleted::KIND, format!("{call}#outcome"), "agent:bench", &data)
    });
    let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    ledger.append(AppendRequest::of(asked))?.wait()?;
    let ended: Vec<_> = ended.collect::<Result<_, _>>()?;
    ledger.append(AppendRequest::of(ended))?.wait()?;
    Ok(())
}

fn event(
    kind: &'static str,
    id: String,
    actor: &'static str,
    data: &Value,
) -> Result<Event<'static>, BenchError> {
    let mut event = Event::new(id, "urn:bench", kind, "measured");
    event.actor = Some(actor.into());
    event.agent = Some("bench".into());
    event.call = data.get("call").and_then(Value::as_str).map(|call| call.to_owned().into());
    let data = Json::check(data.to_string().into_bytes()).map_err(|_| BenchError::Nothing("an event"))?;
    event.data = Data::Json(data);
    Ok(event)
}

fn remove_snapshots(place: &ScratchLedger) -> Result<(), BenchError> {
    let folder = place.ledger()?.join("index");
    let failed = |source| BenchError::Disk { path: folder.clone(), source };
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "snp") {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

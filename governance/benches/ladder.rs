//! The whole ladder from memory: 100,000 dimensions (`--dimensions N` for others), 1,000 rules.
//! Prints the middle and the 99th of 100 calls. Prints the time of a new day, when all dimensions are looked through, and the time
//! of saving the state.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot go on must fail"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use bitacora_governance::{Examination, Governance, ObservedEvent, Policy, Reactor, ReactorState, State};
use bitacora_vocabulary::{Rule, TrustRules};
use serde_json::{Value, json};

/// Unless asked for others.
const DIMENSIONS: usize = 100_000;
const RULES: usize = 1_000;
const CALLS: usize = 200_000;
const NOW: Micros = Micros(1_795_305_600_000_000);
const NEXT_DAY: Micros = Micros(NOW.0 + 24 * 3_600 * 1_000_000);

fn event(kind: &'static str, data: &Value) -> Event<'static> {
    let mut event = Event::new("e", "urn:bench", kind, "calls");
    event.actor = Some("agent:0".into());
    event.agent = Some("coder".into());
    event.call = data.get("call").and_then(Value::as_str).map(|call| call.to_owned().into());
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    event
}

fn fold(governance: &Governance, kind: &'static str, data: &Value) {
    fold_at(governance, NOW, kind, data);
}

fn fold_at(governance: &Governance, time: Micros, kind: &'static str, data: &Value) {
    let event = event(kind, data);
    governance.state().fold(&[ObservedEvent {
        position: Position::FIRST,
        stream_version: StreamVersion::FIRST,
        time,
        derived: false,
        event: &event,
        examination: None,
    }]);
}

fn governed(dimensions: usize) -> Governance {
    let governance = Governance::default();
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": [],
        "context_from": {"pointer": "/path", "normaliser": "path"},
    });
    fold(&governance, "tool.registered", &tool);
    let rule = |number: usize| match number {
        number if number + 1 == RULES => {
            json!({"id": "all", "match": {}, "action": "allow", "reason": "the last one"})
        }
        number => json!({
            "id": format!("r{number}"), "match": {"tool": "fs.*", "context": format!("no{number}/**")},
            "action": "deny", "reason": "one of many",
        }),
    };
    let rules: Vec<Value> = (0..RULES).map(rule).collect();
    let compiled: Vec<Rule> = serde_json::from_value(json!(rules)).unwrap();
    let trust = TrustRules::v2();
    let digest = Policy::compile(&compiled, &trust).unwrap().digest().to_string();
    let policy = json!({"version": 1, "digest": digest, "rules": rules, "trust": trust, "author": "bench"});
    fold(&governance, "policy.published", &policy);
    fold(&governance, "policy.activated", &json!({"version": 1}));
    for number in 0..dimensions {
        let dimension =
            json!({"tool": "fs.write", "context": format!("d{number}"), "model": "-", "task_type": "-"});
        let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
        fold(&governance, "trust.set", &json!({"dimension": dimension, "counts": counts, "reason": "bench"}));
    }
    governance
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = arguments.iter().skip_while(|argument| *argument != "--dimensions").nth(1);
    let dimensions = asked.map_or(DIMENSIONS, |number| number.replace('_', "").parse().unwrap());
    let governance = governed(dimensions);
    let examined: Vec<_> = (0..1_000)
        .map(|number| {
            let path = format!("d{}/a.rs", (number * 7_919) % dimensions);
            let request = json!({"call": format!("c{number}"), "tool": "fs.write", "args": {"path": path}});
            match governance.examine(&event("tool.requested", &request)).unwrap() {
                Some(examination) => match *examination {
                    Examination::Call(facts) => facts,
                    _ => panic!("a request is examined as one"),
                },
                None => panic!("a request is examined"),
            }
        })
        .collect();
    let state: State = governance.read(Clone::clone);
    let mut took: Vec<Duration> = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let facts = &examined[number % examined.len()];
        let began = Instant::now();
        black_box(state.would_decide(black_box(facts), NOW).unwrap());
        took.push(began.elapsed());
    }
    took.sort_unstable();
    let at = |hundredths: usize| took[CALLS * hundredths / 100].as_nanos();
    println!("ladder: {dimensions} dimensions, {RULES} rules: p50 {} ns, p99 {} ns", at(50), at(99));
    let began = Instant::now();
    fold_at(&governance, NEXT_DAY, "mode.configured", &json!({"mode": "enforce"}));
    println!("the first event of a new day: {:.1?}", began.elapsed());
    let began = Instant::now();
    let saved = governance.read(ReactorState::fork).save().unwrap().unwrap();
    println!("saving the state: {:.1?} beside what decides, {} bytes", began.elapsed(), saved.len());
}

//! A replica of 100,000 dimensions (`--dimensions N` for others) and 1,000 rules.
//! Prints the time to make it, to bring it up to date, and to ask it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot go on must fail"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use bitacora_governance::{
    CutProgress, Executor, Governance, ObservedEvent, Policy, PredictedCall, Reactor, Replica, State,
    StatePatch,
};
use bitacora_vocabulary::{Rule, TrustRules};
use serde_json::{Value, json};

/// Unless asked for others.
const DIMENSIONS: usize = 100_000;
const RULES: usize = 1_000;
const CALLS: usize = 100_000;
const CHANGES: usize = 1_000;
const NOW: Micros = Micros(1_795_305_600_000_000);

fn fold(governance: &Governance, position: u64, kind: &'static str, data: &Value) {
    let mut event = Event::new("e", "urn:bench", kind, "calls");
    event.actor = Some("operator:0".into());
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    governance.state().fold(&[ObservedEvent {
        position: Position::new(position).unwrap(),
        stream_version: StreamVersion::FIRST,
        time: NOW,
        derived: false,
        event: &event,
        examination: None,
    }]);
}

fn trust(number: usize) -> Value {
    let dimension =
        json!({"tool": "fs.write", "context": format!("d{number}"), "model": "-", "task_type": "-"});
    let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
    json!({"dimension": dimension, "counts": counts, "reason": "bench"})
}

fn governed(dimensions: usize) -> Governance {
    let governance = Governance::default();
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": [],
        "context_from": {"pointer": "/path", "normaliser": "path"},
    });
    fold(&governance, 1, "tool.registered", &tool);
    let rule = |number: usize| match number + 1 {
        RULES => json!({"id": "all", "match": {}, "action": "allow", "reason": "for a bench"}),
        _ => json!({
            "id": format!("r{number}"), "match": {"tool": "fs.write", "context": format!("never{number}/*")},
            "action": "deny", "reason": "one of many",
        }),
    };
    let rules: Vec<Value> = (0..RULES).map(rule).collect();
    let compiled: Vec<Rule> = serde_json::from_value(json!(rules)).unwrap();
    let trust_rules = TrustRules::v2();
    let digest = Policy::compile(&compiled, &trust_rules).unwrap().digest().to_string();
    let policy =
        json!({"version": 1, "digest": digest, "rules": rules, "trust": trust_rules, "author": "bench"});
    fold(&governance, 2, "policy.published", &policy);
    fold(&governance, 3, "policy.activated", &json!({"version": 1}));
    (0..dimensions).for_each(|number| fold(&governance, 4, "trust.set", &trust(number)));
    governance
}

/// Returns the pieces that an executor with the state before gets.
fn cut(state: &State, before: Option<&State>, executor: &Executor) -> Vec<Vec<u8>> {
    let (mut progress, mut pieces) = (CutProgress::default(), Vec::new());
    while let Some(piece) = state.next_piece(before, executor, &mut progress) {
        pieces.push(serde_json::to_vec(&piece).unwrap());
    }
    pieces
}

fn middle_and_99th(mut took: Vec<Duration>) -> (u128, u128) {
    took.sort_unstable();
    let at = |hundredths: usize| took[took.len() * hundredths / 100].as_nanos();
    (at(50), at(99))
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let asked = words.iter().position(|word| word == "--dimensions").map(|at| words[at + 1].parse().unwrap());
    let dimensions = asked.unwrap_or(DIMENSIONS);
    let governance = governed(dimensions);
    let executor = Executor { agent: Some("coder".to_owned()), actor: "agent:0".to_owned() };
    let mut before = governance.copy();
    let began = Instant::now();
    let pieces = cut(&before.state, None, &executor);
    let bytes: usize = pieces.iter().map(Vec::len).sum();
    println!(
        "cut: {dimensions} dimensions, {} pieces, {bytes} bytes in {:.1?}",
        pieces.len(),
        began.elapsed()
    );
    let packed: usize = pieces.iter().map(|piece| zstd::bulk::compress(piece, 1).unwrap().len()).sum();
    println!("packed: {packed} bytes");
    let began = Instant::now();
    let mut replica = Replica::new(executor.clone());
    for piece in &pieces {
        replica.take(serde_json::from_slice::<StatePatch>(piece).unwrap());
    }
    println!("taken: {:.1?}", began.elapsed());

    let (mut told, mut taken, mut sizes) = (Vec::new(), Vec::new(), 0);
    for number in 0..CHANGES {
        fold(&governance, 5 + number as u64, "trust.set", &trust((number * 7_919) % dimensions));
        fold(
            &governance,
            5 + number as u64,
            "mode.configured",
            &json!({"mode": (["observe", "enforce"][number % 2])}),
        );
        let now = governance.copy();
        let began = Instant::now();
        let pieces = cut(&now.state, Some(&before.state), &executor);
        told.push(began.elapsed());
        let began = Instant::now();
        for piece in &pieces {
            sizes += piece.len();
            replica.take(serde_json::from_slice::<StatePatch>(piece).unwrap());
        }
        taken.push(began.elapsed());
        before = now;
    }
    let ((told, told_99), (taken, taken_99)) = (middle_and_99th(told), middle_and_99th(taken));
    println!(
        "a change: {} bytes; found in {told} ns, 99th {told_99} ns; taken in {taken} ns, 99th {taken_99} ns",
        sizes / CHANGES
    );

    let mut took = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let path = format!("d{}/a.rs", (number * 7_919) % dimensions);
        let request =
            json!({"call": format!("c{number}"), "tool": "fs.write", "args": {"path": path}}).to_string();
        let call = PredictedCall { request: request.as_bytes(), session: None, run: None };
        let began = Instant::now();
        black_box(replica.predict(black_box(&call), (NOW, NOW)).unwrap());
        took.push(began.elapsed());
    }
    let (middle, most) = middle_and_99th(took);
    println!("a prediction: p50 {middle} ns, p99 {most} ns");
}

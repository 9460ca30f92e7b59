//! A replay from memory: calls are asked for, decided, ended and counted, then folded into a state.
//! Prints the time of one event, without opening its frame and decoding its record.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on must fail")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use bitacora_governance::{
    APPROVAL_ID_BYTES, Examination, Governance, ObservedEvent, Policy, Reactor, ReactorState, State,
};
use bitacora_vocabulary::{Rule, TrustRules};
use serde_json::{Value, json};

const CALLS: u64 = 20_000;
const CONTEXTS: u64 = 1_000;
const ROUNDS: u64 = 20;
/// Events of one frame.
const FRAME: usize = 400;
const NOW: Micros = Micros(1_795_305_600_000_000);

/// An event at its place, as it would be recorded.
struct LocatedEvent {
    position: Position,
    derived: bool,
    event: Event<'static>,
}

impl LocatedEvent {
    fn observed<'a>(&'a self, examination: Option<&'a Examination>) -> ObservedEvent<'a> {
        let (position, derived, event) = (self.position, self.derived, &self.event);
        ObservedEvent {
            position,
            stream_version: StreamVersion::FIRST,
            time: NOW,
            derived,
            event,
            examination,
        }
    }
}

/// A log that decides as it grows.
struct Log {
    governance: Governance,
    staged: State,
    events: Vec<LocatedEvent>,
}

impl Log {
    fn place(&mut self, event: Event<'static>, derived: bool) -> LocatedEvent {
        LocatedEvent { position: Position::new(self.events.len() as u64 + 2).unwrap(), derived, event }
    }

    fn append(&mut self, kind: &'static str, actor: &'static str, data: &Value) {
        let mut event = Event::new("e", "urn:bench", kind, "measured");
        event.actor = Some(actor.into());
        event.agent = Some("bench".into());
        event.call = data.get("call").and_then(Value::as_str).map(|call| call.to_owned().into());
        event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
        let mut examination = self.governance.examine(&event).unwrap();
        if let Some(examination) = &mut examination {
            let mut drawn = [0; APPROVAL_ID_BYTES];
            drawn[..8].copy_from_slice(&(self.events.len() as u64).to_le_bytes());
            examination.draw_approval(|| Ok::<_, ()>(drawn)).unwrap();
        }
        let mut queue = VecDeque::from([(event, examination.map(|examination| *examination), false)]);
        while let Some((event, known, derived)) = queue.pop_front() {
            let placed = self.place(event, derived);
            let caused = self.staged.react(&placed.observed(known.as_ref())).unwrap();
            queue.extend(
                caused.into_iter().map(|one| (one.event, one.meaning.map(Examination::Derived), true)),
            );
            self.governance.state().fold(&[placed.observed(None)]);
            self.events.push(placed);
        }
        self.staged.keep();
    }
}

fn main() {
    let mut log = Log { governance: Governance::default(), staged: State::default(), events: Vec::new() };
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "writes", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": [],
        "context_from": {"pointer": "/path", "normaliser": "path"},
    });
    let rules = json!([{"id": "all", "match": {"tool": "fs.*"}, "action": "allow", "trust": "ignore", "reason": "all"}]);
    let compiled: Vec<Rule> = serde_json::from_value(rules.clone()).unwrap();
    let trust = TrustRules::v2();
    let digest = Policy::compile(&compiled, &trust).unwrap().digest().to_string();
    let policy = json!({"version": 1, "digest": digest, "rules": rules, "trust": trust, "author": "bench"});
    log.append("tool.registered", "operator:bench", &tool);
    log.append("policy.published", "operator:bench", &policy);
    log.append("policy.activated", "operator:bench", &json!({"version": 1}));
    for number in 0..CALLS {
        let call = format!("c{number}");
        let args = json!({"path": format!("src/m{}/a.rs", number % CONTEXTS)});
        let asked = json!({"call": call, "tool": "fs.write", "model": "a-model", "args": args});
        log.append("tool.requested", "agent:bench", &asked);
        let ended = json!({"call": call, "status": "ok", "duration_ms": 12});
        log.append("tool.completed", "agent:bench", &ended);
    }
    let bytes: usize = log.events.iter().map(|placed| placed.event.data.len()).sum();
    let observed: Vec<_> = log.events.iter().map(|placed| placed.observed(None)).collect();
    let mut best = u128::MAX;
    for _ in 0..ROUNDS {
        let (mut state, began) = (State::default(), Instant::now());
        observed.chunks(FRAME).for_each(|frame| state.fold(black_box(frame)));
        best = best.min(began.elapsed().as_nanos());
        assert!(state == log.staged, "a fold leads where the reactor was");
    }
    let each = best / observed.len() as u128;
    let data = bytes / observed.len();
    println!("fold: {} events of {data} bytes of data, {each} ns each", observed.len());
}

//! What was recorded elsewhere: judged by its own history, and counted only once it is accepted.

use bitacora_formats::vocabulary::{Dimension, Mode, Verdict};
use bitacora_formats::{Event, Micros, parse_time};
use serde_json::{Value, json};

use crate::desk::{Desk, data, decision, governed, kinds, verdict};

const LONG_AGO: &str = "2026-01-02T03:04:05Z";

fn recorded(desk: &mut Desk, stream: &'static str, kind: &'static str, mut data: Value) -> Event<'static> {
    data["assurance"] = json!("imported");
    let mut event = desk.event(kind, "admin:0", &data);
    event.stream = stream.into();
    event.time = Some(LONG_AGO.into());
    event
}

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

fn call(desk: &mut Desk, call: &str, kind: &'static str, status: &str) -> Vec<Event<'static>> {
    let asked = recorded(desk, "session/one", "tool.requested", request(call));
    let ended = recorded(desk, "session/one", kind, json!({"call": call, "status": status}));
    let mut caused = desk.append(vec![asked]).unwrap();
    caused.extend(desk.append(vec![ended]).unwrap());
    caused
}

#[test]
fn imported_trust_counts_from_its_acceptance_on() {
    let mut desk = governed();
    for number in 0..20 {
        let caused = call(&mut desk, &format!("i{number}"), "tool.completed", "ok");
        assert_eq!(kinds(&caused), ["decision.made", "trust.observed"]);
        assert_eq!(decision(&caused).mode, Mode::Observe);
    }
    let last = call(&mut desk, "i20", "tool.completed", "ok");
    assert_eq!(verdict(&decision(&last)), (Verdict::Allow, "allowed".into()), "judged by its own history");
    let live = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((live.verdict, live.inputs.approvals), (Verdict::Review, 0), "nobody has accepted it");

    desk.act("import.accepted", json!({"digest": "0".repeat(64)})).unwrap();
    let live = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((live.verdict, live.inputs.approvals, live.inputs.streak), (Verdict::Allow, 21, 21));
    let here = Dimension::new("fs.write", "src", "-", "-").unwrap();
    let standing = desk.governance.read(|state| state.standing(&here, Micros(desk.time)));
    assert_eq!(standing.record.last_updated, parse_time(LONG_AGO).ok(), "it happened when it happened");
}

#[test]
fn imported_failures_open_no_breaker() {
    let mut desk = governed();
    for number in 0..10 {
        let caused = call(&mut desk, &format!("i{number}"), "tool.failed", "error");
        assert_eq!(kinds(&caused), ["decision.made", "trust.observed"]);
    }
}

#[test]
fn an_imported_outcome_without_a_request_is_a_gap() {
    let mut desk = governed();
    let ended = json!({"call": "i1", "status": "ok"});
    let outcome = recorded(&mut desk, "session/one", "tool.completed", ended);
    let caused = desk.append(vec![outcome]).unwrap();
    assert_eq!(kinds(&caused), ["coverage.gap"]);
    let gap: Value = data(&caused[0]);
    assert_eq!((&gap["call"], &gap["missing"]), (&json!("i1"), &json!("decision")));
}

#[test]
fn the_same_call_id_in_two_recordings_is_two_calls() {
    let mut desk = governed();
    for stream in ["session/one", "session/two"] {
        let event = recorded(&mut desk, stream, "tool.requested", request("call_1"));
        assert_eq!(kinds(&desk.append(vec![event]).unwrap()), ["decision.made"]);
    }
    for stream in ["session/one", "session/two"] {
        let event = recorded(&mut desk, stream, "tool.completed", json!({"call": "call_1", "status": "ok"}));
        assert_eq!(kinds(&desk.append(vec![event]).unwrap()), ["trust.observed"]);
    }
}

//! Acts that contradict the state are refused, and leave nothing behind.

use bitacora_formats::Position;
use bitacora_governance::{ReactorState, State};
use bitacora_vocabulary::{TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, scope_of, tool};

fn refused(desk: &mut TestGovernance, kind: &'static str, data: Value) -> String {
    let before = desk.governance.read(Clone::clone);
    let Err(refusal) = desk.act(kind, data.clone()) else { panic!("{kind} {data}") };
    assert!(!refusal.reason.contains("does not fit"), "{kind}: {}", refusal.reason);
    assert!(desk.governance.read(|state| *state == before), "{kind} {data}");
    assert!(desk.is_in_step(), "{kind} {data}");
    refusal.code.as_str().to_owned()
}

#[test]
fn tools_policies_and_stops_that_are_not_there_or_there_already() {
    let mut desk = governed();
    let grant = json!({"grant": "g1", "scope": scope_of("coder", "src"), "expires": desk.time + SECOND});
    desk.act("grant.given", grant.clone()).unwrap();
    desk.act("agent.suspended", json!({"agent": "coder", "reason": "r"})).unwrap();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    let compiled: Vec<bitacora_vocabulary::Rule> = serde_json::from_value(rules.clone()).unwrap();
    let trust = TrustRules::v2();
    let digest = bitacora_governance::Policy::compile(&compiled, &trust).unwrap().digest().to_string();
    let again = json!({"version": 1, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
    let never = json!({"scope": {"by": "agent"}, "limit": {"burst": 1, "refill": 1, "period_ms": 0}});
    for (kind, data) in [
        ("tool.registered", tool("fs.write")),
        ("tool.changed", tool("fs.other")),
        ("tool.revoked", json!({"tool": "fs.other"})),
        ("policy.published", again),
        ("policy.activated", json!({"version": 2})),
        ("policy.retired", json!({"version": 2})),
        ("policy.retired", json!({"version": 1})),
        ("rate.configured", never),
        ("grant.given", grant),
        ("grant.revoked", json!({"grant": "g2"})),
        ("agent.resumed", json!({"agent": "other", "reason": "r"})),
    ] {
        refused(&mut desk, kind, data);
    }
    desk.act("grant.revoked", json!({"grant": "g1"})).unwrap();
    desk.act("agent.resumed", json!({"agent": "coder", "reason": "r"})).unwrap();
    desk.publish(2, "allow");
    desk.act("policy.retired", json!({"version": 1})).unwrap();
    assert_eq!(refused(&mut desk, "policy.activated", json!({"version": 1})), "no-such-policy");
}

#[test]
fn more_grants_suspensions_and_modes_than_there_may_be() {
    let mut desk = governed();
    let expires = desk.time + SECOND;
    for (kind, limit) in [("grant.given", 1_000), ("mode.configured", 1_000), ("agent.suspended", 10_000)] {
        let data = |number: usize| match kind {
            "grant.given" => {
                json!({"grant": format!("g{number}"), "scope": scope_of("coder", "src"), "expires": expires})
            }
            "mode.configured" => json!({"mode": "enforce", "scope": {"agent": format!("a{number}")}}),
            _ => json!({"agent": format!("a{number}"), "reason": "r"}),
        };
        let all: Vec<_> = (0..limit).map(|number| desk.event(kind, "operator:0", &data(number))).collect();
        desk.append(all).unwrap();
        assert_eq!(refused(&mut desk, kind, data(limit)), "state-full", "{kind}");
    }
}

#[test]
fn a_refused_request_takes_back_all_that_it_did() {
    let mut desk = governed();
    let limit = json!({"scope": {"by": "agent"}, "limit": {"burst": 5, "refill": 1, "period_ms": 10_000}});
    desk.act("rate.configured", limit).unwrap();
    let asked = desk.ask("c0", "fs.write", json!({"path": "src/a.rs"}));
    let word = json!({"approval": asked.approval.unwrap(), "resolution": "approved", "by": "operator:0"});
    let keyed = json!({
        "call": "c1", "tool": "fs.write", "args": {"path": "src/b.rs"}, "idempotency_key": "k",
    });
    let events = vec![
        desk.event("approval.resolved", "operator:0", &word),
        desk.event("tool.requested", "agent:1", &keyed),
        desk.event("tool.failed", "agent:1", &json!({"call": "c1", "status": "error"})),
        desk.event("grant.revoked", "operator:0", &json!({"grant": "none"})),
    ];
    let before = desk.governance.read(Clone::clone);
    desk.append(events).unwrap_err();
    assert!(desk.staged_is(&before));
    let decision = desk.ask_with(keyed).unwrap();
    assert_eq!(decision.verdict, Verdict::Review);
    assert!(desk.is_in_step());
}

#[test]
fn what_is_denied_before_its_rate_takes_no_token() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let limit = json!({"scope": {"by": "agent"}, "limit": {"burst": 1, "refill": 1, "period_ms": 10_000}});
    desk.act("rate.configured", limit).unwrap();
    assert_eq!(desk.ask("u1", "fs.unknown", json!({"path": "src/a.rs"})).verdict, Verdict::Deny);
    assert_eq!(desk.ask("c1", "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Allow);
    desk.pass(5);
    assert_eq!(desk.ask("c2", "fs.write", json!({"path": "src/a.rs"})).reason_code.as_str(), "rate-limited");
    assert_eq!(
        desk.ask("u2", "fs.unknown", json!({"path": "src/a.rs"})).reason_code.as_str(),
        "tool-unknown"
    );
    desk.pass(5);
    assert_eq!(desk.ask("c3", "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Allow);
}

#[test]
fn what_is_published_is_saved_and_goes_on_after_a_restart() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let before = desk.governance.read(Clone::clone);
    desk.restart();
    assert!(desk.staged_is(&before) && desk.is_in_step());
    let copy = desk.governance.copy();
    assert!(copy.state == before && copy.through.is_some());
    desk.ok("c1");
    let next = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((next.verdict, next.inputs.approvals), (Verdict::Allow, 21));
}

#[test]
fn a_state_that_was_saved_decides_as_before() {
    let mut desk = governed();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    desk.act("mode.configured", json!({"mode": "enforce", "scope": {"agent": "coder"}})).unwrap();
    desk.act("agent.suspended", json!({"agent": "other", "reason": "r"})).unwrap();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let before = desk.governance.read(Clone::clone);
    let saved = before.save().unwrap().unwrap();
    let mut restored = State::default();
    restored.restore(Position::new(9).unwrap(), &saved).unwrap();
    assert!(restored == before);
    assert!(restored.restore(Position::new(9).unwrap(), b"{}").is_err());
}

#[test]
fn tools_that_no_call_could_be_held_against_are_not_taken() {
    let mut desk = governed();
    let unreadable = |name: &str| {
        let mut document = tool(name);
        document["input_schema"] = json!({"type": "no such type"});
        document
    };
    for (kind, name) in [("tool.registered", "fs.other"), ("tool.changed", "fs.write")] {
        assert_eq!(refused(&mut desk, kind, unreadable(name)), "schema", "{kind}");
        desk.act(kind, tool(name)).unwrap();
    }
}

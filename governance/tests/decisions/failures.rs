//! Failed and moved foundations of a decision: none of them leads to an allow.

use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, decision, governed, tool, verdict};

/// A ledger whose next call of `fs.write` in `src` is allowed.
fn trusting() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk
}

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

#[test]
fn what_a_call_was_examined_with_has_moved_and_nothing_is_decided() {
    let rules = json!({"version": 1});
    let mut read = tool("fs.write");
    read["risk"] = json!("read");
    for (kind, data, first) in [
        ("tool.changed", read, false),
        ("tool.revoked", json!({"tool": "fs.write", "reason": "for a test"}), false),
        ("tool.registered", tool("fs.write"), true),
        ("policy.activated", rules, true),
    ] {
        let mut desk = TestGovernance::new();
        if kind != "tool.registered" {
            desk.act("tool.registered", tool("fs.write")).unwrap();
        }
        desk.publish(1, "allow");
        if kind == "policy.activated" {
            desk.publish(2, "allow");
        }
        desk.earn("fs.write", "src");
        let event = desk.event("tool.requested", "agent:1", &request("c1"));
        let examined = desk.examine(&event).unwrap();
        desk.act(kind, data).unwrap();
        let refusal = desk.append_examined(vec![event.clone()], &[examined]).unwrap_err();
        assert_eq!(refusal.code.as_str(), "state-moved", "{kind}");
        assert_eq!(desk.governance.read(bitacora_governance::State::open_calls), 0, "{kind}");
        // Sent again, it is judged by what holds now.
        let again = decision(&desk.append(vec![event]).unwrap());
        assert_eq!(again.verdict == Verdict::Allow, first || kind == "tool.changed", "{kind}");
    }
}

#[test]
fn a_request_that_was_not_examined_or_as_something_else_is_refused() {
    let mut desk = trusting();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let outcome = desk.event("tool.completed", "agent:1", &json!({"call": "c1", "status": "ok"}));
    let as_outcome = desk.examine(&outcome).unwrap();
    assert!(as_outcome.is_some());
    let event = desk.event("tool.requested", "agent:1", &request("c2"));
    let as_request = desk.examine(&event).unwrap();
    for (event, examined) in [(&event, None), (&event, as_outcome), (&outcome, None), (&outcome, as_request)]
    {
        let refusal = desk.append_examined(vec![event.clone()], &[examined]).unwrap_err();
        assert_eq!(refusal.code.as_str(), "state-moved", "{}", event.kind);
    }
    assert_eq!(desk.ask_with(request("c2")).unwrap().verdict, Verdict::Allow);
}

#[test]
fn a_policy_that_cannot_be_read_denies() {
    let mut desk = trusting();
    let rules =
        json!([{"id": "all", "match": {"context": "[z-a]"}, "action": "allow", "reason": "for a test"}]);
    let trust = bitacora_vocabulary::TrustRules::v2();
    let digest = "0".repeat(64);
    let unreadable = json!({"version": 2, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
    let published = desk.event("policy.published", "operator:0", &unreadable);
    assert_eq!(desk.examine(&published).unwrap_err().code.as_str(), "schema");
    // As an older version, which read it, may have recorded it.
    desk.append_examined(vec![published], &[None]).unwrap();
    desk.act("policy.activated", json!({"version": 2})).unwrap();
    let denied = desk.ask_with(request("c1")).unwrap();
    assert_eq!(verdict(&denied), (Verdict::Deny, "policy-unreadable".into()));
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    assert_eq!(desk.ask_with(request("c2")).unwrap().verdict, Verdict::Allow);
}

/// Goes on in this state, with so many copies of the first entry of a map in its place. Written as text: values of so many would
/// take longer than all that is tested with them.
fn fill(desk: &mut TestGovernance, part: &str, map: &str, count: usize) {
    let mut state = desk.governance.read(|state| serde_json::to_value(state).unwrap());
    let one = state[part][map][0][1].to_string();
    state[part][map] = json!("entries");
    let entries: Vec<String> = (0..count).map(|number| format!(r#"["x{number}",{one}]"#)).collect();
    let entries = format!("[{}]", entries.join(","));
    desk.go_on_in_text(&state.to_string().replacen(r#""entries""#, &entries, 1));
}

#[test]
fn a_state_that_is_full_denies() {
    for (part, map, limit, what) in [
        ("calls", "by_id", 100_000, "calls without an outcome"),
        ("approvals", "by_id", 20_000, "full of approvals that wait or"),
        ("keys", "used", 200_000, "idempotency keys"),
    ] {
        let mut desk = trusting();
        let ask = |desk: &mut TestGovernance, call: &str, path: &str| {
            let mut asked = request(call);
            asked["args"]["path"] = json!(path);
            asked["idempotency_key"] = json!(call);
            desk.ask_with(asked).unwrap()
        };
        assert_eq!(ask(&mut desk, "c1", "docs/a.md").verdict, Verdict::Review);
        fill(&mut desk, part, map, limit - 1);
        assert_eq!(ask(&mut desk, "c2", "src/a.rs").verdict, Verdict::Allow, "one less, of {part}");
        if part == "approvals" {
            assert_eq!(ask(&mut desk, "c3", "docs/a.md").verdict, Verdict::Review, "the last one");
            assert_eq!(ask(&mut desk, "c5", "src/a.rs").verdict, Verdict::Allow, "it needs none");
        }
        // Only who has to ask for another approval needs room for it.
        let path = if part == "approvals" { "docs/b.md" } else { "src/a.rs" };
        let denied = ask(&mut desk, "c4", path);
        assert_eq!(denied.verdict, Verdict::Deny, "{part}: {}", denied.reason);
        assert!(denied.reason.contains(what), "{}", denied.reason);
    }
}

#[test]
fn data_that_does_not_fit_decides_nothing() {
    let mut desk = trusting();
    let before = desk.governance.read(Clone::clone);
    let unknown = json!({"call": "c1", "verdict": "allowed"});
    let mut milder = desk.event("decision.made", "urn:bitacora:reactor", &unknown);
    assert_eq!(desk.append(vec![milder.clone()]).unwrap_err().code.as_str(), "schema");
    milder.data = bitacora_formats::Data::None;
    assert_eq!(desk.append(vec![milder]).unwrap_err().code.as_str(), "schema");
    assert!(desk.governance.read(|state| *state == before));
}

//! Calls that never run, in the audit table and in sessions.

use serde_json::{Value, json};

use crate::governed::{approve, ask, governed, post, put, write};
use crate::modelled::get;
use crate::service::TestService;

/// Asks for a call in the session `s`: the decision.
fn asked(service: &TestService, call: &str, path: &str) -> Value {
    let mut request = write(call);
    (request["session"], request["args"]["path"]) = (json!("s"), json!(path));
    ask(service, request)
}

/// The state of each of these calls, which is also what it is found by, and by nothing else.
fn states(service: &TestService, calls: &[&str]) -> Vec<String> {
    let states = calls.iter().map(|call| {
        let state = get(service, &format!("calls/{call}"))["state"].as_str().unwrap_or("-").to_owned();
        for word in ["open", "pending", "denied", "rejected", "expired", "withdrawn", "ok"] {
            let found = get(service, &format!("calls?outcome={word}&call={call}"))["calls"].clone();
            let found_by_label = get(service, &format!("calls?outcome={word}"))["calls"].clone();
            let is_listed = found_by_label.as_array().unwrap().iter().any(|one| one["call"] == **call);
            assert_eq!(found != json!([]), word == state, "{call} is {state}, asked for as {word}");
            assert_eq!(is_listed, word == state, "{call} is {state}, among those that are {word}");
        }
        state
    });
    states.collect()
}

/// Returns the number of the session's calls in each of these states.
fn counted<const N: usize>(service: &TestService, states: [&str; N]) -> [u64; N] {
    let calls = get(service, "sessions/s")["calls"].clone();
    states.map(|state| calls[state].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn a_denied_call_is_over_unless_its_end_is_told_all_the_same() {
    let service = governed("deny");
    assert_eq!(asked(&service, "c1", "src/a.rs")["verdict"], "deny");
    assert_eq!(asked(&service, "c2", "src/b.rs")["verdict"], "deny");
    assert_eq!(states(&service, &["c1", "c2"]), ["denied", "denied"]);
    assert_eq!(counted(&service, ["all", "denied", "stopped", "open"]), [2, 2, 2, 0]);
    // It ran although it was denied: the outcome stands, and the gap beside it.
    post(&service, "outcome", &json!({"call": "c1", "status": "ok"})).expect(200);
    assert_eq!(states(&service, &["c1", "c2"]), ["ok", "denied"]);
    let call = get(&service, "calls/c1");
    assert_eq!((&call["decision"]["verdict"], &call["outcome"]["status"]), (&json!("deny"), &json!("ok")));
    assert_eq!(counted(&service, ["all", "denied", "stopped", "ok", "open"]), [2, 2, 1, 1, 0]);
    assert_eq!(get(&service, "gaps")["gaps"][0]["call"], "c1");
}

#[test]
fn what_would_be_denied_is_open_where_it_is_only_observed() {
    let service = governed("deny");
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    assert_eq!(asked(&service, "c1", "src/a.rs")["wouldBe"], "deny");
    assert_eq!(states(&service, &["c1"]), ["open"]);
    post(&service, "panic", &json!({"reason": "a drill"})).expect(200);
    // That holds in every mode.
    assert_eq!(asked(&service, "c2", "src/b.rs")["verdict"], "deny");
    assert_eq!(states(&service, &["c1", "c2"]), ["open", "denied"]);
    assert_eq!(counted(&service, ["denied", "stopped", "open"]), [2, 1, 1]);
}

#[test]
fn a_reviewed_call_waits_until_somebody_has_answered_and_then_is_what_was_said() {
    let service = governed("allow");
    let approval = |call: &str, path: &str| {
        let decision = asked(&service, call, path);
        assert_eq!(decision["verdict"], "review", "{decision}");
        decision["approval"]["id"].as_str().unwrap().to_owned()
    };
    let refused = approval("c1", "src/a.rs");
    // The same again, as another call: it waits for the same word.
    assert_eq!(approval("c2", "src/a.rs"), refused);
    let (withdrawn, approved) = (approval("c3", "src/b.rs"), approval("c4", "src/c.rs"));
    let calls = ["c1", "c2", "c3", "c4"];
    assert_eq!(states(&service, &calls), ["pending"; 4]);
    assert_eq!(get(&service, "calls/c2")["approval"]["id"], json!(refused));
    let counts = ["pending", "rejected", "lapsed", "open"];
    assert_eq!(counted(&service, counts), [4, 0, 0, 0]);
    post(&service, &format!("approvals/{refused}:reject"), &json!({})).expect(200);
    post(&service, &format!("approvals/{withdrawn}:withdraw"), &json!({})).expect(200);
    approve(&service, &approved).expect(200);
    assert_eq!(states(&service, &calls), ["rejected", "rejected", "withdrawn", "open"]);
    assert_eq!(counted(&service, counts), [0, 2, 1, 1]);
    assert_eq!(get(&service, "calls/c2")["approval"]["resolution"], "rejected");
    // A caller that was refused tells so: it counts once.
    post(&service, "outcome", &json!({"call": "c1", "status": "rejected"})).expect(200);
    assert_eq!(states(&service, &["c1"]), ["rejected"]);
    assert_eq!(counted(&service, counts), [0, 2, 1, 1]);
    let service = service.restarted();
    assert_eq!(states(&service, &calls), ["rejected", "rejected", "withdrawn", "open"]);
}

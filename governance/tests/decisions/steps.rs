//! Each step of the ladder: its verdict, and that none is weaker.

use bitacora_vocabulary::Verdict;
use serde_json::json;

use crate::desk::{SECOND, TestGovernance, governed, scope_of, tool, verdict};

#[test]
fn what_is_not_registered_is_denied() {
    let mut desk = TestGovernance::new();
    assert_eq!(
        verdict(&desk.ask("c1", "fs.write", json!({"path": "a"}))),
        (Verdict::Deny, "tool-unknown".into())
    );
}

#[test]
fn arguments_that_nothing_could_be_held_against_are_denied() {
    let mut desk = governed();
    desk.earn("fs.odd", "-");
    let mut odd = tool("fs.odd");
    odd["input_schema"] = json!({"type": "no such type"});
    // It would not be taken now; it was recorded by another version.
    let registered = desk.event("tool.registered", "operator:000000000000", &odd);
    desk.record(registered);
    assert_eq!(
        verdict(&desk.ask("c1", "fs.odd", json!({"path": "a"}))),
        (Verdict::Deny, "arguments-invalid".into())
    );
}

#[test]
fn without_a_policy_a_person_looks_at_every_call() {
    let mut desk = TestGovernance::new();
    desk.act("tool.registered", tool("fs.write")).unwrap();
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Review, "no-policy".into()));
    assert!(decision.approval.is_some());
}

#[test]
fn a_rule_that_allows_is_an_upper_bound() {
    let mut desk = governed();
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Review, "trust-require-review".into()));
    assert_eq!(decision.rule.as_deref(), Some("all"));
    assert_eq!(decision.inputs.dimension.context(), "src");
}

#[test]
fn what_trust_blocks_is_reviewed_while_an_operator_has_it_tried() {
    let mut desk = governed();
    let counts = json!({"approvals": 0, "rejections": 9, "failures": 0, "streak": 0});
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    // A critical call is denied otherwise.
    let ask = |desk: &mut TestGovernance, call: &str| {
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "blast_radius": "critical"});
        verdict(&desk.ask_with(request).unwrap())
    };
    assert_eq!(ask(&mut desk, "c1"), (Verdict::Deny, "trust-blocked".into()));
    let probe = |expires: u64| json!({"dimension": dimension, "expires": expires, "reason": "mended"});
    for expires in [desk.time, desk.time + 7 * 24 * 3_600 * SECOND + 1] {
        assert_eq!(desk.act("trust.probed", probe(expires)).unwrap_err().code.as_str(), "schema");
    }
    desk.act("trust.probed", probe(desk.time + 60 * SECOND)).unwrap();
    assert_eq!(ask(&mut desk, "c2"), (Verdict::Review, "trust-probe".into()));
    let grant = json!({"grant": "g", "scope": scope_of("coder", "src"), "expires": desk.time + 60 * SECOND});
    desk.act("grant.given", grant).unwrap();
    assert_eq!(ask(&mut desk, "c3").0, Verdict::Review, "each call is looked at by itself");
    desk.pass(60);
    assert_eq!(ask(&mut desk, "c4"), (Verdict::Deny, "trust-blocked".into()));
    assert!(desk.is_in_step());
}

#[test]
fn what_is_tried_is_forgotten_when_its_time_is_over_and_no_sooner() {
    let mut desk = governed();
    let probe = |desk: &mut TestGovernance, context: &str, seconds: u64| {
        let dimension =
            json!({"tool": "fs.write", "context": context, "model": "-", "task_type": "-", "workspace": "-"});
        let expires = desk.time + seconds * SECOND;
        desk.act("trust.probed", json!({"dimension": dimension, "expires": expires, "reason": "mended"}))
            .unwrap();
    };
    let tried = |desk: &TestGovernance| {
        let state = desk.governance.read(|state| serde_json::to_value(state).unwrap());
        let tried = state["probes"].as_array().unwrap().iter();
        tried.map(|probe| probe[0]["context"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    probe(&mut desk, "a", 60);
    probe(&mut desk, "b", 61);
    assert_eq!(tried(&desk), ["a", "b"]);
    desk.pass(60);
    probe(&mut desk, "c", 1);
    assert_eq!(tried(&desk), ["b", "c"]);
}

#[test]
fn trust_that_was_earned_allows() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Allow, "allowed".into()));
    assert_eq!(decision.inputs.score.to_string(), "1.0");
    assert_eq!(decision.obligations.unwrap().timeout_ms.unwrap().get(), 60_000);
}

#[test]
fn arguments_that_do_not_fit_are_denied() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let decision = desk.ask("c1", "fs.write", json!({"file": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Deny, "arguments-invalid".into()));
}

#[test]
fn a_role_that_is_not_named_is_denied() {
    let mut desk = governed();
    let mut lecture = tool("fs.read");
    lecture["allowed_roles"] = json!(["auditor"]);
    desk.act("tool.registered", lecture).unwrap();
    let decision = desk.ask("c1", "fs.read", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Deny, "role-not-allowed".into()));
}

#[test]
fn what_the_registry_demands_holds_whatever_trust_was_earned() {
    for (member, value, code) in [
        ("requires_review", json!(true), "tool-requires-review"),
        ("blast_radius", json!("critical"), "blast-radius"),
    ] {
        let mut desk = governed();
        desk.earn("fs.write", "src");
        let mut changed = tool("fs.write");
        changed[member] = value;
        desk.act("tool.changed", changed).unwrap();
        let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
        assert_eq!(verdict(&decision), (Verdict::Review, code.into()));
    }
}

#[test]
fn the_same_key_is_not_run_twice() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let ask = |call: &str, path: &str| json!({"call": call, "tool": "fs.write", "args": {"path": path}, "idempotency_key": "k"});
    assert_eq!(verdict(&desk.ask_with(ask("c1", "src/a.rs")).unwrap()), (Verdict::Allow, "allowed".into()));
    let again = desk.ask_with(ask("c2", "src/a.rs")).unwrap();
    assert_eq!(verdict(&again), (Verdict::Deny, "in-flight".into()));
    let other = desk.ask_with(ask("c3", "src/b.rs")).unwrap_err();
    assert_eq!(other.code.as_str(), "key-reused");
    desk.ok("c1");
    let done = desk.ask_with(ask("c4", "src/a.rs")).unwrap();
    assert_eq!(verdict(&done), (Verdict::Deny, "repeated".into()));
    assert!(done.earlier_outcome.is_some());
    desk.pass(25 * 3_600);
    let old = desk.ask_with(ask("c5", "src/a.rs")).unwrap();
    assert_eq!(verdict(&old), (Verdict::Deny, "key-expired".into()));
}

#[test]
fn a_write_that_nobody_heard_of_again_is_looked_at() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let ask = |call: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "idempotency_key": "k"});
    desk.ask_with(ask("c1")).unwrap();
    desk.pass(3_600);
    let again = desk.ask_with(ask("c2")).unwrap();
    assert_eq!(verdict(&again), (Verdict::Review, "outcome-unknown".into()));
}

#[test]
fn a_call_is_asked_for_once_and_ends_once() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let again = desk.ask_with(json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/b.rs"}}));
    assert_eq!(again.unwrap_err().code.as_str(), "call-reused");
    desk.ok("c1");
    assert_eq!(desk.end("c1", "tool.completed", "ok").unwrap_err().code.as_str(), "no-such-call");
    assert_eq!(desk.end("c9", "tool.completed", "ok").unwrap_err().code.as_str(), "no-such-call");
}

#[test]
fn what_the_reactor_derives_nobody_else_writes() {
    let mut desk = governed();
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    for (kind, data) in [
        ("trust.observed", json!({"dimension": dimension, "outcome": "approved"})),
        ("breaker.half_opened", json!({"dimension": dimension})),
        ("approval.consumed", json!({"approval": "a1", "call": "c1"})),
    ] {
        assert_eq!(desk.act(kind, data).unwrap_err().code.as_str(), "reserved-type", "{kind}");
    }
}

#[test]
fn a_rate_lets_so_many_calls_through_and_says_when_the_next_may_come() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let limit = json!({"scope": {"by": "agent"}, "limit": {"burst": 2, "refill": 1, "period_ms": 10_000}});
    desk.act("rate.configured", limit).unwrap();
    for call in ["c1", "c2"] {
        assert_eq!(desk.ask(call, "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Allow);
    }
    let third = desk.ask("c3", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&third), (Verdict::Deny, "rate-limited".into()));
    assert_eq!(third.retry_after_ms.unwrap().get(), 10_000);
    desk.pass(10);
    assert_eq!(desk.ask("c4", "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Allow);
    assert_eq!(desk.ask("c5", "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Deny);
}

#[test]
fn two_calls_of_one_request_take_two_tokens() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let limit = json!({"scope": {"by": "tool", "name": "fs.write"}, "limit": {"burst": 1, "refill": 1, "period_ms": 10_000}});
    desk.act("rate.configured", limit).unwrap();
    let both = ["c1", "c2"].map(|call| {
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
        desk.event("tool.requested", "agent:1", &request)
    });
    let caused = desk.append(both.to_vec()).unwrap();
    let verdicts: Vec<_> =
        caused.iter().map(|event| crate::desk::data::<serde_json::Value>(event)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["allow", "deny"]);
}

#[test]
fn what_ends_well_after_its_deadline_took_too_long() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    desk.pass(3_600);
    let overdue = desk.governance.read(|state| state.overdue_calls(bitacora_formats::Micros(desk.time)));
    assert_eq!(overdue.iter().map(|(call, _)| call.as_str()).collect::<Vec<_>>(), ["c1"]);
    let caused = desk.ok("c1");
    assert_eq!(crate::desk::data::<serde_json::Value>(&caused[0])["outcome"], "timeout");
    assert!(
        desk.governance.read(|state| state.overdue_calls(bitacora_formats::Micros(desk.time)).is_empty())
    );
}

#[test]
fn a_denied_call_that_ran_all_the_same_is_on_record() {
    let mut desk = governed();
    desk.ask("c1", "fs.other", json!({"path": "src/a.rs"}));
    let caused = desk.ok("c1");
    assert_eq!(crate::desk::kinds(&caused), ["coverage.gap"]);
}

#[test]
fn calls_that_were_not_allowed_leave_with_their_time() {
    let mut desk = governed();
    for number in 0..50 {
        desk.ask(&format!("c{number}"), "fs.other", json!({"path": "src/a.rs"}));
    }
    assert_eq!(desk.governance.read(bitacora_governance::State::open_calls), 50);
    desk.pass(2 * 3_600);
    desk.ask("d1", "fs.other", json!({"path": "src/a.rs"}));
    assert_eq!(desk.governance.read(bitacora_governance::State::open_calls), 1);
}

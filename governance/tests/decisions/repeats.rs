//! Repeated calls, keys and outcomes: nothing runs twice because of them, and nothing is lost.

use bitacora_formats::Event;
use bitacora_vocabulary::{Mode, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, decision, governed, kinds, tool, verdict};

/// A ledger whose calls of `fs.write` in `src` are allowed.
fn trusting() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk
}

fn request(call: &str, more: &Value) -> Value {
    let mut request = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

/// Records the timeout of a call as the scheduler does.
fn timed_out(desk: &mut TestGovernance, call: &str) -> Vec<Event<'static>> {
    let data = json!({"call": call, "status": "timeout", "error_type": "deadline"});
    let mut event = desk.event("tool.failed", "service:scheduler", &data);
    event.source = "urn:bitacora:scheduler".into();
    event.agent = None;
    desk.append(vec![event]).unwrap()
}

#[test]
fn a_call_whose_time_is_over_has_no_outcome_yet_and_a_late_one_is_kept() {
    let mut desk = trusting();
    let key = json!({"idempotency_key": "k"});
    assert_eq!(desk.ask_with(request("c1", &key)).unwrap().verdict, Verdict::Allow);
    desk.pass(361);
    assert_eq!(kinds(&timed_out(&mut desk, "c1")), ["trust.observed"]);
    let unknown = desk.ask_with(request("c2", &key)).unwrap();
    assert_eq!(verdict(&unknown), (Verdict::Review, "outcome-unknown".into()), "nobody knows whether it ran");
    assert_eq!(unknown.earlier_outcome, None);
    assert!(desk.governance.read(|state| state.overdue_calls(bitacora_formats::Micros(u64::MAX)).is_empty()));

    let late = desk.ok("c1");
    assert!(late.is_empty(), "its time was counted already: {:?}", kinds(&late));
    let known = desk.ask_with(request("c3", &key)).unwrap();
    assert_eq!(verdict(&known), (Verdict::Deny, "repeated".into()));
    assert!(known.earlier_outcome.is_some());
    assert_eq!(desk.end("c1", "tool.completed", "ok").unwrap_err().code.as_str(), "no-such-call");
}

#[test]
fn a_late_outcome_is_taken_for_an_hour() {
    let mut desk = trusting();
    desk.ask_with(request("c1", &json!({}))).unwrap();
    desk.pass(361);
    timed_out(&mut desk, "c1");
    desk.pass(3_600);
    desk.ask_with(request("c2", &json!({}))).unwrap();
    assert_eq!(desk.end("c1", "tool.completed", "ok").unwrap_err().code.as_str(), "no-such-call");
}

#[test]
fn a_key_of_a_call_that_nothing_was_known_of_is_no_other_action() {
    let mut desk = trusting();
    let more = json!({"idempotency_key": "k", "tool": "fs.new"});
    assert_eq!(desk.ask_with(request("c1", &more)).unwrap().reason_code.as_str(), "tool-unknown");
    desk.act("tool.registered", tool("fs.new")).unwrap();
    assert_eq!(desk.ask_with(request("c2", &more)).unwrap().verdict, Verdict::Review);
    // From now on it stands for this action, also while the tool is away.
    desk.act("tool.revoked", json!({"tool": "fs.new"})).unwrap();
    assert_eq!(desk.ask_with(request("c3", &more)).unwrap().reason_code.as_str(), "tool-unknown");
    desk.act("tool.registered", tool("fs.new")).unwrap();
    let other = json!({"idempotency_key": "k", "tool": "fs.new", "args": {"path": "src/b.rs"}});
    assert_eq!(desk.ask_with(request("c4", &other)).unwrap_err().code.as_str(), "key-reused");
}

#[test]
fn who_only_observes_refuses_no_key_and_remembers_whose_it_was() {
    let mut desk = trusting();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let key = json!({"idempotency_key": "k"});
    let other = json!({"idempotency_key": "k", "args": {"path": "src/b.rs"}});
    desk.ask_with(request("c1", &key)).unwrap();
    let reused = desk.ask_with(request("c2", &other)).unwrap();
    assert_eq!(verdict(&reused), (Verdict::Deny, "key-reused".into()));
    assert_eq!(reused.mode, Mode::Observe);
    desk.ok("c2");
    desk.act("mode.configured", json!({"mode": "enforce"})).unwrap();
    assert_eq!(desk.ask_with(request("c3", &other)).unwrap_err().code.as_str(), "key-reused");
    assert_eq!(desk.ask_with(request("c4", &key)).unwrap().reason_code.as_str(), "in-flight");
}

#[test]
fn who_only_observes_takes_the_outcome_of_a_call_that_there_was_no_room_for() {
    let mut desk = trusting();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    desk.ask_with(request("c1", &json!({}))).unwrap();
    let mut full = desk.governance.read(|state| serde_json::to_value(state).unwrap());
    let (call, end) = (full["calls"]["by_id"][0][1].clone(), full["calls"]["by_deadline"][0][0][0].clone());
    let names = || (0..100_000).map(|number| format!("x{number}"));
    full["calls"]["by_id"] = names().map(|name| json!([name, call])).collect();
    full["calls"]["by_deadline"] = names().map(|name| json!([[end, name], null])).collect();
    desk.go_on_in(&full);
    assert_eq!(desk.ask_with(request("c2", &json!({}))).unwrap().reason_code.as_str(), "state-full");
    desk.fail("c2");
}

#[test]
fn a_tool_that_is_repeated_under_a_key_alone_needs_one() {
    let mut desk = trusting();
    let mut keyed = tool("fs.write");
    keyed["idempotency"] = json!("keyed");
    desk.act("tool.changed", keyed).unwrap();
    let without = desk.ask_with(request("c1", &json!({}))).unwrap();
    assert_eq!(verdict(&without), (Verdict::Deny, "key-required".into()));
    let with = desk.ask_with(request("c2", &json!({"idempotency_key": "k"}))).unwrap();
    assert_eq!(verdict(&with), (Verdict::Allow, "allowed".into()));
}

#[test]
fn a_policy_says_how_long_keys_are_good_that_are_first_used_under_it() {
    const HOUR: u64 = 3_600;
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    let mut desk = trusting();
    desk.publish_document(2, rules.clone(), TrustRules::v2(), json!({"key_life_s": 3_600}));
    let mut asked = 0;
    let mut said = |desk: &mut TestGovernance, key: &str| {
        asked += 1;
        let asked = request(&format!("c{asked}"), &json!({"idempotency_key": key}));
        desk.ask_with(asked).unwrap().reason_code.as_str()
    };
    assert_eq!(said(&mut desk, "short"), "allowed");
    desk.ok("c1");
    desk.publish_document(3, rules, TrustRules::v2(), json!({}));
    assert_eq!(said(&mut desk, "long"), "allowed");
    desk.ok("c2");
    desk.pass(HOUR - 1);
    assert_eq!((said(&mut desk, "short"), said(&mut desk, "long")), ("repeated".into(), "repeated".into()));
    desk.pass(1);
    assert_eq!(
        (said(&mut desk, "short"), said(&mut desk, "long")),
        ("key-expired".into(), "repeated".into())
    );
    desk.restart();
    desk.pass(23 * HOUR);
    assert_eq!(
        (said(&mut desk, "short"), said(&mut desk, "long")),
        ("key-expired".into(), "key-expired".into())
    );
    desk.pass(HOUR);
    assert_eq!((said(&mut desk, "short"), said(&mut desk, "long")), ("allowed".into(), "key-expired".into()));
    assert!(desk.is_in_step());
}

#[test]
fn a_key_that_tells_its_age_is_measured_by_the_policy_that_is_active() {
    let mut desk = trusting();
    let mut keyed = tool("fs.write");
    keyed["idempotency"] = json!("keyed");
    desk.act("tool.changed", keyed).unwrap();
    // Version 7, made two hours ago.
    let made = format!("{:012x}", (desk.time - 7_200 * SECOND) / 1_000);
    let key = json!({"idempotency_key": format!("{}-{}-7cc3-98c4-dc0c0c07398f", &made[..8], &made[8..])});
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    desk.publish_document(2, rules.clone(), TrustRules::v2(), json!({"key_life_s": 7_200}));
    assert_eq!(desk.ask_with(request("c1", &key)).unwrap().reason_code.as_str(), "key-expired");
    desk.publish_document(3, rules, TrustRules::v2(), json!({"key_life_s": 7_201}));
    assert_eq!(desk.ask_with(request("c2", &key)).unwrap().reason_code.as_str(), "allowed");
}

#[test]
fn a_policy_whose_digest_leaves_out_its_life_of_keys_is_refused() {
    let mut desk = trusting();
    desk.publish_rules(2, json!([]));
    let mut document =
        desk.governance.read(|state| json!(state.all_policies().get(2).unwrap().document.as_ref()));
    document["version"] = json!(3);
    for life in [0, 59, 30 * 86_400 + 1] {
        document["key_life_s"] = json!(life);
        assert_eq!(desk.act("policy.published", document.clone()).unwrap_err().code.as_str(), "schema");
    }
    document["key_life_s"] = json!(60);
    let refused = desk.act("policy.published", document.clone()).unwrap_err();
    assert!(refused.reason.contains("the digest of its rules is"), "{}", refused.reason);
    document.as_object_mut().unwrap().remove("key_life_s");
    desk.act("policy.published", document).unwrap();
}

#[test]
fn a_call_that_came_too_early_is_asked_for_again_when_it_was_told_to() {
    let mut desk = trusting();
    let limit = json!({"scope": {"by": "agent"}, "limit": {"burst": 1, "refill": 1, "period_ms": 10_000}});
    desk.act("rate.configured", limit).unwrap();
    desk.ask_with(request("c1", &json!({}))).unwrap();
    let early = desk.ask_with(request("c2", &json!({}))).unwrap();
    assert_eq!(early.reason_code.as_str(), "rate-limited");
    assert_eq!(early.retry_after_ms.unwrap().get(), 10_000);
    desk.pass(9);
    assert_eq!(desk.ask_with(request("c2", &json!({}))).unwrap_err().code.as_str(), "call-reused");
    desk.pass(1);
    assert_eq!(desk.ask_with(request("c2", &json!({}))).unwrap().verdict, Verdict::Allow);
    assert_eq!(desk.ask_with(request("c2", &json!({}))).unwrap_err().code.as_str(), "call-reused");
}

#[test]
fn whatever_is_allowed_begins_in_time_also_where_nothing_is_meant() {
    let mut desk = governed();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let observed = desk.ask_with(request("c1", &json!({}))).unwrap();
    assert_eq!((observed.verdict, observed.expires), (Verdict::Review, Some(desk.time + 300 * SECOND)));
}

#[test]
fn a_call_that_is_over_before_it_begins_is_denied() {
    let mut desk = trusting();
    let over = desk.ask_with(request("c1", &json!({"deadline_ms": 0}))).unwrap();
    assert_eq!(verdict(&over), (Verdict::Deny, "deadline-passed".into()));
    assert_eq!(desk.ask_with(request("c2", &json!({"deadline_ms": 1}))).unwrap().verdict, Verdict::Allow);
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let observed = desk.ask_with(request("c3", &json!({"deadline_ms": 0}))).unwrap();
    assert_eq!((observed.mode, observed.verdict), (Mode::Observe, Verdict::Deny));
}

#[test]
fn a_request_has_arguments_or_their_digest_and_not_both() {
    let mut desk = trusting();
    let digest = "0".repeat(64);
    let both = request("c1", &json!({"args_digest": digest}));
    let neither = json!({"call": "c1", "tool": "fs.write"});
    for request in [both, neither] {
        assert_eq!(desk.ask_with(request).unwrap_err().code.as_str(), "schema");
    }
}

#[test]
fn arguments_that_nobody_has_seen_are_reviewed_unless_any_will_do() {
    let digest = "0".repeat(64);
    for (schema, code) in [
        (json!({"type": "object", "required": ["path"]}), "arguments-opaque"),
        (json!({"type": "object", "additionalProperties": false}), "arguments-opaque"),
        (json!({"maxProperties": 1}), "arguments-opaque"),
        (json!({"type": "object"}), "allowed"),
        (json!({"title": "any", "additionalProperties": true}), "allowed"),
    ] {
        let mut desk = governed();
        let mut any = tool("any");
        any["input_schema"] = schema.clone();
        any.as_object_mut().unwrap().remove("context_from");
        desk.act("tool.registered", any).unwrap();
        desk.earn("any", "-");
        let asked = desk.ask_with(json!({"call": "c1", "tool": "any", "args_digest": digest})).unwrap();
        assert_eq!(asked.reason_code.as_str(), code, "{schema}");
    }
}

#[test]
fn what_governs_and_cannot_be_read_denies_every_call() {
    let mut desk = trusting();
    let event = desk.event("policy.activated", "operator:0", &json!({"version": "two"}));
    desk.record(event);
    let denied = desk.ask_with(request("c1", &json!({}))).unwrap();
    assert_eq!(verdict(&denied), (Verdict::Deny, "state-unreadable".into()));
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let denied = desk.ask_with(request("c2", &json!({}))).unwrap();
    assert_eq!((denied.mode, denied.verdict), (Mode::Enforce, Verdict::Deny), "in every mode");
    assert!(desk.is_in_step());
    let event = desk.event("tool.requested", "agent:1", &request("c3", &json!({})));
    assert_eq!(decision(&desk.append(vec![event]).unwrap()).verdict, Verdict::Deny);
}

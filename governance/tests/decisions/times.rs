//! Times of people and calls: those of a policy and a tool, and the shipped ones without either.

use bitacora_vocabulary::{DecisionMade, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, data, governed, kinds, tool, verdict};

const DAY: u64 = 24 * 3_600;

/// A ledger whose policy allows everything that trust does, with these times.
fn timed(times: &Value) -> TestGovernance {
    let mut desk = governed();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    desk.publish_document(2, rules, TrustRules::v2(), json!({"times": times}));
    desk
}

fn ask(desk: &mut TestGovernance, call: &str, approval: Option<&str>) -> DecisionMade {
    let mut request = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    if let Some(approval) = approval {
        request["approval"] = json!(approval);
    }
    desk.ask_with(request).unwrap()
}

/// Records the end of an approval as the scheduler does, once its time is over.
fn expire(desk: &mut TestGovernance, approval: &str) {
    let mut event = desk.event(
        "approval.resolved",
        "service:scheduler",
        &json!({"approval": approval, "resolution": "expired", "by": "service:scheduler"}),
    );
    event.source = bitacora_governance::SCHEDULER_SOURCE.into();
    event.agent = None;
    assert_eq!(desk.append(vec![event]).unwrap(), []);
}

fn waits(made: &DecisionMade) -> String {
    assert_eq!(made.verdict, Verdict::Review, "{made:?}");
    made.approval.as_ref().unwrap().to_string()
}

/// The original waits five minutes for a person, and blocks the call then.
#[test]
fn a_person_has_as_long_as_the_policy_says_and_the_call_is_denied_then() {
    for is_recorded in [true, false] {
        let mut desk = timed(&json!({"approval_s": 300, "approval_end": "deny"}));
        let asked = ask(&mut desk, "c1", None);
        let approval = waits(&asked);
        assert_eq!(asked.expires, Some(desk.time + 300 * SECOND));
        desk.pass(299);
        let pending = ask(&mut desk, "c1", Some(&approval));
        assert_eq!(verdict(&pending), (Verdict::Review, "approval-pending".into()));
        desk.pass(1);
        if is_recorded {
            expire(&mut desk, &approval);
        }
        for (call, named) in [("c1", Some(&*approval)), ("c2", None), ("c3", Some(&*approval))] {
            let denied = ask(&mut desk, call, named);
            assert_eq!(verdict(&denied), (Verdict::Deny, "approval-lapsed".into()), "{call}");
            assert_eq!(denied.approval.as_ref().unwrap().as_str(), approval);
        }
        let other = json!({"call": "o", "tool": "fs.write", "args": {"path": "src/b.rs"}});
        assert_eq!(desk.ask_with(other).unwrap().verdict, Verdict::Review, "another call asks for itself");
        desk.restart();
        desk.pass(299);
        assert_eq!(ask(&mut desk, "c4", None).verdict, Verdict::Deny, "for as long again");
        desk.pass(1);
        let anew = ask(&mut desk, "c5", None);
        assert_ne!(waits(&anew), approval, "then a person is asked once more");
        assert!(desk.is_in_step());
    }
}

#[test]
fn nobodys_answer_allows_nothing_and_a_person_can_still_consent_beforehand() {
    let mut desk = timed(&json!({"approval_s": 300, "approval_end": "deny"}));
    waits(&ask(&mut desk, "c1", None));
    desk.pass(300);
    assert_eq!(ask(&mut desk, "c2", None).verdict, Verdict::Deny);
    let scope = crate::desk::scope_of("coder", "src");
    let expires = desk.time + 60 * SECOND;
    desk.act("grant.given", json!({"grant": "g", "scope": scope, "expires": expires})).unwrap();
    assert_eq!(verdict(&ask(&mut desk, "c3", None)), (Verdict::Allow, "granted".into()));
}

#[test]
fn what_is_left_out_is_as_shipped() {
    for settings in [json!({}), json!({"times": {}})] {
        let mut desk = governed();
        let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
        desk.publish_document(2, rules, TrustRules::v2(), settings);
        let asked = ask(&mut desk, "c1", None);
        let approval = waits(&asked);
        assert_eq!(asked.expires, Some(desk.time + DAY * SECOND));
        desk.pass(DAY);
        let anew = ask(&mut desk, "c2", Some(&approval));
        assert_eq!(verdict(&anew), (Verdict::Review, "approval-expired".into()));
        assert_ne!(waits(&anew), approval);
        desk.earn("fs.write", "src");
        let allowed = ask(&mut desk, "c3", None);
        assert_eq!(allowed.expires, Some(desk.time + 300 * SECOND));
        assert_eq!(allowed.deadline, desk.time + 360 * SECOND);
    }
}

#[test]
fn a_tool_says_otherwise_than_its_policy() {
    let mut desk = timed(&json!({"approval_s": 300, "approval_end": "deny", "start_s": 20}));
    let mut slow = tool("fs.write");
    slow["times"] = json!({"approval_s": 7_200, "approval_end": "review", "start_s": 10});
    desk.act("tool.changed", slow).unwrap();
    let asked = ask(&mut desk, "c1", None);
    let approval = waits(&asked);
    assert_eq!(asked.expires, Some(desk.time + 7_200 * SECOND));
    desk.pass(7_200);
    let anew = ask(&mut desk, "c1", Some(&approval));
    assert_eq!(verdict(&anew), (Verdict::Review, "approval-expired".into()));
    desk.earn("fs.write", "src");
    let allowed = ask(&mut desk, "c2", None);
    assert_eq!(allowed.expires, Some(desk.time + 10 * SECOND));
    assert_eq!(allowed.deadline, desk.time + 70 * SECOND);
}

#[test]
fn a_call_of_a_tool_without_a_registration_has_the_policys_time() {
    let mut desk = governed();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    let settings = json!({"times": {"call_s": 90, "start_s": 30}, "unregistered": "review"});
    desk.publish_document(2, rules, TrustRules::v2(), settings);
    let asked = desk.ask("c1", "unknown", json!({}));
    assert_eq!((asked.verdict, asked.deadline), (Verdict::Review, desk.time + 90 * SECOND));
}

#[test]
fn calls_of_no_session_belong_together_for_as_long_as_the_policy_says() {
    for (alone, is_loop) in [(60, false), (61, true)] {
        let mut desk = governed();
        let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
        let settings = json!({"times": {"alone_s": alone}, "bounds": {"repeats_without_session": 3}});
        desk.publish_document(2, rules, TrustRules::v2(), settings);
        desk.earn("fs.write", "src");
        for call in ["c1", "c2"] {
            ask(&mut desk, call, None);
            desk.pass(60);
        }
        let code = ask(&mut desk, "c3", None).reason_code.as_str();
        assert_eq!(code == "loop-detected", is_loop, "{alone}: {code}");
    }
}

#[test]
fn critical_calls_of_a_blocked_dimension_are_denied_for_as_long_as_the_policy_says() {
    let mut desk = timed(&json!({"blocked_s": 60}));
    let mut critical = tool("fs.write");
    critical["blast_radius"] = json!("critical");
    desk.act("tool.changed", critical).unwrap();
    let counts = json!({"approvals": 0, "rejections": 9, "failures": 0, "streak": 0});
    let dimension = json!({"tool": "fs.write", "context": "src", "workspace": "-"});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    assert_eq!(verdict(&ask(&mut desk, "c1", None)), (Verdict::Deny, "trust-blocked".into()));
    desk.pass(60);
    assert_eq!(ask(&mut desk, "c2", None).verdict, Verdict::Review);
}

#[test]
fn whether_what_a_call_did_is_undone_is_asked_for_as_long() {
    let mut desk = timed(&json!({"approval_s": 300}));
    desk.earn("fs.write", "src");
    ask(&mut desk, "c1", None);
    let body = json!({"call": "c1", "status": "ok", "post_check_passed": false});
    let event = desk.event("tool.completed", "agent:111111111111", &body);
    let caused = desk.append(vec![event]).unwrap();
    assert_eq!(kinds(&caused).last(), Some(&"approval.requested"));
    let request: Value = data(caused.last().unwrap());
    assert_eq!(request["expires"], json!(desk.time + 300 * SECOND));
}

//! Model and task type are named by the caller: other names do not get round a stop.

use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, scope_of, verdict};

fn asked(desk: &mut TestGovernance, call: &str, model: &str, task: Option<&str>) -> DecisionMade {
    let request = json!({
        "call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}, "model": model, "task_type": task,
    });
    desk.ask_with(request).unwrap()
}

fn set(desk: &mut TestGovernance, context: &str, model: &str, counts: Value) {
    let dimension =
        json!({"tool": "fs.write", "context": context, "model": model, "task_type": "-", "workspace": "-"});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
}

fn good() -> Value {
    json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20})
}

fn bad() -> Value {
    json!({"approvals": 0, "rejections": 10, "failures": 0, "streak": 0})
}

/// A policy that trusts nobody's record, and a grant for all of it: as mild as it gets.
fn mild() -> TestGovernance {
    let mut desk = governed();
    desk.publish_rules(
        2,
        json!([{"id": "all", "match": {}, "action": "allow", "reason": "r", "trust": "ignore"}]),
    );
    let expires = desk.time + 3_600 * SECOND;
    for context in ["src", "docs"] {
        let grant = json!({"grant": context, "scope": scope_of("coder", context), "expires": expires});
        desk.act("grant.given", grant).unwrap();
    }
    desk
}

#[test]
fn an_open_breaker_is_not_evaded_by_another_model_or_task() {
    let mut desk = mild();
    assert_eq!(asked(&mut desk, "c0", "m2", None).verdict, Verdict::Allow);
    for index in 0..5 {
        let call = format!("f{index}");
        asked(&mut desk, &call, "m1", None);
        desk.fail(&call);
    }
    assert_eq!(asked(&mut desk, "c1", "m1", None).reason_code.as_str(), "breaker-open");
    let elsewhere = (Verdict::Review, "stopped-elsewhere".to_owned());
    assert_eq!(verdict(&asked(&mut desk, "c2", "m2", None)), elsewhere);
    assert_eq!(verdict(&asked(&mut desk, "c3", "m1", Some("other"))), elsewhere);
    assert_eq!(verdict(&asked(&mut desk, "c4", "\t", Some("\t"))), elsewhere);
    // A dimension that has earned it by itself goes on, and so does another context.
    set(&mut desk, "src", "m3", good());
    assert_eq!(asked(&mut desk, "c5", "m3", None).verdict, Verdict::Allow);
    let other = json!({"call": "c6", "tool": "fs.write", "args": {"path": "docs/a.md"}, "model": "m2"});
    assert_eq!(desk.ask_with(other).unwrap().verdict, Verdict::Allow);
    assert!(desk.is_in_step());
}

#[test]
fn a_block_is_not_evaded_by_another_model() {
    let mut desk = mild();
    set(&mut desk, "src", "m1", bad());
    assert_eq!(asked(&mut desk, "c1", "m1", None).reason_code.as_str(), "trust-blocked");
    assert_eq!(asked(&mut desk, "c2", "m2", None).reason_code.as_str(), "stopped-elsewhere");
    set(&mut desk, "src", "m1", good());
    assert_eq!(asked(&mut desk, "c3", "m2", None).verdict, Verdict::Allow);
}

#[test]
fn a_breaker_alone_stops_the_others_while_it_is_not_closed() {
    let mut desk = mild();
    asked(&mut desk, "c0", "m0", None);
    desk.ok("c0");
    assert_eq!(asked(&mut desk, "c1", "m2", None).verdict, Verdict::Allow, "the one of m0 is closed");
    for index in 0..5 {
        let call = format!("f{index}");
        asked(&mut desk, &call, "m1", None);
        desk.fail(&call);
    }
    set(&mut desk, "src", "m1", good());
    assert_eq!(asked(&mut desk, "c2", "m1", None).reason_code.as_str(), "breaker-open");
    assert_eq!(asked(&mut desk, "c3", "m2", None).reason_code.as_str(), "stopped-elsewhere");
}

#[test]
fn whatever_the_least_model_was_blocked_for_blocks_the_others() {
    let mut desk = mild();
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "\t", "task_type": "a", "workspace": "-"});
    desk.act("trust.set", json!({"dimension": dimension, "counts": bad(), "reason": "for a test"})).unwrap();
    assert_eq!(asked(&mut desk, "c1", "m2", Some("b")).reason_code.as_str(), "stopped-elsewhere");
}

#[test]
fn where_there_are_too_many_to_look_at_a_person_looks() {
    let mut desk = mild();
    for index in 0..256 {
        set(&mut desk, "src", &format!("m{index}"), good());
    }
    assert_eq!(asked(&mut desk, "c1", "new", None).verdict, Verdict::Allow);
    set(&mut desk, "src", "one-more", good());
    assert_eq!(asked(&mut desk, "c2", "newer", None).reason_code.as_str(), "stopped-elsewhere");
}

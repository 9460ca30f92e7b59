//! Ways back from a stop: a person looks at the calls, and good outcomes lift it.

use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, kinds, scope_of, verdict};
use crate::golden::rejudged;

const DAY: u64 = 24 * 3_600;

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}})
}

fn critical(call: &str) -> Value {
    let mut request = request(call);
    request["blast_radius"] = json!("critical");
    request
}

/// A call that is asked for, and then again with a person's yes.
fn approved(desk: &mut TestGovernance, call: &str) -> DecisionMade {
    let asked = desk.ask_with(request(call)).unwrap();
    assert_eq!(asked.verdict, Verdict::Review, "{}", asked.reason);
    let id = asked.approval.clone().unwrap();
    desk.act("approval.resolved", json!({"approval": id, "resolution": "approved", "by": "operator:0"}))
        .unwrap();
    let mut again = request(call);
    again["approval"] = json!(id);
    assert_eq!(desk.ask_with(again).unwrap().verdict, Verdict::Allow);
    asked
}

/// A ledger in which calls of `fs.write` on src failed so often that they are blocked. Its breaker is closed.
fn blocked() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for number in 0..5 {
        let call = format!("f{number}");
        desk.ask_with(request(&call)).unwrap();
        desk.fail(&call);
    }
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    desk.act("breaker.closed", json!({"dimension": dimension, "reason": "for a test"})).unwrap();
    desk
}

#[test]
fn what_is_blocked_is_reviewed_and_good_outcomes_lift_it() {
    let mut desk = blocked();
    // The oldest of the five failures leaves the last 50 outcomes behind 46 others.
    for number in 0..46 {
        let asked = approved(&mut desk, &format!("c{number}"));
        assert_eq!(verdict(&asked), (Verdict::Review, "trust-blocked".into()), "{number}");
        let left = 46 - number;
        assert!(asked.reason.contains(&format!("It takes {left} more good outcome")), "{}", asked.reason);
        assert_eq!(kinds(&desk.ok(&format!("c{number}"))), ["trust.observed"]);
    }
    let next = desk.ask_with(request("d1")).unwrap();
    assert_eq!(verdict(&next), (Verdict::Allow, "allowed".into()), "{}", next.reason);
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
    assert!(desk.is_in_step());
}

#[test]
fn what_is_blocked_and_critical_is_denied_for_a_day() {
    let mut desk = blocked();
    let denied = desk.ask_with(critical("c1")).unwrap();
    assert_eq!(verdict(&denied), (Verdict::Deny, "trust-blocked".into()));
    // That it is asked for is no outcome.
    desk.pass(DAY - 1);
    assert_eq!(desk.ask_with(critical("c2")).unwrap().verdict, Verdict::Deny);
    desk.pass(1);
    let reviewed = desk.ask_with(critical("c3")).unwrap();
    assert_eq!(verdict(&reviewed), (Verdict::Review, "trust-blocked".into()));
    assert!(reviewed.reason.contains("A person looks at each call."), "{}", reviewed.reason);
    // A no is an outcome.
    let no = json!({"approval": reviewed.approval.unwrap(), "resolution": "rejected", "by": "operator:0"});
    desk.act("approval.resolved", no).unwrap();
    let mut other = critical("c4");
    other["args"]["path"] = json!("src/b.rs");
    assert_eq!(desk.ask_with(other).unwrap().verdict, Verdict::Deny);
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn an_open_breaker_has_calls_reviewed_and_critical_ones_denied() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for number in 0..5 {
        let call = format!("f{number}");
        desk.ask_with(request(&call)).unwrap();
        desk.fail(&call);
    }
    desk.earn("fs.write", "src");
    assert_eq!(verdict(&desk.ask_with(critical("c1")).unwrap()), (Verdict::Deny, "breaker-open".into()));
    // A person who approved it may see it run; a good outcome while the breaker was open is no probe of it.
    let asked = approved(&mut desk, "c2");
    assert_eq!(verdict(&asked), (Verdict::Review, "breaker-open".into()));
    assert_eq!(kinds(&desk.ok("c2")), ["trust.observed"]);
    desk.pass(301);
    assert_eq!(verdict(&approved(&mut desk, "p1")), (Verdict::Review, "breaker-probe".into()));
    for call in ["p2", "p3"] {
        approved(&mut desk, call);
        assert_eq!(kinds(&desk.ok(call)), ["trust.observed"]);
    }
    assert_eq!(kinds(&desk.ok("p1")), ["trust.observed", "breaker.closed"]);
    assert_eq!(desk.ask_with(request("d1")).unwrap().verdict, Verdict::Allow);
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn standing_consent_lifts_neither_a_block_nor_an_open_breaker() {
    let mut desk = blocked();
    let grant = json!({"grant": "g", "scope": scope_of("coder", "src"), "expires": desk.time + 60 * SECOND});
    desk.act("grant.given", grant).unwrap();
    let asked = desk.ask_with(request("c1")).unwrap();
    assert_eq!(verdict(&asked), (Verdict::Review, "trust-blocked".into()));
}

//! Circuit breakers, from the outcomes that open them to the probes that close them.

use bitacora_vocabulary::Verdict;
use serde_json::json;

use crate::desk::{TestGovernance, decision, governed, kinds, verdict};

fn request(desk: &mut TestGovernance, call: &str) -> Vec<bitacora_formats::Event<'static>> {
    let event = desk.event(
        "tool.requested",
        "agent:111111111111",
        &json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}}),
    );
    desk.append(vec![event]).unwrap()
}

/// A call that a person approved.
fn approved(desk: &mut TestGovernance, call: &str) {
    let decision = decision(&request(desk, call));
    let approval = decision.approval.unwrap();
    desk.act(
        "approval.resolved",
        json!({"approval": approval, "resolution": "approved", "by": "operator:0"}),
    )
    .unwrap();
    let again = json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}, "approval": approval});
    assert_eq!(desk.ask_with(again).unwrap().verdict, Verdict::Allow);
}

#[test]
fn five_failures_open_it_and_three_good_probes_close_it() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for call in ["c1", "c2", "c3", "c4", "c5"] {
        assert_eq!(decision(&request(&mut desk, call)).verdict, Verdict::Allow);
    }
    let in_flight = "c6";
    request(&mut desk, in_flight);
    for call in ["c1", "c2", "c3", "c4"] {
        assert_eq!(kinds(&desk.fail(call)), ["trust.observed"]);
    }
    assert_eq!(kinds(&desk.fail("c5")), ["trust.observed", "breaker.opened"]);

    let stopped = decision(&request(&mut desk, "d1"));
    assert_eq!(verdict(&stopped), (Verdict::Review, "breaker-open".into()));

    desk.pass(301);
    let caused = request(&mut desk, "p0");
    assert_eq!(kinds(&caused), ["breaker.half_opened", "decision.made", "approval.requested"]);

    // Five failures of fifty block the dimension as well; an operator's word lets it be tried.
    desk.earn("fs.write", "src");
    let probe = decision(&request(&mut desk, "p1"));
    assert_eq!(verdict(&probe), (Verdict::Review, "breaker-probe".into()));
    assert_eq!(kinds(&desk.ok(in_flight)), ["trust.observed"], "it was decided before: no probe");
    for call in ["p2", "p3"] {
        approved(&mut desk, call);
        assert_eq!(kinds(&desk.ok(call)), ["trust.observed"]);
    }
    approved(&mut desk, "p4");
    assert_eq!(kinds(&desk.ok("p4")), ["trust.observed", "breaker.closed"]);
}

#[test]
fn a_bad_probe_opens_it_again() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for call in ["c1", "c2", "c3", "c4", "c5"] {
        request(&mut desk, call);
        desk.fail(call);
    }
    desk.pass(301);
    desk.earn("fs.write", "src");
    approved(&mut desk, "p1");
    assert_eq!(kinds(&desk.fail("p1")), ["trust.observed", "breaker.opened"]);
}

#[test]
fn reading_changes_nothing() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for call in ["c1", "c2", "c3", "c4", "c5"] {
        request(&mut desk, call);
        desk.fail(call);
    }
    desk.pass(301);
    let before = desk.governance.read(Clone::clone);
    for _ in 0..3 {
        desk.governance.read(|state| assert!(*state == before));
    }
    assert_eq!(kinds(&request(&mut desk, "p0"))[0], "breaker.half_opened");
}

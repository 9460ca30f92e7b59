//! Reasons give the numbers that they rest on, and the remedy.

use bitacora_vocabulary::{DecisionMade, TrustRules};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, governed};
use crate::golden::rejudged;

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}})
}

fn ask(desk: &mut TestGovernance, call: &str) -> DecisionMade {
    desk.ask_with(request(call)).unwrap()
}

/// The reason without the approval that waits.
fn reason(made: &DecisionMade) -> String {
    made.reason.split(" Approval a").next().unwrap().to_owned()
}

fn set(desk: &mut TestGovernance, [approvals, rejections, failures, streak]: [u64; 4]) {
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let counts =
        json!({"approvals": approvals, "rejections": rejections, "failures": failures, "streak": streak});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
}

#[test]
fn trust_says_what_was_counted_and_how_many_good_calls_are_enough() {
    for (counts, expected) in [
        (
            [0, 0, 0, 0],
            "0 calls of `fs.write` on src went well, 0 were rejected and 0 failed (score 0.0); calls without review ask for 20 that went well and a score of 0.9. It takes 20 more good outcomes.",
        ),
        (
            [19, 4, 0, 0],
            "19 calls of `fs.write` on src went well, 4 were rejected and 0 failed (score 0.7917); calls without review ask for 20 that went well and a score of 0.9. It takes 7 more good outcomes.",
        ),
        (
            [2, 7, 0, 0],
            "The score of `fs.write` on src is 0.2 (2 went well, 7 were rejected, 0 failed); it is blocked below 0.5. A person looks at each call. It takes 5 more good outcomes of approved calls.",
        ),
        (
            [40, 0, 6, 0],
            "6 of the last 6 outcomes of `fs.write` on src failed; it is blocked from 5 on. A person looks at each call. It takes 46 more good outcomes of approved calls.",
        ),
    ] {
        let mut desk = governed();
        if counts != [0; 4] {
            set(&mut desk, counts);
        }
        assert_eq!(reason(&ask(&mut desk, "c1")), expected);
        assert_eq!(rejudged(&desk.log).1.disagreements, []);
    }
}

#[test]
fn what_is_foreseen_of_good_calls_comes_true() {
    for counts in [[0, 0, 0, 0], [19, 4, 0, 0], [9, 3, 2, 0], [20, 0, 4, 0]] {
        let mut desk = governed();
        if counts != [0; 4] {
            set(&mut desk, counts);
        }
        let said = reason(&ask(&mut desk, "c0"));
        let (_, behind) = said.rsplit_once("It takes ").unwrap();
        let foreseen: u64 = behind.split(' ').next().unwrap().parse().unwrap();
        for number in 1..=foreseen {
            let call = format!("c{number}");
            let asked = ask(&mut desk, &call);
            assert_eq!(
                asked.reason_code.as_str(),
                "trust-require-review",
                "{counts:?}, {number} of {foreseen}"
            );
            let id = asked.approval.unwrap();
            let yes = json!({"approval": id, "resolution": "approved", "by": "operator:0"});
            desk.act("approval.resolved", yes).unwrap();
            let mut again = request(&call);
            again["approval"] = json!(id);
            desk.ask_with(again).unwrap();
            desk.ok(&call);
        }
        assert_eq!(ask(&mut desk, "d1").reason_code.as_str(), "allowed", "{counts:?} after {foreseen}");
    }
}

#[test]
fn where_good_calls_do_not_lift_it_an_operator_does() {
    let mut desk = governed();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    desk.publish_policy(2, rules, TrustRules::v1());
    set(&mut desk, [900, 0, 5, 0]);
    assert_eq!(
        reason(&ask(&mut desk, "c1")),
        "5 outcomes of `fs.write` on src failed; it is blocked from 5 on. A person looks at each call. An operator lifts that with `bitacora trust set`."
    );
}

#[test]
fn a_score_that_the_policy_asks_for_is_told() {
    let mut desk = governed();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test", "min_trust_score": 9950}]);
    desk.publish_rules(2, rules);
    set(&mut desk, [20, 1, 0, 0]);
    assert_eq!(
        reason(&ask(&mut desk, "c1")),
        "The policy asks for a score of 0.995 before `fs.write` on src runs without review; it is 0.9091. It takes 7 more good outcomes."
    );
}

#[test]
fn a_critical_call_is_told_until_when_it_is_denied() {
    let mut desk = governed();
    set(&mut desk, [40, 0, 6, 0]);
    let mut critical = request("c1");
    critical["blast_radius"] = json!("critical");
    assert_eq!(
        reason(&desk.ask_with(critical).unwrap()),
        "6 of the last 6 outcomes of `fs.write` on src failed; it is blocked from 5 on. Its calls could do damage that cannot be made good, so they are denied until 2026-11-23T00:00:00Z. It takes 46 more good outcomes of approved calls."
    );
}

#[test]
fn a_breaker_says_what_failed_and_when_it_is_tried_again() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for number in 0..5 {
        let call = format!("f{number}");
        ask(&mut desk, &call);
        desk.fail(&call);
    }
    assert_eq!(
        reason(&ask(&mut desk, "c1")),
        "5 of the last 5 outcomes of `fs.write` on src failed, and from 5 its breaker opens: a person looks at each call, and from 2026-11-22T00:05:00Z on calls that go well close it."
    );
    let mut critical = request("c2");
    critical["blast_radius"] = json!("critical");
    assert_eq!(
        reason(&desk.ask_with(critical).unwrap()),
        "5 of the last 5 outcomes of `fs.write` on src failed, and from 5 its breaker opens: calls are denied until 2026-11-22T00:05:00Z, because they could do damage that cannot be made good."
    );
    desk.pass(301);
    desk.earn("fs.write", "src");
    assert_eq!(
        reason(&ask(&mut desk, "p1")),
        "5 of the last 5 outcomes of `fs.write` on src failed, and its breaker tries it again: a person looks at each call until 3 went well; so far 0."
    );
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn loops_runs_and_delegation_say_their_bounds() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let in_run = |desk: &mut TestGovernance, call: &str, path: &str, run: &'static str| {
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": path}});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.run = Some(run.into());
        crate::desk::decision(&desk.append(vec![event]).unwrap())
    };
    in_run(&mut desk, "c1", "src/a.rs", "r1");
    in_run(&mut desk, "c2", "src/a.rs", "r1");
    assert_eq!(
        reason(&in_run(&mut desk, "c3", "src/a.rs", "r1")),
        "This is the same call of `fs.write` for the time number 3 in a row; from 3 on it is denied. Any other call, or a checkpoint, lifts that."
    );
    let begin = |desk: &mut TestGovernance, run: &str, parent: Option<&str>, calls: u32| {
        let mut started = json!({"run": run, "kind": "task", "budget": {"calls": calls}});
        if let Some(parent) = parent {
            started["parent"] = json!(parent);
        }
        let event = desk.event("run.started", "agent:111111111111", &started);
        desk.append(vec![event]).unwrap();
    };
    begin(&mut desk, "r2", None, 1);
    in_run(&mut desk, "d1", "src/a.rs", "r2");
    assert_eq!(
        reason(&in_run(&mut desk, "d2", "src/b.rs", "r2")),
        "The run took 1 steps or calls, and may take 1. Sum up what was reached, and stop."
    );
    for (run, parent) in [
        ("d0", None),
        ("d1", Some("d0")),
        ("d2", Some("d1")),
        ("d3", Some("d2")),
        ("d4", Some("d3")),
        ("d5", Some("d4")),
        ("d6", Some("d5")),
    ] {
        begin(&mut desk, run, parent, 9);
    }
    assert_eq!(
        reason(&in_run(&mut desk, "e1", "src/a.rs", "d6")),
        "This work was handed on 6 times; 5 are the most. Do it in the run above, or stop."
    );
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn rates_and_budgets_say_what_is_left_and_what_lifts_them() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let limit = json!({"burst": 2, "refill": 1, "period_ms": 60_000});
    desk.act("rate.configured", json!({"scope": {"by": "agent"}, "limit": limit})).unwrap();
    ask(&mut desk, "c1");
    ask(&mut desk, "c2");
    desk.pass(10);
    assert_eq!(
        reason(&ask(&mut desk, "c3")),
        "Too many calls of this agent: 2 at once and 1 more every 60000 ms are taken. Ask again in 50000 ms."
    );
    desk.act("rate.configured", json!({"scope": {"by": "agent"}})).unwrap();
    let budget = json!({"budget": "all", "scope": {}, "limits": {"cost_micro_usd": 1_500_000, "calls": 9}, "period": "day", "on_exceed": "deny"});
    desk.act("budget.configured", budget).unwrap();
    ask(&mut desk, "c4");
    let ended = json!({"call": "c4", "status": "ok", "cost_micro_usd": 1_500_001});
    let event = desk.event("tool.completed", "agent:111111111111", &ended);
    desk.append(vec![event]).unwrap();
    assert_eq!(
        reason(&ask(&mut desk, "c5")),
        "The budget all is spent, with what is held back and what this call is to cost: 1.500001 USD of 1.5 USD, 1 of 9 calls. Some of it comes back at 2026-11-23T00:00:00Z; an operator can raise it."
    );
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

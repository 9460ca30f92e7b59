//! A clock that jumped, and the acts that wait until somebody accepts it.

use bitacora_formats::Event;
use bitacora_governance::{ReactorRefusal, RefusalCode, SCHEDULER_SOURCE};
use bitacora_vocabulary::{TrustObserved, TrustOutcome, Verdict};
use serde_json::json;

use crate::desk::{TestGovernance, data, governed, kinds, tool, verdict};

fn jumped(desk: &mut TestGovernance) {
    let jump = json!({"from": desk.time, "to": desk.time + 1, "direction": "forward"});
    assert!(desk.act("ledger.clock-jumped", jump).unwrap().is_empty());
}

fn accepted(desk: &mut TestGovernance) -> Result<Vec<Event<'static>>, ReactorRefusal> {
    desk.act("clock.accepted", json!({"reason": "it had no network"}))
}

#[test]
fn calls_are_denied_from_the_jump_until_it_is_accepted() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    assert_eq!(accepted(&mut desk).unwrap_err().code, RefusalCode::NoSuchThing);
    jumped(&mut desk);
    jumped(&mut desk);
    let denied = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&denied), (Verdict::Deny, "clock-untrusted".into()));
    accepted(&mut desk).unwrap();
    let allowed = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&allowed), (Verdict::Allow, "allowed".into()));
    assert!(desk.is_in_step());
    assert_eq!(accepted(&mut desk).unwrap_err().code, RefusalCode::NoSuchThing);
}

#[test]
fn a_jump_in_a_refused_request_is_no_jump() {
    let mut desk = governed();
    let jump = desk.event(
        "ledger.clock-jumped",
        "service:ledger",
        &json!({"from": 1, "to": 2, "direction": "back"}),
    );
    let refused =
        desk.event("agent.resumed", "operator:000000000000", &json!({"agent": "nobody", "reason": "x"}));
    desk.append(vec![jump, refused]).unwrap_err();
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_ne!(decision.reason_code.as_str(), "clock-untrusted");
}

#[test]
fn nothing_ends_by_a_clock_that_jumped() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    jumped(&mut desk);
    desk.pass(100 * 365 * 24 * 3600);
    let timeout = |desk: &mut TestGovernance| {
        let mut event =
            desk.event("tool.failed", "service:scheduler", &json!({"call": "c1", "status": "timeout"}));
        event.source = SCHEDULER_SOURCE.into();
        event.agent = None;
        desk.append(vec![event])
    };
    assert_eq!(timeout(&mut desk).unwrap_err().code, RefusalCode::Moved);
    let counted = desk.ok("c2");
    let observed: TrustObserved = data(counted.iter().find(|event| event.kind == "trust.observed").unwrap());
    assert_eq!(observed.outcome, TrustOutcome::AutoApproved, "it is not late by such a clock");
    accepted(&mut desk).unwrap();
    assert_eq!(kinds(&timeout(&mut desk).unwrap()), ["trust.observed"]);
}

#[test]
fn what_a_call_is_to_cost_stays_reserved_while_the_clock_is_not_believed() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let mut document = tool("fs.write");
    document["estimated_cost_micro_usd"] = json!(80);
    desk.act("tool.changed", document).unwrap();
    let limits = json!({"cost_micro_usd": 150});
    let daily =
        json!({"budget": "all", "scope": {}, "limits": limits, "period": "seven_days", "on_exceed": "deny"});
    desk.act("budget.configured", daily).unwrap();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    jumped(&mut desk);
    desk.pass(3 * 3600);
    let denied = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&denied), (Verdict::Deny, "clock-untrusted".into()));
    let ended = desk.event(
        "tool.completed",
        "agent:111111111111",
        &json!({"call": "c1", "status": "ok", "cost_micro_usd": 80}),
    );
    assert!(kinds(&desk.append(vec![ended]).unwrap()).contains(&"budget.charged"));
    accepted(&mut desk).unwrap();
    let spent = desk.ask("c3", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&spent), (Verdict::Deny, "budget-spent".into()));
    assert!(desk.is_in_step());
}

#[test]
fn an_open_breaker_is_not_tried_again_by_a_clock_that_jumped() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for index in 0..5 {
        desk.ask(&format!("f{index}"), "fs.write", json!({"path": "src/a.rs"}));
        desk.fail(&format!("f{index}"));
    }
    jumped(&mut desk);
    desk.pass(3600);
    let event = desk.event(
        "tool.requested",
        "agent:111111111111",
        &json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}}),
    );
    let caused = desk.append(vec![event]).unwrap();
    assert_eq!(kinds(&caused), ["decision.made"]);
}

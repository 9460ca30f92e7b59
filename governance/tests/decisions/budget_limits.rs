//! Budgets at their limits: too many for one call, too many runs and sessions, too many open calls.

use bitacora_formats::Event;
use bitacora_governance::limits::{MAX_BUDGET_WINDOWS_OF_AGENT, MAX_BUDGETS_OF_CALL, MAX_OPEN_CALLS};
use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, decision, governed, kinds, verdict};

const HOUR: u64 = 3_600;

fn trusted() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk
}

fn budget(name: &str, scope: &Value, limits: &Value, period: &str) -> Value {
    json!({"budget": name, "scope": scope, "limits": limits, "period": period, "on_exceed": "deny"})
}

fn set(desk: &mut TestGovernance, name: &str, limits: &Value, period: &str) {
    desk.act("budget.configured", budget(name, &json!({}), limits, period)).unwrap();
}

fn ask_in(desk: &mut TestGovernance, agent: &'static str, call: &str, run: &str) -> Vec<Event<'static>> {
    let body = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    let mut event = desk.event("tool.requested", "agent:111111111111", &body);
    (event.agent, event.run) = (Some(agent.into()), Some(run.to_owned().into()));
    desk.append(vec![event]).unwrap()
}

/// An answer of a model, in a run of its own.
fn answered(desk: &mut TestGovernance, run: String) {
    let called = json!({"model": "m", "provider": "p", "tokens": {"in": 1}, "status": "ok"});
    let mut event = desk.event("model.called", "agent:111111111111", &called);
    event.run = Some(run.into());
    desk.record(event);
}

#[test]
fn a_budget_that_would_have_every_call_denied_is_refused() {
    let mut desk = trusted();
    for number in 0..MAX_BUDGETS_OF_CALL {
        set(&mut desk, &format!("b{number}"), &json!({"calls": 9}), "day");
    }
    let one_more = budget("more", &json!({}), &json!({"calls": 9}), "day");
    let refused = desk.act("budget.configured", one_more).unwrap_err();
    assert_eq!(refused.code.as_str(), "state-full");
    assert!(refused.reason.starts_with("16 budgets are set"), "{}", refused.reason);
    // One for some calls would have those denied, and one that is there already is no other one.
    let of_agent = budget("more", &json!({"agent": "coder"}), &json!({"calls": 9}), "day");
    assert_eq!(desk.act("budget.configured", of_agent.clone()).unwrap_err().code.as_str(), "state-full");
    set(&mut desk, "b0", &json!({"calls": 8}), "day");
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c1", "r1")).verdict, Verdict::Allow);
    set(&mut desk, "b0", &json!({}), "day");
    desk.act("budget.configured", of_agent).unwrap();
    // Nor may a wide one come to narrow ones.
    let wide = budget("wide", &json!({}), &json!({"calls": 9}), "day");
    assert_eq!(desk.act("budget.configured", wide).unwrap_err().code.as_str(), "state-full");
    let beside = budget("beside", &json!({"agent": "other"}), &json!({"calls": 9}), "day");
    desk.act("budget.configured", beside).unwrap();
    for agent in ["coder", "other"] {
        assert_eq!(decision(&ask_in(&mut desk, agent, agent, "r1")).verdict, Verdict::Allow);
    }
}

#[test]
fn an_agent_that_begins_a_run_a_call_has_its_share_and_others_go_on() {
    let mut desk = trusted();
    set(&mut desk, "b", &json!({"calls": 1}), "run");
    for number in 0..MAX_BUDGET_WINDOWS_OF_AGENT + 10 {
        answered(&mut desk, format!("r{number}"));
    }
    let begun = desk.governance.read(|state| {
        let budgets = state.all_budgets();
        budgets.standing(budgets.get("b").unwrap(), bitacora_formats::Micros(desk.time)).count()
    });
    assert_eq!(begun, MAX_BUDGET_WINDOWS_OF_AGENT, "what is only told begins no more than that");
    let full = decision(&ask_in(&mut desk, "coder", "c1", "new"));
    assert_eq!(verdict(&full), (Verdict::Deny, "state-full".into()));
    assert!(full.reason.as_str().contains("this agent's runs and sessions"), "{}", full.reason);
    assert_eq!(decision(&ask_in(&mut desk, "other", "c2", "new")).verdict, Verdict::Allow);
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c3", "r0")).verdict, Verdict::Allow, "it is known");
    // A run whose end was told by its agent, and nobody else, leaves a day later.
    for (agent, run) in [("other", "r1"), ("coder", "r2")] {
        let mut event =
            desk.event("run.completed", "agent:111111111111", &json!({"run": run, "status": "success"}));
        event.agent = Some(agent.into());
        desk.append(vec![event]).unwrap();
    }
    desk.pass(24 * HOUR - 1);
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c4", "new4")).verdict, Verdict::Deny);
    desk.pass(1);
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c5", "new5")).verdict, Verdict::Allow);
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c6", "new6")).verdict, Verdict::Deny, "one has left");
    assert!(desk.is_in_step());
    desk.restart();
    desk.pass(29 * 24 * HOUR);
    assert_eq!(decision(&ask_in(&mut desk, "coder", "c7", "new7")).verdict, Verdict::Allow, "all have");
    assert!(desk.is_in_step());
}

#[test]
fn where_no_window_is_begun_nothing_is_told_again_and_again() {
    let mut desk = trusted();
    set(&mut desk, "b", &json!({"calls": 0}), "run");
    for number in 0..MAX_BUDGET_WINDOWS_OF_AGENT {
        answered(&mut desk, format!("r{number}"));
    }
    for call in ["c1", "c2"] {
        assert_eq!(kinds(&ask_in(&mut desk, "coder", call, "new")), ["decision.made"]);
    }
    let known = ask_in(&mut desk, "coder", "c3", "r0");
    assert_eq!(kinds(&known), ["decision.made", "budget.exceeded"]);
}

#[test]
fn what_is_observed_and_let_go_is_held_back_no_longer() {
    let mut desk = trusted();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    set(&mut desk, "b", &json!({"calls": 9}), "day");
    ask_in(&mut desk, "coder", "c1", "r1");
    let mut full = desk.governance.read(|state| serde_json::to_value(state).unwrap());
    let (call, end) = (full["calls"]["by_id"][0][1].clone(), full["calls"]["by_deadline"][0][0][0].clone());
    let names =
        || ["c1".to_owned()].into_iter().chain((1..MAX_OPEN_CALLS).map(|number| format!("x{number}")));
    full["calls"]["by_id"] = names().map(|name| json!([name, call])).collect();
    full["calls"]["by_deadline"] = names().map(|name| json!([[end, name], null])).collect();
    desk.go_on_in(&full);
    ask_in(&mut desk, "other", "c2", "r2");
    assert!(desk.governance.read(|state| state.open_call("c1").is_none() && state.open_call("c2").is_some()));
    let (spent, reserved) = desk.governance.read(|state| {
        let budgets = state.all_budgets();
        let one = budgets.standing(budgets.get("b").unwrap(), bitacora_formats::Micros(desk.time)).next();
        one.map(|one| (one.spent.calls, one.reserved.calls)).unwrap()
    });
    assert_eq!((spent, reserved), (1, 1), "the first may have run, the second is held back");
    assert!(desk.is_in_step());
}

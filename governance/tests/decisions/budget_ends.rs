//! Reservations of budgets for calls without a told end, without leave, and without a model.

use bitacora_formats::Event;
use bitacora_governance::Spend;
use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::budgets::{ask, ask_in, budget, cost, end, held, priced, request, set};
use crate::desk::{TestGovernance, data, kinds, verdict};

const HOUR: u64 = 3_600;

#[test]
fn a_deadline_gives_back_what_a_call_was_to_cost_and_an_outcome_after_it_still_counts() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 2, "cost_micro_usd": 150}), "day", "deny");
    ask(&mut desk, "c1");
    assert_eq!(ask(&mut desk, "x1").0, Verdict::Deny);
    desk.pass(HOUR);
    let caused = time_out(&mut desk, "c1");
    let charged: [Value; 2] = [data(&caused[0]), data(&caused[1])];
    let told = charged.each_ref().map(|charged| (charged["charge"].clone(), charged["amounts"].clone()));
    let settled = (json!("settled"), json!({"calls": 1}));
    assert_eq!(told, [settled, (json!("released"), json!({"cost_micro_usd": 100}))]);
    let (spent, reserved) = held(&desk);
    assert_eq!((cost(spent), spent.calls, reserved), (0, 1, Spend::default()), "it may have run");
    assert_eq!(ask(&mut desk, "c2").0, Verdict::Allow);
    end(&mut desk, "c1", "tool.completed", json!({"status": "ok", "cost_micro_usd": 42}));
    let (spent, reserved) = held(&desk);
    assert_eq!((cost(spent), spent.calls, reserved.calls), (42, 1, 1));
    // A call without a told end counts as one call all the same.
    desk.pass(HOUR);
    time_out(&mut desk, "c2");
    assert_eq!(ask(&mut desk, "c3"), (Verdict::Deny, "budget-spent".into()));
    assert!(desk.is_in_step());
}

fn time_out(desk: &mut TestGovernance, call: &str) -> Vec<Event<'static>> {
    let mut late =
        desk.event("tool.failed", "service:scheduler", &json!({"call": call, "status": "timeout"}));
    late.source = "urn:bitacora:scheduler".into();
    desk.append(vec![late]).unwrap()
}

#[test]
fn what_is_held_back_past_its_time_stops_nobody_and_calls_stay_spent() {
    let mut desk = priced();
    set(&mut desk, json!({"cost_micro_usd": 100}), "seven_days", "deny");
    assert_eq!(ask(&mut desk, "c1").0, Verdict::Allow);
    desk.pass(HOUR);
    assert_eq!(ask(&mut desk, "c2").0, Verdict::Deny, "its outcome may still come");
    // No scheduler runs here.
    desk.pass(2 * HOUR);
    assert_eq!(held(&desk).1.cost_micro_usd, 0, "as readers see it");
    assert_eq!(ask(&mut desk, "c3").0, Verdict::Allow);
    let (spent, reserved) = held(&desk);
    assert_eq!((spent.calls, cost(spent), cost(reserved)), (1, 0, 100));
    set(&mut desk, json!({"calls": 2}), "seven_days", "deny");
    desk.pass(3 * HOUR);
    assert_eq!(ask(&mut desk, "c4"), (Verdict::Deny, "budget-spent".into()));
    assert!(desk.is_in_step());
}

#[test]
fn a_call_that_names_no_model_counts_in_the_budgets_of_models() {
    for part in ["model", "task_type"] {
        let mut desk = priced();
        let mut scope = json!({});
        scope[part] = json!("m");
        desk.act("budget.configured", budget(scope, json!({"calls": 1}), "day", "deny")).unwrap();
        let mut other = request("c0");
        other[part] = json!("another");
        desk.ask_with(other).unwrap();
        assert_eq!(held(&desk).1.calls, 0);
        assert_eq!(ask(&mut desk, "c1").0, Verdict::Allow);
        assert_eq!(ask(&mut desk, "c2"), (Verdict::Deny, "budget-spent".into()), "{part}");
    }
}

#[test]
fn what_runs_without_having_been_allowed_is_charged_all_the_same() {
    let mut desk = priced();
    let scope = json!({"agent": "coder", "role": "agent", "session": "s1", "run": "r1"});
    desk.act("budget.configured", budget(scope, json!({"cost_micro_usd": 50}), "run", "deny")).unwrap();
    let denied = ask_in(&mut desk, "c1", Some("s1"), Some("r1"));
    assert_eq!(verdict(&denied), (Verdict::Deny, "budget-spent".into()));
    let caused = end(&mut desk, "c1", "tool.completed", json!({"status": "ok", "cost_micro_usd": 900}));
    assert_eq!(kinds(&caused), ["coverage.gap", "budget.charged"]);
    let (spent, reserved) = held(&desk);
    assert_eq!((cost(spent), spent.calls, reserved), (900, 1, Spend::default()));
    // A call that did not run cost nothing.
    ask_in(&mut desk, "c2", Some("s1"), Some("r1"));
    end(&mut desk, "c2", "tool.blocked", json!({"status": "blocked"}));
    assert_eq!(cost(held(&desk).0), 900);
    assert!(desk.is_in_step());
}

#[test]
fn what_nobody_ever_tells_of_does_not_hold_a_budget_for_ever() {
    let mut desk = priced();
    set(&mut desk, json!({"calls": 2}), "thirty_days", "deny");
    ask(&mut desk, "c1");
    // No scheduler runs here. Past its deadline and the time for late outcomes the next call sweeps it out.
    desk.pass(3 * HOUR);
    ask(&mut desk, "c2");
    assert_eq!(held(&desk).1.calls, 1);
    assert!(desk.is_in_step());
}

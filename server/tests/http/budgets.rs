//! Budgets over the interface: set, seen, met and lifted.

use serde_json::{Value, json};

use crate::governed::{ask, earn, governed, post, put, write};
use crate::service::TestService;

fn trusted() -> TestService {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    service
}

fn set(service: &TestService, limits: &Value) -> Value {
    let body = json!({"budget": "b", "scope": {"agent": "ci"}, "limits": limits, "period": "day", "onExceed": "deny"});
    put(service, "budgets", &body).expect(200).json()
}

fn call(id: &str, estimate: &str) -> Value {
    let mut request = write(id);
    (request["agent"], request["estimate"]) = (json!("ci"), json!(estimate));
    request
}

fn budgets(service: &TestService, parameters: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/budgets{parameters}")).expect(200).json()
}

#[test]
fn what_a_call_costs_is_held_back_settled_and_left() {
    let service = trusted();
    assert_eq!(set(&service, &json!({"costUsd": "0.5"}))["exhausted"], false);
    assert_eq!(ask(&service, call("c1", "0.3"))["verdict"], "allow");
    let denied = ask(&service, call("c2", "0.3"));
    assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&json!("deny"), &json!("budget-spent")));
    let one = &budgets(&service, "")["budgets"][0];
    assert_eq!(one["reserved"], json!({"costUsd": "0.3", "calls": 1}));
    assert_eq!((&one["spent"], &one["left"]), (&json!({}), &json!({"costUsd": "0.2"})));
    assert!(one.get("resetsAt").is_none(), "nothing was spent: {one}");
    let outcome = json!({"call": "c1", "status": "ok", "agent": "ci", "costUsd": "0.1", "durationMs": 7});
    post(&service, "outcome", &outcome).expect(200);
    assert_eq!(ask(&service, call("c3", "0.4"))["verdict"], "allow", "to the last millionth");
    let one = &budgets(&service, "?budget=b")["budgets"][0];
    assert_eq!(one["spent"], json!({"costUsd": "0.1", "calls": 1, "durationMs": 7}));
    assert_eq!((&one["left"], &one["exhausted"]), (&json!({"costUsd": "0"}), &json!(true)));
    assert!(one["resetsAt"].as_str().unwrap().ends_with("T00:00:00.000000Z"), "{one}");
    assert_eq!(budgets(&service, "?budget=other")["budgets"], json!([]));
    assert_eq!(budgets(&service, "?agent=other")["budgets"], json!([]));
    assert_eq!(budgets(&service, "?agent=ci&tool=fs.write")["budgets"][0]["budget"], "b");
    // It survives the service.
    let service = service.restarted();
    assert_eq!(ask(&service, call("c4", "0"))["reasonCode"], "budget-spent");
}

#[test]
fn whoever_asks_as_an_agent_counts_in_the_budgets_of_agents() {
    let service = trusted();
    let body = json!({"budget": "big", "scope": {"role": "agent"}, "limits": {"calls": 9}, "period": "day", "onExceed": "deny"});
    put(&service, "budgets", &body).expect(200);
    assert_eq!(budgets(&service, "?agent=ci&tool=fs.write")["budgets"][0]["budget"], "big");
    assert_eq!(budgets(&service, "?agent=ci&role=operator")["budgets"], json!([]));
}

#[test]
fn a_budget_below_what_is_spent_says_so_and_holds_at_once() {
    let service = trusted();
    set(&service, &json!({"calls": 9}));
    assert_eq!(ask(&service, call("c1", "0"))["verdict"], "allow");
    let answer = set(&service, &json!({"calls": 1}));
    assert_eq!(answer["exhausted"], true, "{answer}");
    assert_eq!(ask(&service, call("c2", "0"))["reasonCode"], "budget-spent");
    assert_eq!(answer["begunAnew"], false, "{answer}");
    let week = json!({"budget": "b", "limits": {"calls": 1}, "period": "seven_days", "onExceed": "deny"});
    let answer = put(&service, "budgets", &week).expect(200).json();
    assert_eq!((&answer["begunAnew"], &answer["exhausted"]), (&json!(true), &json!(false)), "{answer}");
    let lifted = put(&service, "budgets", &json!({"budget": "b"})).expect(200).json();
    assert_eq!(lifted["begunAnew"], false);
    assert_eq!(ask(&service, call("c3", "0"))["verdict"], "allow");
}

#[test]
fn a_body_that_says_something_else_than_it_means_is_refused() {
    let service = trusted();
    let whole = json!({"budget": "b", "limits": {"calls": 1}, "period": "day", "onExceed": "deny"});
    for (member, value) in [
        ("scope", json!({"agnet": "ci"})),
        ("scope", json!({"agent": "*"})),
        ("limits", json!({"calls": -1})),
        ("limits", json!({"call": 1})),
        ("limits", json!({"costUsd": "0.0000001"})),
        ("limits", json!({"costUsd": "1000000.1"})),
        ("limits", json!({"tokens": 1_000_000_000_001_u64})),
        ("period", json!("week")),
        ("period", json!(null)),
        ("onExceed", json!("warn")),
        ("budget", json!("")),
        ("other", json!(1)),
    ] {
        let mut body = whole.clone();
        body[member] = value;
        put(&service, "budgets", &body).expect_problem(400, "bad-body");
    }
    put(&service, "budgets", &json!({"budget": "b"})).expect_problem(422, "schema");
    assert_eq!(budgets(&service, "")["budgets"], json!([]));
}

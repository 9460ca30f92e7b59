//! How long people have, over the interface.

use serde_json::{Value, json};

use crate::governed::{ask, earn, governed, post, put, write};

fn policy(times: &Value) -> Value {
    let rules = json!([{"id": "all", "match": {}, "action": "review", "reason": "for a test"}]);
    json!({"rules": rules, "times": times})
}

#[test]
fn a_policy_says_how_long_a_person_has_and_what_nobodys_answer_is() {
    let service = governed("allow");
    let get = |resource: &str| service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json();
    for wrong in [
        json!({"approval_s": 0}),
        json!({"approval_s": 2_592_001}),
        json!({"approval_end": "allow"}),
        json!({"approvals": 300}),
    ] {
        put(&service, "policy", &policy(&wrong)).expect_problem(400, "bad-body");
    }
    let times = json!({"approval_s": 1, "approval_end": "deny"});
    put(&service, "policy", &policy(&times)).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    assert_eq!(get("policy/2")["document"]["times"], times);
    assert_eq!(get("policy/2/diff")["timesChanged"], true);
    let asked = ask(&service, write("c1"));
    let id = asked["approval"]["id"].as_str().unwrap().to_owned();
    let approval = get(&format!("approvals/{id}?wait=10s"));
    assert_eq!((&approval["status"], &approval["atEnd"]), (&json!("expired"), &json!("deny")));
    let denied = ask(&service, write("c2"));
    assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&json!("deny"), &json!("approval-lapsed")));
    // What is accepted of a suggestion goes on with the times of the policy that it is added to.
    earn(&service, "fs.write", "src");
    let body =
        service.post("/v1/ledgers/main/suggestions:refresh", "application/json", "{}").expect(200).json();
    let suggestion = body["made"][0].as_str().unwrap();
    post(&service, &format!("suggestions/{suggestion}:accept"), &json!({"cwd": "**"})).expect(200);
    assert_eq!(get("policy/3")["document"]["times"], times);
}

#[test]
fn a_run_is_held_to_its_own_budget_and_told_of_where_it_tells_no_end() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let get = |resource: &str| service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json();
    put(&service, "policy", &policy(&json!({"run_s": 1}))).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let started = |id: &str, budget: Value| {
        let event = json!({"specversion": "1.0", "id": id, "source": "test", "type": "run.started", "subject": "run/r1",
            "agent": "ci", "data": {"run": "r1", "kind": "graph", "budget": budget}});
        service.append(event.to_string())
    };
    started("1", json!({"cost_micro_usd": 1, "on_exceed": "stop"})).expect_problem(422, "schema");
    started("2", json!({"cost_micro_usd": 300_000, "on_exceed": "abort"})).expect(201);
    let call = |id: &str| {
        let mut request = write(id);
        (request["agent"], request["run"], request["estimate"]) = (json!("ci"), json!("r1"), json!("0.2"));
        ask(&service, request)
    };
    assert_eq!(call("c1")["verdict"], "review", "the policy has every call reviewed");
    let run = || get("runs/r1");
    assert_eq!(run()["overdue"], false);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while run()["overdue"] != true {
        assert!(std::time::Instant::now() < until, "{}", run());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    post(&service, "policy/1:activate", &json!({})).expect(200);
    assert_eq!(call("c2")["verdict"], "allow");
    let own = &get("budgets?run=r1&agent=ci")["budgets"][0];
    assert_eq!((&own["budget"], &own["window"]), (&json!("run:own"), &json!("r1")));
    assert_eq!((&own["reserved"]["costUsd"], &own["left"]["costUsd"]), (&json!("0.2"), &json!("0.1")));
    let denied = call("c3");
    assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&json!("deny"), &json!("run-budget-spent")));
    let head = get("head")["position"].as_str().unwrap().to_owned();
    let min = [("Ledger-Min-Position", head.as_str())];
    let run = service.request("GET", "/v1/ledgers/main/runs/r1", &min, b"").expect(200).json();
    assert_eq!((&run["state"], &run["overdue"]), (&json!("aborted"), &json!(false)));
}

//! Deadlines of approvals, over the interface.

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
    // A rule accepted from a suggestion goes on with the times of the policy that it is added to.
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

#[test]
fn windows_and_rates_go_by_the_clocks_of_zones_that_are_built_in() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let get = |resource: &str| service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json();
    let window = |zone: &str| {
        let window = json!({"days": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], "zone": zone});
        json!({"rules": [{"id": "r", "match": {"time_window": window}, "action": "allow", "reason": "for a test"}]})
    };
    let refused = put(&service, "policy", &window("Mars/Olympus")).expect_problem(422, "schema");
    assert!(refused["detail"].as_str().unwrap().contains("Europe/Madrid"), "{refused}");
    put(&service, "policy", &window("Asia/Kolkata")).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let made = ask(&service, write("c1"));
    assert_eq!((&made["verdict"], &made["rule"]), (&json!("allow"), &json!("r")));
    let position: u64 = made["position"].as_str().unwrap().parse().unwrap();
    let event = get(&format!("events/{position}"));
    let zone = &event["event"]["data"]["inputs"]["local_times"]["times"][0]["zone"];
    assert_eq!(zone, "Asia/Kolkata", "{event}");

    let set = |rolling: Value| put(&service, "rates", &json!({"scope": {"by": "agent"}, "rolling": rolling}));
    for wrong in [
        json!({}),
        json!({"apart": 60}),
        json!({"day": {"calls": 1, "zone": "Mars/Olympus"}}),
        json!({"windows": [{"calls": 101, "period_s": 60}]}),
        json!({"windows": []}),
    ] {
        set(wrong).expect_problem(400, "bad-body");
    }
    let rolling = json!({"windows": [{"calls": 2, "period_s": 3_600}], "day": {"calls": 8, "zone": "Europe/Madrid"}, "apart_s": 1_800});
    set(rolling.clone()).expect(200);
    assert_eq!(get("rates")["rolling"], json!([{"scope": {"by": "agent"}, "rolling": rolling}]));
    let [first, second] = ["c2", "c3"].map(|call| {
        let mut request = write(call);
        request["args"]["path"] = json!(format!("src/{call}.rs"));
        ask(&service, request)
    });
    assert_eq!((&first["verdict"], &second["reasonCode"]), (&json!("allow"), &json!("rate-limited")));
    let wait = second["retryAfterMs"].as_u64().unwrap();
    assert!((1_700_000..=1_800_000).contains(&wait), "{second}");
}

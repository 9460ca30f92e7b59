//! How long people have, over the interface.

use serde_json::{Value, json};

use crate::governed::{ask, governed, post, put, write};

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
    crate::governed::earn(&service, "fs.write", "src");
    let body =
        service.post("/v1/ledgers/main/suggestions:refresh", "application/json", "{}").expect(200).json();
    let suggestion = body["made"][0].as_str().unwrap();
    post(&service, &format!("suggestions/{suggestion}:accept"), &json!({"cwd": "**"})).expect(200);
    assert_eq!(get("policy/3")["document"]["times"], times);
}

//! Verdicts of another policy on recorded calls.

use serde_json::{Value, json};

use crate::governed::{ask, earn, governed, post, put, write};
use crate::service::TestService;

fn rules(id: &str, glob: &str, action: &str) -> Value {
    let arguments = json!([{"pointer": "/path", "glob": glob}]);
    let rule = json!({"id": id, "match": {"arguments": arguments}, "action": action, "reason": "r"});
    json!({"rules": [rule, {"id": "rest", "match": {}, "action": "allow", "reason": "r"}]})
}

/// A service with three reviewed calls of a tool, one of another that nobody knows.
fn asked() -> (TestService, Vec<String>) {
    let service = governed("review");
    earn(&service, "fs.write", "src");
    let calls = ["c1", "c2", "c3"].map(|call| ask(&service, write(call)));
    let unknown = ask(&service, json!({"call": "c4", "tool": "other", "args": {}}));
    let position = |answer: &Value| answer["position"].as_str().unwrap().to_owned();
    let positions = calls.iter().chain([&unknown]).map(position).collect();
    (service, positions)
}

#[test]
fn a_policy_is_tried_on_what_was_asked_before() {
    let (service, positions) = asked();
    let path = write("c1")["args"]["path"].as_str().unwrap().to_owned();
    let tried = post(&service, "policy:dry-run", &rules("hit", &path, "deny")).expect(200).json();
    assert_eq!((&tried["calls"], &tried["changed"], &tried["uncertain"]), (&json!(4), &json!(3), &json!(0)));
    assert_eq!((&tried["unjudged"], &tried["complete"]), (&json!(0), &json!(true)));
    assert_eq!((&tried["oldest"], tried.get("version")), (&json!(positions[0]), None));
    let newest = &tried["examples"][0];
    assert_eq!((&newest["position"], &newest["tool"]), (&json!(positions[2]), &json!("fs.write")));
    assert_eq!(newest["before"], json!({"verdict": "review", "reasonCode": "policy-review", "rule": "all"}));
    assert_eq!(newest["after"], json!({"verdict": "deny", "reasonCode": "policy-deny", "rule": "hit"}));
    let verdicts = tried["verdicts"].as_array().unwrap();
    assert_eq!((verdicts.len(), &verdicts[0]["before"]), (2, &json!("review")));
    assert_eq!(verdicts[1]["before"], verdicts[1]["after"], "who is not known stays denied");
    let written = json!([{"name": "fs.write", "calls": 3, "stricter": 3, "milder": 0}]);
    assert_eq!(tried["byTool"], written, "a tool without another verdict is left out");
    assert_eq!(
        (&tried["byAgent"][0]["stricter"], tried["byAgent"].as_array().unwrap().len()),
        (&json!(3), 1)
    );
    let days = tried["byDay"].as_array().unwrap();
    let of_days = |member: &str| days.iter().map(|day| day[member].as_u64().unwrap()).sum::<u64>();
    assert_eq!((of_days("calls"), of_days("stricter"), of_days("milder")), (4, 3, 0));
    assert!(days.iter().all(|day| day["name"].as_str().is_some_and(|day| day.len() == 10)), "{days:?}");

    let missed = post(&service, "policy:dry-run", &rules("hit", "elsewhere/**", "deny")).expect(200).json();
    assert_eq!(missed["examples"][0]["after"]["verdict"], "allow", "its trust was earned before");
    let strict = json!({"rules": rules("hit", "elsewhere/**", "deny")["rules"], "trust": strict_trust()});
    let strict = post(&service, "policy:dry-run", &strict).expect(200).json();
    assert_eq!(strict["changed"], 0, "the numbers of trust count too: {strict}");

    let last = post(&service, "policy:dry-run?limit=2", &rules("hit", &path, "deny")).expect(200).json();
    assert_eq!((&last["calls"], &last["changed"], &last["complete"]), (&json!(2), &json!(1), &json!(false)));
    let one = post(&service, "policy:dry-run?tool=other", &rules("hit", &path, "deny")).expect(200).json();
    assert_eq!((&one["calls"], &one["changed"], &one["complete"]), (&json!(1), &json!(0), &json!(true)));
    assert_eq!(get(&service, "policy")["versions"].as_array().unwrap().len(), 1, "nothing was published");
}

/// Numbers under which twenty good calls are too few.
fn strict_trust() -> Value {
    let mut trust = json!(bitacora_vocabulary::TrustRules::v2());
    trust["auto_approve_approvals"] = json!(1_000);
    trust
}

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

#[test]
fn a_published_version_is_tried_the_same_way() {
    let (service, _) = asked();
    let path = write("c1")["args"]["path"].as_str().unwrap().to_owned();
    let body = rules("hit", &path, "deny");
    put(&service, "policy", &body).expect(201);
    let published = get(&service, "replay?policy=2&limit=5000");
    let mut tried = post(&service, "policy:dry-run", &body).expect(200).json();
    tried["version"] = json!("2");
    assert_eq!(published, tried);
    let same = get(&service, "replay?policy=1");
    assert_eq!((&same["changed"], &same["calls"]), (&json!(0), &json!(4)));
}

#[test]
fn a_policy_that_cannot_be_tried_is_refused() {
    let service = governed("review");
    let empty = post(&service, "policy:dry-run", &json!({"rules": []})).expect(200).json();
    assert_eq!((&empty["calls"], &empty["complete"], empty.get("oldest")), (&json!(0), &json!(true), None));
    let denies = json!({"rules": [{"id": "all", "match": {}, "action": "deny", "reason": "r"}]});
    let denies = post(&service, "policy:dry-run", &denies).expect(200).json();
    assert_eq!(denies["warnings"], json!([{"warning": "denies_everything", "rule": "all"}]));
    for resource in ["policy:dry-run?limit=0", "policy:dry-run?limit=5001", "policy:dry-run?policy=1"] {
        post(&service, resource, &json!({"rules": []})).expect_problem(400, "bad-query");
    }
    post(&service, "policy:dry-run", &json!({})).expect_problem(400, "bad-body");
    let twice = rules("rest", "x", "deny");
    post(&service, "policy:dry-run", &twice).expect_problem(422, "schema");
    for target in ["replay", "replay?policy=one", "replay?policy=1&limit=0"] {
        service.get(&format!("/v1/ledgers/main/{target}")).expect_problem(400, "bad-query");
    }
    service.get("/v1/ledgers/main/replay?policy=9").expect_problem(404, "no-such-policy");
}

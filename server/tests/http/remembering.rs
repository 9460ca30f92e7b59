//! The trust of earlier times, and its recorded history.

use bitacora_server::ServerLimits;
use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, govern, governed, post, put, write};
use crate::service::{TestService, config, new_keyring};

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

const DIMENSION: &str = "tool=fs.write&context=src&workspace=-";

/// Makes a call that a person approves, and ends it; returns the position of its observation.
fn one_good_call(service: &TestService, call: &str) -> String {
    let review = ask(service, write(call));
    let approval = review["approval"]["id"].as_str().unwrap();
    approve(service, approval).expect(200);
    let mut request = write(call);
    request["approval"] = json!(approval);
    assert_eq!(ask(service, request)["verdict"], "allow");
    let outcome = post(service, "outcome", &json!({"call": call, "status": "ok"})).expect(200).json();
    outcome["trust"]["position"].as_str().unwrap().to_owned()
}

#[test]
fn a_dimension_is_shown_as_it_stood_at_a_position() {
    let service = governed("allow");
    let first = one_good_call(&service, "c1");
    // The window of a breaker is shown as it is now alone.
    let now = || {
        let mut record = get(&service, &format!("trust/record?{DIMENSION}"));
        record["breaker"] = json!({"state": record["breaker"]["state"]});
        record
    };
    let then = now();
    let second = one_good_call(&service, "c2");
    let mut trust = json!(bitacora_vocabulary::TrustRules::v2());
    trust["review_score"] = json!(6_000);
    trust["min_observations"] = json!(0);
    put(&service, "policy", &json!({"rules": [], "trust": trust})).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    earn(&service, "fs.write", "src");

    let at = |position: &str| get(&service, &format!("trust/record?{DIMENSION}&at={position}"));
    assert_eq!(at(&first), then, "as it was answered then, its time and the policy of then too");
    assert_eq!((&at(&second)["approvals"], &at("1")["approvals"]), (&json!(2), &json!(0)));
    let head = get(&service, "head")["position"].as_str().unwrap().to_owned();
    assert_eq!(at(&head), now());
    service
        .get(&format!("/v1/ledgers/main/trust/record?{DIMENSION}&at=9999"))
        .expect_problem(404, "not-found");
    service
        .get(&format!("/v1/ledgers/main/trust/record?{DIMENSION}&at=0"))
        .expect_problem(400, "bad-position");
}

#[test]
fn a_breaker_is_shown_as_it_stood_at_a_position() {
    for has_read_models in [true, false] {
        let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
        let mut config = config(folder.path(), &keyring, ServerLimits::default());
        config.ledgers.read_models = has_read_models;
        let service = TestService::of(config, folder, keyring);
        service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
        govern(&service, "allow");
        earn(&service, "fs.write", "src");
        let dimension = json!({"tool": "fs.write", "context": "src", "workspace": "-"});
        let settings = json!({"dimension": dimension, "window": 2, "failureThreshold": 1, "recoveryProbes": 1, "cooldownS": 60});
        let before = post(&service, "breakers:configure", &settings).expect(200).json();
        let before = before["position"].as_str().unwrap().to_owned();
        assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
        post(&service, "outcome", &json!({"call": "c1", "status": "error"})).expect(200);
        let opened = get(&service, "head")["position"].as_str().unwrap().to_owned();
        let close = json!({"dimension": dimension, "reason": "mended"});
        let closed = post(&service, "breakers:close", &close).expect(200).json();
        let closed = closed["position"].as_str().unwrap().to_owned();
        let now = get(&service, &format!("trust/record?{DIMENSION}"));
        assert_eq!((&now["breaker"]["state"], &now["breaker"]["outcomes"]), (&json!("closed"), &json!(0)));
        let at = |position: &str| {
            let min = [("Ledger-Min-Position", closed.as_str())];
            let target = format!("/v1/ledgers/main/trust/record?{DIMENSION}&at={position}");
            service.request("GET", &target, &min, b"").expect(200).json()["breaker"].clone()
        };
        assert_eq!(at(&before), json!({"state": "closed"}));
        let open = at(&opened);
        assert_eq!((&open["state"], open["cooldownUntil"].is_string()), (&json!("open"), true), "{open}");
        assert_eq!(at(&closed), json!({"state": "closed"}));
    }
}

#[test]
fn what_is_too_much_to_fold_at_once_is_refused_and_an_earlier_place_is_not() {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config =
        config(folder.path(), &keyring, ServerLimits { max_past_events: 5, ..ServerLimits::default() });
    // With read models little is folded.
    config.ledgers.read_models = false;
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    // A policy is published and activated, and three times trust is set.
    govern(&service, "allow");
    (0..3).for_each(|_| earn(&service, "fs.write", "src"));
    let before = service.tip();
    let at = |position: u64| service.get(&format!("/v1/ledgers/main/trust/record?{DIMENSION}&at={position}"));
    let then = at(before).expect(200).json();
    earn(&service, "fs.write", "elsewhere");
    let problem = at(service.tip()).expect_problem(400, "history-too-long");
    assert_eq!(problem["position"], service.tip().to_string(), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("ask for an earlier one"), "{problem}");
    assert_eq!(at(before).expect(200).json(), then);
    service.get(&format!("/v1/ledgers/main/trust/record?{DIMENSION}")).expect(200);
}

#[test]
fn the_history_of_a_dimension_is_read_page_by_page() {
    let service = governed("allow");
    let counted = ["c1", "c2", "c3"].map(|call| one_good_call(&service, call));
    earn(&service, "fs.write", "src");
    earn(&service, "fs.write", "elsewhere");
    let all = get(&service, &format!("trust/history?{DIMENSION}"));
    let outcomes = all["outcomes"].as_array().unwrap();
    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["trust.set", "trust.observed", "trust.observed", "trust.observed"]);
    assert_eq!(
        (&outcomes[0]["actor"], &outcomes[0]["data"]["counts"]["approvals"]),
        (&json!("admin:local"), &json!(20))
    );
    assert_eq!((&outcomes[1]["position"], outcomes[1].get("actor")), (&json!(counted[2]), None));
    assert_eq!(
        (&outcomes[1]["data"]["outcome"], &outcomes[1]["data"]["call"]),
        (&json!("approved"), &json!("c3"))
    );
    assert!(outcomes[0]["time"].is_string() && all.get("next").is_none(), "{all}");

    let mut seen = Vec::new();
    let cached = |parameters: &str| {
        let answer =
            service.get(&format!("/v1/ledgers/main/trust/history?{DIMENSION}{parameters}")).expect(200);
        answer.header("cache-control").unwrap().contains("max-age")
    };
    assert!(cached(&format!("&until={}", service.tip())), "what stands there never changes");
    assert!(!cached("") && !cached(&format!("&until={}", service.tip() + 1)), "more may come");
    let mut next = get(&service, &format!("trust/history?{DIMENSION}&limit=1"));
    loop {
        seen.extend(next["outcomes"].as_array().unwrap().iter().cloned());
        let Some(until) = next["next"].as_str() else { break };
        next = get(&service, &format!("trust/history?{DIMENSION}&limit=1&until={until}"));
    }
    assert_eq!(&seen, outcomes);
    assert_eq!(get(&service, "trust/history?tool=other")["outcomes"], json!([]));
    for target in [
        "trust/history",
        "trust/history?tool=t&limit=0",
        "trust/history?tool=t&limit=1001",
        "trust/history?tool=t&at=1",
    ] {
        service.get(&format!("/v1/ledgers/main/{target}")).expect_problem(400, "bad-query");
    }
}

//! Bounds of questions that look back on the record.

use std::fmt::Write;

use bitacora_ledger::{Options, ReactorChoice};
use bitacora_server::ServerLimits;
use serde_json::{Value, json};

use crate::governed::{ask, govern, post, write};
use crate::service::{TestService, config, new_keyring};

/// As many calls as are looked through at once, and some.
const CALLS: usize = 20_500;

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

/// A service with one call of `fs.write`, and behind it very many of another tool that were recorded elsewhere.
fn long() -> TestService {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    // As it is shipped: what fifty calls cause does not fit the requests of a small one.
    // With read models nothing is looked through.
    config.ledgers.read_models = false;
    config.ledgers.options = Options { governing: ReactorChoice::Governance, ..Options::default() };
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    govern(&service, "review");
    ask(&service, write("c1"));
    post(&service, "outcome", &json!({"call": "c1", "status": "error"})).expect(200);
    // The events that a request causes are bounded too.
    for calls in (0..CALLS).collect::<Vec<_>>().chunks(50) {
        let mut lines = String::new();
        for number in calls {
            for (kind, rest) in
                [("tool.requested", r#""tool":"other","args":{}"#), ("tool.completed", r#""status":"ok""#)]
            {
                writeln!(
                    lines,
                    r#"{{"specversion":"1.0","id":"{number}-{kind}","source":"/tests","type":"{kind}","subject":"s","call":"i{number}","data":{{"call":"i{number}",{rest},"assurance":"imported"}}}}"#
                )
                .unwrap();
            }
        }
        service.post("/v1/ledgers/main/events", "application/x-ndjson", lines).expect(201);
    }
    service
}

#[test]
fn questions_about_the_past_look_back_so_far_at_once_and_say_so() {
    let service = long();
    // The history of one dimension: what lies further back is on the next page, and this one is empty.
    let first = get(&service, "trust/history?tool=fs.write&context=src&workspace=-");
    assert_eq!(first["outcomes"], json!([]));
    let next = first["next"].as_str().unwrap();
    let second = get(&service, &format!("trust/history?tool=fs.write&context=src&workspace=-&until={next}"));
    assert_eq!(second["outcomes"].as_array().unwrap().len(), 1);
    assert!(second.get("next").is_none(), "{second}");
    assert_eq!(
        get(&service, "trust/history?tool=other&workspace=-&limit=1000")["outcomes"]
            .as_array()
            .unwrap()
            .len(),
        1_000
    );
    service.get("/v1/ledgers/main/trust/history?tool=other&limit=1001").expect_problem(400, "bad-query");

    // The verdicts of another policy.
    let rules = json!({"rules": [{"id": "no", "match": {}, "action": "deny", "reason": "r"}]});
    let of_tool = post(&service, "policy:dry-run?tool=fs.write", &rules).expect(200).json();
    assert_eq!((&of_tool["calls"], &of_tool["complete"]), (&json!(0), &json!(false)), "it lies further back");
    let oldest: u64 = of_tool["oldest"].as_str().unwrap().parse().unwrap();
    assert!(oldest > 20, "{of_tool}");
    for (path, calls) in [("policy:dry-run", 1_000), ("policy:dry-run?limit=5000", 5_000)] {
        let tried = post(&service, path, &rules).expect(200).json();
        assert_eq!((&tried["calls"], &tried["complete"]), (&json!(calls), &json!(false)), "{path}");
        assert!(tried["examples"].as_array().unwrap().len() <= 50, "{path}");
    }
    assert_eq!(get(&service, "replay?policy=1&limit=5000")["calls"], 5_000);
    for limit in [0, 5_001] {
        post(&service, &format!("policy:dry-run?limit={limit}"), &rules).expect_problem(400, "bad-query");
        service
            .get(&format!("/v1/ledgers/main/replay?policy=1&limit={limit}"))
            .expect_problem(400, "bad-query");
    }
}

//! `…/imports`: what an import would change is seen before it counts, and an admin lets that import count and no other.

use serde_json::{Value, json};

use crate::identities::{append, ask, event, guard, token};
use crate::service::Service;

const IMPORTS: &str = "/v1/ledgers/main/imports";

/// Brings so many good outcomes of a tool, and ends the import.
fn bring(service: &Service, tool: &str, outcomes: u64, digit: &str) -> String {
    let dimension = json!({"tool": tool, "context": "src", "model": "m", "task_type": "-", "workspace": "-"});
    for number in 0..outcomes {
        let observed = json!({"dimension": dimension, "outcome": "approved", "duration_ms": number,
            "assurance": "imported"});
        append(service, &token("admin"), &event("trust.observed", &observed)).expect(201);
    }
    let digest = digit.repeat(64);
    let counts = json!({"files": 1, "lines": 1, "bytes": 1, "events": outcomes, "unmapped": 0,
        "passed_over": 0, "without_outcome": 0, "types": {}});
    let batch = json!({"digest": digest, "mapping": "m", "counts": counts, "sources": []});
    append(service, &token("admin"), &event("import.batch", &batch)).expect(201);
    digest
}

fn approvals(service: &Service, tool: &str) -> Value {
    let target = format!("/v1/ledgers/main/trust/record?tool={tool}&context=src&model=m&workspace=-");
    ask(service, "GET", &target, Some(&token("auditor")), "").expect(200).json()["approvals"].clone()
}

#[test]
fn an_import_is_looked_at_and_then_counts_alone() {
    let service = Service::start();
    guard(&service);
    let first = bring(&service, "Read", 25, "a");
    let second = bring(&service, "Bash", 3, "b");
    let look = |target: &str| ask(&service, "GET", target, Some(&token("auditor")), "").expect(200).json();
    let listed = look(IMPORTS);
    assert_eq!(listed["imports"][0]["digest"], second, "the last first");
    assert_eq!(listed["imports"][0]["approvals"], 3, "what the first one brought is not its own");
    assert_eq!(
        (&listed["imports"][1]["approvals"], listed["imports"].as_array().unwrap().len()),
        (&json!(25), 2)
    );

    let report = look(&format!("{IMPORTS}/{first}"));
    assert_eq!(report["now"], json!({"autoApprove": 0, "requireReview": 1, "blocked": 0}), "{report}");
    assert_eq!(report["onceAccepted"], json!({"autoApprove": 1, "requireReview": 0, "blocked": 0}));
    let change = &report["changes"][0];
    assert_eq!(
        (&change["dimension"]["tool"], &change["imported"]["approvals"]),
        (&json!("Read"), &json!(25))
    );
    assert_eq!((&change["now"]["approvals"], &change["onceAccepted"]["approvals"]), (&json!(0), &json!(25)));

    let accept = |role: &str, digest: &str| {
        let target = format!("{IMPORTS}/{digest}:accept");
        ask(&service, "POST", &target, Some(&token(role)), r#"{"note":"its report was read"}"#)
    };
    accept("operator", &first).expect_problem(403, "forbidden");
    accept("admin", &"c".repeat(64)).expect_problem(404, "no-such-thing");
    accept("admin", "first").expect_problem(404, "no-such-thing");
    assert_eq!(accept("admin", &first).expect(200).json()["digest"], first);
    accept("admin", &first).expect_problem(409, "already-resolved");
    assert_eq!((approvals(&service, "Read"), approvals(&service, "Bash")), (json!(25), json!(0)));
    let report = look(&format!("{IMPORTS}/{first}"));
    assert!(report["accepted"].is_string() && report["changes"] == json!([]), "{report}");
    // What the one that counts showed is told as before.
    assert_eq!((&report["dimensions"], &report["approvals"]), (&json!(1), &json!(25)), "{report}");
    let listed = look(IMPORTS);
    assert_eq!(
        (&listed["imports"][1]["dimensions"], &listed["imports"][1]["approvals"]),
        (&json!(1), &json!(25))
    );
    for (tool, digest, counts) in [("Read", &first, true), ("Bash", &second, false)] {
        let of =
            |what: &str| format!("/v1/ledgers/main/trust/{what}?tool={tool}&context=src&model=m&workspace=-");
        let outcome = look(&of("history"))["outcomes"][0].clone();
        assert_eq!((&outcome["import"], &outcome["counts"]), (&json!(digest), &json!(counts)), "{outcome}");
        assert!(outcome["recorded"].is_string(), "{outcome}");
        let month = look(&of("months"))["months"][0].clone();
        let not_accepted = if counts { json!(0) } else { month["imported"].clone() };
        assert_eq!(month["notAccepted"], not_accepted, "{month}");
    }
    // What waits may count later: nobody keeps the page.
    let settled = format!(
        "/v1/ledgers/main/trust/history?tool=Bash&context=src&model=m&workspace=-&until={}",
        listed["imports"][0]["position"].as_str().unwrap()
    );
    let page = ask(&service, "GET", &settled, Some(&token("auditor")), "").expect(200);
    assert!(!page.header("cache-control").unwrap_or_default().contains("immutable"));

    let target = format!("{IMPORTS}/{second}");
    ask(&service, "POST", &target, Some(&token("admin")), "").expect_problem(404, "no-such-resource");
    ask(&service, "GET", &format!("{IMPORTS}/no"), Some(&token("auditor")), "")
        .expect_problem(404, "no-such-thing");
    ask(&service, "GET", &format!("{target}?limit=0"), Some(&token("auditor")), "")
        .expect_problem(400, "bad-query");
}

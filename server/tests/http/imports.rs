//! `…/imports`: the changes are seen before an import counts, and an admin lets that one count alone.

use serde_json::{Value, json};

use crate::identities::{append, ask, event, guard, token};
use crate::service::TestService;

const IMPORTS: &str = "/v1/ledgers/main/imports";

/// Brings so many good outcomes of a tool, and ends the import.
fn bring(service: &TestService, tool: &str, outcomes: u64, digit: &str) -> String {
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

fn approvals(service: &TestService, tool: &str) -> Value {
    let target = format!("/v1/ledgers/main/trust/record?tool={tool}&context=src&model=m&workspace=-");
    ask(service, "GET", &target, Some(&token("auditor")), "").expect(200).json()["approvals"].clone()
}

#[test]
fn an_import_is_looked_at_and_then_counts_alone() {
    let service = TestService::start();
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
    // The sums of the import that counts are told as before.
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
    // A waiting import may count later: nobody keeps the page.
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

/// Every question about a time means when things happened: the ledger's time, and an import's own once it is accepted.
#[test]
fn an_import_s_own_times_count_once_it_is_accepted_and_nobody_else_s_do() {
    let service = TestService::start();
    guard(&service);
    let call = |id: &str, imported: bool| {
        let stream = format!("session/{id}");
        for (kind, mut data) in [
            ("tool.requested", json!({"call": id, "tool": "Read", "args": {}})),
            ("tool.completed", json!({"call": id, "status": "ok", "cost_micro_usd": 7})),
        ] {
            if imported {
                data["assurance"] = json!("imported");
            }
            let mut event = event(kind, &data);
            // Any writer of an event may say that it is old.
            event["time"] = json!("2020-05-04T03:02:01Z");
            (event["subject"], event["session"], event["call"]) = (json!(stream), json!(id), json!(id));
            append(&service, &token("admin"), &event).expect(201);
        }
    };
    call("brought", true);
    let digest = bring(&service, "Bash", 1, "a");
    call("here", false);
    call("later", true);
    let look = |target: &str| {
        let target = format!("/v1/ledgers/main/{target}");
        ask(&service, "GET", &target, Some(&token("auditor")), "").expect(200).json()
    };
    let found = |list: &str, query: &str| {
        let page = look(&format!("{list}?{query}"));
        let name = list.trim_end_matches('s');
        let ids = |page: &Value| -> Vec<String> {
            page[list].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
        };
        (ids(&page), page["outside"]["count"].as_u64())
    };
    let (then, since_then) =
        ("since=2020-05-04T00:00:00Z&before=2020-05-05T00:00:00Z", "since=2021-01-01T00:00:00Z");
    let here = ["later", "here", "brought"];
    for list in ["calls", "sessions"] {
        assert_eq!(
            found(list, then),
            (vec![], Some(3)),
            "{list}: nothing happened then, and three at another time"
        );
        assert_eq!(found(list, since_then).0, here, "{list}");
    }
    assert_eq!(look("costs?by=day&before=2021-01-01")["costs"], json!([]));

    let accept = format!("{IMPORTS}/{digest}:accept");
    ask(&service, "POST", &accept, Some(&token("admin")), "{}").expect(200);
    for list in ["calls", "sessions"] {
        assert_eq!(found(list, then), (vec!["brought".to_owned()], None), "{list}");
        assert_eq!(found(list, since_then).0, ["later", "here"], "{list}");
        assert_eq!(found(list, "recorded_since=2021-01-01T00:00:00Z").0, here, "{list}");
        assert_eq!(found(list, &format!("{then}&limit=1")).0, ["brought"], "{list}");
        let recorded_then = then.replace("since", "recorded_since").replace("before", "recorded_before");
        assert_eq!(found(list, &recorded_then), (vec![], Some(3)), "{list}");
        let one = &look(&format!("{list}?{then}"))[list][0];
        assert_eq!(one["time"], "2020-05-04T03:02:01.000000Z", "{one}");
        assert!(one["recorded"].as_str() > Some("2021"), "{one}");
        for wrong in ["since=2020-05-05T00:00:00Z&before=2020-05-04T00:00:00Z", "recorded_since=yesterday"] {
            let target = format!("/v1/ledgers/main/{list}?{wrong}");
            ask(&service, "GET", &target, Some(&token("auditor")), "").expect_problem(400, "bad-query");
        }
    }
    assert_eq!(found("calls", &format!("{then}&tool=none")), (vec![], Some(0)));
    let costs = look("costs?by=day&before=2021-01-01");
    assert_eq!(
        (&costs["costs"][0]["day"], &costs["total"]["toolCalls"]),
        (&json!("2020-05-04"), &json!(1)),
        "{costs}"
    );
    assert_eq!(look("costs")["total"]["toolCalls"], 3);
}

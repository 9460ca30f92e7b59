//! Contracts that did not hold, and the rollbacks that followed.

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, governed, post, write};
use crate::service::TestService;

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

fn tell(service: &TestService, kind: &str, data: &Value) -> String {
    let id = format!("{kind}-{data}");
    let id = format!("{:x}", id.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte)));
    let event = json!({"specversion": "1.0", "id": id, "source": "test", "type": kind, "subject": "steps", "data": data});
    let appended = service.post("/v1/ledgers/main/events", "application/json", event.to_string()).expect(201);
    appended.json()["first"].as_str().unwrap().to_owned()
}

fn define(service: &TestService, post: &Value) -> String {
    let defined = json!({"contract": "edit", "pre": [], "post": post, "rollback": [{"type": "git_reset"}],
        "blast_radius": "low"});
    tell(service, "contract.defined", &defined)
}

fn check(service: &TestService, call: &str, checks: &Value) -> String {
    let checked = json!({"contract": "edit", "call": call, "run": "r1", "node": "act", "phase": "post", "checks": checks});
    tell(service, "contract.checked", &checked)
}

fn allowed(service: &TestService, call: &str) {
    earn(service, "fs.write", "src");
    assert_eq!(ask(service, write(call))["verdict"], "allow");
}

#[test]
fn a_check_is_followed_to_what_it_counted_and_to_the_rollback_that_it_led_to() {
    let service = governed("allow");
    let first = define(&service, &json!([]));
    let second = define(&service, &json!([{"type": "tests_pass", "params": {"suite": "unit"}}]));
    let passed = json!([{"type": "tests_pass", "params": {"suite": "unit"}, "passed": true}]);
    allowed(&service, "c1");
    check(&service, "c1", &passed);
    post(&service, "outcome", &json!({"call": "c1", "status": "ok"})).expect(200);
    allowed(&service, "c2");
    // Nothing failed, but what the contract asks for was not made.
    let missed = check(&service, "c2", &json!([{"type": "lint", "passed": true}]));
    post(&service, "outcome", &json!({"call": "c2", "status": "ok"})).expect(200);

    let contract = get(&service, "contracts/edit");
    assert_eq!(
        (&contract["version"], &contract["checks"], &contract["failed"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(contract["definitions"][0]["position"], json!(second));
    assert_eq!(contract["definitions"][1]["position"], json!(first));
    assert_eq!(
        contract["definitions"][0]["post"],
        json!([{"type": "tests_pass", "params": {"suite": "unit"}}])
    );
    let all = get(&service, "contracts/edit/checks");
    assert_eq!((all["checks"].as_array().unwrap().len(), &all["checks"][1]["holds"]), (2, &json!(true)));
    assert_eq!(all["checks"][1].get("rollback"), None);
    let failed = get(&service, "contracts/edit/checks?failed=true")["checks"].clone();
    let one = &failed[0];
    assert_eq!(failed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&one["position"], &one["version"], &one["phase"], &one["made"], &one["failed"], &one["missing"]),
        (&json!(missed), &json!(2), &json!("post"), &json!(1), &json!([]), &json!(["tests_pass"]))
    );
    let counted = get(&service, &format!("events/{}", one["countedAt"].as_str().unwrap()));
    assert_eq!((&one["counted"], &counted["event"]["type"]), (&json!("error"), &json!("trust.observed")));

    let asked = get(&service, "rollbacks?state=pending")["rollbacks"].clone();
    assert_eq!(asked.as_array().unwrap().len(), 1, "{asked}");
    let asked = &asked[0];
    assert_eq!(
        (&asked["position"], &asked["cause"], &asked["contract"], &asked["call"], &asked["tool"]),
        (&one["rollback"], &json!(missed), &json!("edit"), &json!("c2"), &json!("fs.write"))
    );
    assert_eq!(get(&service, "calls/c2").get("approval"), None, "the call itself waits for nothing");
    approve(&service, asked["approval"].as_str().unwrap()).expect(200);
    let approved = get(&service, "rollbacks?state=approved&contract=edit")["rollbacks"].clone();
    assert_eq!(approved[0]["answer"]["resolution"], "approved");
    assert_eq!(get(&service, "rollbacks?state=pending")["rollbacks"], json!([]));
    let done = json!({"call": "c2", "run": "r1", "node": "undo", "status": "partial",
        "steps": [{"type": "git_reset", "passed": true}, {"type": "drop_table", "passed": false}]});
    let done = tell(&service, "rollback.executed", &done);
    let executed = get(&service, "rollbacks?state=executed")["rollbacks"].clone();
    assert_eq!(executed[0]["position"], asked["position"], "it is the one that was asked for");
    let execution = &executed[0]["execution"];
    assert_eq!(
        (&execution["position"], &execution["status"], &execution["failed"], &execution["tries"]),
        (&json!(done), &json!("partial"), &json!(["drop_table"]), &json!(1))
    );
}

#[test]
fn rollbacks_that_outcomes_lead_to_and_those_that_nobody_asked_for_are_shown_too() {
    let service = governed("allow");
    allowed(&service, "c1");
    let end = json!({"call": "c1", "status": "ok", "postCheckPassed": false});
    let end = post(&service, "outcome", &end).expect(200).json();
    let unasked = json!({"contract": "none", "run": "r9", "node": "undo", "status": "ok", "steps": []});
    let unasked = tell(&service, "rollback.executed", &unasked);
    let all = get(&service, "rollbacks")["rollbacks"].clone();
    assert_eq!((&all[0]["position"], all[0].get("approval")), (&json!(unasked), None));
    assert_eq!((&all[0]["state"], &all[0]["run"]), (&json!("executed"), &json!("r9")));
    assert_eq!((&all[1]["cause"], all[1].get("contract")), (&end["position"], None));
    let page = get(&service, "rollbacks?limit=1");
    let rest = get(&service, &format!("rollbacks?limit=1&after={}", page["next"].as_str().unwrap()));
    assert_eq!((&rest["rollbacks"], rest.get("next")), (&json!([all[1]]), None));
    let rejected = post(
        &service,
        &format!("approvals/{}:reject", all[1]["approval"].as_str().unwrap()),
        &json!({"note": "it is fine"}),
    );
    rejected.expect(200);
    let said = get(&service, "rollbacks?state=rejected")["rollbacks"].clone();
    assert_eq!((&said[0]["answer"]["note"], said[0].get("execution")), (&json!("it is fine"), None));

    tell(
        &service,
        "contract.checked",
        &json!({"run": "r1", "node": "act", "phase": "pre", "checks": [{"type": "lint", "passed": false}]}),
    );
    let unnamed = get(&service, "contracts/-/checks")["checks"].clone();
    assert_eq!((&unnamed[0]["failed"], unnamed[0].get("contract")), (&json!(["lint"]), None));
    for wrong in ["rollbacks?state=lost", "contracts/-/checks?failed=maybe", "rollbacks?limit=0"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{wrong}")).status, 400, "{wrong}");
    }
    for unknown in ["contracts/none", "contracts/none/checks"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{unknown}")).status, 404, "{unknown}");
    }
}

#[test]
fn checks_before_and_after_are_told_apart_and_rollbacks_are_found_by_whose_they_are() {
    let service = governed("allow");
    let part = |kind: &str| json!([{"type": kind, "params": {}}]);
    let defined = json!({"contract": "edit", "pre": part("tree_clean"), "post": part("tests_pass"), "rollback": [], "blast_radius": "low"});
    tell(&service, "contract.defined", &defined);
    let checked = |call: &str, phase: &str, kind: &str| {
        let checks = json!([{"type": kind, "params": {}, "passed": true}]);
        let data = json!({"contract": "edit", "call": call, "run": "r1", "node": "act", "phase": phase, "checks": checks});
        tell(&service, "contract.checked", &data)
    };
    earn(&service, "fs.write", "src");
    let request = |call: &str, path: &str| json!({"call": call, "tool": "fs.write", "args": {"path": path}, "agent": "coder"});
    // An approval that is about a call is about no rollback.
    assert_eq!(ask(&service, request("c0", "docs/a.md"))["verdict"], "review");
    checked("c1", "pre", "tree_clean");
    assert_eq!(ask(&service, request("c1", "src/a.rs"))["verdict"], "allow");
    let after = checked("c1", "post", "tests_pass");
    let checks = get(&service, "contracts/edit/checks")["checks"].clone();
    for (check, phase) in [(&checks[0], "post"), (&checks[1], "pre")] {
        assert_eq!(
            (&check["phase"], &check["holds"], &check["missing"]),
            (&json!(phase), &json!(true), &json!([]))
        );
    }
    assert_eq!(get(&service, "contracts/edit")["last"], json!(after));
    // The result that the outcome tells is of the contract that was checked after the call.
    let end = json!({"call": "c1", "status": "ok", "postCheckPassed": false, "agent": "coder"});
    let end = post(&service, "outcome", &end).expect(200).json();
    let of = |query: &str| get(&service, &format!("rollbacks{query}"))["rollbacks"].clone();
    let all = of("");
    assert_eq!((all.as_array().unwrap().len(), &all[0]["cause"]), (1, &end["position"]), "{all}");
    assert_eq!(
        (&all[0]["contract"], &all[0]["agent"], all[0].get("run")),
        (&json!("edit"), &json!("coder"), None)
    );
    for (query, is_found) in [
        ("?agent=coder", true),
        ("?agent=tester", false),
        ("?contract=edit&state=pending", true),
        ("?contract=edit&state=approved", false),
        ("?contract=edit&agent=tester", false),
        ("?contract=other", false),
    ] {
        assert_eq!(of(query).as_array().unwrap().len(), usize::from(is_found), "{query}");
    }
    for (call, contract) in [("c1", "other"), ("c9", "unasked")] {
        let done = json!({"contract": contract, "call": call, "run": "r7", "node": "undo", "status": "ok", "steps": []});
        tell(&service, "rollback.executed", &done);
    }
    let all = of("?state=executed");
    let named = |at: usize| (all[at]["contract"].clone(), all[at]["run"].clone());
    assert_eq!(
        (named(0), named(1)),
        ((json!("unasked"), json!("r7")), (json!("edit"), json!("r7"))),
        "{all}"
    );
    assert_eq!(of("?state=pending"), json!([]));
}

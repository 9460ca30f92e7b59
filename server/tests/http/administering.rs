//! Administration of the service, and of one of several ledgers.
//! The one called `main` may be missing.

use std::fs;

use bitacora_server::ServerLimits;
use serde_json::json;

use crate::identities::{ask, created, token};
use crate::service::{ServiceAnswer, TestService, data, new_keyring, wait_until};

/// A service without the ledger `main`.
fn several() -> TestService {
    with_ledgers(&["first", "second"])
}

/// A service with these ledgers, of which `first` and `second` have an admin each, named as they are, and an auditor in common.
fn with_ledgers(names: &[&str]) -> TestService {
    let service = TestService::on(tempfile::tempdir().unwrap(), new_keyring(), ServerLimits::default());
    for name in names {
        service.post("/v1/ledgers", "application/json", json!({"name": name}).to_string()).expect(201);
    }
    for name in ["first", "second"] {
        let target = format!("/v1/ledgers/{name}/events");
        service.post(&target, "application/json", created(name, "admin", None).to_string()).expect(201);
        let auditor = created("reader", "auditor", None).to_string();
        ask(&service, "POST", &target, Some(&token(name)), &auditor).expect(201);
    }
    service
}

fn read_only(service: &TestService, name: Option<&str>, ledger: &str, value: bool) -> ServiceAnswer {
    let body = json!({"ledger": ledger, "readOnly": value}).to_string();
    ask(service, "POST", "/v1/admin/read-only", name.map(token).as_deref(), &body)
}

#[test]
fn a_ledger_is_run_by_its_own_admins_alone() {
    let service = several();
    let seal = |name: &str, ledger: &str| {
        let body = json!({"ledger": ledger}).to_string();
        ask(&service, "POST", "/v1/admin/seal", Some(&token(name)), &body)
    };
    read_only(&service, Some("first"), "first", true).expect(202);
    read_only(&service, Some("first"), "first", false).expect(202);
    seal("second", "second").expect(202);
    read_only(&service, Some("first"), "second", true).expect_problem(401, "unauthorized");
    seal("second", "first").expect_problem(401, "unauthorized");
    read_only(&service, Some("reader"), "first", true).expect_problem(403, "forbidden");
    read_only(&service, None, "first", true).expect_problem(403, "forbidden");
    // A token that no ledger takes does not get as far as the body.
    let stranger = token("stranger");
    ask(&service, "POST", "/v1/admin/seal", Some(&stranger), "no json").expect_problem(401, "unauthorized");
    assert!(read_only(&service, Some("first"), "third", true).status >= 400);
}

#[test]
fn what_names_every_ledger_takes_a_token_that_every_ledger_takes() {
    let service = several();
    let drain = |name: &str| ask(&service, "POST", "/v1/admin/drain", Some(&token(name)), "");
    drain("first").expect_problem(401, "unauthorized");
    ask(&service, "GET", "/v1/ledgers", Some(&token("first")), "").expect_problem(401, "unauthorized");
    // `reader` is an auditor in both.
    ask(&service, "GET", "/v1/ledgers", Some(&token("reader")), "").expect(200);
    drain("reader").expect_problem(403, "forbidden");
    for ledger in ["first", "second"] {
        let target = format!("/v1/ledgers/{ledger}/events");
        let role = if ledger == "first" { "admin" } else { "operator" };
        ask(&service, "POST", &target, Some(&token(ledger)), &created("both", role, None).to_string())
            .expect(201);
        let admin = created("ana", "admin", None).to_string();
        ask(&service, "POST", &target, Some(&token(ledger)), &admin).expect(201);
    }
    let problem = drain("both").expect_problem(403, "forbidden");
    assert_eq!(problem["needs"], "admin", "the least of its roles counts");
    drain("ana").expect(202);
}

#[test]
fn a_ledger_that_did_not_open_keeps_nobody_from_running_the_others() {
    let mut service = with_ledgers(&["main", "first", "second"]);
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    for file in fs::read_dir(data(folder.path()).join("ledgers/main/segments")).unwrap() {
        fs::write(file.unwrap().path(), [0xff; 4096]).unwrap();
    }
    let service = TestService::on(folder, service.keyring.clone(), ServerLimits::default());
    let ready = service.get("/readyz").expect(503);
    assert!(
        ready.text().contains("main") && ready.text().contains("1 of 3"),
        "on this machine: {}",
        ready.text()
    );
    read_only(&service, Some("first"), "first", true).expect(202);
    read_only(&service, Some("first"), "main", true).expect_problem(503, "ledger-unavailable");
    read_only(&service, Some("second"), "first", true).expect_problem(401, "unauthorized");
    // The reason why it did not open is told to callers that may look at every other one.
    let why = |name: &str| {
        let told = ask(&service, "GET", "/v1/ledgers/main/head", Some(&token(name)), "");
        told.expect_problem(503, "ledger-unavailable")["detail"].as_str().unwrap().to_owned()
    };
    let untold = "ledger main is not open; who may use it is known once it is";
    assert_eq!(why("first"), untold);
    assert_ne!(why("reader"), untold);
}

#[test]
fn what_a_ledger_says_of_itself_is_for_its_own_tokens() {
    let service = several();
    let look = |name: &str, ledger: &str| {
        ask(&service, "GET", &format!("/v1/ledgers/{ledger}"), Some(&token(name)), "")
    };
    for (own, other) in [("first", "second"), ("second", "first")] {
        assert_eq!(look(own, own).expect(200).json()["name"], own);
        look(own, other).expect_problem(401, "unauthorized");
    }
}

#[test]
fn who_does_not_say_who_they_are_is_not_told_which_ledgers_there_are() {
    let service = TestService::start();
    service.append(created("admin", "admin", None).to_string()).expect(201);
    read_only(&service, Some("admin"), "main", true).expect(202);
    wait_until(|| service.get("/readyz").status != 200);
    let ready = service.get("/readyz").expect(503);
    assert!(!ready.text().contains("main") && ready.json().get("errors").is_none(), "{}", ready.text());
    let told = ask(&service, "GET", "/readyz", Some(&token("admin")), "").expect(503).json();
    assert_eq!((&told["code"], &told["errors"][0]["ledger"]), (&json!("not-ready"), &json!("main")));
    let stranger = ask(&service, "GET", "/readyz", Some(&token("stranger")), "").expect(503);
    assert!(!stranger.text().contains("main"), "{}", stranger.text());
    ask(&service, "GET", "/livez", Some("nothing"), "").expect(200);
}

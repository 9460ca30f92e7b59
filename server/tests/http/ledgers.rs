//! Ledgers by name: making them, naming them wrongly, and living with one that does not open.

use serde_json::json;

use crate::service::{TestService, data, event};

const LEDGERS: &str = "/v1/ledgers";

#[test]
fn a_ledger_is_made_once_and_found_again() {
    let service = TestService::start();
    let answer = service.post(LEDGERS, "application/json", r#"{"name":"second"}"#).expect(201);
    assert_eq!(answer.header("location"), Some("/v1/ledgers/second"));
    let made = answer.json();
    assert_eq!((&made["name"], &made["state"]), (&json!("second"), &json!("ready")));
    service.post(LEDGERS, "application/json", r#"{"name":"second"}"#).expect_problem(409, "ledger-exists");
    service.post("/v1/ledgers/second/events", "application/json", event("1", "s")).expect(201);

    let service = service.restarted();
    let list = service.get(LEDGERS).expect(200).json();
    let names: Vec<&str> =
        list["ledgers"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["main", "second"]);
    assert_eq!(service.get("/v1/ledgers/second").expect(200).json()["id"], made["id"]);
    let page = service.get("/v1/ledgers?limit=1").expect(200).json();
    assert_eq!((&page["ledgers"][0]["name"], &page["next"]), (&json!("main"), &json!("main")));
    let page = service.get("/v1/ledgers?limit=1&after=main").expect(200).json();
    assert_eq!((&page["ledgers"][0]["name"], page.get("next")), (&json!("second"), None));
}

#[test]
fn names_that_could_lead_elsewhere_are_refused() {
    let service = TestService::start();
    let outside = data(service.folder.path());
    for name in ["..", "..%2f..%2fetc", "%2e%2e%2f", "a%2fb", "a%00", "%00", "A", "a.b", "%ff", "-a", "%20"] {
        for target in [
            format!("/v1/ledgers/{name}"),
            format!("/v1/ledgers/{name}/events"),
            format!("/v1/ledgers/{name}/head"),
        ] {
            service.get(&target).expect_problem(400, "invalid-ledger-name");
        }
        let target = format!("/v1/ledgers/{name}/events");
        service.post(&target, "application/json", event("1", "s")).expect_problem(400, "invalid-ledger-name");
    }
    for name in ["../x", "..", "", "a/b", "a\\u0000", "a.b", &"a".repeat(65)] {
        let body = format!(r#"{{"name":"{name}"}}"#);
        service.post(LEDGERS, "application/json", body).expect_problem(400, "invalid-ledger-name");
    }
    let names = std::fs::read_dir(outside.join("ledgers")).unwrap().count();
    assert_eq!(names, 1, "only `main` is there");
}

#[test]
fn an_unknown_ledger_is_not_made_by_asking_for_it() {
    let service = TestService::start();
    for target in [
        "/v1/ledgers/other",
        "/v1/ledgers/other/events",
        "/v1/ledgers/other/head",
        "/v1/ledgers/other/events/1",
    ] {
        service.get(target).expect_problem(404, "ledger-not-found");
    }
    service
        .post("/v1/ledgers/other/events", "application/json", event("1", "s"))
        .expect_problem(404, "ledger-not-found");
    assert!(!data(service.folder.path()).join("ledgers/other").exists());
}

#[test]
fn a_creation_is_read_strictly() {
    let service = TestService::start();
    for body in [
        "",
        "{}",
        "[]",
        r#"{"name":1}"#,
        r#"{"name":"a","nmae":"b"}"#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a"} x"#,
    ] {
        service.post(LEDGERS, "application/json", body).expect_problem(400, "bad-body");
    }
    service.post(LEDGERS, "text/plain", r#"{"name":"a"}"#).expect_problem(415, "unsupported-media-type");
}

#[test]
fn a_ledger_that_does_not_open_is_told_and_the_others_serve() {
    let mut service = TestService::start();
    service.post(LEDGERS, "application/json", r#"{"name":"broken"}"#).expect(201);
    service.begin_shutdown();
    service.wait().unwrap();
    // The certificate of its first segment is gone.
    let segments = data(service.folder.path()).join("ledgers/broken/segments");
    for file in std::fs::read_dir(&segments).unwrap() {
        std::fs::write(file.unwrap().path(), [0xff; 4096]).unwrap();
    }
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = TestService::on(folder, service.keyring.clone(), bitacora_server::ServerLimits::default());
    service.append(event("1", "s")).expect(201);
    for target in ["/v1/ledgers/broken/events", "/v1/ledgers/broken/head"] {
        service.get(target).expect_problem(503, "ledger-unavailable");
    }
    let broken = service.get("/v1/ledgers/broken").expect(200).json();
    assert!(broken["state"] == "failed" && broken["why"].is_string(), "{broken}");
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    assert_eq!(problem["errors"][0]["ledger"], "broken");
    service.get("/livez").expect(200);
    service.post(LEDGERS, "application/json", r#"{"name":"broken"}"#).expect_problem(409, "ledger-exists");
    let metrics = service.get("/metrics").expect(200);
    assert!(metrics.text().contains(r#"bitacora_ledger_failed{ledger="broken"} 1"#));
}

//! Erasure over HTTP: by admins alone, at once for readers and followers, with errors that say what to do.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::event_stream::EventStream;
use crate::identities::{ask, created, token};
use crate::service::{TestService, data};

const EVENTS: &str = "/v1/ledgers/main/events";
const ERASURES: &str = "/v1/ledgers/main/erasures";
/// A text of the subject's events.
const CANARY: &str = "hopwood-lane-12";

fn personal(id: &str, subject: &str) -> String {
    json!({
        "specversion": "1.0", "id": id, "source": "agent/7", "type": "x.noted", "subject": "s",
        "datasubject": subject, "data": {"note": CANARY},
    })
    .to_string()
}

fn erasure(subject: &str) -> String {
    json!({"subject": subject, "authority": "ticket 4711"}).to_string()
}

/// A service with an event of each of two subjects, and their positions.
fn filled() -> (TestService, [String; 2]) {
    let service = TestService::start();
    let positions = ["person/ada", "person/bob"].map(|subject| {
        let appended = service.append(personal(subject, subject)).expect(201).json();
        appended["first"].as_str().unwrap().to_owned()
    });
    (service, positions)
}

fn event_at(service: &TestService, position: &str) -> Value {
    service.get(&format!("{EVENTS}/{position}")).expect(200).json()
}

#[test]
fn an_erased_subject_is_erased_for_readers_and_followers_at_once() {
    let (service, [ada, bob]) = filled();
    // A follower fills the tail that all followers share.
    let mut first = EventStream::open(&service, EVENTS, &[("Accept", "text/event-stream")]);
    let _ = first.events();
    let later = service.append(personal("later", "person/ada")).expect(201).json();
    assert!(first.message().data.unwrap().to_string().contains(CANARY));

    let erased = service.post(ERASURES, "application/json", erasure("person/ada")).expect(201).json();
    assert_eq!(erased["anchor"], "none", "{erased}");
    let recorded = event_at(&service, erased["position"].as_str().unwrap());
    assert_eq!(recorded["event"]["type"], "subject.erased");
    assert_eq!(recorded["event"]["data"], json!({"key": erased["key"], "authority": "ticket 4711"}));
    assert!(recorded["event"]["actor"].is_string(), "{recorded}");
    assert!(!recorded.to_string().contains("person"), "{recorded}");
    for position in [&ada, &later["first"].as_str().unwrap().to_owned()] {
        let event = event_at(&service, position);
        assert_eq!((&event["erased"], &event["event"]["data"]), (&true.into(), &Value::Null), "{event}");
    }
    assert_eq!(event_at(&service, &bob)["event"]["data"]["note"], CANARY);

    // Who comes back to the tail gets what can still be read.
    let tip = bob.parse::<u64>().unwrap();
    let resume = [("Accept", "text/event-stream"), ("Last-Event-ID", bob.as_str())];
    let mut second = EventStream::open(&service, EVENTS, &resume);
    let again = second.message();
    assert!(
        again.id.unwrap() > tip && !again.data.as_ref().unwrap().to_string().contains(CANARY),
        "{again:?}"
    );
}

#[test]
fn only_an_admin_erases() {
    let (service, [ada, _]) = filled();
    service.append(created("owner", "admin", None).to_string()).expect(201);
    for role in ["agent", "operator", "auditor"] {
        let made = created(role, role, None).to_string();
        ask(&service, "POST", EVENTS, Some(&token("owner")), &made).expect(201);
    }
    let body = erasure("person/ada");
    for role in ["agent", "operator", "auditor"] {
        ask(&service, "POST", ERASURES, Some(&token(role)), &body).expect_problem(403, "forbidden");
    }
    ask(&service, "POST", ERASURES, Some("no token"), &body).expect_problem(401, "unauthorized");
    let target = format!("{EVENTS}/{ada}");
    let event = ask(&service, "GET", &target, Some(&token("auditor")), "").expect(200).json();
    assert_eq!(event["event"]["data"]["note"], CANARY);
    // Nobody writes the event either.
    let forged = json!({
        "specversion": "1.0", "id": "x", "source": "s", "type": "subject.erased", "subject": "s",
        "data": {"key": "00".repeat(16), "authority": "mine"},
    });
    ask(&service, "POST", EVENTS, Some(&token("owner")), &forged.to_string())
        .expect_problem(403, "reserved-type");
    ask(&service, "POST", ERASURES, Some(&token("owner")), &body).expect(201);
}

#[test]
fn bad_requests_are_refused_and_record_nothing() {
    let (service, [ada, bob]) = filled();
    let tip = service.tip();
    let post = |body: &Value| service.post(ERASURES, "application/json", body.to_string());
    for (body, status, code) in [
        (json!({"subject": "person/eve", "authority": "t"}), 404, "subject-unknown"),
        (json!({"subject": "", "authority": "t"}), 404, "subject-unknown"),
        (json!({"subject": "person/ada", "authority": "asked by PERSON/ADA"}), 422, "name-in-reason"),
        (json!({"subject": "person/ada", "authority": "t", "by": "person/ada"}), 422, "name-in-reason"),
        (json!({"subject": "person/ada"}), 400, "bad-body"),
        (json!({"authority": "t"}), 400, "bad-body"),
        (json!({"subject": "person/ada", "event": bob, "authority": "t"}), 409, "subject-differs"),
        (json!({"event": "0", "authority": "t"}), 400, "bad-body"),
        (json!({"event": "1", "authority": "t"}), 404, "subject-unknown"),
        (json!({"event": "99999", "authority": "t"}), 404, "not-found"),
        (json!({"subject": "person/ada", "authority": ""}), 400, "bad-body"),
        (json!({"subject": "person/ada", "authority": "x".repeat(2_049)}), 400, "bad-body"),
        (json!({"subject": 7, "authority": "t"}), 400, "bad-body"),
        (json!({"subject": "person/ada", "authority": "t", "force": true}), 400, "bad-body"),
    ] {
        post(&body).expect_problem(status, code);
    }
    service
        .post(&format!("{ERASURES}?force=1"), "application/json", erasure("person/ada"))
        .expect_problem(400, "bad-query");
    assert_eq!(service.tip(), tip);
    post(&json!({"subject": "person/ada", "authority": "t"})).expect(201);
    post(&json!({"subject": "person/ada", "authority": "t"})).expect_problem(404, "subject-unknown");
    post(&json!({"event": ada, "authority": "t"})).expect_problem(404, "subject-unknown");
    assert_eq!(service.tip(), tip + 1);
    post(&json!({"subject": "person/bob", "event": bob, "authority": "t"})).expect(201);
    assert_eq!(event_at(&service, &bob)["erased"], true);
    post(&json!({"subject": "person/bob", "event": bob, "authority": "t"}))
        .expect_problem(404, "subject-unknown");
}

/// Every file below a folder, with its bytes.
fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn keys_that_an_old_copy_brings_back_open_nothing_before_and_after_a_restart() {
    let (service, [ada, bob]) = filled();
    let subjects = data(service.folder.path()).join("ledgers/main/subjects");
    let copy = files_below(&subjects);
    service.post(ERASURES, "application/json", erasure("person/ada")).expect(201);
    for (path, bytes) in &copy {
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(event_at(&service, &ada)["erased"], true);
    let service = service.restarted();
    assert_eq!(event_at(&service, &ada)["erased"], true);
    assert_eq!(event_at(&service, &bob)["event"]["data"]["note"], CANARY);
    assert_eq!(files_below(&subjects).len(), 2, "the other subject's");
}

//! What a service tells of the holders of tokens, of its keys and archives, and how it verifies its own files.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::identities::{ask, guard, token};
use crate::service::{ServiceAnswer, TestService, event};

const LEDGER: &str = "/v1/ledgers/main";

/// A ledger with an admin, an auditor, an agent that was revoked, and an operator.
fn with_holders() -> TestService {
    let service = TestService::signing();
    guard(&service);
    service
}

fn get(service: &TestService, with: &str, path: &str) -> ServiceAnswer {
    ask(service, "GET", &format!("{LEDGER}/{path}"), Some(&token(with)), "")
}

#[test]
fn holders_are_listed_without_their_tokens_and_hashes() {
    let service = with_holders();
    let revoked = json!({"specversion": "1.0", "id": "gone", "source": "urn:bitacora:token", "type": "principal.revoked",
        "subject": "principals", "data": {"principal": "agent", "note": "it left"}});
    let target = format!("{LEDGER}/events");
    ask(&service, "POST", &target, Some(&token("admin")), &revoked.to_string()).expect(201);
    let answer = get(&service, "auditor", "principals").expect(200);
    let text = answer.text();
    assert!(!text.contains("bt_") && !text.contains("hash"), "{text}");
    let list = answer.json();
    let shown: Vec<_> = list["principals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["principal"].as_str().unwrap(),
                one["role"].as_str().unwrap(),
                one["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("admin", "admin", "valid"),
            ("agent", "agent", "revoked"),
            ("auditor", "auditor", "valid"),
            ("metrics", "metrics", "valid"),
            ("operator", "operator", "valid")
        ]
    );
    assert_eq!(list["principals"][1]["note"], "it left");
    assert_eq!(list["principals"][1]["agent"], "coder");
    // Page by page.
    let first = get(&service, "auditor", "principals?limit=4").expect(200).json();
    let next = first["next"].as_str().unwrap();
    let rest = get(&service, "auditor", &format!("principals?limit=4&after={next}")).expect(200).json();
    assert_eq!(rest["principals"][0]["principal"], "operator");
    assert!(rest["next"].is_null());
    get(&service, "auditor", "principals?after=x").expect_problem(400, "bad-query");
}

#[test]
fn keys_are_public_ones() {
    let service = with_holders();
    let keys = get(&service, "auditor", "keys").expect(200).json();
    let note =
        std::fs::read_to_string(service.folder.path().join("data/ledgers/main/signing-keys.note")).unwrap();
    assert_eq!(keys["signingKeysNote"], note);
    assert!(note.contains(keys["signingKeys"][0]["key"].as_str().unwrap()));
    assert_eq!(keys["epoch"], "2");
    let secret = service.keyring.to_text();
    let secrets: Vec<&str> =
        secret.lines().filter(|line| line.starts_with("blinding") || line.contains("seed")).collect();
    let shown = keys.to_string();
    assert!(secrets.iter().all(|line| !shown.contains(line.split(' ').next_back().unwrap())), "{shown}");
    assert_eq!(get(&service, "auditor", "archives").expect(200).json()["archives"], json!([]));
}

/// Waits until a tree head covers what is there.
fn headed(service: &TestService) {
    let position =
        get(service, "auditor", "head").expect(200).json()["position"].as_str().unwrap().to_owned();
    get(service, "auditor", &format!("receipts/{position}")).expect(200);
}

/// Starts a verification, and waits for its end.
fn verified(service: &TestService) -> Value {
    let started = ask(service, "POST", &format!("{LEDGER}/verifications"), Some(&token("auditor")), "");
    let id = started.expect(202).json()["verification"].as_str().unwrap().to_owned();
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let shown = get(service, "auditor", &format!("verifications/{id}")).expect(200).json();
        if shown["state"] != "running" {
            return shown;
        }
        assert!(Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_service_verifies_its_own_files_one_at_a_time() {
    let service = with_holders();
    service_append(&service, "a");
    headed(&service);
    let ended = verified(&service);
    assert_eq!((&ended["state"], &ended["result"]["exitCode"]), (&"ended".into(), &0.into()), "{ended}");
    assert!(
        ended["result"]["events"].as_u64().unwrap() > 4 && ended["bytes"] == ended["bytesChecked"],
        "{ended}"
    );
    assert!(ended["by"].as_str().unwrap().starts_with("auditor:"));
    // Another one only after a pause, and never for an agent.
    let start =
        |with: &str| ask(&service, "POST", &format!("{LEDGER}/verifications"), Some(&token(with)), "");
    let refused = start("operator");
    assert!(refused.header("retry-after").is_some());
    refused.expect_problem(503, "overloaded");
    start("agent").expect_problem(403, "forbidden");
    let list = get(&service, "operator", "verifications").expect(200).json();
    assert_eq!(list["verifications"].as_array().unwrap().len(), 1);
    get(&service, "operator", "verifications/v2").expect_problem(404, "not-found");
}

#[test]
fn a_verification_finds_a_changed_byte() {
    let service = with_holders();
    service_append(&service, "a");
    let segments = service.folder.path().join("data/ledgers/main/segments");
    let mut files: Vec<_> = std::fs::read_dir(segments).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut file = OpenOptions::new().write(true).open(&files[0]).unwrap();
    file.seek(SeekFrom::Start(1_200)).unwrap();
    file.write_all(b"changed by a thief").unwrap();
    file.sync_all().unwrap();
    let ended = verified(&service);
    assert_eq!(ended["result"]["verdict"], "invalid", "{ended}");
    assert!(ended["result"]["fault"].as_str().unwrap().contains("segment"), "{ended}");
}

fn service_append(service: &TestService, id: &str) {
    ask(service, "POST", &format!("{LEDGER}/events"), Some(&token("admin")), &event(id, "s")).expect(201);
}

//! The retention policy of a running service: content of expired events goes from archives, holds keep it, and everything else stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archiver::Rules;
use bitacora_verify::{FaultKind, Report, TailRetries, VerifyOptions, verify_ledger};
use serde_json::{Value, json};

use crate::archiving::{Store, archiving_at, archiving_config, begun_at, fill, wait_for};
use crate::governed::{ask, earn, govern, post, write};
use crate::service::{ServiceAnswer, SetClock, TestService, data, event, wait_until};

const EVENTS: &str = "/v1/ledgers/main/events";
pub(crate) const MILLISECONDS_OF_DAY: i64 = 24 * 60 * 60 * 1_000;

fn put(service: &TestService, target: &str, body: &Value) -> ServiceAnswer {
    service.request("PUT", target, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

fn at(service: &TestService, position: u64) -> Value {
    service.get(&format!("{EVENTS}/{position}")).expect(200).json()
}

pub(crate) fn is_expired(service: &TestService, position: u64) -> bool {
    at(service, position).get("expiredBy").is_some()
}

/// A service that archived and released old notes, with a policy that keeps notes for 180 days, and the policy's position.
pub(crate) fn with_old_notes(clock: &SetClock) -> (TestService, Arc<Store>, String) {
    let (service, store) = begun_at(clock);
    let policy = json!({
        "rules": [{"rule": "notes", "keep_days": 180, "types": ["x.*"]}],
        "reason": "the records office asks for half a year",
    });
    let set = put(&service, "/v1/ledgers/main/retention", &policy).expect(200).json();
    fill(&service, "a", 6_000);
    let archived = wait_for(&service, "position", |position| position > 5_000);
    // The segment goes with the next archive, once another one was begun.
    let service = restarted(service, clock, &store);
    fill(&service, "b", 2_000);
    wait_for(&service, "position", |position| position > archived + 1_000);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);
    (service, store, set["position"].as_str().unwrap().to_owned())
}

/// The same service, started again on its folder and store.
fn restarted(mut service: TestService, clock: &SetClock, store: &Arc<Store>) -> TestService {
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    archiving_at(clock, folder, Arc::clone(&service.keyring), store)
}

#[test]
fn content_expires_by_the_policy_and_a_hold_keeps_it() {
    let clock = SetClock::default();
    let (service, store, policy) = with_old_notes(&clock);
    let before = [50, 150].map(|position| at(&service, position));
    let hold =
        json!({"hold": "case-7", "first": "100", "last": "200", "reason": "the proceedings of case 7"});
    service.post("/v1/ledgers/main/holds", "application/json", hold.to_string()).expect(201);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    service.append(event("now", "s")).expect(201);
    // A clock that jumps lets nothing expire before an operator accepts its time.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!is_expired(&service, 50));
    let looked = json!({"reason": "half a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
    wait_until(|| is_expired(&service, 50));
    let expired = at(&service, 50);
    assert_eq!(expired["expiredBy"], policy.as_str());
    assert!(expired["event"].get("data").is_none() && before[0]["event"].get("data").is_some(), "{expired}");
    for member in ["position", "streamVersion", "recordedAt", "commitment"] {
        assert_eq!(expired[member], before[0][member], "{member}");
    }
    for member in ["id", "source", "type", "subject"] {
        assert_eq!(expired["event"][member], before[0]["event"][member], "{member}");
    }
    assert_eq!(at(&service, 150), before[1], "a hold covers it");
    // The service's own events stay.
    assert_eq!(at(&service, 1)["event"]["type"], "ledger.created");

    let release = json!({"reason": "case closed"}).to_string();
    let headers = [("Content-Type", "application/json")];
    service.request("DELETE", "/v1/ledgers/main/holds/case-7", &headers, release.as_bytes()).expect(200);
    wait_until(|| is_expired(&service, 150));

    // A client that sends one of them again gets its first receipt.
    let id = before[0]["event"]["id"].as_str().unwrap().to_owned();
    let again = service.append(event(&id, "s")).expect(200).json();
    assert_eq!((&again["first"], &again["results"][0]["status"]), (&json!("50"), &json!("duplicate")));
    let filter = format!("{EVENTS}?type=retention.expired&limit=100");
    let recorded = service.get(&filter).expect(200).json();
    let recorded = recorded["events"].as_array().unwrap().clone();
    assert!(recorded.iter().any(|one| one["event"]["data"]["policy"] == policy.as_str()), "{recorded:?}");

    let service = restarted(service, &clock, &store);
    assert!(is_expired(&service, 50) && is_expired(&service, 150));
    wait_until(|| {
        let models = service.get("/v1/projections").expect(200).json();
        let models = models["projections"].as_array().unwrap();
        models.iter().all(|model| model["state"] == "ok" && model["lag"] == 0)
    });
}

#[test]
fn nothing_expires_without_a_rule() {
    let clock = SetClock::default();
    let (service, _, _) = with_old_notes(&clock);
    let empty = json!({"rules": [], "reason": "keep everything"});
    put(&service, "/v1/ledgers/main/retention", &empty).expect(200);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    accept_clock(&service);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!is_expired(&service, 50));
}

#[test]
fn events_expire_while_archiving_fails() {
    let clock = SetClock::default();
    let (service, store, _) = with_old_notes(&clock);
    store.refuse_new();
    fill(&service, "c", 2_000);
    wait_for(&service, "failing", |failing| failing == 1);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    accept_clock(&service);
    wait_until(|| is_expired(&service, 50));
    wait_for(&service, "failing", |failing| failing == 1);
}

#[test]
fn events_expire_where_no_rule_makes_any_due_for_archiving() {
    let clock = SetClock::default();
    let (mut service, store, _) = with_old_notes(&clock);
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let mut config = archiving_config(&clock, &folder, &service.keyring, &store);
    let archiving = config.archiving.as_mut().unwrap();
    archiving.rules = Rules { cold_after: None, hot_events: None, ..Rules::default() };
    archiving.releases = false;
    let service = TestService::of(config, folder, Arc::clone(&service.keyring));
    let archived = wait_for(&service, "position", |position| position > 0);
    fill(&service, "c", 2_000);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    accept_clock(&service);
    wait_until(|| is_expired(&service, 50));
    assert_eq!(wait_for(&service, "position", |_| true), archived, "nothing was due");
}

pub(crate) fn accept_clock(service: &TestService) {
    service.append(event("now", "s")).expect(201);
    let looked = json!({"reason": "half a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
}

/// The files below a folder, with the contents of each.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(
            |path| if path.is_dir() { files(&path) } else { vec![(path.clone(), fs::read(&path).unwrap())] },
        )
        .collect()
}

#[test]
fn the_verifier_takes_no_earlier_archive_for_the_one_that_the_log_records() {
    let clock = SetClock::default();
    let (mut service, _, _) = with_old_notes(&clock);
    let (cold, ledger) =
        (service.folder.path().join("cold"), data(service.folder.path()).join("ledgers/main"));
    let (archives, manifests) = (files(&cold), files(&ledger.join("archives")));
    clock.advance(200 * MILLISECONDS_OF_DAY);
    accept_clock(&service);
    wait_until(|| is_expired(&service, 50));
    service.begin_shutdown();
    service.wait().unwrap();
    let verify = || {
        let (keyring, archives) = (Some(&*service.keyring), Some(&*cold));
        verify_ledger(
            &ledger,
            &VerifyOptions { keyring, archives, patience: TailRetries::NONE, ..Default::default() },
        )
    };
    let Report { fault, gaps, .. } = verify();
    assert_eq!((fault, gaps), (None, Vec::new()));
    for (path, bytes) in archives.iter().chain(&manifests) {
        fs::write(path, bytes).unwrap();
    }
    let fault = verify().fault.expect("an earlier archive");
    assert!(matches!(*fault.kind, FaultKind::ArchiveRevision { found: 0, expected: 1, .. }), "{fault}");
}

/// The digest of the state that decides.
fn digest(service: &TestService) -> Value {
    service.get("/v1/ledgers/main/projections/governance").expect(200).json()["digest"].clone()
}

#[test]
fn decisions_expire_behind_an_archived_state_and_what_decides_is_the_same() {
    let clock = SetClock::default();
    let (service, store) = begun_at(&clock);
    let policy = json!({"rules": [{"rule": "all", "keep_days": 180}], "reason": "half a year"});
    put(&service, "/v1/ledgers/main/retention", &policy).expect(200);
    govern(&service, "allow");
    earn(&service, "fs.write", "src");
    let decided: u64 = ask(&service, write("c1"))["position"].as_str().unwrap().parse().unwrap();
    post(&service, "outcome", &json!({"call": "c1", "status": "ok"})).expect(200);
    let record = "/v1/ledgers/main/trust/record?tool=fs.write&context=src&workspace=-";
    fill(&service, "a", 6_000);
    let archived = wait_for(&service, "position", |position| position > 5_000);
    let service = restarted(service, &clock, &store);
    let known = service.get(&format!("{record}&at=5000")).expect(200).json();
    fill(&service, "b", 2_000);
    wait_for(&service, "position", |position| position > archived + 1_000);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    service.append(event("now", "s")).expect(201);
    let looked = json!({"reason": "half a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
    wait_until(|| is_expired(&service, decided));

    // What decides is as it was, also where no table and no snapshot is left.
    let now = service.get(record).expect(200).json();
    assert_eq!(now["approvals"], known["approvals"]);
    let before = digest(&service);
    let mut service = service;
    service.begin_shutdown();
    service.wait().unwrap();
    fs::remove_dir_all(data(service.folder.path()).join("ledgers/main/index")).unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = archiving_at(&clock, folder, Arc::clone(&service.keyring), &store);
    assert_eq!(digest(&service), before);
    // A past record would lack what expired.
    service.get(&format!("{record}&at=5000")).expect_problem(410, "content-expired");
    service.get(record).expect(200);
    let shown = service.get(&format!("/v1/ledgers/main/decisions/{decided}"));
    shown.expect_problem(410, "content-expired");
    let again = post(&service, "decide", &write("c1")).expect(410).json();
    assert_eq!((&again["code"], &again["sideEffects"]), (&json!("content-expired"), &json!("committed")));
}

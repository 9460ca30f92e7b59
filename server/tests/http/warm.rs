//! The bound of warm data in a running service: old rows leave its disk, come back when asked for, and answers say from where.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Keyring;
use bitacora_projector::{RecallBounds, RecallSlots};
use bitacora_server::WarmBound;
use serde_json::{Value, json};

use crate::archiving::{Store, archiving_config, fill, wait_for};
use crate::service::{ServiceAnswer, SetClock, TestService, event, new_keyring};

const MILLISECONDS_OF_DAY: i64 = 24 * 60 * 60 * 1_000;
const GAPS: &str = "/v1/ledgers/main/gaps";

/// A service that archives and releases, and keeps rows for a year.
fn bounded(
    clock: &SetClock,
    folder: tempfile::TempDir,
    keyring: Arc<Keyring>,
    store: &Arc<Store>,
) -> TestService {
    let mut config = archiving_config(clock, &folder, &keyring, store);
    let pause = Duration::from_millis(100);
    let bound: WarmBound = "12mo".parse().unwrap();
    config.warm = Some(WarmBound { first: pause, between: pause, ..bound });
    config.ledgers.recalls = Arc::new(RecallSlots::new(RecallBounds { free_bytes: 0, ..RecallBounds::default() }));
    TestService::of(config, folder, keyring)
}

fn restarted(mut service: TestService, clock: &SetClock, store: &Arc<Store>) -> TestService {
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    bounded(clock, folder, Arc::clone(&service.keyring), store)
}

fn gap(service: &TestService, number: u64) {
    let gap = json!({
        "specversion": "1.0", "id": format!("gap{number}"), "source": "/tests", "type": "coverage.gap", "subject": "s",
        "data": {"call": format!("c{number}"), "evidence": "a line of a transcript", "missing": "outcome"},
    });
    service.append(gap.to_string()).expect(201);
}

fn tiers(answer: &ServiceAnswer) -> &str {
    answer.header("bitacora-tiers").unwrap_or("none")
}

fn cuts(service: &TestService) -> Vec<Value> {
    let found = service.get("/v1/ledgers/main/events?type=warm.cut&limit=100").expect(200).json();
    found["events"].as_array().unwrap().clone()
}

/// Asks until the rows that left are back.
fn eventually(service: &TestService, target: &str) -> ServiceAnswer {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = service.get(target);
        match answer.status {
            503 => assert!(Instant::now() < end, "{}", answer.text()),
            _ => return answer.expect(200),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn cold_gaps(service: &TestService) -> Option<u64> {
    let tiers = service.get("/v1/ledgers/main/tiers").expect(200).json();
    let models = tiers["warm"]["models"].as_array().unwrap();
    models.iter().find(|model| model["name"] == "gaps").unwrap()["coldRows"].as_u64()
}

#[test]
fn old_rows_leave_and_come_back_from_archives_when_asked_for() {
    let clock = SetClock::default();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let cold = folder.path().join("cold");
    let service = bounded(&clock, folder, new_keyring(), &store);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    (0..20).for_each(|number| gap(&service, number));
    fill(&service, "a", 6_000);
    let archived = wait_for(&service, "position", |position| position > 5_000);
    let service = restarted(service, &clock, &store);
    fill(&service, "b", 2_000);
    wait_for(&service, "position", |position| position > archived + 1_000);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);

    let before = service.get(GAPS).expect(200);
    assert_eq!((tiers(&before), before.json()["gaps"].as_array().unwrap().len()), ("warm", 20));
    assert_eq!((cold_gaps(&service), cuts(&service).len()), (None, 0));
    clock.advance(400 * MILLISECONDS_OF_DAY);
    gap(&service, 100);
    gap(&service, 101);
    // A clock that jumps cuts nothing before an operator accepts its time.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(cuts(&service).len(), 0);
    let looked = json!({"reason": "a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
    let end = Instant::now() + Duration::from_secs(20);
    while cold_gaps(&service) != Some(20) {
        let tiers = service.get("/v1/ledgers/main/tiers").expect(200);
        assert!(Instant::now() < end, "{:?} {}", cuts(&service), tiers.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    let cut = cuts(&service);
    assert_eq!((cut.len(), &cut[0]["event"]["data"]["keep_days"]), (1, &json!(365)));
    let through: u64 = cut[0]["event"]["data"]["through"].as_str().unwrap().parse().unwrap();
    assert!((8_000..cut[0]["position"].as_str().unwrap().parse().unwrap()).contains(&through), "{through}");

    // One that no cut concerns is answered from this disk, also where the one behind the page has left.
    let newest = service.get(&format!("{GAPS}?limit=1")).expect(200);
    assert_eq!((tiers(&newest), &newest.json()["gaps"][0]["call"]), ("warm", &json!("c101")));
    let full = service.get(&format!("{GAPS}?limit=2")).expect(200);
    assert_eq!((tiers(&full), full.json()["gaps"].as_array().unwrap().len()), ("warm", 2));
    assert!(full.json()["next"].is_string(), "{}", full.text());
    let all = eventually(&service, GAPS);
    assert_eq!(tiers(&all), "warm, cold");
    assert_eq!(all.json()["gaps"].as_array().unwrap()[2..], *before.json()["gaps"].as_array().unwrap());
    let events = |positions: &str| {
        let answer = service.get(&format!("/v1/ledgers/main/events{positions}")).expect(200);
        tiers(&answer).to_owned()
    };
    assert_eq!(events("/50"), "cold");
    assert_eq!(events("?after=0&limit=10"), "cold");
    assert_eq!(events(&format!("?after={through}")), "warm");
    assert_eq!(events("?dir=backward&limit=3"), "warm");
    assert_eq!(tiers(&service.get("/v1/ledgers/main/trust").expect(200)), "hot");

    // The next start has no recalled rows, and no archive to fold them from.
    let service = restarted(service, &clock, &store);
    assert_eq!(cuts(&service).len(), 1, "the same place is cut once");
    let away = cold.with_file_name("away");
    std::fs::rename(&cold, &away).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = service.get(GAPS);
        assert!((answer.status == 503 || answer.status == 500) && Instant::now() < end, "{}", answer.text());
        if answer.json()["code"] == "projection-stopped" {
            assert!(answer.text().contains("cannot be folded again"), "{}", answer.text());
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(tiers(&service.get(&format!("{GAPS}?limit=1")).expect(200)), "warm");
    std::fs::rename(&away, &cold).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while service.get(GAPS).status != 200 {
        assert!(Instant::now() < end, "{}", service.get(GAPS).text());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(service.get(GAPS).expect(200).body, all.body);
}

#[test]
fn nothing_leaves_without_a_bound() {
    let clock = SetClock::default();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let keyring = new_keyring();
    let config = archiving_config(&clock, &folder, &keyring, &store);
    assert_eq!(config.warm, None);
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    gap(&service, 1);
    fill(&service, "a", 4_500);
    clock.advance(400 * MILLISECONDS_OF_DAY);
    service.append(event("now", "s")).expect(201);
    let looked = json!({"reason": "a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((cold_gaps(&service), cuts(&service).len()), (None, 0));
}

#[test]
fn a_start_long_after_the_last_event_cuts_nothing_for_a_day() {
    let clock = SetClock::default();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let service = bounded(&clock, folder, new_keyring(), &store);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    gap(&service, 1);
    fill(&service, "a", 4_500);
    clock.advance(400 * MILLISECONDS_OF_DAY);
    // The clock may be ahead: nothing tells that from a ledger that was closed.
    let service = restarted(service, &clock, &store);
    service.append(event("now", "s")).expect(201);
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!((cold_gaps(&service), cuts(&service).len()), (None, 0));
}

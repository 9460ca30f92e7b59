//! The bound of warm data in a running service: old rows leave its disk, come back when asked for, and answers say from where.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Keyring;
use bitacora_projector::{RecallBounds, RecallSlots};
use bitacora_server::WarmBound;
use serde_json::{Value, json};

use crate::archiving::{Store, archiving_config, fill, wait_for};
use crate::governed::earn;
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
    config.ledgers.recalls =
        Arc::new(RecallSlots::new(RecallBounds { free_bytes: 0, ..RecallBounds::default() }));
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

/// A service with 20 old gaps among events, the older ones of which lie in archives alone.
fn with_released_events(
    clock: &SetClock,
    folder: tempfile::TempDir,
    store: &Arc<Store>,
) -> (TestService, ServiceAnswer) {
    let service = bounded(clock, folder, new_keyring(), store);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    (0..20).for_each(|number| gap(&service, number));
    earn(&service, "Bash", "-");
    fill(&service, "a", 6_000);
    let archived = wait_for(&service, "position", |position| position > 5_000);
    let service = restarted(service, clock, store);
    fill(&service, "b", 2_000);
    wait_for(&service, "position", |position| position > archived + 1_000);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);
    let before = service.get(GAPS).expect(200);
    assert_eq!((tiers(&before), before.json()["gaps"].as_array().unwrap().len()), ("warm", 20));
    assert_eq!((cold_gaps(&service), cuts(&service).len()), (None, 0));
    (service, before)
}

/// Lets a year pass, until the 20 old gaps have left. Returns the position of the cut.
fn cut_after_a_year(service: &TestService, clock: &SetClock) -> u64 {
    clock.advance(400 * MILLISECONDS_OF_DAY);
    gap(service, 100);
    gap(service, 101);
    // A clock that jumps cuts nothing before an operator accepts its time.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(cuts(service).len(), 0);
    let looked = json!({"reason": "a year passed"}).to_string();
    service.post("/v1/ledgers/main/clock:accept", "application/json", looked).expect(200);
    let end = Instant::now() + Duration::from_secs(20);
    while cold_gaps(service) != Some(20) {
        let tiers = service.get("/v1/ledgers/main/tiers").expect(200);
        assert!(Instant::now() < end, "{:?} {}", cuts(service), tiers.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    let cut = cuts(service);
    assert_eq!((cut.len(), &cut[0]["event"]["data"]["keep_days"]), (1, &json!(365)));
    let through: u64 = cut[0]["event"]["data"]["through"].as_str().unwrap().parse().unwrap();
    assert!((8_000..cut[0]["position"].as_str().unwrap().parse().unwrap()).contains(&through), "{through}");
    through
}

/// Asks until the answer is that rows cannot be folded again.
fn until_stopped(service: &TestService) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = service.get(GAPS);
        assert!(answer.status == 503 && Instant::now() < end, "{} {}", answer.status, answer.text());
        if answer.json()["code"] == "projection-stopped" {
            assert!(answer.text().contains("cannot be folded again"), "{}", answer.text());
            return answer.json();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn old_rows_leave_and_come_back_from_archives_when_asked_for() {
    let clock = SetClock::default();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let cold = folder.path().join("cold");
    let (service, before) = with_released_events(&clock, folder, &store);
    let through = cut_after_a_year(&service, &clock);

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
    // Only what was opened counts: the index knows where events of a type lie.
    assert_eq!(events("?type=warm.cut"), "warm");
    assert_eq!(events("?type=coverage.gap&limit=1"), "cold");
    assert_eq!(events("?type=coverage.gap"), "warm, cold");
    assert_eq!(events("?type=x.nobody"), "warm");
    let lines =
        service.get_with("/v1/ledgers/main/events?type=warm.cut", &[("accept", "application/x-ndjson")]);
    assert_eq!(tiers(&lines.expect(200)), "warm");
    let trust = |of: &str| {
        let answer = service.get(&format!("/v1/ledgers/main/trust{of}")).expect(200);
        tiers(&answer).to_owned()
    };
    assert_eq!((trust(""), trust("/record?tool=Bash&workspace=-")), ("hot".to_owned(), "hot".to_owned()));
    assert_eq!(trust("/history?tool=Bash&workspace=-"), "warm, cold");
    // The records behind trust at a position leave too.
    let record = format!("/v1/ledgers/main/trust/record?tool=Bash&workspace=-&at={through}");
    assert_eq!(tiers(&eventually(&service, &record)), "warm, cold");
    earn(&service, "Bash", "-");
    assert_eq!(trust("/history?tool=Bash&workspace=-&limit=1"), "warm");

    // The next start has no recalled rows, and no archive to fold them from.
    let service = restarted(service, &clock, &store);
    assert_eq!(cuts(&service).len(), 1, "the same place is cut once");
    let away = cold.with_file_name("away");
    std::fs::rename(&cold, &away).unwrap();
    until_stopped(&service);
    assert_eq!(tiers(&service.get(&format!("{GAPS}?limit=1")).expect(200)), "warm");
    std::fs::rename(&away, &cold).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while service.get(GAPS).status != 200 {
        assert!(Instant::now() < end, "{}", service.get(GAPS).text());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(service.get(GAPS).expect(200).body, all.body);
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_missing_archive_stops_questions_about_rows_that_left_and_nothing_else() {
    let clock = SetClock::default();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let (cold, away) = (folder.path().join("cold"), folder.path().join("away"));
    let (service, before) = with_released_events(&clock, folder, &store);
    let through = cut_after_a_year(&service, &clock);
    std::fs::create_dir(&away).unwrap();
    let objects: Vec<_> = files(&cold).into_iter().enumerate().collect();
    let aside = |number: &usize| away.join(number.to_string());
    objects.iter().for_each(|(number, object)| std::fs::rename(object, aside(number)).unwrap());
    // What the daily look at retention has read of them stays in memory for a while.
    let service = restarted(service, &clock, &store);

    let stopped = until_stopped(&service);
    assert!(stopped["detail"].as_str().unwrap().contains("archive"), "{stopped}");
    // Nothing else needs the archives.
    gap(&service, 102);
    let newest = loop {
        let newest = service.get(&format!("{GAPS}?limit=1")).expect(200);
        if newest.json()["gaps"][0]["call"] == "c102" {
            break newest;
        }
    };
    assert_eq!(tiers(&newest), "warm");
    service.get(&format!("/v1/ledgers/main/events?after={through}")).expect(200);
    service.get("/v1/ledgers/main/trust").expect(200);
    let calls = service.get("/v1/ledgers/main/calls").expect(200);
    assert_eq!(tiers(&calls), "warm");
    until_stopped(&service);

    objects.iter().for_each(|(number, object)| std::fs::rename(aside(number), object).unwrap());
    let all = eventually(&service, GAPS);
    assert_eq!(tiers(&all), "warm, cold");
    assert_eq!(all.json()["gaps"].as_array().unwrap()[3..], *before.json()["gaps"].as_array().unwrap());
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

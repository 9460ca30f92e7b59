//! ArchiveSettings in the background of a running service: stored, told in metrics, and read as before.
//! A failure is told and tried again. After an end at any point, archiving goes on.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, ArchiveStoreError, Archiver, ArchiverError,
    ObjectListing, ObjectVersion, Objects, ReadPiece, Release, Rules, StoreSettings, StoredArchives,
};
use bitacora_formats::Keyring;
use bitacora_ledger::{Environment, HeadOptions, Ledger, ScrubOptions};
use bitacora_server::{ArchivePauses, ArchiveSettings, ServerConfig, ServerLimits};
use serde_json::json;

use crate::service::{SetClock, TestService, config, data, event, new_keyring, wait_until};

/// Past so many events that are not archived the older half of them is.
const HOT_EVENTS: u64 = 512;
/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(60);
const MAIN: &str = "{ledger=\"main\"}";

/// A folder that fails, or holds up archiving, while it is told to.
#[derive(Debug)]
pub(crate) struct Store {
    folder: ArchiveStore,
    fails: AtomicBool,
    /// Set while it refuses archives that are no later revisions.
    refuses_new: AtomicBool,
    door: Mutex<Door>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Door {
    is_shut: bool,
    /// The number of callers that wait before it.
    waiting: usize,
}

impl Store {
    pub(crate) fn in_folder(folder: &Path) -> Arc<Self> {
        let place = ArchiveLocation::Folder(folder.join("cold"));
        let folder = ArchiveStore::at(place, StoreSettings::default());
        let (fails, refuses_new) = (false.into(), false.into());
        Arc::new(Self { folder, fails, refuses_new, door: Mutex::default(), moved: Condvar::new() })
    }

    pub(crate) fn refuse_new(&self) {
        self.refuses_new.store(true, Ordering::Relaxed);
    }

    fn set_door(&self, is_shut: bool) {
        self.door.lock().unwrap().is_shut = is_shut;
        self.moved.notify_all();
    }

    fn wait_for_somebody(&self) {
        let door = self.door.lock().unwrap();
        let (door, _) = self.moved.wait_timeout_while(door, PATIENCE, |door| door.waiting == 0).unwrap();
        assert!(door.waiting > 0, "nobody came to make an archive");
    }
}

impl Objects for Store {
    fn shown(&self, name: &str) -> String {
        self.folder.shown(name)
    }

    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError> {
        let is_refused = self.refuses_new.load(Ordering::Relaxed) && !name.contains(".r");
        if is_refused || self.fails.load(Ordering::Relaxed) {
            let (object, said) = (self.shown(name), "out of order".to_owned());
            return Err(ArchiveStoreError::Failed { object, reason: said });
        }
        let mut door = self.door.lock().unwrap();
        door.waiting += 1;
        self.moved.notify_all();
        door = self.moved.wait_while(door, |door| door.is_shut).unwrap();
        door.waiting -= 1;
        drop(door);
        self.folder.create(name, bytes, read)
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError> {
        self.folder.remove(name)
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        self.folder.version(name)
    }

    fn read(
        &self,
        name: &str,
        version: &ObjectVersion,
        range: Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        self.folder.read(name, version, range)
    }

    fn list(&self, folder: &str) -> Result<ObjectListing, ArchiveStoreError> {
        self.folder.list(folder)
    }
}

fn environment(store: &Arc<Store>) -> Environment {
    let plain = Environment::real();
    let objects = Arc::clone(store) as Arc<dyn Objects>;
    // None is cached: a look for expired events reads archives too, and a test sees whether they are there.
    let archives = StoredArchives::new(objects, Arc::clone(&plain.disk), 0);
    Environment { archives: Arc::new(archives), ..plain }
}

/// A service that archives into this store, and looks for what is due all the time.
fn archiving(folder: tempfile::TempDir, keyring: Arc<Keyring>, store: &Arc<Store>) -> TestService {
    archiving_at(&SetClock::default(), folder, keyring, store)
}

pub(crate) fn archiving_at(
    clock: &SetClock,
    folder: tempfile::TempDir,
    keyring: Arc<Keyring>,
    store: &Arc<Store>,
) -> TestService {
    let config = archiving_config(clock, &folder, &keyring, store);
    TestService::of(config, folder, keyring)
}

/// The configuration of the same.
pub(crate) fn archiving_config(
    clock: &SetClock,
    folder: &tempfile::TempDir,
    keyring: &Arc<Keyring>,
    store: &Arc<Store>,
) -> ServerConfig {
    let mut config = config(folder.path(), keyring, ServerLimits::default());
    config.ledgers.environment = Environment { clock: Arc::new(clock.clone()), ..environment(store) };
    config.ledgers.options.heads =
        Some(HeadOptions { every: Duration::from_millis(20), ..HeadOptions::default() });
    let pause = Duration::from_millis(100);
    config.archiving = Some(ArchiveSettings {
        objects: Arc::clone(store) as Arc<dyn Objects>,
        store: "cold".to_owned(),
        rules: Rules { cold_after: None, hot_events: Some(HOT_EVENTS), ..Rules::default() },
        releases: true,
        pauses: ArchivePauses { first: pause, between: pause, most: pause, retention: pause },
        scrub: Some(ScrubOptions { bytes_per_s: 1 << 30, pause: Duration::from_millis(50) }),
    });
    config
}

/// The same on a folder of its own, with a ledger.
fn begun() -> (TestService, Arc<Store>) {
    begun_at(&SetClock::default())
}

/// The same, by this clock.
pub(crate) fn begun_at(clock: &SetClock) -> (TestService, Arc<Store>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let service = archiving_at(clock, folder, new_keyring(), &store);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    (service, store)
}

pub(crate) fn fill(service: &TestService, name: &str, events: u64) {
    for first in (0..events).step_by(50) {
        let batch: Vec<_> =
            (first..first + 50).map(|number| event(&format!("{name}{number}"), "s")).collect();
        let body = format!("[{}]", batch.join(","));
        service.post("/v1/ledgers/main/events", "application/cloudevents-batch+json", body).expect(201);
    }
}

/// Returns the value of a metric of the ledger; `None` while there is none.
fn metric(service: &TestService, name: &str) -> Option<u64> {
    let metrics = service.get("/metrics").expect(200);
    let line = format!("bitacora_archive_{name}{MAIN} ");
    metrics.text().lines().find_map(|text| text.strip_prefix(&line)).map(|value| value.parse().unwrap())
}

pub(crate) fn wait_for(service: &TestService, name: &str, is_so: impl Fn(u64) -> bool) -> u64 {
    let began = Instant::now();
    loop {
        match metric(service, name) {
            Some(value) if is_so(value) => return value,
            value => assert!(began.elapsed() < PATIENCE, "{name} is {value:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes of all files in a folder and those in it.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.metadata().unwrap() {
            metadata if metadata.is_dir() => bytes_in(&entry.path()),
            metadata => metadata.len(),
        })
        .sum()
}

#[test]
fn rules_that_are_replaced_hold_from_the_next_round_on() {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let store = Store::in_folder(folder.path());
    let mut config = archiving_config(&SetClock::default(), &folder, &keyring, &store);
    let due = config.archiving.as_ref().unwrap().rules.clone();
    config.archiving.as_mut().unwrap().rules.hot_events = None;
    let service = TestService::of(config, folder, keyring);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    fill(&service, "a", 2_000);
    wait_for(&service, "due_events", |due| due == 0);
    service.live.set_archive_rules(&due, false);
    wait_for(&service, "archives_total", |archives| archives > 0);
    assert_eq!(metric(&service, "released_bytes_total"), Some(0));
}

#[test]
fn what_is_due_is_archived_and_let_go_and_read_as_before() {
    let (service, store) = begun();
    // Nothing is looked at before there is anything due.
    wait_for(&service, "due_events", |due| due == 0);
    assert_eq!(metric(&service, "position"), Some(0));
    store.set_door(true);
    fill(&service, "a", 6_000);
    let first_events =
        || service.get("/v1/ledgers/main/events?limit=200").expect(200).json()["events"].clone();
    let first = first_events();
    store.wait_for_somebody();
    assert!(metric(&service, "due_events").unwrap() >= 256);
    store.set_door(false);

    let tip = service.tip();
    wait_for(&service, "position", |position| position + HOT_EVENTS > tip);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);
    let position =
        wait_for(&service, "due_events", |due| due == 0).max(metric(&service, "position").unwrap());
    for (name, expected) in [("packed_events_total", position), ("read_back_events_total", position)] {
        assert_eq!(metric(&service, name), Some(expected), "{name}");
    }
    assert!(metric(&service, "archives_total").unwrap() >= 1);
    assert_eq!(metric(&service, "bytes_total"), Some(bytes_in(&service.folder.path().join("cold"))));
    assert_eq!((metric(&service, "failing"), metric(&service, "failures_total")), (Some(0), Some(0)));
    let segments = fs::read_dir(data(service.folder.path()).join("ledgers/main/segments")).unwrap();
    let released = segments.filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|ending| ending == "released")
    });
    assert!(released.count() > 0, "no segment was let go");
    assert!(first_events() == first, "other events than before");

    let tiers = service.get("/v1/ledgers/main/tiers").expect(200).json();
    let cold = &tiers["cold"];
    assert_eq!(
        (&cold["events"], &cold["bytes"]),
        (&position.into(), &metric(&service, "bytes_total").into())
    );
    let range = &cold["ranges"][0];
    assert_eq!((&range["first"], &range["last"]), (&"1".into(), &position.to_string().into()), "{tiers}");
    assert_eq!((&range["store"], range["archives"] == cold["archives"]), (&"cold".into(), true), "{tiers}");
    assert_ne!(tiers["warm"]["segments"]["first"], "1", "{tiers}");

    // An archive that is gone: its events lie nowhere else.
    let (cold, away) = (service.folder.path().join("cold"), service.folder.path().join("away"));
    wait_until(|| service.get("/readyz").status == 200);
    fs::rename(&cold, &away).unwrap();
    wait_until(|| service.get("/readyz").status == 503);
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    assert!(problem.to_string().contains("archive"), "{problem}");
    fs::rename(&away, &cold).unwrap();
    wait_until(|| service.get("/readyz").status == 200);
}

/// Returns the path of an archive in this folder.
fn an_archive_in(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.next().unwrap();
    if path.is_dir() { an_archive_in(&path) } else { path }
}

#[test]
fn the_scrub_finds_archives_that_are_damaged_or_missing_and_those_that_were_mended() {
    let (service, _store) = begun();
    fill(&service, "a", 3_000);
    wait_for(&service, "released_bytes_total", |bytes| bytes > 0);
    wait_for(&service, "due_events", |due| due == 0);
    let rounds = metric(&service, "scrub_rounds_total").unwrap();
    wait_for(&service, "scrub_rounds_total", |now| now > rounds + 1);
    let bytes = bytes_in(&service.folder.path().join("cold"));
    assert!(metric(&service, "scrub_bytes_total").unwrap() >= bytes, "every byte is read");
    assert!(metric(&service, "scrub_age_seconds").is_some());
    assert_eq!((metric(&service, "scrub_faults_total"), metric(&service, "faulty")), (Some(0), Some(0)));
    let cold = || service.get("/v1/ledgers/main/tiers").expect(200).json()["cold"].clone();
    let whole = cold();
    assert!(whole["ranges"][0]["verified"].as_str() > whole["lastSealed"].as_str(), "{whole}");
    assert!(whole["scrubbed"].as_str() >= whole["ranges"][0]["verified"].as_str(), "{whole}");
    assert_eq!(whole["faulty"], json!([]));
    let ready = service.get("/readyz").expect(200).text().to_owned();
    assert!(ready.contains("main: every archive was found whole by a scrub that ended 2"), "{ready}");

    let path = an_archive_in(&service.folder.path().join("cold"));
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let bytes = fs::read(&path).unwrap();
    // In the header, in the first part, in the middle, in the table, and in the trailer; then the whole file.
    let places = [0, 200, bytes.len() / 2, bytes.len() - 600, bytes.len() - 1];
    for damaged in places.into_iter().map(Some).chain([None]) {
        let (verified, faults) =
            (cold()["ranges"][0]["verified"].clone(), metric(&service, "scrub_faults_total"));
        match damaged {
            Some(at) => {
                let mut other = bytes.clone();
                other[at] ^= 1;
                fs::write(&path, other).unwrap();
            }
            None => fs::remove_file(&path).unwrap(),
        }
        wait_for(&service, "faulty", |faulty| faulty == 1);
        let what = if damaged.is_some() { "is damaged: " } else { "is missing; " };
        let problem = service.get("/readyz").expect_problem(503, "not-ready").to_string();
        for text in [&name, what, "its events lie nowhere else", "1 of 1 ledgers lack an archive"] {
            assert!(problem.contains(text), "{damaged:?}: {text} in {problem}");
        }
        let found = cold();
        assert!(found["faulty"][0].as_str().unwrap().contains(&name), "{found}");
        // A round that found a fault counts for no time of verification.
        assert!(found["ranges"][0]["verified"].as_str() <= found["scrubbed"].as_str(), "{found}");
        assert!(metric(&service, "scrub_faults_total") > faults);
        fs::write(&path, &bytes).unwrap();
        wait_for(&service, "faulty", |faulty| faulty == 0);
        wait_until(|| service.get("/readyz").status == 200);
        wait_until(|| cold()["ranges"][0]["verified"].as_str() > verified.as_str());
    }
}

#[test]
fn a_store_that_fails_is_told_holds_nobody_up_and_is_tried_again() {
    let (service, store) = begun();
    store.fails.store(true, Ordering::Relaxed);
    fill(&service, "a", 2_000);
    wait_for(&service, "failing", |failing| failing == 1);
    let failures = wait_for(&service, "failures_total", |failures| failures >= 2);
    assert_eq!((metric(&service, "position"), metric(&service, "archives_total")), (Some(0), Some(0)));
    assert!(metric(&service, "due_events").unwrap() > 0);
    service.append(event("while it fails", "s")).expect(201);

    store.fails.store(false, Ordering::Relaxed);
    wait_for(&service, "position", |position| position > 0);
    wait_for(&service, "failing", |failing| failing == 0);
    assert!(metric(&service, "failures_total").unwrap() >= failures);
}

#[test]
fn the_service_ends_while_a_store_is_waited_for_and_the_next_one_goes_on() {
    let (mut service, store) = begun();
    store.set_door(true);
    fill(&service, "a", 2_000);
    store.wait_for_somebody();
    service.begin_shutdown();
    service.wait().unwrap();
    // The process would end now, and with it who waits; here it is waited for until nobody has the store.
    store.set_door(false);
    let began = Instant::now();
    while Arc::strong_count(&store) > 1 {
        assert!(began.elapsed() < PATIENCE, "somebody still archives");
        std::thread::sleep(Duration::from_millis(20));
    }
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = archiving(folder, Arc::clone(&service.keyring), &store);
    let tip = service.tip();
    wait_for(&service, "position", |position| position + HOT_EVENTS > tip);
    // The archive that the first run had made was found there, and not made again.
    let position = metric(&service, "position").unwrap();
    wait_for(&service, "failing", |failing| failing == 0);
    assert_eq!(metric(&service, "read_back_events_total"), Some(position));
    assert_eq!(service.get("/v1/ledgers/main/events/1").expect(200).status, 200);
}

#[test]
fn what_the_service_archives_nobody_else_does() {
    let (service, store) = begun();
    store.set_door(true);
    fill(&service, "a", 2_000);
    store.wait_for_somebody();
    let (environment, folder) = (environment(&store), data(service.folder.path()).join("ledgers/main"));
    let name = Some("main".parse().unwrap());
    let keyring = Arc::clone(&service.keyring);
    let ledger =
        Ledger::open_for_reading(&environment, &folder, Arc::clone(&keyring), name.as_ref()).unwrap();
    let objects = Arc::clone(&store) as Arc<dyn Objects>;
    let other = Archiver::new(ledger, &folder, &environment, &keyring, objects, "cold".to_owned());
    let rules = Rules { is_forced: true, ..Rules::default() };
    let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 1 }, release: Release::Never };
    let refused = other.run(&run).unwrap_err();
    assert!(matches!(refused, ArchiverError::Busy), "{refused}");
    store.set_door(false);
    wait_for(&service, "position", |position| position > 0);
    assert_eq!(metric(&service, "failures_total"), Some(0));
}

//! The real program with its anchor in an object store, which can also be out of reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_tests::folders::copy_folder;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::loopback_s3::LoopbackS3;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::Value;

const EVENT: &str = r#"{"specversion":"1.0","id":"ID","source":"urn:test","type":"x.noted","subject":"s"}"#;

struct StoredAnchorFixture {
    folder: tempfile::TempDir,
    service: ServiceFolder,
    store: LoopbackS3,
}

impl StoredAnchorFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = ServiceFolder::new(crate::PROGRAM, folder.path());
        Self { folder, service, store: LoopbackS3::start().unwrap() }
    }

    /// Adds to a command the environment of the anchor.
    fn told(&self, command: &mut Command) {
        command.env("BITACORA_ANCHOR", self.store.url("anchors")).envs(self.store.environment());
    }

    fn start(&self, more: &[&str]) -> ServiceProcess {
        let told = |command: &mut Command| {
            self.told(command);
            command.args(more);
        };
        self.service.start_with(told).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let (name, more) = arguments.split_first().unwrap();
        let mut command = self.service.command(name);
        self.told(&mut command);
        command.arg("--keyring").arg(self.service.keyring()).args(more).output().unwrap()
    }

    fn copy(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        copy_folder(&self.service.data(), &copy).unwrap();
        copy
    }

    fn put_back(&self, copy: &Path) {
        fs::remove_dir_all(self.service.data()).unwrap();
        copy_folder(copy, &self.service.data()).unwrap();
    }

    fn anchored_note(&self) -> Option<String> {
        self.store.object("anchors/main.head").map(|note| String::from_utf8(note).unwrap())
    }

    fn first_key(&self) -> String {
        let verified = self.run(&["verify", "--json"]);
        let told: Value = serde_json::from_slice(&verified.stdout).unwrap();
        told["firstKey"].as_str().unwrap().to_owned()
    }
}

fn append(service: &ServiceProcess, id: &str) -> u16 {
    append_to(service, "main", id)
}

fn append_to(service: &ServiceProcess, ledger: &str, id: &str) -> u16 {
    let path = format!("/v1/ledgers/{ledger}/events");
    post(service, &path, "application/cloudevents+json", &EVENT.replace("ID", id)).0
}

fn post(service: &ServiceProcess, path: &str, content_type: &str, body: &str) -> (u16, String) {
    let mut client = HttpClient::connect(service.address).unwrap();
    let answer = client.post(path, content_type, body.as_bytes()).unwrap();
    (answer.status, String::from_utf8(answer.body).unwrap())
}

fn state(service: &ServiceProcess, ledger: &str) -> String {
    let (_, told) = get(service, &format!("/v1/ledgers/{ledger}"));
    let told: Value = serde_json::from_str(&told).unwrap();
    told["state"].as_str().unwrap().to_owned()
}

fn get(service: &ServiceProcess, path: &str) -> (u16, String) {
    let mut client = HttpClient::connect(service.address).unwrap();
    let answer = client.get(path, "*/*").unwrap();
    (answer.status, String::from_utf8(answer.body).unwrap())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_older_copy_is_refused_by_the_head_in_the_store_and_verified_against_it() {
    let fixture = StoredAnchorFixture::new();
    let mut service = fixture.start(&[]);
    assert_eq!(append(&service, "a"), 201);
    service.terminate().unwrap();
    let copy = fixture.copy("older");
    let older = fixture.anchored_note().unwrap();
    let mut service = fixture.start(&[]);
    assert_eq!(append(&service, "b"), 201);
    service.terminate().unwrap();
    assert_ne!(fixture.anchored_note().unwrap(), older);
    assert!(!fixture.folder.path().join("keyring.anchors").exists(), "nothing lies beside the keyring");

    let key = fixture.first_key();
    let verified = fixture.run(&["verify", "--vkey", &key]);
    assert_eq!(code(&verified), 0, "{}", shown(&verified));
    assert!(shown(&verified).contains("s3://heads/anchors/main.head"), "{}", shown(&verified));

    fixture.put_back(&copy);
    let requests = fixture.store.requests();
    for arguments in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["append", "-"], &["verify", "--vkey", &key]]
    {
        let refused = fixture.run(arguments);
        assert_eq!(code(&refused), 30, "{arguments:?}: {}", shown(&refused));
        assert!(!shown(&refused).contains("c2VjcmV0"), "{}", shown(&refused));
    }
    assert!(fixture.store.requests() > requests);
    let declared = fixture.run(&["recover", "--declare-loss"]);
    assert_eq!(code(&declared), 0, "{}", shown(&declared));
    let verified = fixture.run(&["verify", "--vkey", &key]);
    assert_eq!(code(&verified), 0, "{}", shown(&verified));
}

#[test]
fn a_store_out_of_reach_is_a_warning_and_stops_who_requires_it() {
    let fixture = StoredAnchorFixture::new();
    fixture.store.set_down(true);
    let mut service = fixture.start(&[]);
    assert_eq!(append(&service, "a"), 201, "it takes events, without an anchor");
    let unanchored = || {
        let (_, metrics) = get(&service, "/metrics");
        let name = "bitacora_ledger_unanchored_seconds{ledger=\"main\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok()).unwrap()
    };
    wait_until("the metric tells of it", || unanchored() > 0);
    assert_eq!(fixture.anchored_note(), None);
    fixture.store.set_down(false);
    wait_until("it is anchored once it answers", || fixture.anchored_note().is_some() && unanchored() == 0);
    service.terminate().unwrap();

    let mut service = fixture.start(&["--anchor-required"]);
    assert_eq!(get(&service, "/readyz").0, 200);
    fixture.store.set_down(true);
    assert_eq!(append(&service, "b"), 201);
    wait_until("it takes nothing more", || append(&service, "c") == 503);
    assert_eq!(get(&service, "/readyz").0, 503);
    fixture.store.set_down(false);
    wait_until("it takes events again", || append(&service, "d") == 201);
    wait_until("it is ready", || get(&service, "/readyz").0 == 200);
    service.terminate().unwrap();

    // An anchor was used: that it has to answer needs no saying any more.
    fixture.store.set_down(true);
    let service = fixture.start(&[]);
    assert_eq!(get(&service, "/readyz").0, 503, "without its anchor the ledger is not opened");
    assert_eq!(append(&service, "e"), 503);
    let (_, told) = get(&service, "/v1/ledgers/main");
    assert!(told.contains("\"waiting\""), "{told}");
    let segments = || fs::read_dir(fixture.service.data().join("ledgers/main/segments")).unwrap().count();
    let (written, anchored) = (segments(), fixture.anchored_note());
    // A try is a request and two retries; the request behind them belongs to the next one.
    let tried = fixture.store.dropped();
    wait_until("it is tried again", || fixture.store.dropped() > tried + 3);
    assert_eq!((segments(), fixture.anchored_note()), (written, anchored), "nothing is written meanwhile");
    fixture.store.set_down(false);
    wait_until("it opens by itself", || get(&service, "/readyz").0 == 200);
    assert_eq!(append(&service, "e"), 201);
    let mut service = service;
    service.terminate().unwrap();
    fixture.store.set_down(true);
    let mut service = fixture.start(&["--anchor-optional"]);
    assert_eq!(append(&service, "f"), 201, "it may be out of reach where that is said");
    service.terminate().unwrap();
    let verified = fixture.run(&["verify"]);
    assert_eq!(code(&verified), 50, "{}", shown(&verified));
}

#[test]
fn a_store_that_answers_again_and_contradicts_a_ledger_leaves_that_one_closed() {
    let fixture = StoredAnchorFixture::new();
    let make = |service: &ServiceProcess, name: &str| {
        post(service, "/v1/ledgers", "application/json", &format!("{{\"name\":\"{name}\"}}"))
    };
    let mut service = fixture.start(&["--anchor-required"]);
    assert_eq!(make(&service, "other").0, 201);
    assert_eq!(append(&service, "a"), 201);
    service.terminate().unwrap();
    let main = fixture.service.data().join("ledgers/main");
    let older = fixture.folder.path().join("older");
    copy_folder(&main, &older).unwrap();
    let mut service = fixture.start(&["--anchor-required"]);
    assert_eq!(append(&service, "b"), 201);
    service.terminate().unwrap();
    fs::remove_dir_all(&main).unwrap();
    copy_folder(&older, &main).unwrap();

    fixture.store.set_down(true);
    let service = fixture.start(&["--anchor-required"]);
    assert_eq!((state(&service, "main"), state(&service, "other")), ("waiting".into(), "waiting".into()));
    fixture.store.set_down(false);
    wait_until("it is not tried again", || state(&service, "main") == "failed");
    wait_until("the other opens", || state(&service, "other") == "ready");
    let (status, told) = get(&service, "/readyz");
    assert_eq!(status, 503);
    assert!(told.contains("main") && told.contains("older"), "{told}");
    assert_eq!(append(&service, "c"), 503);
    assert_eq!(append_to(&service, "other", "c"), 201);
}

#[test]
fn a_ledger_that_cannot_be_compared_is_not_made() {
    let fixture = StoredAnchorFixture::new();
    let make = |service: &ServiceProcess, name: &str| {
        post(service, "/v1/ledgers", "application/json", &format!("{{\"name\":\"{name}\"}}"))
    };
    let service = fixture.start(&["--anchor-required"]);
    fixture.store.set_down(true);
    let (status, told) = make(&service, "third");
    assert_eq!(status, 503, "{told}");
    assert_eq!(get(&service, "/v1/ledgers/third").0, 404);
    fixture.store.set_down(false);
    wait_until("it is made once the store answers", || make(&service, "third").0 == 201);
}

#[test]
fn a_url_that_is_none_is_a_usage_error_that_keeps_its_secrets() {
    let fixture = StoredAnchorFixture::new();
    for (url, said) in [
        ("ftp://heads/x", "no store has the scheme 'ftp'"),
        ("s3://key:HUSHKEY@heads/x", "credentials"),
        ("s3://heads/x?sig=HUSHKEY", "'?'"),
        ("s3://heads/../x", "prefix"),
    ] {
        let refused = fixture.run(&["serve", "--anchor", url]);
        assert_eq!(code(&refused), 2, "{url}: {}", shown(&refused));
        assert!(shown(&refused).contains(said), "{url}: {}", shown(&refused));
        assert!(!shown(&refused).contains("HUSHKEY"), "{}", shown(&refused));
        let mut help = Command::new(crate::PROGRAM);
        let help = help.args(["serve", "--help"]).env("BITACORA_ANCHOR", url).output().unwrap();
        assert!(!shown(&help).contains("HUSHKEY"), "{}", shown(&help));
    }
}

//! The cost of handing over and of erasing: `cargo bench --profile release -p bitacora-tests --bench handover -- FOLDER --events N`.
//!
//! Loads a ledger below the folder (the current one unless named) with agents at work, and reads it from a service as lines of JSON. Beside
//! that it exports it in each format, with the memory that the program takes. Then it loads N events about data subjects and erases one.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Keyring};
use bitacora_ledger::{AppendRequest, Environment, Ledger, Options, ReactorChoice};
use bitacora_tests::agents::Agents;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bitacora-under-test");
/// Sessions whose requests are on their way at once.
const SESSIONS_AT_ONCE: usize = 64;
/// Events of agents that are exported, at most.
const EXPORTED_EVENTS: u64 = 2_000_000;
/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 3;
/// Events of one request.
const BATCH: u64 = 1_000;
const AT_ONCE: usize = 8;
/// Data subjects of the events.
const SUBJECTS: u64 = 1_000;

fn main() {
    let (mut folder, mut events) = (PathBuf::from("."), 1_000_000_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => events = arguments.next().unwrap().replace('_', "").parse().unwrap(),
            other if other.starts_with('-') => {}
            other => folder = other.into(),
        }
    }
    measure_exports(&folder, events.min(EXPORTED_EVENTS));
    measure_erasure(&folder, events);
}

/// A new folder of a service with an empty ledger `main`, and that ledger open.
fn begin(below: &Path) -> (tempfile::TempDir, ServiceFolder, Ledger) {
    let made = tempfile::Builder::new().prefix("handover-").tempdir_in(below).unwrap();
    let place = ServiceFolder::new(PROGRAM, made.path());
    assert!(place.start().unwrap().terminate().unwrap().success());
    let keyring = Keyring::parse(&std::fs::read_to_string(place.keyring()).unwrap()).unwrap();
    let options = Options { governing: ReactorChoice::Governance, ..Options::default() };
    let path = place.data().join("ledgers/main");
    let ledger = Ledger::open(&Environment::real(), &path, Arc::new(keyring), options).unwrap();
    (made, place, ledger)
}

fn measure_exports(below: &Path, events: u64) {
    let (made, place, ledger) = begin(below);
    let mut agents = Agents::begin(&ledger, SESSIONS_AT_ONCE);
    while ledger.head().position.get() < events {
        agents.work(&ledger);
    }
    let events = ledger.head().position.get();
    ledger.close().unwrap();
    let service = place.start().unwrap();
    settle(service.address);
    let scan = median(|| scan(service.address));
    println!("{events} events of governed agents, median of {ROUNDS}");
    println!("NDJSON over HTTP: {:.0} events/s", events as f64 / scan);
    for format in ["jsonl", "cloudevents", "csv", "ocsf", "parquet"] {
        let (mut memory, mut with_receipt) = (0, Duration::ZERO);
        let took = median(|| {
            let out = made.path().join(format!("events.{format}"));
            let began = Instant::now();
            let program = export(service.address, format, &out);
            let manifest = made.path().join(format!("events.{format}.manifest.json"));
            let (held, whole) = observe(program, &manifest, began);
            (memory, with_receipt) = (memory.max(held), began.elapsed());
            clear(made.path(), "events.");
            whole
        });
        let (speed, ratio, mib) = (events as f64 / took, scan / took, memory >> 10);
        println!(
            "export {format}: {speed:.0} events/s, {ratio:.2} of NDJSON, at most {mib} MiB; {took:.2} s, {:.2} s with its receipt",
            with_receipt.as_secs_f64()
        );
    }
}

fn export(address: SocketAddr, format: &str, out: &Path) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["export", "--format", format, "--url", &format!("http://{address}"), "--out"]).arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits for a program. Returns the most memory that it held, in KiB, and the time until the manifest beside its durable file was there.
fn observe(mut child: Child, manifest: &Path, began: Instant) -> (u64, Duration) {
    let status = format!("/proc/{}/status", child.id());
    let (mut most, mut whole) = (0, None);
    loop {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let held = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(held.unwrap_or(0));
        if whole.is_none() && manifest.exists() {
            whole = Some(began.elapsed());
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return (most, whole.unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads all events of a service as lines of JSON, and keeps none.
fn scan(address: SocketAddr) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET /v1/ledgers/main/events HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let (mut piece, mut bytes) = (vec![0; 1 << 18], 0);
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => break,
            read => bytes += read,
        }
    }
    assert!(bytes > 1 << 20, "{bytes} bytes");
    began.elapsed()
}

fn median(mut round: impl FnMut() -> Duration) -> f64 {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    times.get(ROUNDS / 2).unwrap().as_secs_f64()
}

fn clear(folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with(prefix) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Waits until the service has proven its log and folded its read models, so that neither is measured.
fn settle(address: SocketAddr) {
    let mut client = HttpClient::connect(address).unwrap();
    loop {
        let models = client.get("/v1/projections", "application/json").unwrap();
        let models: serde_json::Value = serde_json::from_slice(&models.body).unwrap();
        let tiers = client.get("/v1/ledgers/main/tiers", "application/json").unwrap();
        let is_proven = String::from_utf8_lossy(&tiers.body).contains("\"proven\":true");
        let models = models.get("projections").and_then(serde_json::Value::as_array).unwrap();
        let are_folded =
            models.iter().all(|model| model.get("lag").and_then(serde_json::Value::as_u64) == Some(0));
        if is_proven && are_folded {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn personal(number: u64) -> Event<'static> {
    let mut event =
        Event::new(format!("e{number}"), "urn:desk", "x.case.noted", format!("cases/{}", number % 50_000));
    event.datasubject = Some(format!("person/{}", number % SUBJECTS).into());
    let data = format!(r#"{{"note":"called about order {number}","minutes":{}}}"#, number % 60);
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

fn measure_erasure(below: &Path, events: u64) {
    let (_made, place, ledger) = begin(below);
    let began = Instant::now();
    let mut pending = std::collections::VecDeque::new();
    for first in (0..events).step_by(usize::try_from(BATCH).unwrap()) {
        let request = AppendRequest::of((first..first + BATCH).map(personal).collect());
        pending.push_back(ledger.append(request).unwrap());
        if pending.len() >= AT_ONCE {
            pending.pop_front().unwrap().wait().unwrap();
        }
    }
    pending.into_iter().for_each(|append| drop(append.wait().unwrap()));
    let events = ledger.head().position.get();
    ledger.close().unwrap();
    println!("{events} events about {SUBJECTS} data subjects in {:.1?}", began.elapsed());
    let service = place.start().unwrap();
    settle(service.address);
    let mut client = HttpClient::connect(service.address).unwrap();
    let mut times = Vec::new();
    for subject in 0..9 {
        let body = format!(r#"{{"subject":"person/{subject}","authority":"ticket 4711"}}"#);
        let began = Instant::now();
        let answer = client.post("/v1/ledgers/main/erasures", "application/json", body.as_bytes()).unwrap();
        times.push(began.elapsed());
        assert!(answer.status < 300, "{}", String::from_utf8_lossy(&answer.body));
    }
    times.sort();
    println!(
        "an erasure of one of them: median {:.1?}, longest {:.1?}",
        times.get(4).unwrap(),
        times.last().unwrap()
    );
}

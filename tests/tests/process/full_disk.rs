//! A disk that becomes full under an upload, an import, a quickstart: a clear refusal.
//! Nothing is acknowledged that could be lost, and a retry after room came back adds exactly what was missing.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Keyring};
use bitacora_ledger::{Filter, Ledger, Options, ReadFrom, ReadQuery};
use bitacora_server::{Admission, LedgersConfig, Server, ServerConfig, ServerLimits};
use bitacora_tests::http_client::{HttpAnswer, HttpClient};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::PROGRAM;

const DATA: &str = "/data";
const LEDGER: &str = "/data/ledgers/main";
const INGEST: &str = "/v1/ledgers/main/events:ingest";
const EVENTS: &str = "/v1/ledgers/main/events";
const NDJSON: &str = "application/x-ndjson";

/// Lines of an upload, and of a file that is imported.
const LINES: u64 = 8_000;
/// Bytes that the disk still takes when it is made small: a segment or two.
const ROOM_BYTES: u64 = 512 * 1024;
/// The largest file where a program may write no large ones, in the blocks that a shell counts. One limit is below what a ledger begins
/// with, the other below a segment.
const FILE_BLOCKS: [&str; 2] = ["1", "1024"];
/// The time at most until a ledger takes appends again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A service of this process whose disk can become full.
struct FullDiskService {
    simulation: Simulation,
    keyring: Arc<Keyring>,
    address: SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FullDiskService {
    /// Serves a fresh ledger `main`, then leaves its disk little room.
    fn nearly_full(seed: u64) -> Self {
        let simulation = Simulation::new(seed);
        let mut random = SeededRandom::new(seed);
        let keyring = Arc::new(Keyring::generate(&mut |bytes| random.fill(bytes)));
        let config = ServerConfig {
            addresses: vec!["127.0.0.1:0".parse().unwrap()],
            tls: None,
            allows_remote: false,
            unix_socket: None,
            admission: Admission::Open,
            allowed_origins: Vec::new(),
            notices: None,
            archiving: None,
            warm: None,
            ledgers: LedgersConfig {
                data: PathBuf::from(DATA),
                keyring: Arc::clone(&keyring),
                environment: simulation.environment(),
                options: Options::small(),
                read_models: false,
                recalls: Arc::default(),
            },
            unlisted: None,
            required_models: Vec::new(),
            limits: ServerLimits::default(),
        };
        let (shutdown, asked) = oneshot::channel::<()>();
        let (bound, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async move {
                let server = Server::bind(config).await.unwrap();
                bound.send(server.local_addr().unwrap()).unwrap();
                server.run(async { drop(asked.await) }).await.unwrap();
            });
        });
        let address = address.recv().unwrap();
        let machine = Self { simulation, keyring, address, shutdown: Some(shutdown), thread: Some(thread) };
        let made = machine.client().post("/v1/ledgers", "application/json", br#"{"name":"main"}"#);
        assert_eq!(made.unwrap().status, 201);
        let disk = &machine.simulation.disk;
        disk.set_capacity(Some(disk.used_bytes() + ROOM_BYTES));
        machine
    }

    fn client(&self) -> HttpClient {
        HttpClient::connect(self.address).unwrap()
    }

    fn upload(&self) -> Upload {
        Upload::from(self.client().post(INGEST, NDJSON, &lines()).unwrap())
    }

    fn takes_appends(&self) -> bool {
        let told = json_of(&self.client().get("/v1/ledgers/main", "application/json").unwrap());
        told["state"] == "ready"
    }

    /// The numbers of the uploaded lines that stand in the ledger, in its order.
    fn numbers(&self) -> Vec<u64> {
        let read = self.client().get(&format!("{EVENTS}?type=x.noted"), NDJSON).unwrap();
        let lines = std::str::from_utf8(&read.body).unwrap().lines();
        let value = |line| serde_json::from_str::<Value>(line).unwrap();
        lines.map(value).filter_map(|line| line["event"]["data"]["number"].as_u64()).collect()
    }

    /// Gives the disk all the room there is, and waits until the ledger takes appends again.
    fn give_room(&self) {
        self.simulation.disk.set_capacity(None);
        let since = Instant::now();
        while !self.takes_appends() {
            assert!(since.elapsed() < PATIENCE, "it does not take appends again");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The same lines as they stand after power was lost just now, in the worst way that the disk may have lost it.
    fn numbers_after_power_loss(&self) -> Vec<u64> {
        let at = self.simulation.disk.operation_count();
        let after = self.simulation.after_crash(at, CrashPolicy::OnlySynced, 77).unwrap();
        after.disk.set_capacity(None);
        let keyring = Arc::clone(&self.keyring);
        let folder = Path::new(LEDGER);
        let ledger = Ledger::open(&after.environment(), folder, keyring, Options::small()).unwrap();
        let (mut from, mut numbers) = (ReadFrom::After(After::START), Vec::new());
        loop {
            let query = ReadQuery { from, until: None, limit: 1_000, filter: Filter::default() };
            let page = ledger.read(&query).unwrap();
            let number = |id: &str| id.strip_prefix('n').and_then(|id| id.parse::<u64>().ok());
            numbers.extend(page.events.iter().filter_map(|event| number(&event.event.id)));
            match page.next {
                Some(next) => from = next,
                None => return numbers,
            }
        }
    }
}

impl Drop for FullDiskService {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The answer to an upload.
struct Upload {
    /// Lines acknowledged.
    acknowledged: u64,
    last: Value,
}

impl From<HttpAnswer> for Upload {
    fn from(answer: HttpAnswer) -> Self {
        assert_eq!(answer.status, 200);
        let text = String::from_utf8(answer.body).unwrap();
        let mut values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = values.pop().unwrap();
        let acknowledged = values.iter().filter_map(|value| value["lines"].as_u64()).max();
        Self { acknowledged: acknowledged.unwrap_or_default(), last }
    }
}

fn json_of(answer: &HttpAnswer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

/// Data that does not get much smaller, so that little of it fills the disk.
fn noise(number: u64) -> String {
    let mut random = SeededRandom::new(number);
    (0..16).map(|_| format!("{:016x}", random.next_u64())).collect()
}

fn lines() -> Vec<u8> {
    let line = |number: u64| {
        let event = json!({"specversion": "1.0", "id": format!("n{number}"), "source": "urn:test", "type": "x.noted",
            "subject": format!("s{}", number % 5), "data": {"number": number, "noise": noise(number)}});
        event.to_string() + "\n"
    };
    (0..LINES).map(line).collect::<String>().into_bytes()
}

#[test]
fn an_upload_onto_a_disk_that_becomes_full_is_told_so_and_goes_on_where_it_ended() {
    let machine = FullDiskService::nearly_full(9);
    let first = machine.upload();
    let error = &first.last["error"];
    assert_eq!((&error["code"], &error["status"]), (&"disk-full".into(), &507.into()), "{error}");
    assert_eq!(error["retryable"], true);
    let detail = error["detail"].as_str().unwrap();
    assert!(detail.contains("appends resume by themselves when there is space"), "{detail}");
    assert!(first.acknowledged > 0 && first.acknowledged < LINES, "{}", first.acknowledged);
    assert!(error["errors"][0]["line"].as_u64().unwrap() > first.acknowledged, "{error}");

    // Acknowledged lines, and none that has a gap before it, are there, also when power is lost now.
    let stored = machine.numbers();
    assert!(stored.len() as u64 >= first.acknowledged);
    assert!(stored.iter().copied().eq(0..stored.len() as u64), "in order, without a gap");
    assert_eq!(machine.numbers_after_power_loss(), stored);

    // While the disk is full nothing more is taken, and nothing is left behind by asking.
    let again = machine.upload();
    assert_eq!(again.last["error"]["code"], "disk-full");
    let one = br#"{"specversion":"1.0","id":"x","source":"urn:test","type":"x.one","subject":"x"}"#;
    let refused = machine.client().post(EVENTS, "application/cloudevents+json", one).unwrap();
    assert_eq!((refused.status, &json_of(&refused)["sideEffects"]), (507, &"none".into()));
    assert_eq!(machine.numbers(), stored);

    machine.give_room();
    let rest = machine.upload().last["end"].clone();
    let missing = LINES - stored.len() as u64;
    assert_eq!((&rest["created"], &rest["duplicates"]), (&missing.into(), &(stored.len() as u64).into()));
    assert!(machine.numbers().into_iter().eq(0..LINES), "each once, in order");
}

/// A file of tool calls.
fn actions(folder: &Path) -> PathBuf {
    let call = |number: u64| {
        let call = json!({"at": "2026-01-05T15:02:06.978Z", "session": "s", "call": format!("c{number}"), "tool": "Bash",
            "input": {"command": noise(number)}, "outcome": "ok", "ended_at": "2026-01-05T15:02:07Z"});
        call.to_string() + "\n"
    };
    let file = folder.join("actions.ndjson");
    fs::write(&file, (0..LINES).map(call).collect::<String>()).unwrap();
    file
}

fn import(machine: &FullDiskService, file: &Path) -> Child {
    let mut import = Command::new(PROGRAM);
    import.args(["import", "--json", "--url"]).arg(format!("http://{}", machine.address)).arg(file);
    import.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn summary(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn why(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_import_onto_a_full_disk_waits_for_room_and_ends_with_a_remedy_where_none_comes() {
    let folder = tempfile::tempdir().unwrap();
    let file = actions(folder.path());
    // Two at once, since each of them waits as long as the program does.
    let (left_alone, helped) = (FullDiskService::nearly_full(10), FullDiskService::nearly_full(11));
    let (ending, waiting) = (import(&left_alone, &file), import(&helped, &file));
    let since = Instant::now();
    while helped.takes_appends() {
        assert!(since.elapsed() < PATIENCE, "the disk does not become full");
        thread::sleep(Duration::from_millis(10));
    }
    helped.simulation.disk.set_capacity(None);
    let done = waiting.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", why(&done));
    let done = summary(&done);
    assert!(done["retries"].as_u64().unwrap() > 0, "{done}");

    let ended = ending.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", why(&ended));
    let told = why(&ended);
    assert!(
        told.contains("the disk is full") && told.contains("run the same import again to go on"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    let before = summary(&ended)["created"].as_u64().unwrap();
    assert!(before > 0, "{told}");
    left_alone.give_room();
    let again = summary(&import(&left_alone, &file).wait_with_output().unwrap());
    assert_eq!(again["created"].as_u64().unwrap() + before, done["created"].as_u64().unwrap());
}

#[test]
fn a_quickstart_that_can_write_no_segment_ends_with_the_place_and_a_remedy() {
    for blocks in FILE_BLOCKS {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        // Without the trap the system would end the program before it could say anything.
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", blocks, PROGRAM]);
        shell.args(["quickstart", "--exit", "--events", "1000", "--listen", "127.0.0.1:0", "--folder", "q"]);
        let output = shell.current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", why(&output));
        assert!(output.stdout.is_empty());
        let told = why(&output);
        let last = told.lines().last().unwrap();
        assert!(
            last.starts_with("bitacora: ") && last.contains("stays in q, which can be removed"),
            "{told}"
        );
        assert!(
            last.ends_with("make room on this disk, or name a folder on another one with --folder"),
            "{told}"
        );
    }
}

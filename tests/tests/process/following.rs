//! Followers through `kill -9` of the service: every position once, in order, nothing missing.
//!
//! `BITACORA_FOLLOWED_KILLS=500 cargo test --release -p bitacora-tests --test process following` runs longer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

use crate::PROGRAM;
use crate::kills::{Clients, read_all};

const DEFAULT_KILLS: u64 = 20;
const CALLERS: u64 = 2;
/// The time that followers may take to begin, and to see the last event once the killing is over.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn following_through_kills_loses_and_repeats_nothing() {
    let kills = std::env::var("BITACORA_FOLLOWED_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills = kills.unwrap_or(DEFAULT_KILLS);
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let (clients, mut random) = (Clients::default(), SeededRandom::new(7));
    let mut service = place.start().unwrap();
    let all = Tail::start(&place, &["--from", "start"]);
    let some = Tail::start(&place, &["--from", "start", "--stream", "s3"]);
    clients.send_some(service.address, 7);
    // A follower waits for a service that was there once, and for no other.
    wait_until("a tail begins", || all.seen() > 0 && some.seen() > 0);
    let raw = RawFollower { address: Mutex::new(service.address), ..RawFollower::default() };
    thread::scope(|scope| {
        let _stopped = RaisedAtEnd::of(&raw.stop);
        scope.spawn(|| raw.follow());
        for _ in 0..kills {
            let (address, stop) = (service.address, AtomicBool::new(false));
            thread::scope(|scope| {
                let _stopped = RaisedAtEnd::of(&stop);
                for _ in 0..CALLERS {
                    scope.spawn(|| clients.load(address, &stop));
                }
                thread::sleep(Duration::from_millis(20 + random.below(200)));
                service.kill().unwrap();
            });
            service = place.start().unwrap();
            *raw.address.lock().unwrap() = service.address;
        }
        let mut client = HttpClient::connect(service.address).unwrap();
        clients.settle(&mut client);
        let stored = read_all(&mut client);
        let tip = stored.len() as u64;
        let of_stream: Vec<&Value> =
            stored.iter().filter(|stored| stored["event"]["subject"] == "s3").collect();
        let last = of_stream.last().unwrap()["position"].as_str().unwrap().parse().unwrap();
        wait_until("followers come to the end", || {
            all.seen() >= tip && some.seen() >= last && raw.seen.load(Ordering::Relaxed) >= tip
        });
        raw.stop.store(true, Ordering::Relaxed);
        let every: Vec<&Value> = stored.iter().collect();
        assert!(raw.events.lock().unwrap().iter().eq(every.iter().copied()), "the raw follower");
        assert!(all.end().iter().eq(every), "tail");
        assert!(some.end().iter().eq(of_stream), "tail of one stream");
        let acknowledged = clients.acknowledged.lock().unwrap();
        assert!(!acknowledged.is_empty() && acknowledged.values().all(|position| *position <= tip));
        service.terminate().unwrap();
        eprintln!("{kills} kills, {} events acknowledged, {tip} followed", acknowledged.len());
    });
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// `bitacora tail --json` beside the killing.
struct Tail {
    child: Child,
    lines: Option<thread::JoinHandle<Vec<Value>>>,
    seen: std::sync::Arc<AtomicU64>,
}

impl Tail {
    fn start(place: &ServiceFolder, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["tail", "--json", "--url"]).arg(format!("unix:{}", place.socket().display()));
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let seen = std::sync::Arc::new(AtomicU64::new(0));
        let told = std::sync::Arc::clone(&seen);
        let lines = thread::spawn(move || {
            let read = |line: std::io::Result<String>| serde_json::from_str(&line.unwrap()).unwrap();
            let lines = stdout.lines().map(read).inspect(|line: &Value| {
                told.store(line["position"].as_str().unwrap().parse().unwrap(), Ordering::Relaxed);
            });
            lines.collect()
        });
        Self { child, lines: Some(lines), seen }
    }

    fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Interrupts it; returns what it wrote.
    fn end(mut self) -> Vec<Value> {
        assert!(
            Command::new("kill").arg("-INT").arg(self.child.id().to_string()).status().unwrap().success()
        );
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE, "tail does not end when it is interrupted");
            thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        self.lines.take().unwrap().join().unwrap()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client of a few lines, as anybody may write one: it sends the last id it has, and keeps whole messages alone.
struct RawFollower {
    address: Mutex<SocketAddr>,
    events: Mutex<Vec<Value>>,
    seen: AtomicU64,
    stop: AtomicBool,
}

impl Default for RawFollower {
    fn default() -> Self {
        Self {
            address: Mutex::new(SocketAddr::from(([127, 0, 0, 1], 0))),
            events: Mutex::default(),
            seen: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }
}

impl RawFollower {
    fn follow(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            // However a stream breaks, the next one goes on where it ended.
            if self.follow_once().is_err() {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn follow_once(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(*self.address.lock().unwrap())?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let head = format!(
            "GET /v1/ledgers/main/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: {}\r\n\r\n",
            self.seen.load(Ordering::Relaxed)
        );
        stream.write_all(head.as_bytes())?;
        let (mut received, mut text) = (Vec::new(), Vec::new());
        let mut bytes = vec![0; 64 * 1024];
        while !self.stop.load(Ordering::Relaxed) {
            match stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(read) => received.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            unchunk(&mut received, &mut text);
            while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = text.drain(..end + 2).collect();
                self.take(std::str::from_utf8(&block).unwrap());
            }
        }
        Ok(())
    }

    fn take(&self, block: &str) {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let (Some(id), Some(data), None) = (field("id: "), field("data: "), field("event: ")) else { return };
        let id: u64 = id.parse().unwrap();
        assert_eq!(id, self.seen.load(Ordering::Relaxed) + 1, "the next one, and no other");
        self.events.lock().unwrap().push(serde_json::from_str(data).unwrap());
        self.seen.store(id, Ordering::Relaxed);
    }
}

/// Moves whole chunks of a chunked answer from what was received to its text. The head goes first, as far as it is whole.
pub(crate) fn unchunk(received: &mut Vec<u8>, text: &mut Vec<u8>) {
    if received.starts_with(b"HTTP") {
        let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else { return };
        assert!(received.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(received));
        received.drain(..end + 4);
    }
    while let Some(line) = received.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&received[..line]).unwrap(), 16).unwrap();
        if received.len() < line + 2 + size + 2 {
            return;
        }
        text.extend_from_slice(&received[line + 2..line + 2 + size]);
        received.drain(..line + 2 + size + 2);
    }
}

//! A thousand followers of one service, each on a stream of its own.
//! All of them see every position once and in order, whatever stalled followers do, and the writer waits for nobody.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::PROGRAM;
use crate::following::unchunk;

/// As many as the service takes, less some.
const SUBSCRIBERS: usize = 1_000;
/// Those of them that read nothing until all others have seen everything.
const STANDING_STILL: usize = 50;
/// Bytes that one that stands still takes before its peer has to wait, as far as the system can be told.
const RECEIVE_BUFFER_BYTES: u32 = 4 * 1024;
/// Descriptors of this process besides the streams.
const OWN_DESCRIPTORS: u64 = 256;

/// The requests in the ledger before anybody follows: more than a connection's buffers hold.
const REQUESTS_BEFORE: u64 = 16;
const EVENTS_BEFORE: u64 = 500;
/// The requests that are appended while they follow.
const REQUESTS: u64 = 100;
const EVENTS: u64 = 2;
/// The prefix of their ids.
const WHILE: &str = "while-they-follow";
/// No append waits longer for its answer, and nobody longer for an event.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time that all may take to begin, and that one that stood still may take to read what it left.
const LATE_PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_thousand_subscribers_see_every_position_once_and_hold_up_nobody() {
    if !may_open(SUBSCRIBERS as u64 + OWN_DESCRIPTORS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut service = ServiceFolder::new(PROGRAM, folder.path()).start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    for request in 0..REQUESTS_BEFORE {
        append(&mut client, "before", request, EVENTS_BEFORE);
    }
    let before = tip(&mut client);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let address = service.address;
        let mut still = Vec::new();
        for _ in 0..STANDING_STILL {
            still.push(Stream::open(address, 0, Some(RECEIVE_BUFFER_BYTES)).await.unwrap());
        }
        let mut reading = JoinSet::new();
        // Nothing is appended before all of them have heard that they have caught up.
        let ready = Arc::new(Barrier::new(SUBSCRIBERS - STANDING_STILL + 1));
        for _ in STANDING_STILL..SUBSCRIBERS {
            let ready = Arc::clone(&ready);
            reading.spawn(async move {
                let mut stream = Stream::open(address, before, None).await.unwrap();
                stream.read_until(|stream| stream.has_caught_up).await;
                ready.wait().await;
                stream.read_until(|stream| stream.of_writer == REQUESTS * EVENTS).await;
                assert!(!stream.lagged);
            });
        }
        tokio::time::timeout(LATE_PATIENCE, ready.wait()).await.unwrap();
        let writer = tokio::task::spawn_blocking(move || {
            for request in 0..REQUESTS {
                let began = Instant::now();
                append(&mut client, WHILE, request, EVENTS);
                assert!(began.elapsed() < PATIENCE, "an append took {:?}", began.elapsed());
            }
            metric(&mut client, "bitacora_http_followers ")
        });
        assert_eq!(writer.await.unwrap(), SUBSCRIBERS as u64, "nobody was sent away");
        while let Some(done) = reading.join_next().await {
            done.unwrap();
        }
        // A follower that comes to it late finds it in order and without a gap, to the end or to where it is told that it lagged.
        for mut stream in still {
            assert!(stream.seen == 0, "it has read nothing");
            let read = stream.read_until(|stream| stream.of_writer == REQUESTS * EVENTS || stream.lagged);
            tokio::time::timeout(LATE_PATIENCE, read).await.unwrap();
            assert!(stream.seen > 0);
        }
    });
    service.terminate().unwrap();
}

/// Returns `true` if so many descriptors may be open at once; says so if they may not.
fn may_open(wanted: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return true;
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).is_ok();
    if !raised {
        let notice = format!("NOT RUN: {wanted} descriptors are needed, {:?} are allowed\n", limit.maximum);
        // Past the harness, which shows nobody what a passing test prints.
        io::stderr().write_all(notice.as_bytes()).unwrap();
    }
    raised
}

fn append(client: &mut HttpClient, name: &str, request: u64, events: u64) {
    let event = |number: u64| {
        let id = format!("{name}-{request}-{number}");
        json!({"specversion": "1.0", "id": id, "source": "urn:test", "type": "x.noted", "subject": "s",
            "data": {"text": "some words that fill an event to its usual size. ".repeat(4)}})
    };
    let body = json!((0..events).map(event).collect::<Vec<_>>()).to_string();
    let answer = client.post("/v1/ledgers/main/events", "application/json", body.as_bytes()).unwrap();
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
}

fn tip(client: &mut HttpClient) -> u64 {
    let head = client.get("/v1/ledgers/main/head", "application/json").unwrap();
    let head: serde_json::Value = serde_json::from_slice(&head.body).unwrap();
    head["position"].as_str().unwrap().parse().unwrap()
}

fn metric(client: &mut HttpClient, name: &str) -> u64 {
    let metrics = String::from_utf8(client.get("/metrics", "*/*").unwrap().body).unwrap();
    metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
}

/// One subscriber's connection, and how far it has seen.
struct Stream {
    connection: TcpStream,
    received: Vec<u8>,
    text: Vec<u8>,
    /// The last position that was told.
    seen: u64,
    /// Events among them that were appended while it followed; others are the ledger's own.
    of_writer: u64,
    has_caught_up: bool,
    lagged: bool,
}

impl Stream {
    /// Asks for everything past a position.
    async fn open(address: SocketAddr, after: u64, receive_buffer: Option<u32>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        let mut connection = socket.connect(address).await?;
        let head = format!(
            "GET /v1/ledgers/main/events?after={after} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).await?;
        let (received, text) = (Vec::new(), Vec::new());
        Ok(Self {
            connection,
            received,
            text,
            seen: after,
            of_writer: 0,
            has_caught_up: false,
            lagged: false,
        })
    }

    async fn read_until(&mut self, is_enough: impl Fn(&Self) -> bool) {
        let mut bytes = vec![0; 16 * 1024];
        while !is_enough(self) {
            let read = tokio::time::timeout(2 * PATIENCE, self.connection.read(&mut bytes)).await;
            let read = read.unwrap_or_else(|_| panic!("nothing came after {}", self.seen)).unwrap();
            assert!(read > 0, "the stream ended after {}", self.seen);
            self.received.extend_from_slice(&bytes[..read]);
            unchunk(&mut self.received, &mut self.text);
            let mut begin = 0;
            while let Some(end) = self.text[begin..].windows(2).position(|two| two == b"\n\n") {
                let block = String::from_utf8(self.text[begin..begin + end].to_vec()).unwrap();
                self.take(&block);
                begin += end + 2;
            }
            self.text.drain(..begin);
        }
    }

    fn take(&mut self, block: &str) {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        match field("event: ") {
            Some("caught-up") => self.has_caught_up = true,
            Some("lagged") => self.lagged = true,
            Some(other) => panic!("{other}: {block}"),
            None => {}
        }
        if let (Some(id), Some(data), None) = (field("id: "), field("data: "), field("event: ")) {
            let id = id.parse::<u64>().unwrap();
            assert_eq!(id, self.seen + 1, "the next one, and no other");
            assert!(data.starts_with(&format!("{{\"position\":\"{id}\",")), "{data}");
            self.seen = id;
            self.of_writer += u64::from(data.contains(WHILE));
        }
    }
}

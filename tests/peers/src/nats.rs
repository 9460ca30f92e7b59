//! NATS JetStream: a stream in files; whether an answer means synced is a setting, and not its default.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::closed_loop::{Loop, PeerClient, event_loop};
use crate::daemon::{Daemon, free_address, version};
use crate::events::PeerEvent;
use crate::results::Peer;
use crate::{PeerError, SHAPES};

struct NatsConnection {
    stream: BufReader<TcpStream>,
    inbox: String,
    request: Vec<u8>,
    line: Vec<u8>,
    payload: Vec<u8>,
}

impl NatsConnection {
    async fn open(address: SocketAddr, number: usize) -> Result<Self, PeerError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream = BufReader::with_capacity(256 * 1024, stream);
        let inbox = format!("inbox.{number}");
        let (request, line, payload) = (Vec::new(), Vec::new(), Vec::new());
        let mut connection = Self { stream, inbox, request, line, payload };
        connection.next_line().await?;
        let hello = r#"{"verbose":false,"pedantic":false,"headers":false,"name":"peers","lang":"rust","version":"0"}"#;
        let subscribe = format!("CONNECT {hello}\r\nSUB {} 1\r\n", connection.inbox);
        connection.request.extend_from_slice(subscribe.as_bytes());
        connection.send().await?;
        Ok(connection)
    }

    fn publish(&mut self, subject: &str, payload: &[&[u8]]) {
        let bytes: usize = payload.iter().map(|piece| piece.len()).sum();
        self.request.extend_from_slice(format!("PUB {subject} {} {bytes}\r\n", self.inbox).as_bytes());
        payload.iter().for_each(|piece| self.request.extend_from_slice(piece));
        self.request.extend_from_slice(b"\r\n");
    }

    async fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.request).await?;
        self.request.clear();
        Ok(())
    }

    async fn next_line(&mut self) -> Result<&str, PeerError> {
        self.line.clear();
        if self.stream.read_until(b'\n', &mut self.line).await? == 0 {
            return Err("nats hung up".into());
        }
        Ok(std::str::from_utf8(&self.line)?.trim_end())
    }

    /// The payload of the next message.
    async fn message(&mut self) -> Result<&[u8], PeerError> {
        loop {
            let line = self.next_line().await?;
            if line.starts_with("MSG ") {
                let bytes: usize = line.rsplit(' ').next().unwrap_or_default().parse()?;
                self.payload.resize(bytes + 2, 0);
                self.stream.read_exact(&mut self.payload).await?;
                return Ok(&self.payload[..bytes]);
            } else if line == "PING" {
                self.stream.write_all(b"PONG\r\n").await?;
            } else if line.starts_with("-ERR") {
                return Err(format!("nats said {line}").into());
            }
        }
    }

    async fn ask(&mut self, subject: &str, question: &Value) -> Result<Value, PeerError> {
        self.publish(subject, &[question.to_string().as_bytes()]);
        self.send().await?;
        let answer: Value = serde_json::from_slice(self.message().await?)?;
        if answer.get("error").is_some() {
            return Err(format!("nats said {answer}").into());
        }
        Ok(answer)
    }
}

impl PeerClient for NatsConnection {
    async fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError> {
        for event in &events {
            let subject = format!("events.{}", event.stream.replace('/', "."));
            self.publish(&subject, &[event.id.as_bytes(), b" tool.requested ", event.data.as_bytes()]);
        }
        self.send().await?;
        for _ in &events {
            let answer = self.message().await?;
            if !answer.starts_with(br#"{"stream":"#) {
                return Err(format!("nats said {}", String::from_utf8_lossy(answer)).into());
            }
        }
        Ok(())
    }
}

pub fn sync_always(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    measure(folder, times, "NATS JetStream, sync always", "sync_interval: always", true)
}

pub fn sync_default(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    measure(folder, times, "NATS JetStream, default", "", false)
}

fn measure(folder: &Path, times: &Loop, name: &str, sync: &str, is_durable: bool) -> Result<Peer, PeerError> {
    let address = free_address()?;
    let configuration = folder.join("configuration");
    let store = folder.join("store");
    fs::write(
        &configuration,
        format!(
            "listen: \"{address}\"\nmax_pending: 1GB\njetstream {{\n store_dir: \"{}\"\n max_file_store: 100GB\n {sync}\n}}\n",
            store.display()
        ),
    )?;
    let program = std::env::var("NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
    let mut command = Command::new(&program);
    command.arg("-c").arg(&configuration);
    let daemon = Daemon::start(command, address, folder)?;
    let runtime = event_loop()?;
    runtime.block_on(async {
        let mut session = NatsConnection::open(daemon.address, 0).await?;
        let stream = json!({"name": "EVENTS", "subjects": ["events.>"], "storage": "file", "retention": "limits",
            "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "num_replicas": 1, "discard": "old"});
        session.ask("$JS.API.STREAM.CREATE.EVENTS", &stream).await?;
        let mut peer = Peer {
            name: name.to_owned(),
            version: version(&program)?,
            settings: if is_durable { sync.to_owned() } else { "sync_interval 2 minutes".to_owned() },
            is_durable,
            ..Peer::default()
        };
        for shape in SHAPES {
            let mut clients = Vec::new();
            for number in 0..shape.clients {
                clients.push(NatsConnection::open(daemon.address, 1 + number).await?);
            }
            peer.appends.push(times.drive(shape, clients).await?);
        }
        peer.scan_events_per_s = Some(scan(session).await?);
        Ok(peer)
    })
}

/// Pushed to one consumer that acknowledges nothing, which is its fastest way.
async fn scan(mut session: NatsConnection) -> Result<f64, PeerError> {
    let information = session.ask("$JS.API.STREAM.INFO.EVENTS", &json!({})).await?;
    let events = information["state"]["messages"].as_u64().ok_or("a stream without a count")?;
    session.stream.write_all(b"SUB scanned 2\r\n").await?;
    let consumer = json!({"stream_name": "EVENTS", "config": {"deliver_subject": "scanned", "ack_policy": "none",
        "deliver_policy": "all", "replay_policy": "instant"}});
    let began = Instant::now();
    session.publish("$JS.API.CONSUMER.CREATE.EVENTS", &[consumer.to_string().as_bytes()]);
    session.send().await?;
    // The answer to the question, which may come before or after the first of them.
    for _ in 0..=events {
        session.message().await?;
    }
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

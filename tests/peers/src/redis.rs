//! Redis Streams: every command logged and synced before it is answered.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::closed_loop::{Loop, PeerClient, event_loop};
use crate::daemon::{Daemon, free_address, version};
use crate::events::PeerEvent;
use crate::results::Peer;
use crate::{PeerError, SHAPES};

const STREAM: &str = "events";
/// Entries of one read.
const PAGE_EVENTS: &str = "1000";
const SETTINGS: [&str; 8] =
    ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--auto-aof-rewrite-percentage", "0"];

struct RedisConnection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
}

/// A reply, as far as it is looked at.
struct Reply {
    /// Bulk strings in it, at any depth.
    strings: usize,
    /// The last one that is an entry's id: digits, a dash, digits.
    last_id: Option<Vec<u8>>,
}

impl RedisConnection {
    async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), request: Vec::new() })
    }

    fn command(&mut self, words: &[&str]) {
        self.request.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            self.request.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
    }

    async fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.request).await?;
        self.request.clear();
        Ok(())
    }

    async fn reply(&mut self) -> Result<Reply, PeerError> {
        let mut reply = Reply { strings: 0, last_id: None };
        let (mut open, mut line, mut string) = (1_i64, Vec::new(), Vec::new());
        while open > 0 {
            open -= 1;
            line.clear();
            self.stream.read_until(b'\n', &mut line).await?;
            let text = std::str::from_utf8(&line)?.trim_end();
            let number = || text.get(1..).and_then(|digits| digits.parse::<i64>().ok());
            match (text.chars().next(), number()) {
                (Some('*'), Some(count)) => open += count.max(0),
                (Some('$'), Some(bytes)) if bytes >= 0 => {
                    string.resize(usize::try_from(bytes)? + 2, 0);
                    self.stream.read_exact(&mut string).await?;
                    reply.strings += 1;
                    let word = &string[..string.len() - 2];
                    let is_id = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
                    if word.len() > 13 && word[0].is_ascii_digit() && word.iter().all(is_id) {
                        reply.last_id = Some(word.to_vec());
                    }
                }
                (Some('+' | ':' | '$'), _) => {}
                _ => return Err(format!("redis said {text}").into()),
            }
        }
        Ok(reply)
    }
}

impl PeerClient for RedisConnection {
    async fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError> {
        for event in &events {
            let data = event.data;
            self.command(&[
                "XADD",
                STREAM,
                "*",
                "id",
                &event.id,
                "stream",
                &event.stream,
                "type",
                "tool.requested",
                "data",
                data,
            ]);
        }
        self.send().await?;
        for _ in &events {
            self.reply().await?;
        }
        Ok(())
    }
}

pub fn measure(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    let address = free_address()?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--dir"]).arg(folder);
    command.args(SETTINGS);
    let daemon = Daemon::start(command, address, folder)?;
    let runtime = event_loop()?;
    runtime.block_on(async {
        let mut peer = Peer {
            name: "Redis Streams".to_owned(),
            version: version("redis-server")?.split(" sha=").next().unwrap_or_default().to_owned(),
            settings: "appendonly yes, appendfsync always; requests of 100 pipelined, not atomic".to_owned(),
            is_durable: true,
            ..Peer::default()
        };
        for shape in SHAPES {
            let mut clients = Vec::new();
            for _ in 0..shape.clients {
                clients.push(RedisConnection::open(daemon.address).await?);
            }
            peer.appends.push(times.drive(shape, clients).await?);
        }
        peer.scan_events_per_s = Some(scan(RedisConnection::open(daemon.address).await?).await?);
        Ok(peer)
    })
}

async fn scan(mut connection: RedisConnection) -> Result<f64, PeerError> {
    /// An entry's id, and four names with their values.
    const STRINGS_AN_EVENT: usize = 9;
    let (began, mut events, mut from) = (Instant::now(), 0, "-".to_owned());
    loop {
        connection.command(&["XRANGE", STREAM, &from, "+", "COUNT", PAGE_EVENTS]);
        connection.send().await?;
        let reply = connection.reply().await?;
        events += reply.strings / STRINGS_AN_EVENT;
        match reply.last_id {
            Some(last) => from = format!("({}", String::from_utf8(last)?),
            None => break,
        }
    }
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

//! PostgreSQL: rows inserted or copied, each commit synced.

use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::time::Instant;

use futures_util::{SinkExt, StreamExt};
use tokio_postgres::{Client as Session, NoTls, Statement};

use crate::closed_loop::{Loop, PeerClient, event_loop};
use crate::daemon::{Daemon, as_user, free_address, version};
use crate::events::PeerEvent;
use crate::results::Peer;
use crate::{PeerError, SHAPES};

const USER: &str = "postgres";
const INSERT: &str = "INSERT INTO events (id, stream, kind, data) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])";
const INSERT_ONE: &str = "INSERT INTO events (id, stream, kind, data) VALUES ($1, $2, $3, $4)";
const COPY: &str = "COPY events (id, stream, kind, data) FROM STDIN";
const KIND: &str = "tool.requested";
/// Room enough that no checkpoint falls into a measurement for want of it.
const SETTINGS: [&str; 6] = [
    "synchronous_commit=on",
    "fsync=on",
    "wal_sync_method=fdatasync",
    "shared_buffers=1GB",
    "max_wal_size=16GB",
    "max_connections=100",
];

enum InsertMethod {
    Insert { one: Statement, many: Statement },
    Copy,
}

struct PostgresConnection {
    session: Session,
    way: InsertMethod,
}

impl PeerClient for PostgresConnection {
    async fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError> {
        let session = &self.session;
        match &self.way {
            InsertMethod::Insert { one, .. } if events.len() == 1 => {
                let event = &events[0];
                session.execute(one, &[&event.id, &event.stream, &KIND, &event.data]).await?;
            }
            InsertMethod::Insert { many, .. } => {
                let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
                let streams: Vec<&str> = events.iter().map(|event| event.stream.as_str()).collect();
                let kinds = vec![KIND; events.len()];
                let data: Vec<&str> = events.iter().map(|event| event.data).collect();
                session.execute(many, &[&ids, &streams, &kinds, &data]).await?;
            }
            InsertMethod::Copy => {
                let mut rows = String::new();
                for event in &events {
                    // Nothing in the events needs escaping but backslashes, and they hold none.
                    rows.extend([&event.id, "\t", &event.stream, "\t", KIND, "\t", event.data, "\n"]);
                }
                let mut sink = pin!(session.copy_in(COPY).await?);
                sink.send(std::io::Cursor::new(rows.into_bytes())).await?;
                sink.finish().await?;
            }
        }
        Ok(())
    }
}

pub fn insert(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    measure(folder, times, "PostgreSQL, INSERT", true)
}

pub fn copy(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    measure(folder, times, "PostgreSQL, COPY", false)
}

fn measure(folder: &Path, times: &Loop, name: &str, inserts: bool) -> Result<Peer, PeerError> {
    let data = folder.join("data");
    let mut begin = Command::new("initdb");
    begin.args(["--auth=trust", "--encoding=UTF8", "--no-locale", "--username", USER, "--pgdata"]).arg(&data);
    let begun = as_user(begin, USER, folder)?.output().map_err(|error| format!("initdb: {error}"))?;
    if !begun.status.success() {
        return Err(format!("initdb: {}", String::from_utf8_lossy(&begun.stderr)).into());
    }
    let address = free_address()?;
    let mut command = Command::new("postgres");
    command.arg("-D").arg(&data).arg("-k").arg(folder).args(["-h", "127.0.0.1", "-p"]);
    command.arg(address.port().to_string());
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    let daemon = Daemon::start(as_user(command, USER, folder)?, address, folder)?;
    let runtime = event_loop()?;
    runtime.block_on(async {
        let session = connect(&daemon).await?;
        session
            .batch_execute(
                "CREATE TABLE events (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                 id text NOT NULL, stream text NOT NULL, kind text NOT NULL, data text NOT NULL)",
            )
            .await?;
        let mut peer = Peer {
            name: name.to_owned(),
            version: version("postgres")?,
            settings: SETTINGS.join(", "),
            is_durable: true,
            ..Peer::default()
        };
        for shape in SHAPES {
            let mut clients = Vec::new();
            for _ in 0..shape.clients {
                let session = connect(&daemon).await?;
                let way = if inserts {
                    let (one, many) = (session.prepare(INSERT_ONE).await?, session.prepare(INSERT).await?);
                    InsertMethod::Insert { one, many }
                } else {
                    InsertMethod::Copy
                };
                clients.push(PostgresConnection { session, way });
            }
            peer.appends.push(times.drive(shape, clients).await?);
        }
        peer.scan_events_per_s = Some(scan(&session).await?);
        Ok(peer)
    })
}

async fn connect(daemon: &Daemon) -> Result<Session, PeerError> {
    let port = daemon.address.port();
    let settings = format!("host=127.0.0.1 port={port} user={USER} dbname=postgres");
    // It listens a little before it lets anyone in.
    for _ in 0..100 {
        if let Ok((session, connection)) = tokio_postgres::connect(&settings, NoTls).await {
            tokio::spawn(connection);
            return Ok(session);
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Err("nobody is let in".into())
}

/// Copied out, which is its fastest way.
async fn scan(session: &Session) -> Result<f64, PeerError> {
    let began = Instant::now();
    let all = "COPY (SELECT position, id, stream, kind, data FROM events ORDER BY position) TO STDOUT";
    let mut rows = pin!(session.copy_out(all).await?);
    let mut events = 0;
    while let Some(piece) = rows.next().await {
        events += piece?.iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

//! SQLite in this process: write-ahead log, a sync for every transaction.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::{Connection, params};

use crate::closed_loop::{BlockingClient, Loop};
use crate::events::PeerEvent;
use crate::results::Peer;
use crate::{PeerError, SHAPES};

/// SQLite has one writer at a time: clients take turns at one connection, which costs them less than its own locks.
struct SqliteClient(Arc<Mutex<Connection>>);

impl BlockingClient for SqliteClient {
    fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError> {
        let mut connection = self.0.lock().map_err(|_| "a client panicked")?;
        let transaction = connection.transaction()?;
        let mut insert =
            transaction.prepare_cached("INSERT INTO events (id, stream, kind, data) VALUES (?, ?, ?, ?)")?;
        for event in &events {
            insert.execute(params![event.id, event.stream, "tool.requested", event.data])?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }
}

pub fn measure(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    let connection = Connection::open(folder.join("events.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE events (position INTEGER PRIMARY KEY, id TEXT, stream TEXT, kind TEXT, data TEXT);",
    )?;
    let connection = Arc::new(Mutex::new(connection));
    let mut peer = Peer {
        name: "SQLite".to_owned(),
        version: format!("SQLite {}", rusqlite::version()),
        settings: "journal_mode WAL, synchronous FULL, one connection".to_owned(),
        is_durable: true,
        is_in_process: true,
        ..Peer::default()
    };
    for shape in SHAPES {
        let clients = (0..shape.clients).map(|_| SqliteClient(Arc::clone(&connection))).collect();
        peer.appends.push(times.drive_threads(shape, clients)?);
    }
    let connection = connection.lock().map_err(|_| "a client panicked")?;
    let began = Instant::now();
    let mut select =
        connection.prepare("SELECT position, id, stream, kind, data FROM events ORDER BY position")?;
    let mut rows = select.query([])?;
    let (mut events, mut bytes) = (0_u64, 0);
    while let Some(row) = rows.next()? {
        events += 1;
        bytes += row.get_ref(1)?.as_str()?.len() + row.get_ref(4)?.as_str()?.len();
    }
    assert!(bytes > 0);
    peer.scan_events_per_s = Some(events as f64 / began.elapsed().as_secs_f64());
    Ok(peer)
}

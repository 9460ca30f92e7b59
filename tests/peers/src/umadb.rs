//! UmaDB in this process: its storage engine and its own writer thread, without the server around them.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot, watch};
use umadb_core::db::UmaDb;
use umadb_core::mvcc::{Mvcc, StorageOptions};
use umadb_core::writer_thread_blocking::writer_thread_blocking;
use umadb_core::writer_thread_request::WriterThreadRequest;
use umadb_dcb::{DcbEvent, DcbEventStoreSync};

use crate::closed_loop::{Loop, PeerClient, event_loop};
use crate::events::PeerEvent;
use crate::results::Peer;
use crate::{PeerError, SHAPES};

/// As its server has them.
const QUEUE_REQUESTS: usize = 2_048;
const BATCH_EVENTS: usize = 2_048;
/// Events of one read.
const PAGE_EVENTS: u32 = 10_000;

struct UmadbWriter(mpsc::Sender<WriterThreadRequest>);

impl PeerClient for UmadbWriter {
    async fn append(&mut self, events: Vec<PeerEvent>) -> Result<(), PeerError> {
        let of = |event: PeerEvent| {
            DcbEvent::new().event_type("tool.requested").tags([event.stream]).data(event.data.as_bytes())
        };
        let (response_tx, response) = oneshot::channel();
        let request = WriterThreadRequest::Append {
            events: events.into_iter().map(of).collect(),
            condition: None,
            tracking_info: None,
            response_tx,
            cancel: None,
        };
        self.0.send(request).await.map_err(|_| "its writer ended")?;
        response.await??;
        Ok(())
    }
}

pub fn measure(folder: &Path, times: &Loop) -> Result<Peer, PeerError> {
    let store = Arc::new(Mvcc::new(false, StorageOptions::default().db_path(folder))?);
    let (requests, received) = mpsc::channel(QUEUE_REQUESTS);
    let (head, _seen) = watch::channel(None);
    let writing = Arc::clone(&store);
    let writer = thread::spawn(move || writer_thread_blocking(writing, received, head, BATCH_EVENTS));
    let mut peer = Peer {
        name: "UmaDB, in process".to_owned(),
        version: "umadb-core 0.7.8".to_owned(),
        settings: "its defaults, one tag an event".to_owned(),
        is_durable: true,
        is_in_process: true,
        ..Peer::default()
    };
    let runtime = event_loop()?;
    for shape in SHAPES {
        let clients = (0..shape.clients).map(|_| UmadbWriter(requests.clone())).collect();
        peer.appends.push(runtime.block_on(times.drive(shape, clients))?);
    }
    runtime.block_on(requests.send(WriterThreadRequest::Shutdown)).map_err(|_| "its writer ended")?;
    writer.join().map_err(|_| "its writer panicked")?;
    peer.scan_events_per_s = Some(scan(&UmaDb::from_arc(store))?);
    Ok(peer)
}

fn scan(store: &UmaDb) -> Result<f64, PeerError> {
    let began = Instant::now();
    let (mut events, mut from) = (0_usize, None);
    loop {
        let (page, _) = store.read_with_head(None, from, false, Some(PAGE_EVENTS))?;
        events += page.len();
        match page.last() {
            Some(last) if page.len() == PAGE_EVENTS as usize => from = Some(last.position + 1),
            _ => break,
        }
    }
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

//! Counters of appends that several threads add to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::writer_state::Counters;

/// Counters that several threads add to.
#[derive(Default)]
pub(crate) struct SharedCounters {
    events: AtomicU64,
    frames: AtomicU64,
    stored_bytes: AtomicU64,
    body_bytes: AtomicU64,
    sync_us: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) redactions: AtomicU64,
}

impl SharedCounters {
    pub(crate) fn frame_synced(&self, events: u64, stored: usize, body: usize) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.stored_bytes.fetch_add(stored as u64, Ordering::Relaxed);
        self.body_bytes.fetch_add(body as u64, Ordering::Relaxed);
    }

    pub(crate) fn sync_took(&self, time: Duration) {
        self.sync_us.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            events: load(&self.events),
            frames: load(&self.frames),
            stored_bytes: load(&self.stored_bytes),
            body_bytes: load(&self.body_bytes),
            sync_us: load(&self.sync_us),
            duplicates: load(&self.duplicates),
            refused: load(&self.refused),
            redactions: load(&self.redactions),
        }
    }
}

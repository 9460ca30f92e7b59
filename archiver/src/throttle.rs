//! The pace of archiving, its progress, and the signal to end it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::archive_scrub_status::ScrubTally;
use crate::limits::{MAX_REST, REST_FACTOR};
use crate::low_priority::{at_low_priority, yield_to_others};

/// The share of the machine that archiving takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchivePace {
    /// All that so many threads can: somebody waits for it.
    Full {
        /// Threads that encode, and that decode.
        threads: usize,
    },
    /// One thread, which rests for longer than it works, and runs when nobody else wants the processor, where threads can: appends
    /// do not notice.
    Background,
}

impl ArchivePace {
    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Full { threads } => threads,
            Self::Background => 1,
        }
    }

    /// Begins a thread of those that take much of the processor.
    pub(crate) fn begin_thread(self) {
        if self == Self::Background {
            yield_to_others();
        }
    }

    /// Does what takes much of the processor and holds nothing that others wait for.
    pub(crate) fn work<T: Send>(self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Full { .. } => work(),
            Self::Background => at_low_priority(work),
        }
    }

    /// Rests after work that began then.
    pub(crate) fn rest_after(self, began: Instant) {
        if self == Self::Background {
            thread::sleep(
                began.elapsed().saturating_mul(REST_FACTOR).clamp(Duration::from_millis(1), MAX_REST),
            );
        }
    }
}

/// The progress of archiving, as other threads see it. Counts since the program began.
#[derive(Debug, Default)]
pub struct ArchiveProgress {
    stop: AtomicBool,
    /// The last archived position.
    archived: AtomicU64,
    /// Events that are due and not archived yet.
    due: AtomicU64,
    packed: AtomicU64,
    read_back: AtomicU64,
    archives: AtomicU64,
    bytes: AtomicU64,
    released: AtomicU64,
    failures: AtomicU64,
    is_failing: AtomicBool,
    /// An archive that the store lacks, of events that lie nowhere else.
    missing: Mutex<Option<String>>,
    /// The rounds of the scrub over archives.
    pub(crate) scrub: Mutex<ScrubTally>,
}

/// An [`ArchiveProgress`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgressCounts {
    /// The last archived position; 0 for none.
    pub archived: u64,
    /// Events that are due and not archived yet.
    pub due: u64,
    /// Events that were packed.
    pub packed: u64,
    /// Events that were read back from a store and compared.
    pub read_back: u64,
    /// Archives that were accepted.
    pub archives: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of segments that were let go.
    pub released_bytes: u64,
    /// Runs that failed.
    pub failures: u64,
    /// `true` if the last run failed.
    pub is_failing: bool,
}

impl ArchiveProgress {
    /// Returns an archive that the store lacked when it was looked last, of events that lie nowhere else.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn looked(&self, missing: Option<String>) {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    }

    /// Has a run end soon. The next one goes on.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if it was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the present progress.
    #[must_use]
    pub fn now(&self) -> ProgressCounts {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        ProgressCounts {
            archived: load(&self.archived),
            due: load(&self.due),
            packed: load(&self.packed),
            read_back: load(&self.read_back),
            archives: load(&self.archives),
            bytes: load(&self.bytes),
            released_bytes: load(&self.released),
            failures: load(&self.failures),
            is_failing: self.is_failing.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn stands(&self, archived: u64, due: u64) {
        self.archived.store(archived, Ordering::Relaxed);
        self.due.store(due, Ordering::Relaxed);
    }

    pub(crate) fn packed(&self, events: u64) {
        self.packed.fetch_add(events, Ordering::Relaxed);
    }

    pub(crate) fn read_back(&self, events: u64) {
        self.read_back.fetch_add(events, Ordering::Relaxed);
    }

    pub(crate) fn accepted(&self, bytes: u64) {
        self.archives.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn released(&self, bytes: u64) {
        self.released.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A run ended, well or not.
    pub fn ended(&self, failed: bool) {
        self.is_failing.store(failed, Ordering::Relaxed);
        self.failures.fetch_add(failed.into(), Ordering::Relaxed);
    }
}

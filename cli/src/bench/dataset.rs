//! The ledger that reads, openings and verifications are measured on: filled first, which is a measurement too.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use bitacora_formats::Keyring;
use bitacora_ledger::{AppendRequest, Environment, Ledger, Options};
use rustix::fs::{Advice, fadvise};

use super::append::{describe_work, event_loop};
use super::latency::{Latencies, as_number};
use super::pool::{self, Caller};
use super::results::Figure;
use super::scratch::{Place, Scratch};
use super::{BenchError, Measurement, Stop, Told, machine};

/// Callers that fill it, and events that each sends at once.
const CALLERS: usize = 8;
const EVENTS_A_REQUEST: usize = 1_000;
/// Events of the stream that is looked for, spread over the whole ledger.
pub(super) const SOUGHT_EVENTS: u64 = 1_000;
/// The stream that is looked for.
const SOUGHT: &str = "session/sought";
/// How often memory is looked at while it is filled.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A filled and closed ledger.
pub(super) struct Dataset {
    pub(super) place: Place,
    pub(super) keyring: Arc<Keyring>,
    pub(super) events: u64,
}

impl Dataset {
    /// Fills a new ledger.
    pub(super) fn make(
        environment: &Environment,
        scratch: &Scratch,
        events: u64,
        stop: &Stop,
        told: Told<'_>,
    ) -> Result<(Self, Measurement), BenchError> {
        pool::prepare();
        let place = scratch.place("dataset")?;
        let keyring = place.begin(environment, &Options::default())?;
        let requests = events.div_ceil(EVENTS_A_REQUEST as u64);
        let dataset = Self { place, keyring, events: requests * EVENTS_A_REQUEST as u64 };
        let what = format!("a load of {} events, {CALLERS} callers × {EVENTS_A_REQUEST}", dataset.events);
        told(&what);
        let ledger = dataset.open(environment)?;
        let measurement = fill(&ledger, requests, Measurement::new("load/8x1000", what), stop)?;
        ledger.close()?;
        Ok((dataset, measurement))
    }

    pub(super) fn open(&self, environment: &Environment) -> Result<Ledger, BenchError> {
        let (folder, keyring) = (self.place.ledger()?, Arc::clone(&self.keyring));
        Ok(Ledger::open(environment, &folder, keyring, Options::default())?)
    }

    /// The path of the sought stream's events over HTTP.
    pub(super) fn sought_path() -> String {
        format!("/v1/ledgers/main/streams/{}/events?limit={SOUGHT_EVENTS}", SOUGHT.replace('/', "%2F"))
    }

    /// Asks the system to forget what it holds in memory of the files.
    pub(super) fn forget_cached(&self) -> Result<(), BenchError> {
        let folder = self.place.data();
        forget_files(&folder).map_err(|source| BenchError::Disk { path: folder, source })
    }
}

fn forget_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_files(&entry.path())?;
        } else if kind.is_file() {
            let file = fs::File::open(entry.path())?;
            // Only what is written back can be forgotten.
            file.sync_data()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// What the callers of a load share.
struct Filling {
    ledger: Ledger,
    /// Requests that nobody has begun.
    left: AtomicU64,
    /// The number of the request that holds the next event of the sought stream, and so on.
    every: u64,
    latencies: Latencies,
    stop: Stop,
}

fn fill(ledger: &Ledger, requests: u64, into: Measurement, stop: &Stop) -> Result<Measurement, BenchError> {
    let runtime = event_loop()?;
    let filling = Arc::new(Filling {
        ledger: ledger.clone(),
        left: AtomicU64::new(requests),
        every: (requests * EVENTS_A_REQUEST as u64 / SOUGHT_EVENTS).max(1),
        latencies: Latencies::new(),
        stop: stop.clone(),
    });
    let (began, before) = (Instant::now(), ledger.status().counters);
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| runtime.spawn(call(Arc::clone(&filling), Caller::new("load", number, CALLERS))))
        .collect();
    let memory = watch_memory(&filling, requests);
    for caller in callers {
        runtime.block_on(caller).map_err(|_| BenchError::Nothing("a caller"))??;
    }
    let (took, status) = (began.elapsed(), ledger.status());
    stop.check()?;
    let into = describe_work(into, &before, &status.counters, took);
    Ok(filling
        .latencies
        .describe(into)
        .with(Figure::Segments, as_number(status.segments as u64))
        .with(Figure::EarlyMemoryBytes, as_number(memory.early))
        .with(Figure::MemoryGrowth, as_number(memory.peak) / as_number(memory.early.max(1)))
        .with(Figure::PeakMemoryBytes, as_number(memory.peak)))
}

/// Memory of this process, early in the load and at most.
#[derive(Default)]
struct Memory {
    early: u64,
    peak: u64,
}

/// Looks until every request is begun.
fn watch_memory(filling: &Filling, requests: u64) -> Memory {
    let mut memory = Memory::default();
    loop {
        let left = filling.left.load(Ordering::Relaxed);
        let now = machine::memory_bytes(std::process::id(), "VmRSS");
        memory.peak = memory.peak.max(now);
        // A quarter in, queues and caches are as full as they get.
        if left >= requests - requests / 4 || memory.early == 0 {
            memory.early = memory.early.max(now);
        }
        if left == 0 || filling.stop.is_set() || !filling.ledger.status().writer.is_ready() {
            return memory;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

async fn call(filling: Arc<Filling>, mut caller: Caller) -> Result<(), BenchError> {
    let one_less = |left: u64| left.checked_sub(1);
    while !filling.stop.is_set() {
        let taken = filling.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        let Ok(left) = taken else { break };
        let mut events = caller.events(EVENTS_A_REQUEST);
        let first = left * EVENTS_A_REQUEST as u64;
        for (number, event) in (first..).zip(&mut events) {
            if number.is_multiple_of(filling.every) {
                event.stream = SOUGHT.into();
            }
        }
        let began = Instant::now();
        filling.ledger.append(AppendRequest::of(events))?.await?;
        filling.latencies.add(began.elapsed());
    }
    Ok(())
}

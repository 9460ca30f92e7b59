//! The filled ledger for reads, openings and verifications; filling it is a measurement too.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use bitacora_formats::Keyring;
use bitacora_ledger::{AppendRequest, Environment, Ledger};
use rustix::fs::{Advice, fadvise};

use super::keyring::options_beside;

use super::append::{describe_work, event_loop};
use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::machine;
use super::plan::MeasurementListener;
use super::pool::{self, Caller};
use super::results::Figure;
use super::results::Measurement;
use super::scratch::{Scratch, ScratchLedger};
use super::stop::StopSignal;

/// The number of callers that fill it, and of events in each request.
const CALLERS: usize = 8;
const EVENTS_A_REQUEST: usize = 1_000;
/// The number of events of each sought stream.
pub(super) const SOUGHT_EVENTS: u64 = 1_000;
/// The number of requests of the smallest ledger: room for both streams.
const MIN_REQUESTS: u64 = 2 * SOUGHT_EVENTS / EVENTS_A_REQUEST as u64;

/// A stream that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// A session like an agent's: for a while it grows beside others, then it ends.
    Session,
    /// A stream that gets an event now and then, over the whole ledger.
    Scattered,
}

impl Sought {
    const fn name(self) -> &'static str {
        match self {
            Self::Session => "session/sought",
            Self::Scattered => "scattered/sought",
        }
    }

    /// Returns the path of the stream's events over HTTP.
    pub(super) fn path(self) -> String {
        let name = self.name().replace('/', "%2F");
        format!("/v1/ledgers/main/streams/{name}/events?limit={SOUGHT_EVENTS}")
    }
}

/// The places of the two streams' events among those of the load, counted from 0. The session takes odd places and the
/// other stream even ones.
#[derive(Debug, Clone, Copy)]
struct Places {
    session_begins: u64,
    session_ends: u64,
    session_every: u64,
    scattered_every: u64,
}

impl Places {
    fn among(events: u64) -> Self {
        let session_every = if events >= SOUGHT_EVENTS * CALLERS as u64 { CALLERS as u64 } else { 2 };
        let length = session_every * SOUGHT_EVENTS;
        let middle = events.saturating_sub(length) / 2;
        let session_begins = middle - middle % session_every;
        let scattered_every = (events / SOUGHT_EVENTS / 2 * 2).max(2);
        Self { session_begins, session_ends: session_begins + length, session_every, scattered_every }
    }

    fn stream_at(&self, place: u64) -> Option<Sought> {
        let in_session = (self.session_begins..self.session_ends).contains(&place);
        if in_session && place % self.session_every == 1 {
            Some(Sought::Session)
        } else {
            place.is_multiple_of(self.scattered_every).then_some(Sought::Scattered)
        }
    }
}
/// The interval between two looks at the memory during filling.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A filled and closed ledger.
pub(super) struct Dataset {
    pub(super) place: ScratchLedger,
    pub(super) keyring: Arc<Keyring>,
    pub(super) events: u64,
}

impl Dataset {
    /// Fills a new ledger.
    pub(super) fn make(
        environment: &Environment,
        scratch: &Scratch,
        events: u64,
        stop: &StopSignal,
        listener: MeasurementListener<'_>,
    ) -> Result<(Self, Measurement), BenchError> {
        pool::prepare();
        let place = scratch.place("dataset")?;
        let keyring = place.begin(environment, &options_beside(&place.keyring(), environment))?;
        let requests = events.div_ceil(EVENTS_A_REQUEST as u64).max(MIN_REQUESTS);
        let dataset = Self { place, keyring, events: requests * EVENTS_A_REQUEST as u64 };
        let what = format!("a load of {} events, {CALLERS} callers × {EVENTS_A_REQUEST}", dataset.events);
        listener(&what);
        let ledger = dataset.open(environment)?;
        let measurement = fill(&ledger, requests, Measurement::new("load/8x1000", what), stop)?;
        ledger.close()?;
        Ok((dataset, measurement))
    }

    pub(super) fn open(&self, environment: &Environment) -> Result<Ledger, BenchError> {
        let (folder, keyring) = (self.place.ledger()?, Arc::clone(&self.keyring));
        let options = options_beside(&self.place.keyring(), environment);
        Ok(Ledger::open(environment, &folder, keyring, options)?)
    }

    /// Asks the system to drop the files from its cache.
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

/// The shared state of a load's callers.
struct LoadState {
    ledger: Ledger,
    /// The number of requests that nobody has begun.
    left: AtomicU64,
    places: Places,
    latencies: Latencies,
    stop: StopSignal,
}

fn fill(
    ledger: &Ledger,
    requests: u64,
    into: Measurement,
    stop: &StopSignal,
) -> Result<Measurement, BenchError> {
    let runtime = event_loop()?;
    let state = Arc::new(LoadState {
        ledger: ledger.clone(),
        left: AtomicU64::new(requests),
        places: Places::among(requests * EVENTS_A_REQUEST as u64),
        latencies: Latencies::new(),
        stop: stop.clone(),
    });
    let (began, before) = (Instant::now(), ledger.status().counters);
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| runtime.spawn(call(Arc::clone(&state), Caller::new("load", number, CALLERS))))
        .collect();
    let memory = watch_memory(&state, requests);
    for caller in callers {
        runtime.block_on(caller).map_err(|_| BenchError::Nothing("a caller"))??;
    }
    let (took, status) = (began.elapsed(), ledger.status());
    stop.check()?;
    let into = describe_work(into, &before, &status.counters, took);
    Ok(state
        .latencies
        .describe(into)
        .with(Figure::Segments, as_number(status.segments as u64))
        .with(Figure::EarlyMemoryBytes, as_number(memory.early))
        .with(Figure::MemoryGrowth, as_number(memory.peak) / as_number(memory.early.max(1)))
        .with(Figure::PeakMemoryBytes, as_number(memory.peak)))
}

/// The memory of this process, early in the load and at most.
#[derive(Default)]
struct Memory {
    early: u64,
    peak: u64,
}

/// Watches the memory until every request is begun.
fn watch_memory(state: &LoadState, requests: u64) -> Memory {
    let mut memory = Memory::default();
    loop {
        let left = state.left.load(Ordering::Relaxed);
        let now = machine::memory_bytes(std::process::id(), "VmRSS");
        memory.peak = memory.peak.max(now);
        // A quarter in, queues and caches are as full as they get.
        if left >= requests - requests / 4 || memory.early == 0 {
            memory.early = memory.early.max(now);
        }
        if left == 0 || state.stop.is_set() || !state.ledger.status().writer.is_ready() {
            return memory;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

async fn call(state: Arc<LoadState>, mut caller: Caller) -> Result<(), BenchError> {
    let one_less = |left: u64| left.checked_sub(1);
    while !state.stop.is_set() {
        let taken = state.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        let Ok(left) = taken else { break };
        let mut events = caller.events(EVENTS_A_REQUEST);
        // The count before this request: the last request to begin is the first of the ledger.
        let first = left.saturating_sub(1) * EVENTS_A_REQUEST as u64;
        for (number, event) in (first..).zip(&mut events) {
            if let Some(sought) = state.places.stream_at(number) {
                event.stream = sought.name().into();
            }
        }
        let began = Instant::now();
        state.ledger.append(AppendRequest::of(events))?.await?;
        state.latencies.add(began.elapsed());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_have_their_events_in_a_ledger_of_any_size() {
        for events in [2_000, 3_000, 7_000, 8_000, 9_000, 100_000, 1_001_000] {
            let places = Places::among(events);
            let count = |sought| (0..events).filter(|place| places.stream_at(*place) == Some(sought)).count();
            assert_eq!(count(Sought::Session), 1_000, "{events}");
            assert!(count(Sought::Scattered) >= 1_000, "{events}");
        }
    }
}

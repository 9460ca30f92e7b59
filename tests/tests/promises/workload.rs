//! A ledger on a simulated machine, and a client that remembers every answer it got.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{After, Data, Event, Json, Keyring, LedgerName, Position};
use bitacora_ledger::{
    AppendError, AppendReceipt, AppendRequest, Filter, Ledger, LogFault, OpenError, Options, ReadError,
    ReadFrom, ReadOnlyReason, ReadQuery, StoredEvent, WriterState,
};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::DiskCall;
use bitacora_tests::simulation::Simulation;

const LETTERS: [char; 8] = ['a', 'e', 'i', 'o', 'u', 'n', 's', 't'];

/// The folder of every test's ledger.
pub(crate) const FOLDER: &str = "/data/ledgers/main";

/// Segments so small that a short run ends several.
pub(crate) fn options() -> Options {
    Options { segment_bytes: 128 * 1024, request_bytes: 8 * 1024, ..Options::small() }
}

pub(crate) fn keyring() -> Arc<Keyring> {
    let mut random = SeededRandom::new(7);
    Arc::new(Keyring::generate(&mut |bytes| random.fill(bytes)))
}

/// A machine with a fresh ledger, not open.
pub(crate) fn machine_with_ledger(seed: u64) -> Simulation {
    let machine = Simulation::new(seed);
    let folder = PathBuf::from(FOLDER);
    machine.disk.make_folders(folder.parent().unwrap()).unwrap();
    let name: LedgerName = "main".parse().unwrap();
    Ledger::create(&machine.environment(), &folder, &name, &keyring(), &options()).unwrap();
    machine
}

pub(crate) fn open(machine: &Simulation) -> Result<Ledger, OpenError> {
    Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options())
}

/// An event whose contents follow from its number.
pub(crate) fn event(number: u64) -> Event<'static> {
    let mut event = Event::new(format!("e{number}"), "urn:test", "x.noted", format!("stream-{}", number % 5));
    let mut random = SeededRandom::new(number);
    let noise: String = (0..random.below(400)).map(|_| LETTERS[random.index(LETTERS.len())]).collect();
    event.data =
        Data::Json(Json::check(format!(r#"{{"number":{number},"noise":"{noise}"}}"#).into_bytes()).unwrap());
    event
}

/// Waits until the second segment to come is made too, so that only the live segment is written and synced from now on.
/// For a fresh ledger at its first opening, after its first append.
pub(crate) fn wait_for_preallocation(machine: &Simulation) {
    // The first segment and its leaf, the signing keys' note, the rewriting of both at opening, two tables, two segments made
    // ahead.
    const SYNCS: u64 = 9;
    while machine.disk.calls(DiskCall::SyncAll) < SYNCS {
        std::thread::yield_now();
    }
}

/// The damage that the ledger was found to have, by its opening or by the proof that goes on after it.
pub(crate) fn damage(ledger: &Ledger) -> LogFault {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let status = ledger.status();
        if let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = status.writer {
            return fault;
        }
        assert!(!status.is_proven && Instant::now() < patience, "no damage was found: {status:?}");
        std::thread::yield_now();
    }
}

/// Waits until the bytes that the opening did not read are proven.
pub(crate) fn wait_for_proof(ledger: &Ledger) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !ledger.status().is_proven {
        assert!(Instant::now() < patience, "no proof: {:?}", ledger.status());
        std::thread::yield_now();
    }
}

/// A client's memory: what was acknowledged, where.
#[derive(Debug, Default, Clone)]
pub(crate) struct Memory {
    pub(crate) acknowledged: Vec<(u64, Position)>,
}

impl Memory {
    /// Appends one event and remembers the answer.
    pub(crate) fn append(&mut self, ledger: &Ledger, number: u64) -> Result<AppendReceipt, AppendError> {
        let appended = ledger.append(AppendRequest::of(vec![event(number)]))?.wait()?;
        self.acknowledged.push((number, appended.first));
        Ok(appended)
    }

    /// Every acknowledged event stands where the answer said, as it was sent, once; positions are dense.
    pub(crate) fn check(&self, ledger: &Ledger) {
        let stored = all(ledger).unwrap();
        for (at, event) in (1_u64..).zip(&stored) {
            assert_eq!(event.position.get(), at, "positions are dense");
        }
        for (number, position) in &self.acknowledged {
            let index = usize::try_from(position.get()).unwrap() - 1;
            let found = stored.get(index).unwrap_or_else(|| panic!("e{number} at {position} is lost"));
            assert_eq!(found.event, event(*number), "e{number} at {position}");
        }
        let mut ids: Vec<_> = stored.iter().map(|event| (&event.event.source, &event.event.id)).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), stored.len(), "an identity stands twice");
    }
}

/// All that can be read.
pub(crate) fn all(ledger: &Ledger) -> Result<Vec<StoredEvent<'static>>, ReadError> {
    let mut events = Vec::new();
    read_all(ledger, &mut events).map(|()| events)
}

/// Returns the events that a damaged ledger serves, from its first one up to the damage. A read behind them is an error.
pub(crate) fn served(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    let mut events = Vec::new();
    let told = read_all(ledger, &mut events).unwrap_err();
    assert!(matches!(told, ReadError::Corrupt(_)), "{told}");
    events
}

fn read_all(ledger: &Ledger, events: &mut Vec<StoredEvent<'static>>) -> Result<(), ReadError> {
    let mut from = ReadFrom::After(After::START);
    loop {
        let page = ledger.read(&ReadQuery { from, until: None, limit: 1_000, filter: Filter::default() })?;
        events.extend(page.events);
        match page.next {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}

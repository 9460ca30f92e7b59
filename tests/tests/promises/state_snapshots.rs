//! P9, for the state that decides: a snapshot holds exactly what folding would give.
//! A snapshot that is not of this log, this reactor or these bytes is not believed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bitacora_formats::{Event, Position};
use bitacora_governance::{DerivedEvent, Examination, ObservedEvent, Reactor, ReactorRefusal, ReactorState};
use bitacora_ledger::{AppendRequest, Governing, Ledger, Options};
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, keyring, machine_with_ledger, options};

/// Keeps the identities of all events of one type.
#[derive(Clone)]
struct ListingReactor {
    version: u32,
    seen: Arc<Mutex<ListedIds>>,
    panics_on_save: bool,
}

#[derive(Default)]
struct ListedIds {
    ids: Vec<String>,
    /// The number of them that were folded, and not restored.
    folded: usize,
}

impl ListingReactor {
    fn new() -> Self {
        Self { version: 3, seen: Arc::default(), panics_on_save: false }
    }

    fn found(&self) -> (usize, usize) {
        let seen = self.seen.lock().unwrap();
        (seen.ids.len(), seen.folded)
    }
}

impl Reactor for ListingReactor {
    fn version(&self) -> u32 {
        self.version
    }

    fn state(&self) -> Box<dyn ReactorState> {
        Box::new(self.clone())
    }

    fn apart(&self) -> Box<dyn ReactorState> {
        Box::new(Self { seen: Arc::default(), ..self.clone() })
    }

    fn concerns(&self, kind: &str) -> bool {
        kind == "x.listed"
    }

    fn examine(&self, _: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal> {
        Ok(None)
    }
}

impl ReactorState for ListingReactor {
    fn react(&mut self, _: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        Ok(Vec::new())
    }

    fn keep(&mut self) {}

    fn discard(&mut self) {}

    fn fork(&self) -> Box<dyn ReactorState> {
        let seen = ListedIds { ids: self.seen.lock().unwrap().ids.clone(), folded: 0 };
        Box::new(Self { seen: Arc::new(Mutex::new(seen)), ..self.clone() })
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        let mut seen = self.seen.lock().unwrap();
        seen.folded += frame.len();
        seen.ids.extend(frame.iter().map(|observed| observed.event.id.to_string()));
    }

    fn save(&self) -> Result<Option<Vec<u8>>, String> {
        assert!(!self.panics_on_save, "on purpose");
        serde_json::to_vec(&self.seen.lock().unwrap().ids).map(Some).map_err(|error| error.to_string())
    }

    fn restore(&mut self, _: Position, saved: &[u8]) -> Result<(), String> {
        let ids = serde_json::from_slice(saved).map_err(|error| error.to_string())?;
        *self.seen.lock().unwrap() = ListedIds { ids, folded: 0 };
        Ok(())
    }
}

fn open(machine: &Simulation, reactor: &ListingReactor) -> Ledger {
    let options = Options { governing: Governing::By(Arc::new(reactor.clone())), ..options() };
    Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options).unwrap()
}

/// Appends listed events in one session, and closes.
fn session(machine: &Simulation, reactor: &ListingReactor, name: &str, events: usize) {
    let ledger = open(machine, reactor);
    for number in 0..events {
        let event = Event::new(format!("{name}{number}"), "urn:test", "x.listed", "list");
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
}

/// Returns the number of events that a reactor holds after an opening, and the number of those that were folded.
fn reopened(machine: &Simulation, version: u32) -> (usize, usize) {
    let reactor = ListingReactor { version, ..ListingReactor::new() };
    let ledger = open(machine, &reactor);
    let found = reactor.found();
    ledger.close().unwrap();
    found
}

fn index() -> PathBuf {
    PathBuf::from(FOLDER).join("index")
}

fn snapshots(machine: &Simulation) -> Vec<PathBuf> {
    let entries = machine.environment().disk.list(&index()).unwrap();
    let names = entries.into_iter().map(|entry| entry.name).filter(|name| name.contains("state-"));
    names.map(|name| index().join(name)).collect()
}

#[test]
fn an_opening_folds_only_what_came_after_the_snapshot() {
    let machine = machine_with_ledger(300);
    session(&machine, &ListingReactor::new(), "a", 40);
    assert_eq!(snapshots(&machine).len(), 1);
    assert_eq!(reopened(&machine, 3), (40, 0));

    // A crash: the last events are in no snapshot.
    let reactor = ListingReactor::new();
    let ledger = open(&machine, &reactor);
    let event = Event::new("late", "urn:test", "x.listed", "list");
    ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
    let left = machine.disk.killed_image(machine.disk.operation_count()).unwrap();
    ledger.close().unwrap();
    let left = Simulation { disk: left, ..machine };
    assert_eq!(reopened(&left, 3), (41, 1));
    assert_eq!(snapshots(&left).len(), 1, "older ones are removed");
}

#[test]
fn another_version_of_the_reactor_folds_the_log_anew() {
    let machine = machine_with_ledger(301);
    session(&machine, &ListingReactor::new(), "a", 10);
    assert_eq!(reopened(&machine, 4), (10, 10));
    assert_eq!(reopened(&machine, 4), (10, 0), "its own snapshot took the place of the other");
}

#[test]
fn a_snapshot_with_any_byte_changed_is_not_believed() {
    let machine = machine_with_ledger(302);
    session(&machine, &ListingReactor::new(), "a", 5);
    let snapshot = snapshots(&machine).remove(0);
    let whole = machine.disk.contents(&snapshot).unwrap();
    for offset in (0..whole.len()).step_by(7) {
        machine.disk.put(&snapshot, &whole).unwrap();
        machine.disk.flip_bit(&snapshot, offset as u64, 3).unwrap();
        let copy = machine.after_crash(machine.disk.operation_count(), CrashPolicy::ALL[0], 1).unwrap();
        assert_eq!(reopened(&copy, 3), (5, 5), "byte {offset}");
    }
    machine.disk.put(&snapshot, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(reopened(&machine, 3), (5, 5), "cut");
}

#[test]
fn a_snapshot_of_another_history_of_the_same_ledger_is_not_believed() {
    let machine = machine_with_ledger(303);
    session(&machine, &ListingReactor::new(), "a", 3);
    let before = machine.after_crash(machine.disk.operation_count(), CrashPolicy::ALL[0], 1).unwrap();
    // From here on there are two histories, both with as many segments and events.
    session(&machine, &ListingReactor::new(), "b", 30);
    session(&before, &ListingReactor::new(), "c", 30);
    let (ours, theirs) = (snapshots(&machine).remove(0), snapshots(&before).remove(0));
    assert_eq!(ours, theirs);
    machine.disk.put(&ours, &before.disk.contents(&theirs).unwrap()).unwrap();
    let reactor = ListingReactor::new();
    let ledger = open(&machine, &reactor);
    let ids = reactor.seen.lock().unwrap().ids.clone();
    assert_eq!(ids.len(), 33);
    assert!(ids.iter().all(|id| !id.starts_with('c')), "{ids:?}");
    ledger.close().unwrap();
}

#[test]
fn a_reactor_that_cannot_be_saved_costs_time_and_nothing_else() {
    let machine = machine_with_ledger(304);
    session(&machine, &ListingReactor { panics_on_save: true, ..ListingReactor::new() }, "a", 5);
    assert!(snapshots(&machine).is_empty());
    assert_eq!(reopened(&machine, 3), (5, 5));
}

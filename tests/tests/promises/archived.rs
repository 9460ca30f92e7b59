//! P1, P5 and P9 past the segments: whatever a crash leaves of archiving and releasing, every event is read as it was, the next run
//! goes on, and the state that decides is the same, from archives too.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bitacora_archiver::{
    ArchiveStoreError, Archiver, ArchiverError, Listing, ObjectVersion, Objects, Outcome, Pace, ReadPiece,
    Rules, Run, StoredArchives,
};
use bitacora_formats::Event;
use bitacora_governance::{ReactorState, State};
use bitacora_ledger::{
    AppendRequest, Clock, Environment, Governing, HeadOptions, Ledger, Options, StoredEvent,
};
use bitacora_tests::seeded::Random;
use bitacora_tests::simulated_disk::{Call, CrashPolicy, Fault, SimulatedDisk, errno};
use bitacora_tests::simulation::Simulation;

use crate::p8_no_allow_without_a_record::{remove_index, state};
use crate::random_acts::RandomActs;
use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options, wait_for_proof};

/// Crashes, or failures of the disk, that are tried.
const ROUNDS: u64 = 30;

/// A store that outlives the machine.
#[derive(Debug)]
struct Store {
    disk: SimulatedDisk,
    /// Each object, and how far the machine's disk was when it was made.
    objects: Mutex<BTreeMap<String, (u64, Vec<u8>)>>,
}

impl Store {
    fn beside(machine: &Simulation) -> Arc<Self> {
        Arc::new(Self { disk: machine.disk.clone(), objects: Mutex::default() })
    }

    /// What it held when the disk had come so far.
    fn as_of(&self, operation: u64) -> Arc<Self> {
        let mut objects = self.objects.lock().unwrap().clone();
        objects.retain(|_, (made, _)| *made <= operation);
        Arc::new(Self { disk: self.disk.clone(), objects: Mutex::new(objects) })
    }

    fn missing(name: &str) -> ArchiveStoreError {
        ArchiveStoreError::Missing { object: name.to_owned() }
    }
}

impl Objects for Store {
    fn shown(&self, name: &str) -> String {
        format!("memory:{name}")
    }

    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError> {
        let mut objects = self.objects.lock().unwrap();
        if objects.contains_key(name) {
            return Err(ArchiveStoreError::Exists { object: name.to_owned() });
        }
        let mut contents = vec![0; usize::try_from(bytes).unwrap()];
        read(0, &mut contents).unwrap();
        objects.insert(name.to_owned(), (self.disk.operation_count(), contents));
        Ok(())
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        let objects = self.objects.lock().unwrap();
        let (_, contents) = objects.get(name).ok_or_else(|| Self::missing(name))?;
        Ok(ObjectVersion { bytes: contents.len() as u64, tag: None })
    }

    fn read(&self, name: &str, _: &ObjectVersion, range: Range<u64>) -> Result<Vec<u8>, ArchiveStoreError> {
        let objects = self.objects.lock().unwrap();
        let (_, contents) = objects.get(name).ok_or_else(|| Self::missing(name))?;
        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        Ok(contents[range].to_vec())
    }

    fn list(&self, _: &str) -> Result<Listing, ArchiveStoreError> {
        Ok(Listing::default())
    }
}

fn environment(machine: &Simulation, store: &Arc<Store>) -> Environment {
    let objects = Arc::clone(store) as Arc<dyn Objects>;
    let plain = machine.environment();
    let archives = StoredArchives::new(objects, Arc::clone(&plain.disk), 1 << 20);
    Environment { archives: Arc::new(archives), ..plain }
}

fn open(machine: &Simulation, store: &Arc<Store>) -> Ledger {
    let heads = HeadOptions { every: Duration::from_secs(3_600), ..HeadOptions::default() };
    let options = Options { heads: Some(heads), governing: Governing::Governance, ..options() };
    let folder = PathBuf::from(FOLDER);
    let ledger = Ledger::open(&environment(machine, store), &folder, keyring(), options).unwrap();
    wait_for_proof(&ledger);
    ledger
}

fn archive(machine: &Simulation, store: &Arc<Store>, ledger: &Ledger) -> Result<Outcome, ArchiverError> {
    let rules = Rules { is_forced: true, ..Rules::default() };
    let run = Run { rules, pace: Pace::Full { threads: 1 }, release: true };
    archiver(machine, store, ledger).run(&run)
}

fn archiver(machine: &Simulation, store: &Arc<Store>, ledger: &Ledger) -> Archiver {
    let objects = Arc::clone(store) as Arc<dyn Objects>;
    let environment = environment(machine, store);
    Archiver::new(ledger.clone(), Path::new(FOLDER), &environment, &keyring(), objects, "cold".to_owned())
}

/// A machine on which calls were decided and events came in several sessions; the last of them is closed.
fn lived_on(seed: u64) -> Simulation {
    let machine = machine_with_ledger(seed);
    let (store, mut appended) = (Store::beside(&machine), 0);
    let mut acts = RandomActs::new(seed);
    for session in 0..3 {
        let ledger = open(&machine, &store);
        let mut append = |events: Vec<Event<'static>>| {
            // What is refused leaves nothing behind.
            appended += u64::from(
                ledger.append(AppendRequest::of(events)).is_ok_and(|pending| pending.wait().is_ok()),
            );
        };
        if session == 0 {
            acts.first().into_iter().for_each(|event| append(vec![event]));
        }
        for _ in 0..160 {
            let request = acts.next(&state(&ledger), machine.clock.now());
            machine.clock.advance(Duration::from_secs(request.seconds));
            let mut events = request.events;
            events.iter_mut().for_each(|event| event.datasubject = None);
            append(events);
        }
        ledger.close().unwrap();
    }
    assert!(appended > 200, "{appended} requests");
    machine
}

/// The events up to `before` are as they were, and what decides is what folding all of them gives.
fn check(ledger: &Ledger, before: &[StoredEvent<'static>], what: &str) {
    let events = all(ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(events[..before.len()] == *before, "{what}: other events");
    let head = ledger.head().position;
    let folded = ledger.saved_state(head, None).unwrap().unwrap();
    let mut made = State::default();
    ReactorState::restore(&mut made, head, &folded.bytes).unwrap();
    assert!(made == state(ledger), "{what}: another state");
}

#[test]
fn after_a_crash_anywhere_on_the_way_everything_is_read_and_the_way_is_gone_to_its_end() {
    let machine = lived_on(41);
    let store = Store::beside(&machine);
    let ledger = open(&machine, &store);
    let before = all(&ledger).unwrap();
    machine.disk.forget_operations();
    let began = machine.disk.operation_count();
    let outcome = archive(&machine, &store, &ledger).unwrap();
    let ended = machine.disk.operation_count();
    let released = outcome.released.unwrap();
    assert!(released.segments >= 2 && outcome.archived.len() == 1, "{outcome:?}");
    check(&ledger, &before, "without a crash");
    ledger.close().unwrap();

    let mut random = Random::new(5);
    for round in 0..ROUNDS {
        let at = began + random.below(ended - began + 1);
        let policy = CrashPolicy::ALL[random.index(3)];
        let what = format!("crash at {at} of {began} to {ended}, {policy:?}");
        let left = machine.after_crash(at, policy, round).unwrap();
        // An answer of the store may have been on its way.
        let store = store.as_of(if round % 4 == 0 { ended } else { at });
        let ledger = open(&left, &store);
        check(&ledger, &before, &what);
        archive(&left, &store, &ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(ledger.released_through().is_some_and(|through| through >= released.last), "{what}");
        check(&ledger, &before, &what);
        ledger.close().unwrap();
    }
}

#[test]
fn what_decides_is_the_same_from_archives_alone() {
    let machine = lived_on(42);
    let store = Store::beside(&machine);
    let ledger = open(&machine, &store);
    let published = state(&ledger);
    let archived = archive(&machine, &store, &ledger).unwrap();
    assert!(archived.released.is_some());
    assert!(state(&ledger) == published, "archiving changed what decides");
    let (events, before) = (all(&ledger).unwrap(), state(&ledger).digests().unwrap().state);
    let kept = ledger.archived_state(ledger.head().position, ledger.reactor_version()).unwrap().unwrap();
    assert!(kept.position <= archived.archived[0].range.last());
    // The same state as folding up to there gives.
    let folded = ledger.saved_state(kept.position, None).unwrap().unwrap();
    assert!(folded == kept, "another state than folding gives");
    ledger.close().unwrap();
    remove_index(&machine);
    let ledger = open(&machine, &store);
    check(&ledger, &events, "without tables and snapshots");
    let folded = ledger.saved_state(events.last().unwrap().position, Some(&kept)).unwrap().unwrap();
    let mut made = State::default();
    ReactorState::restore(&mut made, events.last().unwrap().position, &folded.bytes).unwrap();
    assert_eq!(made.digests().unwrap().state, before);
    ledger.close().unwrap();
}

#[test]
fn a_disk_that_fails_on_the_way_loses_nothing_and_the_next_run_goes_on() {
    let machine = lived_on(43);
    let mut random = Random::new(6);
    for round in 0..ROUNDS {
        let left =
            machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, round).unwrap();
        let store = Store::beside(&left);
        let ledger = open(&left, &store);
        let before = all(&ledger).unwrap();
        let call =
            [Call::Write, Call::SyncAll, Call::SyncFolder, Call::Rename, Call::RemoveFile][random.index(5)];
        let number = if [errno::ENOSPC, errno::EIO][random.index(2)] == errno::EIO {
            errno::EIO
        } else {
            errno::ENOSPC
        };
        // Files of archiving alone: what fails in the live segment ends the writer, and is proven elsewhere.
        let path = ["archives", "released", "segments"][random.index(3)];
        left.disk.inject(Fault::on(call, 1 + random.below(3), number).where_path_has(path));
        let what = format!("{call:?} fails in {path} with {number}, round {round}");
        let _failed = archive(&left, &store, &ledger).is_err();
        left.disk.clear_faults();
        ledger.close().ok();
        drop(ledger);
        let ledger = open(&left, &store);
        check(&ledger, &before, &what);
        archive(&left, &store, &ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(ledger.released_through().is_some(), "{what}");
        check(&ledger, &before, &what);
        let ended = left.disk.operation_count();
        drop(ledger);
        // Nothing that was let go rests on a name or a byte that the disk does not have.
        let image = left.after_crash(ended, CrashPolicy::OnlySynced, round).unwrap();
        check(&open(&image, &store), &before, &what);
    }
}

//! P1, P5 and P9 past the segments: a crash while archiving or releasing leaves every event as it was.
//! The next run goes on, and the state that decides is the same, from archives too.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bitacora_archiver::{
    ArchivePace, ArchiveRun, ArchiveStoreError, Archiver, ArchiverError, ObjectListing, ObjectVersion,
    Objects, Outcome, ReadPiece, Release, Rules, StoredArchives,
};
use bitacora_formats::{Data, Event, Position};
use bitacora_governance::{ReactorState, State};
use bitacora_ledger::{
    AppendRequest, Clock, Environment, HeadOptions, Ledger, Options, ReactorChoice, StoredEvent,
};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, SimulatedDisk, errno};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::{EventData, RetentionApplied};

use crate::p8_no_allow_without_a_record::{remove_index, state};
use crate::random_acts::RandomRequests;
use crate::repacked::repacked;
use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options, wait_for_proof};

/// Crashes, or failures of the disk, that are tried.
const ROUNDS: u64 = 30;

/// A store that outlives the machine.
#[derive(Debug)]
struct Store {
    disk: SimulatedDisk,
    /// Each object, and how far the machine's disk was when it was made.
    objects: Mutex<BTreeMap<String, (u64, Vec<u8>)>>,
    fault: Mutex<Option<StoreFault>>,
}

/// The faults of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreFault {
    /// It takes nothing.
    Refuses,
    /// It takes the object, and does not say so.
    LosesItsAnswer,
    /// It says that it took the object, and did not.
    Forgets,
    /// It took the object, and does not know it yet.
    IsLate,
    /// It changes a byte of what it gives back, at this part of the object's length in hundredths.
    Changes(usize),
    /// It gives back too little.
    CutsShort,
    /// It had another object under the name before.
    HadAnother,
}

impl Store {
    fn beside(machine: &Simulation) -> Arc<Self> {
        Arc::new(Self { disk: machine.disk.clone(), objects: Mutex::default(), fault: Mutex::default() })
    }

    /// Returns the store's content at the time of this operation of the disk.
    fn as_of(&self, operation: u64) -> Arc<Self> {
        let mut objects = self.objects.lock().unwrap().clone();
        objects.retain(|_, (made, _)| *made <= operation);
        Arc::new(Self { disk: self.disk.clone(), objects: Mutex::new(objects), fault: Mutex::default() })
    }

    fn has(&self, fault: StoreFault) -> bool {
        *self.fault.lock().unwrap() == Some(fault)
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
        let refused =
            |said: &str| ArchiveStoreError::Refused { object: name.to_owned(), reason: said.to_owned() };
        if self.has(StoreFault::Refuses) {
            return Err(refused("no"));
        }
        let mut objects = self.objects.lock().unwrap();
        if objects.contains_key(name) {
            return Err(ArchiveStoreError::Exists { object: name.to_owned() });
        }
        let mut contents = vec![0; usize::try_from(bytes).unwrap()];
        read(0, &mut contents).unwrap();
        if self.has(StoreFault::HadAnother) {
            objects.insert(name.to_owned(), (self.disk.operation_count(), vec![7; contents.len()]));
            return Err(ArchiveStoreError::Exists { object: name.to_owned() });
        }
        if !self.has(StoreFault::Forgets) {
            objects.insert(name.to_owned(), (self.disk.operation_count(), contents));
        }
        if self.has(StoreFault::LosesItsAnswer) { Err(refused("")) } else { Ok(()) }
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError> {
        self.objects.lock().unwrap().remove(name).map(drop).ok_or_else(|| Self::missing(name))
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        let objects = self.objects.lock().unwrap();
        let found = objects.get(name).filter(|_| !self.has(StoreFault::IsLate));
        let (_, contents) = found.ok_or_else(|| Self::missing(name))?;
        Ok(ObjectVersion { bytes: contents.len() as u64, tag: None })
    }

    fn read(&self, name: &str, _: &ObjectVersion, range: Range<u64>) -> Result<Vec<u8>, ArchiveStoreError> {
        let objects = self.objects.lock().unwrap();
        let (_, contents) = objects.get(name).ok_or_else(|| Self::missing(name))?;
        let (start, end) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
        let mut read = contents[start..end].to_vec();
        match *self.fault.lock().unwrap() {
            Some(StoreFault::Changes(hundredths)) => {
                let at = (contents.len() - 1) * hundredths / 100;
                if let Some(byte) = at.checked_sub(start).and_then(|at| read.get_mut(at)) {
                    *byte ^= 4;
                }
            }
            Some(StoreFault::CutsShort) => read.truncate(read.len() / 2),
            _ => {}
        }
        Ok(read)
    }

    fn list(&self, _: &str) -> Result<ObjectListing, ArchiveStoreError> {
        Ok(ObjectListing::default())
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
    let options = Options { heads: Some(heads), governing: ReactorChoice::Governance, ..options() };
    let folder = PathBuf::from(FOLDER);
    let ledger = Ledger::open(&environment(machine, store), &folder, keyring(), options).unwrap();
    wait_for_proof(&ledger);
    ledger
}

fn archive(machine: &Simulation, store: &Arc<Store>, ledger: &Ledger) -> Result<Outcome, ArchiverError> {
    archive_by(machine, store, ledger, Rules::default().archive_events)
}

/// The same, with at most so many events an archive.
fn archive_by(
    machine: &Simulation,
    store: &Arc<Store>,
    ledger: &Ledger,
    archive_events: u64,
) -> Result<Outcome, ArchiverError> {
    let rules = Rules { is_forced: true, archive_events, ..Rules::default() };
    let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 1 }, release: Release::IfProven };
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
    let mut acts = RandomRequests::new(seed);
    for session in 0..3 {
        let ledger = open(&machine, &store);
        let mut append = |events: Vec<Event<'static>>| {
            // Refused events leave nothing behind.
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

/// Returns the last position that the log says is released, and checks that each one is released exactly once.
fn said_through(ledger: &Ledger, what: &str) -> u64 {
    let said = ranges_said(ledger);
    said.iter().fold(0, |through, (first, last)| {
        assert_eq!(*first, through + 1, "{what}: {said:?}");
        *last
    })
}

fn released_through(ledger: &Ledger) -> u64 {
    ledger.released_through().map_or(0, Position::get)
}

/// The ranges that the log says are let go, in the order of the log.
fn ranges_said(ledger: &Ledger) -> Vec<(u64, u64)> {
    let applied = |stored: StoredEvent<'static>| {
        let is_said = stored.event.kind == RetentionApplied::KIND;
        let Data::Json(data) = stored.event.data else { return None };
        is_said.then(|| serde_json::from_slice::<RetentionApplied>(data.as_bytes()).unwrap())
    };
    let said = all(ledger).unwrap().into_iter().filter_map(applied);
    said.map(|said| (said.first.get().get(), said.last.get().get())).collect()
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

    let mut random = SeededRandom::new(5);
    for round in 0..ROUNDS {
        let at = began + random.below(ended - began + 1);
        let policy = CrashPolicy::ALL[random.index(3)];
        let what = format!("crash at {at} of {began} to {ended}, {policy:?}");
        let left = machine.after_crash(at, policy, round).unwrap();
        // An answer of the store may have been on its way.
        let store = store.as_of(if round % 4 == 0 { ended } else { at });
        let ledger = open(&left, &store);
        check(&ledger, &before, &what);
        assert!(said_through(&ledger, &what) >= released_through(&ledger), "{what}: some went unsaid");
        archive(&left, &store, &ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(ledger.released_through().is_some_and(|through| through >= released.last), "{what}");
        assert_eq!(said_through(&ledger, &what), released_through(&ledger), "{what}");
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
    let kept = ledger
        .archived_state(ledger.head().position, &(ledger.reactor_version()..=ledger.reactor_version()))
        .unwrap()
        .unwrap();
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
    let mut random = SeededRandom::new(6);
    for round in 0..ROUNDS {
        let left =
            machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, round).unwrap();
        let store = Store::beside(&left);
        let ledger = open(&left, &store);
        let before = all(&ledger).unwrap();
        let call = [
            DiskCall::Write,
            DiskCall::SyncAll,
            DiskCall::SyncFolder,
            DiskCall::Rename,
            DiskCall::RemoveFile,
        ][random.index(5)];
        let number = if [errno::ENOSPC, errno::EIO][random.index(2)] == errno::EIO {
            errno::EIO
        } else {
            errno::ENOSPC
        };
        // Files of archiving alone: what fails in the live segment ends the writer, and is proven elsewhere.
        let path = ["archives", "released", "segments"][random.index(3)];
        left.disk.inject(DiskFault::on(call, 1 + random.below(3), number).where_path_has(path));
        let what = format!("{call:?} fails in {path} with {number}, round {round}");
        let _failed = archive(&left, &store, &ledger).is_err();
        left.disk.clear_faults();
        ledger.close().ok();
        drop(ledger);
        let ledger = open(&left, &store);
        check(&ledger, &before, &what);
        archive(&left, &store, &ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(ledger.released_through().is_some(), "{what}");
        assert_eq!(said_through(&ledger, &what), released_through(&ledger), "{what}");
        check(&ledger, &before, &what);
        let ended = left.disk.operation_count();
        drop(ledger);
        // Nothing that was let go rests on a name or a byte that the disk does not have.
        let image = left.after_crash(ended, CrashPolicy::OnlySynced, round).unwrap();
        check(&open(&image, &store), &before, &what);
    }
}

#[test]
fn a_store_that_does_wrong_is_believed_in_nothing_and_the_next_run_goes_on() {
    let changes = [0, 1, 20, 40, 60, 80, 90, 97, 99, 100].map(StoreFault::Changes);
    let faults = [
        StoreFault::Refuses,
        StoreFault::LosesItsAnswer,
        StoreFault::Forgets,
        StoreFault::IsLate,
        StoreFault::CutsShort,
        StoreFault::HadAnother,
    ];
    let machine = lived_on(44);
    for (round, fault) in (0..).zip(faults.into_iter().chain(changes)) {
        let left =
            machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, round).unwrap();
        let store = Store::beside(&left);
        let ledger = open(&left, &store);
        let before = all(&ledger).unwrap();
        *store.fault.lock().unwrap() = Some(fault);
        let refused = archive(&left, &store, &ledger);
        assert!(refused.is_err(), "{fault:?}: {refused:?}");
        // Nothing was recorded, kept or let go.
        assert_eq!(ledger.released_through(), None, "{fault:?}");
        assert!(all(&ledger).unwrap() == before, "{fault:?}: something was recorded");
        assert!(archived_manifests(&left).is_empty(), "{fault:?}: a manifest was kept");
        *store.fault.lock().unwrap() = None;
        let again = archive(&left, &store, &ledger);
        if fault == StoreFault::HadAnother {
            // The object under the name must not be written over.
            assert!(again.is_err() && ledger.released_through().is_none(), "{again:?}");
        } else {
            assert!(again.unwrap().released.is_some(), "{fault:?}");
        }
        check(&ledger, &before, &format!("{fault:?}"));
        ledger.close().unwrap();
    }
}

fn archived_manifests(machine: &Simulation) -> Vec<PathBuf> {
    let mut paths = machine.disk.paths();
    paths.retain(|path| path.extension().is_some_and(|is| is == "manifest"));
    paths
}

/// The name of an archive is no proof of its content.
#[test]
fn an_archive_of_another_ledger_or_another_history_is_refused() {
    let (machine, other) = (lived_on(45), lived_on(46));
    let (store, others) = (Store::beside(&machine), Store::beside(&other));
    let ledger = open(&other, &others);
    archive_by(&other, &others, &ledger, 256).unwrap();
    ledger.close().unwrap();
    let (_, foreign) = others.objects.lock().unwrap().values().next().unwrap().clone();

    // Another ledger's, under the name of this one's.
    let ledger = open(&machine, &store);
    let copy = machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 1).unwrap();
    archive_by(&machine, &store, &ledger, 256).unwrap();
    ledger.close().unwrap();
    let (name, own) = {
        let objects = store.objects.lock().unwrap();
        let (name, (_, own)) = objects.iter().next().unwrap();
        (name.clone(), own.clone())
    };
    let planted = Store::beside(&copy);
    planted.objects.lock().unwrap().insert(name.clone(), (0, foreign));
    let ledger = open(&copy, &planted);
    assert!(archive_by(&copy, &planted, &ledger, 256).is_err() && ledger.released_through().is_none());
    ledger.close().unwrap();

    // The same ledger's, of events that this copy of it never had.
    let copy = machine_of_another_history(45);
    let planted = Store::beside(&copy);
    planted.objects.lock().unwrap().insert(name, (0, own));
    let ledger = open(&copy, &planted);
    let refused = archive_by(&copy, &planted, &ledger, 256);
    assert!(refused.is_err() && ledger.released_through().is_none(), "{refused:?}");
}

/// Everything else of it is right: its maker had the keys.
#[test]
fn an_archive_that_holds_another_state_is_refused() {
    let machine = lived_on(47);
    let store = Store::beside(&machine);
    let ledger = open(&machine, &store);
    let copy = machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 1).unwrap();
    archive(&machine, &store, &ledger).unwrap();
    ledger.close().unwrap();
    let (name, own) = {
        let objects = store.objects.lock().unwrap();
        let (name, (_, own)) = objects.iter().next().unwrap();
        (name.clone(), own.clone())
    };
    for (state, is_accepted) in [(None, true), (Some(b"another state".to_vec()), false)] {
        let copy = copy.after_crash(copy.disk.operation_count(), CrashPolicy::Everything, 1).unwrap();
        let planted = Store::beside(&copy);
        planted.objects.lock().unwrap().insert(name.clone(), (0, repacked(&own, state)));
        let ledger = open(&copy, &planted);
        let outcome = archive(&copy, &planted, &ledger);
        assert_eq!(outcome.is_ok(), is_accepted, "{outcome:?}");
        assert_eq!(ledger.released_through().is_some(), is_accepted);
        let is_told = outcome.is_ok_and(|outcome| outcome.archived[0].was_there)
            || archive(&copy, &planted, &ledger).unwrap_err().to_string().contains("the state that decides");
        assert!(is_told);
        ledger.close().unwrap();
    }
}

/// The ledger that [`lived_on`] makes of this seed, with the same identity and other events.
fn machine_of_another_history(seed: u64) -> Simulation {
    let machine = machine_with_ledger(seed);
    let store = Store::beside(&machine);
    for session in 0..3 {
        let ledger = open(&machine, &store);
        for number in 0..300 {
            let event = Event::new(format!("{session}.{number}"), "urn:other", "x.other", "other");
            ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    machine
}

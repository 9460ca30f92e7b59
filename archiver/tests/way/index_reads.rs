//! Tests of the caches of archive readers, and of their waiting for each other.

use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bitacora_archiver::{
    AcceptedArchive, ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, ArchiveStoreError,
    ObjectListing, ObjectVersion, Objects, READ_CACHE_BYTES, ReadPiece, Release, Rules, StoreSettings,
    StoredArchives,
};
use bitacora_formats::{After, Event, Position};
use bitacora_ledger::{AppendRequest, Filter, Ledger, ReadFrom, ReadQuery};

use super::fixture::{ArchiveFixture, copy_folder, forced, seen, wait_until};

/// A store that counts what is read of it, and keeps who reads one object waiting.
#[derive(Debug)]
struct Gate {
    store: ArchiveStore,
    reads: AtomicUsize,
    held: Mutex<Option<String>>,
    waiting: AtomicUsize,
    changed: Condvar,
}

impl Gate {
    fn hold(&self, name: Option<&str>) {
        *self.held.lock().unwrap() = name.map(str::to_owned);
        self.changed.notify_all();
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Objects for Gate {
    fn shown(&self, name: &str) -> String {
        self.store.shown(name)
    }

    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError> {
        self.store.create(name, bytes, read)
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError> {
        self.store.remove(name)
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        self.store.version(name)
    }

    fn read(
        &self,
        name: &str,
        version: &ObjectVersion,
        range: Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let mut held = self.held.lock().unwrap();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while held.as_deref() == Some(name) {
            held = self.changed.wait(held).unwrap();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(held);
        self.store.read(name, version, range)
    }

    fn list(&self, folder: &str) -> Result<ObjectListing, ArchiveStoreError> {
        self.store.list(folder)
    }
}

/// A ledger of which everything is archived in some archives and released, in a store with a gate.
struct GatedLedger {
    fixture: ArchiveFixture,
    gate: Arc<Gate>,
    archived: Vec<AcceptedArchive>,
}

impl GatedLedger {
    fn new() -> Self {
        Self::in_segments_of(200, 768)
    }

    /// With segments and archives of so many events.
    fn in_segments_of(segment: u64, archive_events: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = ArchiveLocation::Folder(folder.path().join("cold"));
        let gate = Arc::new(Gate {
            store: ArchiveStore::at(store, StoreSettings::default()),
            reads: AtomicUsize::new(0),
            held: Mutex::default(),
            waiting: AtomicUsize::new(0),
            changed: Condvar::new(),
        });
        let fixture = ArchiveFixture::with(folder, Arc::<Gate>::clone(&gate));
        for from in (1..=1_400).step_by(usize::try_from(segment).unwrap()) {
            let ledger = fixture.open();
            fixture.fill(&ledger, from, segment);
            let rare = Event::new(format!("rare-{from}"), "urn:test", "x.rare", "s/1");
            ledger.append(AppendRequest::of(vec![rare])).unwrap().wait().unwrap();
            ledger.close().unwrap();
        }
        // Released segments have to be archived to their ends.
        let ledger = fixture.open();
        fixture.fill(&ledger, 5_000, 260);
        ledger.close().unwrap();
        let archived = archive(&fixture, archive_events);
        Self { fixture, gate, archived }
    }

    /// As by a process that has read nothing of the archives yet.
    fn open_afresh(&mut self) -> Ledger {
        let (objects, disk) = (Arc::clone(&self.fixture.objects), Arc::clone(&self.fixture.environment.disk));
        self.fixture.environment.archives = Arc::new(StoredArchives::new(objects, disk, READ_CACHE_BYTES));
        self.fixture.open()
    }

    fn range(&self, index: usize) -> (Position, Position) {
        let range = self.archived.get(index).unwrap().range;
        (range.first(), range.last())
    }
}

/// Archives everything that there is, in archives of so many events, and releases it.
fn archive(fixture: &ArchiveFixture, events: u64) -> Vec<AcceptedArchive> {
    let ledger = fixture.open();
    wait_until(|| ledger.status().is_proven && ledger.status().heads.size == ledger.head().position.get());
    let rules = Rules { archive_events: events, ..forced() };
    let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 2 }, release: Release::OnceProven };
    let outcome = fixture.archiver(&ledger).run(&run).unwrap();
    assert!(outcome.released.unwrap().last >= outcome.archived.first().unwrap().range.last());
    ledger.close().unwrap();
    outcome.archived
}

/// Returns the number of events at the archive's positions that have these labels.
fn found(ledger: &Ledger, (first, last): (Position, Position), kind: &str, stream: &str) -> usize {
    let filter =
        Filter { kinds: vec![kind.to_owned()], stream: Some(stream.to_owned()), ..Filter::default() };
    let from = ReadFrom::After(After::new(first.get() - 1));
    let query = ReadQuery { from, until: Some(last), limit: 1_000, filter };
    ledger.read(&query).unwrap().events.len()
}

#[test]
fn who_waits_for_one_archives_index_keeps_nobody_from_anothers() {
    let mut gated = GatedLedger::new();
    let ledger = gated.open_afresh();
    let (first, second) = (gated.range(0), gated.range(1));
    // Both are open; of neither is known what its index says of this.
    ledger.event(first.0).unwrap();
    ledger.event(second.1).unwrap();
    let gate = Arc::clone(&gated.gate);
    gate.hold(Some(&gated.archived[0].name));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| found(&ledger, first, "x.rare", "s/1"));
        wait_until(|| gate.waiting.load(Ordering::SeqCst) > 0);
        let goes_on = scope.spawn(|| found(&ledger, second, "x.rare", "s/1"));
        let began = std::time::Instant::now();
        while !goes_on.is_finished() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let is_first = goes_on.is_finished() && !waits.is_finished();
        gate.hold(None);
        assert!(is_first, "one waited for the other");
        assert!(goes_on.join().unwrap() + waits.join().unwrap() >= 6);
    });
}

#[test]
fn what_an_index_says_is_kept_of_several_archives_and_questions() {
    let mut gated = GatedLedger::new();
    let ledger = gated.open_afresh();
    let ranges = [gated.range(0), gated.range(1)];
    let ask = || {
        let asked = [("x.rare", "s/1"), ("x.rare", "s/none"), ("x.noted", "s/3")];
        let each = asked.iter().flat_map(|(kind, stream)| {
            ranges.iter().map(|range| found(&ledger, *range, kind, stream)).collect::<Vec<_>>()
        });
        each.collect::<Vec<_>>()
    };
    let answered = ask();
    let before = gated.gate.reads();
    assert_eq!(ask(), answered);
    assert_eq!(gated.gate.reads(), before, "nothing is read twice");
}

/// A moment is found without reading events of archives that end before it or begin after it, also where one segment lies in several.
#[test]
fn a_time_is_looked_for_in_one_archive_alone() {
    let mut gated = GatedLedger::in_segments_of(1_400, 256);
    let ledger = gated.open_afresh();
    let ranges: Vec<_> = (0..5).map(|index| gated.range(index)).collect();
    let time = |position: u64| ledger.event(Position::new(position).unwrap()).unwrap().time;
    // Well within the archive, since a frame may lie in two.
    let asked: Vec<_> = ranges.iter().map(|(first, _)| time(first.get() + 40)).collect();
    ledger.close().unwrap();
    let ledger = gated.open_afresh();
    let gate = &gated.gate;
    for (index, time) in asked.iter().enumerate() {
        let others = gated.archived.iter().enumerate().filter(|(other, _)| *other != index);
        for (_, other) in others {
            gate.hold(Some(&other.name));
            let found = std::thread::scope(|scope| {
                let looks = scope.spawn(|| ledger.first_at(*time).unwrap().unwrap());
                let began = std::time::Instant::now();
                while !looks.is_finished() && began.elapsed() < Duration::from_secs(10) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let is_found = looks.is_finished();
                gate.hold(None);
                assert!(is_found, "it was looked for in {}", other.name);
                looks.join().unwrap()
            });
            assert_eq!(ledger.event(found).unwrap().time, *time);
            let before = Position::new(found.get() - 1).unwrap();
            assert!(ledger.event(before).unwrap().time < *time, "{found}");
        }
    }
}

/// Two archives of the same positions of one ledger, read by one process: each has its own events.
#[test]
fn archives_of_the_same_positions_are_told_apart() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 300);
    ledger.close().unwrap();
    let lives = ["one", "other"].map(|life| fixture.folder.path().join(life));
    copy_folder(&fixture.ledger(), &lives[1]);
    let mut read = Vec::new();
    for (life, from) in lives.iter().zip([10_000, 20_000]) {
        if read.is_empty() {
            fs::rename(fixture.ledger(), life).unwrap();
        }
        fs::rename(life, fixture.ledger()).unwrap();
        for more in [0, 400] {
            let ledger = fixture.open();
            fixture.fill(&ledger, from + more, 400);
            ledger.close().unwrap();
        }
        let ledger = fixture.open();
        let events = seen(&ledger, 512).unwrap();
        ledger.close().unwrap();
        assert_eq!(archive(&fixture, 512)[0].range.last().get(), 512);
        let ledger = fixture.open();
        assert!(seen(&ledger, 512).unwrap() == events);
        ledger.close().unwrap();
        fs::rename(fixture.folder.path().join("cold"), life.with_extension("cold")).unwrap();
        fs::rename(fixture.ledger(), life).unwrap();
        read.push(events);
    }
    assert!(read[0] != read[1]);
}

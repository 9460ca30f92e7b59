//! Tree heads cover bytes on the disk, are durable before publication, and are reached after a crash.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{LedgerName, Micros, UnverifiedTreeHead};
use bitacora_ledger::{
    Anchor, AnchorError, Clock, FolderAnchor, HeadOptions, Ledger, OpenError, OpenMode, Options, WriterState,
};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, errno};
use bitacora_tests::simulation::Simulation;

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{FOLDER, damage, keyring, machine_with_ledger, options as without_heads};

/// A ledger on a simulated machine, its anchor on the same disk, and when each head was published.
struct HeadsRun {
    machine: Simulation,
    /// The operation count of the disk at each publication, and the number of events that the head covers.
    published: Vec<(u64, u64)>,
}

fn simulated(machine: &Simulation) -> Result<Ledger, OpenError> {
    let environment = machine.environment();
    let anchor = FolderAnchor::new(Arc::clone(&environment.disk), Path::new("/anchors"));
    let every = Duration::from_secs(3_600);
    let heads = HeadOptions {
        every,
        anchor: Some(Arc::new(anchor)),
        anchor_required: true,
        ..HeadOptions::default()
    };
    let options = Options { heads: Some(heads), ..without_heads() };
    Ledger::open(&environment, &PathBuf::from(FOLDER), keyring(), options)
}

/// Waits until a head is published that covers more than this.
fn wait_for_head(ledger: &Ledger, covered: u64) -> u64 {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(head) = ledger.tree_head().filter(|head| head.size > covered) {
            return head.size;
        }
        assert!(Instant::now() < patience, "no head: {:?}", ledger.status().heads);
        std::thread::yield_now();
    }
}

fn run(seed: u64) -> HeadsRun {
    let machine = machine_with_ledger(seed);
    let mut published = Vec::new();
    let mut number = 0..;
    for _ in 0..2 {
        let ledger = simulated(&machine).unwrap();
        let mut covered = published.last().map_or(0, |(_, size)| *size);
        for _ in 0..3 {
            number.by_ref().take(3).for_each(|number| append(&ledger, number).unwrap());
            ledger.end_segment();
            covered = wait_for_head(&ledger, covered);
            published.push((machine.disk.operation_count(), covered));
        }
        number.by_ref().take(2).for_each(|number| append(&ledger, number).unwrap());
        ledger.close().unwrap();
        published.push((machine.disk.operation_count(), ledger.tree_head().unwrap().size));
    }
    HeadsRun { machine, published }
}

#[test]
fn whatever_a_crash_leaves_reaches_every_published_head_and_is_no_rollback() {
    let HeadsRun { machine, published } = run(9);
    let last = machine.disk.operation_count();
    let first = published.first().unwrap().0 / 2;
    for operation in first..=last {
        let reached = published.iter().rev().find(|(at, _)| *at <= operation).map_or(0, |(_, size)| *size);
        for policy in [CrashPolicy::OnlySynced, CrashPolicy::Everything, CrashPolicy::Random] {
            let what = format!("crash after operation {operation}, {policy:?}");
            let image = machine.after_crash(operation, policy, operation).unwrap();
            let ledger = simulated(&image).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(ledger.status().writer, WriterState::Ready, "{what}");
            assert!(ledger.head().position.get() >= reached, "{what}");
            append(&ledger, 1_000_000).unwrap();
            ledger.close().unwrap();
            assert_eq!(ledger.status().heads.failed, 0, "{what}");
            simulated(&image).unwrap_or_else(|error| panic!("{what}, then closed: {error}")).close().unwrap();
        }
    }
}

#[test]
fn no_head_is_signed_over_bytes_that_are_not_on_the_disk() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    (0..5).for_each(|number| append(&ledger, number).unwrap());
    let segments = fixture.ledger().join("segments");
    let live = fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path());
    let live = live.filter(|path| fs::read(path).unwrap().starts_with(b"BITACSEG")).max().unwrap();
    let mut bytes = fs::read(&live).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() - 200;
    bytes[middle] ^= 1;
    // In place, as rot does it: the writer sees no other file.
    let file = fs::OpenOptions::new().write(true).open(&live).unwrap();
    file.write_all_at(&bytes[middle..=middle], middle as u64).unwrap();
    assert!(ledger.close().unwrap_err().to_string().contains("is not on the disk"));
    assert!(ledger.tree_head().is_none());
    assert_eq!(ledger.status().heads.failed, 1);
    let anchored = fixture.anchor().load(&"main".parse().unwrap()).unwrap().unwrap();
    assert_eq!(UnverifiedTreeHead::parse(&anchored).unwrap().size(), 1, "what it began with");
}

#[test]
fn a_head_is_kept_after_a_failed_sync_of_the_one_before() {
    for (sync, what) in [(1, "of a new file of heads"), (2, "of the head in it")] {
        let machine = machine_with_ledger(11);
        let ledger = simulated(&machine).unwrap();
        append(&ledger, 0).unwrap();
        machine.disk.inject(DiskFault::on(DiskCall::SyncAll, sync, errno::EIO).where_path_has(".heads"));
        ledger.end_segment();
        let patience = Instant::now() + Duration::from_secs(20);
        while ledger.status().heads.failed == 0 {
            assert!(ledger.tree_head().is_none(), "{what}: what may not be durable is not published");
            assert!(Instant::now() < patience, "{what}: {:?}", ledger.status().heads);
            std::thread::yield_now();
        }
        assert!(ledger.tree_head().is_none(), "{what}: what may not be durable is not published");
        append(&ledger, 1).unwrap();
        ledger.close().unwrap();
        let size = ledger.tree_head().unwrap().size;
        assert_eq!(size, ledger.head().position.get(), "{what}: the close leaves a head over all events");
        let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::OnlySynced, 1).unwrap();
        let ledger = simulated(&image).unwrap();
        assert_eq!(ledger.tree_head().unwrap().size, size, "{what}");
        ledger.close().unwrap();
    }
}

#[test]
fn a_disk_that_refuses_heads_is_not_filled_with_events_for_them() {
    let machine = machine_with_ledger(12);
    let anchor = FolderAnchor::new(Arc::clone(&machine.environment().disk), Path::new("/anchors"));
    let every = Duration::from_millis(1);
    let heads = HeadOptions { every, anchor: Some(Arc::new(anchor)), ..HeadOptions::default() };
    let options = Options { heads: Some(heads), ..without_heads() };
    let refused = DiskFault::on(DiskCall::CreateNew, 1, errno::ENOSPC).where_path_has(".heads").lasting();
    machine.disk.inject(refused);
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options).unwrap();
    append(&ledger, 0).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while ledger.status().heads.failed < 5 {
        assert!(Instant::now() < patience, "{:?}", ledger.status().heads);
        std::thread::yield_now();
    }
    // Created, opened, the client's, and the one event of the one head.
    assert_eq!(ledger.head().position.get(), 4);
    machine.disk.clear_faults();
    assert_eq!(wait_for_head(&ledger, 0), 4);
    ledger.close().unwrap();
}

#[test]
fn leaves_that_rotted_do_not_spoil_a_head() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    (0..5).for_each(|number| append(&ledger, number).unwrap());
    let leaves = fs::read_dir(fixture.ledger().join("tree")).unwrap().map(|entry| entry.unwrap().path());
    let leaves = leaves.filter(|path| path.extension().is_some_and(|end| end == "leaves")).max().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&leaves).unwrap();
    file.write_all_at(&[0xff; 8], 60).unwrap();
    let head = ledger.head();
    ledger.close().unwrap();
    let signed = ledger.tree_head().unwrap();
    assert!(signed.size > head.position.get());
    let ledger = fixture.open().unwrap();
    assert_eq!(ledger.tree_head().unwrap().root, signed.root);
    ledger.close().unwrap();
}

/// An anchor that anchored nothing, and answers a move when it is told to.
#[derive(Debug, Default)]
struct SlowAnchor {
    moves: AtomicUsize,
    may_answer: AtomicBool,
}

impl Anchor for SlowAnchor {
    fn load(&self, _name: &LedgerName) -> Result<Option<String>, AnchorError> {
        Ok(None)
    }

    fn swap(&self, _name: &LedgerName, expected: Option<&str>, _head: &str) -> Result<(), AnchorError> {
        if expected.is_none() {
            // The beginning, which the opening waits for.
            return Ok(());
        }
        self.moves.fetch_add(1, Ordering::SeqCst);
        let patience = Instant::now() + Duration::from_secs(40);
        while !self.may_answer.load(Ordering::SeqCst) && Instant::now() < patience {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        Ok(Vec::new())
    }

    fn remember_erased(&self, _: &LedgerName, _: &str) -> Result<(), AnchorError> {
        Ok(())
    }

    fn erased(&self, _: &LedgerName) -> Result<Vec<String>, AnchorError> {
        Ok(Vec::new())
    }
}

#[test]
fn no_head_is_given_out_once_damage_is_found_in_what_was_written_long_ago() {
    let machine = machine_with_ledger(13);
    for round in 0..3 {
        let ledger =
            Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), without_heads()).unwrap();
        (0..5).for_each(|number| append(&ledger, round * 5 + number).unwrap());
        ledger.close().unwrap();
    }
    let old = Path::new(FOLDER).join("segments/0000000002.seg");
    let middle = machine.disk.contents(&old).unwrap().len() as u64 / 2;
    machine.disk.flip_bit(&old, middle, 1).unwrap();

    let anchor = Arc::new(SlowAnchor::default());
    let every = Duration::from_millis(1);
    let heads = HeadOptions { every, anchor: Some(anchor.clone()), ..HeadOptions::default() };
    let proof_delay = Duration::from_millis(500);
    let options = Options { heads: Some(heads), proof_delay, ..without_heads() };
    let ledger = Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while anchor.moves.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < patience, "no head was begun: {:?}", ledger.status());
        std::thread::yield_now();
    }
    assert_eq!(damage(&ledger).file, "segments/0000000002.seg");
    anchor.may_answer.store(true, Ordering::SeqCst);
    let head = ledger.head();
    std::thread::sleep(Duration::from_millis(50));
    ledger.close().unwrap();
    assert_eq!(ledger.tree_head(), None, "the one under way is not given out");
    assert_eq!((ledger.head(), anchor.moves.load(Ordering::SeqCst)), (head, 1), "no other is begun");
}

#[test]
fn how_long_the_anchor_is_out_of_reach_does_not_follow_a_clock_that_is_set() {
    let machine = machine_with_ledger(14);
    let environment = machine.environment();
    let anchor = FolderAnchor::new(Arc::clone(&environment.disk), Path::new("/anchors"));
    let every = Duration::from_secs(3_600);
    let heads = HeadOptions { every, anchor: Some(Arc::new(anchor)), ..HeadOptions::default() };
    let options = Options { heads: Some(heads), ..without_heads() };
    let ledger = Ledger::open(&environment, Path::new(FOLDER), keyring(), options).unwrap();
    machine.disk.inject(DiskFault::on(DiskCall::Lock, 1, errno::EIO).where_path_has("/anchors").lasting());
    append(&ledger, 0).unwrap();
    ledger.end_segment();
    let patience = Instant::now() + Duration::from_secs(20);
    while ledger.status().heads.unanchored_for.is_none() {
        assert!(Instant::now() < patience, "{:?}", ledger.status().heads);
        std::thread::yield_now();
    }
    let unanchored = || ledger.status().heads.unanchored_for.unwrap();
    let (now, day, minute) = (machine.clock.now(), 86_400_000_000, Duration::from_secs(60));
    machine.clock.set(Micros(now.0 + day));
    assert_eq!(unanchored(), Duration::ZERO, "set forward");
    machine.clock.advance(minute);
    machine.clock.set(Micros(now.0 - day));
    assert_eq!(unanchored(), minute, "set back");
    machine.clock.advance(minute);
    assert_eq!(unanchored(), minute * 2);
    machine.disk.clear_faults();
    ledger.close().unwrap();
    assert_eq!(ledger.status().heads.unanchored_for, None);
}

/// The entry in the place of the head that the anchor remembers.
enum AnchorReplacement {
    Bytes(Vec<u8>),
    Folder,
}

#[test]
fn an_anchor_that_was_damaged_is_refused_and_not_taken_for_one_out_of_reach() {
    let head = Path::new("/anchors/main.head");
    let whole = {
        let machine = machine_with_ledger(15);
        simulated(&machine).unwrap().close().unwrap();
        machine.disk.contents(head).unwrap()
    };
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x80;
        AnchorReplacement::Bytes(bytes)
    };
    let mut places: Vec<_> = (0..whole.len()).step_by(31).map(flipped).collect();
    places.extend([
        AnchorReplacement::Bytes(vec![0xff; 40]),
        AnchorReplacement::Bytes(vec![b'x'; 1 << 20]),
        AnchorReplacement::Folder,
    ]);
    for required in [false, true] {
        for (number, entry) in places.iter().enumerate() {
            let machine = machine_with_ledger(15);
            simulated(&machine).unwrap().close().unwrap();
            let environment = machine.environment();
            environment.disk.remove_file(head).unwrap();
            match entry {
                AnchorReplacement::Folder => environment.disk.create_folder(head).unwrap(),
                AnchorReplacement::Bytes(bytes) => {
                    let file = environment.disk.open(head, OpenMode::CreateNew).unwrap();
                    file.write_all_at(bytes, 0).unwrap();
                }
            }
            let anchor = Arc::new(FolderAnchor::new(Arc::clone(&environment.disk), Path::new("/anchors")));
            let heads =
                HeadOptions { anchor: Some(anchor), anchor_required: required, ..HeadOptions::default() };
            let options = Options { heads: Some(heads), ..without_heads() };
            let opened = Ledger::open(&environment, Path::new(FOLDER), keyring(), options);
            assert!(
                matches!(opened, Err(OpenError::RolledBack(_))),
                "{required}, {number}: {:?}",
                opened.err()
            );
        }
    }
}

#[test]
fn a_ledger_without_events_signs_a_head_now_and_then_so_that_silence_shows() {
    let machine = machine_with_ledger(16);
    let every = Duration::from_millis(1);
    let heads = HeadOptions { every, ..HeadOptions::default() };
    let idle_every = heads.idle_every;
    let options = Options { heads: Some(heads), ..without_heads() };
    let ledger = Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap();
    let first = wait_for_head(&ledger, 0);
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(ledger.tree_head().unwrap().size, first, "none is due yet");
    for silence in 1..=2 {
        machine.clock.advance(idle_every);
        // It covers its own event, and nothing else happened.
        assert_eq!(wait_for_head(&ledger, first + silence - 1), first + silence);
    }
    ledger.close().unwrap();
}

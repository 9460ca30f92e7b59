//! Proofs and tiles of a ledger: each holds against its frames' roots at any time, also while it grows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{Event, Frontier, Levels, Position, TreeHash, verify_consistency, verify_inclusion};
use bitacora_ledger::{AppendRequest, Ledger, Options, ReadError};
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, Memory, keyring, machine_with_ledger, open, wait_for_proof};

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

/// Every leaf of a ledger, by its leaves alone.
fn leaf_hashes(ledger: &Ledger) -> Vec<TreeHash> {
    let size = ledger.head().position.get();
    let mut hashes = Vec::new();
    for group in 0..size.div_ceil(256) {
        let width = usize::try_from((size - group * 256).min(256)).unwrap();
        let leaves = ledger.leaves(group, width).unwrap();
        assert_eq!(leaves.len(), width);
        hashes.extend((group * 256 + 1..).zip(leaves).map(|(at, leaf)| leaf.hash(position(at))));
    }
    hashes
}

fn root_after(hashes: &[TreeHash], size: u64) -> TreeHash {
    let mut tree = Frontier::new();
    hashes.iter().take(usize::try_from(size).unwrap()).for_each(|hash| tree.push(*hash));
    tree.root()
}

fn check_proofs(ledger: &Ledger, what: &str) {
    let head = ledger.head();
    let size = head.position.get();
    let hashes = leaf_hashes(ledger);
    assert_eq!(root_after(&hashes, size), head.tree_root, "{what}");
    let places = [1, 2, 3, 255, 256, 257, 512, 65_535, 65_536, 65_537, size / 2, size - 1, size];
    let places: Vec<u64> = places.into_iter().filter(|place| (1..=size).contains(place)).collect();
    for to in &places {
        let new_root = root_after(&hashes, *to);
        for at in places.iter().filter(|at| *at <= to) {
            let included = ledger.prove_inclusion(position(*at), *to).unwrap();
            assert_eq!(included.root, new_root, "{what}: {at} in {to}");
            let leaf = included.leaf.hash(position(*at));
            assert_eq!(verify_inclusion(&leaf, at - 1, *to, &included.hashes, &new_root), Ok(()), "{what}");
            let grown = ledger.prove_consistency(*at, *to).unwrap();
            let old_root = root_after(&hashes, *at);
            assert_eq!((grown.old_root, grown.new_root), (old_root, new_root), "{what}: {at} to {to}");
            assert_eq!(verify_consistency(*at, *to, &grown.hashes, &old_root, &new_root), Ok(()), "{what}");
        }
    }
    let levels = Levels::of_groups(hashes.as_chunks::<256>().0.iter().map(|group| root_after(group, 256)));
    for level in 1..4 {
        for (index, tile) in levels.row(level).chunks(256).enumerate() {
            assert_eq!(ledger.tile(level, index as u64, tile.len()).unwrap(), tile, "{what}");
            let more = ledger.tile(level, index as u64, tile.len() + 1);
            assert!(matches!(more, Err(ReadError::PastHead { .. })), "{what}: {more:?}");
        }
    }
    assert_eq!(ledger.tile(0, 0, 1).unwrap(), hashes[..1]);
}

/// A reader of the folder, beside any process that has it open.
fn reader(machine: &Simulation) -> Ledger {
    Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None).unwrap()
}

/// Larger segments than the other tests have: two whole tiles of level 1 want many events.
fn open_large(machine: &Simulation) -> Ledger {
    let options = Options { segment_bytes: 2 * 1024 * 1024, request_bytes: 256 * 1024, ..Options::small() };
    Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap()
}

fn append_many(ledger: &Ledger, from: u64, until: u64) {
    for first in (from..until).step_by(1_000) {
        let events = first..until.min(first + 1_000);
        let events: Vec<_> =
            events.map(|number| Event::new(format!("m{number}"), "urn:test", "x.noted", "s")).collect();
        ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
    }
}

#[test]
fn every_proof_holds_after_every_way_of_opening() {
    let machine = machine_with_ledger(510);
    let ledger = open_large(&machine);
    check_proofs(&ledger, "a fresh ledger");
    append_many(&ledger, 0, 30_100);
    ledger.end_segment();
    append_many(&ledger, 30_100, 66_100);
    assert!(ledger.status().segments > 2);
    check_proofs(&ledger, "live");
    ledger.close().unwrap();
    drop(ledger);
    check_proofs(&reader(&machine), "only read");
    let ledger = open_large(&machine);
    check_proofs(&ledger, "opened again");
    append_many(&ledger, 70_000, 70_700);
    check_proofs(&ledger, "and gone on");
    check_proofs(&reader(&machine), "only read, while it is written");
    ledger.close().unwrap();
    drop(ledger);
    for lost in ["tree", "index", "tree/level-1"] {
        let files: Vec<PathBuf> = machine.disk.paths();
        let lost_files = files.iter().filter(|path| path.starts_with(Path::new(FOLDER).join(lost)));
        lost_files.for_each(|path| drop(machine.disk.unlink(path)));
        let ledger = open_large(&machine);
        wait_for_proof(&ledger);
        append_many(&ledger, 80_000, 80_300);
        check_proofs(&ledger, &format!("{lost} was lost"));
        ledger.close().unwrap();
    }
}

#[test]
fn what_is_not_durable_has_no_proof() {
    let machine = machine_with_ledger(511);
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    (0..300).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
    let size = ledger.head().position.get();
    let past = [
        ledger.prove_inclusion(position(1), size + 1).err(),
        ledger.prove_inclusion(position(size + 1), size).err(),
        ledger.prove_inclusion(position(3), 2).err(),
        ledger.prove_inclusion(position(1), 0).err(),
        ledger.prove_inclusion(position(u64::MAX), u64::MAX).err(),
        ledger.prove_consistency(1, size + 1).err(),
        ledger.prove_consistency(3, 2).err(),
        ledger.prove_consistency(u64::MAX, u64::MAX).err(),
        ledger.leaves(size / 256, 256).err(),
        ledger.leaves(0, 0).err(),
        ledger.leaves(0, 257).err(),
        ledger.leaves(u64::MAX, 256).err(),
        ledger.tile(0, u64::MAX / 256, 1).err(),
        ledger.tile(1, 0, 2).err(),
        ledger.tile(1, u64::MAX, 1).err(),
        ledger.tile(9, 0, 1).err(),
        ledger.tile(u32::MAX, u64::MAX, usize::MAX).err(),
    ];
    for (case, error) in past.into_iter().enumerate() {
        assert!(matches!(error, Some(ReadError::PastHead { .. })), "case {case}: {error:?}");
    }
    let nothing = ledger.prove_consistency(0, size).unwrap();
    assert_eq!((nothing.hashes.len(), nothing.new_root), (0, ledger.head().tree_root));
    assert_eq!(ledger.prove_consistency(size, size).unwrap().hashes, []);
}

#[test]
fn proofs_hold_at_every_head_of_a_ledger_that_grows() {
    let machine = machine_with_ledger(512);
    let ledger = open(&machine).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = RaisedAtEnd::of(&is_over);
        let reader = scope.spawn(|| {
            let (mut before, mut proofs) = (ledger.head(), 0_u64);
            while !is_over.load(Ordering::Relaxed) || proofs == 0 {
                let head = ledger.head();
                let size = head.position.get();
                let at = position(size - proofs % size.min(400));
                let included = ledger.prove_inclusion(at, size).unwrap();
                let leaf = included.leaf.hash(at);
                verify_inclusion(&leaf, at.get() - 1, size, &included.hashes, &head.tree_root).unwrap();
                let grown = ledger.prove_consistency(before.position.get(), size).unwrap();
                let (from, old) = (before.position.get(), before.tree_root);
                verify_consistency(from, size, &grown.hashes, &old, &head.tree_root).unwrap();
                (before, proofs) = (head, proofs + 1);
            }
            proofs
        });
        let mut memory = Memory::default();
        (0..1_500).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        drop(over);
        assert!(reader.join().unwrap() > 10);
    });
    assert!(ledger.status().segments > 3);
}

#[test]
fn leaves_that_rot_under_a_running_service_are_never_served_and_are_made_again() {
    let machine = machine_with_ledger(513);
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    (0..900).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
    ledger.end_segment();
    (900..910).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
    let size = ledger.head().position.get();
    let victim = Path::new(FOLDER).join("tree/0000000002.leaves");
    let length = machine.disk.contents(&victim).unwrap().len() as u64;
    for offset in [40, length / 2, length - 1] {
        machine.disk.flip_bit(&victim, offset, 5).unwrap();
        let at = position(1 + offset / 40);
        let refused = ledger.prove_inclusion(at, size);
        assert!(matches!(refused, Err(ReadError::TreeBehind(_))), "byte {offset}: {refused:?}");
        let patience = Instant::now() + Duration::from_secs(20);
        while let Err(error) = ledger.prove_inclusion(at, size) {
            assert!(matches!(error, ReadError::TreeBehind(_)) && Instant::now() < patience, "{error}");
            std::thread::yield_now();
        }
        check_proofs(&ledger, &format!("byte {offset} made again"));
    }
}

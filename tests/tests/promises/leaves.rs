//! The leaves beside the segments: those of the log at any time, also when damaged, never in the way.

use std::path::{Path, PathBuf};

use bitacora_formats::{
    Frontier, LEAVES_HEADER_BYTES, LeafEntry, LeavesHeader, Levels, LevelsHeader, Position, SegmentWalk, Step,
};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, Memory, machine_with_ledger, open, wait_for_proof};

fn files(machine: &Simulation, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(FOLDER).join(folder);
    machine.disk.paths().into_iter().filter(|path| path.parent() == Some(&*folder)).collect()
}

fn copy(machine: &Simulation) -> Simulation {
    machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 1).unwrap()
}

/// A ledger of several segments, closed twice.
fn closed(seed: u64) -> Simulation {
    let machine = machine_with_ledger(seed);
    let mut memory = Memory::default();
    for round in 0..2 {
        let ledger = open(&machine).unwrap();
        (round * 500..(round + 1) * 500).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        ledger.close().unwrap();
    }
    assert!(files(&machine, "segments").len() > 4);
    machine
}

/// Returns the number of events in a segment's frames, and the number of entries beside it. Checks that every entry that is there for a
/// frame gives the root that the frame states.
fn compare(machine: &Simulation, segment: &Path) -> (u64, u64) {
    let bytes = machine.disk.contents(segment).unwrap();
    let (mut walk, header) = match SegmentWalk::start(&bytes, None) {
        Ok(started) => started,
        Err(_) => return (0, 0),
    };
    let name = segment.file_stem().unwrap().to_string_lossy();
    let beside = Path::new(FOLDER).join(format!("tree/{name}.leaves"));
    let leaves = machine.disk.contents(&beside).unwrap_or_default();
    let entries = leaves.get(LEAVES_HEADER_BYTES..).unwrap_or_default();
    if leaves.len() >= LEAVES_HEADER_BYTES {
        let expected = LeavesHeader {
            ledger: header.ledger,
            segment: header.number,
            first_position: header.first_position,
        };
        assert_eq!(LeavesHeader::parse(&leaves), Ok(expected), "{name}");
    }
    let mut tree = header.frontier.clone();
    let mut rest = LeafEntry::all(entries);
    let mut events = 0;
    while let Step::Frame(frame) = walk.next_step() {
        let stored = frame.stored.header();
        events += u64::from(stored.count);
        if (rest.len() as u64) < u64::from(stored.count) {
            continue;
        }
        for (entry, at) in rest.by_ref().zip(stored.first_position.get()..).take(stored.count as usize) {
            tree.push(entry.hash(Position::new(at).unwrap()));
        }
        assert_eq!(tree.root(), stored.tree_root, "{name}, frame at {}", frame.offset);
    }
    (events, LeavesHeader::entries_in(leaves.len() as u64))
}

/// Every segment has exactly its leaves beside it, and the level above is theirs.
fn check_whole(machine: &Simulation, what: &str) {
    let (mut tree, mut groups) = (Frontier::new(), Vec::new());
    for segment in files(machine, "segments") {
        let (events, entries) = compare(machine, &segment);
        assert_eq!(events, entries, "{what}: {}", segment.display());
        let name = segment.file_stem().unwrap().to_string_lossy();
        let leaves = machine.disk.contents(&Path::new(FOLDER).join(format!("tree/{name}.leaves"))).unwrap();
        assert_eq!(leaves.len() as u64, LeavesHeader::file_bytes(events), "{what}: {name}");
        for entry in LeafEntry::all(&leaves[LEAVES_HEADER_BYTES..]) {
            groups.extend(tree.push_grouping(entry.hash(Position::new(tree.size() + 1).unwrap())));
        }
    }
    let level = machine.disk.contents(&Path::new(FOLDER).join("tree/level-1")).unwrap_or_default();
    let stored: Vec<_> = LevelsHeader::hashes(level.get(32..).unwrap_or_default()).collect();
    assert_eq!(stored.get(..groups.len()), Some(&groups[..]), "{what}: level 1");
    assert!(Levels::of_groups(groups).is_of(&tree));
    let strays: Vec<_> = files(machine, "tree")
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "new"))
        .collect();
    assert!(strays.is_empty(), "{what}: {strays:?}");
}

/// Opens, lets the background do its work, and closes.
fn mend(machine: &Simulation) {
    let ledger = open(machine).unwrap();
    wait_for_proof(&ledger);
    ledger.close().unwrap();
}

#[test]
fn every_segment_has_its_leaves_beside_it() {
    let machine = closed(500);
    check_whole(&machine, "closed twice");
    let synced = machine.after_crash(machine.disk.operation_count(), CrashPolicy::OnlySynced, 1).unwrap();
    check_whole(&synced, "closed, then the power went");
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    (2_000..2_100).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
    // Acknowledged events have their leaves, in the live segment too.
    check_whole_so_far(&machine);
}

fn check_whole_so_far(machine: &Simulation) {
    for segment in files(machine, "segments") {
        let (events, entries) = compare(machine, &segment);
        assert_eq!(events, entries, "{}", segment.display());
    }
}

#[test]
fn at_any_moment_no_entry_is_without_its_frame() {
    let machine = machine_with_ledger(501);
    let ledger = open(&machine).unwrap();
    let before = machine.disk.operation_count();
    let mut memory = Memory::default();
    (0..300).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
    ledger.close().unwrap();
    let mut lagged = 0;
    for operation in (before..machine.disk.operation_count()).step_by(3) {
        let image = machine.after_crash(operation, CrashPolicy::Everything, 1).unwrap();
        for segment in files(&image, "segments") {
            let (events, entries) = compare(&image, &segment);
            assert!(entries <= events, "operation {operation}, {}: {entries} of {events}", segment.display());
            lagged += u64::from(entries < events);
        }
    }
    assert!(lagged > 0, "no image lies between a frame and its leaves");
}

#[test]
fn after_a_crash_anywhere_an_opening_has_the_leaves_right_again() {
    let machine = machine_with_ledger(502);
    let mut memory = Memory::default();
    let before = machine.disk.operation_count();
    for round in 0..2 {
        let ledger = open(&machine).unwrap();
        (round * 150..(round + 1) * 150).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        ledger.close().unwrap();
    }
    let operations = before..machine.disk.operation_count();
    for (operation, policy) in operations.step_by(13).zip(CrashPolicy::ALL.into_iter().cycle()) {
        let image = machine.after_crash(operation, policy, operation).unwrap();
        mend(&image);
        check_whole(&image, &format!("operation {operation}, {policy:?}"));
    }
}

#[test]
fn leaves_that_were_changed_cut_or_lost_are_made_again() {
    let machine = closed(503);
    for file in files(&machine, "tree") {
        let bytes = machine.disk.contents(&file).unwrap();
        let length = bytes.len();
        for offset in (0..length).step_by(length / 7 + 1).chain([length - 1]) {
            let image = copy(&machine);
            image.disk.flip_bit(&file, offset as u64, 3).unwrap();
            mend(&image);
            check_whole(&image, &format!("{} flipped at {offset}", file.display()));
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0; 40]).collect();
        let others: [&[u8]; 5] = [&[], &bytes[..length / 2], &bytes[..length - 1], &longer, &vec![0; length]];
        for (case, contents) in others.into_iter().enumerate() {
            let image = copy(&machine);
            image.disk.unlink(&file).unwrap();
            image.disk.put(&file, contents).unwrap();
            mend(&image);
            check_whole(&image, &format!("{} replaced by {case}", file.display()));
        }
    }
    let image = copy(&machine);
    files(&image, "tree").iter().for_each(|file| image.disk.unlink(file).unwrap());
    image.disk.put(&Path::new(FOLDER).join("tree/0000000002.leaves.new"), b"begun").unwrap();
    mend(&image);
    check_whole(&image, "all of them lost");
    // A ledger from before there were leaves, whose tables are lost too.
    let image = copy(&machine);
    for file in files(&image, "tree").iter().chain(&files(&image, "index")) {
        image.disk.unlink(file).unwrap();
    }
    mend(&image);
    check_whole(&image, "leaves and tables lost");
}

#[test]
fn a_disk_that_refuses_leaves_refuses_no_event() {
    for (number, effect) in [(504, Effect::Without), (505, Effect::Partly), (506, Effect::With)] {
        let machine = machine_with_ledger(number);
        let ledger = open(&machine).unwrap();
        let mut memory = Memory::default();
        (0..50).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        let refusals = [DiskCall::Write, DiskCall::CreateNew, DiskCall::SyncAll, DiskCall::Rename];
        for call in refusals {
            let fault =
                DiskFault::on(call, 1, errno::ENOSPC).effect(effect).where_path_has("/tree/").lasting();
            machine.disk.inject(fault);
        }
        (50..900).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        assert!(ledger.status().writer.is_ready(), "{:?}", ledger.status());
        assert!(ledger.status().segments > 3);
        machine.disk.clear_faults();
        (900..1_100).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        memory.check(&ledger);
        ledger.close().unwrap();
        check_whole(&machine, &format!("{effect:?}"));
        mend(&machine);
        check_whole(&machine, &format!("{effect:?}, opened again"));
    }
}

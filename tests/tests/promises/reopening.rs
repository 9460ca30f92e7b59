//! Tests that tables give an opening what the log says: with them, without them, and with damaged ones.

use std::path::{Path, PathBuf};

use bitacora_ledger::{AppendRequest, Head, Ledger, WriterState};
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, Memory, all, damage, event, machine_with_ledger, open, wait_for_proof};

const STREAMS: u64 = 5;

/// A ledger of several segments, closed, and what its client knows.
fn closed(seed: u64, events: u64) -> (Simulation, Memory) {
    let machine = machine_with_ledger(seed);
    let mut memory = Memory::default();
    for round in 0..2 {
        let ledger = open(&machine).unwrap();
        for number in round * events..(round + 1) * events {
            memory.append(&ledger, number).unwrap();
        }
        assert!(ledger.status().segments > 2);
        ledger.close().unwrap();
    }
    (machine, memory)
}

fn copy(machine: &Simulation) -> Simulation {
    machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 1).unwrap()
}

fn tables(machine: &Simulation) -> Vec<PathBuf> {
    let index = Path::new(FOLDER).join("index");
    machine.disk.paths().into_iter().filter(|path| path.parent() == Some(&*index)).collect()
}

/// Returns the facts that a client can ask without reading the log.
fn known(ledger: &Ledger) -> (Head, Vec<Option<(u64, u64)>>) {
    let tip = |stream| {
        let tip = ledger.stream_tip(&format!("stream-{stream}"));
        tip.map(|(version, position)| (version.get(), position.get()))
    };
    (ledger.head(), (0..STREAMS).map(tip).collect())
}

/// Every event is where it was, repeated ones are known, new ones are taken.
fn check(ledger: &Ledger, memory: &Memory, what: &str) {
    memory.check(ledger);
    for (number, position) in memory.acknowledged.iter().step_by(17) {
        let again = ledger.append(AppendRequest::of(vec![event(*number)])).unwrap().wait().unwrap();
        assert!(again.only_duplicates() && again.first == *position, "{what}: e{number}");
    }
    let mut memory = memory.clone();
    memory.append(ledger, 1_000_000).unwrap();
    memory.check(ledger);
}

#[test]
fn an_opening_with_tables_knows_what_one_without_them_reads() {
    let (machine, memory) = closed(70, 500);
    assert!(tables(&machine).len() >= 2, "{:?}", tables(&machine));
    let without = copy(&machine);
    tables(&without).iter().for_each(|table| without.disk.unlink(table).unwrap());

    let (quick, slow) = (open(&machine).unwrap(), open(&without).unwrap());
    assert_eq!(known(&quick).1, known(&slow).1);
    assert_eq!(quick.head().position, slow.head().position);
    assert!(slow.status().is_proven, "what was read is proven");
    wait_for_proof(&quick);
    check(&quick, &memory, "with tables");
    check(&slow, &memory, "without");
    quick.close().unwrap();
    slow.close().unwrap();
    assert!(!tables(&without).is_empty(), "they are made again");
    drop((quick, slow));
    let again = open(&without).unwrap();
    wait_for_proof(&again);
    check(&again, &memory, "made again");
}

#[test]
fn old_segments_are_not_read_before_the_ledger_is_open() {
    let (machine, memory) = closed(71, 500);
    let first = Path::new(FOLDER).join("segments/0000000001.seg");
    let end = machine.disk.contents(&first).unwrap().len() as u64;
    machine.disk.flip_bit(&first, end - 250, 1).unwrap();
    let ledger = open(&machine).unwrap();
    let fault = damage(&ledger);
    assert_eq!(fault.file, "segments/0000000001.seg");
    assert!(ledger.head().position >= memory.acknowledged.last().unwrap().1, "all of it was open");
    ledger.close().unwrap();
    drop(ledger);
    assert!(!tables(&machine).iter().any(|table| table.to_string_lossy().contains("tips-")));

    // Restored from a copy, it is read as a whole once, and is as good as before.
    machine.disk.flip_bit(&first, end - 250, 1).unwrap();
    let ledger = open(&machine).unwrap();
    assert!(ledger.status().is_proven);
    check(&ledger, &memory, "restored");
}

#[test]
fn damaged_tables_are_made_again_and_change_no_answer() {
    let (machine, memory) = closed(72, 300);
    let expected = known(&open(&copy(&machine)).unwrap()).1;
    let all_tables = tables(&machine);
    for table in &all_tables {
        let bytes = machine.disk.contents(table).unwrap().len() as u64;
        for offset in (0..bytes).step_by(usize::try_from(bytes / 12).unwrap() + 1).chain([bytes - 1]) {
            let image = copy(&machine);
            image.disk.flip_bit(table, offset, 2).unwrap();
            let what = format!("{} at byte {offset}", table.display());
            let ledger = open(&image).unwrap();
            assert_eq!(ledger.status().writer, WriterState::Ready, "{what}");
            assert_eq!(known(&ledger).1, expected, "{what}");
            check(&ledger, &memory, &what);
        }
        let image = copy(&machine);
        image.disk.unlink(table).unwrap();
        check(&open(&image).unwrap(), &memory, &format!("{} removed", table.display()));
    }
}

#[test]
fn tables_of_another_time_of_the_same_ledger_are_not_believed() {
    let (machine, mut memory) = closed(73, 300);
    let early = copy(&machine);
    let ledger = open(&machine).unwrap();
    for number in 10_000..10_400 {
        memory.append(&ledger, number).unwrap();
    }
    ledger.close().unwrap();
    drop(ledger);

    // The log as it was, with the tables of what came later.
    for table in tables(&early) {
        early.disk.unlink(&table).unwrap();
    }
    for table in tables(&machine) {
        early.disk.put(&table, &machine.disk.contents(&table).unwrap()).unwrap();
    }
    let ledger = open(&early).unwrap();
    assert_eq!(ledger.status().writer, WriterState::Ready);
    let stood = memory.acknowledged.iter().filter(|(number, _)| *number < 10_000).count();
    let before = Memory { acknowledged: memory.acknowledged[..stood].to_vec() };
    check(&ledger, &before, "tables from later");
    let fresh = ledger.append(AppendRequest::of(vec![event(10_000)])).unwrap().wait().unwrap();
    assert!(!fresh.only_duplicates(), "an identity that this log does not hold");

    // Two logs that were one: each has segments of the same numbers, and is told nothing by the other's tables.
    let mut apart = Memory::default();
    for number in 30_000..30_400 {
        apart.append(&ledger, number).unwrap();
    }
    ledger.close().unwrap();
    drop(ledger);
    for table in tables(&early) {
        early.disk.unlink(&table).unwrap();
    }
    for table in tables(&machine) {
        early.disk.put(&table, &machine.disk.contents(&table).unwrap()).unwrap();
    }
    let ledger = open(&early).unwrap();
    check(&ledger, &before, "before they parted");
    check(&ledger, &apart, "after they parted");
    let fresh = ledger.append(AppendRequest::of(vec![event(10_200)])).unwrap().wait().unwrap();
    assert!(!fresh.only_duplicates());
}

#[test]
fn an_opening_after_a_crash_reads_what_no_table_tells() {
    let (machine, mut memory) = closed(74, 300);
    let ledger = open(&machine).unwrap();
    for number in 20_000..20_300 {
        memory.append(&ledger, number).unwrap();
    }
    let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::OnlySynced, 3).unwrap();
    let expected = known(&ledger);
    let killed = open(&image).unwrap();
    assert_eq!(known(&killed).1, expected.1);
    check(&killed, &memory, "killed");
    wait_for_proof(&killed);
    assert_eq!(all(&killed).unwrap().len() as u64, killed.head().position.get());
}

//! A ledger opened for reading shows what was durable, and nobody can tell from the folder that it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{After, Keyring};
use bitacora_ledger::{
    AppendError, AppendRequest, Filter, From, Ledger, OpenError, ReadError, ReadOnlyReason, ReadQuery,
    WriterState,
};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, Memory, all, damage, event, keyring, machine_with_ledger, open};

fn open_for_reading(machine: &Simulation) -> Result<Ledger, OpenError> {
    Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None)
}

fn segment(number: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("segments/{number:010}.seg"))
}

/// Every file with its bytes.
fn files(machine: &Simulation) -> BTreeMap<PathBuf, Vec<u8>> {
    let contents = |path: PathBuf| machine.disk.contents(&path).ok().map(|bytes| (path, bytes));
    machine.disk.paths().into_iter().filter_map(contents).collect()
}

/// A ledger of several segments that was killed.
fn killed(seed: u64) -> (Simulation, Memory) {
    let machine = machine_with_ledger(seed);
    let mut memory = Memory::default();
    let ledger = open(&machine).unwrap();
    for number in 0..500 {
        memory.append(&ledger, number).unwrap();
    }
    assert!(ledger.status().segments > 2);
    let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, seed).unwrap();
    (image, memory)
}

#[test]
fn what_was_acknowledged_is_read_while_another_writes() {
    let machine = machine_with_ledger(80);
    let writer = open(&machine).unwrap();
    let mut memory = Memory::default();
    for number in 0..400 {
        memory.append(&writer, number).unwrap();
        if number % 23 == 0 {
            let reader = open_for_reading(&machine).unwrap();
            assert_eq!(reader.head(), writer.head(), "after event {number}");
            memory.check(&reader);
        }
    }
    let reader = open_for_reading(&machine).unwrap();
    let head = reader.head();
    memory.append(&writer, 1_000).unwrap();
    assert_eq!((reader.head(), all(&reader).unwrap().len() as u64), (head, head.position.get()));
    let past = head.position.next().unwrap();
    assert!(matches!(reader.event(past), Err(ReadError::PastHead { .. })), "what came later stays unseen");
    drop(reader);
    memory.append(&writer, 1_001).unwrap();
    memory.check(&writer);
}

#[test]
fn nothing_in_the_folder_is_changed() {
    let (machine, memory) = killed(81);
    let index = Path::new(FOLDER).join("index/tips-0000000007-0000000009.tbl");
    machine.disk.put(&index, b"of no use").unwrap();
    let before = files(&machine);
    let reader = open_for_reading(&machine).unwrap();
    memory.check(&reader);
    let refused = reader.append(AppendRequest::of(vec![event(0)]));
    assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::ForReading))));
    assert_eq!(reader.status().writer, WriterState::ReadOnly(ReadOnlyReason::ForReading));
    reader.close().unwrap();
    drop(reader);
    assert_eq!(files(&machine), before);
}

#[test]
fn a_torn_end_is_left_out_and_left_alone() {
    let (machine, mut memory) = killed(82);
    let last = (1..).map(segment).take_while(|path| {
        machine.disk.contents(path).is_ok_and(|bytes| bytes.iter().any(|byte| *byte != 0))
    });
    let last = last.last().unwrap();
    let bytes = machine.disk.contents(&last).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    machine.disk.flip_bit(&last, end as u64 - 20, 1).unwrap();
    let before = files(&machine);
    let reader = open_for_reading(&machine).unwrap();
    memory.acknowledged.pop();
    memory.check(&reader);
    assert_eq!(reader.head().position, memory.acknowledged.last().unwrap().1);
    drop(reader);
    assert_eq!(files(&machine), before);
}

#[test]
fn damage_is_told_where_it_is_met() {
    let (machine, memory) = killed(83);
    machine.disk.flip_bit(&segment(1), 700, 1).unwrap();
    let reader = open_for_reading(&machine).unwrap();
    let met = all(&reader).unwrap_err();
    assert!(matches!(&met, ReadError::Corrupt(fault) if fault.file.ends_with("0000000001.seg")), "{met:?}");
    let (number, position) = *memory.acknowledged.last().unwrap();
    assert_eq!(reader.event(position).unwrap().event, event(number), "the rest is read");
    drop(reader);

    machine.disk.flip_bit(&segment(1), 700, 1).unwrap();
    // A header that is not what it must be ends what can be told.
    machine.disk.flip_bit(&segment(2), 60, 1).unwrap();
    let reader = open_for_reading(&machine).unwrap();
    assert_eq!(damage(&reader).file, "segments/0000000002.seg");
}

#[test]
fn no_event_is_passed_over_whatever_bit_of_a_frame_header_changed() {
    let machine = machine_with_ledger(84);
    let writer = open(&machine).unwrap();
    for number in (0..20).step_by(5) {
        let events = (number..number + 5).map(event).collect();
        writer.append(AppendRequest::of(events)).unwrap().wait().unwrap();
    }
    // Only the segments before the last one are not walked over.
    writer.close().unwrap();
    drop(writer);
    drop(open(&machine).unwrap());
    let bytes = machine.disk.contents(&segment(2)).unwrap();
    let frames = (0..bytes.len() as u64 - 4).filter(|at| {
        let at = usize::try_from(*at).unwrap();
        bytes[at..].starts_with(b"BITF")
    });
    for offset in frames.skip(1).take(2).flat_map(|frame| frame..frame + 32) {
        for bit in 0..8 {
            machine.disk.flip_bit(&segment(2), offset, bit).unwrap();
            let damage = format!("byte {offset}, bit {bit}");
            // A reader that has met the damage goes by opened frames from then on. One that begins behind it goes by headers.
            assert_nothing_is_passed_over(&open_for_reading(&machine).unwrap(), 0..15, &damage);
            assert_nothing_is_passed_over(&open_for_reading(&machine).unwrap(), (0..15).rev(), &damage);
            machine.disk.flip_bit(&segment(2), offset, bit).unwrap();
        }
    }
}

/// A page has every event from its first position on. It ends before damage, and the next one says what is wrong.
fn assert_nothing_is_passed_over(reader: &Ledger, begins: impl Iterator<Item = u64>, damage: &str) {
    for after in begins {
        let from = From::After(After::new(after));
        let query = ReadQuery { from, until: None, limit: 3, filter: Filter::default() };
        let Ok(page) = reader.read(&query) else { continue };
        let found: Vec<_> = page.events.iter().map(|event| event.position.get()).collect();
        let is_cut = page.next.is_some_and(|from| reader.read(&ReadQuery { from, ..query }).is_err());
        let expected: Vec<_> = (after + 1..=after + 3).take(if is_cut { found.len() } else { 3 }).collect();
        assert_eq!(found, expected, "{damage}");
    }
}

#[test]
fn another_keyring_or_no_ledger_is_an_error() {
    let (machine, _) = killed(85);
    let mut random = SeededRandom::new(99);
    let other = Arc::new(Keyring::generate(&mut |bytes| random.fill(bytes)));
    let refused = Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), other, None);
    assert!(matches!(refused, Err(OpenError::Keyring { .. })), "{:?}", refused.err());
    let missing = Ledger::open_for_reading(&machine.environment(), Path::new("/data/none"), keyring(), None);
    assert!(matches!(missing, Err(OpenError::Missing(_))), "{:?}", missing.err());
}

//! P6: after a changed bit in a segment everything whole is served, also behind the damage.
//! A damaged event is an error at its place, and no list passes over anything.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bitacora_formats::{After, Micros, Position};
use bitacora_ledger::{
    AppendRequest, Filter, Ledger, ReadError, ReadFrom, ReadOnlyReason, ReadQuery, StoredEvent, WriterState,
};
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, all, event, keyring, machine_with_ledger, open};

/// Events of each request, so that a frame holds some.
const IN_A_FRAME: u64 = 3;
/// Events of a frame at most: the one that an opening says of itself may be with those of a request.
const EVENTS_OF_A_FRAME: usize = 4;

fn segment(number: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("segments/{number:010}.seg"))
}

/// A ledger of four segments with some frames each, closed, and all that it holds.
fn ledger() -> (Simulation, Vec<StoredEvent<'static>>) {
    let machine = machine_with_ledger(160);
    for round in 0..3 {
        let ledger = open(&machine).unwrap();
        for number in 0..3 {
            let first = (round * 3 + number) * IN_A_FRAME;
            let events = (first..first + IN_A_FRAME).map(event).collect();
            machine.clock.advance(Duration::from_secs(1));
            ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    let reader = open_for_reading(&machine);
    let events = all(&reader).unwrap();
    (machine, events)
}

fn open_for_reading(machine: &Simulation) -> Ledger {
    Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None).unwrap()
}

/// The bytes that are changed in turn: of the header, of each frame, and of the footer.
fn places(bytes: &[u8]) -> Vec<usize> {
    let frames: Vec<_> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"BITF")).collect();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let header = [0, 13, 44, 100, 180, 306, frames[0] - 2];
    let of_frames = frames.iter().enumerate().flat_map(|(index, frame)| {
        let next = frames.get(index + 1).map_or(end - 187, |next| *next);
        [0, 8, 16, 24, 32, 41, 46, 90, 160].map(|at| frame + at).into_iter().chain([
            next - 80,
            next - 40,
            next - 2,
        ])
    });
    header.into_iter().chain(of_frames).chain([end - 100]).collect()
}

/// Reads page by page, and behind each damage on, as a client does who goes by what is said of it.
fn read_on(ledger: &Ledger, filter: &Filter, what: &str) -> (Vec<u64>, Vec<u64>) {
    let (mut found, mut lost, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let from = ReadFrom::After(After::new(after));
        match ledger.read(&ReadQuery { from, until: None, limit: 2, filter: filter.clone() }) {
            Ok(page) => {
                found.extend(page.events.iter().map(|event| event.position.get()));
                match page.next {
                    Some(ReadFrom::After(next)) => after = next.get(),
                    _ => return (found, lost),
                }
            }
            Err(ReadError::Corrupt(fault)) => {
                // Without a last position there is nothing behind it.
                let last = fault.last_position.unwrap_or(fault.first_position + 100);
                lost.extend(fault.first_position..=last);
                if fault.last_position.is_none() {
                    return (found, lost);
                }
                after = last;
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// Compares everything that the ledger answers with what it held.
fn check(ledger: &Ledger, kept: &[StoredEvent<'static>], bound: usize, what: &str) {
    // An opening for writing may have said that it began, before the damage was found.
    let count = ledger.head().position.get().max(kept.len() as u64);
    assert!(count < kept.len() as u64 + 2, "{what}: {count} events");
    let is_unreadable = |at: &u64| match ledger.event(Position::new(*at).unwrap()) {
        Ok(found) => {
            assert!(
                kept.iter()
                    .find(|event| event.position.get() == *at)
                    .is_none_or(|expected| *expected == found),
                "{what}: {at}"
            );
            false
        }
        Err(ReadError::Corrupt(_)) => true,
        Err(error) => panic!("{what}: {error}"),
    };
    let unreadable: Vec<u64> = (1..=count).filter(is_unreadable).collect();
    assert!(unreadable.len() <= bound, "{what}: {unreadable:?} cannot be read");
    let (found, lost) = read_on(ledger, &Filter::default(), what);
    let expected: Vec<u64> = (1..=count).filter(|at| !unreadable.contains(at)).collect();
    assert_eq!(found, expected, "{what}: {lost:?}");
    // Backwards: what is whole behind the damage, without a gap, and then the damage.
    let from = ReadFrom::Before(None);
    let query = ReadQuery { from, until: None, limit: 1_000, filter: Filter::default() };
    let behind = unreadable.iter().max().map_or(1, |last| last + 1)..=count;
    match ledger.read(&query) {
        Ok(page) => {
            let found: Vec<u64> = page.events.iter().map(|event| event.position.get()).collect();
            assert_eq!(found, behind.rev().collect::<Vec<_>>(), "{what}");
            assert_eq!(page.next.is_none(), unreadable.is_empty(), "{what}");
        }
        Err(ReadError::Corrupt(_)) => assert!(unreadable.contains(&count), "{what}"),
        Err(error) => panic!("{what}: {error}"),
    }
    // By time: nothing between the two is missing without a word.
    for time in [kept[1].time, kept[kept.len() / 2].time, kept[kept.len() - 1].time] {
        for (filter, is_meant) in times(time) {
            let (found, lost) = read_on(ledger, &filter, what);
            for event in kept.iter().filter(|event| is_meant(event.time, time)) {
                let at = event.position.get();
                assert!(found.contains(&at) || lost.contains(&at), "{what}: {at} by {filter:?}: {found:?}");
            }
        }
    }
}

/// A filter, and whether it means an event of the first time where it was made of the second.
type ByTime = (Filter, fn(Micros, Micros) -> bool);

fn times(time: Micros) -> [ByTime; 2] {
    let since = Filter { since: Some(time), ..Filter::default() };
    let before = Filter { before: Some(time), ..Filter::default() };
    [(since, |at, time| at >= time), (before, |at, time| at < time)]
}

#[test]
fn whatever_bit_of_a_segment_changed_what_is_whole_behind_it_is_served() {
    let (machine, kept) = ledger();
    for number in 1..=4 {
        let bytes = machine.disk.contents(&segment(number)).unwrap();
        let header = (0..bytes.len()).find(|at| bytes[*at..].starts_with(b"BITF")).unwrap();
        for (index, offset) in (0_u32..).zip(places(&bytes)) {
            let what = format!("segment {number}, byte {offset} of {}", bytes.len());
            // A header is certified, so that its bit is found. Of frames the one that is hit is lost.
            let bound = if offset < header { 0 } else { EVENTS_OF_A_FRAME };
            machine.disk.flip_bit(&segment(number), offset as u64, index % 8).unwrap();
            check(&open_for_reading(&machine), &kept, bound, &what);
            // With tables and without: the opening reads the headers of old segments, or every byte.
            for is_read in [false, true] {
                let operations = machine.disk.operation_count();
                let image = machine.after_crash(operations, CrashPolicy::Everything, 1).unwrap();
                if is_read {
                    forget_tables(&image);
                }
                let ledger = open(&image).unwrap();
                match ledger.status().writer {
                    // Only torn bytes may be cut, and that is recorded; a read meets rot that nothing showed yet.
                    WriterState::Ready if number == 4 || !is_read => {}
                    WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) => {
                        assert!(fault.file.ends_with(&format!("{number:010}.seg")), "{what}: {fault}");
                        assert!(ledger.doubt().is_some(), "{what}");
                        check(&ledger, &kept, bound, &what);
                    }
                    other => panic!("{what}: {other:?}"),
                }
            }
            machine.disk.flip_bit(&segment(number), offset as u64, index % 8).unwrap();
        }
    }
}

fn forget_tables(machine: &Simulation) {
    for path in machine.disk.paths() {
        if path.extension().is_some_and(|kind| kind == "tbl") {
            machine.disk.unlink(&path).unwrap();
        }
    }
}

#[test]
fn a_segment_without_its_header_is_lost_alone() {
    let (machine, kept) = ledger();
    let firsts: Vec<u64> = (1..=4).map(|number| first_of(&machine, number)).collect();
    for number in 1..=4 {
        machine.disk.flip_bit(&segment(number), 100, 1).unwrap();
        machine.disk.flip_bit(&segment(number), 200, 1).unwrap();
        let next = firsts.get(number as usize).map_or(kept.len() as u64 + 1, |first| *first);
        let own = firsts[number as usize - 1]..next;
        let what = format!("segment {number}");
        let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 1).unwrap();
        for ledger in [open_for_reading(&machine), open(&image).unwrap()] {
            check(&ledger, &kept, own.clone().count(), &what);
            let fault = ledger.damage().unwrap();
            assert_eq!(fault.first_position, own.start, "{what}: {fault}");
            assert_eq!(fault.last_position, (number < 4).then(|| own.end - 1), "{what}: {fault}");
            assert!(ledger.event(Position::new(own.start).unwrap()).is_err(), "{what}");
            assert_eq!(ledger.lost_end().is_some(), number == 4, "{what}");
        }
        machine.disk.flip_bit(&segment(number), 100, 1).unwrap();
        machine.disk.flip_bit(&segment(number), 200, 1).unwrap();
    }
}

/// The first position of a segment, as its header says.
fn first_of(machine: &Simulation, number: u32) -> u64 {
    let bytes = machine.disk.contents(&segment(number)).unwrap();
    u64::from_le_bytes(bytes[48..56].try_into().unwrap())
}

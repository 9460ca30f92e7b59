//! P6: only opening may cut, only a torn last frame; the bytes go to quarantine and the cut is an event.

use std::path::{Path, PathBuf};

use bitacora_formats::{After, Position};
use bitacora_ledger::{
    AppendError, AppendRequest, Filter, Ledger, OpenError, ReadFrom, ReadOnlyReason, ReadQuery, WriterState,
};
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::workload::{
    FOLDER, Memory, all, damage, event, keyring, machine_with_ledger, open, options, served, wait_for_proof,
};

fn segment(number: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("segments/{number:010}.seg"))
}

/// A ledger that was killed with so many events in its last segment, and what its client knows.
fn killed(seed: u64, events: u64) -> (Simulation, Memory) {
    let machine = machine_with_ledger(seed);
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    for number in 0..events {
        memory.append(&ledger, number).unwrap();
    }
    let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::OnlySynced, seed).unwrap();
    (image, memory)
}

fn end_of(machine: &Simulation, number: u32) -> u64 {
    let bytes = machine.disk.contents(&segment(number)).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

#[test]
fn a_torn_last_frame_goes_to_quarantine_and_into_the_log() {
    let (machine, mut memory) = killed(60, 8);
    let end = end_of(&machine, 2);
    machine.disk.flip_bit(&segment(2), end - 30, 3).unwrap();
    memory.acknowledged.pop();

    let ledger = open(&machine).unwrap();
    memory.check(&ledger);
    let stored = all(&ledger).unwrap();
    let cut = stored.iter().find(|event| event.event.kind == "ledger.tail-cut").unwrap();
    let quarantined: Vec<_> = machine
        .disk
        .paths()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("/quarantine/"))
        .collect();
    assert_eq!(quarantined.len(), 1, "{quarantined:?}");
    let kept = machine.disk.contents(&quarantined[0]).unwrap();
    let offset = end - kept.len() as u64;
    assert!(kept.starts_with(b"BITF"), "the damaged frame is kept from its first byte");
    let told = format!("{:?}", cut.event.data);
    assert!(!told.is_empty() && offset > 0);

    // The cut is recorded once, however often the ledger is opened.
    ledger.close().unwrap();
    drop(ledger);
    let ledger = open(&machine).unwrap();
    let cuts = all(&ledger).unwrap().iter().filter(|event| event.event.kind == "ledger.tail-cut").count();
    assert_eq!(cuts, 1);
}

#[test]
fn rot_before_a_valid_frame_is_never_cut() {
    let (machine, memory) = killed(61, 8);
    let bytes = machine.disk.contents(&segment(2)).unwrap();
    let frames: Vec<_> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"BITF")).collect();
    assert!(frames.len() >= 8);
    let damaged = frames[3] + 200;
    machine.disk.flip_bit(&segment(2), damaged as u64, 0).unwrap();
    let rotten = machine.disk.contents(&segment(2)).unwrap();

    let ledger = open(&machine).unwrap();
    let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
        panic!("{:?}", ledger.status().writer)
    };
    assert_eq!(fault.file, "segments/0000000002.seg");
    assert_eq!(fault.offset, frames[3] as u64);
    let refused = ledger.append(AppendRequest::of(vec![event(100)]));
    assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))));

    // Proven events are still served, and not one byte was changed.
    let stored = served(&ledger);
    assert_eq!(stored.len() as u64, fault.first_position - 1);
    let proven =
        memory.acknowledged.iter().filter(|(_, position)| position.get() < fault.first_position).count();
    assert!(proven >= 2);
    assert_eq!(machine.disk.contents(&segment(2)).unwrap(), rotten);
    assert!(!machine.disk.paths().iter().any(|path| path.to_string_lossy().contains("/quarantine/")));
}

#[test]
fn damage_in_an_earlier_segment_is_named_and_nothing_is_written() {
    let (machine, _) = killed(62, 3);
    let ledger = open(&machine).unwrap();
    ledger.close().unwrap();
    drop(ledger);
    // Two bits of a header: one alone is undone for readers.
    for bits in [&[(0, 0), (1, 0)][..], &[(100, 1), (200, 1)], &[(600, 7)]] {
        let offset = bits[0].0;
        let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, 9).unwrap();
        bits.iter().for_each(|(offset, bit)| image.disk.flip_bit(&segment(2), *offset, *bit).unwrap());
        let rotten = image.disk.contents(&segment(2)).unwrap();
        let ledger = open(&image).unwrap();
        let fault = damage(&ledger);
        assert_eq!(fault.file, "segments/0000000002.seg", "{offset}");
        let until = Position::new(fault.first_position - 1);
        let (from, filter) = (ReadFrom::After(After::START), Filter::default());
        let query = ReadQuery { from, until, limit: 1_000, filter };
        assert_eq!(ledger.read(&query).unwrap().events.len() as u64, fault.first_position - 1);
        let refused = ledger.append(AppendRequest::of(vec![event(100)]));
        assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))));
        drop(ledger);

        // From now on the opening itself reads all of it, serves what is proven, and changes nothing.
        let ledger = open(&image).unwrap();
        let WriterState::ReadOnly(ReadOnlyReason::Corrupt(again)) = ledger.status().writer else {
            panic!("{offset}: {:?}", ledger.status().writer)
        };
        assert_eq!((again.file, again.offset), (fault.file, fault.offset));
        assert_eq!(served(&ledger).len() as u64, again.first_position - 1);
        assert_eq!(image.disk.contents(&segment(2)).unwrap(), rotten);
    }
}

/// A ledger of six segments, closed, with tables that tell of all of it; where each segment begins.
fn closed_of_six(seed: u64) -> (Simulation, Vec<u64>) {
    let machine = machine_with_ledger(seed);
    let mut firsts = vec![1];
    for round in 0..5 {
        let ledger = open(&machine).unwrap();
        firsts.push(ledger.head().position.get());
        (0..4).for_each(|number| drop(Memory::default().append(&ledger, round * 4 + number).unwrap()));
        ledger.close().unwrap();
    }
    assert!(machine.disk.contents(&segment(6)).is_ok() && machine.disk.contents(&segment(7)).is_err());
    (machine, firsts)
}

#[test]
fn a_missing_segment_is_corruption_and_what_is_before_it_is_served() {
    for missing in [&[2][..], &[3], &[5], &[3, 4, 5], &[2, 4]] {
        let (machine, firsts) = closed_of_six(63);
        missing.iter().for_each(|number| machine.disk.unlink(&segment(*number)).unwrap());
        let first_position = firsts[missing[0] as usize - 1];
        let behind = (missing[0]..).find(|number| machine.disk.contents(&segment(*number)).is_ok()).unwrap();
        let segments = |machine: &Simulation| -> Vec<_> {
            (1..=6).map(|number| machine.disk.contents(&segment(number)).ok()).collect()
        };
        let before = segments(&machine);
        let reader =
            Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None).unwrap();
        let met = || damage(&open(&machine).unwrap());
        let faults = [damage(&reader), met(), met()];
        for fault in faults {
            assert_eq!(fault.file, format!("segments/{:010}.seg", missing[0]), "{missing:?}");
            assert_eq!((fault.offset, fault.first_position), (0, first_position), "{missing:?}");
            let begins =
                format!("{behind:010}.seg, which begins at position {},", firsts[behind as usize - 1]);
            assert!(fault.what.contains(&begins), "{missing:?}: {fault}");
        }
        let ledger = open(&machine).unwrap();
        for handle in [&ledger, &reader] {
            assert_eq!(served(handle).len() as u64, first_position - 1, "{missing:?}");
            let refused = handle.append(AppendRequest::of(vec![event(100)]));
            assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))), "{missing:?}");
        }
        assert_eq!(segments(&machine), before, "{missing:?}: nothing was written");
    }
}

#[test]
fn a_ledger_without_its_first_segment_serves_the_others_and_takes_nothing() {
    let (machine, firsts) = closed_of_six(64);
    let kept = all(&open(&machine).unwrap()).unwrap();
    machine.disk.unlink(&segment(1)).unwrap();
    let reader = Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None);
    for ledger in [open(&machine).unwrap(), reader.unwrap()] {
        let fault = damage(&ledger);
        let last_lost = firsts[1] - 1;
        assert_eq!((&*fault.file, fault.first_position), ("segments/0000000001.seg", 1));
        assert_eq!(fault.last_position, Some(last_lost));
        assert!(served(&ledger).is_empty());
        for expected in &kept {
            match ledger.event(expected.position) {
                Ok(found) => assert_eq!(found.event, expected.event),
                Err(error) => assert!(expected.position.get() <= last_lost, "{error}"),
            }
        }
        let refused = ledger.append(AppendRequest::of(vec![event(100)]));
        assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))));
    }
    let declared = Ledger::declare_loss(&machine.environment(), Path::new(FOLDER), keyring(), options());
    assert!(matches!(declared, Err(OpenError::Corrupt(_))), "{:?}", declared.err());
}

#[test]
fn a_segment_that_came_back_is_all_that_was_missing() {
    let (machine, _) = closed_of_six(65);
    let kept = machine.disk.contents(&segment(3)).unwrap();
    machine.disk.unlink(&segment(3)).unwrap();
    damage(&open(&machine).unwrap());
    machine.disk.put(&segment(3), &kept).unwrap();
    let ledger = open(&machine).unwrap();
    assert_eq!(ledger.status().writer, WriterState::Ready);
    Memory::default().append(&ledger, 1_000).unwrap();
    assert_eq!(all(&ledger).unwrap().len() as u64, ledger.head().position.get());
}

#[test]
fn what_is_behind_a_missing_segment_goes_to_quarantine_when_its_loss_is_declared() {
    for missing in [&[2][..], &[5], &[3, 4, 5], &[2, 4]] {
        let (machine, firsts) = closed_of_six(66);
        missing.iter().for_each(|number| machine.disk.unlink(&segment(*number)).unwrap());
        let retained = firsts[missing[0] as usize - 1] - 1;
        let declared = Ledger::declare_loss(&machine.environment(), Path::new(FOLDER), keyring(), options());
        let (ledger, loss) = declared.unwrap();
        assert_eq!((loss.retained.position.get(), loss.generation.0), (retained, 2), "{missing:?}");
        assert_eq!(ledger.status().writer, WriterState::Ready, "{missing:?}");
        let told = ledger.event(Position::new(retained + 1).unwrap()).unwrap();
        assert_eq!(told.event.kind, "ledger.recovered", "{missing:?}");
        let quarantined: Vec<_> =
            machine.disk.paths().into_iter().map(|path| path.display().to_string()).collect();
        for number in missing[0]..=6 {
            let kept = |file: String| {
                quarantined.iter().any(|path| path.ends_with(&format!("/quarantine/{file}.lost-g1")))
            };
            assert_eq!(
                kept(format!("{number:010}.seg")),
                !missing.contains(&number),
                "{missing:?}: {number}"
            );
            assert!(kept(format!("{number:010}.leaves")), "{missing:?}: leaves of {number}");
        }
        let mut memory = Memory::default();
        (0..30).for_each(|number| drop(memory.append(&ledger, number).unwrap()));
        ledger.close().unwrap();
        drop(ledger);
        let ledger = open(&machine).unwrap();
        wait_for_proof(&ledger);
        assert_eq!(ledger.status().writer, WriterState::Ready, "{missing:?}");
        let stored = all(&ledger).unwrap();
        assert_eq!(stored.len() as u64, ledger.head().position.get(), "{missing:?}");
    }
}

//! P1 for events of data subjects: the key of an acknowledged event survives whatever the event does.

use std::path::PathBuf;

use bitacora_formats::{Event, Position};
use bitacora_ledger::{AppendError, AppendRequest, Ledger};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::Simulation;

use crate::workload::{all, event, machine_with_ledger, open};

const PEOPLE: u64 = 3;

/// An event of one of a few people.
fn personal(number: u64) -> Event<'static> {
    let mut event = event(number);
    event.datasubject = Some(format!("person-{}", number % PEOPLE).into());
    event
}

fn append(ledger: &Ledger, number: u64) -> Result<Position, AppendError> {
    let appended = ledger.append(AppendRequest::of(vec![personal(number)]))?.wait()?;
    Ok(appended.first)
}

/// Opens what a crash left: every acknowledged event is readable, and every person can be written of again.
fn check_after_crash(machine: &Simulation, acknowledged: &[(u64, Position)], what: &str) {
    let ledger = open(machine).unwrap_or_else(|error| panic!("{what}: {error}"));
    for (number, position) in acknowledged {
        let stored = ledger.event(*position).unwrap_or_else(|error| panic!("{what}: e{number}: {error}"));
        assert_eq!((stored.event, stored.erased), (personal(*number), false), "{what}: e{number}");
    }
    for number in 100..100 + PEOPLE {
        let position = append(&ledger, number).unwrap_or_else(|error| panic!("{what}: e{number}: {error}"));
        assert_eq!(ledger.event(position).unwrap().event, personal(number), "{what}: e{number}");
    }
    ledger.close().unwrap();
}

#[test]
fn crash_images_at_every_operation_keep_every_key_in_use() {
    let machine = machine_with_ledger(200);
    let first = machine.disk.operation_count();
    let mut acknowledged = Vec::new();
    let mut acknowledged_at = Vec::new();
    for round in 0..2 {
        let ledger = open(&machine).unwrap();
        for number in round * 4..round * 4 + 4 {
            acknowledged.push((number, append(&ledger, number).unwrap()));
            acknowledged_at.push(machine.disk.operation_count());
        }
        ledger.close().unwrap();
    }
    for operation in first..=machine.disk.operation_count() {
        let known = acknowledged_at.partition_point(|at| *at <= operation);
        for policy in [CrashPolicy::OnlySynced, CrashPolicy::Everything, CrashPolicy::Random] {
            let image = machine.after_crash(operation, policy, operation).unwrap();
            check_after_crash(
                &image,
                &acknowledged[..known],
                &format!("crash after {operation}, {policy:?}"),
            );
        }
    }
}

#[test]
fn a_key_that_could_not_be_kept_refuses_the_event_and_a_restart_mends_it() {
    for call in [
        DiskCall::Open,
        DiskCall::CreateNew,
        DiskCall::Write,
        DiskCall::SyncAll,
        DiskCall::Rename,
        DiskCall::SyncFolder,
    ] {
        for effect in [Effect::Without, Effect::With] {
            let what = format!("{call:?}, {effect:?}");
            let machine = machine_with_ledger(201);
            let ledger = open(&machine).unwrap();
            machine.disk.inject(DiskFault::on(call, 1, errno::EIO).effect(effect).where_path_has("subjects"));
            let refused = append(&ledger, 0);
            assert!(matches!(refused, Err(AppendError::SubjectKey(_))), "{what}: {refused:?}");
            assert_eq!(machine.disk.pending_faults(), 0, "{what}");
            ledger.append(AppendRequest::of(vec![event(50)])).unwrap().wait().unwrap();
            drop(ledger);
            for policy in CrashPolicy::ALL {
                let image = machine.after_crash(machine.disk.operation_count(), policy, 8).unwrap();
                check_after_crash(&image, &[], &format!("{what}, {policy:?}"));
            }
        }
    }
}

#[test]
fn a_damaged_key_makes_its_own_events_unreadable_and_no_others() {
    const KEY_FILE_BYTES: u64 = 104;
    let machine = machine_with_ledger(202);
    let ledger = open(&machine).unwrap();
    let appended: Vec<_> = (0..3 * PEOPLE).map(|number| (number, append(&ledger, number).unwrap())).collect();
    ledger.close().unwrap();
    let paths = machine.disk.paths();
    let is_key = |path: &&PathBuf| {
        let bytes = machine.disk.contents(path).map_or(0, |bytes| bytes.len() as u64);
        path.to_string_lossy().contains("/subjects/by-id/") && bytes == KEY_FILE_BYTES
    };
    let file = paths.iter().find(is_key).unwrap();
    for at in (0..KEY_FILE_BYTES).step_by(5) {
        machine.disk.flip_bit(file, at, 2).unwrap();
        let ledger = open(&machine).unwrap();
        let stored = all(&ledger).unwrap_or_else(|error| panic!("byte {at}: {error}"));
        let mut whose = Vec::new();
        for (number, position) in &appended {
            let found = stored.iter().find(|event| event.position == *position).unwrap();
            assert!(!found.erased, "byte {at}: damage is no erasure");
            if found.unreadable {
                assert_eq!(found.event.datasubject, None, "byte {at}: nothing of it is told");
                whose.push(number % PEOPLE);
            } else {
                assert_eq!(found.event, personal(*number), "byte {at}");
            }
        }
        assert_eq!(whose.len(), 3, "byte {at}: {whose:?}");
        assert!(whose.iter().all(|person| *person == whose[0]), "byte {at}: {whose:?}");
        // Nothing is appended about that person, and asking again is of no use. About the others everything is.
        for number in 1_000 + at * PEOPLE..1_000 + (at + 1) * PEOPLE {
            match append(&ledger, number) {
                Err(AppendError::SubjectKeyDamaged(_)) => {
                    assert_eq!(number % PEOPLE, whose[0], "byte {at}");
                }
                appended => {
                    appended.unwrap();
                    assert_ne!(number % PEOPLE, whose[0], "byte {at}");
                }
            }
        }
        ledger.close().unwrap();
        machine.disk.flip_bit(file, at, 2).unwrap();
    }
    let ledger = open(&machine).unwrap();
    assert!(all(&ledger).unwrap().iter().all(|event| !event.unreadable), "a copy brings them back");
    ledger.close().unwrap();
}

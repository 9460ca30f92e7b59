//! P12: overload is a fast refusal without side effects; a full disk is survived without a restart.

use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bitacora_ledger::{
    AppendError, AppendRequest, Disk, Ledger, OpenError, OpenMode, Options, ReadOnlyReason, RealDisk,
    WriterState,
};
use bitacora_tests::simulated_disk::DiskCall;

use crate::p7_no_rollback::{self, AnchorFixture};
use crate::workload::{
    FOLDER, Memory, event, keyring, machine_with_ledger, open, options, wait_for_preallocation,
};

#[test]
fn a_full_queue_refuses_at_once_and_keeps_nothing() {
    let machine = machine_with_ledger(120);
    let small = Options { queue_bytes: 4 * 1024, ..options() };
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), small).unwrap();
    let syncs = machine.disk.hold(DiskCall::SyncData);
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for number in 0..400 {
        match ledger.append(AppendRequest::of(vec![event(number)])) {
            Ok(pending) => waiting.push((number, pending)),
            Err(AppendError::QueueFull { retry_after_s }) => refused.push((number, retry_after_s)),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(!refused.is_empty());
    drop(syncs);
    let mut memory = Memory::default();
    for (number, pending) in waiting {
        memory.acknowledged.push((number, pending.wait().unwrap().first));
    }
    memory.check(&ledger);
    for (number, _) in refused {
        let appended = memory.append(&ledger, number).unwrap();
        assert!(!appended.only_duplicates(), "a refused request left something behind");
    }
}

#[test]
fn a_queue_full_of_others_neither_refuses_nor_delays_a_decision() {
    let machine = machine_with_ledger(127);
    let small = Options { queue_bytes: 4 * 1024, ..options() };
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), small).unwrap();
    let syncs = machine.disk.hold(DiskCall::SyncData);
    let mut waiting = Vec::new();
    // Refused for a while: the sequencer waits for the disk, and does not empty the queue any more.
    let mut refused = 0;
    for number in 0.. {
        match ledger.append(AppendRequest::of(vec![event(number)])) {
            Ok(pending) => waiting.push(pending),
            Err(AppendError::QueueFull { .. }) => {
                refused += 1;
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
        if refused > 100 {
            break;
        }
    }
    let ahead: Vec<_> = (0..20)
        .map(|number| ledger.append_ahead(AppendRequest::of(vec![event(1_000_000 + number)])).unwrap())
        .collect();
    drop(syncs);
    let ahead: Vec<_> = ahead.into_iter().map(|pending| pending.wait().unwrap().first).collect();
    let ordinary: Vec<_> = waiting.into_iter().map(|pending| pending.wait().unwrap().first).collect();
    assert!(ahead.is_sorted(), "in the order in which they came: {ahead:?}");
    let overtaken = ordinary.iter().filter(|position| *position > ahead.last().unwrap()).count();
    assert!(overtaken >= 3, "what waited came first: {ahead:?}, {ordinary:?}");
}

#[test]
fn a_full_disk_makes_it_read_only_and_it_recovers_by_itself() {
    let machine = machine_with_ledger(121);
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    memory.append(&ledger, 0).unwrap();
    wait_for_preallocation(&machine);
    machine.disk.set_capacity(Some(machine.disk.used_bytes()));
    let mut number = 1;
    let refused = loop {
        match memory.append(&ledger, number) {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
        assert!(number < 10_000, "the disk never got full");
    };
    assert!(matches!(refused, AppendError::ReadOnly(ReadOnlyReason::DiskFull)), "{refused:?}");
    assert_eq!(refused.code(), "disk-full");
    assert_eq!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::DiskFull));
    memory.check(&ledger);

    machine.disk.set_capacity(None);
    let waited = Instant::now();
    while !ledger.status().writer.is_ready() {
        assert!(waited.elapsed() < Duration::from_secs(30), "it does not recover");
        thread::sleep(Duration::from_millis(10));
    }
    for number in number..number + 20 {
        memory.append(&ledger, number).unwrap();
    }
    memory.check(&ledger);
    let kinds: Vec<_> =
        crate::workload::all(&ledger).unwrap().iter().map(|event| event.event.kind.to_string()).collect();
    let told = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!((told("ledger.read-only"), told("ledger.writable")), (1, 1));
}

#[test]
fn a_ledger_opens_read_only_on_a_full_disk() {
    let machine = machine_with_ledger(122);
    machine.disk.set_capacity(Some(machine.disk.used_bytes() + 1_024));
    let ledger = open(&machine).unwrap();
    assert_eq!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::DiskFull));
    assert_eq!(ledger.event(bitacora_formats::Position::FIRST).unwrap().event.kind, "ledger.created");
    machine.disk.set_capacity(None);
    let mut memory = Memory::default();
    let waited = Instant::now();
    while memory.append(&ledger, 1).is_err() {
        assert!(waited.elapsed() < Duration::from_secs(30), "it does not recover");
        thread::sleep(Duration::from_millis(10));
    }
    memory.check(&ledger);
}

#[test]
fn a_live_segment_that_is_unlinked_or_replaced_stops_the_writer() {
    for replace in [false, true] {
        let machine = machine_with_ledger(123);
        let ledger = open(&machine).unwrap();
        let mut memory = Memory::default();
        memory.append(&ledger, 0).unwrap();
        let live = PathBuf::from(FOLDER).join("segments/0000000002.seg");
        let copy = machine.disk.contents(&live).unwrap();
        machine.disk.unlink(&live).unwrap();
        if replace {
            machine.disk.put(&live, &copy).unwrap();
        }
        let outcome = memory.append(&ledger, 1);
        assert!(matches!(outcome, Err(AppendError::Unknown)), "{outcome:?}");
        assert!(!ledger.status().writer.is_ready());
    }
}

#[test]
fn a_second_opening_is_refused_while_the_first_lives() {
    let machine = machine_with_ledger(124);
    let first = open(&machine).unwrap();
    let second = open(&machine);
    assert!(second.is_err_and(|error| error.to_string().contains("open in another process")));
    first.close().unwrap();
    open(&machine).unwrap();
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    p7_no_rollback::append(&ledger, 1).unwrap();
    ledger.close().unwrap();
    drop(ledger);
    let anchored = fixture.ledger().with_file_name("anchors").join("main.head");
    let heads = fs::read_dir(fixture.ledger().join("tree")).unwrap().map(|entry| entry.unwrap().path());
    let heads = heads.filter(|path| path.extension().is_some_and(|end| end == "heads")).max().unwrap();
    let (opened, opening) = mpsc::channel();
    let note = fs::read(&anchored).unwrap();
    let pipes = [anchored.clone(), heads];
    for path in pipes.clone() {
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    thread::spawn(move || {
        let files = pipes.map(|path| RealDisk.open(&path, OpenMode::Read).map(|_| ()));
        let folder = RealDisk.open(&fixture.ledger(), OpenMode::Read).map(|_| ());
        let refused = fixture.open().err();
        fs::remove_file(&anchored).unwrap();
        fs::write(&anchored, note).unwrap();
        let ledger = fixture.open().map(|ledger| ledger.status().writer);
        drop(opened.send((files, folder, refused, ledger)));
    });
    let (files, folder, refused, ledger) =
        opening.recv_timeout(Duration::from_secs(20)).expect("it waits for a pipe");
    for refused in files.into_iter().chain([folder]) {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{refused}");
        assert!(refused.to_string().contains("not a regular file"), "{refused}");
    }
    assert!(matches!(refused, Some(OpenError::RolledBack(_))), "a pipe is no tree head: {refused:?}");
    assert_eq!(ledger.unwrap(), WriterState::Ready, "heads beside the segments stop nobody");
}

//! P3: positions are 1, 2, 3 … without gaps; one request is all-or-nothing and keeps its order.

use std::collections::HashMap;
use std::time::Duration;

use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::{AppendError, AppendRequest, Ledger, PendingAppend};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall};

use crate::workload::{Memory, all, event, machine_with_ledger, open, wait_for_preallocation};

const PATIENCE: Duration = Duration::from_secs(30);

fn check_dense(ledger: &Ledger) -> usize {
    let stored = all(ledger).unwrap();
    let mut versions: HashMap<String, u64> = HashMap::new();
    for (at, event) in (1_u64..).zip(&stored) {
        assert_eq!(event.position.get(), at);
        let version = versions.entry(event.event.stream.to_string()).or_default();
        *version += 1;
        assert_eq!(event.stream_version.get(), *version, "stream versions are dense");
    }
    stored.iter().filter(|event| event.event.kind == "x.noted").count()
}

#[test]
fn concurrent_requests_keep_their_order_and_leave_no_gap() {
    let machine = machine_with_ledger(30);
    let ledger = open(&machine).unwrap();
    let threads: Vec<_> = (0..8_u64)
        .map(|caller| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                for request in 0..20_u64 {
                    let first = caller * 1_000 + request * 5;
                    let events = (first..first + 5).map(event).collect();
                    let appended = ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
                    assert_eq!(
                        appended.last.get(),
                        appended.first.get() + 4,
                        "a request's events stand together"
                    );
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    assert_eq!(check_dense(&ledger), 8 * 20 * 5);
}

#[test]
fn a_refused_request_takes_no_position() {
    let machine = machine_with_ledger(31);
    let ledger = open(&machine).unwrap();
    ledger.append(AppendRequest::of(vec![event(0)])).unwrap().wait().unwrap();
    let head = ledger.head();
    let mut changed = event(0);
    changed.kind = "x.other".into();
    let refused = ledger.append(AppendRequest::of(vec![event(1), event(2), changed])).unwrap().wait();
    assert!(matches!(refused, Err(AppendError::IdReused { index: 2, .. })), "{refused:?}");
    assert_eq!(ledger.head(), head);
    let appended = ledger.append(AppendRequest::of(vec![event(1), event(2)])).unwrap().wait().unwrap();
    assert_eq!(Some(appended.first), head.position.next());
    assert_eq!(appended.results[0].stream_version.get(), 1, "the refused request left no stream version");
}

/// While a frame syncs, the next one grows so large that it is compressed apart from the sequencer, and segments end
/// around it.
#[test]
fn frames_compressed_ahead_keep_their_order_across_segments_and_crashes() {
    const REQUESTS: u64 = 120;
    const EVENTS: u64 = 15;
    let machine = machine_with_ledger(32);
    let ledger = open(&machine).unwrap();
    let first_operation = machine.disk.operation_count();
    let mut memory = Memory::default();
    let syncs = machine.disk.hold(DiskCall::SyncData);
    let pending: Vec<_> = (0..REQUESTS)
        .map(|request| {
            let events = (request * EVENTS..(request + 1) * EVENTS).map(event).collect();
            ledger.append(AppendRequest::of(events)).unwrap()
        })
        .collect();
    assert!(syncs.wait_for(1, PATIENCE));
    drop(syncs);
    for (request, pending) in (0..).zip(pending) {
        let appended = pending.wait().unwrap();
        memory
            .acknowledged
            .extend((request * EVENTS..).zip(appended.results.iter().map(|result| result.position)));
    }
    let most = ledger.status().counters;
    assert!(most.body_bytes / most.frames > 32 * 1024, "the frames were large: {most:?}");
    assert!(ledger.status().segments > 2);
    memory.check(&ledger);
    assert_eq!(check_dense(&ledger), usize::try_from(REQUESTS * EVENTS).unwrap());

    let last = machine.disk.operation_count();
    for operation in (first_operation..=last).step_by(5).chain([last]) {
        let image = machine.after_crash(operation, CrashPolicy::OnlySynced, operation).unwrap();
        let ledger = open(&image).unwrap();
        let kept = check_dense(&ledger);
        assert_eq!(kept % usize::try_from(EVENTS).unwrap(), 0, "requests are kept whole");
        if operation == last {
            memory.check(&ledger);
        }
    }
}

fn incompressible(number: u64) -> Event<'static> {
    let mut random = SeededRandom::new(number);
    let noise: String =
        (0..400).map(|_| char::from(b'!' + u8::try_from(random.below(90)).unwrap())).collect();
    let noise = noise.replace(['"', '\\'], "~");
    let mut event = event(number);
    event.data = Data::Json(Json::check(format!(r#""{noise}""#).into_bytes()).unwrap());
    event
}

/// A body that is being compressed counts against the segment's room, so that a full disk refuses and never stops the
/// writer.
#[test]
fn frames_compressed_ahead_never_outgrow_what_is_left_of_a_full_disk() {
    for spare in (0..300).step_by(30) {
        let machine = machine_with_ledger(33);
        let ledger = open(&machine).unwrap();
        ledger.append(AppendRequest::of(vec![event(0)])).unwrap().wait().unwrap();
        wait_for_preallocation(&machine);
        machine.disk.set_capacity(Some(machine.disk.used_bytes() + spare * 1024));
        let mut refused = 0;
        for round in 0..12_u64 {
            let syncs = machine.disk.hold(DiskCall::SyncData);
            let sent: Vec<_> = (0..25_u64)
                .map(|request| 1 + (round * 25 + request) * 15)
                .map(|first| {
                    ledger.append(AppendRequest::of((first..first + 15).map(incompressible).collect()))
                })
                .collect();
            drop(syncs);
            for outcome in sent.into_iter().map(|pending| pending.and_then(PendingAppend::wait)) {
                match outcome {
                    Ok(_) => {}
                    Err(AppendError::ReadOnly(_)) => refused += 1,
                    Err(other) => panic!("{spare} KiB spare: {other}"),
                }
            }
        }
        assert!(refused > 0, "the disk was never full");
        check_dense(&ledger);
        machine.disk.set_capacity(None);
        ledger.close().unwrap();
        check_dense(&open(&machine).unwrap());
    }
}

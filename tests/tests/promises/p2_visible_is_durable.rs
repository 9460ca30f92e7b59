//! P2: no reader, subscriber or answer ever rests on what a crash could take back.

use std::future::Future;
use std::time::Duration;

use bitacora_formats::{After, StreamVersion};
use bitacora_ledger::{AppendCondition, AppendError, AppendRequest, ExpectedVersion, Ledger, PendingAppend};
use bitacora_tests::simulated_disk::{DiskCall, DiskFault, errno};
use bitacora_tests::simulation::Simulation;

use crate::workload::{all, event, machine_with_ledger, open, wait_for_preallocation};

const PATIENCE: Duration = Duration::from_secs(30);

/// A ledger with one event, and no sync of the segment preallocator still to come.
fn quiet_ledger(seed: u64) -> (Simulation, Ledger) {
    let machine = machine_with_ledger(seed);
    let ledger = open(&machine).unwrap();
    ledger.append(AppendRequest::of(vec![event(0)])).unwrap().wait().unwrap();
    wait_for_preallocation(&machine);
    (machine, ledger)
}

fn is_resolved(pending: &mut PendingAppend) -> bool {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(pending).poll(&mut context).is_ready()
}

#[test]
fn nothing_of_a_frame_shows_before_its_sync() {
    let (machine, ledger) = quiet_ledger(20);
    let head = ledger.head();
    let mut heads = ledger.watch_head();
    // Subscribers are told after the acknowledgement.
    while heads.borrow_and_update().position != head.position {
        std::thread::yield_now();
    }
    let before = all(&ledger).unwrap();

    let syncs = machine.disk.hold(DiskCall::SyncData);
    let mut pending = ledger.append(AppendRequest::of(vec![event(1)])).unwrap();
    assert!(syncs.wait_for(1, PATIENCE), "the frame is written, its sync has not returned");
    assert_eq!(ledger.head(), head);
    assert!(!heads.has_changed().unwrap());
    assert_eq!(all(&ledger).unwrap(), before);
    assert!(ledger.event(head.position.next().unwrap()).is_err());
    assert_eq!(ledger.stream_tip("stream-1"), None);
    assert!(!is_resolved(&mut pending));
    drop(syncs);

    let appended = pending.wait().unwrap();
    assert_eq!(Some(appended.first), head.position.next());
    assert_eq!(all(&ledger).unwrap().len(), before.len() + 1);
}

#[test]
fn who_follows_at_the_tail_reads_what_is_durable_without_the_disk() {
    let (machine, ledger) = quiet_ledger(22);
    let appended = ledger.append(AppendRequest::of(vec![event(1), event(2)])).unwrap().wait().unwrap();
    let reads = machine.disk.calls(DiskCall::Read);
    let shown: Vec<_> =
        appended.results.iter().map(|result| ledger.event(result.position).unwrap()).collect();
    assert_eq!(machine.disk.calls(DiskCall::Read), reads);

    ledger.close().unwrap();
    let ledger = open(&machine).unwrap();
    let reads = machine.disk.calls(DiskCall::Read);
    let kept: Vec<_> = appended.results.iter().map(|result| ledger.event(result.position).unwrap()).collect();
    assert!(machine.disk.calls(DiskCall::Read) > reads);
    assert_eq!(shown, kept);
}

#[test]
fn an_answer_that_rests_on_staged_state_waits_for_its_sync() {
    let (machine, ledger) = quiet_ledger(21);
    let syncs = machine.disk.hold(DiskCall::SyncData);
    let first = ledger.append(AppendRequest::of(vec![event(1)])).unwrap();
    assert!(syncs.wait_for(1, PATIENCE));

    let duplicate = ledger.append(AppendRequest::of(vec![event(1)])).unwrap();
    let expected = Some(ExpectedVersion::NoStream);
    let conflict =
        ledger.append(AppendRequest { events: vec![event(6)], expected, condition: None }).unwrap();
    let condition = Some(AppendCondition {
        kinds: vec!["x.noted".into()],
        tags: vec![],
        after: After::from(ledger.head().position),
    });
    let failed = ledger.append(AppendRequest { events: vec![event(7)], expected: None, condition }).unwrap();
    let mut waiting = [duplicate, conflict, failed];
    std::thread::sleep(Duration::from_millis(50));
    assert!(
        waiting.iter_mut().all(|pending| !is_resolved(pending)),
        "an answer came before the sync it rests on"
    );
    drop(syncs);

    let position = first.wait().unwrap().first;
    let [duplicate, conflict, failed] = waiting.map(PendingAppend::wait);
    assert_eq!(duplicate.unwrap().first, position);
    let found = conflict.unwrap_err();
    assert!(
        matches!(found, AppendError::VersionConflict { actual: Some(StreamVersion::FIRST), .. }),
        "{found:?}"
    );
    assert!(matches!(failed.unwrap_err(), AppendError::ConditionFailed { position: at } if at == position));
}

#[test]
fn a_refusal_that_rests_on_what_was_lost_is_not_given() {
    let (machine, ledger) = quiet_ledger(22);
    let syncs = machine.disk.hold(DiskCall::SyncData);
    machine.disk.inject(DiskFault::on(DiskCall::SyncData, 1, errno::EIO));
    let first = ledger.append(AppendRequest::of(vec![event(1)])).unwrap();
    assert!(syncs.wait_for(1, PATIENCE));
    let duplicate = ledger.append(AppendRequest::of(vec![event(1)])).unwrap();
    let mut changed = event(1);
    changed.kind = "x.other".into();
    let reused = ledger.append(AppendRequest::of(vec![changed])).unwrap();
    drop(syncs);
    for pending in [first, duplicate, reused] {
        let outcome = pending.wait();
        assert!(matches!(outcome, Err(AppendError::Unknown | AppendError::Poisoned(_))), "{outcome:?}");
    }
}

//! P1: a 2xx answer to an append means: synced to disk, at that position, after any crash.

use bitacora_ledger::{AppendError, SideEffects, WriterState};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::Simulation;

use crate::workload::{Memory, machine_with_ledger, open, wait_for_preallocation};

/// A run with the number of disk operations at each acknowledgement.
struct DurableRun {
    machine: Simulation,
    acknowledged_at: Vec<u64>,
    memory: Memory,
    first_operation: u64,
}

fn run(seed: u64, events: u64) -> DurableRun {
    let machine = machine_with_ledger(seed);
    let mut run = DurableRun {
        first_operation: machine.disk.operation_count(),
        machine,
        acknowledged_at: vec![],
        memory: Memory::default(),
    };
    // Two openings, so that recovery of a closed ledger is in it too.
    for round in 0..2 {
        let ledger = open(&run.machine).unwrap();
        for number in round * events..(round + 1) * events {
            run.memory.append(&ledger, number).unwrap();
            run.acknowledged_at.push(run.machine.disk.operation_count());
        }
        if round == 0 {
            ledger.close().unwrap();
        }
    }
    run
}

impl DurableRun {
    /// Returns the events acknowledged by the time the disk had seen so many operations.
    fn memory_at(&self, operation: u64) -> Memory {
        let count = self.acknowledged_at.partition_point(|at| *at <= operation);
        Memory { acknowledged: self.memory.acknowledged[..count].to_vec() }
    }
}

/// Opens what a crash left, checks it, and goes on with it.
fn check_after_crash(machine: &Simulation, memory: &Memory, what: &str) {
    let ledger = open(machine).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(ledger.status().writer, WriterState::Ready, "{what}");
    let mut memory = memory.clone();
    memory.check(&ledger);
    // The request in flight is repeated: accepted once, wherever the crash fell.
    let next = memory.acknowledged.last().map_or(0, |(number, _)| number + 1);
    memory.append(&ledger, next).unwrap();
    memory.append(&ledger, 1_000_000).unwrap();
    memory.check(&ledger);
    ledger.close().unwrap();
}

#[test]
fn crash_images_at_every_operation_keep_every_acknowledged_event() {
    let run = run(1, 30);
    let last = run.machine.disk.operation_count();
    for operation in run.first_operation..=last {
        let memory = run.memory_at(operation);
        for (policy, seeds) in
            [(CrashPolicy::OnlySynced, 1), (CrashPolicy::Everything, 1), (CrashPolicy::Random, 2)]
        {
            for seed in 0..seeds {
                let seed = operation * 10 + seed;
                let image = run.machine.after_crash(operation, policy, seed).unwrap();
                check_after_crash(
                    &image,
                    &memory,
                    &format!("crash after operation {operation}, {policy:?}, seed {seed}"),
                );
            }
        }
    }
}

#[test]
fn crashes_during_recovery_keep_every_acknowledged_event() {
    let run = run(2, 12);
    let last = run.machine.disk.operation_count();
    for operation in (run.first_operation..=last).rev().step_by(7) {
        let memory = run.memory_at(operation);
        let image = run.machine.after_crash(operation, CrashPolicy::Random, operation).unwrap();
        drop(open(&image).unwrap());
        for inner in 0..=image.disk.operation_count() {
            for policy in [CrashPolicy::OnlySynced, CrashPolicy::Random] {
                let again = image.after_crash(inner, policy, operation * 1_000 + inner).unwrap();
                let what = format!("crash after {operation}, then after {inner} of the recovery, {policy:?}");
                check_after_crash(&again, &memory, &what);
            }
        }
    }
}

#[test]
fn a_failed_sync_is_never_followed_by_an_acknowledgement_of_the_same_bytes() {
    for (call, effect) in [
        (DiskCall::SyncData, Effect::Without),
        (DiskCall::SyncData, Effect::With),
        (DiskCall::SyncData, Effect::Partly),
        (DiskCall::Write, Effect::Without),
        (DiskCall::Write, Effect::With),
        (DiskCall::Write, Effect::Partly),
    ] {
        let machine = machine_with_ledger(3);
        let ledger = open(&machine).unwrap();
        let mut memory = Memory::default();
        for number in 0..10 {
            memory.append(&ledger, number).unwrap();
        }
        wait_for_preallocation(&machine);
        machine.disk.inject(DiskFault::on(call, 1, errno::EIO).effect(effect).where_path_has(".seg"));
        let failed = memory.append(&ledger, 10);
        assert!(matches!(failed, Err(AppendError::Unknown)), "{call:?} {effect:?}: {failed:?}");
        assert_eq!(failed.unwrap_err().side_effects(), SideEffects::Unknown);
        for number in 10..20 {
            let refused = memory.append(&ledger, number);
            assert!(matches!(refused, Err(AppendError::Poisoned(_))), "{call:?} {effect:?}: {refused:?}");
        }
        assert!(!ledger.status().writer.is_ready());
        memory.check(&ledger);
        drop(ledger);
        for policy in CrashPolicy::ALL {
            let image = machine.after_crash(machine.disk.operation_count(), policy, 5).unwrap();
            check_after_crash(&image, &memory, &format!("{call:?} {effect:?}, {policy:?}"));
        }
        // Without a crash the page cache may show what the disk lacks: opening makes it durable before it is served.
        check_after_crash(&machine, &memory, &format!("{call:?} {effect:?}, reopened"));
    }
}

#[test]
fn what_opening_shows_survives_a_crash_right_after_it() {
    let machine = machine_with_ledger(4);
    let ledger = open(&machine).unwrap();
    let mut memory = Memory::default();
    memory.append(&ledger, 0).unwrap();
    wait_for_preallocation(&machine);
    machine.disk.inject(DiskFault::on(DiskCall::SyncData, 1, errno::EIO).where_path_has(".seg"));
    assert!(memory.append(&ledger, 1).is_err());
    drop(ledger);
    // The frame of event 1 can be read from the cache, and is not on the disk.
    let ledger = open(&machine).unwrap();
    let retried = memory.append(&ledger, 1).unwrap();
    assert_eq!(retried.results.len(), 1);
    let image = machine.after_crash(machine.disk.operation_count(), CrashPolicy::OnlySynced, 6).unwrap();
    check_after_crash(&image, &memory, "a crash after re-opening");
}

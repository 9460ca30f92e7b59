//! P9, for the state that decides, over everything that can be appended.
//! After any crash, an opening with a snapshot and one without come to the state that was published at that position. And two ledgers
//! with the same keys, clock and random bytes record the same.

use std::time::Duration;

use bitacora_governance::State;
use bitacora_ledger::{AppendRequest, Ledger, StoredEvent};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;

use crate::p8_no_allow_without_a_record::{open, remove_index, state};
use crate::random_acts::RandomRequests;
use crate::workload::{all, machine_with_ledger};

/// After an acknowledgement: how far the disk was, and the state that was published.
struct PublishedMoment {
    operation: u64,
    state: State,
}

/// A history over several openings, each behind a close or a loss of power.
struct History {
    machine: Simulation,
    acts: RandomRequests,
    seen: Vec<PublishedMoment>,
    /// `true` if data of persons is among it, sealed under keys that are drawn when they are first needed.
    sealed: bool,
}

impl History {
    fn new(seed: u64, sealed: bool) -> Self {
        let acts = RandomRequests::new(seed);
        Self { machine: machine_with_ledger(seed), acts, seen: vec![], sealed }
    }

    fn append(&mut self, ledger: &Ledger, mut events: Vec<bitacora_formats::Event<'static>>) {
        if !self.sealed {
            events.iter_mut().for_each(|event| event.datasubject = None);
        }
        // Refused events leave nothing behind.
        if ledger.append(AppendRequest::of(events)).is_ok_and(|pending| pending.wait().is_ok()) {
            self.see(ledger);
        }
    }

    fn see(&mut self, ledger: &Ledger) {
        self.seen
            .push(PublishedMoment { operation: self.machine.disk.operation_count(), state: state(ledger) });
    }

    fn session(&mut self, steps: usize) -> Ledger {
        let ledger = open(&self.machine);
        self.see(&ledger);
        if self.seen.len() == 1 {
            for event in self.acts.first() {
                self.append(&ledger, vec![event]);
            }
        }
        for _ in 0..steps {
            let now = bitacora_ledger::Clock::now(&self.machine.clock);
            let request = self.acts.next(&state(&ledger), now);
            self.machine.clock.advance(Duration::from_secs(request.seconds));
            self.append(&ledger, request.events);
        }
        ledger
    }
}

/// Three seeds, or as many as are asked for.
fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("BITACORA_HISTORIES").ok().and_then(|count| count.parse().ok());
    900..900 + asked.unwrap_or(3_u64)
}

#[test]
fn after_a_crash_at_any_position_every_opening_comes_to_the_state_that_was_published() {
    for seed in seeds() {
        let mut history = History::new(seed, true);
        for steps in [40, 25, 25] {
            history.session(steps).close().unwrap();
        }
        let (machine, seen) = (&history.machine, &history.seen);
        let mut random = SeededRandom::new(seed);
        for index in 0..seen.len() {
            let acknowledged = seen[index].operation;
            let next = seen.get(index + 1).map_or(machine.disk.operation_count(), |next| next.operation);
            // Right behind the acknowledgement, or on the way to the next one, which may have reached the disk as well.
            let at = if index % 2 == 0 {
                acknowledged
            } else {
                acknowledged + random.below(next - acknowledged + 1)
            };
            let policy = CrashPolicy::ALL[random.index(3)];
            let what = format!("seed {seed}, acknowledgement {index}, crash at {at}, {policy:?}");
            let left = machine.after_crash(at, policy, seed * 1_000 + index as u64).unwrap();
            let copy = left.after_crash(left.disk.operation_count(), CrashPolicy::Everything, seed).unwrap();
            remove_index(&copy);
            let (with, without) = (open(&left), open(&copy));
            let found = state(&with);
            assert!(found == state(&without), "{what}: with a snapshot and without");
            assert_eq!(digest(&with), digest(&without), "{what}: with a snapshot and without");
            let possible = &seen[index..seen.len().min(index + 2)];
            assert!(possible.iter().any(|seen| seen.state == found), "{what}: another state");
            drop((with, without));
        }
    }
}

/// All that is recorded, with the commitments to it, and what its state comes to.
fn recorded(seed: u64) -> (Vec<StoredEvent<'static>>, String) {
    let mut history = History::new(seed, false);
    history.session(60).close().unwrap();
    let ledger = history.session(30);
    let recorded = (all(&ledger).unwrap(), digest(&ledger));
    ledger.close().unwrap();
    recorded
}

fn digest(ledger: &Ledger) -> String {
    state(ledger).digests().unwrap().state.to_string()
}

#[test]
fn two_ledgers_with_the_same_keys_clock_and_random_bytes_record_the_same() {
    let (one, same, other) = (recorded(7), recorded(7), recorded(8));
    assert!(one.0.len() > 100, "{} events", one.0.len());
    for (one, same) in one.0.iter().zip(&same.0) {
        assert_eq!(one, same);
    }
    assert_eq!((one.0.len(), &one.1), (same.0.len(), &same.1));
    assert_ne!(one.1, other.1);
    assert!(one.0.iter().zip(&other.0).all(|(one, other)| one.commitment != other.commitment));
}

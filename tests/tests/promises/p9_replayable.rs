//! P9: a projection is a pure function of the log.
//! Of the index: after any fate of its files, it comes to the same digest at the same position, and to the same answers.

use std::collections::BTreeMap;

use bitacora_formats::{After, Position};
use bitacora_ledger::{AppendRequest, Filter, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use bitacora_tests::simulated_disk::CrashPolicy;

use crate::indexed::{OPTIONS, files, index_of, wait_until_caught_up};
use crate::workload::{Memory, event, machine_with_ledger};

/// The digest at each position that it was seen at.
type Digests = BTreeMap<Position, [u8; 32]>;

/// Appends these events one by one, and notes the digests on the way.
fn follow(ledger: &IndexedLedger, memory: &mut Memory, numbers: std::ops::Range<u64>, digests: &mut Digests) {
    for number in numbers {
        memory.append(ledger.ledger(), number).unwrap();
        wait_until_caught_up(ledger);
        note(ledger, digests);
    }
}

/// A digest at a position that was seen before is the one it was.
fn note(ledger: &IndexedLedger, digests: &mut Digests) {
    if let Some((position, digest)) = ledger.index_status().digest {
        assert_eq!(*digests.entry(position).or_insert(digest), digest, "the digest at {position}");
    }
}

/// Each stream as the index finds it and as a look at every event does.
fn check_answers(ledger: &IndexedLedger, what: &str) {
    for stream in 0..5 {
        for from in [ReadFrom::After(After::START), ReadFrom::Before(None)] {
            let filter = Filter { stream: Some(format!("stream-{stream}")), ..Filter::default() };
            let query = ReadQuery { from, until: None, limit: 1_000, filter };
            let (found, scanned) = (
                ledger.read(&query).unwrap(),
                bitacora_ledger::Ledger::read(ledger.ledger(), &query).unwrap(),
            );
            assert!(!found.events.is_empty() && found.events == scanned.events, "{what}: stream {stream}");
        }
    }
}

#[test]
fn an_index_that_was_made_again_has_the_digests_of_the_live_one() {
    let machine = machine_with_ledger(90);
    let (mut memory, mut digests) = (Memory::default(), Digests::new());
    let ledger = index_of(&machine);
    follow(&ledger, &mut memory, 0..90, &mut digests);
    ledger.close().unwrap();
    drop(ledger);
    let again = index_of(&machine);
    follow(&again, &mut memory, 90..120, &mut digests);
    again.close().unwrap();
    drop(again);
    assert!(digests.len() >= 5, "seen at {:?}", digests.keys());
    let live: Vec<_> = files(&machine).iter().map(|file| machine.disk.contents(file).unwrap()).collect();

    for gone in [&[0_usize][..], &[1, 3], &[0, 1, 2, 3, 4, 5, 6, 7]] {
        let all = files(&machine);
        gone.iter().filter_map(|index| all.get(*index)).for_each(|file| machine.disk.unlink(file).unwrap());
        let again = index_of(&machine);
        // Each opening is an event, so the last block is another one now; those before it are what they were.
        wait_until_caught_up(&again);
        note(&again, &mut digests);
        check_answers(&again, "made again");
        again.close().unwrap();
        drop(again);
        for (file, before) in files(&machine).iter().zip(&live).take(7) {
            assert!(machine.disk.contents(file).unwrap() == *before, "{} is another one", file.display());
        }
    }
}

#[test]
fn a_crash_at_any_operation_leaves_an_index_that_comes_to_the_same() {
    let machine = machine_with_ledger(91);
    let (mut memory, mut digests) = (Memory::default(), Digests::new());
    // The durable head when the disk had seen so many operations.
    let mut heads = Vec::new();
    let first = machine.disk.operation_count();
    for round in 0..2 {
        let ledger = index_of(&machine);
        for number in round * 40..(round + 1) * 40 {
            follow(&ledger, &mut memory, number..number + 1, &mut digests);
            heads.push((machine.disk.operation_count(), ledger.head().position.get()));
        }
        ledger.close().unwrap();
    }
    let last = machine.disk.operation_count();
    let blocks = files(&machine);
    assert!(digests.len() >= 3 && blocks.len() >= 5, "{:?}", digests.keys());
    let mut compared = 0;
    for operation in (first..=last).step_by(3).chain([last]) {
        for policy in CrashPolicy::ALL {
            let what = format!("crash after operation {operation}, {policy:?}");
            let image = machine.after_crash(operation, policy, operation).unwrap();
            let ledger = index_of(&image);
            // Enough that every stream has events, and that the open block goes on behind what the crash left.
            for number in 0..6 {
                let request = AppendRequest::of(vec![event(number)]);
                ledger.append(request).unwrap().wait().unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            wait_until_caught_up(&ledger);
            check_answers(&ledger, &what);
            ledger.close().unwrap();
            // Events durable before the crash are the same history, so whole blocks of them are the same to the byte.
            let before = heads.partition_point(|(at, _)| *at <= operation);
            let head = before.checked_sub(1).map_or(0, |index| heads[index].1);
            let whole = usize::try_from(head / OPTIONS.block_events).unwrap();
            for block in blocks.iter().take(whole) {
                let (now, live) =
                    (image.disk.contents(block).unwrap(), machine.disk.contents(block).unwrap());
                assert!(now == live, "{what}: {} is another one", block.display());
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared} blocks were compared");
}

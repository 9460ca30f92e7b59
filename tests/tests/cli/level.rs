//! Tests of the stored level above the leaves: it is checked against the leaves, and never believed.

use std::fs;

use bitacora_formats::{LEVELS_HEADER_BYTES, TREE_HASH_BYTES};
use bitacora_ledger::AppendRequest;
use bitacora_verify::{FaultKind, Gap, LeafCheck, Verdict};

use bitacora_tests::folders::copy_folder;

use crate::sample::{Sample, event};

/// The level's name in findings.
const SHOWN: &str = "tree/level-1";

/// A ledger with three whole groups of leaves, and the level over them.
fn sample() -> (Sample, Vec<u8>) {
    let sample = Sample::new(0);
    for opening in 0..2 {
        let ledger = sample.open();
        for request in 0..4 {
            let events =
                (0..100).map(|number| event(&format!("{opening}.{request}.{number}"), "s")).collect();
            ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    let level = fs::read(sample.ledger().join(SHOWN)).unwrap();
    assert_eq!(level.len(), LEVELS_HEADER_BYTES + 3 * TREE_HASH_BYTES);
    (sample, level)
}

/// Returns the fault's offset and kind for these bytes in the level's place; it is the same with keys and without.
fn found(sample: &Sample, level: &[u8], what: &str) -> Option<(u64, FaultKind)> {
    fs::write(sample.ledger().join(SHOWN), level).unwrap();
    let [keyless, keyed] = [false, true].map(|with_keys| {
        let report = sample.verify_twice(with_keys, what);
        let expected = if report.fault.is_some() { Verdict::Invalid } else { Verdict::Alone };
        assert_eq!(report.verdict(), expected, "{what}: {report:?}");
        report.fault.map(|fault| {
            assert_eq!(fault.file, SHOWN, "{what}: {fault}");
            (fault.offset, *fault.kind)
        })
    });
    assert_eq!(keyless, keyed, "{what}");
    keyed
}

/// Returns the offset of a group's root, from 0.
fn root_at(group: usize) -> usize {
    LEVELS_HEADER_BYTES + group * TREE_HASH_BYTES
}

#[test]
fn a_changed_level_is_found_at_its_group() {
    let (sample, whole) = sample();
    assert_eq!(found(&sample, &whole, "whole"), None);
    for group in 0..3 {
        let mut changed = whole.clone();
        changed[root_at(group) + 31] ^= 1;
        let (offset, kind) = found(&sample, &changed, "changed").unwrap();
        let FaultKind::LevelRoot { first, last, .. } = kind else { panic!("{kind}") };
        let from = group as u64 * 256 + 1;
        assert_eq!((offset, first, last), (root_at(group) as u64, from, from + 255));
    }
    for at in 0..LEVELS_HEADER_BYTES {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        for level in [&changed[..], &changed[..LEVELS_HEADER_BYTES]] {
            let (offset, kind) = found(&sample, level, "header").unwrap();
            let is_of_header = matches!(kind, FaultKind::Level(_) | FaultKind::LevelOf { .. });
            assert!(is_of_header && offset == 0, "byte {at} of {}: {kind}", level.len());
        }
    }
    let report = sample.verify_by(false, 2, LeafCheck::None);
    assert_eq!(report.verdict(), Verdict::Alone, "nobody asked: {report:?}");
}

#[test]
fn zeros_are_lost_roots_only_up_to_the_last_group() {
    let (sample, whole) = sample();
    // The first group was complete before the last opening, which stored it.
    for group in 1..3 {
        let mut lost = whole.clone();
        lost[root_at(group)..].fill(0);
        assert_eq!(found(&sample, &lost, "lost"), None, "from group {group} on");
        // Bytes behind the last group are not looked at.
        lost.extend([7; TREE_HASH_BYTES]);
        assert_eq!(found(&sample, &lost, "more behind"), None, "from group {group} on");
    }
    for end in [root_at(1), root_at(2), root_at(3)] {
        let mut changed = whole.clone();
        changed[root_at(0)..end].fill(0);
        let (offset, kind) = found(&sample, &changed, "an early root of zeros").unwrap();
        assert!(matches!(kind, FaultKind::LevelRoot { .. }) && offset == root_at(0) as u64, "{kind}");
    }
    let mut changed = whole.clone();
    changed[root_at(1)..root_at(2)].fill(0);
    let (offset, kind) = found(&sample, &changed, "a root behind zeros").unwrap();
    assert!(matches!(kind, FaultKind::LevelRoot { .. }) && offset == root_at(1) as u64, "{kind}");
}

#[test]
fn a_level_that_is_cut_short_is_a_fault_where_an_opening_has_stored_it_since() {
    let (sample, whole) = sample();
    for bytes in 0..root_at(1) {
        let (offset, kind) = found(&sample, &whole[..bytes], "cut").unwrap();
        assert_eq!((offset, kind), (bytes as u64, FaultKind::LevelCut { first: 1, last: 256 }), "at {bytes}");
    }
    for bytes in root_at(1)..whole.len() {
        assert_eq!(found(&sample, &whole[..bytes], "cut"), None, "at {bytes}");
    }
}

#[test]
fn an_opening_stores_the_level_before_its_epoch_begins() {
    let (sample, whole) = sample();
    let ledger = sample.open();
    let events = (0..300).map(|number| event(&format!("more.{number}"), "s")).collect();
    ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
    // As a crash leaves it, with what a loss left behind the last group.
    let crashed = sample.ledger().with_file_name("crashed");
    copy_folder(&sample.ledger(), &crashed).unwrap();
    ledger.close().unwrap();
    fs::remove_dir_all(sample.ledger()).unwrap();
    fs::rename(&crashed, sample.ledger()).unwrap();
    assert_eq!(fs::read(sample.ledger().join(SHOWN)).unwrap(), whole, "it lags");
    assert_eq!(found(&sample, &whole, "it lags"), None);
    fs::write(sample.ledger().join(SHOWN), [&whole[..], &[9; 3 * TREE_HASH_BYTES]].concat()).unwrap();
    let ledger = sample.open();
    let stored = fs::read(sample.ledger().join(SHOWN)).unwrap();
    assert_eq!(stored.len(), root_at(4));
    assert_eq!(stored[..root_at(3)], whole);
    ledger.close().unwrap();
    assert_eq!(found(&sample, &stored, "stored"), None);
}

#[test]
fn a_level_that_cannot_be_read_leaves_it_incomplete() {
    let (sample, _) = sample();
    fs::remove_file(sample.ledger().join(SHOWN)).unwrap();
    assert_eq!(sample.verify_twice(false, "gone").verdict(), Verdict::Alone);
    fs::create_dir(sample.ledger().join(SHOWN)).unwrap();
    let report = sample.verify_twice(false, "no file");
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert!(matches!(report.gaps.as_slice(), [Gap::Level { .. }]), "{report:?}");
    assert_eq!(sample.verify_by(false, 2, LeafCheck::None).gaps, [], "nobody asked");
}

//! Tests of the leaves beside the segments: they make the tree without keys, and are never believed.

use std::fs;
use std::process::Command;

use bitacora_formats::{FOOTER_BYTES, LEAF_ENTRY_BYTES};
use bitacora_verify::{Fault, FaultKind, Gap, LeafCheck, Report, Verdict};

use crate::sample::{Sample, code, shown_leaves, told};

/// Events of a sample with two openings, and of each segment.
const EVENTS: u64 = 15;
const EVENTS_OF: [u64; 3] = [1, 7, 7];

/// Verifies without keys and with them: both must find a fault in the leaves of this segment.
fn faults(sample: &Sample, number: u32, what: &str) -> [Fault; 2] {
    [false, true].map(|with_keys| {
        let report = sample.verify_twice(with_keys, what);
        assert_eq!(report.verdict(), Verdict::Invalid, "{what}: {report:?}");
        let fault = report.fault.unwrap();
        assert_eq!(fault.file, shown_leaves(number), "{what}: {fault}");
        fault
    })
}

/// Verifies without keys and with them: both must miss the leaves of these positions, and nothing else.
fn misses(sample: &Sample, absent: &[(u64, u64)], what: &str) {
    for with_keys in [false, true] {
        let report = sample.verify_twice(with_keys, what);
        assert_eq!(report.verdict(), Verdict::Alone, "{what}: {report:?}");
        let leaves = report.leaves.unwrap();
        assert_eq!(leaves.absent, absent, "{what}");
        let events: u64 = absent.iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!((leaves.events, leaves.absent_events), (EVENTS - events, events), "{what}");
        let required = sample.verify_by(with_keys, 2, LeafCheck::All);
        assert_eq!(required.verdict(), Verdict::Incomplete, "{what}");
        assert!(matches!(required.gaps.as_slice(), [Gap::NoLeaves { .. }]), "{what}: {required:?}");
    }
}

fn holds(report: &Report) {
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    let leaves = report.leaves.as_ref().unwrap();
    assert_eq!((leaves.events, leaves.absent_events, leaves.bytes_ahead), (EVENTS, 0, 0));
}

#[test]
fn every_flipped_byte_of_the_leaves_is_found_at_its_place() {
    let sample = Sample::new(2);
    holds(&sample.verify_twice(false, "whole"));
    holds(&sample.verify_twice(true, "whole"));
    holds(&sample.verify_by(false, 2, LeafCheck::All));
    let mut first = 1;
    for (number, events) in (1..).zip(EVENTS_OF) {
        let path = sample.leaves(number);
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, (events + 1) * LEAF_ENTRY_BYTES as u64);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            fs::write(&path, &changed).unwrap();
            let what = format!("leaves {number}, byte {at}");
            let [keyless, keyed] = faults(&sample, number, &what);
            assert!(keyless.offset <= at as u64 && keyed.offset <= at as u64, "{what}: {keyless}; {keyed}");
            // An auditor with the keys knows which leaf it is; one without them, at least the frame.
            let entry = at / LEAF_ENTRY_BYTES;
            let position = first + (entry as u64).saturating_sub(1);
            assert_eq!((keyed.offset, keyed.first_position), ((entry * LEAF_ENTRY_BYTES) as u64, position));
            assert!(
                keyless.last_position.is_none_or(|last| (keyless.first_position..=last).contains(&position))
            );
        }
        fs::write(&path, &whole).unwrap();
        first += events;
    }
    holds(&sample.verify(false));
}

#[test]
fn a_flipped_byte_of_the_leaves_ends_the_program_with_40() {
    let sample = Sample::new(2);
    let path = sample.leaves(2);
    let mut changed = fs::read(&path).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&path, &changed).unwrap();
    for threads in ["1", "4"] {
        let output = sample.run(&["verify", "--json", "--threads", threads]);
        assert_eq!(code(&output), 40);
        let fault = &told(&output)["fault"];
        assert_eq!(fault["file"], shown_leaves(2));
        assert!(fault["what"].as_str().unwrap().contains("leaves that make tree root"), "{fault}");
        assert!(fault["remedy"].as_str().unwrap().contains("made again"), "{fault}");
    }
    assert_eq!(code(&sample.run(&["verify", "--chain-only"])), 10, "nobody asked for leaves");
    assert_eq!(code(&sample.run(&["verify", "--chain-only", "--require-leaves"])), 2);
    assert_eq!(code(&sample.run(&["verify", "--threads", "0"])), 2);
}

#[test]
fn leaves_that_are_not_there_are_told_and_missed_only_where_they_are_required() {
    let sample = Sample::new(2);
    let whole = fs::read(sample.leaves(2)).unwrap();
    fs::remove_file(sample.leaves(2)).unwrap();
    misses(&sample, &[(2, 8)], "none of segment 2");
    let output = sample.run(&["verify", "--json"]);
    assert_eq!(code(&output), 10);
    let told = told(&output);
    assert_eq!(told["leaves"]["absent"][0], serde_json::json!({ "firstPosition": "2", "lastPosition": "8" }));
    assert!(told["notProven"].to_string().contains("leaves of positions 2 to 8"), "{told}");
    assert_eq!(code(&sample.run(&["verify", "--require-leaves"])), 50);

    // The opening after the segment has made missing ones again: what is cut now was cut since.
    for length in 0..whole.len() {
        fs::write(sample.leaves(2), &whole[..length]).unwrap();
        let report = sample.verify(false);
        let fault = report.fault.unwrap();
        assert_eq!((&*fault.file, fault.offset), (&*shown_leaves(2), length as u64), "{fault}");
        assert!(matches!(*fault.kind, FaultKind::LeavesCut), "cut at {length}: {fault}");
    }
    fs::write(sample.leaves(2), &whole).unwrap();
    // Of the newest segment a crash explains it.
    let whole = fs::read(sample.leaves(3)).unwrap();
    for length in 0..whole.len() {
        fs::write(sample.leaves(3), &whole[..length]).unwrap();
        let report = sample.verify(false);
        assert_eq!(report.verdict(), Verdict::Alone, "cut at {length}: {report:?}");
        let absent = report.leaves.unwrap().absent;
        assert!(matches!(absent.as_slice(), [(9..=EVENTS, EVENTS)]), "cut at {length}: {absent:?}");
    }
    fs::write(sample.leaves(3), &whole).unwrap();
    fs::remove_dir_all(sample.ledger().join("tree")).unwrap();
    misses(&sample, &[(1, EVENTS)], "none at all");
    assert_eq!(sample.verify_by(false, 2, LeafCheck::None).leaves, None);
}

#[test]
fn zeros_are_lost_leaves_only_up_to_the_end() {
    let sample = Sample::new(2);
    for number in [2, 3] {
        let path = sample.leaves(number);
        let whole = fs::read(&path).unwrap();
        let mut lost = whole.clone();
        lost[LEAF_ENTRY_BYTES..].fill(0);
        fs::write(&path, &lost).unwrap();
        match number {
            3 => misses(&sample, &[(9, EVENTS)], "all zeros"),
            _ => drop(faults(&sample, number, "all zeros, and an opening since")),
        }
        *lost.last_mut().unwrap() = 1;
        fs::write(&path, &lost).unwrap();
        faults(&sample, number, "zeros, and something behind them");
        lost.fill(0);
        fs::write(&path, &lost).unwrap();
        faults(&sample, number, "no header");
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn leaves_behind_the_last_ones_of_an_ended_segment_are_found() {
    let sample = Sample::new(2);
    for number in [1, 2, 3] {
        let whole = fs::read(sample.leaves(number)).unwrap();
        for more in [1, LEAF_ENTRY_BYTES, 5 * LEAF_ENTRY_BYTES] {
            let longer = [&whole[..], &vec![0; more]].concat();
            fs::write(sample.leaves(number), longer).unwrap();
            for fault in faults(&sample, number, &format!("{more} bytes more in {number}")) {
                assert_eq!(fault.offset, whole.len() as u64);
                assert!(matches!(*fault.kind, FaultKind::LeavesBytes { .. }), "{fault}");
            }
        }
        fs::write(sample.leaves(number), &whole).unwrap();
    }
    // Of a segment that is not ended a copy may hold more leaves than frames.
    let segment = fs::read(sample.segment(3)).unwrap();
    fs::write(sample.segment(3), &segment[..segment.len() - FOOTER_BYTES]).unwrap();
    let leaves = fs::read(sample.leaves(3)).unwrap();
    fs::write(sample.leaves(3), [&leaves[..], &[7; 3 * LEAF_ENTRY_BYTES]].concat()).unwrap();
    let report = sample.verify_twice(false, "leaves ahead");
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    assert_eq!(report.leaves.unwrap().bytes_ahead, 3 * LEAF_ENTRY_BYTES as u64);
}

#[test]
fn leaves_of_another_segment_or_ledger_are_found() {
    let (sample, other) = (Sample::new(2), Sample::new(2));
    let whole = fs::read(sample.leaves(2)).unwrap();
    fs::copy(sample.leaves(3), sample.leaves(2)).unwrap();
    for fault in faults(&sample, 2, "of segment 3") {
        assert!(matches!(*fault.kind, FaultKind::LeavesOf { what: "segment", .. }), "{fault}");
    }
    fs::copy(other.leaves(2), sample.leaves(2)).unwrap();
    for fault in faults(&sample, 2, "of another ledger") {
        assert!(matches!(*fault.kind, FaultKind::LeavesOf { what: "ledger", .. }), "{fault}");
    }
    // Even where the header is that of this ledger.
    let theirs = fs::read(other.leaves(2)).unwrap();
    let forged = [&whole[..LEAF_ENTRY_BYTES], &theirs[LEAF_ENTRY_BYTES..]].concat();
    fs::write(sample.leaves(2), forged).unwrap();
    faults(&sample, 2, "of another ledger under this one's header");
    // Two events of one frame that change places: the frame says so, and with keys the event.
    let [first, second] = [LEAF_ENTRY_BYTES * 2, LEAF_ENTRY_BYTES * 3];
    let mut swapped = whole.clone();
    swapped[first..second + LEAF_ENTRY_BYTES].rotate_left(LEAF_ENTRY_BYTES);
    fs::write(sample.leaves(2), swapped).unwrap();
    faults(&sample, 2, "swapped");
}

#[test]
fn what_is_no_file_of_leaves_is_not_waited_for() {
    let sample = Sample::new(2);
    for make in ["mkdir", "mkfifo"] {
        let _absent_the_second_time = fs::remove_dir(sample.leaves(2)).is_err();
        let _absent_the_first_time = fs::remove_file(sample.leaves(2)).is_err();
        assert!(Command::new(make).arg(sample.leaves(2)).status().unwrap().success());
        for with_keys in [false, true] {
            let report = sample.verify_twice(with_keys, make);
            assert_eq!(report.verdict(), Verdict::Incomplete, "{make}: {report:?}");
            assert!(matches!(report.gaps.as_slice(), [Gap::Leaves { first_position: 2, .. }]), "{report:?}");
        }
    }
}

#[test]
fn files_among_the_leaves_that_do_not_belong_are_counted() {
    let sample = Sample::new(2);
    assert_eq!(sample.verify(false).other_files, 0);
    let tree = sample.ledger().join("tree");
    for (count, name) in
        (1..).zip(["0000000009.leaves", "2.leaves", "0000000002.leaves.bak", "level-2", "x.new"])
    {
        fs::write(tree.join(name), b"something").unwrap();
        let report = sample.verify_twice(false, name);
        assert_eq!((report.other_files, report.verdict()), (count, Verdict::Alone), "{name}");
    }
    fs::write(tree.join("0000000002.leaves.new"), b"being made").unwrap();
    assert_eq!(sample.verify(false).other_files, 5);
}

//! Tests of changed evidence: `verify` finds every change without keys, and names the place.

use std::fs;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_verify::{FaultKind, LeafCheck, Report, Verdict};

use crate::sample::{Sample, code, shown, told};

/// The offset that the report names in this file; anything else fails.
fn fault_offset(report: &Report, file: &str, what: &str) -> u64 {
    assert_eq!(report.verdict(), Verdict::Invalid, "{what}: {report:?}");
    let fault = report.fault.as_ref().unwrap();
    assert_eq!(fault.file, file, "{what}: {fault}");
    assert!(fault.first_position >= 1 && !fault.kind.to_string().is_empty(), "{what}");
    fault.offset
}

#[test]
fn every_flipped_byte_of_every_segment_is_found_where_it_is() {
    let sample = Sample::new(2);
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
    let numbers = sample.segments();
    assert_eq!(numbers.len(), 3);
    let mut flipped = 0;
    for number in numbers {
        let path = sample.segment(number);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for (bit, threads) in [(0x01, 1), (0x80, 4)] {
                let mut changed = whole.clone();
                changed[at] ^= bit;
                fs::write(&path, &changed).unwrap();
                let what = format!("segment {number}, byte {at} ^ {bit:02x}");
                let report = sample.verify_by(false, threads, LeafCheck::WhereThere);
                let offset = fault_offset(&report, &shown(number), &what);
                assert!(offset <= at as u64, "{what}: byte {offset} is named");
                if at % 16 == 0 {
                    sample.verify_twice(true, &what);
                }
                flipped += 1;
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(flipped > 4_000);
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
}

#[test]
fn every_flipped_byte_of_the_signing_keys_note_is_found() {
    let sample = Sample::new(1);
    let path = sample.ledger().join("signing-keys.note");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        let report = sample.verify(false);
        fault_offset(&report, "signing-keys.note", &format!("byte {at}"));
    }
    let others = fs::read_to_string(Sample::new(1).ledger().join("signing-keys.note")).unwrap();
    fs::write(&path, &others).unwrap();
    fault_offset(&sample.verify(false), "signing-keys.note", "another ledger's");
    fault_offset(&sample.verify(true), "signing-keys.note", "another ledger's, with the keyring");
}

#[test]
fn a_flipped_zero_behind_a_live_segments_last_frame_is_found() {
    let sample = Sample::new(1);
    let path = sample.segment(3);
    // Left as a killed service leaves it: with zeros behind the last frame.
    let mut whole = fs::read(sample.segment(2)).unwrap();
    whole.truncate(whole.len() - bitacora_formats::FOOTER_BYTES);
    whole.resize(whole.len() + 20_000, 0);
    fs::write(sample.segment(2), &whole).unwrap();
    assert!(!path.exists());
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
    let written = whole.len() - 20_000;
    for at in (written..whole.len()).step_by(61) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(sample.segment(2), &changed).unwrap();
        fault_offset(&sample.verify(false), &shown(2), &format!("byte {at}"));
    }
}

#[test]
fn a_few_flips_through_the_program_itself_end_with_40_and_the_place() {
    let sample = Sample::new(1);
    let path = sample.segment(2);
    let whole = fs::read(&path).unwrap();
    for at in [0, 100, 700, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 0xFF;
        fs::write(&path, &changed).unwrap();
        let output = sample.run(&["verify", "--json"]);
        assert_eq!(code(&output), 40, "byte {at}");
        let told = told(&output);
        assert_eq!((&told["fault"]["file"], &told["exitCode"]), (&shown(2).into(), &40.into()), "byte {at}");
        assert!(told["fault"]["offset"].as_u64().unwrap() <= at as u64);
        assert!(told["fault"]["what"].as_str().unwrap().contains("expected"));
        let human = sample.run(&["verify"]);
        assert_eq!(code(&human), 40);
        assert!(String::from_utf8(human.stdout).unwrap().contains(&shown(2)));
    }
}

#[test]
fn a_deleted_segment_is_missed_with_its_positions() {
    let sample = Sample::new(3);
    let kept = fs::read(sample.segment(3)).unwrap();
    fs::remove_file(sample.segment(3)).unwrap();
    let report = sample.verify_twice(false, "without segment 3");
    fault_offset(&report, &shown(3), "the middle one");
    let fault = report.fault.unwrap();
    assert!(matches!(*fault.kind, FaultKind::Missing { .. }));
    // Segment 1 holds position 1, each later one seven events.
    assert_eq!((fault.first_position, fault.last_position), (9, Some(15)));
    fs::write(sample.segment(3), kept).unwrap();

    fs::remove_file(sample.segment(1)).unwrap();
    fault_offset(&sample.verify_twice(false, "the first one"), &shown(1), "the first one");
    for number in [2, 3, 4] {
        fs::remove_file(sample.segment(number)).unwrap();
    }
    fault_offset(&sample.verify_twice(false, "all of them"), &shown(1), "all of them");
    fs::remove_dir(sample.ledger().join("segments")).unwrap();
    fault_offset(&sample.verify_twice(false, "their folder"), &shown(1), "their folder");
}

#[test]
fn segments_that_are_swapped_copied_or_of_another_ledger_are_found() {
    let (sample, other) = (Sample::new(3), Sample::new(3));
    let (second, third) = (fs::read(sample.segment(2)).unwrap(), fs::read(sample.segment(3)).unwrap());
    fs::write(sample.segment(2), &third).unwrap();
    fs::write(sample.segment(3), &second).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "swapped"), &shown(2), "swapped"), 0);

    fs::write(sample.segment(2), &second).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "copied"), &shown(3), "copied"), 0);
    fs::write(sample.segment(3), &third).unwrap();
    fs::copy(sample.segment(4), sample.segment(5)).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "added"), &shown(5), "added"), 0);
    fs::remove_file(sample.segment(5)).unwrap();

    fs::copy(other.segment(3), sample.segment(3)).unwrap();
    assert_eq!(
        fault_offset(&sample.verify_twice(false, "of another ledger"), &shown(3), "of another ledger"),
        0
    );
    for number in 1..=4 {
        fs::copy(other.segment(number), sample.segment(number)).unwrap();
    }
    let what = "all of another ledger";
    assert_eq!(fault_offset(&sample.verify_twice(false, what), "signing-keys.note", what), 25);
    fs::write(sample.segment(1), vec![0; 5_000]).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "blank"), &shown(1), "blank"), 0);
}

#[test]
fn a_cut_segment_is_found_unless_it_is_the_end_of_the_log() {
    let sample = Sample::new(2);
    for number in [1, 2] {
        let path = sample.segment(number);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let report = sample.verify(false);
            if length % 16 == 0 {
                sample.verify_twice(true, &format!("segment {number} cut at {length}"));
            }
            assert_eq!(report.verdict(), Verdict::Invalid, "segment {number} cut at {length}: {report:?}");
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn zeros_behind_a_segment_are_taken_up_to_its_largest_size_and_no_further() {
    let sample = Sample::new(1);
    let file = fs::OpenOptions::new().write(true).open(sample.segment(2)).unwrap();
    file.set_len(MAX_SEGMENT_BYTES as u64).unwrap();
    assert_eq!(sample.verify_twice(false, "as long as a segment can be").verdict(), Verdict::Alone);
    file.set_len(MAX_SEGMENT_BYTES as u64 + 1).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "longer"), &shown(2), "longer"), 0);
}

#[test]
fn a_segment_made_ahead_is_no_longer_than_a_segment_can_be() {
    let sample = Sample::new(1);
    let file = fs::File::create(sample.segment(3)).unwrap();
    file.set_len(MAX_SEGMENT_BYTES as u64).unwrap();
    let report = sample.verify_twice(false, "made ahead");
    assert_eq!((report.verdict(), report.blank_segments), (Verdict::Alone, 1), "{report:?}");
    file.set_len(MAX_SEGMENT_BYTES as u64 + 1).unwrap();
    assert_eq!(fault_offset(&sample.verify_twice(false, "longer"), &shown(3), "longer"), 0);
}

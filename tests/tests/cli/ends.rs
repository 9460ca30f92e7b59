//! Tests of a ledger's end: missing events that only signed heads tell of, and known heads.
//! A known head helps where the end could not be read.

use std::fs;
use std::path::PathBuf;

use bitacora_formats::{
    Generation, HeadEntry, HeadStep, HeadsHeader, HeadsWalk, SegmentNumber, TreeHead, UnverifiedTreeHead,
};
use bitacora_verify::{FaultKind, HeadFault, Verdict};
use serde_json::Value;

use crate::sample::{Sample, code, shown_heads, told};

/// The first head of a segment, and its note in a file.
fn head(sample: &Sample, segment: u32) -> (HeadEntry, PathBuf) {
    let bytes = fs::read(sample.heads(segment)).unwrap();
    let HeadStep::Entry(entry) = HeadsWalk::new(&bytes).step() else { panic!("no head") };
    let file = sample.folder.path().join(format!("{segment}.head"));
    fs::write(&file, &entry.note).unwrap();
    (entry, file)
}

/// Returns the tree head of a note, with its signature verified.
fn signed(sample: &Sample, note: &str) -> TreeHead {
    let signed = UnverifiedTreeHead::parse(note).unwrap();
    signed.verify_with_chain(sample.keyring.signing_chain()).unwrap().head().clone()
}

fn key(sample: &Sample) -> String {
    let origin = UnverifiedTreeHead::parse(&head(sample, 2).0.note).unwrap().origin().clone();
    origin.keys(sample.keyring.signing_chain()).first().unwrap().to_string()
}

/// Runs `verify` for an auditor who knows the ledger's key and the head of this segment.
fn verify(sample: &Sample, segment: u32) -> (i32, Value) {
    let (_, file) = head(sample, segment);
    let key = key(sample);
    let output = sample.run(&["verify", "--json", "--vkey", &key, "--known-head", file.to_str().unwrap()]);
    (code(&output), told(&output))
}

#[test]
fn a_segment_that_is_gone_is_found_by_the_heads_that_it_left() {
    let sample = Sample::with_heads(2);
    let (entry, _) = head(&sample, 3);
    let (whole, segment) = (verify(&sample, 2), sample.segment(3));
    assert_eq!(whole.0, 0, "{}", whole.1);
    let bytes = fs::metadata(&segment).unwrap().len();
    for zeros in [Some(bytes), Some(0), None] {
        match zeros {
            Some(bytes) => fs::write(&segment, vec![0; usize::try_from(bytes).unwrap()]).unwrap(),
            None => fs::remove_file(&segment).unwrap(),
        }
        for with_keys in [false, true] {
            let report = sample.verify_twice(with_keys, "gone");
            assert_eq!(report.verdict(), Verdict::Invalid, "{report:?}");
            let fault = report.fault.unwrap();
            assert_eq!((fault.file, fault.first_position), (shown_heads(3), entry.position.get()));
            assert!(matches!(*fault.kind, FaultKind::Head(HeadFault::Size { .. })), "{}", fault.kind);
        }
        let (code, told) = verify(&sample, 2);
        assert_eq!(code, 40, "{told}");
    }
    // Without the head nothing in the folder tells; a file of heads that says nothing of this ledger tells nothing.
    fs::write(sample.heads(3), [7; 300]).unwrap();
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
    fs::remove_file(sample.heads(3)).unwrap();
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
}

#[test]
fn a_cosigned_head_tells_of_it_too() {
    let sample = Sample::with_heads(2);
    let (entry, _) = head(&sample, 3);
    fs::remove_file(sample.heads(3)).unwrap();
    fs::remove_file(sample.segment(3)).unwrap();
    assert_eq!(sample.verify(false).verdict(), Verdict::Alone);
    let file = "tree/0000000003.cosigned";
    let lost = signed(&sample, &entry.note);
    // A head that the ledger reaches was not lost; one of a later generation was, however small.
    let reached = signed(&sample, &head(&sample, 2).0.note);
    let within = TreeHead { size: reached.size - 1, ..reached.clone() };
    let mut later = within.clone();
    later.origin.generation = Generation(2);
    let touched = lost.size;
    for (head, first) in [(reached, None), (within, None), (later, Some(1)), (lost, Some(touched))] {
        fs::write(sample.ledger().join(file), head.sign(&sample.keyring)).unwrap();
        let report = sample.verify_twice(false, "cosigned");
        assert_eq!(report.cosigned.unwrap().heads, 0, "no frame holds it: {report:?}");
        let found = report.fault.map(|fault| (fault.file, fault.first_position));
        assert_eq!(found, first.map(|first| (file.to_owned(), first)), "{}", head.text());
    }
}

#[test]
fn heads_behind_the_end_that_it_reaches_tell_of_no_loss() {
    let sample = Sample::with_heads(2);
    for segment in [2, 3] {
        let (entry, _) = head(&sample, segment);
        let ledger = UnverifiedTreeHead::parse(&entry.note).unwrap().origin().ledger;
        let mut bytes = HeadsHeader { ledger, segment: SegmentNumber(9) }.encode().to_vec();
        entry.encode(&mut bytes).unwrap();
        fs::write(sample.heads(9), bytes).unwrap();
        assert_eq!(sample.verify_twice(false, "reached").verdict(), Verdict::Alone, "of segment {segment}");
    }
}

#[test]
fn what_could_not_be_read_is_not_called_rolled_back() {
    let sample = Sample::with_heads(2);
    assert_eq!(verify(&sample, 3).0, 0);
    // A folder opens, and cannot be read.
    fs::remove_file(sample.segment(3)).unwrap();
    fs::create_dir(sample.segment(3)).unwrap();
    let (code, told) = verify(&sample, 3);
    assert_eq!(code, 50, "{told}");
    assert!(told["assurance"]["divergences"].as_array().unwrap().is_empty(), "{told}");
    assert_eq!(verify(&sample, 2).0, 50);
    // Nor are cosigned heads judged, which may be of what was not read.
    assert!(told["cosignedHeads"].is_null(), "{told}");

    let sample = Sample::with_heads(3);
    fs::remove_file(sample.segment(3)).unwrap();
    fs::create_dir(sample.segment(3)).unwrap();
    let (code, told) = verify(&sample, 4);
    assert_eq!(code, 50, "{told}");
    assert!(told["gaps"].to_string().contains("only positions up to"), "{told}");
    // A readable head that differs from the known one is told.
    let (entry, file) = head(&sample, 2);
    let mut other = signed(&sample, &entry.note);
    other.root.0[0] ^= 1;
    fs::write(&file, other.sign(&sample.keyring)).unwrap();
    let output = sample.run(&["verify", "--json", "--known-head", file.to_str().unwrap()]);
    assert_eq!(crate::sample::code(&output), 30, "{}", crate::sample::told(&output));
}

#[test]
fn a_ledger_in_doubt_is_told_of_and_what_would_end_with_0_ends_with_50() {
    let sample = Sample::new(2);
    assert_eq!(code(&sample.run(&["calls"])), 0);
    let bytes = fs::read(sample.segment(2)).unwrap();
    let mut damaged = bytes.clone();
    (damaged[100], damaged[300]) = (!damaged[100], !damaged[300]);
    fs::write(sample.segment(2), damaged).unwrap();
    for arguments in
        [&["calls"][..], &["budgets", "list"], &["read"], &["read", "--limit", "1"], &["tail", "--last", "1"]]
    {
        let output = sample.run(arguments);
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(code(&output), 50, "{arguments:?}: {said}");
        assert!(said.contains("0000000002.seg"), "{arguments:?}: {said}");
    }
    fs::write(sample.segment(2), bytes).unwrap();
    assert_eq!(code(&sample.run(&["read"])), 0);
}

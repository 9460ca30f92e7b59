//! Tests that `verify` counts and names the folder's contents: an auditor acts on these numbers.

use std::fs;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use bitacora_formats::{FrameHeader, Generation, KeyProblem, LedgerOrigin, SegmentHeader, SegmentWalk, Step};
use bitacora_verify::{
    Assurance, ContentsChecked, CosignedChecked, CosignedFault, Fault, FaultKind, GenerationStart, Head,
    HeadsChecked, LeafCheck, LeavesChecked, PartCounts, Progress, Report, Verdict, VerifyOptions,
    verify_ledger,
};
use serde_json::json;

use crate::sample::{Sample, told};

/// A segment's header, and those of its frames.
fn segment(sample: &Sample, number: u32) -> (SegmentHeader, Vec<FrameHeader>) {
    let bytes = fs::read(sample.segment(number)).unwrap();
    let (mut walk, header) = SegmentWalk::start(&bytes, None).unwrap();
    let mut frames = Vec::new();
    while let Step::Frame(frame) = walk.next_step() {
        frames.push(*frame.stored.header());
    }
    (header, frames)
}

fn origin(sample: &Sample) -> LedgerOrigin {
    let (header, _) = segment(sample, 1);
    LedgerOrigin { name: "main".parse().unwrap(), ledger: header.ledger, generation: Generation::FIRST }
}

fn first_key(sample: &Sample) -> String {
    origin(sample).keys(sample.keyring.signing_chain()).first().unwrap().to_string()
}

#[test]
fn every_number_of_a_report_is_of_what_lies_in_the_folder() {
    let sample = Sample::with_heads(3);
    let head = {
        let ledger = sample.open();
        ledger.close().unwrap();
        ledger.head()
    };
    // A last segment that is not ended, with leaves that its copy is ahead with, and one that is made and not written.
    let last = fs::read(sample.segment(5)).unwrap();
    fs::write(sample.segment(5), &last[..last.len() - bitacora_formats::FOOTER_BYTES]).unwrap();
    let leaves = fs::read(sample.leaves(5)).unwrap();
    fs::write(sample.leaves(5), [&leaves[..], &[7; 9]].concat()).unwrap();
    fs::write(sample.segment(6), [0; 4_096]).unwrap();
    fs::write(sample.ledger().join("segments/notes.txt"), "nothing").unwrap();

    let segments: Vec<_> = (1..=5).map(|number| segment(&sample, number)).collect();
    let frames: Vec<_> = segments.iter().flat_map(|(_, frames)| frames).collect();
    let (first, last) = (frames.first().unwrap(), frames.last().unwrap());
    let bytes = (1..=5).map(|number| fs::metadata(sample.segment(number)).unwrap().len()).sum();
    let events = last.last_position().get();
    // A creation, three openings with heads and one without; each head is an event of its own.
    assert_eq!((segments.len(), events), (5, 1 + 3 * 8 + 1));
    let begun =
        || GenerationStart { generation: Generation::FIRST, first_position: 1, before: None, declared: None };
    let expected = |keys: bool| Report {
        ledger: Some(segments[0].0.ledger),
        generation: Some(Generation::FIRST),
        generations: vec![begun()],
        first_key: Some(first_key(&sample)),
        bytes,
        segments: 5,
        segments_planned: 5,
        segments_passed: 5,
        blank_segments: 1,
        other_files: 1,
        frames: frames.len() as u64,
        events,
        signatures: 10,
        first_time: Some(first.time),
        last_time: Some(last.time),
        head: Some(Head { position: head.position.get(), hash: head.hash, tree_root: head.tree_root }),
        contents: keys.then_some(ContentsChecked {
            events,
            streams: 3,
            parts: PartCounts { opened: 9, without_key: 0 },
        }),
        leaves: Some(LeavesChecked { events, bytes_ahead: 9, ..LeavesChecked::default() }),
        heads: Some(HeadsChecked { heads: 3, events: 3, segments_without: 2, last_size: events - 1 }),
        cosigned: Some(CosignedChecked::default()),
        assurance: Assurance { signed_by: Some(1), whole_tree: true, ..Assurance::default() },
        ..Report::default()
    };
    for keys in [false, true] {
        for threads in [1, 2, 4] {
            let report = sample.verify_by(keys, threads, LeafCheck::WhereThere);
            assert_eq!(report, expected(keys), "with keys: {keys}, by {threads} threads");
        }
    }
}

/// Adds up what it is told.
#[derive(Default)]
struct CountedProgress {
    expected: AtomicU64,
    checked: AtomicU64,
}

impl Progress for CountedProgress {
    fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.checked.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[test]
fn progress_is_of_every_byte_of_the_segments_once() {
    let sample = Sample::new(4);
    let bytes: u64 = (1..=5).map(|number| fs::metadata(sample.segment(number)).unwrap().len()).sum();
    for threads in [1, 3] {
        let told = CountedProgress::default();
        let (threads, progress) = (NonZero::new(threads), Some(&told as &dyn Progress));
        let report =
            verify_ledger(&sample.ledger(), &VerifyOptions { threads, progress, ..Default::default() });
        assert_eq!((report.verdict(), report.bytes), (Verdict::Alone, bytes), "{report:?}");
        assert_eq!([told.expected, told.checked].map(AtomicU64::into_inner), [bytes, bytes]);
    }
}

#[test]
fn a_key_that_is_known_is_counted_and_the_first_one_is_shown_to_be_noted() {
    let sample = Sample::with_heads(1);
    let key = first_key(&sample);
    let output = sample.run(&["verify", "--json", "--vkey", &key]);
    let told = told(&output);
    assert_eq!(told["firstKey"], key);
    let assurance = &told["assurance"];
    assert_eq!(
        [&assurance["keys"], &assurance["keyNumber"], &assurance["signedBy"], &assurance["keyVouches"]],
        [&json!(1), &json!(1), &json!(1), &json!(true)]
    );
    let text = String::from_utf8(sample.run(&["verify", "--vkey", &key]).stdout).unwrap();
    assert!(text.contains(&format!("first key   {key}")), "{text}");
    assert!(text.contains("signing key 1, which you know, vouches for key 1"), "{text}");
}

#[test]
fn a_fault_says_where_it_is_what_it_touches_and_what_to_do() {
    let fault = |last_position, kind, torn| {
        let (file, offset, first_position) = ("segments/x".to_owned(), 5, 7);
        Fault { file, offset, first_position, last_position, kind: Box::new(kind), torn }
    };
    let what = FaultKind::NoFrame.to_string();
    for (last, touched) in
        [(Some(7), "position 7"), (Some(9), "positions 7 to 9"), (None, "positions from 7")]
    {
        let shown = fault(last, FaultKind::NoFrame, false).to_string();
        assert_eq!(shown, format!("segments/x at byte 5, {touched}: {what}"));
    }
    let leaf = FaultKind::LeafTime { expected: 1, found: 2 };
    let key = FaultKind::TrustedKey { key: "k".into(), problem: KeyProblem::OtherLedger };
    let cosigned = FaultKind::Cosigned(CosignedFault::NoText);
    let kinds = [
        (leaf, false, "are made again from the segments"),
        (key, false, "ask who gave you the key"),
        (cosigned, false, "put it aside"),
        (FaultKind::NoFrame, true, "a write that was cut short"),
        (FaultKind::NoFrame, false, "restore this file from a copy that verifies"),
    ];
    for (kind, torn, remedy) in kinds {
        let fault = fault(None, kind, torn);
        assert!(fault.remedy().contains(remedy), "{fault}: {}", fault.remedy());
    }
    assert!(fault(None, FaultKind::NoFrame, false).remedy().starts_with("restore"));
}

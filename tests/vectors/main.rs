//! Two verifiers, written apart, before the same ledgers: whole ones, and ones with one thing wrong.
//! Both have to say the same, and the right thing. `tests/second/bitacora_verify.py` is the second one.
//!
//! Set `BITACORA_WRITE_VECTORS` to a folder that is not there, and every case is kept in it, with what has to be said of it.

#![expect(clippy::panic, reason = "a test that cannot go on must fail")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on must fail")]
#![expect(clippy::print_stderr, reason = "a test says what it did not run")]

mod archives;
mod case;
mod changes;
mod event_evidence;
mod everywhere;
mod evidence;
mod forgeries;
mod heads;
mod judge;
mod passphrases;
mod real;
mod receipts;
mod second;
mod witnesses;
mod writer;

use std::env;
use std::path::Path;

use case::{Case, ExpectedFinding, Files, LEVEL, NOTE, leaves, segment};
use judge::{Judge, files_with_bytes, flips};
use writer::LedgerWriter;

/// Every case that is a folder of its own.
fn cases() -> Vec<Case> {
    let tables = [
        real::good(),
        archives::cases(),
        forgeries::true_ones(),
        forgeries::in_headers(),
        forgeries::in_frames(),
        forgeries::in_footers(),
        forgeries::in_notes(),
        changes::of_segments(),
        changes::of_frames(),
        changes::of_the_tree(),
        changes::of_endless_zeros(),
        changes::of_what_is_no_file(),
        changes::of_the_note(),
    ];
    tables.into_iter().flatten().collect()
}

#[test]
fn every_case_is_judged_alike() {
    let cases = cases();
    if let Some(folder) = env::var_os("BITACORA_WRITE_VECTORS") {
        cases.iter().for_each(|case| case.keep(Path::new(&folder)));
    }
    let Some(mut judge) = Judge::new() else { return };
    cases.iter().for_each(|case| judge.case(case));
    judge.end(150);
}

/// Flips every byte of every file of a ledger.
fn flip_every_byte(judge: &mut Judge, files: &Files) {
    for name in files_with_bytes(files) {
        let expected = ExpectedFinding::found_in(&name);
        let changes = flips(files.bytes(&name)).map(|(what, bytes, at)| (what, bytes, at, &expected));
        judge.changes(files, &name, changes);
    }
}

#[test]
fn every_flipped_byte_is_found_by_both() {
    let Some(mut judge) = Judge::new() else { return };
    flip_every_byte(&mut judge, &real::rotated_keys());
    judge.end(6_000);
}

#[test]
fn every_flipped_byte_of_an_unended_segment_is_found_by_both() {
    let Some(mut judge) = Judge::new() else { return };
    let mut files = LedgerWriter::begun().end(|_| {}).begin(|_| {}).frame(2, |_| {}).frame(1, |_| {}).files();
    files.change(&segment(2), |bytes| bytes.resize(bytes.len() + 300, 0));
    flip_every_byte(&mut judge, &files);
    judge.end(2_400);
}

#[test]
fn every_flipped_byte_of_the_stored_level_is_found_by_both() {
    let Some(mut judge) = Judge::new() else { return };
    let files = real::two_groups();
    let bytes = files.bytes(LEVEL);
    assert_eq!(bytes.len(), 3 * 32, "a header and two groups");
    let expected = ExpectedFinding::found_in(LEVEL);
    judge.changes(&files, LEVEL, flips(bytes).map(|(what, bytes, at)| (what, bytes, at, &expected)));
    judge.end(96);
}

/// Returns a file cut at each length, and with zeros in the place of the rest. Each has the place where it begins to differ.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>, usize)> {
    let cut = (0..bytes.len()).map(|length| (format!("cut at {length}"), bytes[..length].to_vec(), length));
    let zeroed = (0..bytes.len()).filter_map(|length| {
        // Zeros in the place of zeros change nothing.
        let differs_from = length + bytes[length..].iter().position(|byte| *byte != 0)?;
        let mut zeroed = bytes[..length].to_vec();
        zeroed.resize(bytes.len(), 0);
        Some((format!("zeros from {length}"), zeroed, differs_from))
    });
    cut.chain(zeroed)
}

#[test]
fn a_tail_cut_anywhere_is_judged_alike() {
    let Some(mut judge) = Judge::new() else { return };
    let files = real::several_segments();
    let alone = ExpectedFinding::alone();
    for number in [2, files.last()] {
        let name = segment(number);
        let (bytes, invalid) = (files.bytes(&name), ExpectedFinding::found_in(&name));
        // At the end of a frame, or with nothing of it left, the last segment is one that is still written.
        let ends: Vec<usize> = changes::frames(bytes).into_iter().map(|frame| frame.end).collect();
        let is_last = number == files.last();
        // Cut at the end of a frame, a segment that another one follows is whole by itself: the next one misses the rest.
        let missed = ExpectedFinding::found_in(&segment(number + 1));
        // The end of a frame may be zeros already.
        let is_whole = |changed: &[u8]| {
            let goes_up_to = |end: &usize| changed.get(..*end) == bytes.get(..*end);
            ends.iter().any(|end| goes_up_to(end) && changed.iter().skip(*end).all(|byte| *byte == 0))
        };
        let changes = cuts(bytes).map(|(what, bytes, length)| {
            let expected = match is_whole(&bytes) || length == 0 {
                true if is_last => &alone,
                true if length > 0 => &missed,
                _ => &invalid,
            };
            (what, bytes, length as u64, expected)
        });
        judge.changes(&files, &name, changes);
    }
    judge.end(5_000);
}

#[test]
fn leaves_cut_anywhere_are_judged_alike() {
    let Some(mut judge) = Judge::new() else { return };
    let (files, alone, in_level) =
        (real::two_groups(), ExpectedFinding::alone(), ExpectedFinding::found_in(LEVEL));
    // The first group was complete before the last opening, which stored it.
    for (name, stored) in [(leaves(files.last()), 0), (LEVEL.to_owned(), 64)] {
        let cut = cuts(files.bytes(&name)).filter(|(what, ..)| what.starts_with("cut"));
        let cut = cut.map(|(what, bytes, length)| {
            (what, bytes, length as u64, if length < stored { &in_level } else { &alone })
        });
        judge.changes(&files, &name, cut);
    }
    judge.end(2_000);
}

#[test]
fn a_note_cut_anywhere_is_judged_alike() {
    let Some(mut judge) = Judge::new() else { return };
    let (files, in_note) = (real::rotated_keys(), ExpectedFinding::found_in(NOTE));
    // The remainder at the end of a line is a note of fewer keys, as it once was: the segment by a later key is named.
    let in_segment = ExpectedFinding { file: None, ..in_note.clone() };
    let changes = cuts(files.bytes(NOTE)).map(|(what, bytes, length)| {
        let is_shorter_note = bytes.len() == length && bytes.ends_with(b"\n") && length > 30;
        (what, bytes, length as u64, if is_shorter_note { &in_segment } else { &in_note })
    });
    judge.changes(&files, NOTE, changes);
    judge.end(1_000);
}

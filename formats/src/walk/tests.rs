mod forged;
mod passing;
mod torn;

use super::*;
use crate::compression::Decompressor;
use crate::footer::FooterError;
use crate::ids::{Epoch, Generation, LedgerId, SegmentNumber, TreeHash};
use crate::opener::FrameOpener;
use crate::sample_ledger::{SampleLedger, SampleSegment, sample_body};
use crate::segment::SegmentError;
use bitacora_testkit::SeededRng;

/// The end of a walk, with the damage that it found.
#[derive(Debug)]
enum WalkEnd {
    Whole,
    Unwritten,
    Torn(Damage),
    Corrupt(Damage),
}

/// Walks over a segment, and sees that exactly what is whole passes too.
fn walk(bytes: &[u8], expect: Option<&SegmentEnd>) -> (u64, WalkEnd, Option<SegmentEnd>) {
    let walked = walk_over(bytes, expect);
    let is_whole = matches!(walked, (1.., WalkEnd::Whole, _));
    assert_eq!(
        passing::holds(bytes, expect),
        is_whole,
        "passes, but walks as {walked:?}, or the other way round"
    );
    walked
}

fn walk_over(bytes: &[u8], expect: Option<&SegmentEnd>) -> (u64, WalkEnd, Option<SegmentEnd>) {
    let (mut walk, _) = match SegmentWalk::start(bytes, expect) {
        Ok(started) => started,
        Err(HeaderStep::Unwritten) => return (0, WalkEnd::Unwritten, None),
        Err(HeaderStep::Torn(damage)) => return (0, WalkEnd::Torn(damage), None),
        Err(HeaderStep::Corrupt(damage)) => return (0, WalkEnd::Corrupt(damage), None),
    };
    walk_on(&mut walk)
}

fn walk_on(walk: &mut SegmentWalk<'_>) -> (u64, WalkEnd, Option<SegmentEnd>) {
    let mut frames = 0;
    loop {
        let ending = match walk.next_step() {
            Step::Frame(_) => {
                frames += 1;
                continue;
            }
            Step::Footer(_) => continue,
            Step::End => WalkEnd::Whole,
            Step::Torn(damage) => WalkEnd::Torn(damage),
            Step::Corrupt(damage) => WalkEnd::Corrupt(damage),
        };
        return (frames, ending, Some(*walk.end()));
    }
}

/// The damage of a walk that must end as corrupt.
fn corrupt(bytes: &[u8], expect: Option<&SegmentEnd>) -> Damage {
    match walk(bytes, expect) {
        (_, WalkEnd::Corrupt(damage), _) => damage,
        (frames, ending, _) => panic!("corrupt expected; after {frames} frames {ending:?} found"),
    }
}

/// The damage of a walk that must end as torn.
fn torn(bytes: &[u8]) -> Damage {
    match walk(bytes, None) {
        (_, WalkEnd::Torn(damage), _) => damage,
        (frames, ending, _) => panic!("torn expected; after {frames} frames {ending:?} found"),
    }
}

/// Three segments: two closed, then one that is live.
fn three_segments() -> (SampleLedger, [SampleSegment; 3]) {
    let mut ledger = SampleLedger::new(1);
    let segments =
        [ledger.segment(&[40, 1, 90], true), ledger.segment(&[33], true), ledger.segment(&[20, 50], false)];
    (ledger, segments)
}

#[test]
fn a_whole_ledger_walks_from_end_to_end() {
    let (ledger, segments) = three_segments();
    let mut end = SegmentEnd::before_first(ledger.id);
    for (segment, frames) in segments.iter().zip([3, 1, 2]) {
        let (walked, ending, after) = walk(&segment.bytes, Some(&end));
        assert!(matches!(ending, WalkEnd::Whole), "{ending:?}");
        assert_eq!(walked, frames);
        end = after.unwrap();
    }
    assert_eq!((end.next_position, end.tip, end.time), (ledger.next_position(), ledger.tip, ledger.time));
    assert_eq!((end.tree_size, end.tree_root), (12, ledger.frontier.root()));
}

/// Returns the offset of the header, frame, footer or zeros that hold this byte.
fn begins_before(segment: &SampleSegment, offset: usize) -> usize {
    segment.frames.iter().copied().filter(|begin| *begin <= offset).max().unwrap_or(0)
}

/// The finding of a walk over a segment with one changed byte.
struct WalkFinding {
    /// The offset of the thing that the byte lies in.
    begins: u64,
    /// `true` if that is the last thing written, or the zeros after it.
    is_last: bool,
    is_torn: bool,
    damage: Damage,
}

/// Changes every byte of three segments, one at a time, and walks: each change must be found.
fn every_change(change: impl Fn(&SampleSegment, usize) -> Option<Vec<u8>>) -> Vec<WalkFinding> {
    let (ledger, segments) = three_segments();
    let mut end = SegmentEnd::before_first(ledger.id);
    let mut all = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        let is_live = is_all_zeros(&segment.bytes[segment.frames[segment.frames.len() - 1]..]);
        let last_begins = segment.frames[segment.frames.len() - 1 - usize::from(is_live)];
        for offset in 0..segment.bytes.len() {
            let Some(bytes) = change(segment, offset) else { continue };
            for expect in [Some(&end), None] {
                let (damage, is_torn) = match walk(&bytes, expect).1 {
                    WalkEnd::Torn(damage) => (damage, true),
                    WalkEnd::Corrupt(damage) => (damage, false),
                    ending => panic!("byte {offset} of segment {number}: {ending:?}"),
                };
                let begins = begins_before(segment, offset) as u64;
                all.push(WalkFinding { begins, is_last: offset >= last_begins, is_torn, damage });
            }
        }
        end = walk(&segment.bytes, Some(&end)).2.unwrap();
    }
    all
}

#[test]
fn every_flipped_byte_is_found_where_it_lies() {
    for mask in [0x01, 0x80, 0xff] {
        let all = every_change(|segment, offset| {
            let mut bytes = segment.bytes.clone();
            bytes[offset] ^= mask;
            Some(bytes)
        });
        for found in &all {
            assert_eq!(found.damage.offset, found.begins);
            // A changed format is no torn write either, wherever it stands.
            assert!(found.is_last || !found.is_torn, "torn, but something follows: {}", found.damage);
        }
        let torn = all.iter().filter(|found| found.is_torn).count();
        let last = all.iter().filter(|found| found.is_last).count();
        assert!(last - torn <= 3 * 2 * 2, "{torn} of {last} torn: all but the bytes of three formats");
    }
}

#[test]
fn every_flipped_byte_is_found_under_a_mended_checksum() {
    let all = every_change(|segment, offset| {
        let begin = begins_before(segment, offset);
        let end = segment.frames.iter().copied().find(|begin| *begin > offset).unwrap_or(segment.bytes.len());
        let crc_at = end - 4;
        (!is_all_zeros(&segment.bytes[begin..end]) && offset < crc_at).then(|| {
            let mut bytes = segment.bytes.clone();
            bytes[offset] ^= 0x10;
            let crc = crc32fast::hash(&bytes[begin..crc_at]);
            bytes[crc_at..end].copy_from_slice(&crc.to_le_bytes());
            bytes
        })
    });
    for found in &all {
        // A signature is under the next link: of the last one but one, the next frame's own signature fails.
        assert!(found.damage.offset >= found.begins, "{}", found.damage);
        assert!(found.is_last || !found.is_torn, "torn, but something follows: {}", found.damage);
    }
    let torn = all.iter().filter(|found| found.is_torn).count();
    assert!(
        torn < all.len() / 20,
        "{torn}: only a magic or a length can hide that the rest was written whole"
    );
}

#[test]
fn every_cut_that_is_not_between_frames_is_found() {
    let (ledger, segments) = three_segments();
    let mut end = SegmentEnd::before_first(ledger.id);
    for segment in &segments {
        let written = segment.bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        for length in 0..written {
            let (frames, ending, _) = walk(&segment.bytes[..length], Some(&end));
            let between = segment.frames.iter().position(|begin| *begin == length);
            match (ending, between) {
                (WalkEnd::Whole, Some(before)) => assert_eq!(frames, before as u64),
                (WalkEnd::Unwritten, _) => assert_eq!(length, 0),
                (WalkEnd::Torn(damage), None) => {
                    assert_eq!(damage.offset, begins_before(segment, length) as u64, "cut to {length}");
                }
                (ending, _) => panic!("cut to {length}: {ending:?}"),
            }
        }
        end = walk(&segment.bytes, Some(&end)).2.unwrap();
    }
}

#[test]
fn a_walked_frame_opens_to_the_body_that_was_sealed() {
    let mut ledger = SampleLedger::new(1);
    let segment = ledger.segment(&[40, 70_000], true);
    let (mut walk, header) = SegmentWalk::start(&segment.bytes, None).unwrap();
    let opener = FrameOpener::new(&header.unwrap_key(&ledger.keyring).unwrap());
    let mut decompressor = Decompressor::new().unwrap();
    for (index, length) in [40, 70_000].into_iter().enumerate() {
        let Step::Frame(frame) = walk.next_step() else { panic!("frame {index}") };
        let body = opener.open_body(&frame.stored, &mut decompressor).unwrap();
        assert_eq!(body, sample_body(index, length));
    }
}

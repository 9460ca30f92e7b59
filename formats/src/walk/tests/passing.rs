//! A pass has the same findings as a walk, in pieces of any size.

use super::*;

/// Passes over a segment that is given piece by piece; a piece is larger only where more is needed at once.
fn pass(bytes: &[u8], piece_bytes: usize, every_signature: bool) -> Option<(PassedSegment, SegmentHeader)> {
    let (mut pass, header) = SegmentPass::start(bytes, every_signature)?;
    let mut needed = piece_bytes;
    loop {
        let rest = &bytes[usize::try_from(pass.offset()).unwrap()..];
        match pass.step(&rest[..needed.min(rest.len())]) {
            PassStep::Frame(frame) => {
                assert_eq!(frame.stored.bytes(), &rest[..frame.stored.bytes().len()]);
                needed = piece_bytes;
            }
            PassStep::More { needed: more } if more <= rest.len() => {
                assert!(more > needed.min(rest.len()));
                needed = more;
            }
            PassStep::More { .. } | PassStep::Zeros => break,
            PassStep::Doubt => return None,
        }
    }
    let rest = &bytes[usize::try_from(pass.offset()).unwrap()..];
    let passed = pass.finish(bytes.len() as u64).filter(|_| is_all_zeros(rest))?;
    Some((passed, header))
}

/// Returns `true` if a segment passes and goes on from the end of the one before, if there is one.
pub(super) fn holds(bytes: &[u8], expect: Option<&SegmentEnd>) -> bool {
    let [last, every] = [false, true].map(|every_signature| pass(bytes, 1_000, every_signature));
    assert!(last.is_some() || every.is_none(), "who verifies more signatures lets less pass");
    last.is_some_and(|(passed, header)| {
        expect.is_none_or(|end| end.check_next(&header, passed.first_time).is_ok())
    })
}

#[test]
fn a_whole_ledger_passes_as_it_walks() {
    let (ledger, segments) = three_segments();
    let mut end = SegmentEnd::before_first(ledger.id);
    for (segment, (frames, is_closed)) in segments.iter().zip([(3, true), (1, true), (2, false)]) {
        for piece_bytes in [1, 4, 151, 10_000] {
            for every_signature in [false, true] {
                let (passed, header) = pass(&segment.bytes, piece_bytes, every_signature).unwrap();
                assert_eq!((passed.frames, passed.is_closed), (frames, is_closed));
                assert_eq!(end.check_next(&header, passed.first_time), Ok(()));
                assert_eq!(Some(passed.end), walk(&segment.bytes, Some(&end)).2);
            }
        }
        end = walk(&segment.bytes, Some(&end)).2.unwrap();
    }
}

#[test]
fn no_changed_byte_passes() {
    let (ledger, segments) = three_segments();
    let mut end = SegmentEnd::before_first(ledger.id);
    for segment in &segments {
        assert!(holds(&segment.bytes, Some(&end)));
        for offset in 0..segment.bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut bytes = segment.bytes.clone();
                bytes[offset] ^= mask;
                assert!(!holds(&bytes, Some(&end)), "byte {offset} ^ {mask:02x}");
            }
        }
        end = walk(&segment.bytes, Some(&end)).2.unwrap();
    }
}

#[test]
fn a_segment_cut_anywhere_passes_only_where_a_frame_ends() {
    let (ledger, [segment, ..]) = three_segments();
    let end = SegmentEnd::before_first(ledger.id);
    for length in 0..segment.bytes.len() {
        // A header without a frame is no segment; what is cut behind the last frame has lost its footer alone.
        let passes = segment.frames[1..].contains(&length);
        assert_eq!(holds(&segment.bytes[..length], Some(&end)), passes, "cut at {length}");
    }
}

#[test]
fn a_time_before_the_one_before_does_not_go_on() {
    let mut ledger = SampleLedger::new(1);
    let first = ledger.segment(&[40], true);
    ledger.time.0 -= 5_000;
    let second = ledger.segment(&[40], true);
    let end = walk(&first.bytes, Some(&SegmentEnd::before_first(ledger.id))).2.unwrap();
    assert!(pass(&second.bytes, 1_000, false).is_some() && !holds(&second.bytes, Some(&end)));
}

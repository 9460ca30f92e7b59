//! The possible remains of a crash, and damage that only looks like them.

use super::*;
use crate::compression::Codec;
use crate::frame::FRAME_OVERHEAD_BYTES;
use crate::limits::MAX_FRAME_BYTES;

/// A live segment of three frames, zeros after them.
fn live() -> SampleSegment {
    SampleLedger::new(1).segment(&[40, 700, 90], false)
}

fn mend_crc(bytes: &mut [u8]) {
    let (signed, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32fast::hash(signed).to_le_bytes());
}

#[test]
fn a_last_frame_of_which_any_part_is_missing_is_torn() {
    let segment = live();
    let (begin, end) = (segment.frames[2], segment.frames[3]);
    for missing in begin..end {
        let (mut head_only, mut tail_only) = (segment.bytes.clone(), segment.bytes.clone());
        head_only[missing..end].fill(0);
        tail_only[begin..=missing].fill(0);
        for bytes in [head_only, tail_only] {
            if is_all_zeros(&bytes[begin..]) {
                assert!(matches!(walk(&bytes, None), (2, WalkEnd::Whole, _)));
            } else if bytes != segment.bytes {
                assert_eq!(torn(&bytes).offset, begin as u64, "missing from or up to {missing}");
            }
        }
    }
}

#[test]
fn a_last_frame_of_which_any_sectors_are_missing_is_torn() {
    let segment = SampleLedger::new(1).segment(&[100, 1_700], false);
    let (begin, end) = (segment.frames[1], segment.frames[2]);
    let sectors: Vec<usize> = (begin / 512..=(end - 1) / 512).collect();
    for written in 0..1_usize << sectors.len() {
        let mut bytes = segment.bytes.clone();
        for (bit, sector) in sectors.iter().enumerate().filter(|(bit, _)| written >> bit & 1 == 0) {
            let (from, to) = (sector * 512, (sector + 1) * 512);
            bytes[from.max(begin)..to.min(end)].fill(0);
            assert!(bit < sectors.len());
        }
        match walk(&bytes, None) {
            (1, WalkEnd::Torn(damage), Some(after)) => {
                assert_eq!(damage.offset, begin as u64);
                assert_eq!(after.next_position, damage.first_position);
            }
            (1, WalkEnd::Whole, _) => assert_eq!(written, 0),
            (2, WalkEnd::Whole, _) => assert_eq!(bytes, segment.bytes),
            other => panic!("sectors {written:b}: {other:?}"),
        }
    }
}

#[test]
fn a_length_torn_in_the_middle_is_not_trusted() {
    let mut ledger = SampleLedger::new(1);
    let mut bytes = Vec::new();
    let mut sealer = ledger.begin(&mut bytes);
    // Such that a sector ends after the first byte of the second frame's length.
    let (length_at, sector_bytes) = (32, 512);
    let filler = sector_bytes * 2 - (bytes.len() + FRAME_OVERHEAD_BYTES + length_at + 1);
    ledger.frame(&mut sealer, 1, &vec![1; filler], &mut bytes);
    let begin = bytes.len();
    let plan = ledger.plan(1);
    sealer.seal(plan, Codec::Zstd, &[5; 700], 900, &mut bytes).unwrap();
    assert_eq!((begin + length_at + 1) % sector_bytes, 0);
    // The unwritten sector reads as nothing, or as bytes of no meaning after the length.
    bytes[sector_bytes * 2..sector_bytes * 3].fill(0);
    assert_eq!(torn(&bytes).offset, begin as u64);
    bytes[sector_bytes * 2 + 7..sector_bytes * 3].fill(0x33);
    assert_eq!(FrameHeader::parse(&bytes[begin..]).unwrap().sealed_bytes, 700 & 0xff);
    assert_eq!(torn(&bytes).offset, begin as u64);
}

#[test]
fn a_byte_behind_a_damaged_footer_is_corrupt() {
    let mut bytes = SampleLedger::new(1).segment(&[40], true).bytes;
    let crc_at = bytes.len() - 1;
    bytes[crc_at] ^= 1;
    bytes.extend_from_slice(&[0; 10]);
    assert!(matches!(torn(&bytes).kind, DamageKind::Footer(FooterError::Crc { .. })));
    bytes[crc_at + 5] = 1;
    assert!(matches!(corrupt(&bytes, None).kind, DamageKind::Footer(FooterError::Crc { .. })));
}

#[test]
fn a_torn_footer_is_torn() {
    let segment = SampleLedger::new(1).segment(&[40], true);
    for written in 1..FOOTER_BYTES {
        let mut bytes = segment.bytes.clone();
        bytes[segment.frames[1] + written..].fill(0);
        let damage = torn(&bytes);
        assert_eq!((damage.offset, damage.first_position.get()), (segment.frames[1] as u64, 3));
    }
}

#[test]
fn a_first_write_of_which_any_part_is_missing_is_torn() {
    let segment = SampleLedger::new(1).segment(&[40], false);
    let written = segment.frames[1];
    for missing in 0..written {
        let (mut head_only, mut tail_only) = (segment.bytes.clone(), segment.bytes.clone());
        head_only[missing..written].fill(0);
        // The header in part or whole missing, with the frame whole: still one write.
        tail_only[..=missing].fill(0);
        for bytes in [head_only, tail_only] {
            match walk(&bytes, None) {
                (0, WalkEnd::Torn(damage), _) => assert!(damage.offset <= segment.frames[0] as u64),
                (0, WalkEnd::Unwritten, _) => assert!(is_all_zeros(&bytes)),
                (0, WalkEnd::Whole, _) => assert!(is_all_zeros(&bytes[segment.frames[0]..])),
                (1, WalkEnd::Whole, _) => assert_eq!(bytes, segment.bytes),
                other => panic!("missing from or up to {missing}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_damaged_header_before_a_second_frame_is_corrupt() {
    let segment = live();
    let mut bytes = segment.bytes.clone();
    bytes[100] ^= 1;
    let damage = corrupt(&bytes, None);
    assert!(matches!(damage.kind, DamageKind::Header(SegmentError::Crc { .. })), "{damage}");
    bytes[..segment.frames[0]].fill(0);
    corrupt(&bytes, None);
}

#[test]
fn a_damaged_header_before_a_footer_is_corrupt() {
    let mut bytes = SampleLedger::new(1).segment(&[40], true).bytes;
    bytes[100] ^= 1;
    corrupt(&bytes, None);
}

#[test]
fn rot_before_a_torn_frame_is_corrupt() {
    let segment = live();
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[1] + 300] ^= 1;
    // Of the frame behind it only the header has been written.
    bytes[segment.frames[2] + FRAME_HEADER_BYTES..].fill(0);
    assert_eq!(corrupt(&bytes, None).offset, segment.frames[1] as u64);
    // Of the frame behind it only the end has been written: then the length of this one is all there is to tell by.
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[1] + 300] ^= 1;
    bytes[segment.frames[2]..segment.frames[3] - 20].fill(0);
    assert_eq!(corrupt(&bytes, None).offset, segment.frames[1] as u64);
}

#[test]
fn what_was_written_whole_but_cannot_be_read_is_corrupt() {
    let segment = live();
    let last = segment.frames[2]..segment.frames[3];
    for (offset, value, expected) in [
        (4, 2, FrameError::Format { found: 2 }),
        (6, 3, FrameError::Codec { found: 3 }),
        (7, 2, FrameError::OutOfRange { field: "flags", min: 0, max: 1, found: 2 }),
        (24, 0, FrameError::OutOfRange { field: "count", min: 1, max: 65_536, found: 0 }),
    ] {
        let mut bytes = segment.bytes.clone();
        bytes[last.start + offset] = value;
        mend_crc(&mut bytes[last.clone()]);
        assert_eq!(corrupt(&bytes, None).kind, expected.into());
    }
}

#[test]
fn a_later_versions_format_is_corrupt_even_if_nothing_else_holds() {
    let mut ledger = SampleLedger::new(1);
    let segment = ledger.segment(&[40], true);
    for (offset, expected) in [
        (8, DamageKind::Header(SegmentError::Format { found: 2 })),
        (segment.frames[0] + 4, DamageKind::Frame(FrameError::Format { found: 2 })),
        (segment.frames[1] + 8, DamageKind::Footer(FooterError::Format { found: 2 })),
    ] {
        let mut bytes = segment.bytes.clone();
        bytes[offset] = 2;
        // Nothing follows, so that only the format speaks against a torn write.
        bytes.truncate((offset + 200).min(bytes.len()));
        assert_eq!(corrupt(&bytes, None).kind, expected);
    }
}

#[test]
fn a_byte_after_the_last_frame_is_torn_only_within_a_frames_reach() {
    let segment = live();
    let end = segment.frames[3];
    let mut bytes = segment.bytes.clone();
    bytes.resize(end + MAX_FRAME_BYTES + 2, 0);
    bytes[end + MAX_FRAME_BYTES - 1] = 1;
    assert_eq!(torn(&bytes).kind, FrameError::Magic { found: [0; 4] }.into());
    bytes[end + MAX_FRAME_BYTES] = 1;
    let damage = corrupt(&bytes, None);
    assert_eq!((damage.offset, damage.first_position.get(), damage.last_position), (end as u64, 7, None));
}

#[test]
fn zeros_and_an_empty_file_are_unwritten() {
    for bytes in [0, 1, 407, 408, 65_536, MAX_SEGMENT_BYTES] {
        assert!(matches!(walk(&vec![0; bytes], None), (0, WalkEnd::Unwritten, None)));
    }
}

#[test]
fn a_file_larger_than_any_segment_is_not_read() {
    for mut bytes in [Vec::new(), live().bytes] {
        bytes.resize(MAX_SEGMENT_BYTES + 1, 0);
        let damage = corrupt(&bytes, None);
        assert_eq!(damage.kind, DamageKind::SegmentBytes { found: MAX_SEGMENT_BYTES as u64 + 1 });
    }
}

#[test]
fn a_last_frame_that_was_altered_and_mended_is_corrupt() {
    let segment = live();
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[2] + 200] ^= 1;
    mend_crc(&mut bytes[segment.frames[2]..segment.frames[3]]);
    let damage = corrupt(&bytes, None);
    assert!(matches!(damage.kind, DamageKind::Signature { .. }), "{damage}");
    assert_eq!((damage.first_position.get(), damage.last_position.unwrap().get()), (5, 6));
}

#[test]
fn a_forged_frame_before_a_torn_one_comes_first() {
    let segment = live();
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[1] + 200] ^= 1;
    mend_crc(&mut bytes[segment.frames[1]..segment.frames[2]]);
    bytes[segment.frames[2] + 10..].fill(0);
    let damage = corrupt(&bytes, None);
    assert_eq!(damage.offset, segment.frames[1] as u64);
    assert!(matches!(damage.kind, DamageKind::Signature { .. }), "{damage}");
}

#[test]
fn the_walk_repeats_how_it_ended() {
    let segment = live();
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[2] + 200] ^= 1;
    let (mut walk, _) = SegmentWalk::start(&bytes, None).unwrap();
    walk_on(&mut walk);
    assert!(matches!((walk.next_step(), walk.next_step()), (Step::Torn(one), Step::Torn(two)) if one == two));
    assert_eq!(walk.offset(), segment.frames[2] as u64);
}

#[test]
fn whatever_is_done_to_a_segment_only_whole_frames_are_left_of_it() {
    let segment = live();
    let mut seeded = SeededRng::new(7);
    for round in 0..5_000 {
        let mut bytes = segment.bytes.clone();
        for _ in 0..=seeded.below(3) {
            let length = bytes.len();
            let (from, to) = (seeded.below(length), seeded.below(length));
            match seeded.below(4) {
                0 => bytes[from] = seeded.number().to_le_bytes()[0],
                1 => bytes.copy_within(from..(from + 300).min(length), to.min(length - 300)),
                2 => bytes[from.min(to)..from.max(to)].fill(0),
                _ => bytes.truncate(from.max(to).max(301)),
            }
        }
        if let (frames, WalkEnd::Whole, _) = walk(&bytes, None) {
            let end = segment.frames[usize::try_from(frames).unwrap()];
            let whole = bytes[..end] == segment.bytes[..end] && is_all_zeros(&bytes[end..]);
            assert!(whole, "round {round}: {frames} frames");
        }
    }
}

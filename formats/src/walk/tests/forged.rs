//! Bytes whose parts are each consistent, but not as one ledger: moved, repeated, left out or forged.
//!
//! The forgeries are signed by a writer that lies.

use ed25519_dalek::SigningKey;

use super::*;
use crate::chain;
use crate::compression::Codec;
use crate::frame::{SIGNATURE_BYTES, TAG_BYTES, hash_and_crc};
use crate::ids::{ChainHash, Signature};
use crate::sample_ledger::{START, counting_from};

fn closed() -> SampleSegment {
    SampleLedger::new(1).segment(&[40, 50, 60], true)
}

/// The header, then these frames of the segment, then its footer.
fn rearranged(segment: &SampleSegment, frames: &[usize]) -> Vec<u8> {
    let mut bytes = segment.bytes[..segment.frames[0]].to_vec();
    for frame in frames {
        bytes.extend_from_slice(&segment.bytes[segment.frames[*frame]..segment.frames[frame + 1]]);
    }
    bytes.extend_from_slice(&segment.bytes[segment.frames[3]..]);
    bytes
}

#[test]
fn frames_repeated_swapped_or_left_out_are_corrupt() {
    let segment = closed();
    for (frames, at, expected, found) in [
        (&[0, 1, 1, 2][..], 2, 3, 2),
        (&[0, 0, 1, 2], 1, 2, 1),
        (&[1, 0, 2], 0, 1, 2),
        (&[0, 2, 1], 1, 2, 3),
        (&[1, 2], 0, 1, 2),
        (&[0, 2], 1, 2, 3),
    ] {
        let damage = corrupt(&rearranged(&segment, frames), None);
        assert_eq!(damage.kind, DamageKind::FrameNumber { expected, found }, "{frames:?}");
        assert_eq!(damage.first_position.get(), at * 2 + 1, "{frames:?}");
    }
    let damage = corrupt(&rearranged(&segment, &[0, 1]), None);
    assert_eq!(damage.kind, DamageKind::FrameCount { expected: 2, found: 3 });
    let damage = corrupt(&rearranged(&segment, &[]), None);
    assert_eq!(damage.kind, DamageKind::FrameCount { expected: 0, found: 3 });
}

#[test]
fn what_follows_a_footer_is_corrupt() {
    let segment = closed();
    let footer = &segment.bytes[segment.frames[3]..];
    let frame = &segment.bytes[segment.frames[2]..segment.frames[3]];
    let other = &segment.bytes[..];
    for (after, zeros, found) in
        [(&[0, 0, 7][..], 2, 7), (footer, 0, b'B'), (frame, 0, b'B'), (other, 0, b'B')]
    {
        let damage = corrupt(&[&segment.bytes[..], after].concat(), None);
        assert_eq!(damage.kind, DamageKind::AfterFooter { found });
        assert_eq!(damage.offset, segment.bytes.len() as u64 + zeros);
    }
    assert!(matches!(walk(&[&segment.bytes[..], &[0; 999]].concat(), None), (3, WalkEnd::Whole, _)));
}

#[test]
fn a_frame_of_another_ledger_is_corrupt() {
    let (ours, theirs) = (closed(), SampleLedger::new(2).segment(&[40, 50, 60], true));
    assert_eq!(ours.frames, theirs.frames);
    let mut bytes = ours.bytes.clone();
    let second = ours.frames[1]..ours.frames[2];
    bytes[second.clone()].copy_from_slice(&theirs.bytes[second.clone()]);
    let damage = corrupt(&bytes, None);
    assert!(matches!(damage.kind, DamageKind::PreviousHash { .. }), "{damage}");
    assert_eq!(damage.offset, second.start as u64);
}

#[test]
fn a_segment_of_another_place_is_corrupt() {
    let mut ledger = SampleLedger::new(1);
    let segments = [ledger.segment(&[40], true), ledger.segment(&[50], true), ledger.segment(&[60], true)];
    let before_first = SegmentEnd::before_first(ledger.id);
    let after_first = walk(&segments[0].bytes, Some(&before_first)).2.unwrap();
    let number =
        |after, found| DamageKind::SegmentNumber { after: SegmentNumber(after), found: SegmentNumber(found) };
    let other = SampleLedger::new(2).segment(&[40], true);
    for (bytes, expect, kind) in [
        (
            &other.bytes,
            before_first,
            DamageKind::Ledger { expected: LedgerId([1; 16]), found: LedgerId([2; 16]) },
        ),
        (&segments[1].bytes, before_first, number(0, 2)),
        (&segments[0].bytes, after_first, number(1, 1)),
        (&segments[2].bytes, after_first, number(1, 3)),
    ] {
        assert_eq!(corrupt(bytes, Some(&expect)).kind, kind);
    }
}

#[test]
fn a_segment_that_does_not_go_on_from_the_one_before_is_corrupt() {
    let mut ledger = SampleLedger::new(1);
    let first = ledger.segment(&[40], true);
    let second = ledger.segment(&[50], true);
    let end = walk(&first.bytes, None).2.unwrap();
    let (other_hash, other_root) = (ChainHash([9; 32]), TreeHash([9; 32]));
    let position = |number| Position::new(number).unwrap();
    let changes: [(SegmentEnd, DamageKind); 6] = [
        (
            SegmentEnd { generation: Generation(2), ..end },
            DamageKind::Generation { expected: Generation(2), found: Generation(1) },
        ),
        (SegmentEnd { epoch: Epoch(2), ..end }, DamageKind::Epoch { expected: Epoch(2), found: Epoch(1) }),
        (
            SegmentEnd { next_position: position(5), ..end },
            DamageKind::FirstPosition { expected: position(5), found: position(3) },
        ),
        (
            SegmentEnd { tip: ChainTip { hash: other_hash, ..end.tip }, ..end },
            DamageKind::PreviousHash { expected: other_hash, found: end.tip.hash },
        ),
        (
            SegmentEnd { tip: ChainTip { signature: Signature([9; 64]), ..end.tip }, ..end },
            DamageKind::PreviousSignature,
        ),
        (
            SegmentEnd { tree_root: other_root, ..end },
            DamageKind::TreeRoot { expected: other_root, found: end.tree_root },
        ),
    ];
    for (expect, kind) in changes {
        assert_eq!(corrupt(&second.bytes, Some(&expect)).kind, kind);
    }
    let later = SegmentEnd { time: Micros(u64::MAX), ..end };
    assert!(matches!(corrupt(&second.bytes, Some(&later)).kind, DamageKind::Time { .. }));
    assert!(matches!(walk(&second.bytes, Some(&end)), (1, WalkEnd::Whole, _)));
}

/// A writer that holds the segment's own key and can sign what it likes.
struct Forger {
    bytes: Vec<u8>,
    key: SigningKey,
    tip: ChainTip,
}

impl Forger {
    /// Begins a segment of the sample ledger.
    fn new() -> Self {
        let mut ledger = SampleLedger::new(1);
        let mut bytes = Vec::new();
        let sealer = ledger.begin(&mut bytes);
        // The seed is the third thing that sealing asks random bytes for.
        let (mut random, mut seed) = (counting_from(31), [0; 80]);
        random(&mut seed);
        let key = SigningKey::from_bytes(seed[48..].try_into().unwrap());
        Self { bytes, key, tip: *sealer.tip() }
    }

    /// Begins behind a header that was changed after it was certified.
    fn behind(change: impl FnOnce(&mut SegmentHeader)) -> Self {
        let mut liar = Self::new();
        let mut header = SegmentHeader::parse(&liar.bytes).unwrap();
        change(&mut header);
        liar.bytes.clear();
        header.encode(&mut liar.bytes);
        Self { tip: header.tip(), ..liar }
    }

    /// A header that goes on from a frame with this number.
    fn header(&self, number: u64) -> FrameHeader {
        FrameHeader {
            is_padded: false,
            codec: Codec::Stored,
            number,
            first_position: Position::new(number).unwrap(),
            count: 1,
            body_bytes: 8,
            sealed_bytes: 8,
            time: Micros(START.0 + number),
            previous: self.tip.hash,
            tree_size: number,
            tree_root: TreeHash([7; 32]),
            siv: [8; 32],
        }
    }

    fn frame(&mut self, header: &FrameHeader) {
        let mut stored = Vec::new();
        header.encode(&mut stored);
        stored.extend_from_slice(&[5; 8 + TAG_BYTES]);
        let (hash, _) = hash_and_crc(&self.tip, &stored);
        self.tip = chain::sign(&self.key, hash);
        stored.extend_from_slice(&self.tip.signature.0);
        stored.extend_from_slice(&crc32fast::hash(&stored).to_le_bytes());
        self.bytes.extend_from_slice(&stored);
    }

    fn footer(&self) -> SegmentFooter {
        SegmentFooter {
            frames: 2,
            first_position: Position::FIRST,
            last_position: Position::new(2).unwrap(),
            tree_size: 2,
            tree_root: TreeHash([7; 32]),
            first_time: Micros(START.0 + 1),
            last_time: Micros(START.0 + 2),
            previous: self.tip.hash,
            signature: Signature([0; SIGNATURE_BYTES]),
        }
    }

    /// The segment with two frames and this footer, signed.
    fn closed_with(change: impl FnOnce(&mut SegmentFooter)) -> Vec<u8> {
        let mut liar = Self::new();
        liar.frame(&liar.header(1));
        liar.frame(&liar.header(2));
        let mut footer = liar.footer();
        change(&mut footer);
        footer.signature = chain::sign(&liar.key, footer.hash_after(&liar.tip)).signature;
        footer.encode(&mut liar.bytes);
        liar.bytes
    }
}

/// A change that the writer signs, and what the walk says of it.
type ForgedChange<T> = (fn(&mut T), DamageKind);

#[test]
fn a_signed_frame_that_lies_is_corrupt() {
    let lies: [ForgedChange<FrameHeader>; 6] = [
        (|header| header.number = 3, DamageKind::FrameNumber { expected: 2, found: 3 }),
        (
            |header| header.first_position = Position::FIRST,
            DamageKind::FirstPosition { expected: Position::new(2).unwrap(), found: Position::FIRST },
        ),
        (|header| header.tree_size = 3, DamageKind::TreeSize { expected: 2, found: 3 }),
        (|header| header.count = 2, DamageKind::TreeSize { expected: 3, found: 2 }),
        (
            |header| header.time = START,
            DamageKind::Time { what: "a frame time not before", expected: START.0 + 1, found: START.0 },
        ),
        (
            |header| header.previous = ChainHash([1; 32]),
            DamageKind::PreviousHash { expected: ChainHash([0; 32]), found: ChainHash([1; 32]) },
        ),
    ];
    for (lie, mut kind) in lies {
        let mut liar = Forger::new();
        liar.frame(&liar.header(1));
        let mut header = liar.header(2);
        lie(&mut header);
        if let DamageKind::PreviousHash { expected, .. } = &mut kind {
            *expected = liar.tip.hash;
        }
        let offset = liar.bytes.len() as u64;
        liar.frame(&header);
        let damage = corrupt(&liar.bytes, None);
        assert_eq!((damage.offset, damage.kind), (offset, kind));
        assert_eq!(damage.first_position.get(), 2);
    }
}

#[test]
fn a_signed_footer_that_lies_is_corrupt() {
    assert!(matches!(walk(&Forger::closed_with(|_| ()), None), (2, WalkEnd::Whole, _)));
    let position = |number| Position::new(number).unwrap();
    let (right_root, other_root) = (TreeHash([7; 32]), TreeHash([6; 32]));
    let lies: [ForgedChange<SegmentFooter>; 7] = [
        (|footer| footer.frames = 3, DamageKind::FrameCount { expected: 2, found: 3 }),
        (
            |footer| footer.first_position = Position::new(2).unwrap(),
            DamageKind::FirstPosition { expected: position(1), found: position(2) },
        ),
        (
            |footer| footer.last_position = Position::new(3).unwrap(),
            DamageKind::LastPosition { expected: 2, found: position(3) },
        ),
        (|footer| footer.tree_size = 3, DamageKind::TreeSize { expected: 2, found: 3 }),
        (
            |footer| footer.tree_root = TreeHash([6; 32]),
            DamageKind::TreeRoot { expected: right_root, found: other_root },
        ),
        (
            |footer| footer.first_time = START,
            DamageKind::Time { what: "a first time", expected: START.0 + 1, found: START.0 },
        ),
        (
            |footer| footer.last_time = START,
            DamageKind::Time { what: "a last time", expected: START.0 + 2, found: START.0 },
        ),
    ];
    for (lie, kind) in lies {
        assert_eq!(corrupt(&Forger::closed_with(lie), None).kind, kind);
    }
    let damage = corrupt(&Forger::closed_with(|footer| footer.previous = ChainHash([1; 32])), None);
    assert!(matches!(damage.kind, DamageKind::PreviousHash { .. }), "{damage}");
}

#[test]
fn frames_of_another_key_are_found_by_the_last_signature_and_placed_by_every_one() {
    let mut liar = Forger::new();
    liar.frame(&liar.header(1));
    let own = liar.bytes.len() as u64;
    liar.key = SigningKey::from_bytes(&[1; 32]);
    liar.frame(&liar.header(2));
    let last = liar.bytes.len() as u64;
    liar.frame(&liar.header(3));

    let damage = corrupt(&liar.bytes, None);
    assert_eq!((damage.offset, damage.kind), (last, DamageKind::Signature { hash: liar.tip.hash }));
    let (walk, _) = SegmentWalk::start(&liar.bytes, None).unwrap();
    let (frames, WalkEnd::Corrupt(damage), Some(end)) = walk_on(&mut walk.every_signature(true)) else {
        panic!()
    };
    assert_eq!((frames, damage.offset, damage.first_position.get()), (1, own, 2));
    assert_eq!((end.next_position.get(), end.tree_size), (2, 1));
}

#[test]
fn a_footer_of_another_key_is_corrupt() {
    let mut liar = Forger::new();
    liar.frame(&liar.header(1));
    liar.frame(&liar.header(2));
    let mut footer = liar.footer();
    footer.signature = chain::sign(&SigningKey::from_bytes(&[1; 32]), footer.hash_after(&liar.tip)).signature;
    footer.encode(&mut liar.bytes);
    assert!(matches!(corrupt(&liar.bytes, None).kind, DamageKind::Signature { .. }));
}

#[test]
fn a_header_certified_by_another_key_is_corrupt() {
    let segment = closed();
    let mut header = SegmentHeader::parse(&segment.bytes).unwrap();
    header.signing_public = SigningKey::from_bytes(&[1; 32]).verifying_key().to_bytes();
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes.extend_from_slice(&segment.bytes[segment.frames[0]..]);
    assert_eq!(corrupt(&bytes, None).kind, DamageKind::Header(SegmentError::Certificate));
}

#[test]
fn a_header_changed_after_its_certificate_is_corrupt_whatever_is_built_on_it() {
    let other_key = SigningKey::from_bytes(&[1; 32]).verifying_key().to_bytes();
    let honest = |_: &mut SegmentHeader| {};
    let created = |header: &mut SegmentHeader| header.created.0 += 1;
    let key = move |header: &mut SegmentHeader| header.signing_public = other_key;
    let liars = [Forger::behind(honest), Forger::behind(created), Forger::behind(key)];
    for (mut liar, is_certified) in liars.into_iter().zip([true, false, false]) {
        liar.frame(&liar.header(1));
        if is_certified {
            assert!(matches!(walk(&liar.bytes, None), (1, WalkEnd::Whole, _)));
        } else {
            assert_eq!(corrupt(&liar.bytes, None).kind, DamageKind::Header(SegmentError::Certificate));
        }
    }
}

#[test]
fn damage_says_where_what_was_expected_and_what_was_found() {
    let segment = closed();
    let mut bytes = segment.bytes.clone();
    bytes[segment.frames[1] + 160] ^= 1;
    let text = corrupt(&bytes, None).to_string();
    let begin = format!("byte {}, positions 3 to 4: found frame checksum ", segment.frames[1]);
    let rest = text.strip_prefix(&begin).unwrap();
    assert!(rest.len() == "01234567, expected 01234567".len() && rest.contains(", expected "), "{text}");
    let text = corrupt(&rearranged(&segment, &[0, 2]), None).to_string();
    assert_eq!(
        text,
        format!("byte {}, positions 3 to 6: found frame number 3, expected 2", segment.frames[1])
    );
    let text = corrupt(&rearranged(&segment, &[0, 0]), None).to_string();
    assert_eq!(
        text,
        format!("byte {}, positions from 3: found frame number 1, expected 2", segment.frames[1])
    );
}

use super::*;
use crate::compression::{Codec, Decompressor};
use crate::footer::SegmentFooter;
use crate::frame::{FRAME_HEADER_BYTES, FrameHeader, StoredFrame};
use crate::ids::Commitment;
use crate::opener::FrameOpener;
use crate::sample_ledger::counting_from;
use crate::sealer::FramePlan;
use crate::tree::leaf_hash;
use crate::walk::{SegmentWalk, Step};
use bitacora_testkit::hex_block;

const SEGMENT_DOCUMENT: &str = include_str!("../../../docs/formats/segment.md");
const FRAME_DOCUMENT: &str = include_str!("../../../docs/formats/frame.md");
const FOOTER_DOCUMENT: &str = include_str!("../../../docs/formats/footer.md");
const BODY: &[u8] = b"a body, here only a text";

/// The segment of the documents, sealed from the secrets that they name: header, frame and footer.
fn documented_segment() -> (Keyring, [Vec<u8>; 3]) {
    let keyring = Keyring::generate(&mut counting_from(0x00));
    let created = Micros(1_800_000_000_000_000);
    let mut frontier = Frontier::new();
    push(&mut frontier, created, &[0x11, 0x22]);
    let plan = SegmentPlan {
        ledger: LedgerId([0x5e; 16]),
        generation: Generation(1),
        epoch: Epoch(4),
        number: SegmentNumber(2),
        first_position: Position::new(3).unwrap(),
        created,
        frontier: &frontier,
        tip: ChainTip { hash: ChainHash([0xaa; 32]), signature: Signature([0xbb; 64]) },
    };
    let [mut header, mut frame, mut footer] = [const { Vec::new() }; 3];
    let mut sealer = seal_segment_header(plan, &keyring, &mut counting_from(0x80), &mut header).unwrap();
    let time = Micros(created.0 + 1);
    push(&mut frontier, time, &[0x33, 0x44]);
    let plan = FramePlan {
        first: Position::new(3).unwrap(),
        count: 2,
        time,
        tree_size: frontier.size(),
        tree_root: frontier.root(),
    };
    let body_bytes = u32::try_from(BODY.len()).unwrap();
    sealer.seal(plan, Codec::Stored, BODY, body_bytes, &mut frame).unwrap();
    sealer.footer(&mut footer).unwrap();
    (keyring, [header, frame, footer])
}

fn push(frontier: &mut Frontier, time: Micros, commitments: &[u8]) {
    for commitment in commitments {
        let position = Position::new(frontier.size() + 1).unwrap();
        frontier.push(leaf_hash(position, time, &Commitment([*commitment; 32])));
    }
}

#[test]
fn the_worked_examples_are_what_their_secrets_seal() {
    let (_, [header, frame, footer]) = documented_segment();
    assert_eq!(hex::encode(header), hex::encode(hex_block(SEGMENT_DOCUMENT, 0)));
    assert_eq!(hex::encode(frame), hex::encode(hex_block(FRAME_DOCUMENT, 0)));
    assert_eq!(hex::encode(footer), hex::encode(hex_block(FOOTER_DOCUMENT, 0)));
}

#[test]
fn the_worked_header_decodes_and_encodes_again() {
    let bytes = hex_block(SEGMENT_DOCUMENT, 0);
    let header = SegmentHeader::parse(&bytes).unwrap();
    assert_eq!(header.ledger, LedgerId([0x5e; 16]));
    assert_eq!((header.generation, header.epoch, header.number), (Generation(1), Epoch(4), SegmentNumber(2)));
    assert_eq!((header.signing_key_index, header.first_position.get()), (1, 3));
    assert_eq!((header.created.0, header.frontier.size()), (1_800_000_000_000_000, 2));
    assert_eq!((header.kek, header.wrap_salt[15]), (KekId([0, 1, 2, 3, 4, 5, 6, 7]), 0xaf));
    assert_eq!(header.previous, ChainTip { hash: ChainHash([0xaa; 32]), signature: Signature([0xbb; 64]) });
    assert_eq!(header.tip().hash.0[..], hex_block(SEGMENT_DOCUMENT, 1));
    header.verify_certificate().unwrap();

    let (keyring, _) = documented_segment();
    let key = header.unwrap_key(&keyring).unwrap();
    assert_eq!((key.expose()[0], key.expose()[31]), (0x80, 0x9f));
    let mut again = Vec::new();
    header.encode(&mut again);
    assert_eq!(again, bytes);
}

#[test]
fn the_worked_frame_decodes_opens_and_encodes_again() {
    let bytes = hex_block(FRAME_DOCUMENT, 0);
    let stored = StoredFrame::parse(&bytes).unwrap();
    let header = stored.header();
    assert_eq!((header.codec, header.number, header.count), (Codec::Stored, 1, 2));
    assert_eq!((header.first_position.get(), header.last_position().get()), (3, 4));
    assert_eq!((header.body_bytes, header.sealed_bytes, header.stored_bytes()), (24, 24, bytes.len()));
    assert_eq!((header.time.0, header.tree_size), (1_800_000_000_000_001, 4));

    let (keyring, [segment, ..]) = documented_segment();
    let segment = SegmentHeader::parse(&segment).unwrap();
    assert_eq!(header.previous, segment.tip().hash);
    let tip = stored.link(&segment.tip()).unwrap();
    assert_eq!(tip.hash.0[..], hex_block(FRAME_DOCUMENT, 1));
    assert!(tip.is_signed_by(&segment.ephemeral_public));
    let opener = FrameOpener::new(&segment.unwrap_key(&keyring).unwrap());
    assert_eq!(opener.open_body(&stored, &mut Decompressor::new().unwrap()).unwrap(), BODY);

    let mut again = Vec::new();
    FrameHeader::parse(&bytes).unwrap().encode(&mut again);
    assert_eq!(again, bytes[..FRAME_HEADER_BYTES]);
}

#[test]
fn the_worked_footer_decodes_and_encodes_again() {
    let bytes = hex_block(FOOTER_DOCUMENT, 0);
    let footer = SegmentFooter::parse(&bytes).unwrap();
    assert_eq!((footer.frames, footer.first_position.get(), footer.last_position.get()), (1, 3, 4));
    assert_eq!((footer.first_time.0, footer.last_time.0), (1_800_000_000_000_001, 1_800_000_000_000_001));
    assert_eq!((footer.tree_size, &footer.previous.0[..]), (4, &hex_block(FRAME_DOCUMENT, 1)[..]));
    let mut again = Vec::new();
    footer.encode(&mut again);
    assert_eq!(again, bytes);
}

#[test]
fn the_worked_segment_walks() {
    let blocks = [SEGMENT_DOCUMENT, FRAME_DOCUMENT, FOOTER_DOCUMENT].map(|document| hex_block(document, 0));
    let bytes = blocks.concat();
    let (mut walk, _) = SegmentWalk::start(&bytes, None).unwrap();
    assert!(matches!(walk.next_step(), Step::Frame(frame) if frame.offset == 440));
    assert!(matches!(walk.next_step(), Step::Footer(_)));
    assert!(matches!(walk.next_step(), Step::End));
    assert_eq!(walk.end().tip.hash.0[..], hex_block(FOOTER_DOCUMENT, 1));
}

/// The worked header with a change, its checksum made right again.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = hex_block(SEGMENT_DOCUMENT, 0);
    change(&mut bytes);
    let crc_at = bytes.len() - CRC_BYTES;
    let crc = crc32fast::hash(&bytes[..crc_at]);
    bytes[crc_at..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let refused = |change: fn(&mut Vec<u8>)| SegmentHeader::parse(&changed(change)).unwrap_err();
    let contradiction = |field, expected, found| SegmentError::Contradiction { field, expected, found };
    let other_magic = SegmentError::Magic { found: *b"BITACSEH" };
    assert_eq!(refused(|bytes| bytes[7] = b'H'), other_magic);
    assert_eq!(refused(|bytes| bytes[8] = 2), SegmentError::Format { found: 2 });
    assert_eq!(refused(|bytes| bytes[10] = 1), contradiction("segment flags", 0, 1));
    assert_eq!(refused(|bytes| bytes[48] = 4), contradiction("first position", 3, 4));
    assert_eq!(refused(|bytes| bytes[48] = 0), contradiction("first position", 3, 0));
    assert_eq!(refused(|bytes| bytes[336] = 2), contradiction("frontier count", 1, 2));
    let sized_for_two_peaks: fn(&mut Vec<u8>) = |bytes| (bytes[48], bytes[64]) = (4, 3);
    assert_eq!(refused(sized_for_two_peaks), contradiction("frontier count", 2, 1));
    let two_peaks_in_room_of_one: fn(&mut Vec<u8>) = |bytes| (bytes[48], bytes[64], bytes[336]) = (4, 3, 2);
    assert_eq!(refused(two_peaks_in_room_of_one), contradiction("header bytes", 472, 440));
}

#[test]
fn a_lying_header_length_is_refused_before_it_is_used() {
    for found in [0, 407, 2_457, u32::MAX] {
        let bytes = changed(|bytes| bytes[12..16].copy_from_slice(&found.to_le_bytes()));
        assert_eq!(SegmentHeader::parse(&bytes), Err(SegmentError::HeaderBytes { found }));
    }
    let longer = changed(|bytes| bytes[12..16].copy_from_slice(&441_u32.to_le_bytes()));
    assert_eq!(SegmentHeader::parse(&longer), Err(SegmentError::Truncated { needed: 441, found: 440 }));
}

#[test]
fn a_header_cut_anywhere_is_refused() {
    let bytes = hex_block(SEGMENT_DOCUMENT, 0);
    for length in 0..bytes.len() {
        let refused = SegmentHeader::parse(&bytes[..length]).unwrap_err();
        assert!(
            matches!(refused, SegmentError::Truncated { found, .. } if found == length as u64),
            "{refused}"
        );
    }
}

#[test]
fn a_certificate_covers_every_byte_before_it() {
    let certified = hex_block(SEGMENT_DOCUMENT, 0).len() - CRC_BYTES - SIGNATURE_BYTES;
    for offset in 0..certified {
        let bytes = changed(|bytes| bytes[offset] ^= 0x20);
        let refused = SegmentHeader::parse(&bytes).and_then(|header| header.verify_certificate());
        assert!(refused.is_err(), "byte {offset}");
    }
}

#[test]
fn another_ledgers_keyring_does_not_open_the_segment() {
    let header = SegmentHeader::parse(&hex_block(SEGMENT_DOCUMENT, 0)).unwrap();
    let id = header.kek;
    let stranger = Keyring::generate(&mut counting_from(0x55));
    assert_eq!(header.unwrap_key(&stranger), Err(SegmentError::KeyMissing { id }));

    // The same id, but another key behind it.
    let mut first = true;
    let mut next = counting_from(0x00);
    let same_id = Keyring::generate(&mut |bytes: &mut [u8]| {
        next(bytes);
        if !std::mem::take(&mut first) {
            bytes[0] ^= 1;
        }
    });
    assert_eq!(header.unwrap_key(&same_id), Err(SegmentError::WrongKey { id }));
}

#[test]
fn a_wrapped_key_is_bound_to_its_header() {
    let (keyring, _) = documented_segment();
    let header = SegmentHeader::parse(&hex_block(SEGMENT_DOCUMENT, 0)).unwrap();
    let moved: [fn(&mut SegmentHeader); 6] = [
        |header| header.ledger.0[0] ^= 1,
        |header| header.generation.0 += 1,
        |header| header.epoch.0 += 1,
        |header| header.number.0 += 1,
        |header| header.wrap_salt[0] ^= 1,
        |header| header.created.0 += 1,
    ];
    let wrong_key = Err(SegmentError::WrongKey { id: header.kek });
    for (index, change) in moved.into_iter().enumerate() {
        let mut moved = header.clone();
        change(&mut moved);
        assert_eq!(moved.unwrap_key(&keyring), wrong_key, "change {index}");
    }
    let other_commitment = SegmentHeader { key_commitment: [1; 32], ..header };
    assert_eq!(other_commitment.unwrap_key(&keyring), wrong_key);
}

#[test]
fn a_plan_that_does_not_follow_its_tree_is_refused() {
    let keyring = Keyring::generate(&mut counting_from(0x00));
    let plan = SegmentPlan {
        ledger: LedgerId([1; 16]),
        generation: Generation::FIRST,
        epoch: Epoch::FIRST,
        number: SegmentNumber::FIRST,
        first_position: Position::new(2).unwrap(),
        created: Micros(1),
        frontier: &Frontier::new(),
        tip: chain::genesis_tip(),
    };
    let mut out = Vec::new();
    let refused = seal_segment_header(plan, &keyring, &mut counting_from(0x00), &mut out).err();
    assert_eq!(refused, Some(SegmentError::Contradiction { field: "tree size", expected: 1, found: 0 }));
    assert!(out.is_empty());
}

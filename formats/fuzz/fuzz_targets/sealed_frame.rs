//! Any bytes sealed in a frame, under any codec and length, come out of it again or are refused before.
//!
//! The bytes that a frame declares as a compressed body are opened or give a typed error.
//!
//! An input is the codec's number, the announced length (`u32`, little-endian) and the compressed bytes.
#![no_main]

use std::sync::LazyLock;

use bitacora_formats::{
    Codec, Decompressor, Epoch, FrameOpenError, FrameOpener, FramePlan, FrameSealer, Frontier, Generation,
    Keyring, LedgerId, Micros, Position, SealError, SegmentNumber, SegmentPlan, StoredFrame, TreeHash,
    genesis_tip, seal_segment_header,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

static KEYRING: LazyLock<Keyring> = LazyLock::new(|| Keyring::generate(&mut |bytes| bytes.fill(1)));

const PLAN: FramePlan = FramePlan {
    first: Position::FIRST,
    count: 1,
    time: Micros(1),
    tree_size: 1,
    tree_root: TreeHash([0; 32]),
};

fuzz_target!(|bytes: &[u8]| {
    let Some(([number, announced @ ..], compressed)) = bytes.split_first_chunk::<5>() else { return };
    let Some(codec) = Codec::from_number(*number) else { return };
    let body_bytes = u32::from_le_bytes(*announced);
    let mut sealer = sealer();
    let (before, mut stored) = (*sealer.tip(), Vec::new());
    let tip = match sealer.seal(PLAN, codec, compressed, body_bytes, &mut stored) {
        Err(error @ SealError::Frame(_)) => {
            assert!(stored.is_empty() && *sealer.tip() == before);
            return assert_one_line(&error);
        }
        sealed => sealed.unwrap(),
    };
    let frame = StoredFrame::parse(&stored).unwrap();
    assert_eq!((frame.bytes(), frame.link(&before)), (stored.as_slice(), Ok(tip)));

    let opener = FrameOpener::new(sealer.segment_key());
    assert_eq!(opener.open(&frame).as_deref(), Ok(compressed));
    let mut decompressor = Decompressor::new().unwrap();
    match opener.open_body(&frame, &mut decompressor) {
        Ok(body) => assert_eq!(body.len(), usize::try_from(body_bytes).unwrap()),
        Err(error @ FrameOpenError::Compression(_)) => assert_one_line(&error),
        Err(error) => panic!("{error}"),
    }
});

fn sealer() -> FrameSealer {
    let plan = SegmentPlan {
        ledger: LedgerId([3; 16]),
        generation: Generation::FIRST,
        epoch: Epoch::FIRST,
        number: SegmentNumber::FIRST,
        first_position: Position::FIRST,
        created: Micros(0),
        frontier: &Frontier::new(),
        tip: genesis_tip(),
    };
    seal_segment_header(plan, &KEYRING, &mut |bytes| bytes.fill(2), &mut Vec::new()).unwrap()
}

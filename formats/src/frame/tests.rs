use super::*;
use crate::chain::genesis_tip;
use bitacora_testkit::hex_block;

/// The worked frame with a change in its header.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> FrameError {
    let mut bytes = hex_block(include_str!("../../../docs/formats/frame.md"), 0);
    change(&mut bytes);
    StoredFrame::parse(&bytes).unwrap_err()
}

fn set_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

fn out_of_range(field: &'static str, min: u64, max: u64, found: u64) -> FrameError {
    FrameError::OutOfRange { field, min, max, found }
}

#[test]
fn a_header_outside_of_its_limits_is_refused() {
    assert_eq!(refused(|bytes| bytes[3] = b'G'), FrameError::Magic { found: *b"BITG" });
    assert_eq!(refused(|bytes| bytes[4] = 0), FrameError::Format { found: 0 });
    assert_eq!(refused(|bytes| bytes[5] = 1), FrameError::Format { found: 257 });
    assert_eq!(refused(|bytes| bytes[6] = 3), FrameError::Codec { found: 3 });
    assert_eq!(refused(|bytes| bytes[7] = 2), out_of_range("flags", 0, 1, 2));
    let padded = |bytes: u64| out_of_range("bytes of a padded frame", 1024, 16_384, bytes);
    assert_eq!(refused(|bytes| bytes[7] = 1), padded(24));
    let long = |bytes: &mut Vec<u8>| {
        (bytes[7], bytes[6]) = (1, 1);
        (28..36).step_by(4).for_each(|at| set_u32(bytes, at, 1024));
    };
    assert_eq!(refused(long), out_of_range("codec of a padded frame", 0, 0, 1));
    assert_eq!(refused(|bytes| bytes[8] = 0), out_of_range("frame number", 1, u64::MAX, 0));
    assert_eq!(refused(|bytes| bytes[16] = 0), out_of_range("first position", 1, u64::MAX, 0));
    assert_eq!(refused(|bytes| bytes[24] = 0), out_of_range("count", 1, 65_536, 0));
    assert_eq!(refused(|bytes| set_u32(bytes, 24, 65_537)), out_of_range("count", 1, 65_536, 65_537));
    assert_eq!(refused(|bytes| bytes[36] = 1), out_of_range("reserved", 0, 0, 1));
    assert_eq!(refused(|bytes| bytes[80] = 1), out_of_range("tree size", 2, u64::MAX, 1));
}

#[test]
fn a_frame_that_reaches_the_last_position_is_refused() {
    let refused = refused(|bytes| bytes[16..24].copy_from_slice(&(u64::MAX - 1).to_le_bytes()));
    assert_eq!(refused, out_of_range("first position", 1, u64::MAX - 2, u64::MAX - 1));
}

#[test]
fn lying_lengths_are_refused_before_they_are_used() {
    let most_bytes = MAX_FRAME_BODY_BYTES as u64;
    assert_eq!(refused(|bytes| set_u32(bytes, 28, 0)), out_of_range("body bytes", 1, most_bytes, 0));
    let over = u32::try_from(MAX_FRAME_BODY_BYTES).unwrap() + 1;
    assert_eq!(
        refused(|bytes| set_u32(bytes, 28, over)),
        out_of_range("body bytes", 1, most_bytes, over.into())
    );
    assert_eq!(
        refused(|bytes| set_u32(bytes, 28, u32::MAX)),
        out_of_range("body bytes", 1, most_bytes, u32::MAX.into())
    );
    // Stored as it is, the body is as long as its ciphertext.
    assert_eq!(refused(|bytes| bytes[32] = 23), out_of_range("sealed bytes", 24, 24, 23));
    assert_eq!(refused(|bytes| bytes[32] = 25), out_of_range("sealed bytes", 24, 24, 25));
    // Compressed, it is never shorter.
    let zstd = |value| move |bytes: &mut Vec<u8>| (bytes[6], bytes[32]) = (1, value);
    assert_eq!(refused(zstd(0)), out_of_range("sealed bytes", 1, 24, 0));
    assert_eq!(refused(zstd(25)), out_of_range("sealed bytes", 1, 24, 25));
    let longer = |bytes: &mut Vec<u8>| (bytes[28], bytes[32]) = (25, 25);
    assert_eq!(refused(longer), FrameError::Truncated { needed: 261, found: 260 });
}

#[test]
fn a_frame_cut_anywhere_is_refused() {
    let bytes = hex_block(include_str!("../../../docs/formats/frame.md"), 0);
    for length in 0..bytes.len() {
        let needed = if length < FRAME_HEADER_BYTES { FRAME_HEADER_BYTES } else { bytes.len() };
        let expected = FrameError::Truncated { needed: needed as u64, found: length as u64 };
        assert_eq!(StoredFrame::parse(&bytes[..length]).unwrap_err(), expected);
    }
}

#[test]
fn every_byte_after_the_header_is_under_the_checksum() {
    let bytes = hex_block(include_str!("../../../docs/formats/frame.md"), 0);
    for offset in FRAME_HEADER_BYTES..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[offset] ^= 0x40;
        let stored = StoredFrame::parse(&bytes).unwrap();
        assert!(matches!(stored.link(&genesis_tip()), Err(FrameError::Crc { .. })), "byte {offset}");
    }
}

#[test]
fn a_frame_hashes_the_same_in_pieces_as_at_once() {
    let before = ChainTip { hash: ChainHash([1; 32]), signature: Signature([2; 64]) };
    for bytes in [0, 1, 65_439, 65_440, 65_441, 131_072, 300_001] {
        let linked: Vec<u8> = (0..bytes).map(|at: usize| (at / 251).to_le_bytes()[0]).collect();
        let (hash, crc) = hash_and_crc(&before, &linked);
        let all = [&before.hash.0[..], &before.signature.0, &linked].concat();
        assert_eq!(hash.0, blake3::derive_key("bitacora v1 frame chain", &all), "{bytes} bytes");
        assert_eq!(crc.finalize(), crc32fast::hash(&linked), "{bytes} bytes");
    }
}

#[test]
fn the_checksum_is_crc_32_of_ieee() {
    // The check value of the catalogue of parametrised CRC algorithms, "CRC-32/ISO-HDLC".
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}

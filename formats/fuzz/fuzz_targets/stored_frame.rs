//! Any bytes begin with a stored frame or give a typed error.
//!
//! A frame has one encoding, and nothing that was not sealed opens.
#![no_main]

use bitacora_formats::limits::MAX_FRAME_BYTES;
use bitacora_formats::{
    Decompressor, FrameHeader, FrameOpenError, FrameOpener, Secret, StoredFrame, genesis_tip,
};
use bitacora_formats_fuzz::{assert_one_line, mend};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    mend::frame(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = FrameHeader::parse(bytes) {
        assert!(StoredFrame::parse(bytes).is_err());
        return assert_one_line(&error);
    }
    let stored = match StoredFrame::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(stored) => stored,
    };
    let header = stored.header();
    assert_eq!(FrameHeader::parse(bytes).as_ref(), Ok(header));
    assert!(header.stored_bytes() <= MAX_FRAME_BYTES && header.last_position().next().is_some());
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    assert!(bytes.starts_with(&encoded));
    // The bytes after the header are not decoded here but borrowed.
    assert_eq!(stored.bytes(), &bytes[..header.stored_bytes()]);

    let (covered, checksum) = stored.bytes().split_last_chunk().unwrap();
    let intact = crc32fast::hash(covered) == u32::from_le_bytes(*checksum);
    assert_eq!(stored.link(&genesis_tip()).is_ok(), intact);

    let never_used = FrameOpener::new(&Secret::take(&mut [0xEE; 32]));
    let opened = never_used.open_body(&stored, &mut Decompressor::new().unwrap());
    assert_eq!(opened, Err(FrameOpenError::NotAuthentic));
});

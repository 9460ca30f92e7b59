//! Any bytes are no state snapshot and give a typed error; a header has one encoding.
//!
//! A sealed snapshot opens to the same bytes. With one byte changed it does not open.
#![no_main]

use bitacora_formats::{
    Compressor, Decompressor, STATE_SNAPSHOT_HEADER_BYTES, StateSnapshotHeader, open_state, seal_state,
};
use bitacora_formats_fuzz::{assert_one_line, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut decompressor = Decompressor::new().expect("zstd finds memory");
    let error = open_state(&sealed::key(), bytes, &mut decompressor).expect_err("nobody sealed these bytes");
    assert_one_line(&error);
    let Ok(header) = StateSnapshotHeader::parse(bytes) else { return };
    assert_eq!(header.encode(), bytes[..STATE_SNAPSHOT_HEADER_BYTES]);
    let state = &bytes[STATE_SNAPSHOT_HEADER_BYTES..];
    let header = StateSnapshotHeader { state_bytes: state.len() as u64, ..header };
    let mut compressor = Compressor::new(1).expect("zstd finds memory");
    let mut stored = seal_state(&sealed::key(), &header, state, &mut compressor).expect("it is small");
    let opened = open_state(&sealed::key(), &stored, &mut decompressor);
    assert_eq!(opened, Ok((header, state.to_vec())));
    let changed = state.first().map_or(0, |byte| usize::from(*byte)) % stored.len();
    stored[changed] ^= 1;
    assert!(open_state(&sealed::key(), &stored, &mut decompressor).is_err());
});

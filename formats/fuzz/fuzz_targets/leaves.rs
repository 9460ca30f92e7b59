//! Any bytes begin with the header of leaves or of a level, or give a typed error.
//!
//! Each header has one encoding, and so has each entry behind it.
#![no_main]

use bitacora_formats::{
    LEAF_ENTRY_BYTES, LEAVES_HEADER_BYTES, LEVELS_HEADER_BYTES, LeafEntry, LeavesHeader, LevelsHeader,
    TREE_HASH_BYTES,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match LeavesHeader::parse(bytes) {
        Err(error) => assert_one_line(&error),
        Ok(header) => {
            assert_eq!(header.encode(), bytes[..LEAVES_HEADER_BYTES]);
            assert_eq!(header.offset_of(header.first_position), Some(LEAVES_HEADER_BYTES as u64));
            let entries = &bytes[LEAVES_HEADER_BYTES..];
            let mut encoded = Vec::new();
            LeafEntry::all(entries).for_each(|entry| entry.encode(&mut encoded));
            assert_eq!(encoded, entries[..entries.len() - entries.len() % LEAF_ENTRY_BYTES]);
            let whole = LeavesHeader::entries_in(bytes.len() as u64);
            assert_eq!(LeafEntry::all(entries).len() as u64, whole);
        }
    }
    match LevelsHeader::parse(bytes) {
        Err(error) => assert_one_line(&error),
        Ok(header) => {
            assert_eq!(header.encode(), bytes[..LEVELS_HEADER_BYTES]);
            let hashes = &bytes[LEVELS_HEADER_BYTES..];
            assert_eq!(LevelsHeader::hashes(hashes).len(), hashes.len() / TREE_HASH_BYTES);
        }
    }
});

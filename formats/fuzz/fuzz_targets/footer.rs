//! Any bytes begin with a footer or give a typed error, and a footer has one encoding.
#![no_main]

use bitacora_formats::{FOOTER_BYTES, SegmentFooter, genesis_tip};
use bitacora_formats_fuzz::{assert_one_line, mend};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    mend::footer(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| match SegmentFooter::parse(bytes) {
    Err(error) => assert_one_line(&error),
    Ok(footer) => {
        let mut encoded = Vec::new();
        footer.encode(&mut encoded);
        assert_eq!(encoded, bytes[..FOOTER_BYTES]);
        let _ = footer.hash_after(&genesis_tip());
    }
});

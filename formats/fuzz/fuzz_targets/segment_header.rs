//! Any bytes begin with a segment's header or give a typed error, and a header has one encoding.
#![no_main]

use std::sync::LazyLock;

use bitacora_formats::{Keyring, SegmentError, SegmentHeader};
use bitacora_formats_fuzz::{assert_one_line, mend};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// A keyring that has wrapped nothing.
static STRANGE: LazyLock<Keyring> = LazyLock::new(|| Keyring::generate(&mut |bytes| bytes.fill(0xEE)));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    mend::segment_header(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| {
    let mut header = match SegmentHeader::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    assert_eq!(encoded, bytes[..header.stored_bytes()]);
    // The next steps of a reader are total too, for any values of the fields.
    let _ = (header.tip(), header.frontier.root(), header.verify_certificate());
    // A mutation finds the id of a key that is there, too; but never bytes that it opens.
    let known = STRANGE.active_kek().0;
    for kek in [header.kek, known] {
        header.kek = kek;
        let expected = if kek == known {
            SegmentError::WrongKey { id: kek }
        } else {
            SegmentError::KeyMissing { id: kek }
        };
        assert_eq!(header.unwrap_key(&STRANGE), Err(expected));
    }
});

//! Any bytes, under any codec and announced length, are a compressed body or a typed error.
//!
//! A body never has another length than announced, and no more memory than that is ever reserved. A body has many
//! compressed forms; the one that is written opens again.
//!
//! An input is the codec's number, the announced length (`u32`, little-endian) and the compressed bytes.
#![no_main]

use std::cell::RefCell;

use bitacora_formats::{Codec, CompressionError, Compressor, Decompressor};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

/// Longer bodies are not compressed again: it would take most of the time.
const MAX_AGAIN_BYTES: usize = 64 * 1024;

thread_local! {
    /// In use from run to run, as for all frames of a ledger.
    static WORKING: RefCell<(Compressor, Decompressor)> =
        RefCell::new((Compressor::new(1).unwrap(), Decompressor::new().unwrap()));
}

fuzz_target!(|bytes: &[u8]| {
    let Some(([number, announced @ ..], compressed)) = bytes.split_first_chunk::<5>() else { return };
    let Some(codec) = Codec::from_number(*number) else { return };
    assert_eq!(codec.number(), *number);
    let body_bytes = usize::try_from(u32::from_le_bytes(*announced)).unwrap();
    WORKING.with_borrow_mut(|(compressor, decompressor)| {
        let found = decompressor.decompress(codec, compressed, body_bytes);
        let fresh = Decompressor::new().unwrap().decompress(codec, compressed, body_bytes);
        assert!(found == fresh, "what was decompressed before has an effect");
        match found {
            Err(error) => assert_one_line(&error),
            Ok(body) => {
                assert_eq!((body.len(), body.capacity()), (body_bytes, body_bytes));
                if body_bytes <= MAX_AGAIN_BYTES {
                    assert_eq!(again(&body, compressor, decompressor), Ok(body));
                }
            }
        }
    });
});

fn again(
    body: &[u8],
    compressor: &mut Compressor,
    decompressor: &mut Decompressor,
) -> Result<Vec<u8>, CompressionError> {
    let (codec, compressed) = compressor.compress(body);
    decompressor.decompress(codec, compressed, body.len())
}

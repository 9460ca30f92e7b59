//! Any bytes are a sensitive part or a typed error.
//!
//! As in a record, only integers have longer forms that are read. Any bytes can be sealed, and nothing that was not sealed opens.
#![no_main]

use bitacora_formats::{
    LedgerId, PART_TAG_BYTES, PartError, RecordError, Secret, decode_part, encode_part, open_part, seal_part,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

const LEDGER: LedgerId = LedgerId([9; 16]);

fuzz_target!(|bytes: &[u8]| {
    match decode_part(bytes) {
        Err(error) => assert_one_line(&error),
        Ok(part) => {
            let encoded = encode_part(&part).unwrap();
            if encoded != bytes {
                assert!(encoded.len() < bytes.len());
                assert_eq!(decode_part(&encoded).as_ref(), Ok(&part));
            }
            let longer = [bytes, &[0]].concat();
            assert_eq!(decode_part(&longer), Err(RecordError::Trailing { bytes: 1 }));
        }
    }
    let key = Secret::take(&mut [7; 32]);
    let (seal, sealed) = seal_part(&key, LEDGER, bytes).unwrap();
    assert_eq!(sealed.len(), bytes.len() + PART_TAG_BYTES);
    assert_eq!(open_part(&key, LEDGER, &seal, &sealed).unwrap().as_slice(), bytes);

    let refused = open_part(&key, LEDGER, &seal, bytes).unwrap_err();
    assert!(matches!(refused, PartError::NotAuthentic | PartError::Truncated { .. }));
});

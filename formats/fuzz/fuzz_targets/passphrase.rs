//! Any bytes have a header or a typed error; what opens is sealed to the same bytes. Only the least cost is derived.
#![no_main]

use bitacora_formats::{PassphraseHeader, ScryptCost};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

const PASSPHRASE: &str = "fuzz";

fuzz_target!(|bytes: &[u8]| {
    let header = match PassphraseHeader::decode(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    assert!(PassphraseHeader::is_at(bytes));
    assert!(bytes.starts_with(&header.encode()));
    if header.cost() != ScryptCost::MIN {
        return;
    }
    match PassphraseHeader::open(bytes, PASSPHRASE) {
        Err(error) => assert_one_line(&error),
        Ok(text) => assert_eq!(header.seal(&text, PASSPHRASE).as_deref(), Ok(bytes)),
    }
});

//! Any text is a note of signing keys or a typed error, and a chain of keys has one note.
#![no_main]

use bitacora_formats::parse_signing_chain;
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|note: &str| {
    match parse_signing_chain(note) {
        Err(error) => assert_one_line(&error),
        Ok(chain) => {
            assert_eq!(chain.to_note(), note);
            assert_eq!(chain.key(chain.active_index()), Some(chain.active()));
            assert!(chain.key(1).is_some());
            for index in [0, chain.active_index() + 1, u32::MAX] {
                assert_eq!(chain.key(index), None);
            }
        }
    }
});

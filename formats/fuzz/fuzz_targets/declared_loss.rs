//! Any bytes are a declared loss or a typed error; a loss written again reads the same.
#![no_main]

use bitacora_formats::LossDeclaration;
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match LossDeclaration::parse(bytes) {
    Err(error) => assert_one_line(&error),
    Ok(declared) => {
        assert_eq!(LossDeclaration::parse(declared.to_json().as_bytes()), Ok(declared));
    }
});

//! Any text is a keyring or a typed error, and a keyring has one text.
#![no_main]

use bitacora_formats::{Keyring, parse_signing_chain};
use bitacora_formats_fuzz::{assert_one_line, mend};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    mend::keyring(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| {
    let is_age_file = Keyring::is_age_file(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Keyring::parse(text) {
        Err(error) => assert_one_line(&error),
        Ok(keyring) => {
            assert!(!is_age_file);
            assert_eq!(keyring.to_text().as_str(), text);
            let chain = parse_signing_chain(&keyring.signing_chain_note());
            assert_eq!(chain.as_ref(), Ok(keyring.signing_chain()));
            rotate(keyring);
        }
    }
});

/// Checks that any keyring that was read can be rotated, and that the rotated keyring is read back too.
fn rotate(mut keyring: Keyring) {
    let mut next = 0_u8;
    let mut counting = |bytes: &mut [u8]| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    };
    // The limit on keys, or an id that is taken: then nothing has changed.
    let _ = keyring.rotate_encryption(&mut counting);
    let _ = keyring.rotate_signing(&mut counting);
    let text = keyring.to_text();
    let again = Keyring::parse(&text).map(|keyring| keyring.to_text());
    assert_eq!(again.as_ref(), Ok(&text));
}

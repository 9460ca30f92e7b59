//! Any text is a tree head or a typed error, and a head agrees with its first lines.
//!
//! One that verifies is the text that was signed, line for line. Signed again it is the same head.
#![no_main]

use bitacora_formats::UnverifiedTreeHead;
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{KEYRING, note};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    note(data, size, seed)
});

fuzz_target!(|text: &str| {
    let unverified = match UnverifiedTreeHead::parse(text) {
        Err(error) => return assert_one_line(&error),
        Ok(head) => head,
    };
    let origin = unverified.origin().clone();
    assert_eq!(origin.to_string().parse(), Ok(origin.clone()));
    let (signed_text, _) = text.rsplit_once("\n\n").unwrap();
    let lines: Vec<&str> = signed_text.split('\n').collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[..2], [origin.to_string(), unverified.size().to_string()]);
    assert!(unverified.clone().verify(&[]).is_err());

    let chain = KEYRING.signing_chain();
    match unverified.verify_with_chain(chain) {
        Err(error) => assert_one_line(&error),
        Ok(signed) => {
            assert_eq!(signed.head().text(), format!("{signed_text}\n"));
            assert_eq!(signed.head().origin, origin);
            assert_eq!(signed.note().to_string(), text);
            let number = signed.signing_key(chain).unwrap();
            assert!(chain.key(number).is_some());
            let again = signed.head().sign(&KEYRING);
            let again = UnverifiedTreeHead::parse(&again).unwrap().verify_with_chain(chain).unwrap();
            assert_eq!((again.head(), again.signing_key(chain)), (signed.head(), Some(2)));
        }
    }
});

//! Any text is a receipt or a typed error.
//!
//! A receipt that verifies has one text, proves its own event and nothing else, and holds under no other key.
#![no_main]

use bitacora_formats::{InclusionReceipt, Position, UnverifiedReceipt, UnverifiedTreeHead, verify_inclusion};
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{self, KEYRING};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    signed::receipt(data, size, seed)
});

fuzz_target!(|text: &str| {
    let unverified = match UnverifiedReceipt::parse(text) {
        Err(error) => return assert_one_line(&error),
        Ok(receipt) => receipt,
    };
    assert!(unverified.clone().verify(&[]).is_err());
    let (_, head) = text.split_once("\n\n").unwrap();
    let origin = UnverifiedTreeHead::parse(head).unwrap().origin().clone();
    let keys = origin.keys(KEYRING.signing_chain());
    match unverified.verify(&keys) {
        Err(error) => assert_one_line(&error),
        Ok((receipt, signed)) => {
            assert_eq!(receipt.to_string(), text);
            assert_eq!(signed.note().to_string(), head);
            let tree = signed.head();
            let (leaf, index) = (receipt.leaf.hash(receipt.position), receipt.position.get() - 1);
            assert_eq!(verify_inclusion(&leaf, index, tree.size, &receipt.proof, &tree.root), Ok(()));
            assert!(receipt.position.get() <= tree.size);
            check_others(&receipt, &keys);
        }
    }
});

/// The same proof for another place, time or commitment does not hold.
fn check_others(receipt: &InclusionReceipt, keys: &[bitacora_formats::VerifierKey]) {
    let mut later = receipt.clone();
    later.leaf.time.0 ^= 1;
    let mut other = receipt.clone();
    other.leaf.commitment.0[0] ^= 1;
    let moved = Position::new(receipt.position.get() ^ 1)
        .map(|position| InclusionReceipt { position, ..receipt.clone() });
    for other in [Some(later), Some(other), moved].into_iter().flatten() {
        let parsed = UnverifiedReceipt::parse(&other.to_string()).unwrap();
        assert!(parsed.verify(keys).is_err());
    }
}

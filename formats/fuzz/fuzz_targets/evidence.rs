//! Any bytes are the evidence of an event or a typed error.
//!
//! Evidence that verifies shows the record that was committed to, as an event that a ledger takes. Written again it
//! proves the same. Its JSON has many texts.
#![no_main]

use bitacora_formats::{
    Data, ProvenEvent, UnverifiedEvidence, check_json, commitment, leaf_hash, verify_inclusion,
};
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{self, KEYRING};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Bytes that one mutation may add to a record.
const ROOM_BYTES: usize = 64;

// Every other time the record alone is mutated: no mutation of base64 meets much of what a record can be.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let record = if seed % 2 == 0 { signed::record_of(&data[..size]) } else { None };
    if let Some(mut record) = record {
        let bytes = record.len();
        record.resize(bytes + ROOM_BYTES, 0);
        let bytes = fuzzer_mutate(&mut record, bytes, bytes + ROOM_BYTES);
        signed::evidence(data, size, seed / 2, Some(&record[..bytes]))
    } else {
        let size = fuzzer_mutate(data, size, max_size);
        signed::evidence(data, size, seed / 2, None)
    }
});

fuzz_target!(|bytes: &[u8]| {
    let unverified = match UnverifiedEvidence::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(evidence) => evidence,
    };
    match unverified.clone().verify(&[]) {
        Err(error) => assert_one_line(&error),
        Ok(proven) => {
            assert!(!proven.is_trusted());
            check(&proven);
            let again = UnverifiedEvidence::parse(proven.evidence().to_json().as_bytes());
            assert_eq!(again.as_ref(), Ok(&unverified));
            check_keys(&unverified, &proven);
        }
    }
});

/// Each step of docs/formats/evidence.md that does not hang on keys.
fn check(proven: &ProvenEvent) {
    let (evidence, tree) = (proven.evidence(), proven.head().head());
    let leaf = leaf_hash(evidence.position, evidence.time, &evidence.commitment);
    let index = evidence.position.get() - 1;
    assert_eq!(verify_inclusion(&leaf, index, tree.size, &evidence.proof, &tree.root), Ok(()));
    assert_eq!(proven.head().note().to_string(), evidence.tree_head);
    let Some(content) = &evidence.content else {
        return assert!(proven.event().is_none() && !proven.is_sealed());
    };
    assert_eq!(commitment(&content.blind, &content.record), evidence.commitment);
    assert!(content.part.is_none() || !proven.is_sealed());
    let event = proven.event().unwrap();
    assert_eq!(event.validate(), Ok(()));
    if let Data::Json(json) = &event.data {
        check_json(json).unwrap();
    }
}

/// The known keys vouch where they are the ledger's, and refuse where they are not.
fn check_keys(unverified: &UnverifiedEvidence, proven: &ProvenEvent) {
    let keys = proven.head().head().origin.keys(KEYRING.signing_chain());
    let are_its_own = proven.evidence().signing_keys == KEYRING.signing_chain_note();
    match unverified.clone().verify(&keys) {
        Err(error) => {
            assert_one_line(&error);
            assert!(!are_its_own);
        }
        Ok(trusted) => assert!(trusted.is_trusted() && are_its_own),
    }
}

//! Any bytes are a file of heads, and a walk accounts for all of them.
//!
//! Every byte before the end is in an entry that encodes to it. Bytes are torn exactly if no whole entry follows them.
//! The target works out a second time which bytes are an entry.
#![no_main]

use bitacora_formats::limits::{MAX_HEADED_RECORD_BYTES, MAX_NOTE_BYTES};
use bitacora_formats::{
    HEADS_HEADER_BYTES, HeadEntry, HeadStep, HeadsHeader, HeadsWalk, LedgerId, MAX_HEAD_ENTRY_BYTES,
    commitment, is_all_zeros,
};
use bitacora_formats_fuzz::{assert_one_line, signed};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Bytes of an entry before its record's length, and between that and the record.
const FIXED_BYTES: usize = 4 + 8 + 32;
/// Bytes of a length or a checksum.
const FIELD_BYTES: usize = 4;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    signed::heads(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| {
    let header = match HeadsHeader::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    assert_eq!(header.encode(), bytes[..HEADS_HEADER_BYTES]);
    let mut walk = HeadsWalk::new(bytes);
    loop {
        let at = walk.offset();
        let step = walk.step();
        let HeadStep::Entry(entry) = step else {
            assert_eq!((walk.step(), walk.offset()), (step.clone(), at));
            return check_end(&step, &bytes[at..]);
        };
        let mut encoded = Vec::new();
        entry.encode(&mut encoded).unwrap();
        assert_eq!(encoded, bytes[at..walk.offset()]);
        assert_eq!(entry_bytes(&encoded), Some(encoded.len()));
        check_event(&entry, header.ledger);
    }
});

/// Checks the last step of a walk against the bytes behind the last entry.
fn check_end(step: &HeadStep, rest: &[u8]) {
    assert_eq!(*step == HeadStep::End, is_all_zeros(rest));
    assert_eq!(entry_bytes(rest), None);
    if let HeadStep::Torn(error) | HeadStep::Corrupt(error) = step {
        assert_one_line(error);
        let is_followed = (1..rest.len()).any(|at| entry_bytes(&rest[at..]).is_some());
        let is_torn = rest.len() < MAX_HEAD_ENTRY_BYTES && !is_followed;
        assert_eq!(matches!(step, HeadStep::Torn(_)), is_torn, "{step:?}");
    }
}

/// Returns the length of the entry that the bytes begin with, if they begin with one.
fn entry_bytes(bytes: &[u8]) -> Option<usize> {
    let record = length_at(bytes, FIXED_BYTES).filter(|record| *record <= MAX_HEADED_RECORD_BYTES)?;
    let note_at = FIXED_BYTES + FIELD_BYTES + record;
    let note = length_at(bytes, note_at).filter(|note| *note <= MAX_NOTE_BYTES)?;
    let covered = note_at + FIELD_BYTES + note;
    let checksum = u32::try_from(length_at(bytes, covered)?).unwrap();
    let is_whole = length_at(bytes, 0)? == covered
        && crc32fast::hash(&bytes[..covered]) == checksum
        && bytes[4..12] != [0; 8]
        && std::str::from_utf8(&bytes[note_at + FIELD_BYTES..covered]).is_ok();
    is_whole.then_some(covered + FIELD_BYTES)
}

fn length_at(bytes: &[u8], offset: usize) -> Option<usize> {
    let field = bytes.get(offset..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*field)).ok()
}

/// Checks the entry's event as if it were in the tree: its size lies before it, and it is of this ledger alone.
fn check_event(entry: &HeadEntry, ledger: LedgerId) {
    let in_tree = commitment(&entry.blind, &entry.record);
    match entry.headed(ledger, &in_tree) {
        Err(error) => assert_one_line(&error),
        Ok(headed) => {
            assert!(headed.size < entry.position);
            let mut other = ledger;
            other.0[0] ^= 1;
            assert!(entry.headed(other, &in_tree).is_err());
            let mut elsewhere = in_tree;
            elsewhere.0[31] ^= 1;
            assert!(entry.headed(ledger, &elsewhere).is_err());
        }
    }
}

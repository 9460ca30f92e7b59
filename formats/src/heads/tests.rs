use super::*;
use crate::headed_example::{entry, events, headed, headed_event, origin};
use crate::ids::Commitment;
use bitacora_testkit::hex_block;

fn worked() -> Vec<u8> {
    hex_block(include_str!("../../../docs/formats/heads.md"), 0)
}

fn header() -> HeadsHeader {
    HeadsHeader { ledger: origin().ledger, segment: SegmentNumber(3) }
}

/// A file with the example's entry so many times.
fn file(entries: usize) -> Vec<u8> {
    let mut bytes = header().encode().to_vec();
    (0..entries).for_each(|_| entry().encode(&mut bytes).unwrap());
    bytes
}

/// Returns the number of entries of a file, and the step behind them.
fn walk(file: &[u8]) -> (usize, HeadStep) {
    let mut walk = HeadsWalk::new(file);
    let mut entries = 0;
    loop {
        match walk.step() {
            HeadStep::Entry(_) => entries += 1,
            last => {
                assert_eq!(walk.step(), last, "a walk that ended goes on");
                return (entries, last);
            }
        }
    }
}

/// The example's entry with another event at its position.
fn entry_of(data: &str) -> (HeadEntry, Commitment) {
    let event = headed_event(data);
    (HeadEntry { blind: event.blind, record: event.record, ..entry() }, event.commitment)
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let bytes = worked();
    assert_eq!(hex::encode(file(1)), hex::encode(&bytes));
    assert_eq!(HeadsHeader::parse(&bytes), Ok(header()));
    let mut walk = HeadsWalk::new(&bytes);
    assert_eq!(walk.step(), HeadStep::Entry(entry()));
    assert_eq!((walk.offset(), walk.step()), (bytes.len(), HeadStep::End));
    let [_, event] = events();
    assert_eq!(entry().headed(origin().ledger, &event.commitment), Ok(headed()));
}

#[test]
fn a_header_outside_of_its_limits_is_refused() {
    let refused = |at: usize, byte: u8| {
        let mut bytes = worked();
        bytes[at] = byte;
        HeadsHeader::parse(&bytes).unwrap_err()
    };
    assert_eq!(refused(7, b's'), HeadsError::Magic { found: *b"BITACHDs" });
    assert_eq!(refused(8, 2), HeadsError::Format { found: 2 });
    assert_eq!(refused(11, 1), HeadsError::Flags { found: 256 });
    assert_eq!(refused(12, 0), HeadsError::Impossible);
}

#[test]
fn a_header_that_was_never_written_whole_is_told_apart() {
    for length in 0..HEADS_HEADER_BYTES {
        let refused = HeadsHeader::parse(&worked()[..length]);
        assert_eq!(refused, Err(HeadsError::Unwritten { found: length }));
    }
    assert_eq!(HeadsHeader::parse(&[0; 4_096]), Err(HeadsError::Unwritten { found: 0 }));
}

#[test]
fn an_entry_cut_anywhere_is_torn_and_the_ones_before_it_stand() {
    let (one, two) = (file(1).len(), file(2));
    for length in one + 1..two.len() {
        let (entries, last) = walk(&two[..length]);
        assert_eq!(entries, 1, "cut at {length}");
        assert!(matches!(last, HeadStep::Torn(_)), "cut at {length}: {last:?}");
    }
    assert_eq!(walk(&two[..one]), (1, HeadStep::End));
}

#[test]
fn zeros_at_the_end_are_the_end_and_part_of_an_entry_before_them_is_torn() {
    let mut zeros = file(2);
    zeros.resize(zeros.len() + 5_000, 0);
    assert_eq!(walk(&zeros), (2, HeadStep::End));
    let mut torn = file(2);
    let cut = file(1).len() + 100;
    torn[cut..].fill(0);
    assert!(matches!(walk(&torn), (1, HeadStep::Torn(HeadsError::Lengths))));
}

#[test]
fn a_byte_changed_in_an_entry_that_another_follows_is_corruption() {
    let whole = file(3);
    let (first, second) = (file(1).len(), file(2).len());
    for at in first..second {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        let (entries, last) = walk(&bytes);
        assert!(entries == 1 && matches!(last, HeadStep::Corrupt(_)), "byte {at}: {entries}, {last:?}");
    }
}

#[test]
fn a_rest_longer_than_any_entry_is_no_torn_write() {
    let mut bytes = file(1);
    bytes.resize(bytes.len() + MAX_HEAD_ENTRY_BYTES, 0xff);
    assert!(matches!(walk(&bytes), (1, HeadStep::Corrupt(_))));
    bytes.pop();
    assert!(matches!(walk(&bytes), (1, HeadStep::Torn(HeadsError::TooLarge { .. }))));
}

#[test]
fn an_entry_that_is_said_to_be_longer_than_any_is_refused() {
    let max = MAX_HEAD_ENTRY_BYTES - LENGTH_BYTES;
    let of_length = |bytes: usize| {
        let length = u32::try_from(bytes).unwrap().to_le_bytes();
        walk(&[header().encode().as_slice(), &length].concat())
    };
    assert_eq!(of_length(max), (0, HeadStep::Torn(HeadsError::Lengths)));
    let refused = HeadsError::TooLarge { part: "an entry", bytes: max + 1, max };
    assert_eq!(of_length(max + 1), (0, HeadStep::Torn(refused)));
}

#[test]
fn lengths_that_do_not_add_up_are_refused_under_a_right_checksum() {
    let start = HEADS_HEADER_BYTES;
    // A byte between the note and the checksum, which the outer length counts.
    let mut bytes = file(1);
    bytes.truncate(bytes.len() - CRC_BYTES);
    bytes.push(0);
    let length = u32::try_from(bytes.len() - start - LENGTH_BYTES + CRC_BYTES).unwrap();
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[start..]);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    assert_eq!(walk(&bytes), (0, HeadStep::Torn(HeadsError::Lengths)));
}

#[test]
fn parts_past_their_limits_are_not_written() {
    let mut out = vec![7];
    let long = HeadEntry { record: vec![0; MAX_HEADED_RECORD_BYTES + 1], ..entry() };
    assert!(matches!(long.encode(&mut out), Err(HeadsError::TooLarge { part: "a record", .. })));
    let long = HeadEntry { note: "n".repeat(MAX_NOTE_BYTES + 1), ..entry() };
    assert!(matches!(long.encode(&mut out), Err(HeadsError::TooLarge { part: "a note", .. })));
    assert_eq!(out, [7]);
    let longest =
        HeadEntry { record: vec![0; MAX_HEADED_RECORD_BYTES], note: "n".repeat(MAX_NOTE_BYTES), ..entry() };
    longest.encode(&mut out).unwrap();
    assert_eq!(out.len(), 1 + MAX_HEAD_ENTRY_BYTES);
    let file = [header().encode().as_slice(), &out[1..]].concat();
    assert_eq!(HeadsWalk::new(&file).step(), HeadStep::Entry(longest));
}

#[test]
fn an_event_that_is_not_the_one_in_the_tree_says_nothing() {
    let ledger = origin().ledger;
    let [client, event] = events();
    let refused = |entry: &HeadEntry| entry.headed(ledger, &event.commitment).unwrap_err();
    let other_blind = HeadEntry { blind: client.blind.clone(), ..entry() };
    assert!(matches!(refused(&other_blind), HeadedError::Commitment { .. }));
    let mut other_record = entry();
    *other_record.record.last_mut().unwrap() ^= 1;
    assert!(matches!(refused(&other_record), HeadedError::Commitment { .. }));
    // A right commitment, of another event.
    let other_event = HeadEntry { blind: client.blind, record: client.record, ..entry() };
    let position = entry().position;
    assert_eq!(other_event.headed(ledger, &client.commitment), Err(HeadedError::OtherEvent { position }));
    let other_ledger = entry().headed(LedgerId([0; 16]), &event.commitment);
    assert_eq!(other_ledger, Err(HeadedError::OtherEvent { position }));
}

#[test]
fn an_event_without_a_size_before_it_and_a_hash_says_nothing() {
    let hash = headed().hash.to_string();
    let position = entry().position;
    for data in [
        "null".to_owned(),
        r#"{"size":"1"}"#.to_owned(),
        format!(r#"{{"size":1,"hash":"{hash}"}}"#),
        format!(r#"{{"size":"0","hash":"{hash}"}}"#),
        format!(r#"{{"size":"2","hash":"{hash}"}}"#),
        format!(r#"{{"size":"1","hash":"{}"}}"#, &hash[1..]),
        format!(r#"{{"size":"1","hash":"{hash}","more":1}}"#),
    ] {
        let (entry, commitment) = entry_of(&data);
        let refused = entry.headed(origin().ledger, &commitment);
        assert_eq!(refused, Err(HeadedError::Data { position }), "{data}");
    }
}

//! Bytes that are no group: an error, or other rows within the limits; never a panic.

use zstd::bulk;

use super::super::blocks::decompress;
use super::super::limits::{MAX_BLOCK_BYTES, MAX_DIRECTORY_BYTES};
use super::super::node::{number, text};
use super::super::varint::{Input, put, put_bytes, put_signed};
use super::*;
use bitacora_testkit::damaged;

const HEADER_BYTES: usize = 24;

/// A blob of a directory and blocks that are stored as they are.
pub(super) fn blob(rows: usize, directory: &[u8], blocks: &[u8]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let sizes = [number(rows), number(directory.len()), number(directory.len())].concat();
    [&COLUMNS_MAGIC[..], &COLUMNS_FORMAT.to_le_bytes(), &[0; 2], &sizes, directory, blocks].concat()
}

/// The same group with nothing in it compressed, so that damage meets what zstd would have noticed it before.
pub(super) fn stored(compressed: &[u8]) -> Vec<u8> {
    let size = |at: usize| u32::from_le_bytes(compressed[at..at + 4].try_into().unwrap()) as usize;
    let mut decompressor = bulk::Decompressor::new().unwrap();
    let mut input = Input(&compressed[HEADER_BYTES..]);
    let directory = decompress(&mut decompressor, input.take(size(20)).unwrap(), size(16)).unwrap();
    let mut rest = Input(&directory);
    let (mut rewritten, mut blocks) = (Vec::new(), Vec::new());
    let count = rest.number().unwrap();
    put(count, &mut rewritten);
    for _ in 0..count {
        let length = rest.count(MAX_BLOCK_BYTES, "").unwrap();
        let block = input.take(rest.count(length, "").unwrap()).unwrap();
        blocks.append(&mut decompress(&mut decompressor, block, length).unwrap());
        put(length as u64, &mut rewritten);
        put(length as u64, &mut rewritten);
    }
    rewritten.extend_from_slice(rest.0);
    blob(size(12), &rewritten, &blocks)
}

/// A group of few rows that has many kinds of columns.
pub(super) fn small_group() -> Vec<u8> {
    let records: Vec<Vec<u8>> = (0..24)
        .map(|number| {
            let json = format!(
                "{{\"n\":{},\"t\":\"call-{:04}\",\"k\":\"{}\",\"f\":{}.5,\"h\":\"{:032x}\"}}",
                number * 7 % 5,
                number * 3,
                ["read", "write"][number % 2],
                number,
                0x1234_5678_9abc_def0_u128 * 0x1_0001_0001_0001_u128 * (number as u128 + 1),
            );
            record_of(&format!("call-{:04}#done", number * 3), json.as_bytes())
        })
        .collect();
    let mut rows = rows(&records);
    for (row, number) in rows.iter_mut().zip(1..) {
        row.stream_version = StreamVersion::new(number).unwrap();
        row.begins_frame = number % 5 == 1;
        row.part = (number % 8 == 0).then_some(b"part");
    }
    round_trip(&rows)
}

fn check(bytes: &[u8]) {
    match decode_columns(bytes) {
        Ok(rows) => {
            let bytes: usize =
                rows.iter().map(|row| row.record.len() + row.part.map_or(0, <[u8]>::len)).sum();
            assert!(rows.len() <= MAX_GROUP_ROWS && bytes <= MAX_GROUP_BYTES);
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

#[test]
fn every_cut_is_refused() {
    for whole in [small_group(), stored(&small_group())] {
        assert!(decode_columns(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(decode_columns(&whole[..length]).is_err(), "{length} bytes");
        }
        assert!(decode_columns(&[&whole[..], &[0]].concat()).is_err(), "a byte behind it");
    }
}

#[test]
fn no_change_of_a_byte_makes_it_panic() {
    for whole in [small_group(), stored(&small_group())] {
        damaged(&whole).for_each(|bytes| check(&bytes));
    }
}

#[test]
fn two_changes_do_not_make_it_panic_either() {
    let whole = stored(&small_group());
    let mut seeded = SeededRng::new(11);
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..2 {
            let at = HEADER_BYTES + seeded.below(bytes.len() - HEADER_BYTES);
            bytes[at] = seeded.number().to_le_bytes()[0];
        }
        check(&bytes);
    }
}

#[test]
fn a_header_outside_of_its_limits_is_refused() {
    let refused = |at: usize, byte: u8| {
        let mut bytes = small_group();
        bytes[at] = byte;
        decode_columns(&bytes).err().unwrap()
    };
    assert_eq!(refused(0, b'b'), ColumnsError::Magic);
    assert_eq!(refused(8, 2), ColumnsError::Format { found: 2 });
    assert_eq!(refused(10, 1), ColumnsError::Malformed { what: "flags" });
    assert_eq!(refused(14, 1), ColumnsError::Malformed { what: "rows" });
    assert_eq!(refused(19, 1), ColumnsError::Malformed { what: "the directory's length" });
    assert_eq!(refused(22, 1), ColumnsError::Malformed { what: "the directory's stored length" });
}

/// A directory without blocks, streams, shapes and forms: all records are whole, as these nodes make them.
fn whole_records(record: &[u8]) -> Vec<u8> {
    let constant = |value: i64| {
        let mut node = vec![number::CONSTANT];
        put_signed(value, &mut node);
        node
    };
    let mut directory = vec![0, 0, 0, 0];
    directory.extend(constant(0));
    put(7, &mut directory);
    for (column, value) in [(2, 5), (3, 0), (4, 0), (5, 0), (6, 1), (7, 0)] {
        put(column, &mut directory);
        directory.extend(constant(value));
    }
    put(10, &mut directory);
    directory.extend_from_slice(record);
    directory
}

#[test]
fn a_directory_by_hand_is_read() {
    let mut node = vec![text::CONSTANT];
    put_bytes(b"record", &mut node);
    let decoded = decode_columns(&blob(3, &whole_records(&node), &[])).unwrap();
    assert!(decoded.iter().all(|row| row.record == b"record") && decoded.len() == 3);
}

/// A constant text of so many bytes.
fn long_constant(bytes: usize) -> Vec<u8> {
    let mut node = vec![text::CONSTANT];
    put_bytes(&vec![b'x'; bytes], &mut node);
    node
}

#[test]
fn bombs_are_refused_before_they_are_made() {
    let refused = |rows: usize, node: &[u8]| {
        let decoded = decode_columns(&blob(rows, &whole_records(node), &[]));
        assert!(matches!(decoded, Err(ColumnsError::Malformed { .. } | ColumnsError::Truncated)));
    };
    // Rows that share one text.
    refused(MAX_GROUP_ROWS, &long_constant(2_000));
    // Texts joined of long ones.
    let joined =
        [&[text::JOINED, 3][..], &long_constant(3_000), &long_constant(3_000), &long_constant(9)].concat();
    refused(MAX_GROUP_ROWS, &joined);
    // Texts that double within one another.
    let doubled = (0..11)
        .fold(long_constant(64), |node, _| [&[text::JOINED, 2][..], &node, &long_constant(128)].concat());
    refused(MAX_GROUP_ROWS, &doubled);
    // Nodes too deep.
    refused(1, &(0..40).fold(long_constant(1), |node, _| [&[text::JOINED, 1][..], &node].concat()));
    refused(1, &vec![text::JOINED; 100_000]);
    // Counts that nothing is there for.
    let huge = |tag: u8| {
        let mut node = vec![tag];
        put(u64::MAX, &mut node);
        node
    };
    [
        text::CONSTANT,
        text::DICTIONARY,
        text::JOINED,
        text::SAME,
        text::INTEGER,
        text::TIME,
        text::SPLIT,
        text::CHOSEN,
    ]
    .iter()
    .for_each(|tag| refused(9, &huge(*tag)));
    // Prefixes longer than what was before.
    refused(9, &[&[text::PREFIXED, number::CONSTANT, 2][..], &long_constant(5)].concat());
    // A number in more bytes than it needs, and in more than there are.
    refused(9, &[text::CONSTANT, 0x80, 0]);
    refused(9, &[&[text::CONSTANT][..], &[0xFF; 12]].concat());
}

#[test]
fn a_block_that_states_more_than_there_may_be_is_refused() {
    let mut directory = vec![1];
    put(MAX_BLOCK_BYTES as u64 + 1, &mut directory);
    put(5, &mut directory);
    let refused = decode_columns(&blob(1, &directory, &[0; 5])).err();
    assert_eq!(refused, Some(ColumnsError::Malformed { what: "a block's length" }));

    // zstd and the directory must state the same length.
    let zeros = bulk::compress(&vec![0; MAX_BLOCK_BYTES], 3).unwrap();
    let mut directory = vec![4];
    for _ in 0..4 {
        put(MAX_BLOCK_BYTES as u64, &mut directory);
        put(zeros.len() as u64, &mut directory);
    }
    let refused = decode_columns(&blob(1, &directory, &zeros.repeat(4))).err();
    assert_eq!(refused, Some(ColumnsError::Malformed { what: "the blocks' length" }));
    let mut directory = vec![1];
    put(7, &mut directory);
    put(zeros.len() as u64, &mut directory);
    assert!(decode_columns(&blob(1, &directory, &zeros)).is_err());
    assert!(decode_columns(&blob(1, &vec![0; MAX_DIRECTORY_BYTES + 1], &[])).is_err());
}

#[test]
fn a_column_twice_none_or_referring_ahead_is_refused() {
    let good = whole_records(&long_constant(3));
    assert!(decode_columns(&blob(2, &good, &[])).is_ok());
    let at = good.len() - long_constant(3).len() - 1;
    let mut twice = good.clone();
    twice[at] = 7;
    assert!(decode_columns(&blob(2, &twice, &[])).is_err(), "column 7 twice, column 10 not at all");
    let same = |column: u8| decode_columns(&blob(2, &whole_records(&[text::SAME, column]), &[])).is_err();
    assert!([2, 9, 10, 11, 29, 200].into_iter().all(same), "texts that were not read before");
    let mut fewer = good;
    fewer[6] = 6;
    assert!(decode_columns(&blob(2, &fewer, &[])).is_err(), "a column is left over");
}

/// A group of two rows whose JSON has the same text again and again, each made of the column before it, joined with nothing.
pub(super) fn chain_of_columns(length: usize) -> Vec<u8> {
    let mut directory = vec![0, 0, 1];
    put_bytes(vec![&b"\x02"[..]; length].join(&b","[..]).as_slice(), &mut directory);
    (0..length).for_each(|number| put(30 + number as u64, &mut directory));
    directory.push(1);
    put_bytes(b"x.seen", &mut directory);
    directory.extend([0, 0, 0, 4, 0]);
    directory.extend([number::CONSTANT, 2]);
    put(10 + length as u64, &mut directory);
    for column in [2, 3, 4, 5, 6, 7, 8] {
        directory.extend([column, number::CONSTANT, if column == 6 { 2 } else { 0 }]);
    }
    for column in [11, 12, 13, 30] {
        directory.extend([column, text::CONSTANT, 1, b'7']);
    }
    for column in 31..30 + length as u64 {
        put(column, &mut directory);
        directory.extend([text::JOINED, 2, text::CONSTANT, 0, text::SAME]);
        put(column - 1, &mut directory);
    }
    blob(2, &directory, &[])
}

//! Every node written by hand from the format's page, to check reader and writer independently.

use super::damage::blob;
use super::*;
use crate::columns::varint::put;

/// Four records that are kept whole, made by a node, beside parts `a`, `b`, `a`, `b` that lie in a dictionary: column 9.
fn made(node: &[u8], streams: &[&[u8]]) -> Vec<String> {
    let streams = [&[b"ab".as_slice(), &[0, 1, 0, 1]], streams].concat();
    let bytes = streams.concat();
    let mut directory = vec![1];
    put(bytes.len() as u64, &mut directory);
    put(bytes.len() as u64, &mut directory);
    put(streams.len() as u64, &mut directory);
    for stream in &streams {
        directory.extend([0, u8::try_from(stream.len()).unwrap()]);
    }
    // No shapes, no forms, all records whole; frame time 5, three flags 0, version 1, parts.
    directory.extend([0, 0, 0, 0]);
    directory.extend([8, 2, 0, 10, 3, 0, 0, 4, 0, 0, 5, 0, 0, 6, 0, 2, 7, 0, 2]);
    directory.extend([9, 2, 2, 1, 0, 2, 1, 0]);
    directory.push(10);
    directory.extend_from_slice(node);
    let rows = decode_columns(&blob(4, &directory, &bytes)).unwrap();
    assert!(rows.iter().map(|row| row.part.unwrap()).eq([b"a", b"b", b"a", b"b"]));
    rows.iter().map(|row| String::from_utf8(row.record.to_vec()).unwrap()).collect()
}

#[test]
fn texts_are_as_the_page_says() {
    assert_eq!(made(&[0, 1, b'x'], &[]), ["x"; 4], "constant");
    assert_eq!(made(&[1, 1, 0], &[&[0, 1, 2, 3], b"xyyzzz"]), ["", "x", "yy", "zzz"], "raw");
    assert_eq!(made(&[2, 2, 1, 0, 2, 1, 0], &[b"xy", &[0, 1, 1, 0]]), ["x", "y", "y", "x"], "dictionary");
    assert_eq!(made(&[3, 2, 0, 1, b'x', 4, 9], &[]), ["xa", "xb", "xa", "xb"], "joined");
    assert_eq!(made(&[4, 9], &[]), ["a", "b", "a", "b"], "same");
    assert_eq!(made(&[5, 3, 1, 3], &[&[0, 2, 10, 255]]), ["-002", "000", "008", "253"], "integer");
    let decimals = made(&[6, 1, 0, 1, 9], &[&[0, 1, 2, 3], &[0, 5, 105, 255]]);
    assert_eq!(decimals, ["-5", "0.0", "1.00", "0.250"], "decimal");
    let times = made(&[7, 1, 1, 0], &[&[0, 1, 10, 255]]);
    let of = |seconds: &str| format!("1970-01-01T00:00:{seconds}Z");
    assert_eq!(times, ["00.0", "00.1", "01.0", "25.5"].map(of), "time");
    let bytes = [0x0F, 0xA1, 0x00, 0xFF];
    assert_eq!(made(&[8, 0, 1, 0, 2], &[&bytes]), ["0f", "a1", "00", "ff"], "hexadecimal");
    assert_eq!(made(&[8, 1, 1, 0, 2], &[&bytes]), ["0F", "A1", "00", "FF"], "hexadecimal in upper case");
    let sixteen: Vec<u8> = (0..64).map(|at| at % 16).collect();
    let uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    assert_eq!(made(&[9, 1, 0, 32], &[&sixteen]), [uuid; 4], "uuid");
    let ulid = "00041061050R3GG28A1C60T3GF";
    assert_eq!(made(&[10, 1, 0, 32], &[&sixteen]), [ulid; 4], "ulid");
    assert_eq!(made(&[11, 0, 1, 0, 2], &[&bytes]), ["Dw==", "oQ==", "AA==", "/w=="], "base64");
    assert_eq!(made(&[11, 1, 1, 0, 2], &[&bytes]), ["Dw", "oQ", "AA", "_w"], "base64 for URLs");
    assert_eq!(made(&[12, 9, 0, 1, b'x', 0, 1, b'y'], &[]), ["x", "y", "x", "y"], "split");
    assert_eq!(made(&[13, 9, 1, 0, 2], &[b"xy"]), ["x", "y", "x", "y"], "mapped");
    let chosen = made(&[14, 2, 1, 0, 0, 1, b'x', 4, 9], &[&[0, 1, 1, 0]]);
    assert_eq!(chosen, ["x", "b", "a", "x"], "chosen");
    let prefixed = made(&[15, 1, 0, 1, 0, 2], &[&[0, 1, 2, 0], b"wxyz"]);
    assert_eq!(prefixed, ["w", "wx", "wxy", "z"], "prefixed");
}

#[test]
fn numbers_are_as_the_page_says() {
    let numbers = |node: &[u8], streams: &[&[u8]]| made(&[&[5, 0], node].concat(), streams).join(" ");
    assert_eq!(numbers(&[0, 7], &[]), "-4 -4 -4 -4", "constant");
    assert_eq!(numbers(&[1, 2], &[&[0, 1, 2, 3, 0, 1, 0, 2]]), "1 258 3 516", "plain of two bytes");
    assert_eq!(numbers(&[2, 6, 2, 1, 0], &[&[0, 1, 2, 3]]), "1 4 7 10", "scaled");
    assert_eq!(numbers(&[3, 20, 1, 1], &[&[0, 1, 9]]), "10 9 9 17", "delta");
    assert_eq!(numbers(&[4, 2, 1, 0, 1, 2], &[&[7, 9], &[2, 0]]), "7 7 7 9", "runs");
    assert_eq!(numbers(&[5, 9, 1, 0, 1, 0], &[&[10, 20], &[1, 2]]), "10 20 11 22", "keyed");
    assert_eq!(numbers(&[6, 9, 0, 2, 1, 0], &[&[8, 9]]), "1 8 1 9", "split");
    assert_eq!(numbers(&[7, 9, 1, 0], &[&[5, 6]]), "5 6 5 6", "mapped");
    assert_eq!(numbers(&[8, 1, 0], &[&[0, 0, 2, 1]]), "0 1 0 1", "fresh");
    assert_eq!(numbers(&[9, 2, 6, 1, 0], &[&[0, 1, 2, 3]]), "15 16 17 18", "offset");
    assert_eq!(numbers(&[7, 0, 0, 8], &[]), "4 4 4 4", "mapped by form");
}

/// A group of whole records of 16,384 rows, all of them made by one node.
fn of_node(node: &[u8]) -> Vec<u8> {
    // No blocks, streams, shapes and forms; frame time 5, three flags 0, version 1, no parts.
    let mut directory = vec![0, 0, 0, 0, 0, 0];
    directory.extend([7, 2, 0, 10, 3, 0, 0, 4, 0, 0, 5, 0, 0, 6, 0, 2, 7, 0, 0, 10]);
    directory.extend_from_slice(node);
    blob(16_384, &directory, &[])
}

/// A node that joins as many of these as a power of 32 says.
fn joined(leaf: &[u8], power: u32) -> Vec<u8> {
    match power {
        0 => leaf.to_vec(),
        _ => [&[3, 32], joined(leaf, power - 1).repeat(32).as_slice()].concat(),
    }
}

/// Nodes of a few bytes that would make more numbers than anybody has room for, well within how many they may make.
#[test]
fn a_group_that_takes_too_much_memory_is_refused() {
    assert_eq!(
        ColumnGroup::open(&of_node(&joined(&[5, 0, 0, 2], 3))).err(),
        Some(ColumnsError::TooMuchToHold)
    );
    let row_bytes = 16_384 * size_of::<i64>();
    for node in [
        &[5, 0, 0, 2][..],
        &[6, 0, 2, 0, 2],
        &[7, 0, 0, 2],
        // A table; nodes by class, all of one; of several; texts as the one before begins.
        &[2, 1, 0, 0, 0, 0],
        &[12, 0, 0, 0],
        &[13, 0, 0, 0],
        &[14, 1, 0, 0, 0, 0],
        &[15, 0, 0, 0, 0],
    ] {
        let group = of_node(&joined(node, 1));
        let held = ColumnGroup::open(&group).unwrap().held_bytes();
        assert!(ColumnGroup::open_within(held + 5 * row_bytes, &group).is_ok(), "{node:?}");
        let least = held - held / 8;
        assert_eq!(
            ColumnGroup::open_within(least, &group).err(),
            Some(ColumnsError::TooMuchToHold),
            "{node:?}"
        );
    }
}

/// Checks that values held for a while are given back: nodes may make far more numbers than are held at once.
#[test]
fn what_is_let_go_of_counts_no_more() {
    let mut length = Vec::new();
    put(2 * 16_383, &mut length);
    // A dictionary of one text, whose numbers are made by a way round: differences in runs; each class by itself; one of each class;
    // differences by class.
    let ways = [
        [&[3, 0, 4, 1, 0, 0, 0][..], &length].concat(),
        vec![6, 0, 0, 0],
        vec![7, 0, 0, 0],
        vec![5, 0, 0, 0, 0, 0],
    ];
    for way in ways {
        let leaf = [&[2, 1, 0, 0], way.as_slice()].concat();
        let group = of_node(&[&[3, 3], joined(&leaf, 1).repeat(3).as_slice()].concat());
        let held = ColumnGroup::open(&group).unwrap().held_bytes();
        // 96 times the numbers of a column are made, and let go of.
        let enough = held + 8 * 16_384 * size_of::<i64>();
        assert!(ColumnGroup::open_within(enough, &group).is_ok(), "{way:?}");
    }
}

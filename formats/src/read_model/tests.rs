use super::*;
use crate::{ChainHash, LedgerId, Position, TreeHash};
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/read_model.md");

fn keys() -> RowKeys {
    RowKeys::new(&Secret::take(&mut [0x11; 32]), "gaps", 1)
}

fn cursor() -> ModelCursor {
    let (_, row) = keys().seal(&row_key(), b"toolu_1");
    let mut sum = RowSum::default();
    sum.add(&row);
    ModelCursor {
        ledger: LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap())),
        position: Position::new(262_145).unwrap(),
        previous: Some(ChainHash([0xb1; 32])),
        tree_root: TreeHash([0xc2; 32]),
        sum,
        cut: CutState { through: 131_072, is_done: true, left: 1, late: 0 },
    }
}

/// The first table's row of the session `s-1`, at position 262,144.
fn row_key() -> Vec<u8> {
    let mut key = vec![1];
    key.extend_from_slice(&keys().group(1, &[b"s-1"]));
    key.extend_from_slice(&262_144_u64.to_be_bytes());
    key
}

#[test]
fn the_worked_row_and_cursor_in_the_document_are_what_is_written() {
    assert_eq!(hex::encode(row_key()), hex::encode(hex_block(DOCUMENT, 0)));
    let (stored, _) = keys().seal(&row_key(), b"toolu_1");
    assert_eq!(hex::encode(&stored), hex::encode(hex_block(DOCUMENT, 1)));
    assert_eq!(keys().open(&row_key(), &hex_block(DOCUMENT, 1)).unwrap().0, b"toolu_1");
    assert_eq!(hex::encode(cursor().encode()), hex::encode(hex_block(DOCUMENT, 2)));
    assert_eq!(ModelCursor::decode(&hex_block(DOCUMENT, 2)), Ok(cursor()));
    assert_eq!(hex::encode(cursor().sum.digest()), hex::encode(hex_block(DOCUMENT, 3)));
}

#[test]
fn a_row_opens_in_its_place_alone_and_no_byte_of_it_may_change() {
    let (stored, hash) = keys().seal(&row_key(), b"content");
    assert_eq!(keys().open(&row_key(), &stored), Ok((b"content".to_vec(), hash)));
    for at in 0..stored.len() {
        let mut changed = stored.clone();
        changed[at] ^= 1;
        assert_eq!(keys().open(&row_key(), &changed), Err(RowError::NotAuthentic), "byte {at}");
    }
    for end in 1..stored.len() {
        assert_eq!(keys().open(&row_key(), &stored[..end]), Err(RowError::NotAuthentic), "cut at {end}");
    }
    let mut elsewhere = row_key();
    elsewhere[1] ^= 1;
    assert_eq!(keys().open(&elsewhere, &stored), Err(RowError::NotAuthentic));
    for (model, version) in [("gaps", 2), ("gap", 1)] {
        let others = RowKeys::new(&Secret::take(&mut [0x11; 32]), model, version);
        assert_eq!(others.open(&row_key(), &stored), Err(RowError::NotAuthentic), "{model} {version}");
        assert_ne!(others.group(1, &[b"s-1"]), keys().group(1, &[b"s-1"]), "{model} {version}");
    }
}

#[test]
fn a_row_without_content_is_stored_without_any_and_counts_all_the_same() {
    let (stored, hash) = keys().seal(&row_key(), b"");
    assert_eq!(stored, b"");
    assert_eq!(keys().open(&row_key(), b""), Ok((Vec::new(), hash)));
    assert_ne!(keys().seal(&[2], b"").1, hash);
}

#[test]
fn values_that_join_to_the_same_bytes_have_other_groups() {
    let keys = keys();
    let groups = [
        keys.group(1, &[b"ab", b"c"]),
        keys.group(1, &[b"a", b"bc"]),
        keys.group(1, &[b"abc"]),
        keys.group(2, &[b"abc"]),
        keys.group(1, &[b"abc", b""]),
    ];
    for (at, group) in groups.iter().enumerate() {
        assert!(!groups[..at].contains(group), "{at}");
    }
}

#[test]
fn the_sum_is_of_the_rows_that_are_there_in_whatever_order_they_came() {
    let keys = keys();
    let (_, one) = keys.seal(&[1], b"one");
    let (_, two) = keys.seal(&[1], b"two");
    let (mut forth, mut back) = (RowSum::default(), RowSum::default());
    forth.add(&one);
    forth.add(&two);
    back.add(&two);
    back.add(&one);
    assert_eq!((forth, forth.rows()), (back, 2));
    forth.take(&two);
    assert_ne!(forth.digest(), back.digest());
    back.take(&two);
    assert_eq!(forth.digest(), back.digest());
    back.take(&one);
    assert_eq!(back, RowSum::default());
}

#[test]
fn a_cursor_is_read_as_it_is_written_or_not_at_all() {
    let bytes = cursor().encode();
    for end in 0..bytes.len() {
        assert_eq!(ModelCursor::decode(&bytes[..end]), Err(RowError::Malformed), "cut at {end}");
    }
    assert_eq!(ModelCursor::decode(&[bytes.as_slice(), &[0]].concat()), Err(RowError::Malformed));
    let changed = |at: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[at] = value;
        ModelCursor::decode(&changed)
    };
    assert_eq!(changed(0, b'X'), Err(RowError::Malformed));
    assert_eq!(changed(8, 3), Err(RowError::Format { found: 3 }));
    assert_eq!(changed(10, 4), Err(RowError::Malformed));
    assert_eq!(changed(10, 2), Err(RowError::Malformed), "a chain hash that is not known");
    let earlier = |flags: u8| {
        let mut earlier = bytes[..140].to_vec();
        (earlier[8], earlier[10]) = (1, flags);
        ModelCursor::decode(&earlier)
    };
    assert_eq!(earlier(1), Ok(ModelCursor { cut: CutState::default(), ..cursor() }), "from before cuts");
    assert_eq!(earlier(3), Err(RowError::Malformed), "the earlier format has no cut");
    let unknown = ModelCursor { previous: None, ..cursor() };
    assert_eq!(ModelCursor::decode(&unknown.encode()), Ok(unknown));
}

#[test]
fn the_note_of_a_store_is_of_its_files_alone() {
    let note = |files: &[(&str, &[u8])], key: u8| {
        let mut hash = StoreHash::new(&Secret::take(&mut [key; 32]));
        for (path, bytes) in files {
            hash.file(path, bytes.len() as u64);
            hash.bytes(bytes);
        }
        hash.note()
    };
    let noted = note(&[("a", b"12"), ("b/c", b"")], 1);
    assert_eq!(noted[..10], *b"BITACMDC\x01\x00");
    let others = [
        note(&[("a", b"12"), ("b/c", b"")], 2),
        note(&[("a", b"1"), ("2b/c", b"")], 1),
        note(&[("a", b"12")], 1),
        note(&[("b/c", b""), ("a", b"12")], 1),
        note(&[("a", b""), ("b/c", b"12")], 1),
    ];
    for other in others {
        assert_ne!(other, noted);
    }
}

//! Selected rows equal those of the whole group, and bytes that are no group do no harm there either.

use super::damage::{small_group, stored};
use super::*;
use bitacora_testkit::damaged;

/// Any of so many rows, ascending: none, few, most or all.
fn some(seeded: &mut SeededRng, rows: usize) -> Vec<usize> {
    let one_in = 1 + seeded.below(rows + 2);
    let takes_most = seeded.below(2) == 0;
    (0..rows).filter(|_| (seeded.below(one_in) == 0) != takes_most).collect()
}

/// Asks for these rows by themselves: they must be the same as among all.
fn check(blob: &[u8], indices: &[usize]) {
    let all = decode_columns(blob).unwrap();
    let group = ColumnGroup::open(blob).unwrap();
    let chosen = group.rows(indices.iter().copied()).unwrap();
    assert_eq!((chosen.len(), group.len()), (indices.len(), all.len()));
    for (at, index) in indices.iter().enumerate() {
        assert_eq!(chosen.row(at), all.row(*index), "row {index} of {indices:?}");
    }
}

#[test]
fn any_rows_of_any_group_are_those_of_all() {
    let mut seeded = SeededRng::new(23);
    for count in [1, 2, 7, 60, 300, 700] {
        let records: Vec<Vec<u8>> =
            (0..count).map(|_| encoded(bitacora_testkit::random_event(&mut seeded))).collect();
        let rows: Vec<ColumnRow<'_>> = records
            .iter()
            .map(|record| ColumnRow {
                begins_frame: seeded.below(3) == 0,
                time: Micros(seeded.number() >> 16),
                part: (seeded.below(3) == 0).then(|| &record[..seeded.below(20).min(record.len())]),
                ..row(record)
            })
            .collect();
        let blob = round_trip(&rows);
        for _ in 0..20 {
            check(&blob, &some(&mut seeded, count));
        }
        let group = ColumnGroup::open(&blob).unwrap();
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(group.begins_frame(index), Some(row.begins_frame));
            assert_eq!(group.time(index), Some(row.time));
        }
        assert_eq!((group.begins_frame(count), group.time(count)), (None, None));
    }
}

#[test]
fn rows_by_themselves_come_of_nodes_of_every_kind() {
    for blob in [small_group(), stored(&small_group())] {
        let count = ColumnGroup::open(&blob).unwrap().len();
        (0..count).for_each(|index| check(&blob, &[index]));
        check(&blob, &[]);
        check(&blob, &(0..count).collect::<Vec<_>>());
        check(&blob, &(0..count).rev().step_by(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>());
    }
}

#[test]
fn rows_that_are_not_there_or_not_in_order_are_refused() {
    let blob = small_group();
    let group = ColumnGroup::open(&blob).unwrap();
    for indices in [vec![group.len()], vec![3, 3], vec![5, 4], vec![usize::MAX], vec![0, 1 << 16]] {
        let refused = group.rows(indices.iter().copied()).err();
        assert_eq!(refused, Some(ColumnsError::Malformed { what: "a row's number" }), "{indices:?}");
    }
}

#[test]
fn damage_is_found_by_rows_or_does_no_harm_to_them() {
    let mut seeded = SeededRng::new(29);
    for whole in [small_group(), stored(&small_group())] {
        for bytes in damaged(&whole) {
            let Ok(group) = ColumnGroup::open(&bytes) else {
                assert!(decode_columns(&bytes).is_err(), "a group that does not open has no rows");
                continue;
            };
            let indices = some(&mut seeded, group.len());
            let chosen = group.rows(indices.iter().copied());
            // If all rows can be made, so can the chosen ones, with the same contents.
            let Ok(all) = decode_columns(&bytes) else { continue };
            let chosen = chosen.unwrap();
            assert!(indices.iter().zip(chosen.iter()).all(|(index, row)| all.row(*index) == Some(row)));
        }
    }
}

/// Records whose texts lie in a block of their own, which is the last.
fn group_of_texts() -> Vec<u8> {
    let mut seeded = SeededRng::new(31);
    let words = |seeded: &mut SeededRng| {
        let word = |_| ["alpha", "beta", "gamma", "delta", "epsilon"][seeded.below(5)];
        (0..40).map(word).collect::<Vec<_>>().join(" ")
    };
    let records: Vec<Vec<u8>> = (0..400)
        .map(|number| match number % 2 {
            0 => record_of(&format!("a-{number}"), format!("{{\"n\":{number}}}").as_bytes()),
            _ => record_of(
                &format!("a-{number}"),
                format!("{{\"words\":\"{}\"}}", words(&mut seeded)).as_bytes(),
            ),
        })
        .collect();
    round_trip(&rows(&records))
}

#[test]
fn a_block_that_no_row_asked_for_needs_is_not_opened() {
    let mut blob = group_of_texts();
    let middle_of_texts = blob.len() - 2_000;
    blob[middle_of_texts..].fill(0x55);
    assert!(decode_columns(&blob).is_err());
    let group = ColumnGroup::open(&blob).unwrap();
    assert!(group.rows([0, 2, 398]).is_ok(), "rows without such a text");
    let refused = group.rows([0, 1]).err();
    assert_eq!(refused, Some(ColumnsError::Malformed { what: "a compressed block" }));
}

#[test]
fn what_a_group_takes_in_memory_is_near_what_it_says() {
    let blob = group_of_texts();
    let group = ColumnGroup::open(&blob).unwrap();
    let bytes: usize = decode_columns(&blob).unwrap().iter().map(|row| row.record.len()).sum();
    assert!((blob.len()..2 * bytes + 64 * 1_024).contains(&group.held_bytes()), "{}", group.held_bytes());
}

/// A column that refers to the one before it, which refers to the one before it, nearly as often as there may be columns.
#[test]
fn columns_that_refer_to_one_another_thousands_of_times_are_read() {
    let blob = damage::chain_of_columns(4_000);
    let group = ColumnGroup::open(&blob).unwrap();
    let rows = group.rows([0, 1]).unwrap();
    assert_eq!(rows.row(0).unwrap().record, decode_columns(&blob).unwrap().row(0).unwrap().record);
}

//! Every row comes back with any contents, and bytes that are no group are refused.

mod chosen;
mod damage;
mod nodes;
mod sizes;
mod values;

use super::*;
use bitacora_formats::Json;
use bitacora_formats::{Data, Event};
use bitacora_formats::{EventDraft, Record, encode_record};
use bitacora_testkit::SeededRng;
use bitacora_testkit::hex_block;

/// The level most tests encode at.
const LEVEL: i32 = 3;

/// A row with nothing special but its record.
fn row(record: &[u8]) -> ColumnRow<'_> {
    ColumnRow {
        time: Micros(1_800_000_000_000_000),
        begins_frame: false,
        begins_request: false,
        derived: false,
        stream_version: StreamVersion::FIRST,
        record,
        part: None,
    }
}

fn rows(records: &[Vec<u8>]) -> Vec<ColumnRow<'_>> {
    records.iter().map(|record| row(record)).collect()
}

/// The record of an event that has these bytes for JSON, whether or not they are any.
fn record_of(id: &str, json: &[u8]) -> Vec<u8> {
    let mut event = Event::new(id, "harness/coder", "tool.completed", "run-7");
    event.data = Data::Json(Json::stored(json.to_vec().into()));
    encoded(event)
}

fn encoded(event: Event<'_>) -> Vec<u8> {
    match Record::draft(event, 0) {
        EventDraft::Clear(record) => encode_record(&record).unwrap(),
        EventDraft::Sensitive { record, .. } => {
            let seal = bitacora_formats::Seal { subject_key: [7; 16], seal: [9; 32] };
            encode_record(&record.seal(seal)).unwrap()
        }
    }
}

/// The blob of the rows, after it was seen that they come back from it.
fn round_trip(rows: &[ColumnRow<'_>]) -> Vec<u8> {
    let blob = encode_columns(rows, LEVEL).unwrap();
    let decoded = decode_columns(&blob).unwrap();
    assert_eq!((decoded.len(), decoded.is_empty()), (rows.len(), rows.is_empty()));
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(decoded.row(index).as_ref(), Some(row), "row {index}");
    }
    assert_eq!(decoded.row(rows.len()), None);
    assert!(decoded.iter().eq(rows.iter().copied()));
    blob
}

/// The rows of the page's example.
fn worked_rows(records: &[Vec<u8>]) -> Vec<ColumnRow<'_>> {
    let mut rows = rows(records);
    rows[0].begins_frame = true;
    rows[0].begins_request = true;
    rows[1].derived = true;
    rows[1].stream_version = StreamVersion::new(2).unwrap();
    rows[2].part = Some(b"sealed");
    rows
}

fn worked_records() -> Vec<Vec<u8>> {
    let observed = |id: &str, json: &[u8]| {
        let mut event = Event::new(id, "h", "x.seen", "run-7");
        event.agent = Some("coder".into());
        event.data = Data::Json(Json::stored(json.to_vec().into()));
        encoded(event)
    };
    vec![
        observed("run-7/1", br#"{"run":"run-7", "n":1}"#),
        observed("run-7/2", br#"{"run":"run-7", "n":5}"#),
        b"no record".to_vec(),
    ]
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let bytes = hex_block(include_str!("../../../docs/formats/columns.md"), 0);
    let records = worked_records();
    let rows = worked_rows(&records);
    assert!(decode_columns(&bytes).unwrap().iter().eq(rows.iter().copied()));
    assert_eq!(hex::encode(encode_columns(&rows, LEVEL).unwrap()), hex::encode(&bytes));
}

#[test]
fn events_of_every_kind_come_back() {
    let mut seeded = SeededRng::new(1);
    for count in [1, 2, 3, 10, 300] {
        let records: Vec<Vec<u8>> =
            (0..count).map(|_| encoded(bitacora_testkit::random_event(&mut seeded))).collect();
        let rows: Vec<ColumnRow<'_>> = records
            .iter()
            .map(|record| ColumnRow {
                time: Micros(seeded.number() >> seeded.below(64)),
                begins_frame: seeded.below(3) == 0,
                begins_request: seeded.below(2) == 0,
                derived: seeded.below(5) == 0,
                stream_version: StreamVersion::new((seeded.number() >> seeded.below(64)).max(1)).unwrap(),
                record,
                part: (seeded.below(3) == 0).then(|| &record[..seeded.below(20).min(record.len())]),
            })
            .collect();
        round_trip(&rows);
    }
}

#[test]
fn no_rows_are_a_group_too() {
    round_trip(&[]);
}

#[test]
fn what_is_no_record_comes_back() {
    let record = record_of("a", b"{\"n\":1}");
    // The source's length in three bytes, where one is enough.
    let long = [&record[..3], &[251, 13, 0], &record[4..]].concat();
    assert!(bitacora_formats::decode_record(&long).is_ok(), "which is read, and must not come back shorter");
    let mut records = vec![Vec::new(), vec![0], vec![1], vec![1; 40], vec![0xFF; 300], long];
    records.extend((0..record.len()).map(|length| record[..length].to_vec()));
    records.extend(bitacora_testkit::damaged(&record));
    records.push([&record[..], &[0]].concat());
    round_trip(&rows(&records));
    for record in records.iter().step_by(17) {
        round_trip(&[row(record)]);
    }
}

#[test]
fn the_extremes_of_what_is_beside_a_record_come_back() {
    let record = record_of("a", b"1");
    let extremes = [1, 2, u64::MAX >> 1, (u64::MAX >> 1) + 1, u64::MAX - 1, u64::MAX];
    let rows: Vec<ColumnRow<'_>> = (0..60)
        .map(|number| ColumnRow {
            time: Micros(extremes[number % 6] - 1),
            begins_frame: number % 2 == 0,
            begins_request: number < 30,
            derived: true,
            stream_version: StreamVersion::new(extremes[number * 7 % 6]).unwrap(),
            record: &record,
            part: Some(&record[..number % 4]),
        })
        .collect();
    round_trip(&rows);
}

#[test]
fn an_empty_part_is_not_none() {
    let record = record_of("a", b"1");
    let blob = round_trip(&[ColumnRow { part: Some(&[]), ..row(&record) }, row(&record)]);
    assert_eq!(decode_columns(&blob).unwrap().row(0).unwrap().part, Some(&[][..]));
}

#[test]
fn groups_are_held_to_their_limits() {
    let many = vec![row(b"x"); MAX_GROUP_ROWS + 1];
    let found = MAX_GROUP_ROWS + 1;
    assert_eq!(encode_columns(&many, LEVEL).unwrap_err(), ColumnsError::TooManyRows { found });
    round_trip(&many[1..]);

    let large = vec![0; MAX_GROUP_BYTES];
    round_trip(&[row(&large)]);
    let found = MAX_GROUP_BYTES + 1;
    let over = [row(&large), row(b"x")];
    assert_eq!(encode_columns(&over, LEVEL).unwrap_err(), ColumnsError::TooLarge { found });
    let over = [ColumnRow { part: Some(b"x"), ..row(&large) }];
    assert_eq!(encode_columns(&over, LEVEL).unwrap_err(), ColumnsError::TooLarge { found });

    for level in [0, -5, 20] {
        assert_eq!(encode_columns(&[], level).unwrap_err(), ColumnsError::Level { level });
    }
}

//! Any bytes are a group of columns or a typed error.
//!
//! Selected rows of a group are the same as in the whole group. The rows of a group come back from another group. Any
//! lines, taken as records or as the data of records, come back from a group unchanged.
#![no_main]

use bitacora_archive_format::{
    ColumnGroup, ColumnRow, MAX_GROUP_BYTES, MAX_GROUP_ROWS, decode_columns, encode_columns,
};
use bitacora_formats::{Data, Event, EventDraft, Json, Micros, Record, StreamVersion, encode_record};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

/// A fast level: compression is not under test here.
const LEVEL: i32 = 1;

fuzz_target!(|bytes: &[u8]| {
    some_of(bytes);
    match decode_columns(bytes) {
        Err(error) => assert_one_line(&error),
        Ok(rows) => {
            let rows: Vec<ColumnRow<'_>> = rows.iter().collect();
            let size: usize = rows.iter().map(|row| row.record.len() + row.part.map_or(0, <[u8]>::len)).sum();
            assert!(rows.len() <= MAX_GROUP_ROWS && size <= MAX_GROUP_BYTES);
            come_back(&rows);
        }
    }
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let records: Vec<Vec<u8>> = lines.iter().map(|line| record(line)).collect();
    let rows: Vec<ColumnRow<'_>> =
        records.iter().zip(lines).map(|(record, line)| row(record, line)).collect();
    come_back(&rows);
});

/// Asks for single rows that the bytes themselves choose. They must equal those among all rows.
fn some_of(bytes: &[u8]) {
    let all = decode_columns(bytes);
    let group = match ColumnGroup::open(bytes) {
        Ok(group) => group,
        Err(error) => {
            assert_one_line(&error);
            return assert!(all.is_err());
        }
    };
    let is_chosen = |index: &usize| bytes.get(index % bytes.len().max(1)).is_some_and(|byte| byte % 3 == 0);
    let indices: Vec<usize> = (0..group.len()).filter(is_chosen).collect();
    match (group.rows(indices.iter().copied()), all) {
        (Ok(chosen), Ok(all)) => {
            assert!(
                indices.iter().map(|index| all.row(*index)).eq((0..indices.len()).map(|at| chosen.row(at)))
            );
        }
        (Ok(chosen), Err(_)) => {
            let size: usize = chosen.iter().map(|row| row.record.len()).sum();
            assert!(chosen.len() == indices.len() && size <= MAX_GROUP_BYTES);
        }
        (Err(error), all) => {
            assert_one_line(&error);
            assert!(all.is_err());
        }
    }
}

fn come_back(rows: &[ColumnRow<'_>]) {
    let decoded = decode_columns(&encode_columns(rows, LEVEL).unwrap()).unwrap();
    assert!(decoded.iter().eq(rows.iter().copied()));
}

/// The record of an event with the line for data, if it is JSON, and else the line itself.
fn record(line: &[u8]) -> Vec<u8> {
    let Ok(json) = Json::check(line) else { return line.to_vec() };
    let mut event = Event::new(format!("id-{}", line.len()), "s", "x.seen", "stream");
    event.data = Data::Json(json);
    match Record::draft(event, 0) {
        EventDraft::Clear(record) => encode_record(&record).unwrap(),
        EventDraft::Sensitive { .. } => panic!("an event without a datasubject"),
    }
}

fn row<'a>(record: &'a [u8], line: &'a [u8]) -> ColumnRow<'a> {
    let length = line.len() as u64;
    ColumnRow {
        time: Micros(1_800_000_000_000_000 + length),
        begins_frame: length.is_multiple_of(2),
        begins_request: length.is_multiple_of(3),
        derived: length.is_multiple_of(5),
        stream_version: StreamVersion::new(length + 1).unwrap(),
        record,
        part: length.is_multiple_of(7).then_some(line),
    }
}

use super::*;
use crate::generated::Seeded;
use crate::record::{Draft, Record, encode_record};

#[test]
fn what_goes_in_comes_out() {
    let mut seeded = Seeded::new(1);
    let records: Vec<Vec<u8>> = (0..100)
        .map(|_| {
            let mut event = seeded.event();
            event.datasubject = None;
            let Draft::Clear(record) = Record::draft(event, 0) else { unreachable!() };
            encode_record(&record).unwrap()
        })
        .collect();
    let rows: Vec<ColumnRow<'_>> = records
        .iter()
        .zip(1..)
        .map(|(record, number)| ColumnRow {
            time: Micros(number),
            begins_frame: number % 3 == 1,
            begins_request: number % 2 == 1,
            derived: number % 5 == 0,
            stream_version: StreamVersion::new(number).unwrap(),
            record,
            part: (number % 4 == 0).then_some(&record[..5]),
        })
        .collect();
    let decoded = decode_columns(&encode_columns(&rows, 3).unwrap()).unwrap();
    assert!(decoded.iter().eq(rows.iter().copied()));
}

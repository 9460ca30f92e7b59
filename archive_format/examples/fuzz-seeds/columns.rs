//! Groups of columns, so small that nothing in them is compressed; and lines that become groups.

use bitacora_archive_format::{ColumnRow, encode_columns};
use bitacora_formats::{Data, Event, EventDraft, Json, Micros, Record, StreamVersion, encode_record};

use super::Seeds;

/// Lines whose values are written in as many ways as columns know.
const LINES: [&str; 6] = [
    r#"{"n":1,"t":"call-0001"}
{"n":2,"t":"call-0002"}
{"n":4,"t":"call-0003"}
{"n":8,"t":"call-0004"}"#,
    r#"{"at":"2026-11-20T13:00:00.123Z"}
{"at":"2026-11-20T13:00:01.456Z"}
{"at":"2026-11-20T13:00:03.789Z"}
{"at":"2026-11-20T13:00:04.001Z"}"#,
    r#"[1.5,-0.5,null]
[2.5,0.25,null]
[3,1,true]
[4.75,1e3,false]"#,
    r#""123e4567-e89b-12d3-a456-426614174000"
"123e4567-e89b-12d3-a456-426614174001"
"123e4567-e89b-12d3-a456-426614174002""#,
    r#""deadbeefdeadbeef"
"0123456789abcdef"
"fedcba9876543210"
"aGVsbG8gd29ybGQhISEhIQ==""#,
    r#"{"id":"id-17","k":"a"}
{"id":"id-17","k":"b"}
{"id":"id-17","k":"a"}
{"id":"id-17","k":"a"}
none"#,
];

pub(crate) fn all() -> Vec<Seeds> {
    let lines = LINES.iter().map(|lines| lines.replace("\\n", "\n").into_bytes());
    let groups = LINES.iter().map(|lines| group(&lines.replace("\\n", "\n")));
    vec![Seeds { target: "columns", inputs: lines.chain(groups).collect() }]
}

/// The group of events that have the lines for data.
fn group(lines: &str) -> Vec<u8> {
    let record = |line: &str| {
        let Ok(json) = Json::check(line.as_bytes()) else { return line.as_bytes().to_vec() };
        let mut event = Event::new("id-17", "s", "x.seen", "run");
        event.agent = Some("coder".into());
        event.data = Data::Json(json);
        let EventDraft::Clear(record) = Record::draft(event, 0) else { return Vec::new() };
        encode_record(&record).unwrap()
    };
    let records: Vec<Vec<u8>> = lines.lines().map(record).collect();
    let rows: Vec<ColumnRow<'_>> = records
        .iter()
        .zip(1..)
        .map(|(record, number)| ColumnRow {
            time: Micros(1_800_000_000_000_000),
            begins_frame: number == 1,
            begins_request: true,
            derived: number == 3,
            stream_version: StreamVersion::new(number).unwrap(),
            record,
            part: (number == 2).then_some(b"part"),
        })
        .collect();
    encode_columns(&rows, 1).unwrap()
}

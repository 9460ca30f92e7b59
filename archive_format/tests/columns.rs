//! Real and generated events as columns: all come back, from far fewer bytes than zstd alone needs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must fail")]

use std::path::PathBuf;

use bitacora_archive_format::{ColumnGroup, ColumnRow, decode_columns, encode_columns};
use bitacora_formats::{Data, Event, EventDraft, Json, Micros, Record, StreamVersion, encode_record};

/// A level that a build without optimisations is not kept waiting by.
const LEVEL: i32 = 9;
/// Lines of a file that are taken.
const LINES: usize = 8_000;

/// The first lines of a file of the samples.
#[expect(clippy::print_stdout, reason = "a test that did not run has to say so")]
fn lines(file: &str) -> Option<Vec<String>> {
    let folder =
        std::env::var_os("BITACORA_SAMPLE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let path = folder.join(file);
    let Ok(packed) = std::fs::read(&path) else {
        println!("NOT RUN: no {}; BITACORA_SAMPLE_DATA names the folder with it", path.display());
        return None;
    };
    let text = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    Some(text.lines().take(LINES).map(str::to_owned).collect())
}

/// Returns the size of events with these lines for data as columns, in tenths of percent of the lines' size under zstd alone.
fn share(lines: &[String]) -> usize {
    let record = |(line, number): (&String, u64)| {
        let mut event = Event::new(format!("line-{number}"), "import", "x.recorded", "lines");
        event.data = Data::Json(Json::check(line.as_bytes()).unwrap());
        match Record::draft(event, 0) {
            EventDraft::Clear(record) => encode_record(&record).unwrap(),
            EventDraft::Sensitive { .. } => panic!("an event without a datasubject"),
        }
    };
    let records: Vec<Vec<u8>> = lines.iter().zip(1..).map(record).collect();
    let rows: Vec<ColumnRow<'_>> = records
        .iter()
        .zip(1..)
        .map(|(record, number)| ColumnRow {
            time: Micros(1_800_000_000_000_000 + number / 100 * 5_000),
            begins_frame: number % 100 == 0,
            begins_request: true,
            derived: false,
            stream_version: StreamVersion::new(number).unwrap(),
            record,
            part: None,
        })
        .collect();
    let blob = encode_columns(&rows, LEVEL).unwrap();
    assert!(decode_columns(&blob).unwrap().iter().eq(rows.iter().copied()), "every row comes back");
    let group = ColumnGroup::open(&blob).unwrap();
    for (first, step) in [(0, 1), (0, 7), (3, 100), (5, 3_001), (rows.len() - 1, 1)] {
        let chosen = group.rows((first..rows.len()).step_by(step)).unwrap();
        assert!(chosen.iter().eq(rows.iter().skip(first).step_by(step).copied()), "some by themselves");
    }
    let alone = zstd::bulk::compress(lines.join("\n").as_bytes(), LEVEL).unwrap().len();
    blob.len() * 1_000 / alone
}

#[test]
fn observations_of_trust_become_a_third_of_what_zstd_alone_makes() {
    let Some(lines) = lines("trust-events-100k.jsonl.zst") else { return };
    let share = share(&lines);
    assert!(share < 400, "{share} ‰");
}

#[test]
fn actions_of_agents_become_less_than_what_zstd_alone_makes() {
    let Some(lines) = lines("claude-code-actions.ndjson.zst") else { return };
    let share = share(&lines);
    assert!(share < 850, "{share} ‰");
}

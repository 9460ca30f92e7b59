//! A measurement of a file of events as columns: bytes, speed each way, and the time for a few events.
//!
//! `cargo run --release -p bitacora-formats --example columns -- FILE [LEVEL]` measures on one core. The file has one
//! JSON value a line and may be compressed by zstd. The values are CloudEvents, or of one of the kinds that `bitacora
//! import` makes events of.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool that is run by hand and prints what it found"
)]

mod events;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bitacora_archive_format::{ColumnGroup, ColumnRow, MAX_GROUP_ROWS, Rows, decode_columns, encode_columns};
use bitacora_formats::{EventDraft, Micros, Record, StreamVersion, encode_record};

/// The level of cold archives.
const LEVEL: i32 = 19;
/// Bytes of records at which a group ends.
const GROUP_BYTES: usize = 8 << 20;
/// Events of one request, and of one frame, as an import sends them.
const REQUEST_EVENTS: usize = 1_000;
/// Events of a group that are taken out by themselves, equally far from one another.
const FEW: usize = 20;
/// Repetitions of every measurement; the fastest time counts.
const ROUNDS: usize = 3;

struct StoredRecord {
    record: Vec<u8>,
    version: StreamVersion,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    let level = arguments.next().map_or(LEVEL, |level| level.parse().unwrap());
    let text = read(&path);
    let stored = store(&text);
    let rows: Vec<ColumnRow<'_>> =
        stored.iter().enumerate().map(|(index, stored)| row(index, stored)).collect();
    let groups = groups(&rows);

    let (mut encoding, mut decoding, mut choosing) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut blobs = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        blobs = groups.iter().map(|group| encode_columns(group, level).unwrap()).collect();
        encoding = encoding.min(start.elapsed());
        let start = Instant::now();
        let decoded: Vec<_> = blobs.iter().map(|blob| decode_columns(blob).unwrap()).collect();
        decoding = decoding.min(start.elapsed());
        let start = Instant::now();
        let chosen: Vec<_> = blobs.iter().map(|blob| few(blob)).collect();
        choosing = choosing.min(start.elapsed());
        for (chosen, group) in chosen.iter().zip(&groups) {
            assert!(
                chosen.iter().eq(few_of(group.len()).map(|index| group[index])),
                "and some by themselves"
            );
        }
        for (decoded, group) in decoded.iter().zip(&groups) {
            assert!(decoded.iter().eq(group.iter().copied()), "every row comes back");
        }
    }
    let bytes: usize = blobs.iter().map(Vec::len).sum();
    let records: usize = stored.iter().map(|stored| stored.record.len()).sum();
    let a_second = |time: Duration| rows.len() as f64 / time.as_secs_f64();
    println!("events {} in {} groups, level {level}", rows.len(), groups.len());
    println!("text of the file {} bytes, records {records}, columns {bytes}", text.len());
    println!(
        "{:.2} x the text, {:.2} x the records",
        text.len() as f64 / bytes as f64,
        records as f64 / bytes as f64
    );
    println!("{:.0} events a second in, {:.0} out", a_second(encoding), a_second(decoding));
    let each = |time: Duration| time.as_secs_f64() * 1_000.0 / blobs.len() as f64;
    println!(
        "{:.2} ms for all events of a group, {:.2} ms for {FEW} of them",
        each(decoding),
        each(choosing)
    );
}

fn few(blob: &[u8]) -> Rows {
    let group = ColumnGroup::open(blob).unwrap();
    group.rows(few_of(group.len())).unwrap()
}

fn few_of(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(rows.div_ceil(FEW).max(1))
}

fn read(path: &str) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes }
}

/// The records of all events, each with its place in its stream.
fn store(text: &[u8]) -> Vec<StoredRecord> {
    let mut versions: HashMap<String, StreamVersion> = HashMap::new();
    let mut stored = Vec::new();
    events::read(text, |event| {
        let next = |version: &StreamVersion| version.next().unwrap();
        let version = versions.get(&*event.stream).map_or(StreamVersion::FIRST, next);
        versions.insert(event.stream.to_string(), version);
        let EventDraft::Clear(record) = Record::draft(event, 0) else { return };
        stored.push(StoredRecord { record: encode_record(&record).unwrap(), version });
    });
    stored
}

fn row(index: usize, stored: &StoredRecord) -> ColumnRow<'_> {
    let begins = index.is_multiple_of(REQUEST_EVENTS);
    ColumnRow {
        time: Micros(1_800_000_000_000_000 + (index / REQUEST_EVENTS) as u64 * 7_123),
        begins_frame: begins,
        begins_request: begins,
        derived: false,
        stream_version: stored.version,
        record: &stored.record,
        part: None,
    }
}

fn groups<'r, 'a>(rows: &'r [ColumnRow<'a>]) -> Vec<&'r [ColumnRow<'a>]> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, row) in rows.iter().enumerate() {
        if index - start == MAX_GROUP_ROWS || (index > start && bytes + row.record.len() > GROUP_BYTES) {
            groups.push(&rows[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += row.record.len();
    }
    groups.push(&rows[start..]);
    groups
}

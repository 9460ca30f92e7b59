use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bitacora_vocabulary::ExportFormat;
use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

use super::*;
use crate::export_plan::HeadMark;

fn plan(format: ExportFormat, selection: &str) -> ExportPlan {
    ExportPlan {
        format,
        ledger: "07".repeat(16),
        name: "main".to_owned(),
        selection: selection.to_owned(),
        head: HeadMark { position: "40".to_owned(), hash: "ab".repeat(32) },
        began: "2026-11-20T13:00:00.000000Z".to_owned(),
        is_recorded: false,
    }
}

fn line(position: u64) -> String {
    format!(
        r#"{{"position":"{position}","streamVersion":"1","recordedAt":"2026-11-20T13:00:00.000000Z","commitment":"47","event":{{"specversion":"1.0","id":"e{position}","source":"s","type":"tool.completed","subject":"session/7","ledgerposition":"9999","data":{{"call":"c{position}","tool":"Bash","status":"ok"}}}}}}"#
    ) + "\n"
}

fn batch(positions: impl IntoIterator<Item = u64>) -> LineBatch {
    let mut batch = LineBatch::default();
    for position in positions {
        batch.push_with(position, (position == 3, position == 4), |out| {
            out.extend_from_slice(line(position).as_bytes());
        });
    }
    batch
}

const FORMATS: [ExportFormat; 5] = [
    ExportFormat::Jsonl,
    ExportFormat::Cloudevents,
    ExportFormat::Csv,
    ExportFormat::Parquet,
    ExportFormat::Ocsf,
];

/// Returns the bytes of a file that is written in these batches, with a checkpoint behind each.
fn written(folder: &Path, name: &str, format: ExportFormat, batches: &[LineBatch]) -> Vec<u8> {
    let names = ExportNames::new(&folder.join(name));
    let mut file = ExportFile::create(plan(format, ""), RowFilter::default(), names, 0).unwrap();
    for batch in batches {
        file.take(batch).unwrap();
        file.checkpoint().unwrap();
    }
    file.finish(Vec::new()).unwrap().publish().unwrap();
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn an_interrupted_export_goes_on_to_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let whole = written(
            folder.path(),
            &format!("whole-{}", format.as_str()),
            format,
            &[batch(1..=20), batch(21..=40)],
        );
        let names = ExportNames::new(&folder.path().join(format.as_str()));
        let mut file = ExportFile::create(plan(format, ""), RowFilter::default(), names.clone(), 0).unwrap();
        file.take(&batch(1..=20)).unwrap();
        file.checkpoint().unwrap();
        // A crash: rows behind the checkpoint may be in the part, or half of one.
        file.take(&batch(21..=30)).unwrap();
        drop(file);
        let mut part = fs::read(&names.part).unwrap();
        part.extend_from_slice(b"half of a r");
        fs::write(&names.part, part).unwrap();
        let mut file = ExportFile::resume(&plan(format, ""), RowFilter::default(), names.clone()).unwrap();
        assert_eq!(file.reached(), 20, "{format:?}");
        file.take(&batch(21..=40)).unwrap();
        let finished = file.finish(Vec::new()).unwrap();
        assert_eq!((finished.tally.rows, finished.tally.erased, finished.tally.unreadable), (40, 1, 1));
        finished.publish().unwrap();
        assert!(fs::read(&names.file).unwrap() == whole, "{format:?}");
        assert!(!names.part.exists() && !names.progress.exists());
    }
}

#[test]
fn every_row_group_of_a_parquet_file_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let batches = [batch(1..=20), batch(21..=30), batch(31..=40)];
    let bytes = written(folder.path(), "events", ExportFormat::Parquet, &batches);
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    assert_eq!(reader.num_row_groups(), 3);
    let positions = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_long(0).unwrap());
    assert!(positions.eq(1..=40));
}

#[test]
fn a_part_that_was_changed_and_another_selection_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    let resume = |selection: &str| {
        ExportFile::resume(&plan(ExportFormat::Jsonl, selection), RowFilter::default(), names.clone())
            .err()
            .unwrap()
            .to_string()
    };
    assert!(resume("").contains("no interrupted export"));
    let mut file =
        ExportFile::create(plan(ExportFormat::Jsonl, ""), RowFilter::default(), names.clone(), 0).unwrap();
    file.take(&batch(1..=3)).unwrap();
    file.checkpoint().unwrap();
    drop(file);
    assert!(resume("type=x.y").contains("another selection"));
    let part = fs::read(&names.part).unwrap();
    fs::write(&names.part, &part[1..]).unwrap();
    assert!(resume("").contains("it is shorter"));
    let mut changed = part.clone();
    changed[7] ^= 1;
    fs::write(&names.part, &changed).unwrap();
    assert!(resume("").contains("its bytes are others"));
    fs::write(&names.progress, "{}").unwrap();
    assert!(resume("").contains("not the progress of an export"));
    fs::remove_file(&names.part).unwrap();
    assert!(names.check(false).unwrap_err().to_string().contains("--resume"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn positions_that_are_missing_stand_in_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    let mut file =
        ExportFile::create(plan(ExportFormat::Jsonl, ""), RowFilter::default(), names.clone(), 0).unwrap();
    file.take(&batch([1, 2, 6, 7, 9])).unwrap();
    let loss = DeclaredLossMark { position: "9".to_owned() };
    file.finish(vec![loss]).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(&names.manifest).unwrap()).unwrap();
    let gaps = serde_json::json!([{"first": 3, "last": 5}, {"first": 8, "last": 8}]);
    assert_eq!((&manifest["gaps"], &manifest["rows"]), (&gaps, &serde_json::json!(5)));
    assert_eq!(manifest["losses"], serde_json::json!([{"position": "9"}]));
}

#[test]
fn a_sender_cannot_claim_the_position_of_a_cloud_event() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = written(folder.path(), "events", ExportFormat::Cloudevents, &[batch([7])]);
    let events: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap().matches("ledgerposition").count(), 1);
    assert_eq!((&events[0]["ledgerposition"], &events[0]["data"]["call"]), (&"7".into(), &"c7".into()));
}

#[test]
fn a_line_that_is_no_event_ends_the_export_with_its_position() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let to = Box::new(SharedWriter(Arc::clone(&written)));
    let mut file = ExportFile::stream(plan(ExportFormat::Csv, ""), RowFilter::default(), to, 0).unwrap();
    let mut batch = LineBatch::default();
    batch.push_with(7, (false, false), |out| out.extend_from_slice(b"{\"position\":\"7\"}\n"));
    let error = file.take(&batch).unwrap_err().to_string();
    assert!(error.contains("position 7"), "{error}");
}

#[derive(Clone)]
struct SharedWriter(Arc<Mutex<Vec<u8>>>);

impl Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

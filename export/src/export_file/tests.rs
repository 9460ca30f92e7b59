use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bitacora_vocabulary::ExportFormat;
use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

use super::*;
use crate::export_plan::HeadMark;
use crate::line_batch::ContentFlags;

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
    let mark = if position == 5 { r#""expiredBy":"2","# } else { "" };
    format!(
        r#"{{"position":"{position}","streamVersion":"1","recordedAt":"2026-11-20T13:00:00.000000Z","commitment":"47",{mark}"event":{{"specversion":"1.0","id":"e{position}","source":"s","type":"tool.completed","subject":"session/7","ledgerposition":"9999","ledgererased":true,"data":{{"call":"c{position}","tool":"Bash","status":"ok"}}}}}}"#
    ) + "\n"
}

fn batch(positions: impl IntoIterator<Item = u64>) -> LineBatch {
    let mut batch = LineBatch::default();
    for position in positions {
        let flags = ContentFlags {
            is_erased: position == 3,
            is_unreadable: position == 4,
            is_expired: position == 5,
        };
        batch.push_with(position, flags, |out| {
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
    let mut file = ExportFile::create(plan(format, ""), RowFilter::default(), &names, 0).unwrap();
    for batch in batches {
        file.take(batch.clone()).unwrap();
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
        let mut file = ExportFile::create(plan(format, ""), RowFilter::default(), &names, 0).unwrap();
        file.take(batch(1..=20)).unwrap();
        file.checkpoint().unwrap();
        // A crash: rows behind the checkpoint may be in the part, or half of one.
        file.take(batch(21..=30)).unwrap();
        drop(file);
        let mut part = fs::read(&names.part).unwrap();
        part.extend_from_slice(b"half of a r");
        fs::write(&names.part, part).unwrap();
        let mut file = ExportFile::resume(&plan(format, ""), RowFilter::default(), names.clone(), 0).unwrap();
        assert_eq!(file.reached(), 20, "{format:?}");
        file.take(batch(21..=40)).unwrap();
        let finished = file.finish(Vec::new()).unwrap();
        let RowTally { rows, erased, expired, unreadable, .. } = finished.tally;
        assert_eq!((rows, erased, expired, unreadable), (40, 1, 1, 1));
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
        ExportFile::resume(&plan(ExportFormat::Jsonl, selection), RowFilter::default(), names.clone(), 0)
            .err()
            .unwrap()
            .to_string()
    };
    assert!(resume("").contains("no interrupted export"));
    let mut file =
        ExportFile::create(plan(ExportFormat::Jsonl, ""), RowFilter::default(), &names, 0).unwrap();
    file.take(batch(1..=3)).unwrap();
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
    assert!(names.check(false).unwrap_err().to_string().contains("whose part is gone; remove it"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn positions_that_are_missing_stand_in_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    let mut file =
        ExportFile::create(plan(ExportFormat::Jsonl, ""), RowFilter::default(), &names, 0).unwrap();
    file.take(batch([1, 2, 6, 7, 9])).unwrap();
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
    assert!(events[0].get("ledgererased").is_none());
}

#[test]
fn a_line_that_is_no_event_ends_the_export_with_its_position() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let to = Box::new(SharedWriter(Arc::clone(&written)));
    let mut file = ExportFile::stream(plan(ExportFormat::Csv, ""), RowFilter::default(), to, 0).unwrap();
    let mut batch = LineBatch::default();
    batch.push_with(7, ContentFlags::default(), |out| out.extend_from_slice(b"{\"position\":\"7\"}\n"));
    let error = file.take(batch).unwrap_err().to_string();
    assert!(error.contains("position 7"), "{error}");
}

#[test]
fn an_expired_row_is_told_apart_in_each_format_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |format: ExportFormat| written(folder.path(), format.as_str(), format, &[batch(4..=5)]);
    let text = |format: ExportFormat| String::from_utf8(file(format)).unwrap();
    let csv = text(ExportFormat::Csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "expired").unwrap();
    assert_eq!((rows[1][column], rows[2][column]), ("false", "true"));
    let events: Vec<serde_json::Value> = serde_json::from_str(&text(ExportFormat::Cloudevents)).unwrap();
    assert!(events[0].get("ledgerexpired").is_none() && events[1]["ledgerexpired"] == true, "{events:?}");
    let ocsf = text(ExportFormat::Ocsf);
    let lines: Vec<serde_json::Value> =
        ocsf.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines[0]["unmapped"].get("expired").is_none() && lines[1]["unmapped"]["expired"] == true,
        "{ocsf}"
    );
    let reader = SerializedFileReader::new(Bytes::from(file(ExportFormat::Parquet))).unwrap();
    let expired = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_bool(column).unwrap());
    assert!(expired.eq([false, true]));
    let manifest = fs::read(folder.path().join("csv.manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["expired"], 1);
}

/// Returns an export of the first rows that was interrupted.
fn interrupted(names: &ExportNames) {
    let plan = plan(ExportFormat::Jsonl, "");
    let mut file = ExportFile::create(plan, RowFilter::default(), names, 0).unwrap();
    file.take(batch(1..=20)).unwrap();
    file.checkpoint().unwrap();
}

fn resume(names: &ExportNames) -> Result<ExportFile, String> {
    let plan = plan(ExportFormat::Jsonl, "");
    ExportFile::resume(&plan, RowFilter::default(), names.clone(), 0).map_err(|error| error.to_string())
}

#[test]
fn two_exports_never_write_one_part() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    interrupted(&names);
    let mut first = resume(&names).unwrap();
    let is_busy = || resume(&names).err().unwrap().contains("another export is writing it");
    assert!(is_busy());
    first.take(batch(21..=40)).unwrap();
    let finished = first.finish(Vec::new()).unwrap();
    assert!(is_busy(), "until it has its name");
    finished.publish().unwrap();
    let sha256 = hex::encode(Sha256::digest(fs::read(&names.file).unwrap()));
    assert_eq!(sha256, finished.sha256);
    assert!(resume(&names).err().unwrap().contains("exists already"));
}

#[test]
fn an_export_that_cannot_begin_leaves_nothing_and_half_of_its_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    let taken = folder.path().join("events.part.json.new");
    fs::create_dir(&taken).unwrap();
    let plan = plan(ExportFormat::Csv, "");
    let refused = ExportFile::create(plan, RowFilter::default(), &names, 0).err().unwrap().to_string();
    assert!(refused.contains("nothing was written") && !refused.contains("--resume"), "{refused}");
    assert!(!names.part.exists() && !names.progress.exists());
    names.check(false).unwrap();
    fs::remove_dir(&taken).unwrap();

    interrupted(&names);
    let progress = fs::read(&names.progress).unwrap();
    fs::remove_file(&names.progress).unwrap();
    for is_resumed in [false, true] {
        let refused = names.check(is_resumed).unwrap_err().to_string();
        assert!(refused.contains("events.part: a part without its progress"), "{refused}");
    }
    fs::remove_file(&names.part).unwrap();
    fs::write(&names.progress, progress).unwrap();
    for is_resumed in [false, true] {
        let refused = names.check(is_resumed).unwrap_err().to_string();
        assert!(refused.contains("events.part.json: the progress of an export whose part"), "{refused}");
    }
}

#[test]
fn a_link_in_the_place_of_a_part_or_a_progress_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    interrupted(&names);
    let other = folder.path().join("other");
    let mut longer = fs::read(&names.part).unwrap();
    longer.extend_from_slice(b"what is not the export's");
    for linked in [&names.part, &names.progress] {
        fs::rename(linked, &other).unwrap();
        if *linked == names.part {
            fs::write(&other, &longer).unwrap();
        }
        symlink(&other, linked).unwrap();
        assert!(resume(&names).err().unwrap().contains("not a regular file"), "{linked:?}");
        fs::rename(&other, linked).unwrap();
    }
    assert_eq!(fs::read(&names.part).unwrap(), longer);
    // The new progress is written under a name that somebody else may have linked.
    fs::write(&other, "other").unwrap();
    symlink(&other, folder.path().join("events.part.json.new")).unwrap();
    resume(&names).unwrap().checkpoint().unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
}

#[test]
fn a_progress_that_no_export_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let names = ExportNames::new(&folder.path().join("events"));
    interrupted(&names);
    let honest: serde_json::Value = serde_json::from_slice(&fs::read(&names.progress).unwrap()).unwrap();
    for (place, value) in [
        ("/tally/rows", u64::MAX.into()),
        ("/tally/rows", 19.into()),
        ("/tally/reached", 19.into()),
        ("/tally/reached", 21.into()),
        ("/tally/reached", u64::MAX.into()),
        ("/tally/last", 21.into()),
        ("/tally/first", 0.into()),
        ("/tally/first", serde_json::Value::Null),
        ("/tally/expired", u64::MAX.into()),
        ("/tally/more_gaps", u64::MAX.into()),
        ("/tally/gaps", serde_json::json!([{"first": 9, "last": 8}])),
        ("/tally/gaps", serde_json::json!([{"first": 0, "last": u64::MAX}])),
        ("/plan/head/position", "41".into()),
        ("/plan/head/position", "19".into()),
        ("/plan/head/hash", "cd".repeat(32).into()),
    ] {
        let mut forged = honest.clone();
        *forged.pointer_mut(place).unwrap() = value;
        fs::write(&names.progress, forged.to_string()).unwrap();
        let refused = resume(&names).err().unwrap_or_default();
        assert!(refused.contains("not the progress of an export"), "{place}: {refused:?}");
    }
    fs::write(&names.progress, honest.to_string()).unwrap();
    resume(&names).unwrap();
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

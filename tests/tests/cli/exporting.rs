//! Tests of `export`: what is in the file, and what happens to files that are there, interrupted or read by others.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::PROGRAM;
use crate::governing::LedgerAccess;
use crate::sample::{Sample, code, command, told, why};

/// A Python that has the packages of `tests/exports/requirements.txt`.
const PYTHON: &str = "BITACORA_PYTHON";
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/exports/check.py");

/// Events of a session with calls that ended in each way, and some that are hard to write in a format.
fn with_calls(sample: &Sample) -> PathBuf {
    let file = sample.folder.path().join("events.ndjson");
    let mut lines = Vec::new();
    let mut add = |id: &str, kind: &str, data: Value| {
        let mut event = json!({"specversion": "1.0", "id": id, "source": "agent/7", "type": kind, "subject": "session/é,1",
                "session": "é,1", "agent": "coder", "time": "2026-11-20T10:11:12Z", "tags": "a b", "extra": 7, "data": data});
        if let Some(call) = event["data"]["call"].as_str().map(str::to_owned) {
            event["call"] = call.into();
        }
        lines.push(event.to_string());
    };
    for (call, end) in [("c1", "tool.completed"), ("c2", "tool.failed"), ("c3", "tool.blocked")] {
        add(
            &format!("{call}-asked"),
            "tool.requested",
            json!({"call": call, "tool": "Bash", "args": {"command": "ls"}}),
        );
        let data = match end {
            "tool.completed" => json!({"call": call, "tool": "Bash", "status": "ok", "duration_ms": 40}),
            "tool.failed" => {
                json!({"call": call, "tool": "Bash", "status": "error", "error_type": "exit_code", "exit_code": 1})
            }
            _ => json!({"call": call, "tool": "Bash", "status": "rejected", "by": "person"}),
        };
        add(&format!("{call}-ended"), end, data);
    }
    add("odd", "x.odd", json!({"text": "one, \"two\"\r\nthree", "tool": {"no": "name"}}));
    add("claims", "x.claims", json!(null));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    assert_eq!(code(&sample.run(&["append", file.to_str().unwrap()])), 0);
    file
}

fn exported(sample: &Sample, name: &str, arguments: &[&str]) -> (PathBuf, Value) {
    let path = sample.folder.path().join(name);
    let mut all = vec!["export", "--json", "--out", path.to_str().unwrap()];
    all.extend(arguments);
    let output = sample.run(&all);
    assert_eq!(code(&output), 0, "{}", why(&output));
    (path, told(&output))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The answer of the readers that are not ours, where a Python has them.
fn checked(format: &str, path: &Path) -> Option<Value> {
    let Some(python) = std::env::var_os(PYTHON) else {
        let why = "names no Python with the packages of tests/exports/requirements.txt";
        let _unheard = writeln!(std::io::stderr(), "NOT RUN: {PYTHON} {why}").is_err();
        return None;
    };
    let output = Command::new(python).args(["-I", CHECK, format]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn json_lines_are_those_of_a_read_and_the_manifest_ties_them_to_the_head() {
    let sample = Sample::new(2);
    let (path, told) = exported(&sample, "all.jsonl", &[]);
    let read = sample.run(&["read", "--json"]);
    assert_eq!(fs::read(&path).unwrap(), read.stdout);
    let manifest: Value =
        serde_json::from_slice(&fs::read(beside(&path, ".manifest.json")).unwrap()).unwrap();
    let rows = lines(&String::from_utf8(read.stdout).unwrap());
    let last = rows.last().unwrap()["position"].clone();
    assert_eq!(manifest["rows"], rows.len());
    assert_eq!((&manifest["first"], &manifest["last"]), (&json!("1"), &last));
    assert_eq!(
        (&manifest["sha256"], &manifest["bytes"]),
        (&json!(sha256(&path)), &json!(fs::metadata(&path).unwrap().len()))
    );
    assert_eq!((&manifest["gaps"], &manifest["losses"]), (&json!([]), &json!([])));
    assert_eq!((&manifest["head"]["position"], &manifest["recorded"]), (&last, &json!(false)));
    assert_eq!(told["manifestSha256"], sha256(&beside(&path, ".manifest.json")));
    assert!(!beside(&path, ".part").exists() && !beside(&path, ".part.json").exists());
}

#[test]
fn each_format_has_the_rows_of_a_selection_with_their_positions() {
    let sample = Sample::new(0);
    with_calls(&sample);
    let (path, _) = exported(
        &sample,
        "calls.jsonl",
        &["--tool", "Bash", "--type", "tool.failed", "--type", "decision.made"],
    );
    let rows = lines(&fs::read_to_string(path).unwrap());
    let kinds: Vec<_> = rows.iter().map(|row| row["event"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool.failed", "decision.made", "decision.made", "decision.made"]);
    let verdict = rows[1]["event"]["data"]["verdict"].as_str().unwrap();
    let (path, _) = exported(&sample, "verdicts.jsonl", &["--verdict", verdict]);
    assert!(
        lines(&fs::read_to_string(path).unwrap())
            .iter()
            .all(|row| row["event"]["data"]["verdict"] == verdict)
    );

    let positions: Vec<Value> = lines(&String::from_utf8(sample.run(&["read", "--json"]).stdout).unwrap())
        .iter()
        .map(|row| row["position"].clone())
        .collect();
    let (path, _) = exported(&sample, "all.json", &["--format", "cloudevents"]);
    let batch: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(batch.iter().map(|event| event["ledgerposition"].clone()).collect::<Vec<_>>(), positions);
    let (path, _) = exported(&sample, "none.json", &["--format", "cloudevents", "--type", "x.none"]);
    assert_eq!(fs::read_to_string(path).unwrap(), "[]\n");

    let (path, _) = exported(&sample, "all.csv", &["--format", "csv"]);
    let csv = fs::read_to_string(path).unwrap();
    assert!(csv.starts_with("position,recorded_at,stream,"), "{csv}");
    assert!(
        csv.contains("\"session/é,1\"")
            && csv.contains("\"{\"\"text\"\":\"\"one, \\\"\"two\\\"\"\\r\\nthree\"\""),
        "{csv}"
    );
    assert_eq!(csv.split("\r\n").count(), positions.len() + 2);

    let (path, _) = exported(&sample, "all.ocsf", &["--format", "ocsf"]);
    let events = lines(&fs::read_to_string(&path).unwrap());
    assert_eq!(
        events.iter().map(|event| event["unmapped"]["position"].clone()).collect::<Vec<_>>(),
        positions
    );
    if let Some(checked) = checked("ocsf", &path) {
        assert_eq!(checked["faults"], json!([]));
        assert_eq!(checked["classes"]["api_activity"], 9, "{checked}");
    }
}

#[test]
fn another_program_reads_the_same_out_of_parquet() {
    let sample = Sample::new(1);
    with_calls(&sample);
    let (path, _) = exported(&sample, "all.parquet", &["--format", "parquet"]);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let Some(table) = checked("parquet", &path) else { return };
    let rows = lines(&String::from_utf8(sample.run(&["read", "--json"]).stdout).unwrap());
    let found = table["rows"].as_array().unwrap();
    assert_eq!(found.len(), rows.len());
    for (found, row) in found.iter().zip(&rows) {
        assert_eq!(found["position"].to_string(), row["position"].as_str().unwrap());
        assert_eq!((&found["id"], &found["type"]), (&row["event"]["id"], &row["event"]["type"]));
        let data = found["data"].as_str().map(|data| serde_json::from_str::<Value>(data).unwrap());
        assert_eq!(data.as_ref().unwrap_or(&Value::Null), &row["event"]["data"]);
        let time = row["recordedAt"].as_str().unwrap();
        assert_eq!(found["recorded_at"].as_str().unwrap()[..19], time[..19]);
    }
    assert!(table["types"]["recorded_at"].as_str().unwrap().starts_with("timestamp[us, tz=UTC"), "{table}");
}

#[test]
fn files_that_are_there_stay_and_stdout_takes_what_has_no_end() {
    let sample = Sample::new(1);
    let (path, _) = exported(&sample, "all.jsonl", &[]);
    let before = fs::read(&path).unwrap();
    let again = sample.run(&["export", "--out", path.to_str().unwrap()]);
    assert_eq!(code(&again), 1);
    assert!(why(&again).contains("exists already"), "{}", why(&again));
    assert_eq!(fs::read(&path).unwrap(), before);
    let fresh = sample.folder.path().join("fresh");
    let resumed = sample.run(&["export", "--resume", "--out", fresh.to_str().unwrap()]);
    assert!(why(&resumed).contains("no interrupted export"), "{}", why(&resumed));
    assert!(!fresh.exists() && !beside(&fresh, ".part").exists());
    assert_eq!(sample.run(&["export", "--out", "-"]).stdout, before);
    let parquet = sample.run(&["export", "--out", "-", "--format", "parquet"]);
    assert_eq!(code(&parquet), 2);
    // A reader that has seen enough.
    let (data, keyring) = (sample.data(), sample.keyring_file());
    let mut closed = command(&["export", "--out", "-"]);
    closed.arg("--data").arg(data).arg("--keyring").arg(keyring);
    let mut child = closed.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!((child.wait().unwrap().code(), error.as_str()), (Some(0), ""));
}

/// The signal of a ledger that was rolled back: an incremental export meets it first.
#[test]
fn an_export_that_begins_past_the_head_is_refused() {
    let sample = Sample::new(1);
    let path = sample.folder.path().join("late.jsonl");
    let export = |after: &str| sample.run(&["export", "--out", path.to_str().unwrap(), "--after", after]);
    let refused = export("999999");
    assert_eq!(code(&refused), 30, "{}", why(&refused));
    assert!(why(&refused).contains("past the head"), "{}", why(&refused));
    assert!(!path.exists() && !beside(&path, ".part").exists());
    let head =
        String::from_utf8(sample.run(&["read", "--json", "--backward", "--limit", "1"]).stdout).unwrap();
    let head: Value = serde_json::from_str(head.trim()).unwrap();
    assert_eq!(code(&export(head["position"].as_str().unwrap())), 0, "nothing is new, and nothing is wrong");
}

#[test]
fn a_full_disk_ends_an_export_with_a_part_that_goes_on() {
    let sample = Sample::new(0);
    with_calls(&sample);
    for format in ["jsonl", "csv", "cloudevents", "ocsf", "parquet"] {
        let (whole, _) = exported(&sample, &format!("whole.{format}"), &["--format", format]);
        let path = sample.folder.path().join(format!("cut.{format}"));
        // The shell's limit on the size of files stands for a full disk: no file grows past 4 KiB.
        let data = sample.data();
        let line = format!(
            "ulimit -f 4; trap '' XFSZ; exec {PROGRAM} export --data {} --keyring {} --format {format} --out {}",
            data.display(),
            sample.keyring_file().display(),
            path.display()
        );
        let cut = Command::new("bash").args(["-c", &line]).output().unwrap();
        assert_eq!(code(&cut), 1, "{format}");
        assert!(why(&cut).contains("--resume"), "{}", why(&cut));
        assert!(beside(&path, ".part").exists() && !path.exists());
        let refused = sample.run(&["export", "--format", format, "--out", path.to_str().unwrap()]);
        assert!(why(&refused).contains("--resume"), "{}", why(&refused));
        let other = if format == "csv" { "jsonl" } else { "csv" };
        let other = sample.run(&["export", "--resume", "--format", other, "--out", path.to_str().unwrap()]);
        assert!(why(&other).contains("another format"), "{}", why(&other));
        let resumed =
            sample.run(&["export", "--resume", "--format", format, "--out", path.to_str().unwrap()]);
        assert_eq!(code(&resumed), 0, "{}", why(&resumed));
        assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap(), "{format}");
    }
}

#[test]
fn an_export_that_cannot_begin_leaves_nothing_and_says_so() {
    let sample = Sample::new(1);
    let nowhere = sample.run(&["export", "--out", "/nonexistent/all.jsonl"]);
    assert_eq!(code(&nowhere), 1);
    assert!(why(&nowhere).contains("nothing was written"), "{}", why(&nowhere));
    assert!(!why(&nowhere).contains("--resume"), "{}", why(&nowhere));
    // A disk that is full from the first byte on.
    let path = sample.folder.path().join("full.jsonl");
    let line = format!(
        "ulimit -f 0; trap '' XFSZ; exec {PROGRAM} export --data {} --keyring {} --out {}",
        sample.data().display(),
        sample.keyring_file().display(),
        path.display()
    );
    let full = Command::new("bash").args(["-c", &line]).output().unwrap();
    assert_eq!(code(&full), 1);
    assert!(why(&full).contains("nothing was written"), "{}", why(&full));
    assert!(!beside(&path, ".part").exists() && !beside(&path, ".part.json").exists());
    exported(&sample, "full.jsonl", &[]);
}

#[test]
fn a_selection_that_no_event_can_be_in_is_refused() {
    let sample = Sample::new(1);
    let path = sample.folder.path().join("none.jsonl");
    let (day, earlier) = ("2026-11-20T00:00:00Z", "2026-11-19T00:00:00Z");
    for (selection, said) in [
        (["--after", "10", "--until", "5"], "found --until 5 at or before --after 10"),
        (["--after", "5", "--until", "5"], "found --until 5 at or before --after 5"),
        (["--since", day, "--before", earlier], "found --before 2026-11-19T00:00:00.000000Z at or before"),
    ] {
        let refused = sample.run(&[&["export", "--out", path.to_str().unwrap()], &selection[..]].concat());
        assert_eq!(code(&refused), 2, "{selection:?}: {}", why(&refused));
        assert!(why(&refused).contains(said), "{}", why(&refused));
    }
    assert!(!path.exists() && !beside(&path, ".part").exists());
}

#[test]
fn a_part_is_gone_on_with_by_one_program_and_at_the_head_that_it_began_at() {
    let sample = Sample::new(0);
    with_calls(&sample);
    let path = sample.folder.path().join("cut.jsonl");
    let line = format!(
        "ulimit -f 4; trap '' XFSZ; exec {PROGRAM} export --data {} --keyring {} --out {}",
        sample.data().display(),
        sample.keyring_file().display(),
        path.display()
    );
    assert_eq!(code(&Command::new("bash").args(["-c", &line]).output().unwrap()), 1);
    let resume = || sample.run(&["export", "--resume", "--out", path.to_str().unwrap()]);
    let part = fs::File::open(beside(&path, ".part")).unwrap();
    part.lock().unwrap();
    let second = resume();
    assert_eq!(code(&second), 1);
    assert!(why(&second).contains("another export is writing it"), "{}", why(&second));
    drop(part);
    // A head that the ledger never had is none to end at.
    let progress = fs::read_to_string(beside(&path, ".part.json")).unwrap();
    let mut forged: Value = serde_json::from_str(&progress).unwrap();
    forged["plan"]["head"]["hash"] = "ab".repeat(32).into();
    fs::write(beside(&path, ".part.json"), forged.to_string()).unwrap();
    assert!(why(&resume()).contains("it began at a head with another hash"), "{}", why(&resume()));
    fs::write(beside(&path, ".part.json"), &progress).unwrap();
    let more = sample.folder.path().join("more.ndjson");
    let event = json!({"specversion": "1.0", "id": "more", "source": "a", "type": "x.more", "subject": "s"});
    fs::write(&more, format!("{event}\n")).unwrap();
    assert_eq!(code(&sample.run(&["append", more.to_str().unwrap()])), 0);
    let resumed = resume();
    assert_eq!(code(&resumed), 0, "{}", why(&resumed));
    let manifest: Value =
        serde_json::from_slice(&fs::read(beside(&path, ".manifest.json")).unwrap()).unwrap();
    let began: Value = serde_json::from_str(&progress).unwrap();
    assert_eq!(manifest["head"], began["plan"]["head"]);
    assert_eq!(manifest["sha256"], sha256(&path));
}

#[test]
fn a_declared_loss_in_the_range_stands_in_the_manifest() {
    let sample = Sample::new(3);
    let path = sample.folder.path().join("all.jsonl");
    let export = ["--anchor", "none", "export", "--out", path.to_str().unwrap()];
    let mut bytes = fs::read(sample.segment(3)).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[written / 2] ^= 1;
    fs::write(sample.segment(3), bytes).unwrap();
    let damaged = sample.run(&export);
    assert_eq!(code(&damaged), 50, "{}", why(&damaged));
    assert!(!path.exists() && beside(&path, ".part").exists());
    let declared = sample.run(&["--anchor", "none", "recover", "--declare-loss"]);
    assert_eq!(code(&declared), 0, "{}", why(&declared));
    let resumed = sample.run(&[&export[..], &["--resume"]].concat());
    assert!(why(&resumed).contains("a loss was declared"), "{}", why(&resumed));
    fs::remove_file(beside(&path, ".part")).unwrap();
    fs::remove_file(beside(&path, ".part.json")).unwrap();
    let whole = sample.run(&export);
    assert_eq!(code(&whole), 0, "{}", why(&whole));
    let manifest: Value =
        serde_json::from_slice(&fs::read(beside(&path, ".manifest.json")).unwrap()).unwrap();
    let rows = lines(&fs::read_to_string(&path).unwrap());
    let recovered = rows.iter().find(|row| row["event"]["type"] == "ledger.recovered").unwrap();
    assert_eq!(manifest["losses"], json!([{"position": recovered["position"]}]));
}

#[test]
fn a_service_records_each_export_and_refuses_those_of_agents() {
    let access = LedgerAccess::service();
    let LedgerAccess::Service { folder, .. } = &access else { unreachable!() };
    let token = |name: &str, arguments: &[&str]| {
        let file = folder.path().join(name);
        fs::write(&file, access.does(arguments)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let admin = token("admin.token", &["token", "create", "--role", "admin"]);
    let by = ["--token-file", &admin];
    let path = folder.path().join("all.jsonl");
    let told = access.json(0, &[&["export", "--out", path.to_str().unwrap()], &by[..]].concat());
    let position = told["recorded"].as_str().unwrap();
    let event =
        lines(&access.does(&[&["read", "--json", "--type", "export.made"], &by[..]].concat())).remove(0);
    assert_eq!(event["position"], position);
    let data = &event["event"]["data"];
    assert_eq!(
        (&data["sha256"], &data["manifest_sha256"]),
        (&json!(sha256(&path)), &json!(sha256(&beside(&path, ".manifest.json"))))
    );
    assert_eq!(data["rows"], lines(&fs::read_to_string(&path).unwrap()).len());
    assert!(fs::read_to_string(beside(&path, ".receipt")).unwrap().starts_with("c2sp.org/tlog-proof@v1\n"));

    let create = |role: &[&'static str]| [&["token", "create", "--role"], role, &by[..]].concat();
    let agent = token("agent.token", &create(&["agent", "--agent", "coder"]));
    let other = folder.path().join("other.jsonl");
    let export = ["export", "--out", other.to_str().unwrap(), "--token-file"];
    let refused = access.run(&[&export[..], &[&agent]].concat());
    assert_eq!(code(&refused), 3, "{}", why(&refused));
    assert!(!other.exists() && !beside(&other, ".part").exists());
    let auditor = token("auditor.token", &create(&["auditor"]));
    access.does(&[&export[..], &[&auditor]].concat());
}

#[test]
fn an_export_is_imported_again_with_the_same_attributes_and_data() {
    let sample = Sample::new(0);
    with_calls(&sample);
    let (path, _) = exported(&sample, "all.jsonl", &[]);
    let other = Sample::new(0);
    let import = told(&other.run(&["import", "--json", path.to_str().unwrap()]));
    assert_eq!(import["created"], 8 + 1, "{import}");
    let events = |sample: &Sample, kinds: &[&str]| {
        let mut arguments = vec!["read", "--json"];
        kinds.iter().for_each(|kind| arguments.extend(["--type", kind]));
        let rows = lines(&String::from_utf8(sample.run(&arguments).stdout).unwrap());
        rows.into_iter().map(|row| row["event"].clone()).collect::<Vec<_>>()
    };
    let kinds = ["tool.requested", "tool.completed", "tool.failed", "tool.blocked", "x.odd", "x.claims"];
    assert_eq!(events(&other, &kinds), events(&sample, &kinds));
    assert_eq!(events(&other, &["decision.made"]).len(), events(&sample, &["decision.made"]).len());
    let again = told(&other.run(&["import", "--json", path.to_str().unwrap()]));
    assert_eq!((&again["created"], &again["duplicates"]), (&json!(0), &json!(9)), "{again}");
    assert_eq!(events(&other, &["decision.made"]).len(), 3);
    // The same events in another format, with two that the other ledger derived too: new is the event of this import alone.
    let (path, _) = exported(&sample, "all.json", &["--format", "cloudevents"]);
    let again = told(&other.run(&["import", "--json", path.to_str().unwrap()]));
    assert_eq!((&again["created"], &again["duplicates"]), (&json!(1), &json!(10)), "{again}");
    assert_eq!(again["rejected"]["differing"], 0, "{again}");
    assert_eq!(again["passedOver"], json!({"event of the service": 3}), "{again}");
    assert_eq!(events(&other, &["decision.made"]).len(), 3);
}

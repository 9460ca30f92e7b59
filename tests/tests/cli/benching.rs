//! The benchmark leaves nothing behind, touches nothing that is there, and says what it measured.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::PROGRAM;
use crate::sample::code;

/// No command takes longer to hear an interruption.
const PATIENCE: Duration = Duration::from_secs(30);

fn bench(below: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(below).arg("bench").args(arguments);
    command
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_short_run_measures_everything_it_was_asked_to_and_leaves_nothing() {
    let below = tempfile::tempdir().unwrap();
    let arguments = ["--seconds", "1", "--only", "disk", "--only", "append", "--only", "http", "--json"];
    let run = bench(below.path(), &arguments).output().unwrap();
    assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    let results: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(results["machine"]["cores"].as_u64().unwrap() > 0);
    let measurements = results["measurements"].as_array().unwrap();
    let names: Vec<&str> = measurements.iter().map(|one| one["name"].as_str().unwrap()).collect();
    for name in ["disk/sync-4k", "disk/sync-64k", "append/1x1", "append/16x100", "http/256x1", "http/4x1000"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    for one in measurements {
        let figure = |name: &str| one["figures"][name].as_f64().unwrap_or_default();
        assert!(0.0 < figure("p50_us") && figure("p50_us") <= figure("max_us"), "{one}");
        assert!(figure("events_per_s") > 0.0 || one["name"].as_str().unwrap().starts_with("disk/"), "{one}");
    }
    assert!(is_empty(below.path()), "the folder is left behind");
}

#[test]
fn a_filled_ledger_is_read_opened_and_verified() {
    let below = tempfile::tempdir().unwrap();
    let arguments = ["--only", "read", "--only", "open", "--only", "verify", "--events", "2500", "--json"];
    let run = bench(below.path(), &arguments).output().unwrap();
    assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    let results: Value = serde_json::from_slice(&run.stdout).unwrap();
    let figure = |measurement: &str, figure: &str| {
        let mut measurements = results["measurements"].as_array().unwrap().iter();
        let found = measurements.find(|one| one["name"] == measurement).unwrap();
        found["figures"][figure].as_f64().unwrap()
    };
    assert!((figure("load/8x1000", "answers") - 3.0).abs() < 0.1);
    for (measurement, name) in [
        ("load/8x1000", "peak_memory_bytes"),
        ("read/scan", "events_per_s"),
        ("read/scan-http", "events_per_s"),
        ("read/stream-cold", "max_us"),
        ("read/stream-warm", "p50_us"),
        ("open/cold", "max_us"),
        ("verify/chain", "share_of_blake3"),
        ("verify/tree", "events_per_s"),
    ] {
        assert!(figure(measurement, name) > 0.0, "{measurement}: {name}");
    }
    assert!(is_empty(below.path()), "the folder is left behind");
}

#[test]
fn decisions_replays_rolling_segments_and_heads_are_measured_too() {
    let below = tempfile::tempdir().unwrap();
    let groups = ["--only", "decide", "--only", "replay", "--only", "roll", "--only", "heads"];
    let short = ["--seconds", "0.2", "--events", "800", "--json"];
    let run = bench(below.path(), &[&groups[..], &short].concat()).output().unwrap();
    assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    let results: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(results.get("failures"), None);
    let measurements = results["measurements"].as_array().unwrap();
    for (name, figure) in [
        ("decide/append-1", "events_per_s"),
        ("decide/1", "calls_per_s"),
        ("decide/alone-256", "times_an_append"),
        ("decide/beside-uploads", "calls_per_s"),
        ("decide/uploads", "events_per_s"),
        ("replay/calls", "calls_per_s"),
        ("replay/fold", "events_per_s"),
        ("replay/open-without", "max_us"),
        ("roll/16x100", "events_per_s"),
        ("heads/with", "share_without_heads"),
    ] {
        let found = measurements.iter().find(|one| one["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{name} in {measurements:?}"));
        assert!(found["figures"][figure].as_f64().unwrap() > 0.0, "{found}");
    }
    assert!(is_empty(below.path()), "the folder is left behind");
}

#[test]
fn records_are_archived_checked_and_packed_by_others() {
    let below = tempfile::tempdir().unwrap();
    let line = |number: u32| {
        let key = ["read", "write", "shell"][number as usize % 3];
        format!(
            r#"{{"timestamp":{},"key":"{key}","score":{}}}"#,
            1_770_000_000_000_u64 + u64::from(number),
            number * 37 % 1_000
        )
    };
    let lines: Vec<String> = (0..700).map(line).collect();
    let text = lines.join("\n") + "\n";
    fs::write(below.path().join("records"), &text).unwrap();
    let arguments = ["--only", "archive", "--records", "records", "--type", "x.seen", "--stream", "{key}"];
    let mapped = ["--id-from", "timestamp,key", "--time-from", "timestamp", "--json"];
    let run = bench(below.path(), &[&arguments[..], &mapped].concat()).output().unwrap();
    assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    let results: Value = serde_json::from_slice(&run.stdout).unwrap();
    let measurements = results["measurements"].as_array().unwrap();
    let figures = |name: &str| {
        let found = measurements.iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("{name} in {measurements:?}"))["figures"].clone()
    };
    let figure = |name: &str, figure: &str| figures(name)[figure].as_f64().unwrap_or_default();
    for (name, known) in [
        ("archive/whole", &["events_per_s"][..]),
        ("archive/in", &["events_per_s"]),
        ("archive/out", &["events_per_s"]),
        ("archive/few", &["answers", "p50_us", "p99_us", "p999_us", "max_us", "max_over_p50"]),
        ("archive/blake3", &["bytes_per_s"]),
        ("archive/check", &["bytes_per_s", "share_of_blake3"]),
        ("archive/size", &["line_bytes", "packed_bytes", "index_bytes", "times_smaller", "share_of_zstd19"]),
        ("archive/zstd-3", &["packed_bytes", "times_smaller", "bytes_per_s"]),
        ("archive/zstd-19-long", &["packed_bytes", "times_smaller", "bytes_per_s"]),
        ("archive/seed", &["times_smaller"]),
    ] {
        assert_eq!(figures(name).as_object().unwrap().len(), known.len(), "{name}: {}", figures(name));
        for one in known {
            assert!(figure(name, one) > 0.0, "{name}: {one}");
        }
    }
    let packed = figure("archive/size", "packed_bytes");
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-6;
    assert!(near(figure("archive/size", "line_bytes"), text.len() as f64));
    assert!(near(figure("archive/size", "times_smaller"), text.len() as f64 / packed));
    assert!(figure("archive/size", "index_bytes") < packed);
    let long = figure("archive/zstd-19-long", "packed_bytes");
    assert!(near(figure("archive/size", "share_of_zstd19"), packed / long));
    assert!(long <= figure("archive/zstd-3", "packed_bytes"));
    let speeds = figure("archive/check", "bytes_per_s") / figure("archive/blake3", "bytes_per_s");
    assert!(near(figure("archive/check", "share_of_blake3"), speeds));

    fs::remove_file(below.path().join("records")).unwrap();
    assert!(is_empty(below.path()), "the folder is left behind");
    fs::write(below.path().join("saved"), &run.stdout).unwrap();
    let shown = bench(below.path(), &["--from", "saved", "--markdown"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let row = shown.lines().find(|line| line.contains("768 events of 700 records")).unwrap();
    for said in ["bytes of lines", "bytes packed", "of them index", "times smaller", "of zstd -19 --long"] {
        assert!(row.contains(said), "{row}");
    }
    assert!(shown.contains("checked without keys |") && shown.contains("19.41 times smaller"), "{shown}");
}

#[test]
fn saved_results_are_shown_compared_and_drawn_without_measuring() {
    let below = tempfile::tempdir().unwrap();
    let arguments = ["--seconds", "1", "--only", "append", "--shape", "2x3", "--json"];
    let run = bench(below.path(), &arguments).output().unwrap();
    assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
    fs::write(below.path().join("saved"), &run.stdout).unwrap();
    let said = |arguments: &[&str]| {
        let run = bench(below.path(), arguments).output().unwrap();
        assert_eq!(code(&run), 0, "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    let shown = said(&["--from", "saved", "--compare", "saved", "--plot", "plot.svg"]);
    assert!(shown.contains("2 callers × 3") && shown.contains("1.00×"), "{shown}");
    assert!(fs::read_to_string(below.path().join("plot.svg")).unwrap().starts_with("<svg"));
    assert!(said(&["--from", "saved", "--markdown"]).contains("| in process, 2 callers × 3 |"));

    fs::write(below.path().join("cut"), &run.stdout[..run.stdout.len() / 2]).unwrap();
    fs::write(below.path().join("other"), "{}").unwrap();
    for name in ["cut", "other", "missing", "."] {
        for flag in ["--from", "--compare"] {
            let run = bench(below.path(), &[flag, name]).output().unwrap();
            assert_eq!(code(&run), 1, "{flag} {name}");
            assert_eq!(String::from_utf8(run.stderr).unwrap().lines().count(), 1);
        }
    }
}

#[test]
fn a_folder_that_exists_is_not_touched() {
    let below = tempfile::tempdir().unwrap();
    let there = below.path().join("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "mine").unwrap();
    for folder in ["there", ".", "there/mine"] {
        let run = bench(below.path(), &["--only", "disk", "--folder", folder]).output().unwrap();
        assert_eq!(code(&run), 1);
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(said.contains("exists already") && said.lines().count() == 1, "{said}");
    }
    assert_eq!(fs::read_to_string(there.join("mine")).unwrap(), "mine");
    let run = bench(below.path(), &["--only", "disk", "--folder", "not/there"]).output().unwrap();
    assert_eq!(code(&run), 1);
}

#[test]
fn what_cannot_be_measured_is_a_usage_error() {
    let below = tempfile::tempdir().unwrap();
    for arguments in [
        &["--seconds", "0"][..],
        &["--seconds", "0.05"],
        &["--seconds", "61"],
        &["--seconds", "inf"],
        &["--seconds", "x"],
        &["--only", "everything"],
        &["--shape", "0x1"],
        &["--events", "0"],
        &["--from", "saved", "--only", "disk"],
        &["--seconds", "-1"],
        &["x"],
    ] {
        assert_eq!(code(&bench(below.path(), arguments).output().unwrap()), 2, "{arguments:?}");
    }
    assert!(is_empty(below.path()));
}

#[test]
fn an_interruption_ends_it_and_its_service_and_removes_its_folder() {
    for only in ["append", "http"] {
        let below = tempfile::tempdir().unwrap();
        let mut command = bench(below.path(), &["--seconds", "60", "--only", only, "--folder", "measured"]);
        let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let place = below.path().join("measured").join(format!("{only}-1x1"));
        let ledger = place.join("data/ledgers/main/segments");
        let began = Instant::now();
        while !ledger.exists() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert!(Command::new("kill").arg("-INT").arg(run.id().to_string()).status().unwrap().success());
        let began = Instant::now();
        let ended = run.wait().unwrap();
        assert!(began.elapsed() < PATIENCE);
        assert_eq!(ended.code(), Some(130));
        let mut said = String::new();
        // It ends only once every process that has it has ended, the service too.
        run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("interrupted"), "{said}");
        assert!(is_empty(below.path()), "the folder is left behind");
    }
}

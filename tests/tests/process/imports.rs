//! Real recordings imported by the real program: right counts, and a second import adds nothing.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

use crate::PROGRAM;
use crate::own_events::own_events;

/// A file or folder of the sample beside a checkout; `BITACORA_SAMPLE_DATA` names another folder.
pub(crate) fn sample(name: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder =
        std::env::var_os("BITACORA_SAMPLE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    let notice = format!("NOT RUN: the sample is not there ({})\n", path.display());
    // Past the harness, which shows nobody what a passing test prints.
    std::io::stderr().write_all(notice.as_bytes()).unwrap();
    None
}

/// Runs `import` and gives what it tells.
pub(crate) fn import(url: &str, path: &Path, flags: &[&str]) -> Value {
    let mut command = Command::new(PROGRAM);
    command.args(["import", "--json", "--url", url]).arg(path).args(flags);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Imports twice, and compares with the content of the files: events of each type, and calls without an outcome. Governance adds a
/// decision for each call, and an observation for each outcome but those that say nothing of trust.
fn import_twice(
    path: &Path,
    flags: &[&str],
    types: &[(&str, u64)],
    without_outcome: u64,
    without_observation: u64,
) {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let url = format!("http://{}", service.address);
    let first = import(&url, path, flags);
    for (kind, count) in types {
        assert_eq!(first["types"][kind], *count, "{kind}: {first}");
    }
    let all: u64 = types.iter().map(|(_, count)| count).sum();
    // The import itself is one event more.
    assert_eq!((&first["created"], &first["duplicates"]), (&(all + 1).into(), &0.into()), "{first}");
    assert_eq!((&first["unmapped"]["count"], &first["rejected"]["count"]), (&0.into(), &0.into()));
    assert_eq!(first["withoutOutcome"], without_outcome);
    let second = import(&url, path, flags);
    assert_eq!((&second["created"], &second["duplicates"]), (&0.into(), &(all + 1).into()), "{second}");
    let requested = types.iter().find(|(kind, _)| *kind == "tool.requested").map_or(0, |(_, count)| *count);
    assert_eq!(each_call_ends_once(&url), requested);
    assert!(service.terminate().unwrap().success());
    let mut verify = place.command("verify");
    verify.args(["--json", "--with-keys", "--keyring"]).arg(place.keyring());
    let output = verify.output().unwrap();
    assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_the_ledger = own_events(&place);
    let calls: u64 = types.iter().filter(|(kind, _)| kind.starts_with("tool.")).map(|(_, count)| count).sum();
    let derived = calls - without_observation;
    assert_eq!(told["events"].to_string().trim_matches('"'), (all + 1 + derived + of_the_ledger).to_string());
}

/// The events in the ledger of one call.
#[derive(Debug, Default)]
struct CallEventCounts {
    requests: u64,
    decisions: u64,
    outcomes: u64,
    gaps: u64,
}

/// Looks at every call in the ledger: each was asked for once, and ends with one decision and either one outcome or one gap. Says how
/// many there are. The same id in two streams is two calls.
fn each_call_ends_once(url: &str) -> u64 {
    let mut calls: HashMap<(String, String), CallEventCounts> = HashMap::new();
    for kind in
        ["tool.requested", "decision.made", "tool.completed", "tool.failed", "tool.blocked", "coverage.gap"]
    {
        let output =
            Command::new(PROGRAM).args(["read", "--json", "--url", url, "--type", kind]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let told: Value = serde_json::from_str(line).unwrap();
            let event = &told["event"];
            let text =
                |name: &str| event[name].as_str().unwrap_or_else(|| panic!("{name}: {line}")).to_owned();
            let call = calls.entry((text("subject"), text("call"))).or_default();
            match kind {
                "tool.requested" => call.requests += 1,
                "decision.made" => call.decisions += 1,
                "coverage.gap" => call.gaps += 1,
                _ => call.outcomes += 1,
            }
        }
    }
    for (id, told) in &calls {
        assert_eq!((told.requests, told.decisions, told.outcomes + told.gaps), (1, 1, 1), "{id:?}: {told:?}");
    }
    calls.len() as u64
}

#[test]
fn an_action_log_is_imported_whole_and_once() {
    let Some(path) = sample("claude-code-actions.ndjson.zst") else { return };
    let types = [
        ("session.started", 138),
        ("tool.requested", 10_310),
        ("tool.completed", 9_824),
        ("tool.failed", 173 + 153 + 29 + 3),
        ("tool.blocked", 97 + 16),
        ("coverage.gap", 15),
    ];
    // Three were interrupted, and a hook blocked sixteen.
    // Commands that are not readable have no trust.
    import_twice(&path, &[], &types, 15, 3 + 16 + 596);
}

#[test]
fn transcripts_are_imported_whole_and_once() {
    let Some(path) = sample("claude-code-transcripts") else { return };
    let types = [
        ("session.started", 4),
        ("turn.started", 9),
        ("turn.ended", 5),
        ("model.called", 48),
        ("tool.requested", 53),
        ("tool.completed", 51),
        ("tool.failed", 1),
        ("tool.blocked", 1),
    ];
    // One command is not readable, and has no trust.
    import_twice(&path, &[], &types, 0, 1);
}

#[test]
fn labelled_runs_are_imported_whole_and_once() {
    let Some(path) = sample("tau-bench-airline.json.zst") else { return };
    let types = [
        ("run.started", 200),
        ("turn.started", 1_490),
        ("tool.requested", 1_164),
        ("tool.completed", 1_091),
        ("tool.failed", 73),
        ("run.completed", 200),
    ];
    import_twice(&path, &[], &types, 0, 0);
}

#[test]
fn any_lines_are_imported_whole_and_once_by_a_mapping() {
    let Some(path) = sample("trust-events-100k.jsonl.zst") else { return };
    let flags = [
        "--type",
        "x.trust.observed",
        "--stream",
        "dimension/{dimension_key}",
        "--id-from",
        "timestamp,dimension_key",
        "--time-from",
        "timestamp",
    ];
    import_twice(&path, &flags, &[("x.trust.observed", 100_000)], 0, 0);
}

/// The memory that a process has had at most, in KiB.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// `BITACORA_HUGE_IMPORT=500` imports a made-up transcript of so many megabytes, and looks at the memory it takes.
#[test]
fn a_huge_transcript_is_imported_in_little_memory() {
    const MAX_PEAK_KIB: u64 = 200 * 1_024;
    let Some(megabytes) =
        std::env::var("BITACORA_HUGE_IMPORT").ok().and_then(|text| text.parse::<u64>().ok())
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("huge.jsonl");
    let mut lines = std::io::BufWriter::new(std::fs::File::create(&file).unwrap());
    let output = "many words of some tool ".repeat(120);
    let (mut written, mut calls) = (0, 0);
    while written < megabytes * 1_000_000 {
        calls += 1;
        let common = r#""sessionId":"huge","timestamp":"2026-01-07T16:00:00Z","version":"2.1.0""#;
        let asked = format!(
            r#"{{"type":"assistant","uuid":"a{calls}",{common},"message":{{"role":"assistant","content":[{{"type":"tool_use","id":"c{calls}","name":"Bash","input":{{"n":{calls}}}}}]}}}}"#
        );
        let told = format!(
            r#"{{"type":"user","uuid":"u{calls}",{common},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{calls}","content":"{output}{calls}"}}]}}}}"#
        );
        written += (asked.len() + told.len() + 2) as u64;
        writeln!(lines, "{asked}\n{told}").unwrap();
    }
    lines.flush().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let service = place.start().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["import", "--json", "--url", &format!("http://{}", service.address)]).arg(&file);
    let mut running = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    while running.try_wait().unwrap().is_none() {
        peak = peak.max(peak_kib(running.id()).unwrap_or_default());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told: Value = serde_json::from_reader(running.stdout.take().unwrap()).unwrap();
    assert_eq!(told["created"], 2 * calls + 2, "{told}");
    eprintln!("{megabytes} MB, {} events in {} ms, at most {peak} KiB", told["created"], told["elapsedMs"]);
    assert!((1..MAX_PEAK_KIB).contains(&peak), "{peak} KiB");
}

//! The whole way of old events on real recordings: hot, archived, released, read back, restored.
//! They are also replayed, and verified by both verifiers. And the same with a program that is killed on that way again and again;
//! `BITACORA_KILLS=200 cargo test --release -p bitacora-tests --test process cold` kills it more often.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

use crate::PROGRAM;
use crate::imports::{import, sample};

const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/second/bitacora_verify.py");

/// The program with a command on this data, and the keyring of the place.
fn run_on(place: &ServiceFolder, data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(data).arg("--keyring").arg(place.keyring());
    command.output().unwrap()
}

fn done(place: &ServiceFolder, data: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = run_on(place, data, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Returns every event up to a position as it is read, and the digest of the state that decides.
fn seen(place: &ServiceFolder, data: &Path, until: u64) -> (Vec<u8>, String) {
    let mut lines = done(place, data, &["read", "--json"]);
    let end =
        lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(usize::try_from(until).unwrap() - 1);
    let end = end.map_or(lines.len(), |(at, _)| at + 1);
    lines.truncate(end);
    (lines, digest(place, data, until, &[]))
}

fn digest(place: &ServiceFolder, data: &Path, until: u64, more: &[&str]) -> String {
    let until = until.to_string();
    let arguments = [&["replay", "--json", "--digest", "--to", &until], more].concat();
    json(&done(place, data, &arguments))["digest"].as_str().unwrap().to_owned()
}

/// Returns the verdicts of both verifiers without keys, and of the first one with them.
fn verdicts(place: &ServiceFolder, data: &Path) -> Vec<Option<i32>> {
    let mut codes = Vec::new();
    for keys in [&["verify"][..], &["verify", "--with-keys"]] {
        codes.push(run_on(place, data, keys).status.code());
    }
    if let Some(python) = second() {
        let mut command = Command::new(python);
        let output = command.args(["-I", SECOND]).arg(data.join("ledgers/main")).output().unwrap();
        codes.push(output.status.code());
    }
    codes
}

/// A Python with the second verifier's packages, if there is one.
fn second() -> Option<std::ffi::OsString> {
    let python = std::env::var_os("BITACORA_PYTHON").unwrap_or_else(|| "python3".into());
    let asked = Command::new(&python).args(["-c", "import cryptography, blake3"]).output();
    asked.is_ok_and(|asked| asked.status.success()).then_some(python)
}

fn head(place: &ServiceFolder, data: &Path) -> u64 {
    let lines = done(place, data, &["read", "--json"]);
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn files(folder: &Path, ending: &str) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().to_str().unwrap().ends_with(ending)).count()
}

#[test]
fn real_recordings_go_cold_and_are_read_replayed_and_verified_as_before() {
    let recordings =
        ["claude-code-actions.ndjson.zst", "claude-code-transcripts", "tau-bench-airline.json.zst"];
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    for name in recordings {
        let Some(path) = sample(name) else { return };
        // Each opening begins a segment.
        let mut service = place.start().unwrap();
        import(&format!("http://{}", service.address), &path, &[]);
        assert!(service.terminate().unwrap().success());
    }
    let data = place.data();
    let until = head(&place, &data);
    let before = seen(&place, &data, until);
    assert!(until > 20_000, "{until} events");
    assert!(verdicts(&place, &data).iter().all(|code| *code == Some(10)));

    // Hot to cold, and the segments go.
    let ran = json(&done(&place, &data, &["archive", "run", "--now", "--json"]));
    let last: u64 = ran["archived"][0]["last"].as_str().unwrap().parse().unwrap();
    let ledger = data.join("ledgers/main");
    let released = files(&ledger.join("segments"), ".released");
    assert!(last + 256 > until && released >= 3, "{ran}");

    // Read, replayed and verified as before, from the first event on and from the state in the archive.
    assert!(seen(&place, &data, until) == before, "other events, or another state");
    assert_eq!(digest(&place, &data, until, &["--from-archive"]), before.1);
    assert!(verdicts(&place, &data).iter().all(|code| *code == Some(10)), "{:?}", verdicts(&place, &data));

    // Without anything that is derived.
    for derived in ["index", "projections", "tree/level-1"] {
        let path = ledger.join(derived);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
    }
    assert!(seen(&place, &data, until) == before, "other events, or another state, without derived folders");
    let mut service = place.start().unwrap();
    assert!(service.terminate().unwrap().success());
    assert!(
        seen(&place, &data, until) == before,
        "other events, or another state, after a service made them again"
    );
    assert!(verdicts(&place, &data).iter().all(|code| *code == Some(10)), "{:?}", verdicts(&place, &data));

    // A ledger of its archives alone: the same tree heads hold.
    let again = folder.path().join("again");
    let store = data.join("archives");
    let (again_text, store) = (again.to_str().unwrap(), store.to_str().unwrap());
    done(&place, &data, &["archive", "restore", "--to", again_text, "--archive-store", store]);
    let restored = head(&place, &again);
    assert!(restored <= last && restored + 1_000 > last, "{restored} events of {last}");
    assert_eq!(digest(&place, &again, restored, &[]), digest(&place, &data, restored, &[]));
    assert!(verdicts(&place, &again).iter().all(|code| *code == Some(10)), "{:?}", verdicts(&place, &again));

    // Without its archives the ledger is not all there, and says so; and what is here is served.
    std::fs::rename(data.join("archives"), data.join("elsewhere")).unwrap();
    assert!(verdicts(&place, &data).iter().all(|code| *code == Some(50)), "{:?}", verdicts(&place, &data));
    let read = run_on(&place, &data, &["read", "--json", "--limit", "1"]);
    let said = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(read.status.code() == Some(50) && said.contains("positions 1 to"), "{said}");
}

/// Kills of a program that archives.
fn kills() -> u64 {
    std::env::var("BITACORA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(15)
}

/// Appends so many events in two openings of the service, each of which begins a segment.
fn fill(place: &ServiceFolder, events: u64) {
    for session in 0..2 {
        let mut service = place.start().unwrap();
        let mut client = HttpClient::connect(service.address).unwrap();
        for first in (0..events / 2).step_by(500) {
            let lines = (first..first + 500).map(|number| {
                format!(
                    r#"{{"specversion":"1.0","id":"{session}-{number}","source":"urn:cold","type":"x.noted","subject":"s{}","data":{{"number":{number},"of":"a text {number}"}}}}"#,
                    number % 40
                )
            });
            let body = format!("[{}]", lines.collect::<Vec<_>>().join(","));
            let kind = "application/cloudevents-batch+json";
            let answer = client.post("/v1/ledgers/main/events", kind, body.as_bytes()).unwrap();
            assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
        }
        assert!(service.terminate().unwrap().success());
    }
}

#[test]
fn a_program_that_is_killed_while_it_archives_loses_nothing_and_comes_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    fill(&place, 12_000);
    let data = place.data();
    let until = head(&place, &data);
    let before = seen(&place, &data, until);
    let mut random = SeededRandom::new(11);
    let (mut killed, mut longest) = (0, Duration::from_secs(2));
    for _ in 0..kills() {
        let began = Instant::now();
        let mut command = Command::new(PROGRAM);
        command.args(["archive", "run", "--now", "--json", "--data"]).arg(&data);
        command.arg("--keyring").arg(place.keyring()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let patience = Duration::from_millis(random.below(u64::try_from(longest.as_millis()).unwrap()));
        let ended = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if began.elapsed() >= patience => break None,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        match ended {
            Some(status) => {
                assert!(status.success(), "{status}");
                longest = began.elapsed();
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                killed += 1;
            }
        }
        assert!(seen(&place, &data, until) == before, "other events, or another state, after {killed} kills");
    }
    done(&place, &data, &["archive", "run", "--now"]);
    assert!(killed > 0 && files(&data.join("ledgers/main/segments"), ".released") >= 2, "{killed} kills");
    assert!(seen(&place, &data, until) == before, "other events, or another state");
    assert!(verdicts(&place, &data).iter().all(|code| *code == Some(10)), "{:?}", verdicts(&place, &data));
}

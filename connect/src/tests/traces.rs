//! Inputs that nobody records: each leaves a trace with its digest, its length and its names, and nothing else of it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::impostors::{Answers, HeardRequest, ledger, listening_to};
use super::{AFTER, connection, files, hook, token};
use crate::limits::MAX_SPOOL_FILES;
use crate::{Connection, Spool};

/// The variable by which a test process under a limit knows its connection.
const LIMITED: &str = "BITACORA_TEST_LIMITED";
/// Nobody listens there.
pub(super) const NOWHERE: &str = "http://127.0.0.1:1";

pub(super) fn connected(folder: &TempDir, url: &str) -> PathBuf {
    let file = folder.path().join("c.json");
    let answer_key = ledger().key_id();
    Connection { url: url.to_owned(), answer_key, enforce: false, ..connection(folder) }.save(&file).unwrap();
    file
}

pub(super) fn run(file: &Path, input: &[u8]) -> String {
    let exit = hook(&["claude", "--connection", file.to_str().unwrap()], input);
    assert_eq!((exit.code, exit.stdout.as_str()), (0, "{}"), "{}", exit.stderr);
    exit.stderr
}

/// The only event in the spool.
fn spooled_trace(folder: &TempDir) -> Value {
    let state = folder.path().join("state");
    let spool = Spool::of(&state, &token(7));
    let [file] = spool.waiting().unwrap().try_into().unwrap();
    let input = spool.read(&file).unwrap();
    assert_eq!(input.path, "/v1/ledgers/main/events");
    serde_json::from_str(&input.body).unwrap()
}

fn evidence(trace: &Value) -> &str {
    assert_eq!(trace["type"], "coverage.gap");
    trace["data"]["evidence"].as_str().unwrap()
}

fn marks(folder: &TempDir) -> usize {
    let lost = folder.path().join("state/lost");
    let names = if lost.exists() { files(&lost) } else { Vec::new() };
    names.iter().filter(|name| name.extension().is_some_and(|extension| extension == "lost")).count()
}

#[test]
fn an_input_that_cannot_be_read_leaves_its_digest_its_length_and_its_name() {
    let folder = tempdir().unwrap();
    let file = connected(&folder, NOWHERE);
    run(&file, br#"{"hook_event_name": "PostToolUse", "secret":"#);
    let trace = spooled_trace(&folder);
    let told = evidence(&trace);
    // By sha256sum.
    let digest = "ce3188d89cf72d81dccbb8e45fa6680753744baa8cf073b51e25d4cb74560265";
    assert!(told.contains("PostToolUse") && told.contains("44 bytes"), "{told}");
    assert!(told.contains(digest) && !told.contains("secret"), "{told}");
    assert_eq!(trace["data"]["missing"], "outcome");
}

#[test]
fn an_input_that_is_too_long_leaves_a_trace() {
    let folder = tempdir().unwrap();
    let file = connected(&folder, NOWHERE);
    let mut input = br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_input":""#.to_vec();
    input.resize(17 << 20, b'a');
    run(&file, &input);
    let trace = spooled_trace(&folder);
    assert!(evidence(&trace).contains("PreToolUse") && evidence(&trace).contains("17825792 bytes"));
    assert_eq!(trace["data"]["missing"], "decision");
}

/// Returns the traces among what a service heard.
fn traces(heard: &[HeardRequest]) -> Vec<Value> {
    let traces = heard.iter().filter(|(target, _)| target == "/v1/ledgers/main/events");
    traces.map(|(_, body)| serde_json::from_slice(body).unwrap()).collect()
}

#[test]
fn an_input_that_the_service_refuses_for_good_leaves_a_trace() {
    let folder = tempdir().unwrap();
    run(&connected(&folder, NOWHERE), AFTER);
    let (url, requests) = listening_to(Answers::Refused);
    let said = run(&connected(&folder, &url), AFTER);
    assert!(said.contains("a trace of it is delivered later"), "{said}");
    let heard: Vec<_> = requests.try_iter().collect();
    let [spooled] = traces(&heard).try_into().unwrap();
    assert!(evidence(&spooled).contains("not-json"), "{spooled}");
    assert_eq!((&spooled["session"], &spooled["data"]["call"]), (&"s".into(), &"t".into()));
    // The hook's own input was refused, too.
    let [own] = [spooled_trace(&folder)];
    assert!(evidence(&own).contains("PostToolUse of Bash") && evidence(&own).contains("not-json"));
    run(&connected(&folder, &listening_to(Answers::Signed).0), AFTER);
    assert_eq!(Spool::of(&folder.path().join("state"), &token(7)).counts().unwrap().files, 0);
}

#[test]
fn an_input_that_is_not_taken_stays_and_keeps_nothing_behind_it_from_the_ledger() {
    let folder = tempdir().unwrap();
    let file = connected(&folder, NOWHERE);
    for call in ["changed", "next", "last"] {
        run(&file, String::from_utf8_lossy(AFTER).replace(r#""t""#, &format!("\"{call}\"")).as_bytes());
    }
    let (url, requests) = listening_to(Answers::Changed);
    run(&connected(&folder, &url), AFTER);
    assert_eq!(requests.try_iter().count(), 4);
    let spool = Spool::of(&folder.path().join("state"), &token(7));
    let [left] = spool.waiting().unwrap().try_into().unwrap();
    assert!(spool.read(&left).unwrap().body.contains("changed"));
    run(&connected(&folder, &listening_to(Answers::Signed).0), AFTER);
    assert_eq!(spool.counts().unwrap().files, 0);
}

#[test]
fn a_full_spool_leaves_a_mark_that_becomes_an_event() {
    let folder = tempdir().unwrap();
    let spool = folder.path().join("state/spool");
    fs::create_dir_all(&spool).unwrap();
    for number in 0..MAX_SPOOL_FILES {
        fs::write(spool.join(format!("{number:020}-0.hook")), b"").unwrap();
    }
    for count in 1..=2 {
        run(&connected(&folder, NOWHERE), AFTER);
        assert_eq!(marks(&folder), count);
    }
    fs::remove_dir_all(&spool).unwrap();
    let (url, requests) = listening_to(Answers::Signed);
    run(&connected(&folder, &url), AFTER);
    // The second hook had begun to tell of the first one's mark.
    let told = traces(&requests.try_iter().collect::<Vec<_>>());
    assert_eq!(told.len(), 2);
    for trace in told {
        assert!(evidence(&trace).contains("1 inputs of hooks are lost: 1 because the spool"), "{trace}");
    }
    assert_eq!(marks(&folder), 0);
}

#[test]
fn a_hook_that_ends_by_its_deadline_leaves_a_mark() {
    let folder = tempdir().unwrap();
    let file = connected(&folder, NOWHERE);
    let spool = folder.path().join("state/spool");
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join("00000000000000000000-0.hook"), b"").unwrap();
    // Opening it waits for a reader.
    assert!(Command::new("mkfifo").arg(spool.join("lock")).status().unwrap().success());
    let said = run(&file, AFTER);
    assert!(said.contains("no answer within"), "{said}");
    assert_eq!(marks(&folder), 1);
}

#[test]
fn a_limit_of_file_sizes_does_not_end_a_hook() {
    let folder = tempdir().unwrap();
    let file = connected(&folder, NOWHERE);
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 0; exec \"$0\" --exact tests::traces::under_a_limit --nocapture"])
        .arg(env::current_exe().unwrap())
        .env(LIMITED, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stdout);
    assert!(limited.status.success(), "{} {said}", limited.status);
    assert!(said.contains("the event is lost"), "{said}");
    assert_eq!(marks(&folder), 1);
}

/// The other side of the test above, in a process of its own.
#[test]
fn under_a_limit() {
    if let Some(file) = env::var_os(LIMITED) {
        println!("{}", run(Path::new(&file), AFTER));
    }
}

//! P11 with the real program: an erased subject's contents are found before and nowhere after, in answers, files, logs, exports, copies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_formats::{Keyring, LedgerId, LedgerKeys, SubjectFiles};
use bitacora_tests::folders::copy_folder;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::{Value, json};

use crate::PROGRAM;

/// A text of the erased subject's events. Its length is a multiple of three, so that it is found in base64 that begins with it.
const CANARY: &str = "hopwood-lane-12";
const ADA: &str = "person/ada";
const LEDGER: &str = "/v1/ledgers/main";
/// The bytes of a key in its file, wrapped.
const WRAPPED: std::ops::Range<usize> = 56..88;

fn post(client: &mut HttpClient, resource: &str, body: &Value) -> Value {
    let path = format!("{LEDGER}/{resource}");
    let answer = client.post(&path, "application/json", body.to_string().as_bytes()).unwrap();
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(answer.status < 300, "{resource}: {said}");
    serde_json::from_str(&said).unwrap_or(Value::Null)
}

/// Records what the subject's events can carry: in data, in the arguments of a call, in a checkpoint with its writes.
fn fill(client: &mut HttpClient) {
    let event = |id: String, kind: &str, call: Option<String>, data: Value| {
        let mut event = json!({"specversion": "1.0", "id": id, "source": "urn:people", "type": kind, "subject": "people",
            "agent": "desk", "session": "s1", "run": "r1", "datasubject": ADA, "data": data});
        if let Some(call) = call {
            event["call"] = call.into();
        }
        event
    };
    for number in 0..100 {
        let note =
            event(format!("n{number}"), "x.noted", None, json!({"note": format!("{CANARY}, {number}")}));
        let call = json!({"call": format!("c{number}"), "tool": "crm.read", "args": {"street": CANARY}});
        let model = json!({"model": "m", "provider": "p", "tokens": {"in": 1, "out": 1}, "status": "ok", "prompt": CANARY});
        let events = json!([
            note,
            event(format!("t{number}"), "tool.requested", Some(format!("c{number}")), call),
            event(format!("m{number}"), "model.called", None, model)
        ]);
        post(client, "events", &events);
    }
    let checkpoint = json!({"checkpoint": "k1", "step": 1, "source": "loop", "datasubject": ADA, "agent": "desk",
        "channelVersions": {"n": 1}, "values": {"n": {"json": CANARY}}});
    post(client, "checkpoints/thread:save", &checkpoint);
    let writes = json!({"checkpoint": "k1", "task": "act", "datasubject": ADA,
        "writes": [{"channel": "n", "value": {"json": CANARY}}]});
    post(client, "checkpoints/thread:writes", &writes);
}

/// The paths of everything that the service gives away of a ledger, by its own description; what waits for news is read from the log.
fn resources() -> Vec<String> {
    let description = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    let description: Value = serde_json::from_slice(&fs::read(description).unwrap()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    let known = [
        ("{ledger}", "main"),
        ("{position}", "4"),
        ("{call}", "c1"),
        ("{session}", "s1"),
        ("{run}", "r1"),
        ("{thread}", "thread"),
        ("{stream}", "people"),
    ];
    let filled = paths.iter().filter(|(path, verbs)| verbs.get("get").is_some() && !path.ends_with(":watch"));
    let filled = filled
        .map(|(path, _)| known.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value)));
    filled.filter(|path| !path.contains('{')).collect()
}

/// The resources whose answers hold the canary.
fn answers_with_canary(client: &mut HttpClient) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in resources() {
        for (accept, query) in [("application/x-ndjson", ""), ("application/json", "?limit=1000")] {
            let answer = client.get(&format!("{path}{query}"), accept).unwrap();
            if holds(&answer.body, CANARY.as_bytes()) {
                found.insert(path.clone());
            }
        }
    }
    found
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The files below a folder that hold one of these.
fn files_with(folder: &Path, parts: &[Vec<u8>]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let bytes = fs::read(entry.path()).unwrap();
                    found.extend(parts.iter().any(|part| holds(&bytes, part)).then(|| entry.path()));
                }
                _ => {}
            }
        }
    }
    found
}

/// The ways in which the canary can stand in a file.
fn canaries() -> Vec<Vec<u8>> {
    vec![CANARY.into(), digits(CANARY.as_bytes()).into(), STANDARD.encode(CANARY).into()]
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The raw and the wrapped keys of the subjects, from their files.
fn keys(place: &ServiceFolder) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keyring = Keyring::parse(&fs::read_to_string(place.keyring()).unwrap()).unwrap();
    let ledger = place.data().join("ledgers/main");
    let output = run(place, &place.data(), &["verify", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ledger_id: LedgerId = report["ledger"].as_str().unwrap().parse().unwrap();
    let files = SubjectFiles::new(ledger_id, LedgerKeys::new(&keyring, ledger_id).index_key().clone());
    let (mut raw, mut wrapped) = (Vec::new(), Vec::new());
    for first in fs::read_dir(ledger.join("subjects/by-id")).unwrap() {
        let first = first.unwrap();
        for rest in fs::read_dir(first.path()).unwrap() {
            let path = rest.unwrap().path();
            let name = format!("{}{}", first.file_name().display(), path.file_name().unwrap().display());
            let id = std::array::from_fn(|at| u8::from_str_radix(&name[2 * at..2 * at + 2], 16).unwrap());
            let bytes = fs::read(&path).unwrap();
            raw.push(files.open_key(&id, &bytes).unwrap().expose().to_vec());
            wrapped.push(bytes[WRAPPED].to_vec());
        }
    }
    (raw, wrapped)
}

fn run(place: &ServiceFolder, data: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(data).arg("--keyring").arg(place.keyring());
    if data != place.data() {
        // The anchor knows a ledger that goes further than its archives.
        command.args(["--anchor", "none"]);
    }
    command.output().unwrap()
}

/// The commands that give events away, and whether the output or a written file holds the canary.
fn commands_with_canary(place: &ServiceFolder, data: &Path) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let exports: Vec<[String; 6]> = ["jsonl", "cloudevents", "csv", "ocsf"]
        .iter()
        .map(|format| ["--json", "export", "--format", format, "--out", &file(format)].map(str::to_owned))
        .collect();
    let mut found = BTreeSet::new();
    let plain: [&[&str]; 4] = [
        &["read", "--json"],
        &["replay", "--json"],
        &["verify", "--with-keys", "--json"],
        &["calls", "--json"],
    ];
    let exports = exports.iter().map(|one| one.iter().map(String::as_str).collect::<Vec<_>>());
    for arguments in plain.iter().map(|one| one.to_vec()).chain(exports) {
        let output = run(place, data, &arguments);
        let said = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 10 | 50)), "{arguments:?}: {said}");
        let written = files_with(folder.path(), &canaries());
        if holds(&output.stdout, CANARY.as_bytes())
            || holds(&output.stderr, CANARY.as_bytes())
            || !written.is_empty()
        {
            found.insert(arguments.join(" ").replace(folder.path().to_str().unwrap(), ""));
        }
        written.iter().for_each(|path| fs::remove_file(path).unwrap());
    }
    found
}

fn start(place: &ServiceFolder) -> (ServiceProcess, HttpClient) {
    let service = place.start().unwrap();
    let client = HttpClient::connect(service.address).unwrap();
    (service, client)
}

/// Waits until every read model has come to the head.
fn settle(client: &mut HttpClient) {
    for _ in 0..3_000 {
        let answer = client.get("/v1/projections", "application/json").unwrap();
        let models: Value = serde_json::from_slice(&answer.body).unwrap();
        if models["projections"].as_array().unwrap().iter().all(|model| model["lag"] == 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the read models do not come to the head");
}

#[test]
fn nothing_gives_away_what_is_erased_running_killed_exported_archived_or_restored() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let (mut service, mut client) = start(&place);
    fill(&mut client);
    assert!(service.terminate().unwrap().success());
    // Some of the events are in archives alone.
    let ran = run(&place, &place.data(), &["archive", "run", "--now", "--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let (raw, wrapped) = keys(&place);
    assert_eq!((raw.len(), files_with(folder.path(), &wrapped).len()), (1, 1));
    let told = commands_with_canary(&place, &place.data());
    assert!(told.len() >= 4, "{told:?}");

    let (mut service, mut client) = start(&place);
    settle(&mut client);
    let answered = answers_with_canary(&mut client);
    for resource in ["events", "events/4", "streams/people/events", "checkpoints/thread"] {
        assert!(answered.contains(&format!("{LEDGER}/{resource}")), "{resource}: {answered:?}");
    }
    assert_eq!(files_with(folder.path(), &canaries()), [] as [PathBuf; 0], "no file holds it in clear");
    post(&mut client, "erasures", &json!({"subject": ADA, "authority": "ticket 4711"}));
    assert_eq!(answers_with_canary(&mut client), BTreeSet::new(), "running");
    settle(&mut client);
    assert_eq!(answers_with_canary(&mut client), BTreeSet::new(), "running, folded");
    service.kill().unwrap();

    let gone = [canaries(), raw, wrapped].concat();
    assert_eq!(files_with(folder.path(), &gone), [] as [PathBuf; 0], "after a kill");
    assert_eq!(commands_with_canary(&place, &place.data()), BTreeSet::new(), "after a kill");
    let (mut service, mut client) = start(&place);
    settle(&mut client);
    assert_eq!(answers_with_canary(&mut client), BTreeSet::new(), "started again");
    assert!(service.terminate().unwrap().success());
    assert_eq!(files_with(folder.path(), &gone), [] as [PathBuf; 0], "after an end");

    let store = folder.path().join("store");
    copy_folder(&place.data().join("archives"), &store).unwrap();
    let again = folder.path().join("again");
    let (again_text, store) = (again.to_str().unwrap(), store.to_str().unwrap());
    let restored =
        run(&place, &place.data(), &["archive", "restore", "--to", again_text, "--archive-store", store]);
    assert_eq!(restored.status.code(), Some(0), "{}", String::from_utf8_lossy(&restored.stderr));
    // Its keys are gone, and its archives are older than the event that says why: the verifier misses them.
    assert_eq!(commands_with_canary(&place, &again), BTreeSet::new(), "restored");
    assert_eq!(files_with(folder.path(), &gone), [] as [PathBuf; 0], "restored");
}

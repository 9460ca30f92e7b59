//! Tests of `archive`: from the plan to a ledger restored from its archives, and each step's errors.

use std::fs;
use std::path::PathBuf;

use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::AppendRequest;
use bitacora_tests::folders::copy_folder;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::Value;

use crate::sample::{Sample, command, why};

/// Events that are appended.
const EVENTS: u64 = 900;

/// A ledger of [`EVENTS`] events and a few of its own, closed.
pub(crate) fn filled() -> Sample {
    let sample = Sample::with_heads(1);
    fill(&sample, 0);
    sample
}

/// Appends [`EVENTS`] events, of which the numbers begin here.
pub(crate) fn fill(sample: &Sample, first: u64) {
    let ledger = sample.open_with(&Sample::options_with_heads());
    for number in first..first + EVENTS / 9 {
        let events = (0..9).map(|index| {
            let mut event = Event::new(format!("n{number}.{index}"), "urn:test", "x.noted", "s");
            event.data = Data::Json(Json::check(format!(r#"{{"n":{number}}}"#).into_bytes()).unwrap());
            event
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
}

pub(crate) fn json(sample: &Sample, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["--json", "--anchor", "none"];
    all.extend(arguments);
    let output = sample.run(&all);
    let told = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), told)
}

pub(crate) fn read_all(sample: &Sample) -> Vec<u8> {
    let read = sample.run(&["--json", "--anchor", "none", "read", "--limit", "900"]);
    assert_eq!(read.status.code(), Some(0), "{}", String::from_utf8_lossy(&read.stderr));
    read.stdout
}

fn object(sample: &Sample) -> PathBuf {
    let (_, listed) = json(sample, &["archive", "list"]);
    sample.data().join("archives").join(listed["archives"][0]["name"].as_str().unwrap())
}

#[test]
fn events_are_archived_listed_shown_and_read_as_before() {
    let sample = filled();
    let before = read_all(&sample);
    assert_eq!(json(&sample, &["archive", "plan"]).1["due"], Value::Array(vec![]));
    let (_, planned) = json(&sample, &["archive", "plan", "--now", "--most", "256"]);
    assert_eq!(planned["due"].as_array().unwrap().len(), 3, "{planned}");
    let (code, ran) = json(&sample, &["archive", "run", "--now", "--most", "512"]);
    assert_eq!((code, ran["archived"].as_array().unwrap().len()), (Some(0), 2), "{ran}");
    assert_eq!((&ran["archived"][0]["first"], &ran["archived"][1]["last"]), (&"1".into(), &"768".into()));
    assert_eq!(read_all(&sample), before);
    // Nothing more is due, and nothing is done twice.
    let (code, again) = json(&sample, &["archive", "run", "--now", "--most", "512"]);
    assert_eq!((code, &again["archived"]), (Some(0), &Value::Array(vec![])));
    let (code, listed) = json(&sample, &["archive", "list"]);
    assert_eq!((code, listed["archives"].as_array().unwrap().len()), (Some(0), 2));
    let (code, shown) = json(&sample, &["archive", "show", "600"]);
    assert_eq!((code, &shown["first"], &shown["events"]), (Some(0), &"513".into(), &256.into()));
    assert!(shown["note"].as_str().unwrap().starts_with("bitacora-archive v1\n"), "{shown}");
    assert_eq!(json(&sample, &["archive", "show", "769"]).0, Some(1));
    for keys in [&[][..], &["--with-keys"]] {
        let arguments = [&["archive", "verify"], keys].concat();
        let (code, verified) = json(&sample, &arguments);
        assert_eq!((code, &verified["archives"][1]["whole"]), (Some(0), &true.into()), "{verified}");
        assert_eq!(verified["archives"][1]["statePosition"].is_string(), !keys.is_empty(), "{verified}");
    }
}

#[test]
fn archives_are_checked_without_a_keyring() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let check = |more: &[&str]| {
        let mut command = command(&["archive", "verify"]);
        command.args(more).arg("--data").arg(sample.data()).env("HOME", sample.folder.path());
        command.env_remove("XDG_CONFIG_HOME").env_remove("BITACORA_KEYRING").output().unwrap()
    };
    let whole = check(&[]);
    let text = String::from_utf8_lossy(&whole.stdout).into_owned();
    assert_eq!(whole.status.code(), Some(10), "{text}{}", why(&whole));
    assert!(text.contains("whole (every byte, without keys, as signed under signing-keys.note)"), "{text}");
    assert_eq!(check(&["--with-keys"]).status.code(), Some(1), "these need it");
    assert_eq!(check(&["1", "700"]).status.code(), Some(10));
    let named = sample.folder.path().join("none");
    let named = check(&["--keyring", named.to_str().unwrap()]);
    assert!(named.status.code() == Some(1) && why(&named).contains("no keyring here"), "{}", why(&named));

    let path = object(&sample);
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 3] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert_eq!(check(&[]).status.code(), Some(40));
    fs::write(&path, &bytes).unwrap();
    // The keys of another ledger signed none of it.
    let note = sample.ledger().join("signing-keys.note");
    fs::copy(Sample::new(0).ledger().join("signing-keys.note"), &note).unwrap();
    assert_ne!(check(&[]).status.code(), Some(10));
    fs::remove_file(&note).unwrap();
    let without = check(&[]);
    assert!(without.status.code() == Some(50) && why(&without).contains("--keyring"), "{}", why(&without));
}

#[test]
fn what_models_know_is_answered_while_an_archive_is_not_in_its_store() {
    let sample = filled();
    let gaps = |sample: &Sample| json(sample, &["gaps"]);
    assert_eq!(gaps(&sample).0, Some(0));
    // The models stand where the log is archived next.
    fill(&sample, 1_000);
    fill(&sample, 2_000);
    let (code, ran) = json(&sample, &["archive", "run", "--now"]);
    assert!(code == Some(0) && !ran["released"].is_null(), "{ran}");
    let store = sample.data().join("archives");
    let elsewhere = sample.folder.path().join("elsewhere");
    fs::rename(&store, &elsewhere).unwrap();
    let began = std::time::Instant::now();
    let asked = sample.run(&["--anchor", "none", "gaps"]);
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(!said.contains("not believed"), "{said}");
    assert!(began.elapsed().as_secs() < 60, "{said}");
    fs::rename(&elsewhere, &store).unwrap();
    assert_eq!(gaps(&sample).0, Some(0));
}

#[test]
fn what_is_wrong_with_an_archive_is_told_apart() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let path = object(&sample);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let (code, verified) = json(&sample, &["archive", "verify"]);
    assert_eq!((code, &verified["archives"][0]["whole"]), (Some(40), &false.into()));
    assert!(verified["archives"][0]["error"].as_str().unwrap().contains(".bca"), "{verified}");
    assert_eq!(json(&sample, &["archive", "fetch", "1", "--to", "/nowhere/x"]).0, Some(1));
    fs::remove_file(&path).unwrap();
    assert_eq!(json(&sample, &["archive", "verify"]).0, Some(50));
    let (code, listed) = json(&sample, &["archive", "list"]);
    assert_eq!((code, &listed["archives"][0]["missing"]), (Some(50), &true.into()));
    fs::write(&path, &whole).unwrap();
    assert_eq!(json(&sample, &["archive", "verify", "1", "700"]).0, Some(0));
    assert_eq!(json(&sample, &["archive", "verify", "1000"]).0, Some(1));
}

#[test]
fn a_manifest_that_is_lost_is_told_of_and_its_events_are_read() {
    let sample = filled();
    let before = read_all(&sample);
    assert_eq!(json(&sample, &["archive", "run", "--now", "--most", "256"]).0, Some(0));
    let kept = sample.ledger().join("archives").join(format!("{:020}-{:020}.manifest", 257, 512));
    let mut bytes = fs::read(&kept).unwrap();
    bytes[100] ^= 1;
    fs::write(&kept, &bytes).unwrap();
    assert_eq!(read_all(&sample), before);
    let (code, listed) = json(&sample, &["archive", "list"]);
    let homes = |listed: &Value| {
        listed["archives"].as_array().unwrap().iter().map(|one| one["manifest"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((code, homes(&listed)), (Some(0), ["kept", "archive", "kept"].map(Value::from).to_vec()));
    assert_eq!(json(&sample, &["archive", "verify"]).0, Some(0));
    // Without the archive it is out of reach, and the others are not.
    let path = sample.data().join("archives").join(listed["archives"][1]["name"].as_str().unwrap());
    let archive = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let (code, listed) = json(&sample, &["archive", "list"]);
    assert_eq!((code, listed["archives"].as_array().unwrap().len()), (Some(50), 2), "{listed}");
    assert_eq!((&listed["lost"][0]["first"], &listed["lost"][0]["last"]), (&"257".into(), &"512".into()));
    let (code, verified) = json(&sample, &["archive", "verify"]);
    assert_eq!((code, verified["lost"].as_array().unwrap().len()), (Some(50), 1), "{verified}");
    assert_eq!(json(&sample, &["archive", "verify", "1", "600"]).0, Some(0));
    let output = sample.run(&["--anchor", "none", "archive", "show", "300"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("positions 257 to 512: "), "{said}");
    assert_eq!(json(&sample, &["archive", "show", "200"]).0, Some(0));
    fs::write(&path, archive).unwrap();
    // Archiving puts it back.
    assert_eq!(json(&sample, &["archive", "run", "--now", "--most", "256"]).0, Some(0));
    let (code, listed) = json(&sample, &["archive", "list"]);
    assert_eq!((code, homes(&listed)[1].clone()), (Some(0), "put-back".into()), "{listed}");
    assert_eq!(fs::read(format!("{}.damaged", kept.display())).unwrap(), bytes);
    let told = String::from_utf8(sample.run(&["--anchor", "none", "archive", "list"]).stdout).unwrap();
    assert!(told.contains("its manifest was damaged, and is back"), "{told}");
    assert_eq!(read_all(&sample), before);
}

#[test]
fn an_archive_is_fetched_whole_and_over_nothing() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let file = sample.folder.path().join("fetched.bca");
    let (code, fetched) = json(&sample, &["archive", "fetch", "7", "--to", file.to_str().unwrap()]);
    let bytes = fs::read(&file).unwrap();
    assert_eq!((code, fetched["bytes"].as_u64()), (Some(0), Some(bytes.len() as u64)));
    assert_eq!(bytes, fs::read(object(&sample)).unwrap());
    // By the verifier that needs nothing of the ledger.
    let verified = sample.run(&["verify", "--archive", file.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stdout));
    let again = json(&sample, &["archive", "fetch", "7", "--to", file.to_str().unwrap()]);
    assert_eq!((again.0, fs::read(&file).unwrap() == bytes), (Some(1), true));
}

#[test]
fn a_ledger_is_made_again_where_its_folder_is_gone() {
    let sample = filled();
    let before = read_all(&sample);
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let (store, data) = (sample.data().join("archives"), sample.folder.path().join("again"));
    let arguments =
        ["archive", "restore", "--to", data.to_str().unwrap(), "--archive-store", store.to_str().unwrap()];
    let (code, restored) = json(&sample, &arguments);
    let events = restored["events"].as_u64().unwrap();
    assert_eq!((code, events + restored["leftOut"].as_u64().unwrap()), (Some(0), 768), "{restored}");
    // The keys of data subjects are in no archive; their holder brings them.
    let subjects = data.join("ledgers/main/subjects");
    fs::remove_dir_all(&subjects).unwrap();
    copy_folder(&sample.ledger().join("subjects"), &subjects).unwrap();
    fs::remove_dir_all(sample.data()).unwrap();
    fs::rename(&data, sample.data()).unwrap();
    let read = read_all(&sample);
    let expected: Vec<_> =
        before.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(events).unwrap()).collect();
    assert!(read == expected.concat(), "other events than before");
    let verified = sample.run(&["verify", "--with-keys"]);
    assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stdout));
    let again = json(&sample, &arguments[..4]);
    assert_eq!(again.0, Some(2), "a store without archives");
}

#[test]
fn a_ledger_is_made_again_as_far_as_its_archives_join_where_that_is_asked_for() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now", "--most", "256"]).0, Some(0));
    let (_, listed) = json(&sample, &["archive", "list"]);
    let store = sample.data().join("archives");
    let name = |index: usize| listed["archives"][index]["name"].as_str().unwrap().to_owned();
    fs::remove_file(store.join(name(1))).unwrap();
    let (to, store) = (sample.folder.path().join("again"), store.to_str().unwrap().to_owned());
    let arguments = ["archive", "restore", "--to", to.to_str().unwrap(), "--archive-store", &store];
    let output = sample.run(&arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("positions 257 to 512 are in no archive"), "{said}");
    assert!(!to.join("ledgers/main").exists());
    let (code, restored) = json(&sample, &[&arguments[..], &["--as-far-as-possible"]].concat());
    assert_eq!((code, &restored["archives"]), (Some(0), &1.into()), "{restored}");
    let unused = &restored["notUsed"][0];
    assert_eq!((&unused["name"], &unused["code"]), (&name(2).into(), &"apart".into()), "{restored}");
    assert_eq!((&unused["first"], &unused["last"]), (&"513".into(), &"768".into()), "{restored}");
    fs::remove_dir_all(&to).unwrap();
    let told = sample.run(&[&arguments[..], &["--as-far-as-possible"]].concat()).stdout;
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains(&format!("not used {}, positions 513-768: ", name(2))), "{told}");
}

#[test]
fn archives_are_verified_by_themselves_and_beside_their_ledger() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now", "--most", "512"]).0, Some(0));
    let (code, verified) = json(&sample, &["verify"]);
    assert_eq!((code, &verified["archives"]["last"]), (Some(10), &"768".into()), "{verified}");
    let key = verified["firstKey"].as_str().unwrap().to_owned();

    let folder = sample.data().join("archives");
    let folder = folder.to_str().unwrap();
    let by_itself = |more: &[&str]| json(&sample, &[&["verify", "--archive", folder], more].concat());
    let (code, alone) = by_itself(&[]);
    assert_eq!((code, alone["archives"].as_array().unwrap().len()), (Some(10), 2), "{alone}");
    assert_eq!((&alone["archives"][0]["first"], &alone["archives"][1]["last"]), (&"1".into(), &"768".into()));
    assert_eq!(by_itself(&["--with-keys"]).0, Some(10));
    assert_eq!(by_itself(&["--vkey", &key]).0, Some(0));
    let stranger = Sample::new(1);
    let other = json(&stranger, &["verify"]).1["firstKey"].as_str().unwrap().to_owned();
    let (code, refused) = by_itself(&["--vkey", &other]);
    assert_eq!(code, Some(40), "{refused}");
    let output = stranger.run(&["--anchor", "none", "verify", "--archive", folder, "--with-keys"]);
    assert_eq!(output.status.code(), Some(40), "{}", String::from_utf8_lossy(&output.stdout));

    let path = object(&sample);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let (code, wrong) = by_itself(&[]);
    assert_eq!((code, &wrong["fault"]["file"]), (Some(40), &path.to_str().unwrap().into()), "{wrong}");
    fs::write(&path, &whole).unwrap();
    let middle = json(&sample, &["archive", "list"]).1["archives"][1]["name"].as_str().unwrap().to_owned();
    fs::remove_file(sample.data().join("archives").join(middle)).unwrap();
    assert_eq!(by_itself(&[]).0, Some(10), "what is there joins");
    fs::remove_file(&path).unwrap();
    assert_eq!(by_itself(&[]).0, Some(50), "nothing is there");
}

#[test]
fn archives_are_looked_for_where_the_command_line_says() {
    let sample = filled();
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let elsewhere = sample.folder.path().join("elsewhere");
    fs::rename(sample.data().join("archives"), &elsewhere).unwrap();
    let there = ["--archive-store", elsewhere.to_str().unwrap()];
    for command in [&["verify"][..], &["verify", "--with-keys"], &["archive", "verify"]] {
        let whole = if command[0] == "verify" { 10 } else { 0 };
        assert_eq!(json(&sample, command).0, Some(50), "{command:?}");
        assert_eq!(json(&sample, &[command, &there].concat()).0, Some(whole), "{command:?}");
    }
}

#[test]
fn what_is_sealed_for_data_subjects_opens_while_their_keys_are_there() {
    const SEALED: u64 = 40;
    let sample = filled();
    let ledger = sample.open_with(&Sample::options_with_heads());
    for number in 0..10 * SEALED {
        let mut event = Event::new(format!("p{number}"), "urn:test", "x.noted", "s");
        event.datasubject = (number < SEALED).then(|| ["ana", "ben"][usize::from(number % 4 == 0)].into());
        event.data = Data::Json(Json::check(format!(r#"{{"p":{number}}}"#).into_bytes()).unwrap());
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    drop(ledger);
    assert_eq!(json(&sample, &["archive", "run", "--now"]).0, Some(0));
    let verified = || {
        let (code, told) = json(&sample, &["archive", "verify", "--with-keys"]);
        let one = &told["archives"][0];
        let number = |member: &str| one[member].as_u64().unwrap();
        (code, one["whole"] == true, number("partsOpened"), number("partsWithoutKey"))
    };
    // Some are the sample's own.
    let all = verified().2;
    assert!(all >= SEALED, "{all}");
    assert_eq!(verified(), (Some(0), true, all, 0));
    let without = json(&sample, &["archive", "verify"]).1;
    assert_eq!(without["archives"][0]["partsOpened"], 0, "{without}");

    // One subject is erased: that is nothing wrong, and is said.
    let keys = files_in(&sample.ledger().join("subjects/by-id"));
    assert!(keys.len() >= 2, "{keys:?}");
    let erased = fs::read(&keys[0]).unwrap();
    fs::remove_file(&keys[0]).unwrap();
    let (code, whole, opened, unopened) = verified();
    assert_eq!((code, whole, opened + unopened), (Some(0), true, all));
    assert!(opened > 0 && unopened > 0, "{opened} opened, {unopened} not");
    let told = sample.run(&["--anchor", "none", "archive", "verify", "--with-keys"]).stdout;
    let told = String::from_utf8(told).unwrap();
    let said = format!("{opened} sealed parts opened; {unopened} sealed parts not: their subjects' keys are");
    assert!(told.contains(&said), "{told}");

    // A key that is there has to be one.
    let mut damaged = erased.clone();
    damaged[20] ^= 1;
    fs::write(&keys[0], damaged).unwrap();
    assert_eq!(verified(), (Some(50), true, opened, unopened));
    // And the right one.
    fs::write(&keys[0], &erased).unwrap();
    assert_eq!(verified(), (Some(0), true, all, 0));
}

/// The files in a folder and those in it.
fn files_in(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

/// Appends so many events through a service.
fn append_through(service: &ServiceProcess, first: u64, count: u64) {
    let mut client = HttpClient::connect(service.address).unwrap();
    let numbers: Vec<u64> = (first..first + count).collect();
    for chunk in numbers.chunks(500) {
        let events = chunk.iter().map(|number| {
            let id = format!("n{number}");
            serde_json::json!({"specversion": "1.0", "id": id, "source": "/t", "type": "x.noted", "subject": "s"})
        });
        let body = Value::from_iter(events).to_string();
        let answer =
            client.post("/v1/ledgers/main/events", "application/cloudevents-batch+json", body.as_bytes());
        assert_eq!(answer.unwrap().status, 201);
    }
}

/// The groups of leaves in such an archive are stored above the leaves once the open segment ends. That they are not yet is no cut.
#[test]
fn an_archive_that_reaches_into_the_open_segment_is_no_cut_of_the_level() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(crate::PROGRAM, folder.path());
    let never = |command: &mut std::process::Command| {
        command.args(["--archive-after", "never"]);
    };
    let mut service = place.start_with(never).unwrap();
    append_through(&service, 0, 1_500);
    assert!(service.terminate().unwrap().success());
    let command = |name: &str, more: &[&str]| {
        let mut command = place.command(name);
        command.arg("--keyring").arg(place.keyring()).args(more).output().unwrap()
    };
    let run = command("archive", &["run", "--now"]);
    assert!(run.status.success(), "{}", why(&run));
    let service = place.start_with(|command| {
        never(command);
        command.args(["--archive-over", "2000"]);
    });
    let service = service.unwrap();
    append_through(&service, 1_500, 6_000);
    let archived = || {
        let listed = command("archive", &["list", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let last =
            listed["archives"].as_array().unwrap().last().unwrap()["last"].as_str().unwrap().to_owned();
        last.parse::<u64>().unwrap()
    };
    let began = std::time::Instant::now();
    while archived() < 4_000 {
        assert!(began.elapsed().as_secs() < 120, "nothing is archived");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    for keys in [&[][..], &["--with-keys"]] {
        let verified = command("verify", keys);
        let told = String::from_utf8_lossy(&verified.stdout);
        assert_eq!(verified.status.code(), Some(10), "{told}");
    }
}

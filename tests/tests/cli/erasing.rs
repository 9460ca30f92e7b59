//! Tests of `erase`: a subject's contents are found before and nowhere after, in archives, copies and proofs too.

use std::fs;
use std::path::Path;

use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::AppendRequest;
use bitacora_tests::folders::copy_folder;
use serde_json::Value;

use crate::archiving::json;
use crate::sample::{Sample, code, files_below, why};

/// A text of the erased subject's events.
const CANARY: &str = "hopwood-lane-12";
/// More than one archive has.
const EVENTS: u64 = 600;

/// A closed ledger of events about two people; every second one is about `person/ada`.
fn filled() -> Sample {
    let sample = Sample::with_heads(1);
    let ledger = sample.open_with(&Sample::options_with_heads());
    for number in 0..EVENTS / 6 {
        let events = (0..6).map(|index| {
            let mut event = Event::new(format!("p{number}.{index}"), "urn:people", "x.noted", "people");
            let subject = if index % 2 == 0 { "person/ada" } else { "person/bob" };
            event.datasubject = Some(subject.into());
            let data = format!(r#"{{"of":"{subject}","n":{number},"note":"{CANARY}"}}"#);
            event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
            event
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    sample
}

fn erase(sample: &Sample) -> Value {
    let (code, erased) = json(sample, &["erase", "person/ada", "--authority", "ticket 4711"]);
    assert_eq!(code, Some(0), "{erased}");
    erased
}

/// The numbers of the events about people that can be read and that are erased.
fn read(sample: &Sample) -> (usize, usize) {
    let output = sample.run(&["--json", "--anchor", "none", "read", "--stream", "people", "--limit", "1000"]);
    assert_eq!(code(&output), 0, "{}", why(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let erased = lines.iter().filter(|line| line["erased"] == true).collect::<Vec<_>>();
    assert!(erased.iter().all(|line| !line.to_string().contains(CANARY)), "{erased:?}");
    let readable = lines.iter().filter(|line| line["event"]["data"]["note"] == CANARY).count();
    (readable, erased.len())
}

fn assert_nowhere(folder: &Path, what: &str) {
    for (path, bytes) in files_below(folder) {
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{what}: {} holds what is erased", path.display());
    }
}

#[test]
fn an_erased_subject_is_gone_from_the_ledger_its_archives_and_what_is_restored_of_them() {
    let sample = filled();
    assert_eq!(read(&sample), (600, 0));
    assert_eq!(json(&sample, &["archive", "run", "--now", "--most", "512"]).0, Some(0));
    // An old copy of the whole data folder, keys included.
    let old = sample.folder.path().join("old");
    copy_folder(&sample.data(), &old).unwrap();

    let erased = erase(&sample);
    assert_eq!(erased["anchor"], "none");
    assert_eq!(read(&sample), (300, 300));
    assert_nowhere(sample.folder.path(), "after");
    let again = sample.run(&["--anchor", "none", "erase", "person/ada", "--authority", "ticket 4711"]);
    assert_eq!(code(&again), 1);
    assert!(why(&again).contains("it was erased before"), "{}", why(&again));

    // Every proof stays green.
    let verified = sample.run(&["verify", "--json", "--with-keys"]);
    assert_eq!(code(&verified), 10, "{}", String::from_utf8_lossy(&verified.stdout));
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert!(verified["gaps"].as_array().unwrap().is_empty(), "{verified}");
    assert_eq!(verified["contents"]["partsWithoutKey"], 300, "{verified}");
    for keys in [&[][..], &["--with-keys"]] {
        let (code, archives) = json(&sample, &[&["archive", "verify"], keys].concat());
        assert_eq!((code, &archives["archives"][0]["whole"]), (Some(0), &true.into()), "{archives}");
    }
    let proof = sample.folder.path().join("erased.proof.json");
    let proved = sample.run(&["prove", "5", "--out", proof.to_str().unwrap()]);
    assert_eq!(code(&proved), 0, "{}", why(&proved));
    let checked = sample.run(&["verify", "--evidence", proof.to_str().unwrap()]);
    assert_eq!(code(&checked), 10, "{}", String::from_utf8_lossy(&checked.stdout));

    // What archives give back lies under the key that is gone, also where a copy's keys are brought along: the log says so.
    let store = sample.data().join("archives");
    let data = sample.folder.path().join("again");
    let to =
        ["archive", "restore", "--to", data.to_str().unwrap(), "--archive-store", store.to_str().unwrap()];
    let (code, restored) = json(&sample, &to);
    assert_eq!(code, Some(0), "{restored}");
    assert_nowhere(&data, "restored");
    fs::remove_dir_all(sample.data()).unwrap();
    fs::rename(&data, sample.data()).unwrap();
    let (readable, erased) = read(&sample);
    assert_eq!((readable, erased > 200), (0, true), "no subject's keys are there: {erased}");
}

#[test]
fn an_old_store_of_keys_in_the_folder_opens_nothing() {
    let sample = filled();
    let copy = sample.folder.path().join("copy");
    copy_folder(&sample.ledger().join("subjects"), &copy).unwrap();
    erase(&sample);
    fs::remove_dir_all(sample.ledger().join("subjects")).unwrap();
    copy_folder(&copy, &sample.ledger().join("subjects")).unwrap();
    let keys = |index: &str| files_below(&sample.ledger().join("subjects").join(index)).len();
    let before = keys("by-id");
    assert_eq!(read(&sample), (300, 300), "for reading, where nothing is written");
    let verified = sample.run(&["verify", "--json", "--with-keys"]);
    assert_eq!(code(&verified), 50, "{}", String::from_utf8_lossy(&verified.stdout));
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert!(verified["gaps"][0].to_string().contains("1 erased keys of data subjects"), "{verified}");
    // The next opening for writing destroys it again.
    drop(sample.open());
    assert_eq!((keys("by-id"), keys("by-name")), (before - 1, before - 1));
    assert_eq!(read(&sample), (300, 300));
}

#[test]
fn words_that_name_the_subject_and_subjects_that_nobody_knows_are_refused() {
    let sample = filled();
    for (arguments, said) in [
        (&["person/ada", "--authority", "Person/Ada asked"][..], "`authority` holds the subject's name"),
        (&["person/eve", "--authority", "ticket"], "no key of this data subject is here"),
        (&["person/ada", "--authority", "ticket", "--reason", ""], "empty; leave it out"),
    ] {
        let refused = sample.run(&[&["--anchor", "none", "erase"], arguments].concat());
        assert_ne!(code(&refused), 0);
        assert!(why(&refused).contains(said), "{}", why(&refused));
    }
    assert_eq!(code(&sample.run(&["erase", "person/ada"])), 2, "an authority is asked for");
    assert_eq!(read(&sample), (600, 0));
}

//! `append` and `read`, through the service and in a folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use bitacora_tests::service::ServiceFolder;

use crate::sample::{Sample, code, command, told, why};

fn lines(count: u64) -> String {
    let line = |number| {
        format!(
            r#"{{"specversion":"1.0","id":"e{number}","source":"urn:test","type":"x.noted","subject":"s","data":{{"n" : {number}e0}}}}"#
        )
    };
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn events_go_through_the_service_once_and_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(crate::PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let url = format!("http://{}", service.address);
    let input = folder.path().join("events");
    fs::write(&input, lines(250)).unwrap();
    let append = |more: &[&str]| {
        command(&["append", "--json", "--url", &url]).arg(&input).args(more).output().unwrap()
    };
    let first = told(&append(&[]));
    assert_eq!((&first["created"], &first["requests"]), (&250.into(), &3.into()));
    fs::write(&input, format!("[{}]", lines(300).replace('\n', ",\n"))).unwrap();
    let second = told(&append(&["--batch", "7"]));
    assert_eq!((&second["created"], &second["duplicates"]), (&50.into(), &250.into()));

    let read = command(&["read", "--json", "--type", "x.noted", "--url", &url]).output().unwrap();
    let answered = String::from_utf8(read.stdout).unwrap();
    let sent = lines(300);
    assert_eq!(answered.lines().count(), 300);
    for (answered, sent) in answered.lines().zip(sent.lines()) {
        assert!(answered.contains(sent), "{answered}");
    }

    let held = place.command("append").arg("--keyring").arg(place.keyring()).arg(&input).output().unwrap();
    assert_eq!(code(&held), 1);
    assert!(why(&held).contains("name the service's address with --url"));
    let mut beside = place.command("read");
    beside.args(["--json", "--type", "x.noted", "--keyring"]).arg(place.keyring());
    let beside = beside.output().unwrap();
    assert_eq!(String::from_utf8(beside.stdout).unwrap(), answered, "reading needs no lock");

    fs::write(
        &input,
        r#"{"specversion":"1.0","id":"e1","source":"urn:test","type":"x.noted","subject":"s","data":2}"#,
    )
    .unwrap();
    let reused = append(&[]);
    assert_eq!(code(&reused), 3);
    assert!(why(&reused).contains("id-reused"));
    fs::write(&input, format!("{}\n{{\"id\":\"\"}}\n", lines(1))).unwrap();
    let wrong = append(&[]);
    assert_eq!(code(&wrong), 1);
    assert!(why(&wrong).contains("line 2"));
    assert!(service.terminate().unwrap().success());

    let gone = append(&[]);
    assert_eq!(code(&gone), 1);
}

#[test]
fn events_go_into_a_folder_that_nobody_serves() {
    let sample = Sample::new(0);
    let input = sample.folder.path().join("events");
    fs::write(&input, lines(3)).unwrap();
    let appended = sample.run(&["append", "--json", input.to_str().unwrap()]);
    assert_eq!(told(&appended)["created"], 3);
    let again = sample.run(&["append", "--receipts", "--json", input.to_str().unwrap()]);
    let receipts = String::from_utf8(again.stdout).unwrap();
    assert_eq!(receipts.lines().filter(|line| line.contains(r#""status":"duplicate""#)).count(), 3);
    let read = sample.run(&["read", "--json", "--stream", "s", "--backward"]);
    let answered = String::from_utf8(read.stdout).unwrap();
    assert_eq!(answered.lines().count(), 3);
    for (answered, sent) in answered.lines().rev().zip(lines(3).lines()) {
        assert!(answered.contains(sent), "{answered}");
    }
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 10);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let sample = Sample::new(0);
    let input = sample.folder.path().join("events");
    fs::write(&input, lines(3_000)).unwrap();
    assert_eq!(code(&sample.run(&["append", "--batch", "1000", input.to_str().unwrap()])), 0);
    let mut reading = command(&["read", "--json", "--data"]);
    reading.arg(sample.data()).arg("--keyring").arg(sample.keyring_file());
    let mut reading = reading.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(reading.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let ended = reading.wait_with_output().unwrap();
    assert!(first.starts_with('{'));
    assert_eq!((code(&ended), String::from_utf8(ended.stderr).unwrap().as_str()), (0, ""));
}

#[test]
fn completions_are_written_for_a_shell() {
    let output = command(&["completions", "bash"]).output().unwrap();
    assert!(code(&output) == 0 && String::from_utf8(output.stdout).unwrap().contains("bitacora"));
    assert_eq!(told(&command(&["completions", "zsh", "--json"]).output().unwrap())["shell"], "zsh");
}

//! Tests of `tail`: the last events, the coming ones, and its end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};

use crate::PROGRAM;
use crate::sample::{Sample, code, command, why};

fn serve() -> (tempfile::TempDir, ServiceProcess) {
    let folder = tempfile::tempdir().unwrap();
    let service = ServiceFolder::new(PROGRAM, folder.path()).start().unwrap();
    (folder, service)
}

fn append(service: &ServiceProcess, ids: std::ops::Range<u32>) {
    let mut client = HttpClient::connect(service.address).unwrap();
    let lines: String = ids
        .map(|id| {
            format!(
                r#"{{"specversion":"1.0","id":"t{id}","source":"urn:test","type":"x.noted","subject":"s{}","agent":"a1","data":{{"n":{id}}}}}"#,
                id % 2
            ) + "\n"
        })
        .collect();
    let answer = client.post("/v1/ledgers/main/events", "application/x-ndjson", lines.as_bytes()).unwrap();
    assert_eq!(answer.status, 201);
}

fn tail(service: &ServiceProcess, arguments: &[&str]) -> Command {
    let mut tail = command(&["tail", "--url", &format!("http://{}", service.address)]);
    tail.args(arguments);
    tail
}

fn until_caught_up(service: &ServiceProcess, arguments: &[&str]) -> Output {
    let ended = tail(service, arguments).arg("--until-caught-up").output().unwrap();
    assert_eq!(code(&ended), 0, "{}", String::from_utf8_lossy(&ended.stderr));
    ended
}

fn ids(output: &Output) -> Vec<String> {
    let lines = output.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()));
    lines.map(|line| line.unwrap().pointer("/event/id").unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_last_events_are_shown_and_then_those_to_come() {
    let (_folder, service) = serve();
    append(&service, 0..30);
    let expected = |ids: std::ops::Range<u32>, step| -> Vec<String> {
        ids.step_by(step).map(|id| format!("t{id}")).collect()
    };
    assert_eq!(ids(&until_caught_up(&service, &["--json"])), expected(20..30, 1));
    assert_eq!(ids(&until_caught_up(&service, &["--json", "-n", "3"])), expected(27..30, 1));
    assert_eq!(ids(&until_caught_up(&service, &["--json", "-n", "0"])), [""; 0]);
    assert_eq!(ids(&until_caught_up(&service, &["--json", "-n3", "--stream=s0"])), expected(24..30, 2));
    assert_eq!(ids(&until_caught_up(&service, &["--json", "--from=start"])).len(), 32);
    assert_eq!(ids(&until_caught_up(&service, &["--json", "--from=32"])), expected(29..30, 1));
    assert_eq!(ids(&until_caught_up(&service, &["--json", "--after=31"])), expected(29..30, 1));
    // As lines they are those of a read.
    let read =
        command(&["read", "--json", "--url", &format!("http://{}", service.address)]).output().unwrap();
    assert_eq!(until_caught_up(&service, &["--json", "--from=start"]).stdout, read.stdout);

    let mut following = tail(&service, &["--json", "-n", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("\"t29\""));
    append(&service, 30..32);
    assert!(next().contains("\"t30\"") && next().contains("\"t31\""));
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn lines_for_people_are_coloured_where_it_is_wanted() {
    let (_folder, service) = serve();
    append(&service, 0..1);
    let shown = |arguments: &[&str]| {
        String::from_utf8(until_caught_up(&service, &[&["-n", "1"], arguments].concat()).stdout).unwrap()
    };
    let plain = shown(&[]);
    assert!(
        plain.contains("x.noted") && plain.contains("s0  a1  n=0") && !plain.contains('\u{1b}'),
        "{plain}"
    );
    assert_eq!(shown(&["--color", "never"]), plain);
    assert!(shown(&["--color", "always"]).contains("\u{1b}[36mx.noted"));
    let asked =
        tail(&service, &["-n", "1", "--until-caught-up", "--color=always"]).env("NO_COLOR", "1").output();
    assert!(String::from_utf8(asked.unwrap().stdout).unwrap().contains('\u{1b}'), "what is asked for wins");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let (_folder, service) = serve();
    append(&service, 0..500);
    let mut following = tail(&service, &["--json", "--from=start"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = following.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    // At the latest what comes next is refused by the pipe.
    append(&service, 500..501);
    let ended = following.wait_with_output().unwrap();
    assert_eq!((code(&ended), ended.stderr.len()), (0, 0));
}

#[test]
fn a_folder_that_nobody_serves_is_shown_to_its_end() {
    let sample = Sample::new(2);
    let shown = sample.run(&["tail", "--json", "-n", "4"]);
    assert!(why(&shown).contains("nothing more comes"));
    assert_eq!(code(&shown), 0);
    let all = sample.run(&["read", "--json"]);
    let last: Vec<String> = ids(&all).into_iter().rev().take(4).collect();
    // Each opening of a folder adds an event of its own.
    let shown = ids(&shown);
    assert!(shown.len() == 4 && last.iter().any(|id| shown.contains(id)), "{shown:?} {last:?}");
    let quiet = sample.run(&["tail", "--json", "--from=start", "--until-caught-up", "--stream=s"]);
    assert_eq!((code(&quiet), quiet.stderr.len(), ids(&quiet).len()), (0, 0, 6));
}

#[test]
fn what_cannot_be_followed_is_said_in_one_line() {
    let (_folder, service) = serve();
    let past = tail(&service, &["--after", "1000"]).output().unwrap();
    assert!(code(&past) == 1 && why(&past).contains("past the head at 2"), "{}", why(&past));
    let missing = tail(&service, &["--ledger", "none"]).output().unwrap();
    assert!(code(&missing) == 1 && why(&missing).contains("no ledger none"));
    let nobody = command(&["tail", "--url", "http://127.0.0.1:1"]).output().unwrap();
    assert!(code(&nobody) == 1 && why(&nobody).contains("is the service running?"));
    for wrong in [
        &["--from", "0"][..],
        &["--from", "end"],
        &["--after", "x"],
        &["-n", "1001"],
        &["-n", "-1"],
        &["-n", "1", "--from", "start"],
        &["--color", "sometimes"],
        &["--since", "someday"],
    ] {
        assert_eq!(code(&tail(&service, wrong).output().unwrap()), 2, "{wrong:?}");
    }
}

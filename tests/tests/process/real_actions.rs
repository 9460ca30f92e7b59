//! Real agent actions, sent as CloudEvents in requests of 1, 100 and 1,000, read back byte for byte.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::PROGRAM;
use crate::own_events::own_events;

/// Reads the sample beside a checkout, if there is one; `BITACORA_SAMPLE_DATA` names another folder.
fn sample() -> Option<Vec<u8>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder =
        std::env::var_os("BITACORA_SAMPLE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let file = folder.join("claude-code-actions.ndjson.zst");
    match std::fs::read(&file) {
        Ok(packed) => Some(zstd::decode_all(packed.as_slice()).unwrap()),
        Err(error) => {
            let notice =
                format!("NOT RUN: the sample of real actions is not there ({}: {error})\n", file.display());
            // Past the harness, which shows nobody what a passing test prints.
            std::io::stderr().write_all(notice.as_bytes()).unwrap();
            None
        }
    }
}

/// Each line as a CloudEvent, the line itself its data.
fn events(lines: &[&str]) -> Vec<String> {
    let event = |(index, line): (usize, &&str)| {
        let action: Value = serde_json::from_str(line).unwrap();
        format!(
            r#"{{"specversion":"1.0","id":"actions#{}","source":"urn:sample","type":"x.action","subject":{},"session":{},"data":{line}}}"#,
            index + 1,
            action["session"],
            action["session"],
        )
    };
    lines.iter().enumerate().map(event).collect()
}

#[test]
fn real_actions_read_back_byte_for_byte() {
    let Some(sample) = sample() else { return };
    let lines: Vec<&str> = std::str::from_utf8(&sample).unwrap().lines().collect();
    let events = events(&lines);
    for size in [1, 100, 1_000] {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(PROGRAM, folder.path());
        let mut service = place.start().unwrap();
        let mut client = HttpClient::connect(service.address).unwrap();
        let count = events.len();
        for batch in events.chunks(size) {
            let (kind, body) = match batch {
                [one] => ("application/cloudevents+json", one.clone()),
                many => ("application/cloudevents-batch+json", format!("[{}]", many.join(","))),
            };
            let answer = client.post("/v1/ledgers/main/events", kind, body.as_bytes()).unwrap();
            assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
        }
        let redacted = compare(&mut client, &lines);
        eprintln!("requests of {size}: {count} actions read back, {redacted} with a secret replaced");
        assert!(service.terminate().unwrap().success());
        for keys in [false, true] {
            let mut verify = place.command("verify");
            verify.arg("--json");
            if keys {
                verify.args(["--with-keys", "--keyring"]).arg(place.keyring());
            }
            let output = verify.output().unwrap();
            assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stderr));
            let told: Value = serde_json::from_slice(&output.stdout).unwrap();
            let all = count as u64 + own_events(&place);
            assert_eq!(told["events"].to_string().trim_matches('"'), all.to_string());
        }
    }
}

/// One page of stored events, their data as it stands in the answer.
#[derive(serde::Deserialize)]
struct StoredPage<'a> {
    #[serde(borrow)]
    events: Vec<StoredAction<'a>>,
    next: Option<String>,
}

#[derive(serde::Deserialize)]
struct StoredAction<'a> {
    #[serde(default)]
    redactions: u32,
    #[serde(borrow)]
    event: SentAction<'a>,
}

#[derive(serde::Deserialize)]
struct SentAction<'a> {
    id: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// Compares every action's bytes with what is read back, and says how many had a secret replaced.
fn compare(client: &mut HttpClient, lines: &[&str]) -> usize {
    let (mut after, mut redacted) = ("0".to_owned(), 0);
    let mut seen = HashMap::new();
    loop {
        let path = format!("/v1/ledgers/main/events?after={after}&limit=1000&type=x.action");
        let answer = client.get(&path, "application/json").unwrap();
        let page: StoredPage<'_> = serde_json::from_slice(&answer.body).unwrap();
        for stored in &page.events {
            let number: usize = stored.event.id.trim_start_matches("actions#").parse().unwrap();
            let data = stored.event.data.unwrap().get();
            if stored.redactions == 0 {
                assert_eq!(data, lines[number - 1], "action {number}");
            } else {
                redacted += 1;
                assert!(data.contains("[redacted:"), "action {number}");
            }
            *seen.entry(number).or_insert(0) += 1;
        }
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(seen.len(), lines.len());
    assert!(seen.values().all(|count| *count == 1));
    redacted
}

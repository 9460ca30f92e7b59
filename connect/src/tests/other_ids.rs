//! Ids that somebody else used first: what a hook heard is recorded under another id, and a trace tells of it.

use serde_json::Value;
use tempfile::tempdir;

use super::impostors::{Answers, HeardRequest, listening_to};
use super::traces::{NOWHERE, connected, run};
use super::{AFTER, BEFORE, token};
use crate::Spool;

const PROMPT: &[u8] = br#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"p"}"#;
/// A number that a double would change.
const LARGE: &[u8] = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"id":123456789012345678901234567890},"tool_use_id":"t"}"#;

/// Keeps an input while the service is away, and returns what a service then hears of it.
fn heard_of(input: &[u8]) -> Vec<HeardRequest> {
    let folder = tempdir().unwrap();
    run(&connected(&folder, NOWHERE), input);
    let (url, requests) = listening_to(Answers::TakenIds);
    let other = br#"{"session_id":"s","hook_event_name":"Notification"}"#;
    run(&connected(&folder, &url), other);
    let spool = Spool::of(&folder.path().join("state"), &token(7));
    // The hook's own input is the first one under its id, so it waits.
    let waiting: Vec<_> =
        spool.waiting().unwrap().iter().map(|path| spool.read(path).unwrap().body).collect();
    assert_eq!(waiting, [String::from_utf8_lossy(other)]);
    let heard = requests.try_iter().filter(|(_, body)| body != other);
    heard.collect()
}

fn json(request: &HeardRequest) -> Value {
    serde_json::from_slice(&request.1).unwrap()
}

/// Checks the trace under an id that was taken, too, and then under another one, and returns what it says.
fn evidence(traces: &[HeardRequest]) -> String {
    let [first, second] = traces else { panic!("{}", traces.len()) };
    let (first, second) = (json(first), json(second));
    assert_eq!(first["data"], second["data"]);
    assert_ne!(first["id"], second["id"]);
    first["data"]["evidence"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_whose_id_is_taken_is_recorded_under_one_that_both_of_its_ends_have() {
    let mut others = Vec::new();
    for input in [BEFORE, AFTER] {
        let heard = heard_of(input);
        assert_eq!(json(&heard[0])["tool_use_id"], "t");
        let other = json(&heard[1])["tool_use_id"].as_str().unwrap().to_owned();
        assert!(other.starts_with("t~"), "{other}");
        assert_eq!(heard[0].0, heard[1].0);
        let told = evidence(&heard[2..]);
        assert!(told.contains(&format!("is recorded under {other}")) && told.contains("id-reused"), "{told}");
        others.push(other);
    }
    assert_eq!(others[0], others[1]);
}

#[test]
fn an_input_under_another_id_keeps_the_text_of_its_values() {
    let heard = heard_of(LARGE);
    let text = String::from_utf8_lossy(&heard[1].1);
    assert!(text.contains(r#""tool_input":{"id":123456789012345678901234567890}"#), "{text}");
}

#[test]
fn an_event_whose_delivery_is_taken_is_recorded_under_another_one() {
    let heard = heard_of(PROMPT);
    let delivery = |request: &HeardRequest| {
        let (_, rest) = request.0.split_once("delivery=").unwrap();
        rest.split('&').next().unwrap().to_owned()
    };
    assert_eq!(heard[0].1, heard[1].1);
    let other = delivery(&heard[1]);
    assert_ne!(delivery(&heard[0]), other);
    assert!(evidence(&heard[2..]).contains(&other));
}

#[test]
fn a_trace_that_is_refused_for_good_leaves_a_mark() {
    let folder = tempdir().unwrap();
    run(&connected(&folder, NOWHERE), b"no input of a hook");
    let (url, _requests) = listening_to(Answers::RefusedTraces);
    run(&connected(&folder, &url), AFTER);
    let spool = Spool::of(&folder.path().join("state"), &token(7));
    assert_eq!((spool.counts().unwrap().files, spool.losses_untold().unwrap().untold), (0, 1));
}

//! Servers that die, stream, babble and flood, and a client that floods.

use serde_json::{Value, json};

use super::Governed;

/// Bytes of a line that is far too long.
const HUGE_BYTES: usize = 100 * 1024 * 1024;
/// Bytes of a piece of it.
const PIECE_BYTES: usize = 1024 * 1024;

#[test]
fn a_server_that_dies_ends_the_session_and_its_call_has_failed() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "die");
    let answer = client.answer(1);
    assert!(answer["error"]["message"].as_str().unwrap().contains("no answer"), "{answer}");
    assert_eq!(client.wait().code(), Some(1));
    assert_eq!(governed.events("tool.failed", 1)[0]["error_type"], "server-ended");
    assert_eq!(governed.reached(), ["die"]);
}

#[test]
fn a_server_that_streams_is_heard_in_its_order() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.send(json!({"id": 1, "method": "tools/call", "params": {"name": "stream", "_meta": {"progressToken": "t"}}}));
    for step in 1..=3 {
        let told = client.next();
        assert_eq!(told["params"], json!({"progressToken": "t", "progress": step}), "{told}");
    }
    assert_eq!(client.next()["result"]["content"][0]["text"], "stream");
}

#[test]
fn messages_that_nobody_knows_are_handed_on_and_answers_to_nobody_are_dropped() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "babble");
    assert_eq!(client.next(), json!({"jsonrpc": "2.0", "method": "x/notice", "params": {"n": 1}}));
    let asked = client.next();
    assert_eq!((&asked["id"], &asked["method"]), (&json!("s-1"), &json!("x/ask")));
    client.send(json!({"id": "s-1", "result": {"said": "yes"}}));
    assert_eq!(client.next()["result"]["content"][0]["text"], "first");
    assert!(client.is_silent(), "the second answer to one call");
    client.call(2, "add");
    assert_eq!(client.result(2), ("add".to_owned(), None));
    let seen = std::fs::read_to_string(governed.path("seen")).unwrap();
    assert!(seen.contains(r#""said":"yes""#), "{seen}");
}

#[test]
fn a_line_of_100_megabytes_of_the_server_ends_the_session() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "huge");
    let answer = client.answer(1);
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(why.contains("more than 16777216 bytes"), "{why}");
    assert_eq!(client.wait().code(), Some(1));
    assert_eq!(governed.events("tool.failed", 1).len(), 1);
}

#[test]
fn a_line_of_100_megabytes_of_the_client_is_refused_and_not_kept() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    let piece = vec![b' '; PIECE_BYTES];
    client.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}"#);
    for _ in 0..HUGE_BYTES / PIECE_BYTES {
        client.send_bytes(&piece);
    }
    client.send_bytes(b"}\n");
    let refused: Value = client.next();
    assert_eq!((&refused["id"], refused["error"]["code"].is_number()), (&Value::Null, true), "{refused}");
    let peak = client.peak_memory();
    assert!(peak < HUGE_BYTES as u64, "the proxy used {peak} bytes");
    client.call(2, "add");
    assert_eq!(client.result(2), ("add".to_owned(), None));
    assert_eq!(governed.reached(), ["add"]);
}

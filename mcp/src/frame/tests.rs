//! Tests of messages: what is refused, and what is written of the rest.

use super::*;

fn refused(line: &str) -> BadMessage {
    match ClientMessage::parse(line.as_bytes()) {
        Err(bad) => bad,
        Ok(message) => panic!("{line} is taken as {message:?}"),
    }
}

#[test]
fn a_message_that_a_server_might_read_as_another_is_refused() {
    for (line, fault) in [
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}]"#, "a batch"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, "duplicate key"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","meth\u006fd":"tools/call"}"#, "duplicate key"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#, "the member \"Method\""),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#, "duplicate key"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}"#, "duplicate key"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{}}"#, "expected \"tools/call\""),
        (r#"{"jsonrpc":"2.0","id":1,"method":"/tools/call","params":{}}"#, "expected \"tools/call\""),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{}}"#, "characters that no method has"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools\u0000/call","params":{}}"#, "nul character"),
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#, "without an id"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{}}"#, "an id that is neither"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, "an id that is neither"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "an id that is neither"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, "a method and an answer"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "neither a method nor an answer"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "`jsonrpc`"),
        (r#"{"id":1,"method":"ping"}"#, "`jsonrpc`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "no text"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#, "no object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0"}"#, "not json"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, "ends early"),
        ("7", "no object"),
        ("", "ends early"),
    ] {
        let bad = refused(line);
        assert!(bad.why.contains(fault), "{line}: {}", bad.why);
    }
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":"a","method":"tools/Call"}"#).id,
        Some(Id::Text("a".to_owned()))
    );
}

#[test]
fn a_call_in_white_space_that_ends_a_line_elsewhere_is_one_message() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\r}}";
    let Ok(ClientMessage::Notification { method, params }) = ClientMessage::parse(line.as_bytes()) else {
        panic!()
    };
    let sent = written(None, &method, params.as_deref());
    assert!(!sent.contains('\r'), "{sent}");
}

#[test]
fn other_messages_keep_their_meaning() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","x":[1,2.5,"ü"]}}"#,
        r#"{"jsonrpc":"2.0","id":"a\"b","method":"server/discover","params":{"_meta":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"x.unknown/Method-1"}"#,
    ] {
        let sent = match ClientMessage::parse(line.as_bytes()).unwrap() {
            ClientMessage::Request { id, method, params } => written(Some(&id), &method, params.as_deref()),
            ClientMessage::Notification { method, params } => written(None, &method, params.as_deref()),
            ClientMessage::Answer { text } => text,
        };
        assert_eq!(sent, line);
    }
    for answer in [
        r#"{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#,
    ] {
        assert!(
            matches!(ClientMessage::parse(answer.as_bytes()), Ok(ClientMessage::Answer { text }) if text == answer)
        );
    }
}

#[test]
fn messages_of_a_server_are_read_as_far_as_needed() {
    let one = |line: &str| ServerMessage::parse_line(line.as_bytes()).map(|read| read.len());
    assert_eq!(one(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Some(1));
    assert_eq!(one(r#" {"extra":1,"jsonrpc":"2.0","method":"notifications/message","params":{}} "#), Some(1));
    assert_eq!(
        one(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#),
        Some(2)
    );
    for bad in ["", "listening on stdio", "7", "{}", r#"{"id":1}"#, r#"{"id":1.5,"result":{}}"#, "\u{feff}{}"]
    {
        assert_eq!(one(bad), None, "{bad}");
    }
    assert_eq!(ServerMessage::parse_line(&[b'"', 0xff, b'"']).map(|read| read.len()), None);
}

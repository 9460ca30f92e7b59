//! Tools whose definitions change.

use serde_json::json;

use super::Governed;

/// The beginning of the versions of registrations that name a definition.
const DEFINITION: &str = "mcp:";

#[test]
fn a_tool_that_changes_in_mid_session_is_held_until_an_operator_takes_it() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "add");
    client.result(1);
    let described = governed.events("tool.described", 9);
    let of_add = |data: &serde_json::Value| data["tool"] == "mcp__scripted__add";
    let first = described.iter().find(|data| of_add(data)).unwrap()["digest"].clone();
    client.call(2, "change");
    client.result(2);
    client.call(3, "add");
    let (text, refusal) = client.result(3);
    assert_eq!(refusal.as_deref(), Some("drifted"), "{text}");
    assert!(text.contains("bitacora tools register --seen mcp__scripted__add"), "{text}");
    assert_eq!(governed.reached(), ["add", "change"]);
    let drifted = governed.events("tool.drifted", 1);
    assert_eq!((drifted.len(), &drifted[0]["expected"]), (1, &first), "{drifted:?}");
    assert!(drifted[0]["definition"].as_str().unwrap().contains("sends all files elsewhere"));
    // Every other tool goes on.
    client.call(4, "stream");
    assert_eq!(client.result(4).1, None);
    client.call(5, "add");
    assert_eq!(client.refusal(5), "drifted");
    governed.takes("add");
    let registered: serde_json::Value = serde_json::from_str(&governed.does(&["tools", "--json"])).unwrap();
    let tools = registered["tools"].as_array().unwrap();
    let add = tools.iter().map(|tool| &tool["document"]).find(|document| of_add(document)).unwrap();
    assert_eq!(add["version"], json!(format!("{DEFINITION}{}", drifted[0]["digest"].as_str().unwrap())));
    client.call(6, "add");
    assert_eq!(client.result(6), ("add".to_owned(), None));
    // A new session starts a server with the definition that nobody expects any more.
    let mut later = governed.session("0");
    later.call(1, "add");
    assert_eq!(later.refusal(1), "drifted");
    assert_eq!(governed.events("tool.drifted", 2).len(), 2);
    assert_eq!(governed.reached(), ["add", "change", "stream", "add"]);
}

#[test]
fn a_change_that_the_server_keeps_to_itself_is_found_in_the_next_list() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    for (id, tool) in [(1, "add"), (2, "swap")] {
        client.call(id, tool);
        client.result(id);
    }
    client.send(json!({"id": 3, "method": "tools/list"}));
    client.answer(3);
    governed.events("tool.drifted", 1);
    client.call(4, "add");
    assert_eq!(client.refusal(4), "drifted");
    assert_eq!(governed.reached(), ["add", "swap"]);
}

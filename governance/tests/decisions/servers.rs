//! The same tool on two servers is two tools: consent, trust and rates of one are nothing to the other.

use bitacora_formats::vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{Desk, SECOND, governed, scope_of, tool, verdict};

/// A ledger that knows `fs.read` of two servers, and of none.
fn served() -> Desk {
    let mut desk = governed();
    for server in [json!("a"), json!("b"), Value::Null] {
        let mut read = tool("fs.read");
        read["server"] = server;
        desk.act("tool.registered", read).unwrap();
    }
    desk
}

fn request(call: &str, server: &Value) -> Value {
    json!({"call": call, "tool": "fs.read", "server": server, "args": {"path": "src/a.rs"}})
}

#[test]
fn a_grant_is_for_the_tool_of_one_server() {
    let servers = [json!("a"), json!("b"), Value::Null];
    for granted in &servers {
        let mut desk = served();
        let expires = desk.time + 60 * SECOND;
        let mut scope = scope_of("coder", "src");
        (scope["tool"], scope["server"]) = (json!("fs.read"), granted.clone());
        let grant = json!({"grant": "g", "scope": scope, "expires": expires});
        desk.act("grant.given", grant).unwrap();
        for (number, server) in servers.iter().enumerate() {
            let asked = desk.ask_with(request(&format!("c{number}"), server)).unwrap();
            assert_eq!(asked.verdict == Verdict::Allow, server == granted, "{granted} {server}");
        }
    }
}

#[test]
fn trust_is_earned_on_one_server() {
    let mut desk = served();
    desk.earn("a/fs.read", "src");
    let trusted = desk.ask_with(request("c1", &json!("a"))).unwrap();
    assert_eq!(verdict(&trusted), (Verdict::Allow, "allowed".into()));
    assert_eq!(trusted.inputs.dimension.tool(), "a/fs.read");
    let other = desk.ask_with(request("c2", &json!("b"))).unwrap();
    assert_eq!(verdict(&other), (Verdict::Review, "trust-require-review".into()));
}

#[test]
fn a_rate_is_of_the_tool_of_one_server() {
    let mut desk = served();
    desk.act(
        "rate.configured",
        json!({"scope": {"by": "tool", "name": "a/fs.read"}, "limit": {"burst": 1, "refill": 1, "period_ms": 10_000}}),
    )
    .unwrap();
    for (call, server, code) in [
        ("c1", json!("a"), "trust-require-review"),
        ("c2", json!("a"), "rate-limited"),
        ("c3", json!("b"), "trust-require-review"),
        ("c4", Value::Null, "trust-require-review"),
    ] {
        assert_eq!(desk.ask_with(request(call, &server)).unwrap().reason_code.as_str(), code, "{call}");
    }
}

#[test]
fn two_tools_with_one_name_are_not_registered() {
    let mut desk = served();
    let refused = desk.act("tool.registered", tool("a/fs.read")).unwrap_err();
    assert_eq!(refused.code.as_str(), "schema");
    assert!(refused.reason.contains("a/fs.read"), "{}", refused.reason);
}

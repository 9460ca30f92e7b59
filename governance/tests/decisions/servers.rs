//! The same tool on two servers: two tools.
//! Rules, consent, trust and rates of one mean nothing to the other.

use bitacora_governance::{Policy, RecordedCall, WhatIf};
use bitacora_vocabulary::{Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, scope_of, tool, verdict};
use crate::golden::rejudged;

/// A ledger that knows `fs.read` of two servers, and of none.
fn served() -> TestGovernance {
    let mut desk = governed();
    for server in [json!("a"), json!("b"), Value::Null] {
        let mut read = tool("fs.read");
        read["server"] = server;
        desk.act("tool.registered", read).unwrap();
    }
    let rule = |id: &str, matches: Value| json!({"id": id, "match": matches, "action": "allow", "reason": "for a test"});
    desk.publish_rules(2, json!([rule("served", json!({"server": "*"})), rule("own", json!({}))]));
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

/// Returns a ledger with one rule, and one tool of a server, as `tools register --seen` registers named tools.
fn seen(tool: &str, server: Option<&str>, rule: &Value) -> TestGovernance {
    let mut desk = governed();
    let mut seen = crate::desk::tool(tool);
    seen["server"] = json!(server);
    seen["input_schema"] = json!({"type": "object"});
    seen.as_object_mut().unwrap().remove("context_from");
    desk.act("tool.registered", seen).unwrap();
    desk.publish_rules(2, json!([rule]));
    desk
}

fn trusting(matches: &Value, action: &str) -> Value {
    json!({"id": "r", "match": matches, "action": action, "reason": "for a test", "trust": "ignore"})
}

/// Returns the verdict on a call, also when it is judged again, and by a dry run of the same policy.
fn said(desk: &mut TestGovernance, tool: &str, server: Option<&str>, rule: &Value) -> (Verdict, String) {
    let call = format!("c{}", desk.log.len());
    let request =
        json!({"call": call, "tool": tool, "server": server, "args": {"path": "/home/ana/.ssh/id_rsa"}});
    let made = desk.ask_with(request).unwrap();
    let rules: Vec<Rule> = serde_json::from_value(json!([rule])).unwrap();
    let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
    let call = RecordedCall { decision: &made, request: None, time: bitacora_formats::Micros(desk.time) };
    let otherwise = desk.governance.read(|state| WhatIf::of(&policy, state.tools(), &call)).unwrap();
    assert_eq!((otherwise.otherwise.verdict, otherwise.certain), (made.verdict, true));
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
    verdict(&made)
}

fn no_rule() -> (Verdict, String) {
    (Verdict::Review, "no-rule".to_owned())
}

#[test]
fn what_allows_a_tool_by_name_allows_no_servers_tool_of_that_name() {
    for matches in [
        json!({"tool": "Task"}),
        json!({"tool": ["Skill", "Task"]}),
        json!({"tool": "Task", "risk": "write"}),
        json!({"risk": "write"}),
        json!({}),
    ] {
        let rule = trusting(&matches, "allow");
        for (server, expected) in [(None, (Verdict::Allow, "allowed".to_owned())), (Some("s"), no_rule())] {
            let mut desk = seen("Task", server, &rule);
            assert_eq!(said(&mut desk, "Task", server, &rule), expected, "{matches} {server:?}");
        }
    }
    // A rule that names the server means its tool.
    for server in ["s", "*", "[a-z]"] {
        let rule = trusting(&json!({"tool": "Task", "server": server}), "allow");
        assert_eq!(said(&mut seen("Task", Some("s"), &rule), "Task", Some("s"), &rule).0, Verdict::Allow);
    }
}

#[test]
fn a_name_that_tells_its_server_is_that_servers_alone() {
    for (tool, server, is_allowed) in [
        ("mcp__fs__read", Some("fs"), true),
        ("mcp__fs__read", None, true),
        ("mcp__fs__read", Some("evil"), false),
        ("mcp__fs__read", Some("f"), false),
        ("mcp__fs__", Some("fs"), false),
        ("mcp__fs", Some("fs"), false),
        ("fs__read", Some("fs"), false),
        // A server that is called so that its tools look like those of another one.
        ("mcp__fs__evil__read", Some("fs__evil"), false),
    ] {
        let rule = trusting(&json!({"tool": tool}), "allow");
        let found = said(&mut seen(tool, server, &rule), tool, server, &rule);
        assert_eq!(found.0 == Verdict::Allow, is_allowed, "{tool} of {server:?}: {found:?}");
    }
}

#[test]
fn what_denies_or_reviews_does_so_whatever_the_server_is() {
    for (action, code) in [("deny", "policy-deny"), ("review", "policy-review")] {
        for matches in [json!({"tool": "Task"}), json!({"tool": "T*"}), json!({})] {
            let rule = trusting(&matches, action);
            for server in [None, Some("s")] {
                assert_eq!(
                    said(&mut seen("Task", server, &rule), "Task", server, &rule).1,
                    code,
                    "{matches}"
                );
            }
        }
    }
}

#[test]
fn no_glob_allows_a_tool_of_which_nobody_sees_where_its_calls_reach() {
    let name = "mcp__fs__read_many";
    for (matches, is_allowed) in [
        (json!({"tool": "mcp__fs__*"}), false),
        (json!({"tool": ["Read", "mcp__fs__*"], "server": "fs"}), false),
        (json!({"tool": "*", "server": "fs"}), false),
        (json!({"tool": ["Read", name]}), true),
        (json!({"tool": ["mcp__fs__*", name], "server": "*"}), true),
    ] {
        let rule = trusting(&matches, "allow");
        let found = said(&mut seen(name, Some("fs"), &rule), name, Some("fs"), &rule);
        assert_eq!(found.0 == Verdict::Allow, is_allowed, "{matches}: {found:?}");
    }
    // Of others it is seen: their arguments are all known, or they say which of them name places.
    let rule = trusting(&json!({"tool": "mcp__fs__*"}), "allow");
    let closed = json!({"type": "object", "properties": {"path": {}}, "additionalProperties": false});
    for (schema, reads_places, is_allowed) in [
        (closed, false, true),
        (json!({"type": "object", "properties": {"path": {"type": "string"}}}), true, true),
        (json!({"additionalProperties": false, "patternProperties": {"^p": {}}}), false, false),
        (json!({"additionalProperties": {"type": "string"}}), false, false),
        (json!(true), false, false),
    ] {
        let mut desk = seen(name, Some("fs"), &rule);
        let mut changed = tool(name);
        (changed["server"], changed["input_schema"]) = (json!("fs"), schema.clone());
        if !reads_places {
            changed.as_object_mut().unwrap().remove("context_from");
        }
        desk.act("tool.changed", changed).unwrap();
        let found = said(&mut desk, name, Some("fs"), &rule);
        assert_eq!(found.0 == Verdict::Allow, is_allowed, "{schema}: {found:?}");
    }
}

#[test]
fn a_digest_instead_of_arguments_does_not_hide_that_nobody_sees_them() {
    let rule = trusting(&json!({"tool": "mcp__fs__*"}), "allow");
    let mut desk = seen("mcp__fs__x", Some("fs"), &rule);
    let request = json!({"call": "c1", "tool": "mcp__fs__x", "server": "fs", "args_digest": "0".repeat(64)});
    assert_eq!(verdict(&desk.ask_with(request).unwrap()), no_rule());
}

//! The parts of random requests.

use bitacora_governance::Policy;
use bitacora_vocabulary::{Rule, TrustRules};
use serde_json::{Value, json};

/// The agents that ask, with their tokens' actors.
pub(super) const AGENTS: [(&str, &str); 3] =
    [("coder", "agent:111111111111"), ("tester", "agent:222222222222"), ("ops", "operator:333333333333")];
pub(super) const TOOLS: [&str; 4] = ["fs.write", "fs.write", "fs.read", "no.such"];
pub(super) const PATHS: [&str; 5] = ["src/a.rs", "src/b.rs", "docs/a.md", "src/secret", "../x"];

pub(super) const OPERATOR: &str = "operator:000000000000";

pub(super) fn dimension(tool: &str, context: &str) -> Value {
    json!({"tool": tool, "context": context, "model": "-", "task_type": "-", "workspace": "-"})
}

pub(super) fn trust(dimension: &Value, approvals: u64) -> Value {
    let counts = json!({"approvals": approvals, "rejections": 0, "failures": 0, "streak": approvals});
    json!({"dimension": dimension, "counts": counts, "reason": "for a test"})
}

pub(super) fn tool(name: &str, version: &str) -> Value {
    json!({
        "tool": name, "version": version, "description": "a tool",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent", "operator"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    })
}

pub(super) fn policy(version: u64, action: &str) -> Value {
    let rules = json!([
        {"id": "secrets", "match": {"tool": "fs.*", "arguments": [{"pointer": "/path", "glob": "*secret*"}]},
         "action": "deny", "reason": "for a test"},
        {"id": "night", "match": {"tool": "fs.read", "time_window": {"from": "01:00", "to": "04:00", "zone": "Europe/Madrid"}},
         "action": "review", "reason": "for a test"},
        {"id": "all", "match": {}, "action": action, "reason": "for a test"},
    ]);
    let compiled: Vec<Rule> = serde_json::from_value(rules.clone()).unwrap();
    let trust = TrustRules::v2();
    let unregistered = if action == "review" { "review" } else { "deny" };
    let end = if action == "review" { "deny" } else { "review" };
    let times =
        json!({"approval_s": 86_400, "approval_end": end, "run_s": 600, "alone_s": 60, "start_s": 120});
    let settings = json!({"unregistered": unregistered, "exit_codes_count": ["docs"], "times": times});
    let policy = Policy::compile(&compiled, &trust).unwrap();
    let policy = policy.with_settings(serde_json::from_value(settings.clone()).unwrap()).unwrap();
    let digest = policy.digest().to_string();
    json!({"version": version, "digest": digest, "rules": rules, "trust": trust, "author": "me",
           "times": settings["times"], "unregistered": unregistered, "exit_codes_count": settings["exit_codes_count"]})
}

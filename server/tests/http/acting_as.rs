//! Governance by tokens: the record names the asker and the actor, and nobody acts for another.

use serde_json::{Value, json};

use crate::governed::governed;
use crate::identities::{append, ask, created, event, guard, hash, token};
use crate::service::{ServiceAnswer, TestService};

/// A service whose ledger has a tool, a policy, a principal of each role, and one operator more.
fn guarded() -> TestService {
    let service = governed("allow");
    guard(&service);
    append(&service, &token("admin"), &created("second", "operator", None)).expect(201);
    service
}

fn to(service: &TestService, name: &str, method: &str, resource: &str, body: &Value) -> ServiceAnswer {
    ask(service, method, &format!("/v1/ledgers/main/{resource}"), Some(&token(name)), &body.to_string())
}

fn actor(role: &str, name: &str) -> String {
    format!("{role}:{}", &hash(&token(name))[..12])
}

/// The newest event of a type.
fn newest(service: &TestService, kind: &str) -> Value {
    let page = to(service, "auditor", "GET", &format!("events?type={kind}&dir=backward&limit=1"), &json!(""));
    page.expect(200).json()["events"][0]["event"].clone()
}

fn write(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

#[test]
fn an_agents_token_asks_for_that_agent_alone() {
    let service = guarded();
    let decision = to(&service, "agent", "POST", "decide", &write("c1")).expect(200).json();
    assert_eq!(decision["verdict"], "review", "{decision}");
    let requested = newest(&service, "tool.requested");
    assert_eq!(requested["actor"], actor("agent", "agent"));
    assert_eq!((&requested["agent"], &requested["subject"]), (&json!("coder"), &json!("agent/coder")));
    let waiting = newest(&service, "approval.requested");
    assert_eq!(waiting["data"]["requested_by"], actor("agent", "agent"));

    let mut named = write("c2");
    named["agent"] = json!("coder");
    to(&service, "agent", "POST", "decide", &named).expect(200);
    named["call"] = json!("c3");
    named["agent"] = json!("another");
    let problem = to(&service, "agent", "POST", "decide", &named).expect_problem(403, "forbidden");
    assert_eq!((&problem["needs"], &problem["errors"][0]["pointer"]), (&json!("operator"), &json!("/agent")));
    let mut outcome = json!({"call": "c1", "status": "ok", "agent": "another"});
    to(&service, "agent", "POST", "outcome", &outcome).expect_problem(403, "forbidden");
    outcome["agent"] = json!("coder");
    to(&service, "agent", "POST", "outcome", &outcome).expect(200);
    assert_eq!(newest(&service, "tool.completed")["actor"], actor("agent", "agent"));
    let service = service.restarted();
    assert_eq!(newest(&service, "tool.completed")["actor"], actor("agent", "agent"));
}

#[test]
fn who_is_suspended_is_so_whatever_their_requests_say() {
    let service = guarded();
    let reason = json!({"reason": "for a test"});
    to(&service, "operator", "POST", "agents/coder:suspend", &reason).expect(200);
    assert_eq!(newest(&service, "agent.suspended")["actor"], actor("operator", "operator"));
    let decision = to(&service, "agent", "POST", "decide", &write("c1")).expect(200).json();
    assert_eq!((&decision["verdict"], &decision["reasonCode"]), (&json!("deny"), &json!("agent-suspended")));
}

#[test]
fn nobody_resolves_a_request_of_their_own_or_for_another() {
    let service = guarded();
    let tool = json!({
        "tool": "ops.run", "version": "1", "description": "a tool", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": true, "allowed_roles": ["operator"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": []
    });
    to(&service, "operator", "PUT", "tools/ops.run", &tool).expect(201);
    let asked = json!({"call": "c1", "tool": "ops.run", "args": {}});
    let decision = to(&service, "operator", "POST", "decide", &asked).expect(200).json();
    let approval = decision["approval"]["id"].as_str().unwrap_or_else(|| panic!("{decision}"));
    let approve = format!("approvals/{approval}:approve");
    let none = json!({});
    to(&service, "operator", "POST", &approve, &none).expect_problem(403, "own-request");
    let word = json!({"approval": approval, "resolution": "approved", "by": actor("operator", "second")});
    let word = event("approval.resolved", &word);
    append(&service, &token("operator"), &word).expect_problem(403, "forbidden");
    append(&service, &token("agent"), &word).expect_problem(403, "forbidden");
    to(&service, "agent", "POST", &approve, &none).expect_problem(403, "forbidden");
    to(&service, "auditor", "POST", &approve, &none).expect_problem(403, "forbidden");
    let given = to(&service, "second", "POST", &approve, &none).expect(200).json();
    assert_eq!(given["resolution"]["by"], actor("operator", "second"));
    let resolved = newest(&service, "approval.resolved");
    assert_eq!(
        (&resolved["actor"], &resolved["data"]["by"]),
        (&given["resolution"]["by"], &given["resolution"]["by"])
    );
}

#[test]
fn who_acts_stands_in_each_act() {
    let service = guarded();
    let dimension = json!({"tool": "fs.write", "context": "src"});
    let counts = json!({"approvals": 1, "rejections": 0, "failures": 0, "streak": 1});
    let reason = json!({"reason": "for a test"});
    let settings = json!({"dimension": dimension, "window": 9, "failureThreshold": 2, "recoveryProbes": 1, "cooldownS": 5});
    let scope = json!({"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "-"});
    for (method, resource, body, kind) in [
        ("PUT", "mode", json!({"mode": "observe"}), "mode.configured"),
        ("PUT", "policy", json!({"rules": []}), "policy.published"),
        ("POST", "policy/2:activate", json!({}), "policy.activated"),
        ("POST", "trust:set", json!({"dimension": dimension, "counts": counts, "reason": "r"}), "trust.set"),
        ("POST", "breakers:configure", settings, "breaker.configured"),
        ("POST", "breakers:close", json!({"dimension": dimension}), "breaker.closed"),
        ("POST", "grants", json!({"scope": scope, "expires": "2099-01-01T00:00:00Z"}), "grant.given"),
        ("POST", "panic", reason.clone(), "panic.engaged"),
        ("DELETE", "panic", reason.clone(), "panic.released"),
        ("DELETE", "tools/fs.write", json!({}), "tool.revoked"),
    ] {
        let answer = to(&service, "second", method, resource, &body);
        assert!(answer.status < 300, "{resource}: {}", answer.text());
        assert_eq!(newest(&service, kind)["actor"], actor("operator", "second"), "{kind}");
    }
    assert_eq!(newest(&service, "breaker.closed")["data"]["by"], actor("operator", "second"));
    assert_eq!(newest(&service, "policy.published")["data"]["author"], actor("operator", "second"));
}

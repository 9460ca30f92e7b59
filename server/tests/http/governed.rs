//! A service with a tool and a policy, and requests to it.

use std::collections::BTreeMap;

use bitacora_api::{DecideBatchAnswer, DecisionAnswer, ProblemAnswer};
use serde_json::{Value, json};

use crate::service::{ServiceAnswer, TestService};
use crate::wire::same;

/// A service whose ledger knows one tool, and a policy of one rule about everything.
pub(crate) fn governed(action: &str) -> TestService {
    governed_on(TestService::start(), action)
}

pub(crate) fn governed_on(service: TestService, action: &str) -> TestService {
    govern(&service, action);
    service
}

/// Registers that tool and activates that policy.
pub(crate) fn govern(service: &TestService, action: &str) {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "a tool",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    });
    put(service, "tools/fs.write", &tool).expect(201);
    let rules = json!([{"id": "all", "match": {}, "action": action, "reason": "for a test"}]);
    put(service, "policy", &json!({"rules": rules})).expect(201);
    post(service, "policy/1:activate", &json!({})).expect(200);
}

/// Sends JSON to a resource of the ledger.
pub(crate) fn post(service: &TestService, resource: &str, body: &Value) -> ServiceAnswer {
    service.post(&format!("/v1/ledgers/main/{resource}"), "application/json", body.to_string())
}

/// Puts JSON in the place of a resource.
pub(crate) fn put(service: &TestService, resource: &str, body: &Value) -> ServiceAnswer {
    let headers = [("Content-Type", "application/json")];
    service.request("PUT", &format!("/v1/ledgers/main/{resource}"), &headers, body.to_string().as_bytes())
}

/// Takes a resource away.
pub(crate) fn delete(service: &TestService, resource: &str) -> ServiceAnswer {
    service.request("DELETE", &format!("/v1/ledgers/main/{resource}"), &[], b"")
}

/// A request to write a file of `src`.
pub(crate) fn write(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

/// Asks for a call: the decision.
#[expect(clippy::needless_pass_by_value, reason = "requests are written where they are sent")]
pub(crate) fn ask(service: &TestService, body: Value) -> Value {
    decision(&post(service, "decide", &body).expect(200))
}

/// Reads a decision. The service writes it by hand: it has the members of its type, in their order.
pub(crate) fn decision(answer: &ServiceAnswer) -> Value {
    same::<DecisionAnswer>(answer.text());
    answer.json()
}

/// Reads the answers of a batch, which are written by hand too: each a decision, or a problem.
pub(crate) fn decisions(answer: &ServiceAnswer) -> Value {
    for answer in same::<DecideBatchAnswer>(answer.text()).answers {
        let text = answer.get();
        if text.starts_with("{\"problem\":") {
            same::<BTreeMap<String, ProblemAnswer>>(text);
        } else {
            same::<DecisionAnswer>(text);
        }
    }
    answer.json()
}

/// Says yes to an approval.
pub(crate) fn approve(service: &TestService, approval: &str) -> ServiceAnswer {
    post(service, &format!("approvals/{approval}:approve"), &json!({}))
}

/// Gives a dimension the trust of twenty good calls, by an operator's word.
pub(crate) fn earn(service: &TestService, tool: &str, context: &str) {
    let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
    let dimension =
        json!({"tool": tool, "context": context, "model": "-", "task_type": "-", "workspace": "-"});
    post(service, "trust:set", &json!({"dimension": dimension, "counts": counts, "reason": "for a test"}))
        .expect(200);
}

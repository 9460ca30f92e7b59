//! Hooks of coding agents: calls decided and recorded by the words of their harnesses.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::governed::{approve, governed, put};
use crate::service::{ServiceAnswer, TestService};

/// A hook of Claude Code or Codex before a call.
fn before(call: &str, path: &str) -> Value {
    json!({"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/home/ana/p", "permission_mode": "default",
           "hook_event_name": "PreToolUse", "tool_name": "fs.write", "tool_input": {"path": path}, "tool_use_id": call})
}

fn ended(call: &str, path: &str) -> Value {
    json!({"session_id": "s1", "cwd": "/home/ana/p", "hook_event_name": "PostToolUse", "tool_name": "fs.write",
           "tool_input": {"path": path}, "tool_response": {"ok": true}, "tool_use_id": call, "duration_ms": 7})
}

fn hook(service: &TestService, harness_and_query: &str, input: &Value) -> ServiceAnswer {
    service.post(
        &format!("/v1/ledgers/main/hooks/{harness_and_query}"),
        "application/json",
        input.to_string(),
    )
}

fn permission(answer: &ServiceAnswer) -> (String, String) {
    let output = answer.json();
    let part = |name: &str| output["hookSpecificOutput"][name].as_str().unwrap_or_default().to_owned();
    (part("permissionDecision"), part("permissionDecisionReason"))
}

/// Every event of a type, the oldest first.
fn events(service: &TestService, kind: &str) -> Vec<Value> {
    let page = service.get(&format!("/v1/ledgers/main/events?type={kind}")).expect(200).json();
    page["events"].as_array().unwrap().iter().map(|event| event["event"].clone()).collect()
}

fn pending_approval(service: &TestService) -> String {
    let listed = service.get("/v1/ledgers/main/approvals").expect(200).json();
    listed["approvals"][0]["id"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_call_is_recorded_with_its_decision_and_its_outcome() {
    let service = governed("allow");
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    let answer = hook(&service, "claude?model=opus", &before("t1", "src/a.rs")).expect(200);
    assert_eq!(answer.json(), json!({}), "the harness's own rules go on");
    hook(&service, "claude", &ended("t1", "src/a.rs")).expect(200);
    let requested = events(&service, "tool.requested").pop().unwrap();
    assert_eq!((&requested["call"], &requested["session"]), (&json!("t1"), &json!("s1")));
    assert_eq!(
        (&requested["data"]["model"], &requested["data"]["cwd"]),
        (&json!("opus"), &json!("/home/ana/p"))
    );
    assert_eq!(events(&service, "decision.made").pop().unwrap()["data"]["mode"], "observe");
    assert_eq!(events(&service, "tool.completed").pop().unwrap()["data"]["duration_ms"], 7);
    // The same deliveries again record nothing.
    hook(&service, "claude?model=opus", &before("t1", "src/a.rs")).expect(200);
    hook(&service, "claude", &ended("t1", "src/a.rs")).expect(200);
    assert_eq!(events(&service, "tool.requested").len() + events(&service, "tool.completed").len(), 2);
}

#[test]
fn a_review_is_asked_of_a_person_or_denied_and_never_allowed() {
    let service = governed("allow");
    let (word, reason) = permission(&hook(&service, "claude?interactive=true", &before("t1", "src/a.rs")));
    assert_eq!(word, "ask", "{reason}");
    for (call, harness) in [("t2", "claude"), ("t3", "codex"), ("t4", "codex?interactive=true")] {
        let (word, reason) = permission(&hook(&service, harness, &before(call, &format!("src/{call}.rs"))));
        assert_eq!(word, "deny");
        assert!(
            reason.contains("is pending: a person approves it with `bitacora approvals approve a"),
            "{reason}"
        );
    }
    let gemini = json!({"session_id": "g", "hook_event_name": "BeforeTool", "tool_name": "fs.write", "tool_input": {"path": "src/a.rs"}});
    let answer = hook(&service, "gemini?call=g1", &gemini).expect(200).json();
    assert_eq!(answer["decision"], "deny");
    let cursor = json!({"conversation_id": "c", "hook_event_name": "preToolUse", "tool_name": "fs.write", "tool_input": {"path": "src/a.rs"}, "tool_use_id": "k1"});
    assert_eq!(hook(&service, "cursor", &cursor).expect(200).json()["permission"], "deny");
    let mut asked = cursor;
    asked["tool_use_id"] = json!("k2");
    assert_eq!(hook(&service, "cursor?interactive=true", &asked).expect(200).json()["permission"], "ask");
}

#[test]
fn a_denied_call_is_denied_in_every_dialect() {
    let service = governed("deny");
    for (harness, input) in [("claude", before("t1", "src/a.rs")), ("codex", before("t2", "src/a.rs"))] {
        assert_eq!(permission(&hook(&service, harness, &input)).0, "deny");
    }
    let gemini = json!({"session_id": "g", "hook_event_name": "BeforeTool", "tool_name": "fs.write", "tool_input": {"path": "src/a.rs"}});
    assert_eq!(hook(&service, "gemini?call=g1", &gemini).expect(200).json()["decision"], "deny");
}

#[test]
fn a_held_call_runs_as_soon_as_a_person_approves_it() {
    let service = governed("allow");
    let began = Instant::now();
    let answer = std::thread::scope(|scope| {
        let held = scope.spawn(|| hook(&service, "claude?wait=30s", &before("t1", "src/a.rs")));
        crate::service::wait_until(|| !pending_approval(&service).is_empty());
        approve(&service, &pending_approval(&service)).expect(200);
        held.join().unwrap()
    });
    assert_eq!(permission(&answer).0, "allow");
    assert!(began.elapsed() < Duration::from_secs(20));
    // The same call repeated, as after a lost answer, is the same allow, and the approval is used once.
    assert_eq!(permission(&hook(&service, "claude", &before("t1", "src/a.rs"))).0, "allow");
    assert_eq!(events(&service, "approval.consumed").len(), 1);
}

#[test]
fn a_held_call_that_is_rejected_is_denied_at_once() {
    let service = governed("allow");
    let answer = std::thread::scope(|scope| {
        let held = scope.spawn(|| hook(&service, "claude?wait=30s", &before("t1", "src/a.rs")));
        crate::service::wait_until(|| !pending_approval(&service).is_empty());
        let path = format!("/v1/ledgers/main/approvals/{}:reject", pending_approval(&service));
        service.post(&path, "application/json", "{}").expect(200);
        held.join().unwrap()
    });
    assert_eq!(permission(&answer).0, "deny");
}

#[test]
fn a_new_call_takes_the_approval_that_was_given_to_the_same_action() {
    let service = governed("allow");
    assert_eq!(permission(&hook(&service, "claude", &before("t1", "src/a.rs"))).0, "deny");
    let approval = pending_approval(&service);
    approve(&service, &approval).expect(200);
    // Another action has nothing of it.
    assert_eq!(permission(&hook(&service, "claude", &before("t2", "src/b.rs"))).0, "deny");
    let (word, reason) = permission(&hook(&service, "claude", &before("t3", "src/a.rs")));
    assert_eq!((word.as_str(), reason.contains(&approval)), ("allow", true), "{reason}");
    // Sent again after a lost answer it is the same allow, and another call has nothing of it.
    assert_eq!(permission(&hook(&service, "claude", &before("t3", "src/a.rs"))).0, "allow");
    assert_eq!(permission(&hook(&service, "claude", &before("t4", "src/a.rs"))).0, "deny");
}

#[test]
fn an_undecidable_call_is_an_error_or_a_deny_as_the_hook_asks() {
    let service = governed("allow");
    hook(&service, "claude", &before("t1", "src/a.rs")).expect(200);
    let other = before("t1", "src/b.rs");
    hook(&service, "claude", &other).expect_problem(409, "id-reused");
    let (word, reason) = permission(&hook(&service, "claude?failure=deny", &other).expect(200));
    assert_eq!(word, "deny");
    assert!(reason.starts_with("The call could not be decided"), "{reason}");
}

#[test]
fn sessions_turns_and_subagents_become_events_and_a_delivery_counts_once() {
    let service = governed("allow");
    let told = |name: &str, more: Value| {
        let mut input = json!({"session_id": "s1", "cwd": "/p", "hook_event_name": name});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        for _ in 0..2 {
            hook(&service, &format!("claude?delivery={name}"), &input).expect(200);
        }
    };
    told("SessionStart", json!({"source": "startup", "model": "opus"}));
    told("UserPromptSubmit", json!({"prompt": "go"}));
    told("SubagentStart", json!({"agent_id": "a1", "agent_type": "general-purpose"}));
    told("SubagentStop", json!({"agent_id": "a1"}));
    told("Stop", json!({}));
    told("SessionEnd", json!({"reason": "other"}));
    told("TeammateIdle", json!({}));
    let only = |kind: &str| {
        let mut events = events(&service, kind);
        assert_eq!(events.len(), 1, "{kind}");
        let event = events.pop().unwrap();
        assert_eq!((&event["session"], &event["subject"]), (&json!("s1"), &json!("session/s1")));
        event["data"].clone()
    };
    assert_eq!(only("session.started"), json!({"harness": "claude-code", "model": "opus", "cwd": "/p"}));
    assert_eq!(only("turn.started")["prompt"]["bytes"], 2);
    assert_eq!(only("run.started"), json!({"run": "a1", "kind": "general-purpose"}));
    assert_eq!(only("run.completed")["run"], "a1");
    assert_eq!(only("turn.ended")["stop_reason"], "end_turn");
    assert_eq!(only("session.ended"), json!({"reason": "other"}));
}

#[test]
fn what_is_told_later_has_the_time_of_the_hooks_own_clock() {
    let service = governed("allow");
    // What was recorded before its answer was lost is the same event.
    hook(&service, "claude", &before("t0", "src/a.rs")).expect(200);
    let late = "claude?delivery=d1&occurred=1764000000123456";
    let start = json!({"session_id": "s1", "cwd": "/p", "hook_event_name": "SessionStart"});
    for _ in 0..2 {
        for input in [&start, &before("t0", "src/a.rs"), &before("t1", "src/a.rs"), &ended("t1", "src/a.rs")]
        {
            hook(&service, late, input).expect(200);
        }
    }
    let times = |kind: &str| -> Vec<Value> {
        events(&service, kind).into_iter().map(|event| event["time"].clone()).collect()
    };
    let time = json!("2025-11-24T16:00:00.123456Z");
    assert_eq!(times("tool.requested"), [Value::Null, time.clone()]);
    assert_eq!(times("tool.completed"), std::slice::from_ref(&time));
    assert_eq!(times("session.started"), [time]);
}

#[test]
fn faulty_hooks_change_nothing() {
    let service = governed("allow");
    let tip = service.tip();
    let input = before("t1", "src/a.rs");
    hook(&service, "emacs", &input).expect_problem(404, "no-such-resource");
    for query in [
        "claude?wait=61s",
        "claude?interactive=yes",
        "claude?failure=allow",
        "claude?other=1",
        "claude?delivery=",
    ] {
        hook(&service, query, &input).expect_problem(400, "bad-query");
    }
    for input in [json!({}), json!([]), json!({"hook_event_name": "PreToolUse", "session_id": "s"})] {
        hook(&service, "claude", &input).expect_problem(400, "bad-body");
    }
    let mut nameless = input.clone();
    nameless.as_object_mut().unwrap().remove("tool_use_id");
    hook(&service, "claude", &nameless).expect_problem(400, "bad-body");
    assert_eq!(service.tip(), tip);
}

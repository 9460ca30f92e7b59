//! Names that one agent gives stay its own: others save and delete nothing of its threads.
//! They are told where its calls have their ids.

use serde_json::{Value, json};

use crate::checkpoints::settled;
use crate::governed::governed;
use crate::identities::{append, ask, event, guard, hash, token};
use crate::service::{ServiceAnswer, TestService};

/// A service with one principal of each role, and a second agent.
fn guarded() -> TestService {
    let service = settled(TestService::start());
    admit(&service);
    service
}

fn admit(service: &TestService) {
    guard(service);
    let other = json!({"principal": "mallory", "role": "agent", "agent": "mallory",
        "token_hash": hash(&token("mallory"))});
    append(service, &token("admin"), &event("principal.created", &other)).expect(201);
}

fn act(service: &TestService, who: &str, what: &str, body: &Value) -> ServiceAnswer {
    let target = format!("/v1/ledgers/main/checkpoints/{what}");
    ask(service, "POST", &target, Some(&token(who)), &body.to_string())
}

fn delete(service: &TestService, who: &str, what: &str) -> ServiceAnswer {
    ask(service, "DELETE", &format!("/v1/ledgers/main/checkpoints/{what}"), Some(&token(who)), "")
}

fn tip(service: &TestService) -> Value {
    let head = ask(service, "GET", "/v1/ledgers/main/head", Some(&token("auditor")), "").expect(200);
    head.json()["position"].clone()
}

fn save(id: &str) -> Value {
    json!({"checkpoint": id, "step": 1, "source": "loop", "channelVersions": {"n": 1}, "values": {"n": {"json": 7}}})
}

fn newest(service: &TestService) -> Value {
    let answer =
        ask(service, "GET", "/v1/ledgers/main/checkpoints/t", Some(&token("auditor")), "").expect(200);
    json!([answer.json()["checkpoint"], answer.json()["writes"]])
}

#[test]
fn another_agent_is_refused_before_anything_is_recorded() {
    let service = guarded();
    act(&service, "agent", "t:save", &save("c1")).expect(200);
    let found = newest(&service);
    act(&service, "mallory", "m:save", &save("c9")).expect(200);
    let write = json!({"checkpoint": "c1", "task": "x", "writes": [{"channel": "n", "value": {"json": 8}}]});
    let before = tip(&service);
    for (what, body) in [
        ("t:save", save("c2")),
        ("t:save", save("c1")),
        ("t:writes", write.clone()),
        ("t:fork", json!({"as": "c2"})),
    ] {
        let problem = act(&service, "mallory", what, &body).expect_problem(403, "thread-of-another");
        assert!(problem["detail"].as_str().unwrap().contains("agent coder"), "{problem}");
    }
    for what in ["t", "t?checkpoint=c1", "t?keep=newest", "t?namespace="] {
        delete(&service, "mallory", what).expect_problem(403, "thread-of-another");
    }
    assert_eq!(tip(&service), before);
    // A copy of it is another thread.
    act(&service, "mallory", "t:copy", &json!({"to": "u"})).expect(200);
    act(&service, "agent", "u:save", &save("c2")).expect_problem(403, "thread-of-another");
    assert_eq!(newest(&service), found);
    act(&service, "agent", "t:writes", &write).expect(200);
    act(&service, "agent", "t:save", &save("c2")).expect(200);
    assert_eq!(newest(&service)[0], "c2");
    delete(&service, "agent", "t").expect(200);
    act(&service, "mallory", "m:copy", &json!({"to": "t"})).expect_problem(403, "thread-of-another");
}

#[test]
fn what_another_agent_appends_about_it_counts_for_nothing() {
    let service = guarded();
    act(&service, "agent", "t:save", &save("c1")).expect(200);
    let found = newest(&service);
    for (kind, data) in [
        ("checkpoint.saved", json!({"thread": "t", "checkpoint": "c2", "step": 2, "source": "loop"})),
        (
            "checkpoint.writes",
            json!({"thread": "t", "checkpoint": "c1", "task": "x", "writes": [{"channel": "z", "inline": "00", "bytes": 1}]}),
        ),
        ("checkpoint.deleted", json!({"thread": "t"})),
    ] {
        append(&service, &token("mallory"), &event(kind, &data)).expect(201);
        assert_eq!(newest(&service), found, "{kind}");
    }
}

#[test]
fn an_operator_deletes_what_an_agent_took_and_gives_the_thread_away() {
    let service = guarded();
    act(&service, "mallory", "t:save", &save("c1")).expect(200);
    act(&service, "agent", "t:save", &save("c2")).expect_problem(403, "thread-of-another");
    delete(&service, "mallory", "t").expect(200);
    delete(&service, "mallory", "t").expect_problem(404, "no-such-checkpoint");
    act(&service, "agent", "t:save", &save("c2")).expect_problem(403, "thread-of-another");
    delete(&service, "operator", "t").expect(200);
    act(&service, "agent", "t:save", &save("c2")).expect(200);
    assert_eq!(newest(&service)[0], "c2");
    delete(&service, "admin", "t?checkpoint=c2").expect(200);
    act(&service, "mallory", "t:save", &save("c3")).expect_problem(403, "thread-of-another");
}

#[test]
fn an_id_that_another_agents_call_has_is_told_by_name_and_nothing_of_the_call() {
    let service = governed("allow");
    admit(&service);
    let decide = |who: &str, call: &str, path: &str| {
        let body = json!({"call": call, "tool": "fs.write", "args": {"path": path}});
        ask(&service, "POST", "/v1/ledgers/main/decide", Some(&token(who)), &body.to_string())
    };
    decide("mallory", "c1", "a").expect(200);
    // One that was asked for by an event of its own.
    let requested = json!({"call": "c2", "tool": "fs.write", "args": {"path": "a"}});
    let mut requested = event("tool.requested", &requested);
    requested["call"] = json!("c2");
    append(&service, &token("mallory"), &requested).expect(201);
    let before = tip(&service);
    for call in ["c1", "c2"] {
        for path in ["a", "b"] {
            let problem = decide("agent", call, path).expect_problem(409, "call-taken");
            assert!(problem.get("position").is_none(), "{problem}");
            assert!(!problem.to_string().contains("mallory"), "{problem}");
        }
    }
    decide("mallory", "c1", "b").expect_problem(409, "id-reused");
    let outcome = json!({"call": "c1", "status": "ok"}).to_string();
    ask(&service, "POST", "/v1/ledgers/main/outcome", Some(&token("agent")), &outcome)
        .expect_problem(404, "no-such-call");
    assert_eq!(tip(&service), before);
}

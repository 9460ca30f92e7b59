//! `decide?reuse=true`: an approval that was given before counts for one call of the same action, and for no other.

use serde_json::{Value, json};

use crate::governed::{approve, ask, decision, govern, post};
use crate::identities::{append, ask as ask_as, created, guard, token};
use crate::service::{SetClock, TestService};

const REUSE: &str = "/v1/ledgers/main/decide?reuse=true";
/// The minutes for which an approval holds, and a little more.
const APPROVAL_MINUTES: i64 = 24 * 60 + 1;
/// Approvals of one action that are looked at.
const LOOKED_AT: usize = 16;

fn call(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "agent": "coder", "run": "r1"})
}

/// Asks with these members in place of the usual ones, and returns the reason of the decision.
fn reused(service: &TestService, id: &str, members: &Value) -> Value {
    let mut body = call(id);
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    decision(&service.post(REUSE, "application/json", body.to_string()).expect(200))["reasonCode"].clone()
}

/// A service in which a person has approved a call.
fn approved(clock: &SetClock) -> TestService {
    let service = TestService::at(clock);
    govern(&service, "allow");
    let approval = ask(&service, call("c1"))["approval"]["id"].as_str().unwrap().to_owned();
    approve(&service, &approval).expect(200);
    service
}

#[test]
fn one_approval_counts_for_one_call_of_the_same_action() {
    let service = approved(&SetClock::default());
    let plain = ask(&service, call("c2"));
    assert_ne!(plain["verdict"], "allow", "whoever does not ask for it: {plain}");
    let other = json!({"args": {"path": "src/b.rs"}});
    assert_ne!(reused(&service, "c3", &other), "approved", "other arguments");
    for (id, members) in [
        ("c4", json!({"agent": "other"})),
        ("c5", json!({"run": "r2"})),
        ("c6", json!({"run": null})),
        ("c7", json!({"cwd": "/elsewhere"})),
        ("c8", json!({"tool": "fs.writes"})),
    ] {
        assert_ne!(reused(&service, id, &members), "approved", "{members}");
    }
    assert_eq!(reused(&service, "c9", &json!({})), "approved");
    // A repeated request has its first answer; another call has none.
    assert_eq!(reused(&service, "c9", &json!({})), "approved");
    assert_ne!(reused(&service, "c10", &json!({})), "approved");
    let consumed = service.get("/v1/ledgers/main/events?type=approval.consumed").expect(200).json();
    assert_eq!(consumed["events"].as_array().unwrap().len(), 1, "{consumed}");
}

#[test]
fn an_approval_that_expired_counts_for_nothing() {
    let clock = SetClock::default();
    let service = approved(&clock);
    clock.by_minutes(APPROVAL_MINUTES);
    // The clock jumped, so an operator looks at it first.
    post(&service, "clock:accept", &json!({"reason": "a day has passed"})).expect(200);
    let reason = reused(&service, "c2", &json!({}));
    assert_eq!(reason, "trust-require-review");
}

#[test]
fn of_approvals_of_several_runs_each_finds_its_own() {
    let service = TestService::start();
    govern(&service, "allow");
    let run = |number: usize| json!({"run": format!("r{number}")});
    for number in 0..LOOKED_AT {
        let mut request = call(&format!("a{number}"));
        request["run"] = run(number)["run"].clone();
        let approval = ask(&service, request)["approval"]["id"].as_str().unwrap().to_owned();
        approve(&service, &approval).expect(200);
    }
    for number in (0..LOOKED_AT).rev() {
        assert_eq!(reused(&service, &format!("b{number}"), &run(number)), "approved", "{number}");
    }
    assert_ne!(reused(&service, "c1", &run(0)), "approved");
}

#[test]
fn another_token_of_the_same_agent_has_to_be_approved_itself() {
    let service = TestService::start();
    govern(&service, "allow");
    guard(&service);
    append(&service, &token("admin"), &created("second", "agent", None)).expect(201);
    let send = |target: &str, name: &str, id: &str| {
        ask_as(&service, "POST", target, Some(&token(name)), &call(id).to_string())
    };
    let asked = decision(&send("/v1/ledgers/main/decide", "agent", "c1").expect(200));
    let approval = asked["approval"]["id"].as_str().unwrap();
    let target = format!("/v1/ledgers/main/approvals/{approval}:approve");
    ask_as(&service, "POST", &target, Some(&token("operator")), "{}").expect(200);
    assert_ne!(decision(&send(REUSE, "second", "c2").expect(200))["verdict"], "allow");
    // Another call in between, so that nobody takes this for a loop.
    let other = json!({"call": "c3", "tool": "fs.write", "args": {"path": "src/b.rs"}, "run": "r1"});
    ask_as(&service, "POST", REUSE, Some(&token("agent")), &other.to_string()).expect(200);
    assert_eq!(decision(&send(REUSE, "agent", "c4").expect(200))["reasonCode"], "approved");
}

//! Bounds for each agent: one agent's entries take no room of others, and old ones leave.
//! Operators are never locked out.

use bitacora_governance::{Examination, SCHEDULER_SOURCE};
use bitacora_vocabulary::{DecisionMade, ReasonCode, Step, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, START, TestGovernance, data, decision, governed, scope_of, tool, verdict};

const DAY: u64 = 24 * 3_600;

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

/// Goes on in a state in which this agent holds so much.
fn hold(desk: &mut TestGovernance, part: &str, agent: &str, held: u64) {
    let mut state = desk.governance.read(|state| serde_json::to_value(state).unwrap());
    let shares = json!({"by_agent": [[agent, held]]});
    if part == "begun" {
        state["begun"] = json!({"day": desk.time / SECOND / DAY, "begun": shares});
    } else {
        state[part]["shares"] = shares;
    }
    desk.go_on_in(&state);
}

#[test]
fn an_agent_that_holds_its_share_is_denied_and_the_others_are_not() {
    for (part, limit, what) in [
        ("calls", 25_000, "this agent's calls without an outcome"),
        ("keys", 50_000, "this agent's idempotency keys"),
    ] {
        let mut desk = governed();
        desk.earn("fs.write", "src");
        let ask = |desk: &mut TestGovernance, agent: &'static str, call: &str| -> DecisionMade {
            let mut request = request(call);
            request["idempotency_key"] = json!(call);
            desk.ask_as(agent, request).unwrap()
        };
        hold(&mut desk, part, "coder", limit - 1);
        assert_eq!(ask(&mut desk, "coder", "c1").verdict, Verdict::Allow, "{part}");
        hold(&mut desk, part, "coder", limit);
        let denied = ask(&mut desk, "coder", "c2");
        assert_eq!(verdict(&denied), (Verdict::Deny, "state-full".into()), "{part}");
        assert!(denied.reason.contains(what), "{}", denied.reason);
        assert_eq!(ask(&mut desk, "other", "c3").verdict, Verdict::Allow, "{part}");
        assert!(desk.is_in_step());
    }
}

/// Returns a ledger with as many approvals as there may be, asked for by four agents.
fn full_of_approvals() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for number in 0..20_000 {
        let agent = ["a", "b", "c", "d"][number % 4];
        let asked = json!({"call": format!("w{number}"), "tool": "fs.write", "args": {"path": format!("docs/{number}")}});
        assert_eq!(desk.ask_as(agent, asked).unwrap().verdict, Verdict::Review);
    }
    desk
}

#[test]
fn too_many_approvals_deny_the_calls_that_need_another_one_and_no_others() {
    let mut desk = full_of_approvals();
    let asking = |call: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "docs/new"}});
    for (agent, whose) in [("a", "full of this agent's approvals"), ("other", "full of approvals")] {
        let denied = desk.ask_as(agent, asking(agent)).unwrap();
        assert_eq!(verdict(&denied), (Verdict::Deny, "state-full".into()), "{agent}");
        assert!(denied.reason.contains(whose), "{}", denied.reason);
        assert!(denied.approval.is_none());
        let said = denied.ladder.iter().find(|said| said.step == Step::Clock).unwrap();
        assert_eq!((said.verdict, said.code), (Verdict::Deny, Some(ReasonCode::StateFull)));
        assert_eq!(desk.ask_as(agent, request(&format!("{agent}1"))).unwrap().verdict, Verdict::Allow);
    }
    let same = |call: &str, approval: Option<&str>| json!({"call": call, "tool": "fs.write", "args": {"path": "docs/0"}, "approval": approval});
    let waits = desk.ask_as("a", same("again", None)).unwrap();
    assert_eq!(waits.verdict, Verdict::Review, "for one that there is: {}", waits.reason);
    let approval = waits.approval.unwrap();
    let word = json!({"approval": approval, "resolution": "approved", "by": "operator:0"});
    desk.act("approval.resolved", word).unwrap();
    assert_eq!(desk.ask_as("a", same("used", Some(&approval))).unwrap().verdict, Verdict::Allow);
    assert!(desk.is_in_step());
    desk.pass(2 * DAY + 1);
    desk.ask_as("other", request("leaves")).unwrap();
    assert_eq!(desk.ask_as("a", asking("later")).unwrap().verdict, Verdict::Review);
}

#[test]
fn under_the_rules_before_too_many_approvals_deny_every_call() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    hold(&mut desk, "approvals", "coder", 5_000);
    for (version, call, expected) in [(4, "c1", Verdict::Deny), (5, "c2", Verdict::Allow)] {
        let event = desk.event("tool.requested", "agent:111111111111", &request(call));
        let mut examined = desk.examine(&event).unwrap();
        let Some(Examination::Call(facts)) = examined.as_deref_mut() else { panic!("no call") };
        facts.reactor_version = version;
        let made = decision(&desk.append_examined(vec![event], &[examined]).unwrap());
        assert_eq!(made.verdict, expected, "{version}: {}", made.reason);
        assert_eq!(made.inputs.reactor_version, version);
        if expected == Verdict::Deny {
            assert!(made.reason.contains("full of this agent's approvals that wait."), "{}", made.reason);
        }
    }
}

#[test]
fn a_call_whose_time_is_over_counts_as_its_agents_once_and_until_it_leaves() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let held = |desk: &TestGovernance| {
        let state = desk.governance.read(|state| serde_json::to_value(state).unwrap());
        state["calls"]["shares"]["by_agent"].clone()
    };
    for call in ["c1", "c2", "c3"] {
        assert_eq!(desk.ask_with(request(call)).unwrap().verdict, Verdict::Allow);
    }
    assert_eq!(held(&desk), json!([["coder", 3]]));
    desk.pass(DAY / 24 + 1);
    for call in ["c1", "c2"] {
        let over = json!({"call": call, "status": "timeout"});
        let mut over = desk.event("tool.failed", "service:scheduler", &over);
        over.source = SCHEDULER_SOURCE.into();
        desk.append(vec![over]).unwrap();
    }
    assert_eq!(held(&desk), json!([["coder", 3]]), "their outcomes may still come");
    desk.ok("c1");
    assert_eq!(held(&desk), json!([["coder", 2]]), "one has");
    desk.pass(DAY / 24 + 1);
    desk.ask_as("other", request("c4")).unwrap();
    assert_eq!(held(&desk), json!([["coder", 1], ["other", 1]]), "of the other nothing more is to come");
    desk.ok("c3");
    assert_eq!(held(&desk), json!([["other", 1]]));
    assert!(desk.is_in_step());
}

#[test]
fn an_agent_begins_so_many_dimensions_a_day() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    hold(&mut desk, "begun", "coder", 9_999);
    let new = |desk: &mut TestGovernance, agent: &'static str, call: &str| {
        let asked = json!({"call": call, "tool": "fs.write", "args": {"path": format!("{call}/a.rs")}});
        desk.ask_as(agent, asked).unwrap()
    };
    let first = new(&mut desk, "coder", "c1");
    assert_eq!(first.verdict, Verdict::Review);
    let word = json!({"approval": first.approval.unwrap(), "resolution": "rejected", "by": "operator:0"});
    desk.act("approval.resolved", word).unwrap();
    let denied = new(&mut desk, "coder", "c2");
    assert_eq!(verdict(&denied), (Verdict::Deny, "state-full".into()));
    assert!(denied.reason.contains("began today"), "{}", denied.reason);
    assert_eq!(desk.ask_with(request("c3")).unwrap().verdict, Verdict::Allow, "one that there is goes on");
    assert_eq!(new(&mut desk, "other", "c4").verdict, Verdict::Review);
    desk.pass(DAY);
    let next = new(&mut desk, "coder", "c5");
    assert_eq!(next.verdict, Verdict::Review);
    let word = json!({"approval": next.approval.unwrap(), "resolution": "rejected", "by": "operator:0"});
    desk.act("approval.resolved", word).unwrap();
    assert_eq!(new(&mut desk, "coder", "c6").verdict, Verdict::Review, "those of the day before are over");
}

#[test]
fn a_dimension_is_forgotten_two_years_after_its_last_outcome_and_not_by_a_clock_that_jumped() {
    let held = |desk: &TestGovernance| desk.governance.read(|state| state.counts().dimensions);
    for jumped in [false, true] {
        let mut desk = governed();
        desk.earn("fs.write", "src");
        desk.pass(729 * DAY);
        desk.earn("fs.write", "docs");
        assert_eq!(held(&desk), 2);
        if jumped {
            desk.act("ledger.clock-jumped", json!({"from": desk.time, "to": 1, "direction": "back"}))
                .unwrap();
        }
        desk.pass(2 * DAY);
        desk.act("panic.released", json!({"reason": "any event"})).unwrap();
        assert_eq!(held(&desk), if jumped { 2 } else { 1 }, "{jumped}");
        assert!(desk.is_in_step());
    }
}

#[test]
fn at_every_limit_an_operator_can_stop_things_and_change_what_there_is() {
    let mut desk = governed();
    let scope = |number: usize| json!({"agent": format!("a{number}")});
    let observe = |number| json!({"mode": "observe", "scope": scope(number)});
    let all: Vec<_> =
        (0..1_000).map(|number| desk.event("mode.configured", "operator:0", &observe(number))).collect();
    desk.append(all).unwrap();
    let stop = |number: usize| json!({"agent": format!("a{number}"), "reason": "r"});
    let all: Vec<_> =
        (0..10_000).map(|number| desk.event("agent.suspended", "operator:0", &stop(number))).collect();
    desk.append(all).unwrap();
    assert_eq!(desk.act("mode.configured", observe(1_000)).unwrap_err().code.as_str(), "state-full");
    assert_eq!(desk.act("agent.suspended", stop(10_000)).unwrap_err().code.as_str(), "state-full");
    desk.act("mode.configured", json!({"mode": "enforce", "scope": scope(0)})).unwrap();
    desk.act("mode.configured", json!({"mode": "enforce"})).unwrap();
    desk.act("agent.suspended", stop(0)).unwrap();
    desk.act("panic.engaged", json!({"reason": "r"})).unwrap();
    desk.act("agent.resumed", stop(1)).unwrap();
    desk.act("agent.suspended", stop(10_000)).unwrap();
}

#[test]
fn grants_that_are_over_make_room_and_one_for_a_session_names_its_agent() {
    let mut desk = governed();
    let expires = desk.time + SECOND;
    let given = |number: usize, scope: Value| json!({"grant": format!("g{number}"), "scope": scope, "expires": expires});
    let plain = scope_of("coder", "src");
    let all: Vec<_> = (0..1_000)
        .map(|number| desk.event("grant.given", "operator:0", &given(number, plain.clone())))
        .collect();
    desk.append(all).unwrap();
    assert_eq!(desk.act("grant.given", given(1_000, plain.clone())).unwrap_err().code.as_str(), "state-full");
    desk.pass(2);
    let grant = |number: usize, scope: Value, desk: &TestGovernance| json!({"grant": format!("g{number}"), "scope": scope, "expires": desk.time + 3_600 * SECOND});
    let session = json!({"tool": "fs.write", "session": "s1"});
    let lone = grant(1_001, session, &desk);
    assert_eq!(desk.act("grant.given", lone).unwrap_err().code.as_str(), "schema");
    let mut owned = scope_of("coder", "src");
    owned["session"] = json!("s1");
    let owned = grant(1_001, owned, &desk);
    desk.act("grant.given", owned).unwrap();
    let ask = |desk: &mut TestGovernance, agent: &'static str, call: &str| {
        let mut event = desk.event("tool.requested", "agent:1", &request(call));
        (event.agent, event.session) = (Some(agent.into()), Some("s1".into()));
        let caused = desk.append(vec![event]).unwrap();
        let made = caused.iter().find(|event| event.kind == "decision.made").unwrap();
        data::<DecisionMade>(made).reason_code.as_str()
    };
    assert_eq!(ask(&mut desk, "coder", "c1"), "granted");
    assert_ne!(ask(&mut desk, "other", "c2"), "granted");
}

#[test]
fn a_key_is_of_one_tool_and_one_agent_and_not_of_what_happened_elsewhere() {
    let mut desk = governed();
    desk.act("tool.registered", tool("fs.move")).unwrap();
    for name in ["fs.write", "fs.move"] {
        desk.earn(name, "src");
    }
    let keyed = |call: &str, tool: &str| json!({"call": call, "tool": tool, "args": {"path": "src/a.rs"}, "idempotency_key": "k"});
    let mut imported = keyed("i1", "fs.write");
    imported["assurance"] = json!("imported");
    let mut event = desk.event("tool.requested", "admin:0", &imported);
    event.time = Some("2026-01-02T03:04:05Z".into());
    desk.append(vec![event]).unwrap();
    let first = desk.ask_with(keyed("c1", "fs.write")).unwrap();
    assert_eq!(first.verdict, Verdict::Allow, "{}", first.reason);
    assert_eq!(desk.ask_with(keyed("c2", "fs.move")).unwrap().verdict, Verdict::Allow);
    assert_eq!(desk.ask_as("other", keyed("c3", "fs.write")).unwrap().verdict, Verdict::Allow);
    assert_eq!(desk.ask_with(keyed("c4", "fs.write")).unwrap().reason_code.as_str(), "in-flight");
}

/// A UUIDv7 of this time.
fn uuid(micros: u64) -> String {
    let milliseconds = format!("{:012x}", micros / 1_000);
    let (high, low) = milliseconds.split_at(8);
    format!("{high}-{low}-7cc3-98c4-dc0c0c07398f")
}

#[test]
fn a_key_that_says_when_it_was_made_expires_however_long_it_was_not_seen() {
    let mut desk = governed();
    let mut careful = tool("fs.put");
    careful["idempotency"] = json!("keyed");
    desk.act("tool.registered", careful).unwrap();
    desk.earn("fs.put", "src");
    let keyed = |call: &str, made: u64| json!({"call": call, "tool": "fs.put", "args": {"path": "src/a.rs"}, "idempotency_key": uuid(made)});
    for (call, made, expected) in [
        ("c1", START - (DAY - 1) * SECOND, "allowed"),
        ("c2", START - DAY * SECOND, "key-expired"),
        ("c3", START - 1_000 * DAY * SECOND, "key-expired"),
    ] {
        assert_eq!(desk.ask_with(keyed(call, made)).unwrap().reason_code.as_str(), expected, "{call}");
    }
    let mut careless = tool("fs.read");
    careless["idempotency"] = json!("none");
    desk.act("tool.registered", careless).unwrap();
    desk.earn("fs.read", "src");
    let mut read = keyed("c4", START - 1_000 * DAY * SECOND);
    read["tool"] = json!("fs.read");
    assert_eq!(desk.ask_with(read).unwrap().verdict, Verdict::Allow);
}

#[test]
fn so_many_blocked_dimensions_are_tried_at_a_time_and_no_longer_than_a_week() {
    let mut desk = governed();
    let probe = |desk: &TestGovernance, number: usize, seconds: u64| {
        let dimension = json!({"tool": "fs.write", "context": format!("c{number}"), "model": "-", "task_type": "-", "workspace": "-"});
        json!({"dimension": dimension, "expires": desk.time + seconds * SECOND, "reason": "mended"})
    };
    let all: Vec<_> = (0..1_000).map(|number| probe(&desk, number, 60)).collect();
    let all = all.iter().map(|data| desk.event("trust.probed", "operator:0", data)).collect();
    desk.append(all).unwrap();
    let one_more = probe(&desk, 1_000, 60);
    assert_eq!(desk.act("trust.probed", one_more.clone()).unwrap_err().code.as_str(), "state-full");
    desk.act("trust.probed", probe(&desk, 0, 60)).unwrap();
    desk.pass(59);
    assert_eq!(desk.act("trust.probed", one_more).unwrap_err().code.as_str(), "state-full");
    desk.pass(1);
    desk.act("trust.probed", probe(&desk, 1_000, 7 * DAY)).unwrap();
}

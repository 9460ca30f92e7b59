//! Loops: the same call again and again, runs without an end, and runs deep below others.

use bitacora_formats::Event;
use bitacora_governance::Policy;
use bitacora_vocabulary::{DecisionMade, Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, decision, governed, kinds, tool, verdict};

const HOUR: u64 = 3_600;

/// A trusted tool, and another one.
pub(crate) fn trusted() -> TestGovernance {
    let mut desk = governed();
    desk.act("tool.registered", tool("fs.read")).unwrap();
    desk.earn("fs.write", "src");
    desk.earn("fs.read", "src");
    desk
}

/// The session and the run of a call.
#[derive(Clone, Copy)]
pub(crate) struct CallScope(pub(crate) Option<&'static str>, pub(crate) Option<&'static str>);

pub(crate) const SESSION: CallScope = CallScope(Some("s1"), None);
pub(crate) const RUN: CallScope = CallScope(None, Some("r1"));

pub(crate) fn caused(desk: &mut TestGovernance, place: CallScope, request: &Value) -> Vec<Event<'static>> {
    let mut event = desk.event("tool.requested", "agent:111111111111", request);
    (event.session, event.run) = (place.0.map(Into::into), place.1.map(Into::into));
    desk.append(vec![event]).unwrap()
}

pub(crate) fn request(call: &str, path: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": path}})
}

pub(crate) fn ask(desk: &mut TestGovernance, place: CallScope, call: &str, path: &str) -> DecisionMade {
    decision(&caused(desk, place, &request(call, path)))
}

pub(crate) fn is_loop(made: &DecisionMade) -> bool {
    verdict(made) == (Verdict::Deny, "loop-detected".into())
}

pub(crate) fn told(desk: &mut TestGovernance, kind: &'static str, place: CallScope, body: &Value) {
    let mut event = desk.event(kind, "agent:111111111111", body);
    (event.session, event.run) = (place.0.map(Into::into), place.1.map(Into::into));
    assert_eq!(desk.append(vec![event]).unwrap(), []);
}

#[test]
fn the_third_identical_call_in_a_row_is_denied_until_another_one_is_made() {
    for place in [SESSION, RUN] {
        let mut desk = trusted();
        assert!(!is_loop(&ask(&mut desk, place, "c1", "src/a.rs")));
        assert!(!is_loop(&ask(&mut desk, place, "c2", "src/a.rs")));
        let third = caused(&mut desk, place, &request("c3", "src/a.rs"));
        assert!(is_loop(&decision(&third)));
        assert_eq!(kinds(&third), ["decision.made", "loop.detected"]);
        let found: Value = data(&third[1]);
        assert_eq!((&found["kind"], &found["count"]), (&json!("identical_calls"), &json!(3)));
        assert_eq!(found["args_digest"], json!(decision(&third).inputs.action_digest));
        let fourth = caused(&mut desk, place, &request("c4", "src/a.rs"));
        assert_eq!((is_loop(&decision(&fourth)), kinds(&fourth)), (true, vec!["decision.made"]), "told once");
        assert!(!is_loop(&ask(&mut desk, place, "c5", "src/b.rs")));
        for call in ["c6", "c7"] {
            assert!(!is_loop(&ask(&mut desk, place, call, "src/a.rs")));
        }
        assert!(kinds(&caused(&mut desk, place, &request("c8", "src/a.rs"))).contains(&"loop.detected"));
        assert!(desk.is_in_step());
    }
}

#[test]
fn another_tool_another_place_or_a_checkpoint_begins_the_count_anew() {
    let read = json!({"call": "x", "tool": "fs.read", "args": {"path": "src/a.rs"}});
    let saved = json!({"thread": "t", "checkpoint": "k", "step": 1, "source": "loop"});
    for between in 0..4 {
        let mut desk = trusted();
        ask(&mut desk, SESSION, "c1", "src/a.rs");
        ask(&mut desk, SESSION, "c2", "src/a.rs");
        match between {
            0 => drop(caused(&mut desk, SESSION, &read)),
            1 => told(&mut desk, "checkpoint.saved", SESSION, &saved),
            // Of another session it is none of this one's.
            2 => told(&mut desk, "checkpoint.saved", CallScope(Some("s2"), None), &saved),
            _ => drop(ask(&mut desk, CallScope(Some("s2"), None), "x", "src/b.rs")),
        }
        assert_eq!(is_loop(&ask(&mut desk, SESSION, "c3", "src/a.rs")), between >= 2, "{between}");
    }
}

#[test]
fn calls_that_are_asked_for_again_are_no_loop() {
    let mut desk = trusted();
    // Reviewed, and asked for again with the approval, three times over.
    let mut made = ask(&mut desk, SESSION, "d1", "docs/a.rs");
    for _ in 0..3 {
        let approval = made.approval.clone().unwrap();
        let mut again = request("d1", "docs/a.rs");
        again["approval"] = json!(approval);
        made = decision(&caused(&mut desk, SESSION, &again));
        assert_eq!(verdict(&made), (Verdict::Review, "approval-pending".into()));
    }
    let mut body = request("d1", "docs/a.rs");
    body["approval"] = json!(made.approval.clone().unwrap());
    desk.act(
        "approval.resolved",
        json!({"approval": made.approval, "resolution": "approved", "by": "operator:0"}),
    )
    .unwrap();
    assert_eq!(decision(&caused(&mut desk, SESSION, &body)).verdict, Verdict::Allow);
}

#[test]
fn a_quiet_session_is_forgotten_after_a_day() {
    for (seconds, expected) in [(24 * HOUR - 1, true), (24 * HOUR, false)] {
        let mut desk = trusted();
        ask(&mut desk, SESSION, "c1", "src/a.rs");
        ask(&mut desk, SESSION, "c2", "src/a.rs");
        desk.pass(seconds);
        // A quiet one leaves when another one comes.
        ask(&mut desk, CallScope(Some("s2"), None), "x", "src/b.rs");
        assert_eq!(is_loop(&ask(&mut desk, SESSION, "c3", "src/a.rs")), expected, "{seconds}");
        assert!(desk.is_in_step());
    }
}

/// A policy that allows everything, with bounds of its own.
pub(crate) fn bound(desk: &mut TestGovernance, bounds: &Value) {
    let rules: Vec<Rule> = serde_json::from_value(
        json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]),
    )
    .unwrap();
    let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
    let settings = serde_json::from_value(json!({"bounds": bounds})).unwrap();
    let with = policy.with_settings(settings).unwrap();
    let version = desk.governance.read(|state| state.all_policies().next_version());
    let document = json!({"version": version, "digest": with.digest().to_string(), "rules": rules,
                          "trust": TrustRules::v2(), "author": "me", "bounds": bounds});
    desk.act("policy.published", document).unwrap();
    desk.act("policy.activated", json!({"version": version})).unwrap();
}

#[test]
fn a_policy_says_how_many_and_a_digest_of_other_bounds_is_refused() {
    let mut desk = trusted();
    bound(&mut desk, &json!({"identical_calls": 5}));
    for call in ["c1", "c2", "c3", "c4"] {
        assert!(!is_loop(&ask(&mut desk, SESSION, call, "src/a.rs")));
    }
    assert!(is_loop(&ask(&mut desk, SESSION, "c5", "src/a.rs")));
    let digest = desk.governance.read(|state| {
        state.all_policies().get(2).map(|version| version.document.digest.to_string()).unwrap()
    });
    let lie = json!({"version": 3, "digest": digest, "author": "me", "trust": TrustRules::v2(),
                     "rules": [{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}],
                     "bounds": {"identical_calls": 9}});
    assert_eq!(desk.act("policy.published", lie).unwrap_err().code.as_str(), "schema");
}

#[test]
fn a_run_ends_where_its_steps_or_calls_do() {
    let ended = (Verdict::Deny, "iteration-cap".to_owned());
    for by_run in [true, false] {
        let mut desk = trusted();
        if by_run {
            let started = json!({"run": "r1", "kind": "graph", "budget": {"calls": 2, "steps": 2}});
            told(&mut desk, "run.started", RUN, &started);
            // The first beginning stands.
            let anew = json!({"run": "r1", "kind": "graph", "budget": {"calls": 99, "steps": 99}});
            told(&mut desk, "run.started", RUN, &anew);
        } else {
            bound(&mut desk, &json!({"steps_of_run": 2}));
        }
        for (call, path) in [("c1", "src/a.rs"), ("c2", "src/b.rs")] {
            assert_eq!(ask(&mut desk, RUN, call, path).verdict, Verdict::Allow);
        }
        let third = caused(&mut desk, RUN, &request("c3", "src/c.rs"));
        assert_eq!(
            (verdict(&decision(&third)), kinds(&third)),
            (ended.clone(), vec!["decision.made", "loop.detected"])
        );
        assert_eq!(data::<Value>(&third[1])["kind"], "iteration_cap");
        let fourth = caused(&mut desk, RUN, &request("c4", "src/d.rs"));
        assert_eq!((verdict(&decision(&fourth)), kinds(&fourth)), (ended.clone(), vec!["decision.made"]));
        assert_eq!(ask(&mut desk, CallScope(None, Some("r2")), "c5", "src/c.rs").verdict, Verdict::Allow);
    }
    // Steps alone, each once, by its end; of a run that nobody started too.
    let mut desk = trusted();
    bound(&mut desk, &json!({"steps_of_run": 2}));
    for status in ["started", "ok", "started", "skipped", "started", "timeout"] {
        let step = json!({"run": "r1", "node": "act", "node_type": "tool", "status": status, "attempt": 1});
        told(&mut desk, "run.step", CallScope(None, None), &step);
    }
    assert_eq!(verdict(&ask(&mut desk, RUN, "c1", "src/a.rs")), ended);
}

#[test]
fn work_is_handed_on_so_often_and_no_further() {
    let mut desk = trusted();
    let start = |desk: &mut TestGovernance, run: &str, parent: Option<&str>| {
        let mut started = json!({"run": run, "kind": "task"});
        parent.iter().for_each(|parent| started["parent"] = json!(parent));
        told(desk, "run.started", CallScope(None, None), &started);
    };
    let runs = ["r0", "r1", "r2", "r3", "r4", "r5", "r6"];
    start(&mut desk, runs[0], None);
    for pair in runs.windows(2) {
        start(&mut desk, pair[1], Some(pair[0]));
    }
    for (depth, run) in (0..).zip(runs) {
        let made = ask(&mut desk, CallScope(None, Some(run)), &format!("c{depth}"), "src/a.rs");
        let deep = (Verdict::Deny, "delegation-too-deep".to_owned());
        assert_eq!(verdict(&made) == deep, depth > 5, "{run}");
    }
    bound(&mut desk, &json!({"delegation_depth": 0}));
    // Of a run above that nobody knows of it is known that there is one.
    start(&mut desk, "lost", Some("nowhere"));
    start(&mut desk, "own", Some("own"));
    for run in ["r1", "lost", "own"] {
        assert_eq!(
            ask(&mut desk, CallScope(None, Some(run)), run, "src/a.rs").reason_code.as_str(),
            "delegation-too-deep"
        );
    }
    // A later claim that nobody is above changes nothing.
    start(&mut desk, "r1", None);
    assert_eq!(
        ask(&mut desk, CallScope(None, Some("r1")), "d1", "src/a.rs").reason_code.as_str(),
        "delegation-too-deep"
    );
    assert_eq!(ask(&mut desk, CallScope(None, Some("r0")), "d2", "src/a.rs").verdict, Verdict::Allow);
}

#[test]
fn what_is_observed_is_told_and_runs_and_recordings_are_not_watched() {
    let mut desk = trusted();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let seen: Vec<_> = ["c1", "c2", "c3", "c4"]
        .map(|call| caused(&mut desk, SESSION, &request(call, "src/a.rs")))
        .iter()
        .map(|caused| (decision(caused).effective_verdict(), is_loop(&decision(caused)), caused.len()))
        .collect();
    let allow = Verdict::Allow;
    assert_eq!(seen, [(allow, false, 1), (allow, false, 1), (allow, true, 2), (allow, true, 1)]);
    for call in ["i1", "i2", "i3", "i4"] {
        let mut body = request(call, "src/a.rs");
        body["assurance"] = json!("imported");
        let made = decision(&caused(&mut desk, CallScope(Some("s9"), None), &body));
        assert!(made.ladder.iter().all(|said| said.code.is_none_or(|code| code.as_str() != "loop-detected")));
    }
    let told = json!({"call": "c1", "kind": "identical_calls", "tool": "fs.write", "count": 3});
    assert_eq!(desk.act("loop.detected", told).unwrap_err().code.as_str(), "reserved-type");
}

#[test]
fn an_agent_that_begins_a_session_a_call_is_stopped_and_others_go_on() {
    let mut desk = trusted();
    let room = bitacora_governance::limits::MAX_ROUNDS_OF_AGENT;
    for number in 0..room {
        let started = json!({"run": format!("r{number}"), "kind": "task"});
        let event = desk.event("run.started", "agent:111111111111", &started);
        desk.record(event);
    }
    let full = ask(&mut desk, SESSION, "c1", "src/a.rs");
    assert_eq!(verdict(&full), (Verdict::Deny, "state-full".into()));
    let mut event = desk.event("tool.requested", "agent:111111111111", &request("c2", "src/a.rs"));
    (event.agent, event.session) = (Some("other".into()), Some("s1".into()));
    assert_eq!(decision(&desk.append(vec![event]).unwrap()).verdict, Verdict::Allow);
    desk.pass(24 * HOUR);
    let mut event = desk.event("tool.requested", "agent:111111111111", &request("c3", "src/b.rs"));
    (event.agent, event.session) = (Some("other".into()), Some("s3".into()));
    desk.append(vec![event]).unwrap();
    assert_eq!(ask(&mut desk, SESSION, "c4", "src/c.rs").verdict, Verdict::Allow, "what is quiet left");
}

#[test]
fn a_call_that_is_over_is_no_excuse_for_another_one_under_its_id() {
    let mut desk = trusted();
    let mut said = Vec::new();
    for _ in 0..3 {
        let made = ask(&mut desk, SESSION, "same", "src/a.rs");
        said.push(is_loop(&made));
        if made.verdict == Verdict::Allow {
            desk.ok("same");
        }
    }
    assert_eq!(said, [false, false, true]);
    // Nor is one that waits, for other arguments than it asked for.
    let made = ask(&mut desk, SESSION, "d1", "docs/a.rs");
    for (number, looped) in [(0, false), (1, false), (2, true)] {
        let mut other = request("d1", "docs/b.rs");
        other["approval"] = json!(made.approval.clone().unwrap());
        if number > 0 {
            other["call"] = json!(format!("e{number}"));
            other.as_object_mut().unwrap().remove("approval");
        }
        assert_eq!(is_loop(&decision(&caused(&mut desk, SESSION, &other))), looped, "{number}");
    }
    assert!(desk.is_in_step());
}

#[test]
fn a_new_run_for_each_call_does_not_hide_what_goes_round_in_the_session() {
    let mut desk = trusted();
    let said = [("c1", "q1"), ("c2", "q2"), ("c3", "q3")]
        .map(|(call, run)| caused(&mut desk, CallScope(Some("s1"), Some(run)), &request(call, "src/a.rs")));
    assert_eq!(said.each_ref().map(|caused| is_loop(&decision(caused))), [false, false, true]);
    assert!(kinds(&said[2]).contains(&"loop.detected"));
    let again = caused(&mut desk, CallScope(Some("s1"), Some("q4")), &request("c4", "src/a.rs"));
    assert_eq!((is_loop(&decision(&again)), kinds(&again)), (true, vec!["decision.made"]), "told once");
    assert!(desk.is_in_step());
}

#[test]
fn what_other_agents_do_in_a_session_or_tell_of_a_run_moves_nothing() {
    let mut desk = trusted();
    let ask_as = |desk: &mut TestGovernance, agent: &'static str, place: CallScope, call: &str| {
        let mut event = desk.event("tool.requested", "agent:111111111111", &request(call, "src/a.rs"));
        (event.session, event.run) = (place.0.map(Into::into), place.1.map(Into::into));
        event.agent = Some(agent.into());
        is_loop(&decision(&desk.append(vec![event]).unwrap()))
    };
    let tell_as = |desk: &mut TestGovernance,
                   agent: &'static str,
                   kind: &'static str,
                   place: CallScope,
                   body: &Value| {
        let mut event = desk.event(kind, "agent:111111111111", body);
        (event.session, event.run) = (place.0.map(Into::into), place.1.map(Into::into));
        event.agent = Some(agent.into());
        desk.append(vec![event]).unwrap();
    };
    for (place, call) in [(SESSION, "c"), (RUN, "r")] {
        for agent in ["one", "two", "three", "four"] {
            assert!(!ask_as(&mut desk, agent, place, &format!("{call}{agent}")), "each did it once");
        }
    }
    // The acts of others in between are no way out, and neither are their checkpoints.
    let saved = json!({"thread": "t", "checkpoint": "k", "step": 1, "source": "loop"});
    assert!(!ask_as(&mut desk, "one", SESSION, "c5"));
    tell_as(&mut desk, "two", "checkpoint.saved", SESSION, &saved);
    assert!(ask_as(&mut desk, "one", SESSION, "c6"));
    tell_as(&mut desk, "one", "checkpoint.saved", SESSION, &saved);
    assert!(!ask_as(&mut desk, "one", SESSION, "c7"));
    // Steps that another agent tells of are none of this one's.
    bound(&mut desk, &json!({"steps_of_run": 2}));
    let step = json!({"run": "own", "node": "n", "node_type": "tool", "status": "ok", "attempt": 1});
    let own = CallScope(None, Some("own"));
    tell_as(&mut desk, "coder", "run.step", own, &step);
    for _ in 0..5 {
        tell_as(&mut desk, "evil", "run.step", own, &step);
    }
    assert_eq!(ask(&mut desk, own, "o1", "src/a.rs").verdict, Verdict::Allow);
    tell_as(&mut desk, "coder", "run.step", own, &step);
    assert_eq!(ask(&mut desk, own, "o2", "src/b.rs").reason_code.as_str(), "iteration-cap");
    assert!(desk.is_in_step());
}

#[test]
fn a_greater_bound_is_told_when_it_is_met_in_turn() {
    let mut desk = trusted();
    let mut told = Vec::new();
    for (number, bound_of) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)] {
        if number % 3 == 0 {
            bound(&mut desk, &json!({"steps_of_run": bound_of}));
        }
        let (call, path) = (format!("c{number}"), format!("src/{number}.rs"));
        told.push(kinds(&caused(&mut desk, RUN, &request(&call, &path))).contains(&"loop.detected"));
    }
    assert_eq!(told, [false, true, false, false, true, false]);
}

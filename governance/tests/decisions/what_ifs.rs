//! Another policy over recorded decisions: only the policy's ruling on a call changes.

use bitacora_formats::Micros;
use bitacora_governance::{Policy, RecordedCall, StepsVerdict, WhatIf};
use bitacora_vocabulary::{DecisionMade, Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, governed, tool};

/// One rule, by which this is said of some calls.
fn policy(matches: Value, action: &str) -> Policy {
    let rules = json!([{"id": "other", "match": matches, "action": action, "reason": "for a test"}]);
    let rules: Vec<Rule> = serde_json::from_value(rules).unwrap();
    Policy::compile(&rules, &TrustRules::v2()).unwrap()
}

fn what_if(desk: &TestGovernance, policy: &Policy, decision: &DecisionMade) -> Option<WhatIf> {
    let call = RecordedCall { decision, request: None, time: Micros(desk.time) };
    desk.governance.read(|state| WhatIf::of(policy, state.tools(), &call))
}

fn said(steps: &StepsVerdict) -> (Verdict, String) {
    (steps.verdict, steps.code.as_str())
}

#[test]
fn what_another_policy_says_takes_the_place_of_what_the_recorded_one_said() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let mut decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    for (action, expected) in [
        ("allow", (Verdict::Allow, "allowed")),
        ("review", (Verdict::Review, "policy-review")),
        ("deny", (Verdict::Deny, "policy-deny")),
    ] {
        let found = what_if(&desk, &policy(json!({}), action), &decision).unwrap();
        assert_eq!(said(&found.recorded), (Verdict::Allow, "allowed".into()), "{action}");
        assert_eq!(said(&found.otherwise), (expected.0, expected.1.into()), "{action}");
        assert_eq!((found.tool.as_str(), found.certain), ("fs.write", true));
        assert_eq!(found.recorded.rule.as_deref(), Some("all"));
        assert_eq!(found.otherwise.rule.as_deref(), Some("other"));
    }
    decision.inputs.reactor_version += 1;
    assert_eq!(what_if(&desk, &policy(json!({}), "allow"), &decision), None, "other rules decided it");
}

#[test]
fn the_first_of_the_strictest_steps_is_the_reason() {
    let mut desk = governed();
    desk.act("panic.engaged", json!({"reason": "for a test"})).unwrap();
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let found = what_if(&desk, &policy(json!({}), "deny"), &decision).unwrap();
    let panic = (Verdict::Deny, "panic".to_owned());
    assert_eq!((said(&found.recorded), said(&found.otherwise)), (panic.clone(), panic));
}

#[test]
fn how_risky_a_tool_was_is_known_while_it_is_registered_as_it_was() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let writes = policy(json!({"risk": "write"}), "allow");
    let found = what_if(&desk, &writes, &decision).unwrap();
    assert_eq!((said(&found.otherwise), found.certain), ((Verdict::Allow, "allowed".into()), true));
    desk.act("tool.changed", tool("fs.write")).unwrap();
    let found = what_if(&desk, &writes, &decision).unwrap();
    assert!(!found.certain && found.otherwise.verdict > Verdict::Allow, "{found:?}");
}

#[test]
fn what_was_tried_while_trust_blocked_it_is_still_tried() {
    let mut desk = governed();
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let counts = json!({"approvals": 0, "rejections": 9, "failures": 0, "streak": 0});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    let critical = |call: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "blast_radius": "critical"});
    let blocked = desk.ask_with(critical("c1")).unwrap();
    let mild = desk.ask("c3", "fs.write", json!({"path": "src/a.rs"}));
    let expires = desk.time + 60 * SECOND;
    desk.act("trust.probed", json!({"dimension": dimension, "expires": expires, "reason": "mended"}))
        .unwrap();
    let tried = desk.ask_with(critical("c2")).unwrap();
    for (decision, expected) in [
        (blocked, (Verdict::Deny, "trust-blocked")),
        (mild, (Verdict::Review, "trust-blocked")),
        (tried, (Verdict::Review, "trust-probe")),
    ] {
        let found = what_if(&desk, &policy(json!({}), "allow"), &decision).unwrap();
        let expected = (expected.0, expected.1.to_owned());
        assert_eq!((said(&found.recorded), said(&found.otherwise)), (expected.clone(), expected));
    }
}

#[test]
fn what_is_not_known_of_one_program_is_not_known_of_the_whole_command() {
    let mut desk = governed();
    let mut shell = tool("Bash");
    shell["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    shell["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
    desk.act("tool.registered", shell.clone()).unwrap();
    let decisions: Vec<_> = ["git status && cargo test", "cargo test && git status", "git status"]
        .into_iter()
        .enumerate()
        .map(|(number, command)| desk.ask(&format!("c{number}"), "Bash", json!({"command": command})))
        .collect();
    // Its risk is not known any more.
    desk.act("tool.changed", shell).unwrap();
    for program in ["cargo test", "git status"] {
        let rule = policy(json!({"context": program, "risk": "write"}), "deny");
        let certain = |decision| what_if(&desk, &rule, decision).unwrap().certain;
        assert!(!certain(&decisions[0]) && !certain(&decisions[1]), "{program}");
        assert_eq!(certain(&decisions[2]), program != "git status");
    }
}

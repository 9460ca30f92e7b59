//! The folder of a session's first call, to which a rule may hold the later ones.

use bitacora_formats::{Event, Micros};
use bitacora_governance::{Policy, RecordedCall, WhatIf};
use bitacora_vocabulary::{DecisionMade, Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, decision, verdict};
use crate::golden::rejudged;
use crate::real_actions::starter;

const PROJECT: &str = "/home/ana/project";
const VENDORED: &str = "/home/ana/project/vendor/x";
/// Seconds after which a quiet session is forgotten.
const SESSION_LIFE_S: u64 = 24 * 3_600;

/// An agent, its session, and where it works.
type AgentSession<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn ask(desk: &mut TestGovernance, command: &str, (agent, session, cwd): AgentSession<'_>) -> DecisionMade {
    let number = desk.log.len();
    // No call is the one before it again.
    let command = format!("{command} && echo {number}");
    let mut body = json!({"call": format!("c{number}"), "tool": "Bash", "args": {"command": command}});
    if let Some(cwd) = cwd {
        body["cwd"] = json!(cwd);
    }
    let mut event: Event<'static> = desk.event("tool.requested", "agent:111111111111", &body);
    event.agent = Some(agent.to_owned().into());
    event.session = session.map(|session| session.to_owned().into());
    decision(&desk.append(vec![event]).unwrap())
}

fn is_allowed(desk: &mut TestGovernance, command: &str, place: AgentSession<'_>) -> bool {
    match verdict(&ask(desk, command, place)) {
        (Verdict::Allow, _) => true,
        (Verdict::Review, reason) if reason == "no-rule" => false,
        other => panic!("{command} at {place:?}: {other:?}"),
    }
}

/// The starter's ledger, with a session of `a` that began in the project.
fn begun() -> TestGovernance {
    let mut desk = starter();
    desk.act("mode.configured", json!({"mode": "enforce"})).unwrap();
    assert!(is_allowed(&mut desk, "ls", ("a", Some("s"), Some(PROJECT))));
    desk
}

#[test]
fn git_is_not_let_into_a_repository_that_lies_in_the_project() {
    let mut desk = begun();
    for command in ["git status", "git diff -- a", "git log", "ls && git status", "gh pr list"] {
        assert!(is_allowed(&mut desk, command, ("a", Some("s"), Some(PROJECT))), "{command}");
        assert!(is_allowed(&mut desk, command, ("a", Some("s"), Some("/home/ana/project/"))), "{command}");
        for elsewhere in [VENDORED, "/home/ana", "/home/ana/other"] {
            assert!(!is_allowed(&mut desk, command, ("a", Some("s"), Some(elsewhere))), "{command}");
        }
    }
    // A command that goes there first is no call of the session's folder either.
    for command in ["cd vendor/x && gh pr list", "cd vendor/x; ls && gh pr list", "cd .. && gh pr list"] {
        assert!(!is_allowed(&mut desk, command, ("a", Some("s"), Some(PROJECT))), "{command}");
    }
    for command in
        ["cd /home/ana/project && gh pr list", "cd . && gh pr list", "gh pr list && cd vendor/x && ls"]
    {
        assert!(is_allowed(&mut desk, command, ("a", Some("s"), Some(PROJECT))), "{command}");
    }
    // A program that runs nothing of the folder's is free there.
    assert!(is_allowed(&mut desk, "ls", ("a", Some("s"), Some(VENDORED))));
    let (state, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.is_in_step() && desk.governance.read(|published| *published == state));
}

#[test]
fn a_session_is_an_agents_own_and_one_that_is_not_named_has_no_folder() {
    let mut desk = begun();
    // Another agent that names the session begins it for itself.
    assert!(is_allowed(&mut desk, "git status", ("b", Some("s"), Some(VENDORED))));
    assert!(!is_allowed(&mut desk, "git status", ("b", Some("s"), Some(PROJECT))));
    assert!(is_allowed(&mut desk, "git status", ("a", Some("s"), Some(PROJECT))));
    assert!(!is_allowed(&mut desk, "git status", ("a", None, Some(PROJECT))));
    assert!(!is_allowed(&mut desk, "git status", ("a", Some("s"), None)));
    // A first call without a folder leaves it to the next one.
    assert!(!is_allowed(&mut desk, "git status", ("c", Some("s"), None)));
    assert!(is_allowed(&mut desk, "git status", ("c", Some("s"), Some(PROJECT))));
    assert!(!is_allowed(&mut desk, "git status", ("c", Some("s"), Some(VENDORED))));
}

#[test]
fn a_session_keeps_its_folder_as_long_as_it_is_known() {
    let mut desk = begun();
    for _ in 0..3 {
        desk.time += (SESSION_LIFE_S - 60) * SECOND;
        assert!(!is_allowed(&mut desk, "git status", ("a", Some("s"), Some(VENDORED))));
    }
}

#[test]
fn trying_another_policy_knows_the_folder_of_the_session() {
    let mut desk = begun();
    let otherwise = |desk: &mut TestGovernance, asked: Value, cwd: &str| {
        let made = ask(desk, "git status", ("a", Some("s"), Some(cwd)));
        let rule = json!([{"id": "r", "match": {"in_session_folder": asked}, "action": "allow", "reason": "r",
            "trust": "ignore"}]);
        let rules: Vec<Rule> = serde_json::from_value(rule).unwrap();
        let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
        let call = RecordedCall { decision: &made, request: None, time: Micros(desk.time) };
        let found = desk.governance.read(|state| WhatIf::of(&policy, state.tools(), &call)).unwrap();
        (found.otherwise.verdict, found.certain)
    };
    assert_eq!(otherwise(&mut desk, json!(true), PROJECT), (Verdict::Allow, true));
    assert_eq!(otherwise(&mut desk, json!(true), VENDORED), (Verdict::Review, true));
    assert_eq!(otherwise(&mut desk, json!(false), VENDORED), (Verdict::Allow, true));
}

//! Isolation of agents: one agent's spending, runs and grants affect no other one.
//! A person's rejection holds.

use bitacora_formats::Event;
use bitacora_vocabulary::{ApprovalRequested, BoundedText, DecisionMade, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, data, decision, governed, kinds, scope_of, tool, verdict};
use crate::golden::rejudged;

const DAY: u64 = 86_400;
const CLI: &str = "/home/ana/src/acme/cli";
const WEB: &str = "/home/ana/src/acme/web";

/// A ledger in which trust stops nobody.
fn open() -> TestGovernance {
    let mut desk = governed();
    allow_all(&mut desk, 2, &json!({"action": "allow", "trust": "ignore"}));
    desk
}

fn allow_all(desk: &mut TestGovernance, version: u64, word: &Value) {
    let mut rule = json!({"id": "all", "match": {}, "reason": "for a test"});
    rule.as_object_mut().unwrap().extend(word.as_object().unwrap().clone());
    desk.publish_rules(version, json!([rule]));
}

/// A call of an agent in a run and a project, of arguments that no other call has.
fn ask(
    desk: &mut TestGovernance,
    agent: &'static str,
    run: Option<&'static str>,
    cwd: &str,
) -> (String, DecisionMade) {
    let call = format!("c{}", desk.log.len());
    let request =
        json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}, "cwd": cwd});
    let mut event = desk.event("tool.requested", "agent:111111111111", &request);
    (event.agent, event.run) = (Some(agent.into()), run.map(Into::into));
    let made = decision(&desk.append(vec![event]).unwrap());
    (call, made)
}

fn said(
    desk: &mut TestGovernance,
    agent: &'static str,
    run: Option<&'static str>,
    cwd: &str,
) -> (Verdict, String) {
    verdict(&ask(desk, agent, run, cwd).1)
}

fn allowed() -> (Verdict, String) {
    (Verdict::Allow, "allowed".to_owned())
}

fn spent() -> (Verdict, String) {
    (Verdict::Deny, "budget-spent".to_owned())
}

fn set_budget(desk: &mut TestGovernance, scope: Value, period: &str, counted: Option<&str>) {
    let mut budget =
        json!({"budget": "b", "scope": scope, "limits": {"calls": 2}, "period": period, "on_exceed": "deny"});
    counted.iter().for_each(|counted| budget["counted"] = json!(counted));
    desk.act("budget.configured", budget).unwrap();
}

#[test]
fn a_run_is_counted_for_each_agent_that_names_it() {
    let mut desk = open();
    set_budget(&mut desk, json!({}), "run", None);
    for agent in ["mallory", "coder"] {
        for expected in [allowed(), allowed(), spent()] {
            assert_eq!(said(&mut desk, agent, Some("r1"), CLI), expected, "{agent}");
        }
    }
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

/// An agent begins a run.
fn begin(desk: &mut TestGovernance, agent: &'static str, run: &str, more: Value) {
    let mut started = json!({"run": run, "kind": "task"});
    started.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut event = desk.event("run.started", "agent:111111111111", &started);
    event.agent = Some(agent.into());
    desk.append(vec![event]).unwrap();
}

/// Begins runs of an agent, each as the child of the one before it, and one of this name as the child of them all.
fn begin_deep(desk: &mut TestGovernance, agent: &'static str, run: &str) {
    begin(desk, agent, "m0", json!({}));
    for number in 1..=6 {
        begin(desk, agent, &format!("m{number}"), json!({"parent": format!("m{}", number - 1)}));
    }
    begin(desk, agent, run, json!({"parent": "m6"}));
}

#[test]
fn a_run_ends_by_what_its_own_agent_began_it_with() {
    let mut desk = open();
    begin(&mut desk, "mallory", "r1", json!({"budget": {"calls": 0}}));
    begin(&mut desk, "coder", "r1", json!({"budget": {"calls": 1}}));
    assert_eq!(said(&mut desk, "mallory", Some("r1"), CLI).1, "iteration-cap");
    assert_eq!(said(&mut desk, "coder", Some("r1"), CLI), allowed());
    assert_eq!(said(&mut desk, "coder", Some("r1"), CLI).1, "iteration-cap");
    // Steps of another agent are none of the run.
    for _ in 0..1_000 {
        let step = json!({"run": "r2", "node": "act", "node_type": "tool", "status": "ok", "attempt": 1});
        let mut event = desk.event("run.step", "agent:222222222222", &step);
        event.agent = Some("mallory".into());
        desk.append(vec![event]).unwrap();
    }
    assert_eq!(said(&mut desk, "coder", Some("r2"), CLI), allowed());
    // Work that is handed on to another agent is as deep as the run that it comes from.
    for (run, parent, agent) in [
        ("d1", "r1", "coder"),
        ("d2", "d1", "tester"),
        ("d3", "d2", "coder"),
        ("d4", "d3", "tester"),
        ("d5", "d4", "coder"),
        ("d6", "d5", "tester"),
    ] {
        begin(&mut desk, agent, run, json!({"parent": parent}));
    }
    assert_eq!(said(&mut desk, "coder", Some("d5"), CLI), allowed());
    assert_eq!(said(&mut desk, "tester", Some("d6"), CLI).1, "delegation-too-deep");
}

#[test]
fn no_agent_makes_another_ones_run_deeper_for_those_that_it_hands_work_to() {
    let deep = (Verdict::Deny, "delegation-too-deep".to_owned());
    for is_first in [true, false] {
        let mut desk = open();
        if is_first {
            begin_deep(&mut desk, "mallory", "p");
        }
        begin(&mut desk, "coder", "p", json!({}));
        if !is_first {
            begin_deep(&mut desk, "mallory", "p");
        }
        begin(&mut desk, "tester", "c", json!({"parent": "p"}));
        assert_eq!(said(&mut desk, "tester", Some("c"), CLI), allowed(), "{is_first}");
        assert_eq!(said(&mut desk, "coder", Some("p"), CLI), allowed(), "{is_first}");
        // Its own run stays as deep as it began it, also for its own children.
        begin(&mut desk, "mallory", "own", json!({"parent": "p"}));
        for run in ["p", "own"] {
            assert_eq!(said(&mut desk, "mallory", Some(run), CLI), deep, "{run}");
        }
        begin(&mut desk, "coder", "p", json!({"parent": "m6"}));
        assert_eq!(said(&mut desk, "coder", Some("p"), CLI), allowed(), "what it began it with first stands");
        assert_eq!(rejudged(&desk.log).1.disagreements, []);
    }
}

#[test]
fn how_deep_a_run_is_stays_known_while_its_agent_goes_on_in_it() {
    let mut desk = open();
    begin(&mut desk, "coder", "p", json!({}));
    for _ in 0..3 {
        desk.pass(DAY / 2 + 1);
        assert_eq!(said(&mut desk, "coder", Some("p"), CLI), allowed());
    }
    begin_deep(&mut desk, "mallory", "p");
    begin(&mut desk, "tester", "c", json!({"parent": "p"}));
    assert_eq!(said(&mut desk, "tester", Some("c"), CLI), allowed());
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn a_budget_of_each_agent_is_left_to_the_others_and_no_folder_renews_it() {
    let mut desk = open();
    set_budget(&mut desk, json!({}), "day", Some("each_agent"));
    for (cwd, expected) in [(CLI, allowed()), (WEB, allowed()), ("/somewhere/else", spent())] {
        assert_eq!(said(&mut desk, "mallory", None, cwd), expected);
    }
    assert_eq!(said(&mut desk, "coder", None, CLI), allowed());
    desk.pass(DAY);
    assert_eq!(said(&mut desk, "mallory", None, CLI), allowed());
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn a_budget_that_is_spent_together_stops_all() {
    let mut desk = open();
    set_budget(&mut desk, json!({}), "day", None);
    assert_eq!(said(&mut desk, "coder", None, CLI), allowed());
    assert_eq!(said(&mut desk, "tester", None, WEB), allowed());
    assert_eq!(said(&mut desk, "ops", None, CLI), spent());
}

#[test]
fn a_budget_of_a_project_is_spent_by_whoever_works_in_it() {
    let mut desk = open();
    set_budget(&mut desk, json!({"workspace": CLI}), "day", None);
    assert_eq!(said(&mut desk, "coder", None, CLI), allowed());
    assert_eq!(said(&mut desk, "coder", None, &format!("{CLI}/.worktrees/3")), allowed());
    assert_eq!(said(&mut desk, "tester", None, CLI), spent());
    assert_eq!(said(&mut desk, "tester", None, WEB), allowed());
}

#[test]
fn that_an_allowed_call_was_blocked_gives_nothing_of_a_budget_back() {
    let mut desk = open();
    set_budget(&mut desk, json!({}), "day", None);
    for _ in 0..2 {
        let (call, made) = ask(&mut desk, "coder", None, CLI);
        assert_eq!(verdict(&made), allowed());
        let caused = desk.end(&call, "tool.blocked", "blocked").unwrap();
        assert!(kinds(&caused).contains(&"budget.charged"), "{:?}", kinds(&caused));
    }
    assert_eq!(said(&mut desk, "coder", None, CLI), spent());
    // A call that was never allowed costs nothing.
    let mut desk = open();
    set_budget(&mut desk, json!({}), "day", None);
    allow_all(&mut desk, 3, &json!({"action": "review"}));
    for _ in 0..3 {
        let (call, made) = ask(&mut desk, "coder", None, CLI);
        assert_eq!(made.verdict, Verdict::Review);
        desk.end(&call, "tool.blocked", "blocked").unwrap();
    }
    allow_all(&mut desk, 4, &json!({"action": "allow", "trust": "ignore"}));
    assert_eq!(said(&mut desk, "coder", None, CLI), allowed());
}

fn give(desk: &mut TestGovernance, id: &str, scope: &Value, seconds: u64) -> Result<(), String> {
    let grant = json!({"grant": id, "scope": scope, "expires": desk.time + seconds * SECOND});
    desk.act("grant.given", grant).map(drop).map_err(|refused| refused.reason)
}

#[test]
fn a_grant_is_for_one_agent_in_one_project() {
    let mut desk = open();
    allow_all(&mut desk, 3, &json!({"action": "review"}));
    let mut scope = scope_of("coder", "src");
    scope["workspace"] = json!(CLI);
    give(&mut desk, "g1", &scope, 60).unwrap();
    assert_eq!(said(&mut desk, "coder", None, CLI).1, "granted");
    assert_eq!(said(&mut desk, "coder", None, &format!("{CLI}/.worktrees/3")).1, "granted");
    assert_eq!(said(&mut desk, "coder", None, WEB).1, "policy-review");
    assert_eq!(said(&mut desk, "tester", None, CLI).1, "policy-review");
    allow_all(&mut desk, 4, &json!({"action": "review", "never_auto_approve": true}));
    assert_eq!(said(&mut desk, "coder", None, CLI).1, "policy-review");
}

#[test]
fn a_grant_says_whose_calls_it_is_for_and_ends() {
    let mut desk = open();
    for missing in ["agent", "context", "workspace"] {
        let mut scope = scope_of("coder", "src");
        scope.as_object_mut().unwrap().remove(missing);
        let refused = give(&mut desk, "g1", &scope, 60).unwrap_err();
        assert!(refused.contains("names an agent, its workspace and a context"), "{refused}");
    }
    assert!(give(&mut desk, "g1", &scope_of("coder", "src"), 0).unwrap_err().contains("later time"));
}

#[test]
fn a_grant_of_before_says_nothing_of_a_project_and_covers_none() {
    let mut desk = open();
    allow_all(&mut desk, 3, &json!({"action": "review"}));
    desk.record_rules(5);
    desk.restart();
    let grant = json!({"grant": "g1", "scope": {"tool": "fs.write"}, "expires": desk.time + 60 * SECOND});
    let given = desk.event("grant.given", "operator:000000000000", &grant);
    desk.record(given);
    desk.record_rules(6);
    desk.restart();
    assert_eq!(said(&mut desk, "coder", None, CLI).1, "policy-review");
}

/// A ledger in which each command is reviewed.
fn commands() -> TestGovernance {
    let mut desk = open();
    let mut bash = tool("Bash");
    bash["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    bash["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
    desk.act("tool.registered", bash).unwrap();
    allow_all(&mut desk, 3, &json!({"action": "review"}));
    desk
}

fn run(desk: &mut TestGovernance, agent: &'static str, command: &str) -> Vec<Event<'static>> {
    let call = format!("c{}", desk.log.len());
    let request = json!({"call": call, "tool": "Bash", "args": {"command": command}, "cwd": CLI});
    let mut event = desk.event("tool.requested", "agent:111111111111", &request);
    event.agent = Some(agent.into());
    desk.append(vec![event]).unwrap()
}

#[test]
fn a_grant_covers_no_part_of_a_command_that_it_does_not_name() {
    let mut desk = commands();
    let scope = json!({"tool": "Bash", "agent": "coder", "context": "git commit", "workspace": CLI});
    give(&mut desk, "g1", &scope, 60).unwrap();
    let mut several = scope.clone();
    several["context"] = json!("several:git add,git commit");
    several["parts"] = json!(["git add", "git commit"]);
    give(&mut desk, "g2", &several, 60).unwrap();
    for (command, code) in [
        ("git commit -m a", "granted"),
        ("git add a.rs && git commit -m a", "granted"),
        ("git add a.rs", "policy-review"),
        ("git commit -m a && git push", "policy-review"),
        ("git commit -m a | cat", "policy-review"),
        ("git commit -m a > ../../other", "policy-review"),
        ("git commit -m $(id)", "arguments-opaque"),
    ] {
        let made = decision(&run(&mut desk, "coder", command));
        assert_eq!(made.reason_code.as_str(), code, "{command}");
    }
}

fn asked(caused: &[Event<'static>]) -> Option<ApprovalRequested> {
    caused.iter().find(|event| event.kind == "approval.requested").map(data)
}

#[test]
fn an_approval_shows_the_parts_of_a_command_whatever_its_length() {
    let mut desk = commands();
    let requested = asked(&run(&mut desk, "coder", "git add a.rs && git push --force; $(id)")).unwrap();
    let parts: Vec<&str> = requested.parts.as_ref().unwrap().iter().map(BoundedText::as_str).collect();
    assert!(["git add", "git push --force", "opaque"].iter().all(|part| parts.contains(part)), "{parts:?}");
    assert_eq!(requested.more_parts, None);
    let many: Vec<String> = (0..100).map(|number| format!("./tool{number:03} x")).collect();
    let requested = asked(&run(&mut desk, "coder", &format!("{}; $(id)", many.join("; ")))).unwrap();
    assert_eq!(requested.parts.as_ref().unwrap()[0].as_str(), "opaque");
    let (shown, more) = (requested.parts.unwrap().len(), requested.more_parts.unwrap().get());
    assert_eq!((shown, more >= 36), (64, true), "{more}");
}

#[test]
fn a_persons_no_denies_the_same_call_and_asks_nobody_again() {
    let mut desk = commands();
    let requested = asked(&run(&mut desk, "coder", "git push")).unwrap();
    let resolved =
        json!({"approval": requested.approval, "resolution": "rejected", "by": "operator:000000000000"});
    desk.act("approval.resolved", resolved).unwrap();
    for _ in 0..2 {
        let again = run(&mut desk, "coder", "git push");
        let made = decision(&again);
        assert_eq!(verdict(&made), (Verdict::Deny, "approval-rejected".to_owned()));
        assert!(asked(&again).is_none());
    }
    assert!(asked(&run(&mut desk, "coder", "git push origin")).is_some(), "it is another call");
    assert!(asked(&run(&mut desk, "tester", "git push")).is_some(), "nobody said no to this agent");
    desk.pass(DAY);
    assert!(asked(&run(&mut desk, "coder", "git push")).is_some(), "a yes would be over by now, too");
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn standing_consent_behind_a_no_holds() {
    let mut desk = commands();
    let requested = asked(&run(&mut desk, "coder", "git push")).unwrap();
    let resolved =
        json!({"approval": requested.approval, "resolution": "rejected", "by": "operator:000000000000"});
    desk.act("approval.resolved", resolved).unwrap();
    let scope = json!({"tool": "Bash", "agent": "coder", "context": "git push", "workspace": CLI});
    give(&mut desk, "g1", &scope, 60).unwrap();
    assert_eq!(decision(&run(&mut desk, "coder", "git push")).reason_code.as_str(), "granted");
}

#[test]
fn a_grant_lifts_nothing_that_was_found_of_files() {
    let mut desk = commands();
    let rules = json!([{"id": "all", "match": {}, "action": "review", "reason": "for a test"}]);
    let files = json!({"secret": ["**/id_rsa"], "not_secret": [], "run_by_themselves": ["**/package.json"]});
    desk.publish_document(4, rules, TrustRules::v2(), json!({"files": files}));
    let scope =
        json!({"tool": "Bash", "agent": "coder", "context": "tee", "workspace": CLI, "parts": ["tee", "cp"]});
    give(&mut desk, "g1", &scope, 60).unwrap();
    let mut copying = scope.clone();
    copying["context"] = json!("cp");
    give(&mut desk, "g2", &copying, 60).unwrap();
    for (command, code) in [
        ("tee a.txt", "granted"),
        ("tee package.json", "runs-by-itself"),
        ("cp ./sub/id_rs? x", "secret-file-possible"),
    ] {
        assert_eq!(decision(&run(&mut desk, "coder", command)).reason_code.as_str(), code, "{command}");
    }
}

#[test]
fn an_id_that_another_agents_call_has_is_refused_by_name() {
    let mut desk = open();
    let request = |path: &str| json!({"call": "c1", "tool": "fs.write", "args": {"path": path}});
    assert_eq!(desk.ask_as("mallory", request("src/a.rs")).unwrap().verdict, Verdict::Allow);
    for path in ["src/a.rs", "src/b.rs"] {
        let refused = desk.ask_as("coder", request(path)).unwrap_err();
        assert_eq!(refused.code.as_str(), "call-taken");
        assert!(!refused.reason.contains("mallory") && !refused.reason.contains("src"), "{}", refused.reason);
    }
    assert_eq!(desk.ask_as("mallory", request("src/a.rs")).unwrap_err().code.as_str(), "call-reused");
}

//! Programs that ran and ended with another exit code than 0, and calls of which no outcome came.

use bitacora_formats::Event;
use bitacora_governance::{MAX_CHECKS_FAILED_IN_A_ROW, SCHEDULER_SOURCE};
use bitacora_vocabulary::{TrustObserved, TrustOutcome, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, decision, governed, kinds, tool, verdict};
use crate::golden::rejudged;

/// A ledger with a shell whose programs may run.
fn shell() -> TestGovernance {
    let mut desk = governed();
    let mut bash = tool("Bash");
    bash["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    bash["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
    desk.act("tool.registered", bash).unwrap();
    desk
}

fn run(desk: &mut TestGovernance, call: &str, command: &str) {
    desk.ask(call, "Bash", json!({"command": command}));
}

/// Ends a call with these members.
fn end(desk: &mut TestGovernance, call: &str, kind: &'static str, mut members: Value) -> Vec<Event<'static>> {
    members["call"] = json!(call);
    let event = desk.event(kind, "agent:111111111111", &members);
    desk.append(vec![event]).unwrap()
}

fn exits(desk: &mut TestGovernance, call: &str, code: i64) -> Vec<Event<'static>> {
    end(desk, call, "tool.failed", json!({"status": "error", "exit_code": code}))
}

fn outcome(caused: &[Event<'static>]) -> TrustOutcome {
    let observed = caused.iter().find(|event| event.kind == "trust.observed").unwrap();
    data::<TrustObserved>(observed).outcome
}

/// The scheduler tells that no outcome came.
fn overdue(desk: &mut TestGovernance, call: &str) -> Vec<Event<'static>> {
    let mut event =
        desk.event("tool.failed", "service:scheduler", &json!({"call": call, "status": "timeout"}));
    event.source = SCHEDULER_SOURCE.into();
    desk.append(vec![event]).unwrap()
}

#[test]
fn an_exit_code_counts_nowhere() {
    let mut desk = shell();
    desk.earn("Bash", "go test");
    for (number, (kind, members)) in [
        ("tool.failed", json!({"status": "error", "exit_code": 1})),
        ("tool.failed", json!({"status": "error", "exit_code": -9})),
        ("tool.failed", json!({"status": "error", "error_type": "exit_code"})),
        ("tool.completed", json!({"status": "ok", "exit_code": 2})),
    ]
    .into_iter()
    .enumerate()
    {
        let call = format!("c{number}");
        run(&mut desk, &call, "go test ./...");
        let caused = end(&mut desk, &call, kind, members);
        assert_eq!(kinds(&caused), ["trust.observed"], "{call}");
        assert_eq!(outcome(&caused), TrustOutcome::ChecksFailed, "{call}");
    }
    let next = desk.ask("d1", "Bash", json!({"command": "go test ./x"}));
    let inputs = &next.inputs;
    assert_eq!(next.verdict, Verdict::Allow);
    assert_eq!((inputs.approvals, inputs.rejections, inputs.failures, inputs.streak), (20, 0, 0, 20));
    let bad = desk.governance.read(|state| state.breaker_of(&inputs.dimension).window().outcomes);
    assert_eq!(bad, 0, "no end of these is in the window");
    assert!(desk.is_in_step());
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn what_failed_otherwise_counts_as_before() {
    let mut desk = shell();
    for (number, (kind, members, expected)) in [
        ("tool.failed", json!({"status": "error"}), TrustOutcome::Error),
        ("tool.failed", json!({"status": "error", "exit_code": 0}), TrustOutcome::Error),
        ("tool.failed", json!({"status": "error", "error_type": "tool_use_error"}), TrustOutcome::Error),
        ("tool.failed", json!({"status": "timeout", "exit_code": 124}), TrustOutcome::Timeout),
        (
            "tool.failed",
            json!({"status": "error", "exit_code": 1, "post_check_passed": false}),
            TrustOutcome::Error,
        ),
        ("tool.blocked", json!({"status": "rejected", "exit_code": 1}), TrustOutcome::Rejected),
    ]
    .into_iter()
    .enumerate()
    {
        let call = format!("c{number}");
        run(&mut desk, &call, "go test ./...");
        assert_eq!(outcome(&end(&mut desk, &call, kind, members.clone())), expected, "{members}");
    }
}

#[test]
fn a_policy_names_the_programs_whose_exit_codes_count() {
    let mut desk = shell();
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    let settings = json!({"exit_codes_count": ["deploy", "npm publish"]});
    desk.publish_document(2, rules, TrustRules::v2(), settings);
    for (number, (command, expected)) in [
        ("deploy production", TrustOutcome::Error),
        ("cargo test && /opt/deploy production", TrustOutcome::Error),
        ("npm publish", TrustOutcome::Error),
        ("npm test", TrustOutcome::ChecksFailed),
        ("grep deploy README.md", TrustOutcome::ChecksFailed),
    ]
    .into_iter()
    .enumerate()
    {
        let call = format!("c{number}");
        run(&mut desk, &call, command);
        assert_eq!(outcome(&exits(&mut desk, &call, 1)), expected, "{command}");
    }
    // The rule at the time of the decision counts.
    run(&mut desk, "d1", "deploy staging");
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    assert_eq!(outcome(&exits(&mut desk, "d1", 1)), TrustOutcome::Error);
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

#[test]
fn an_executor_that_reports_nothing_but_exit_codes_is_bounded() {
    let mut desk = shell();
    desk.earn("Bash", "go test");
    let mut next = 0;
    let mut exit = |desk: &mut TestGovernance| {
        next += 1;
        let call = format!("c{next}");
        run(desk, &call, &format!("go test ./p{next}"));
        exits(desk, &call, 1)
    };
    for _ in 1..MAX_CHECKS_FAILED_IN_A_ROW {
        assert_eq!(outcome(&exit(&mut desk)), TrustOutcome::ChecksFailed);
    }
    // A good outcome begins the row anew.
    run(&mut desk, "d1", "go test ./...");
    assert_eq!(outcome(&desk.ok("d1")), TrustOutcome::AutoApproved);
    for _ in 0..MAX_CHECKS_FAILED_IN_A_ROW {
        assert_eq!(outcome(&exit(&mut desk)), TrustOutcome::ChecksFailed);
    }
    for _ in 0..4 {
        assert_eq!(outcome(&exit(&mut desk)), TrustOutcome::Error, "and each one from there on");
    }
    desk.restart();
    assert_eq!(kinds(&exit(&mut desk)).last(), Some(&"breaker.opened"));
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
    assert!(desk.is_in_step());
    // So does an operator's word.
    desk.earn("Bash", "go test");
    assert_eq!(outcome(&exit(&mut desk)), TrustOutcome::ChecksFailed);
}

#[test]
fn that_no_outcome_came_opens_no_breaker_of_what_only_looks() {
    for (risk, opens) in [("read", false), ("write", true)] {
        let mut desk = governed();
        let mut read = tool("fs.read");
        read["risk"] = json!(risk);
        desk.act("tool.registered", read).unwrap();
        desk.earn("fs.read", "src");
        let asked =
            |desk: &mut TestGovernance, call: &str| desk.ask(call, "fs.read", json!({"path": "src/a.rs"}));
        for number in 0..6 {
            asked(&mut desk, &format!("c{number}"));
        }
        desk.pass(3_600);
        let mut opened = false;
        for number in 0..6 {
            let caused = overdue(&mut desk, &format!("c{number}"));
            assert_eq!(outcome(&caused), TrustOutcome::Timeout);
            opened |= kinds(&caused).contains(&"breaker.opened");
        }
        assert_eq!(opened, opens, "{risk}");
        assert_eq!(rejudged(&desk.log).1.disagreements, []);
        // A report of the executor counts at either risk.
        desk.earn("fs.read", "src");
        let mut told = Vec::new();
        for number in 0..5 {
            let call = format!("d{number}");
            asked(&mut desk, &call);
            told = desk.end(&call, "tool.failed", "timeout").unwrap();
        }
        assert_eq!(kinds(&told).contains(&"breaker.opened"), !opens, "{risk}");
        assert!(desk.is_in_step());
    }
}

#[test]
fn an_exit_code_of_a_recorded_call_counts_nowhere() {
    let mut desk = shell();
    let elsewhere = |desk: &mut TestGovernance, kind: &'static str, mut members: Value| {
        members["assurance"] = json!("imported");
        let mut event = desk.event(kind, "admin:0", &members);
        event.stream = "session/one".into();
        desk.append(vec![event]).unwrap()
    };
    for number in 0..30 {
        let call = format!("i{number}");
        let request = json!({"call": call, "tool": "Bash", "args": {"command": "go test ./..."}});
        let caused = elsewhere(&mut desk, "tool.requested", request);
        assert_eq!(decision(&caused).inputs.failures, 0);
        let ended = json!({"call": call, "status": "error", "error_type": "exit_code"});
        let caused = elsewhere(&mut desk, "tool.failed", ended);
        assert_eq!(outcome(&caused), TrustOutcome::ChecksFailed);
    }
    assert_eq!(desk.governance.read(|state| state.imported_dimensions().count()), 0);
    assert!(desk.is_in_step());
}

#[test]
fn a_dimension_of_which_nothing_but_exit_codes_is_known_is_one_that_its_agent_began() {
    let mut desk = shell();
    run(&mut desk, "c1", "go test ./...");
    exits(&mut desk, "c1", 1);
    let begun = desk.governance.read(|state| serde_json::to_value(state).unwrap()["begun"].clone());
    assert!(begun.to_string().contains("coder"), "{begun}");
    let first = desk.ask("c2", "Bash", json!({"command": "go test ./..."}));
    assert_eq!(verdict(&first), (Verdict::Review, "trust-require-review".into()));
}

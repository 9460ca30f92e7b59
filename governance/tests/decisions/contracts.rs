//! Contracts: conditions before a call, and after it.

use bitacora_formats::Event;
use bitacora_governance::{MAX_CONTRACTS, ReactorRefusal, limits::MAX_BROKEN_OF_AGENT};
use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, governed, kinds, verdict};

fn trusted() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let part = |kind: &str| json!([{"type": kind, "params": {"suite": "unit"}}]);
    let defined = json!({"contract": "edit", "pre": part("tree_clean"), "post": part("tests_pass"), "rollback": [],
                         "blast_radius": "low"});
    desk.act("contract.defined", defined).unwrap();
    desk
}

fn checked(call: &str, phase: &str, checks: &Value) -> Value {
    json!({"contract": "edit", "call": call, "run": "r", "node": "n", "phase": phase, "checks": checks})
}

fn check(kind: &str, passed: bool) -> Value {
    json!([{"type": kind, "params": {"suite": "unit"}, "passed": passed}])
}

fn tell(
    desk: &mut TestGovernance,
    agent: &'static str,
    body: &Value,
) -> Result<Vec<Event<'static>>, ReactorRefusal> {
    let mut event = desk.event("contract.checked", "agent:111111111111", body);
    event.agent = Some(agent.into());
    desk.append(vec![event])
}

fn ask(desk: &mut TestGovernance, call: &str) -> (Verdict, String) {
    verdict(&desk.ask(call, "fs.write", json!({"path": "src/a.rs"})))
}

#[test]
fn a_call_before_which_a_check_failed_is_denied_until_it_holds() {
    let broken = (Verdict::Deny, "contract-broken".to_owned());
    let mut desk = trusted();
    let other = json!([{"type": "tree_clean", "params": {"suite": "all"}, "passed": true}]);
    for (call, checks, denied) in [
        ("c1", check("tree_clean", false), true),
        ("c2", check("tree_clean", true), false),
        ("c3", json!([]), true),
        ("c4", check("tests_pass", true), true),
        ("c5", other, true),
    ] {
        assert_eq!(tell(&mut desk, "coder", &checked(call, "pre", &checks)).unwrap(), []);
        assert_eq!(ask(&mut desk, call) == broken, denied, "{call}");
    }
    tell(&mut desk, "coder", &checked("c6", "pre", &check("tree_clean", false))).unwrap();
    tell(&mut desk, "coder", &checked("c6", "pre", &check("tree_clean", true))).unwrap();
    assert_eq!(ask(&mut desk, "c6").0, Verdict::Allow, "the last check counts");
    // Another agent's word is on calls of its own.
    tell(&mut desk, "other", &checked("c7", "pre", &check("tree_clean", false))).unwrap();
    assert_eq!(ask(&mut desk, "c7").0, Verdict::Allow);
    // Without a contract what was checked counts, and nothing else is asked for.
    let mut free = checked("c8", "pre", &check("anything", true));
    free.as_object_mut().unwrap().remove("contract");
    tell(&mut desk, "coder", &free).unwrap();
    assert_eq!(ask(&mut desk, "c8").0, Verdict::Allow);
    assert!(desk.is_in_step());
}

#[test]
fn a_check_is_stored_for_an_hour() {
    for (seconds, denied) in [(3_599, true), (3_600, false)] {
        let mut desk = trusted();
        tell(&mut desk, "coder", &checked("c1", "pre", &check("tree_clean", false))).unwrap();
        desk.pass(seconds);
        assert_eq!(ask(&mut desk, "c1").0 == Verdict::Deny, denied, "{seconds}");
    }
}

#[test]
fn a_failed_check_after_a_call_counts_once_and_a_person_is_asked() {
    let mut desk = trusted();
    ask(&mut desk, "c1");
    let failed = checked("c1", "post", &check("tests_pass", false));
    assert_eq!(tell(&mut desk, "other", &failed).unwrap(), [], "of another agent's call");
    let caused = tell(&mut desk, "coder", &failed).unwrap();
    assert_eq!(kinds(&caused), ["trust.observed", "approval.requested"]);
    let observed: Value = data(&caused[0]);
    assert_eq!((&observed["outcome"], &observed["post_check_passed"]), (&json!("error"), &json!(false)));
    let asked: Value = data(&caused[1]);
    assert_eq!((&asked["about"], &asked["call"]), (&json!("rollback"), &json!("c1")));
    assert_eq!(tell(&mut desk, "coder", &failed).unwrap(), [], "once");
    assert_eq!(desk.ok("c1"), [], "what went well after all counts nothing");
    // A check that held, a call that was never asked for, and a call that did not run.
    ask(&mut desk, "c2");
    for (call, checks) in [("c2", check("tests_pass", true)), ("none", check("tests_pass", false))] {
        assert_eq!(tell(&mut desk, "coder", &checked(call, "post", &checks)).unwrap(), [], "{call}");
    }
    desk.ask("c3", "no.such", json!({}));
    assert_eq!(tell(&mut desk, "coder", &checked("c3", "post", &check("tests_pass", false))).unwrap(), []);
    assert_eq!(kinds(&desk.ok("c2")), ["trust.observed"]);
    assert!(desk.is_in_step());
}

#[test]
fn recordings_and_what_is_sealed_say_nothing_of_calls() {
    let mut desk = trusted();
    let mut imported = checked("c1", "pre", &check("tree_clean", false));
    imported["assurance"] = json!("imported");
    tell(&mut desk, "coder", &imported).unwrap();
    let mut sealed =
        desk.event("contract.checked", "agent:111111111111", &checked("c1", "pre", &check("x", false)));
    sealed.datasubject = Some("person/1".into());
    desk.append(vec![sealed]).unwrap();
    assert_eq!(ask(&mut desk, "c1").0, Verdict::Allow);
}

#[test]
fn what_there_is_no_room_for_is_refused_and_not_forgotten() {
    let mut desk = trusted();
    for number in 1..MAX_CONTRACTS {
        let defined = json!({"contract": format!("k{number}"), "pre": [], "post": [], "rollback": [], "blast_radius": "low"});
        let event = desk.event("contract.defined", "operator:0", &defined);
        desk.record(event);
    }
    let mut one = json!({"contract": "more", "pre": [], "post": [], "rollback": [], "blast_radius": "low"});
    assert_eq!(desk.act("contract.defined", one.clone()).unwrap_err().code.as_str(), "state-full");
    one["contract"] = json!("edit");
    desk.act("contract.defined", one).unwrap();
    assert_eq!(desk.governance.read(|state| state.all_contracts().defined(None).count()), MAX_CONTRACTS);
    for number in 0..MAX_BROKEN_OF_AGENT {
        let failed = checked(&format!("b{number}"), "pre", &check("tree_clean", false));
        let event = desk.event("contract.checked", "agent:111111111111", &failed);
        desk.record(event);
    }
    let failed = checked("c1", "pre", &check("tree_clean", false));
    assert_eq!(tell(&mut desk, "coder", &failed).unwrap_err().code.as_str(), "state-full");
    tell(&mut desk, "other", &failed).unwrap();
    desk.pass(3_600);
    tell(&mut desk, "coder", &failed).unwrap();
    tell(&mut desk, "coder", &checked("b0", "pre", &check("tree_clean", false))).unwrap();
}

#[test]
fn a_check_that_holds_makes_no_other_one_good() {
    let mut desk = trusted();
    let part = json!([{"type": "anything", "params": {}}]);
    let other =
        json!({"contract": "other", "pre": part, "post": part, "rollback": [], "blast_radius": "low"});
    desk.act("contract.defined", other).unwrap();
    let of = |call: &str, contract: &str, passed: bool| {
        let checks = json!([{"type": "anything", "params": {}, "passed": passed}]);
        let mut body = checked(call, "pre", &checks);
        body["contract"] = json!(contract);
        body
    };
    let edit = |call: &str, passed: bool| checked(call, "pre", &check("tree_clean", passed));
    let mut free = of("c1", "other", true);
    free.as_object_mut().unwrap().remove("contract");
    for good in [of("c1", "other", true), free] {
        tell(&mut desk, "coder", &edit("c1", false)).unwrap();
        tell(&mut desk, "coder", &good).unwrap();
    }
    let unknown = tell(&mut desk, "coder", &of("c1", "nobody-defined", true)).unwrap_err();
    assert_eq!(unknown.code.as_str(), "no-such-thing");
    // As it may stand in a log all the same.
    let event = desk.event("contract.checked", "agent:111111111111", &of("c1", "nobody-defined", true));
    desk.record(event);
    let mut sealed = desk.event("contract.checked", "agent:111111111111", &edit("c1", true));
    sealed.datasubject = Some("person/1".into());
    desk.append(vec![sealed]).unwrap();
    assert_eq!(ask(&mut desk, "c1"), (Verdict::Deny, "contract-broken".into()));
    for (call, both, verdict) in [("c2", false, Verdict::Deny), ("c3", true, Verdict::Allow)] {
        for bad in [edit(call, false), of(call, "other", false), edit(call, true)] {
            tell(&mut desk, "coder", &bad).unwrap();
        }
        if both {
            tell(&mut desk, "coder", &of(call, "other", true)).unwrap();
        }
        assert_eq!(ask(&mut desk, call).0, verdict, "{call}");
    }
    assert!(desk.is_in_step());
}

#[test]
fn a_failed_check_behind_the_outcome_counts_once_and_a_person_is_asked_once() {
    let mut desk = trusted();
    let failed = |call: &str| checked(call, "post", &check("tests_pass", false));
    ask(&mut desk, "c1");
    assert_eq!(kinds(&desk.ok("c1")), ["trust.observed"]);
    assert_eq!(tell(&mut desk, "other", &failed("c1")).unwrap(), [], "of another agent's call");
    let caused = tell(&mut desk, "coder", &failed("c1")).unwrap();
    assert_eq!(kinds(&caused), ["trust.observed", "approval.requested"]);
    let observed: Value = data(&caused[0]);
    assert_eq!((&observed["outcome"], &observed["call"]), (&json!("error"), &json!("c1")));
    assert_eq!(data::<Value>(&caused[1])["contract"], json!("edit"));
    assert_eq!(tell(&mut desk, "coder", &failed("c1")).unwrap(), [], "once");
    // A call that counted as an error counts no second time, and is to be undone all the same.
    desk.earn("fs.write", "src");
    ask(&mut desk, "c2");
    desk.fail("c2");
    assert_eq!(kinds(&tell(&mut desk, "coder", &failed("c2")).unwrap()), ["approval.requested"]);
    // A question about the whole call covers this contract, and the other way round.
    for is_before in [true, false] {
        let call = if is_before { "c3" } else { "c4" };
        desk.earn("fs.write", "src");
        ask(&mut desk, call);
        if is_before {
            assert_eq!(tell(&mut desk, "coder", &failed(call)).unwrap().len(), 2);
        }
        let mut outcome = json!({"call": call, "status": "ok"});
        outcome["post_check_passed"] = json!(false);
        let event = desk.event("tool.completed", "agent:111111111111", &outcome);
        let asked = kinds(&desk.append(vec![event]).unwrap()).contains(&"approval.requested");
        assert_eq!(asked, !is_before, "{call}");
        assert_eq!(tell(&mut desk, "coder", &failed(call)).unwrap(), [], "{call}");
    }
    // An hour later nobody knows of the call.
    desk.earn("fs.write", "src");
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    desk.act("breaker.closed", json!({"dimension": dimension, "by": "operator:0", "reason": "mended"}))
        .unwrap();
    assert_eq!(ask(&mut desk, "c5").0, Verdict::Allow);
    desk.ok("c5");
    desk.pass(3_600);
    assert_eq!(tell(&mut desk, "coder", &failed("c5")).unwrap(), []);
    assert!(desk.is_in_step());
}

/// A breach of such a contract cannot be made good: however well it went before, a person looks at the call.
#[test]
fn a_contract_of_critical_damage_is_always_a_review() {
    let mut desk = trusted();
    let defined = |name: &str, radius: &str| json!({"contract": name, "pre": [], "post": [], "rollback": [], "blast_radius": radius});
    desk.act("contract.defined", defined("wipe", "critical")).unwrap();
    desk.act("contract.defined", defined("tidy", "high")).unwrap();
    let looked_at = (Verdict::Review, "blast-radius".to_owned());
    let held = |contract: &str, call: &str| json!({"contract": contract, "call": call, "run": "r", "node": "n", "phase": "pre", "checks": []});
    for (agent, contract, call, reviewed) in [
        ("coder", "wipe", "w1", true),
        ("coder", "tidy", "w2", false),
        // Another agent's word is on calls of its own.
        ("other", "wipe", "w3", false),
    ] {
        tell(&mut desk, agent, &held(contract, call)).unwrap();
        assert_eq!(ask(&mut desk, call) == looked_at, reviewed, "{contract}");
    }
    // Neither another check nor a check that holds takes it away.
    tell(&mut desk, "coder", &held("wipe", "w4")).unwrap();
    tell(&mut desk, "coder", &held("tidy", "w4")).unwrap();
    let asked = desk.ask("w4", "fs.write", json!({"path": "src/w4.rs"}));
    assert_eq!(verdict(&asked), looked_at);
    let yes = json!({"approval": asked.approval, "resolution": "approved", "by": "operator:0"});
    desk.act("approval.resolved", yes).unwrap();
    let again =
        json!({"call": "w4", "tool": "fs.write", "args": {"path": "src/w4.rs"}, "approval": asked.approval});
    assert_eq!(verdict(&desk.ask_with(again).unwrap()), (Verdict::Allow, "approved".into()));
    // A call that its trust stops is denied, as every critical call.
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let counts = json!({"approvals": 0, "rejections": 9, "failures": 0, "streak": 0});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    tell(&mut desk, "coder", &held("wipe", "w5")).unwrap();
    assert_eq!(ask(&mut desk, "w5"), (Verdict::Deny, "trust-blocked".into()));
    assert_eq!(ask(&mut desk, "w6"), (Verdict::Review, "trust-blocked".into()));
    assert!(desk.is_in_step());
    assert_eq!(crate::golden::rejudged(&desk.log).1.disagreements, []);
}

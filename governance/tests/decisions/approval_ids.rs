//! Ids of approvals are drawn before the reactor sees the call, and recorded with it.

use bitacora_governance::Examination;
use bitacora_vocabulary::{ApprovalRequested, Verdict};
use serde_json::json;

use crate::desk::{TestGovernance, data, decision, governed, kinds, verdict};
use crate::golden::rejudged;

fn asking(desk: &mut TestGovernance, call: &str) -> bitacora_formats::Event<'static> {
    let request = json!({"call": call, "tool": "fs.write", "args": {"path": format!("docs/{call}.rs")}});
    desk.event("tool.requested", "agent:111111111111", &request)
}

fn requested(caused: &[bitacora_formats::Event<'static>]) -> ApprovalRequested {
    data(caused.iter().find(|event| event.kind == "approval.requested").unwrap())
}

#[test]
fn an_id_is_made_of_what_was_drawn_and_of_nothing_else() {
    let mut desk = governed();
    let event = asking(&mut desk, "c1");
    let mut examined = desk.governance_examines(&event);
    examined.draw_approval(|| Ok::<_, ()>([0xff; 13])).unwrap();
    let caused = desk.append_examined(vec![event], &[Some(examined)]).unwrap();
    let (made, asked) = (decision(&caused), requested(&caused));
    assert_eq!(verdict(&made).0, Verdict::Review);
    assert_eq!(made.approval.as_deref(), Some("azzzzzzzzzzzzzzzzzzzz"));
    assert_eq!(asked.approval.as_str(), "azzzzzzzzzzzzzzzzzzzz");
    // Judged again it is the one that is recorded.
    let (state, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.governance.read(|published| *published == state));
    let word = json!({"approval": asked.approval, "resolution": "approved", "by": "operator:0"});
    desk.act("approval.resolved", word).unwrap();
    let again =
        json!({"call": "c1", "tool": "fs.write", "args": {"path": "docs/c1.rs"}, "approval": asked.approval});
    assert_eq!(desk.ask_with(again).unwrap().verdict, Verdict::Allow);
}

#[test]
fn what_needs_an_id_that_nobody_drew_is_refused() {
    let mut desk = governed();
    let event = asking(&mut desk, "c1");
    let examined = desk.governance_examines(&event);
    let refusal = desk.append_examined(vec![event], &[Some(examined)]).unwrap_err();
    assert_eq!(refusal.code.as_str(), "state-moved");
    // A call that needs no approval is decided: nobody is asked about it.
    desk.earn("fs.write", "docs");
    let event = asking(&mut desk, "c2");
    let examined = desk.governance_examines(&event);
    assert_eq!(
        decision(&desk.append_examined(vec![event], &[Some(examined)]).unwrap()).verdict,
        Verdict::Allow
    );
}

#[test]
fn who_only_asks_what_would_be_decided_is_told_no_id() {
    let mut desk = governed();
    let event = asking(&mut desk, "c1");
    let Examination::Call(facts) = *desk.governance_examines(&event) else { panic!("no call") };
    let time = bitacora_formats::Micros(desk.time);
    let would = desk.governance.read(|state| state.would_decide(&facts, time)).unwrap();
    assert_eq!((would.verdict, would.approval), (Verdict::Review, None));
}

#[test]
fn the_rules_before_named_the_position_of_the_request() {
    let mut desk = governed();
    let event = asking(&mut desk, "c1");
    let mut examined = desk.examine(&event).unwrap();
    let Some(Examination::Call(facts)) = examined.as_deref_mut() else { panic!("no call") };
    facts.reactor_version = 5;
    let caused = desk.append_examined(vec![event], &[examined]).unwrap();
    let position = desk.log.last().unwrap()[0].position;
    assert_eq!(requested(&caused).approval.as_str(), format!("a{position}"));
    assert_eq!(rejudged(&desk.log).1.disagreements, []);
}

/// Outcomes and checks after which a rollback may have to be asked for.
#[test]
fn approvals_of_rollbacks_have_drawn_ids_too() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let contract = json!({"contract": "tidy", "pre": [], "rollback": [], "blast_radius": "low",
                          "post": [{"type": "tests_pass", "params": {}}]});
    desk.act("contract.defined", contract).unwrap();
    let failed = json!({"contract": "tidy", "call": "c2", "run": "r", "node": "n", "phase": "post",
                        "checks": [{"type": "tests_pass", "params": {}, "passed": false}]});
    let ended = json!({"call": "c1", "status": "ok", "post_check_passed": false});
    for (call, kind, body) in [("c1", "tool.completed", ended), ("c2", "contract.checked", failed)] {
        desk.ask(call, "fs.write", json!({"path": "src/a.rs"}));
        let event = desk.event(kind, "agent:111111111111", &body);
        let undrawn = desk.governance_examines(&event);
        let refusal = desk.append_examined(vec![event.clone()], &[Some(undrawn)]).unwrap_err();
        assert_eq!(refusal.code.as_str(), "state-moved", "{kind}");
        let caused = desk.append(vec![event]).unwrap();
        assert!(kinds(&caused).contains(&"approval.requested"), "{kind}");
        let id = requested(&caused).approval;
        assert_eq!((id.len(), id.starts_with('a')), (21, true), "{kind}: {id}");
    }
    let (state, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.governance.read(|published| *published == state));
}

//! A person's word: for one call, once, and for nothing else.

use bitacora_governance::RefusalCode;
use bitacora_vocabulary::{ApprovalRequested, Verdict};
use serde_json::json;

use crate::desk::{SECOND, TestGovernance, data, decision, governed, kinds, scope_of, tool, verdict};

/// A call that waits, and its approval.
fn waiting(desk: &mut TestGovernance, call: &str, path: &str) -> String {
    let decision = desk.ask(call, "fs.write", json!({"path": path}));
    assert_eq!(decision.verdict, Verdict::Review);
    decision.approval.unwrap().to_string()
}

fn resolve(
    desk: &mut TestGovernance,
    approval: &str,
    resolution: &str,
) -> Vec<bitacora_formats::Event<'static>> {
    desk.act("approval.resolved", json!({"approval": approval, "resolution": resolution, "by": "operator:0"}))
        .unwrap()
}

fn ask(call: &str, path: &str, approval: &str) -> serde_json::Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": path}, "approval": approval})
}

#[test]
fn an_approved_call_runs_once() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    assert_eq!(
        verdict(&desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap()),
        (Verdict::Review, "approval-pending".into())
    );
    resolve(&mut desk, &approval, "approved");
    let event = desk.event("tool.requested", "agent:111111111111", &ask("c1", "src/a.rs", &approval));
    let caused = desk.append(vec![event]).unwrap();
    assert_eq!(kinds(&caused), ["decision.made", "approval.consumed"]);
    assert_eq!(verdict(&decision(&caused)), (Verdict::Allow, "approved".into()));
    let again = desk.ask_with(ask("c2", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&again), (Verdict::Review, "approval-used".into()));
    let caused = desk.ok("c1");
    assert_eq!(data::<serde_json::Value>(&caused[0])["outcome"], "approved", "a person stood for it");
}

#[test]
fn one_approval_is_not_spent_twice_in_one_request() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    let both = ["c1", "c2"]
        .map(|call| desk.event("tool.requested", "agent:111111111111", &ask(call, "src/a.rs", &approval)));
    let caused = desk.append(both.to_vec()).unwrap();
    assert_eq!(kinds(&caused), ["decision.made", "approval.consumed", "decision.made", "approval.requested"]);
}

#[test]
fn an_approval_is_for_this_action_and_no_other() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    let other = desk.ask_with(ask("c2", "src/b.rs", &approval)).unwrap();
    assert_eq!(verdict(&other), (Verdict::Review, "approval-mismatch".into()));
    assert_ne!(other.approval.unwrap().as_str(), approval, "another one was asked for");
}

#[test]
fn an_approval_ends_with_its_time() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    desk.pass(24 * 3_600);
    let late = desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&late), (Verdict::Review, "approval-expired".into()));
}

#[test]
fn an_approval_given_under_another_policy_is_stale() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    desk.publish(2, "review");
    let stale = desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&stale), (Verdict::Review, "approval-stale".into()));
    assert_ne!(stale.approval.unwrap().as_str(), approval);
}

#[test]
fn a_no_counts_and_is_not_asked_about_again() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    let caused = resolve(&mut desk, &approval, "rejected");
    assert_eq!(kinds(&caused), ["trust.observed"]);
    assert_eq!(data::<serde_json::Value>(&caused[0])["outcome"], "rejected");
    let again = desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&again), (Verdict::Deny, "approval-rejected".into()));
    assert_eq!(again.approval.unwrap().as_str(), approval, "no other one was asked for");
    let blocked = desk.end("c1", "tool.blocked", "rejected").unwrap();
    assert!(blocked.is_empty(), "one observation a call: {:?}", kinds(&blocked));
}

#[test]
fn the_first_answer_holds_and_nobody_answers_themselves() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    let own = json!({"approval": approval, "resolution": "approved", "by": "agent:111111111111"});
    assert_eq!(desk.act("approval.resolved", own).unwrap_err().code.as_str(), "own-request");
    resolve(&mut desk, &approval, "rejected");
    let second = json!({"approval": approval, "resolution": "approved", "by": "operator:0"});
    assert_eq!(desk.act("approval.resolved", second).unwrap_err().code.as_str(), "already-resolved");
    let unknown = json!({"approval": "a9", "resolution": "approved", "by": "operator:0"});
    assert_eq!(desk.act("approval.resolved", unknown).unwrap_err().code.as_str(), "no-such-approval");
}

#[test]
fn asking_again_does_not_ask_a_person_twice() {
    let mut desk = governed();
    let first = waiting(&mut desk, "c1", "src/a.rs");
    assert_eq!(waiting(&mut desk, "c2", "src/a.rs"), first);
    assert_ne!(waiting(&mut desk, "c3", "src/b.rs"), first);
}

#[test]
fn an_approval_does_not_lift_a_deny() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    desk.publish(2, "deny");
    let denied = desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&denied), (Verdict::Deny, "policy-deny".into()));
}

#[test]
fn an_edit_approves_the_other_arguments_alone() {
    let mut desk = governed();
    let event = desk.event(
        "tool.requested",
        "agent:111111111111",
        &json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}}),
    );
    let caused = desk.append(vec![event]).unwrap();
    let asked: ApprovalRequested = data(&caused[1]);
    let edited = desk.ask("c2", "fs.write", json!({"path": "src/b.rs"})).inputs.action_digest.unwrap();
    desk.act(
        "approval.resolved",
        json!({
            "approval": asked.approval, "resolution": "edited", "by": "operator:0", "action_digest": edited,
        }),
    )
    .unwrap();
    let approval = asked.approval.to_string();
    assert_eq!(
        verdict(&desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap()),
        (Verdict::Review, "approval-mismatch".into())
    );
    assert_eq!(
        verdict(&desk.ask_with(ask("c3", "src/b.rs", &approval)).unwrap()),
        (Verdict::Allow, "approved".into())
    );
}

#[test]
fn a_grant_lifts_reviews_within_its_scope_and_time() {
    let mut desk = governed();
    let expires = desk.time + 60 * SECOND;
    desk.act("grant.given", json!({"grant": "g1", "scope": scope_of("coder", "src"), "expires": expires}))
        .unwrap();
    let inside = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&inside), (Verdict::Allow, "granted".into()));
    let outside = desk.ask("c2", "fs.write", json!({"path": "docs/a.md"}));
    assert_eq!(outside.verdict, Verdict::Review);
    desk.pass(60);
    let late = desk.ask("c3", "fs.write", json!({"path": "src/b.rs"}));
    assert_eq!(late.verdict, Verdict::Review);
}

#[test]
fn nobody_answers_for_the_call_of_another_agent_or_takes_it_over() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", "src/a.rs");
    resolve(&mut desk, &approval, "approved");
    let mut stolen = desk.event("tool.requested", "agent:2", &ask("c1", "src/a.rs", &approval));
    stolen.agent = Some("another".into());
    assert_eq!(desk.append(vec![stolen]).unwrap_err().code, RefusalCode::CallTaken);
    let allowed = desk.ask_with(ask("c1", "src/a.rs", &approval)).unwrap();
    assert_eq!(verdict(&allowed), (Verdict::Allow, "approved".into()), "it waited for its own agent");

    let outcome = json!({"call": "c1", "status": "error"});
    let mut forged = desk.event("tool.failed", "agent:2", &outcome);
    forged.agent = Some("another".into());
    assert_eq!(desk.append(vec![forged]).unwrap_err().code, RefusalCode::NoSuchCall);
    // The service, and whoever runs it, name no agent.
    let mut ended = desk.event("tool.failed", "operator:0", &outcome);
    ended.agent = None;
    assert_eq!(kinds(&desk.append(vec![ended]).unwrap()), ["trust.observed"]);
}

#[test]
fn an_approval_is_for_one_place_one_server_and_one_registration() {
    for change in ["cwd", "server", "registration"] {
        let mut desk = governed();
        let approval = waiting(&mut desk, "c1", "src/a.rs");
        resolve(&mut desk, &approval, "approved");
        let mut request = ask("c2", "src/a.rs", &approval);
        let expected = match change {
            "cwd" => {
                request["cwd"] = json!("/etc");
                "approval-mismatch"
            }
            "server" => {
                let mut tool = tool("fs.write");
                tool["server"] = json!("another");
                desk.act("tool.registered", tool).unwrap();
                request["server"] = json!("another");
                "approval-mismatch"
            }
            _ => {
                let mut tool = tool("fs.write");
                tool["risk"] = json!("destructive");
                desk.act("tool.changed", tool).unwrap();
                "approval-stale"
            }
        };
        let asked = desk.ask_with(request).unwrap();
        assert_eq!(verdict(&asked), (Verdict::Review, expected.into()), "{change}");
    }
}

#[test]
fn an_event_about_one_call_does_not_name_another() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    for call in ["m1", "m2"] {
        assert_eq!(desk.ask(call, "fs.write", json!({"path": "src/a.rs"})).verdict, Verdict::Allow);
    }
    let mut outcome = desk.event("tool.completed", "agent:1", &json!({"call": "m1", "status": "ok"}));
    for attribute in [Some("m2"), None] {
        outcome.call = attribute.map(Into::into);
        assert_eq!(desk.append(vec![outcome.clone()]).unwrap_err().code, RefusalCode::InvalidData);
    }
    desk.ok("m1");
    desk.ok("m2");
}

#[test]
fn a_denied_call_is_not_kept_for_as_long_as_its_caller_likes() {
    let mut desk = governed();
    let year = 365_u64 * 24 * 3_600 * 1_000;
    let denied =
        desk.ask_with(json!({"call": "c1", "tool": "unknown", "args": {}, "deadline_ms": year})).unwrap();
    assert_eq!((denied.verdict, denied.deadline), (Verdict::Deny, desk.time + 300 * SECOND));
    desk.earn("fs.write", "src");
    let request =
        json!({"call": "c2", "tool": "fs.write", "args": {"path": "src/a.rs"}, "deadline_ms": year});
    let allowed = desk.ask_with(request).unwrap();
    assert_eq!((allowed.verdict, allowed.deadline), (Verdict::Allow, desk.time + 360 * SECOND));
}

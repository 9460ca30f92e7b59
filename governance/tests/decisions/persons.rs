//! A person's word holds for the agent, the action and the time that it was given for.

use bitacora_vocabulary::Verdict;
use serde_json::{Value, json};

use crate::desk::{SECOND, TestGovernance, data, decision, governed, kinds, scope_of, tool, verdict};

fn request(call: &str, more: &Value) -> Value {
    let mut request = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

/// A call that waits, and its approval.
fn waiting(desk: &mut TestGovernance, call: &str, more: &Value) -> String {
    let decision = desk.ask_with(request(call, more)).unwrap();
    assert_eq!(decision.verdict, Verdict::Review);
    decision.approval.unwrap().to_string()
}

fn resolve(desk: &mut TestGovernance, approval: &str, resolution: &str) -> Result<(), String> {
    let word = json!({"approval": approval, "resolution": resolution, "by": "operator:0"});
    desk.act("approval.resolved", word).map(|_| ()).map_err(|refusal| refusal.code.as_str().to_owned())
}

#[test]
fn an_approval_is_of_no_use_to_another_agent_or_for_another_tool() {
    let mut desk = governed();
    desk.act("tool.registered", tool("fs.other")).unwrap();
    let approval = waiting(&mut desk, "c1", &json!({}));
    resolve(&mut desk, &approval, "approved").unwrap();
    let stolen = desk.ask_as("other", request("c2", &json!({"approval": approval}))).unwrap();
    assert_eq!(verdict(&stolen), (Verdict::Review, "approval-mismatch".into()));
    let turned = desk.ask_with(request("c3", &json!({"approval": approval, "tool": "fs.other"}))).unwrap();
    assert_eq!(verdict(&turned), (Verdict::Review, "approval-mismatch".into()));
    let own = desk.ask_with(request("c1", &json!({"approval": approval}))).unwrap();
    assert_eq!(verdict(&own), (Verdict::Allow, "approved".into()));
}

#[test]
fn each_agent_and_each_tool_waits_for_an_approval_of_its_own() {
    let mut desk = governed();
    desk.act("tool.registered", tool("fs.other")).unwrap();
    let first = waiting(&mut desk, "c1", &json!({}));
    let other = desk.ask_as("other", request("c2", &json!({}))).unwrap();
    assert_ne!(other.approval.unwrap().as_str(), first);
    assert_ne!(waiting(&mut desk, "c3", &json!({"tool": "fs.other"})), first);
    desk.publish(2, "review");
    assert_ne!(waiting(&mut desk, "c4", &json!({})), first, "it was asked for under another policy");
}

#[test]
fn an_approval_that_nobody_gave_in_time_is_asked_for_anew() {
    let mut desk = governed();
    let first = waiting(&mut desk, "c1", &json!({}));
    assert_eq!(resolve(&mut desk, &first, "expired"), Err("schema".into()), "it has not");
    desk.pass(24 * 3_600);
    assert_eq!(resolve(&mut desk, &first, "approved"), Err("already-resolved".into()));
    let late = desk.ask_with(request("c1", &json!({"approval": first}))).unwrap();
    assert_eq!(verdict(&late), (Verdict::Review, "approval-expired".into()));
    assert_ne!(late.approval.unwrap().as_str(), first);
    assert_ne!(waiting(&mut desk, "c2", &json!({})), first);
    resolve(&mut desk, &first, "expired").unwrap();
}

#[test]
fn a_no_counts_however_long_it_took_and_once_a_call() {
    let mut desk = governed();
    let short = json!({"deadline_ms": 1});
    let approval = waiting(&mut desk, "c1", &short);
    desk.pass(3_600);
    desk.ask_with(request("c2", &json!({}))).unwrap();
    assert!(desk.governance.read(|state| state.open_call("c1").is_none()));
    let word = json!({"approval": approval, "resolution": "rejected", "by": "operator:0"});
    let caused = desk.act("approval.resolved", word).unwrap();
    assert_eq!(kinds(&caused), ["trust.observed"]);
    assert_eq!(data::<Value>(&caused[0])["dimension"]["context"], "src");
    // Asked for again it waits for nobody, and its agent's own word counts nothing more.
    let again = desk.ask_with(request("c1", &json!({"approval": approval}))).unwrap();
    assert_eq!(again.reason_code.as_str(), "approval-rejected");
    assert!(desk.end("c1", "tool.blocked", "rejected").unwrap().is_empty());
}

#[test]
fn a_call_that_ran_without_a_yes_counts_once() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({}));
    assert_eq!(kinds(&desk.fail("c1")), ["coverage.gap", "trust.observed"]);
    let word = json!({"approval": approval, "resolution": "rejected", "by": "operator:0"});
    assert!(desk.act("approval.resolved", word).unwrap().is_empty());
}

#[test]
fn who_said_yes_does_not_make_the_call() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({}));
    resolve(&mut desk, &approval, "approved").unwrap();
    for actor in ["operator:0", "agent:2"] {
        let call = format!("by-{actor}");
        let event = desk.event("tool.requested", actor, &request(&call, &json!({"approval": approval})));
        let asked = decision(&desk.append(vec![event]).unwrap());
        assert_ne!(asked.reason_code.as_str(), "approved", "{actor}");
    }
    let own = desk.ask_with(request("c1", &json!({"approval": approval}))).unwrap();
    assert_eq!(verdict(&own), (Verdict::Allow, "approved".into()));
}

#[test]
fn an_edit_is_for_the_folder_that_it_names() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({"cwd": "/w"}));
    let digest =
        desk.governance.read(|state| state.approval(&approval).unwrap().request.action_digest.clone());
    let edit = json!({
        "approval": approval, "resolution": "edited", "by": "operator:0", "action_digest": digest,
        "args": {"path": "src/a.rs"}, "cwd": "/other",
    });
    desk.act("approval.resolved", edit).unwrap();
    let with = |cwd: &str| json!({"approval": approval, "cwd": cwd});
    let elsewhere = desk.ask_with(request("c2", &with("/w"))).unwrap();
    assert_eq!(verdict(&elsewhere), (Verdict::Review, "approval-mismatch".into()));
    let there = desk.ask_with(request("c1", &with("/other"))).unwrap();
    assert_eq!(verdict(&there), (Verdict::Allow, "approved".into()));
}

#[test]
fn an_edit_shows_the_arguments_that_its_digest_is_of() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({}));
    let digest =
        desk.governance.read(|state| state.approval(&approval).unwrap().request.action_digest.clone());
    let edit = |desk: &mut TestGovernance, args: Value| {
        let edit = json!({
            "approval": approval, "resolution": "edited", "by": "operator:0", "action_digest": digest,
            "args": args,
        });
        desk.act("approval.resolved", edit)
    };
    for shown in [json!({"path": "src/b.rs"}), json!({}), json!({"path": "../src/a.rs"})] {
        let refusal = edit(&mut desk, shown.clone()).unwrap_err();
        assert_eq!(refusal.code.as_str(), "schema", "{shown}");
        assert!(refusal.reason.contains("is not that of the arguments"), "{}", refusal.reason);
    }
    edit(&mut desk, json!({"path": "src/a.rs"})).unwrap();
}

#[test]
fn a_call_that_its_check_failed_waits_for_a_person() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask_with(request("c1", &json!({}))).unwrap();
    let outcome = json!({"call": "c1", "status": "ok", "post_check_passed": false});
    let event = desk.event("tool.completed", "agent:111111111111", &outcome);
    let caused = desk.append(vec![event]).unwrap();
    assert_eq!(kinds(&caused), ["trust.observed", "approval.requested"]);
    assert_eq!(data::<Value>(&caused[0])["outcome"], "error");
    let asked: Value = data(&caused[1]);
    assert_eq!((&asked["about"], &asked["call"]), (&json!("rollback"), &json!("c1")));
    let approval = asked["approval"].as_str().unwrap().to_owned();
    // It is a yes to the rollback; no call runs by it, and a no is nothing against the tool.
    let call =
        desk.ask_with(request("c2", &json!({"approval": approval, "blast_radius": "critical"}))).unwrap();
    assert_ne!(call.reason_code.as_str(), "approved");
    let word = json!({"approval": approval, "resolution": "rejected", "by": "operator:0"});
    assert!(desk.act("approval.resolved", word).unwrap().is_empty());
}

#[test]
fn an_edit_names_what_it_approves() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({}));
    assert_eq!(resolve(&mut desk, &approval, "edited"), Err("schema".into()));
}

#[test]
fn a_call_is_asked_for_again_while_it_waits_and_with_its_approval_alone() {
    let mut desk = governed();
    let approval = waiting(&mut desk, "c1", &json!({}));
    assert_eq!(desk.ask_with(request("c1", &json!({}))).unwrap_err().code.as_str(), "call-reused");
    desk.earn("fs.write", "src");
    assert_eq!(desk.ask_with(request("c2", &json!({}))).unwrap().verdict, Verdict::Allow);
    let again = desk.ask_with(request("c2", &json!({"approval": approval})));
    assert_eq!(again.unwrap_err().code.as_str(), "call-reused", "it may be under way");
}

#[test]
fn a_call_that_a_person_approved_keeps_its_key() {
    let mut desk = governed();
    let key = json!({"idempotency_key": "k"});
    let approval = waiting(&mut desk, "c1", &key);
    resolve(&mut desk, &approval, "approved").unwrap();
    let with = json!({"idempotency_key": "k", "approval": approval});
    assert_eq!(verdict(&desk.ask_with(request("c1", &with)).unwrap()), (Verdict::Allow, "approved".into()));
    let twice = desk.ask_with(request("c2", &key)).unwrap();
    assert_eq!(verdict(&twice), (Verdict::Deny, "in-flight".into()));
    desk.ok("c1");
    assert_eq!(verdict(&desk.ask_with(request("c3", &key)).unwrap()), (Verdict::Deny, "repeated".into()));
    // Two days later it is forgotten.
    desk.pass(49 * 3_600);
    desk.ask_with(request("c9", &json!({"idempotency_key": "other"}))).unwrap();
    assert_eq!(desk.ask_with(request("c4", &key)).unwrap().verdict, Verdict::Review);
}

#[test]
fn a_key_is_in_flight_up_to_the_deadline_that_was_named() {
    for (risk, after) in [("write", "outcome-unknown"), ("read", "allowed")] {
        let mut desk = governed();
        desk.earn("fs.read", "src");
        let mut read = tool("fs.read");
        read["risk"] = json!(risk);
        desk.act("tool.registered", read).unwrap();
        let more = json!({"idempotency_key": "k", "deadline_ms": 10_000, "tool": "fs.read"});
        assert_eq!(desk.ask_with(request("c1", &more)).unwrap().deadline, desk.time + 10 * SECOND);
        desk.time += 10 * SECOND - 1;
        assert_eq!(desk.ask_with(request("c2", &more)).unwrap().reason_code.as_str(), "in-flight");
        desk.time += 1;
        assert_eq!(desk.ask_with(request("c3", &more)).unwrap().reason_code.as_str(), after);
    }
}

fn grant(desk: &mut TestGovernance, id: &str, scope: Value) {
    let expires = desk.time + 3_600 * SECOND;
    desk.act("grant.given", json!({"grant": id, "scope": scope, "expires": expires})).unwrap();
}

#[test]
fn a_grant_lifts_nothing_that_was_found_about_this_very_call() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    grant(&mut desk, "g1", scope_of("coder", "src"));
    let critical = desk.ask_with(request("c1", &json!({"blast_radius": "critical"}))).unwrap();
    assert_eq!(verdict(&critical), (Verdict::Review, "blast-radius".into()));
    let never =
        json!([{"id": "all", "match": {}, "action": "allow", "reason": "r", "never_auto_approve": true}]);
    desk.publish_rules(2, never);
    let never = desk.ask_with(request("c2", &json!({}))).unwrap();
    assert_eq!(verdict(&never), (Verdict::Review, "never-auto-approve".into()));
    let reviewed =
        json!([{"id": "all", "match": {}, "action": "review", "reason": "r", "never_auto_approve": true}]);
    desk.publish_rules(3, reviewed);
    let reviewed = desk.ask_with(request("c3", &json!({}))).unwrap();
    assert_eq!(verdict(&reviewed), (Verdict::Review, "policy-review".into()));
}

#[test]
fn grants_hold_side_by_side_until_they_are_taken_back() {
    let mut desk = governed();
    grant(&mut desk, "g1", scope_of("coder", "src"));
    grant(&mut desk, "g2", scope_of("other", "src"));
    assert_eq!(desk.ask_with(request("c1", &json!({}))).unwrap().reason_code.as_str(), "granted");
    assert_eq!(desk.ask_as("other", request("c2", &json!({}))).unwrap().reason_code.as_str(), "granted");
    assert_eq!(desk.ask_as("third", request("c3", &json!({}))).unwrap().verdict, Verdict::Review);
    desk.act("grant.revoked", json!({"grant": "g1"})).unwrap();
    assert_eq!(desk.ask_with(request("c4", &json!({}))).unwrap().verdict, Verdict::Review);
    assert_eq!(desk.ask_as("other", request("c5", &json!({}))).unwrap().reason_code.as_str(), "granted");
}

//! Legal holds and the retention policy, as the state keeps them.

use bitacora_formats::Micros;
use bitacora_governance::{ActEvent, Governance, Reactor, State};
use bitacora_vocabulary::{EventPosition, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, governed};

fn hold(id: &str, scope: Value) -> Value {
    json!({"hold": id, "scope": scope, "by": "counsel", "reason": "the proceedings of case 7"})
}

fn policy(rules: Value) -> Value {
    json!({"rules": rules, "reason": "ticket 4711"})
}

/// Returns the ids of the holds in force, and the names of the retention rules.
fn standing(desk: &TestGovernance) -> (Vec<String>, Vec<String>) {
    assert!(desk.is_in_step());
    desk.governance.read(|state| {
        let holds = state.holds().iter().map(|(id, _)| id.to_string()).collect();
        (holds, state.retention().rules.iter().map(|rule| rule.rule.to_string()).collect())
    })
}

fn refused(desk: &mut TestGovernance, kind: &'static str, data: Value) -> String {
    let before = standing(desk);
    let refusal = desk.act(kind, data).unwrap_err();
    assert_eq!(standing(desk), before, "nothing of it happened");
    format!("{}: {}", refusal.code.as_str(), refusal.reason)
}

/// Returns the text of the published state.
fn text(desk: &TestGovernance) -> Value {
    desk.governance.read(|state| serde_json::to_value(state).unwrap())
}

#[test]
fn holds_stand_until_they_are_released_and_a_policy_until_the_next_one() {
    let mut desk = governed();
    desk.act("hold.placed", hold("case-7", json!({"first": "1", "last": "2"}))).unwrap();
    let at = desk.log.last().unwrap()[0].position;
    desk.act("hold.placed", hold("all", json!({}))).unwrap();
    let rule = |name: &str| json!({"rule": name, "keep_days": 200});
    desk.act("retention.changed", policy(json!([rule("a"), rule("b")]))).unwrap();
    let set = desk.log.last().unwrap()[0].position;
    assert_eq!(standing(&desk), (vec!["all".into(), "case-7".into()], vec!["a".into(), "b".into()]));
    desk.restart();
    desk.governance.read(|state| {
        let hold = state.holds().get("case-7").unwrap();
        assert_eq!((hold.position.get(), hold.by.as_deref()), (at, Some("counsel")));
        assert_eq!(hold.time.0, desk.time);
        assert_eq!(state.retention().position.map(EventPosition::get), Some(set));
    });
    desk.act("hold.released", json!({"hold": "all", "reason": "closed"})).unwrap();
    desk.act("retention.changed", policy(json!([rule("c")]))).unwrap();
    assert_eq!(standing(&desk), (vec!["case-7".into()], vec!["c".into()]));
    desk.act("hold.released", json!({"hold": "case-7", "reason": "closed"})).unwrap();
    desk.act("hold.placed", hold("case-7", json!({}))).unwrap();
    desk.act("retention.changed", policy(json!([]))).unwrap();
    assert_eq!(standing(&desk), (vec!["case-7".into()], vec![]));
}

#[test]
fn acts_that_cannot_be_are_refused_and_change_nothing() {
    let mut desk = governed();
    desk.act("hold.placed", hold("case-7", json!({}))).unwrap();
    let head = desk.log.last().unwrap()[0].position.get();
    let behind = (head + 1).to_string();
    for (kind, data, said) in [
        ("hold.placed", hold("case-7", json!({"last": "1"})), "schema: hold `case-7` is in force"),
        ("hold.placed", hold("b", json!({"last": behind})), "schema: the scope ends at position"),
        ("hold.placed", hold("b", json!({"first": "2", "last": "1"})), "schema: the scope begins"),
        ("hold.released", json!({"hold": "b", "reason": "r"}), "no-such-thing: there is no hold `b`"),
        (
            "retention.changed",
            policy(json!([{"rule": "a", "keep_days": 179}])),
            "schema: rule `a` keeps events for 179 days",
        ),
        (
            "retention.changed",
            policy(json!([{"rule": "a", "keep_days": 200, "types": ["[z-a]"]}])),
            "schema: rule `a`: glob `[z-a]`: a range that ends",
        ),
    ] {
        let found = refused(&mut desk, kind, data);
        assert!(found.starts_with(said), "{found}");
    }
    desk.act("hold.placed", hold("b", json!({"last": head.to_string()}))).unwrap();
}

#[test]
fn a_request_is_decided_by_what_it_did_itself_and_is_taken_back_as_a_whole() {
    let mut desk = governed();
    let twice: Vec<_> =
        (0..2).map(|_| desk.event("hold.placed", "operator:0", &hold("case-7", json!({})))).collect();
    let refusal = desk.append(twice).unwrap_err();
    assert_eq!(refusal.reason, "hold `case-7` is in force; use another id");
    let set = policy(json!([{"rule": "a", "keep_days": 200}]));
    let released = json!({"hold": "b", "reason": "r"});
    let events = vec![
        desk.event("retention.changed", "operator:0", &set),
        desk.event("hold.released", "operator:0", &released),
    ];
    desk.append(events).unwrap_err();
    assert_eq!(standing(&desk), (vec![], vec![]));
}

#[test]
fn a_state_without_holds_and_policy_is_written_as_before_there_were_any() {
    let mut desk = governed();
    let parts = |desk: &TestGovernance| -> Vec<_> {
        let digests = desk.governance.read(|state| state.digests().unwrap());
        digests
            .parts
            .into_iter()
            .map(|(part, _)| part.name)
            .filter(|name| ["holds", "retention"].contains(name))
            .collect()
    };
    let (holds, retention) = (text(&desk)["holds"].clone(), text(&desk)["retention"].clone());
    assert_eq!((holds, retention, parts(&desk)), (Value::Null, Value::Null, vec![]));
    desk.act("hold.placed", hold("case-7", json!({}))).unwrap();
    desk.act("retention.changed", policy(json!([{"rule": "a", "keep_days": 200}]))).unwrap();
    assert_eq!(parts(&desk), ["holds", "retention"]);
    // A fold of the log from its beginning leads to the same state.
    let governance = Governance::default();
    let mut folded = governance.apart();
    for frame in &desk.log {
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        folded.fold(&observed);
    }
    let saved: State = serde_json::from_slice(&folded.save().unwrap().unwrap()).unwrap();
    assert!(desk.staged_is(&saved));
    desk.act("hold.released", json!({"hold": "case-7", "reason": "closed"})).unwrap();
    assert_eq!((text(&desk)["holds"].clone(), parts(&desk)), (Value::Null, vec!["retention"]));
}

/// Asks whether an event of this stream, call and data belongs to what has not ended.
fn is_unfinished(desk: &TestGovernance, stream: &str, call: Option<&str>, data: Option<&Value>) -> bool {
    let data = data.map(Value::to_string);
    let data = data.as_ref().map(String::as_bytes);
    let event = ActEvent { stream, call, data, is_sealed: false };
    desk.governance.read(|state| state.unfinished_acts(Micros(desk.time)).include(&event))
}

#[test]
fn a_call_is_unfinished_no_longer_than_something_may_come_of_it() {
    let mut desk = governed();
    let is_unfinished = |desk: &TestGovernance, call: &str, at: u64| {
        let event = ActEvent { stream: "s", call: Some(call), data: None, is_sealed: false };
        desk.governance.read(|state| state.unfinished_acts(Micros(at)).include(&event))
    };
    desk.earn("fs.write", "src");
    desk.ask("allowed", "fs.write", json!({"path": "src/a"}));
    desk.act("agent.suspended", json!({"agent": "coder", "reason": "a test"})).unwrap();
    let denied = desk.ask("denied", "fs.write", json!({"path": "src/a"}));
    assert_eq!(denied.verdict, Verdict::Deny);
    let (open, deadline) = desk.governance.read(|state| {
        let of = |call| state.open_call(call).unwrap().deadline;
        (of("allowed"), of("denied"))
    });
    assert!(is_unfinished(&desk, "denied", deadline.0 - 1));
    assert!(!is_unfinished(&desk, "denied", deadline.0), "nobody reports on a denied call");
    // Its end is still to be recorded.
    assert!(is_unfinished(&desk, "allowed", open.0) && is_unfinished(&desk, "allowed", u64::MAX));
}

#[test]
fn what_has_not_ended_is_known_by_its_call() {
    let mut desk = governed();
    let unfinished = |desk: &TestGovernance, call: &str| is_unfinished(desk, "s", Some(call), None);
    desk.earn("fs.write", "src");
    desk.ask("open", "fs.write", json!({"path": "src/a"}));
    let reviewed = desk.ask("waits", "fs.write", json!({"path": "other/a"}));
    assert_eq!([unfinished(&desk, "open"), unfinished(&desk, "waits")], [true; 2]);
    assert!(!unfinished(&desk, "another"));
    desk.ok("open");
    assert!(!unfinished(&desk, "open"));
    // Given and not used.
    let answer = json!({"approval": reviewed.approval, "resolution": "approved", "by": "ana"});
    desk.act("approval.resolved", answer).unwrap();
    assert!(unfinished(&desk, "waits"));
}

#[test]
fn what_an_import_that_goes_on_may_hold_is_unfinished() {
    let mut desk = governed();
    let imported = |desk: &TestGovernance, data: &Value| is_unfinished(desk, "s", None, Some(data));
    let sealed = |desk: &TestGovernance| {
        let event = ActEvent { stream: "s", call: None, data: None, is_sealed: true };
        desk.governance.read(|state| state.unfinished_acts(Micros(desk.time)).include(&event))
    };
    let request = json!({"call": "i1", "tool": "fs.read", "args": {}, "assurance": "imported"});
    assert!(!imported(&desk, &request) && !sealed(&desk), "no import is under way");
    let mut event = desk.event("tool.requested", "operator:000000000000", &request);
    event.time = Some("2020-01-01T00:00:00Z".into());
    let stream = event.stream.to_string();
    let caused = desk.append(vec![event]).unwrap();
    assert!(imported(&desk, &request) && sealed(&desk));
    let decided: Value = data(&caused[0]);
    assert!(decided["assurance"].is_null(), "{decided}");
    assert!(imported(&desk, &decided), "the decision about it too: {decided}");
    // By its call, in its stream alone.
    let of_call = |stream: &str| is_unfinished(&desk, stream, Some("i1"), Some(&json!({"call": "i1"})));
    assert!(of_call(&stream) && !of_call("elsewhere"));
    assert!(!imported(&desk, &json!({"call": "own"})) && !imported(&desk, &json!({"inputs": {}})));
}

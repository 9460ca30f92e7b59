use bitacora_vocabulary::RetentionRules;
use serde_json::{Value, json};

use super::*;

const DAY: u64 = MICROS_OF_DAY;
/// The day on which the events of the table are judged.
const NOW: u64 = 1_000 * DAY;

fn rules(rules: Value) -> RetentionRules {
    serde_json::from_value(rules).unwrap()
}

fn compiled(given: Value) -> Result<RetentionPolicy, RetentionError> {
    RetentionPolicy::compile(&rules(given))
}

/// Judges an event of this type and stream, recorded this many microseconds before.
fn judge(policy: &RetentionPolicy, (kind, stream, names_subject): (&str, &str, bool), age: u64) -> String {
    let event = RetainedEvent { kind, stream, names_subject, time: Micros(NOW - age) };
    match policy.verdict(&event, Micros(NOW)) {
        RetentionVerdict::Keep => "keep".to_owned(),
        RetentionVerdict::Expired { rule } => rule.to_string(),
    }
}

#[test]
fn an_event_is_kept_as_long_as_the_longest_rule_that_matches_it_says() {
    let policy = compiled(json!([
        {"rule": "calls", "keep_days": 200, "types": ["tool.*", "decision.made"]},
        {"rule": "personal", "keep_days": 30, "subjects": true, "shorter_because": "article 5"},
        {"rule": "orders", "keep_days": 400, "streams": ["orders/*"], "types": ["tool.completed"]},
        {"rule": "anonymous-notes", "keep_days": 180, "types": ["x.note"], "subjects": false},
    ]))
    .unwrap();
    for (event, age, expected) in [
        // One rule matches: up to its last microsecond the event stays.
        (("decision.made", "a", false), 200 * DAY - 1, "keep"),
        (("decision.made", "a", false), 200 * DAY, "calls"),
        // Two match, and the longer one decides, in whichever order they stand.
        (("tool.requested", "a", true), 100 * DAY, "keep"),
        (("tool.requested", "a", true), 200 * DAY, "calls"),
        (("tool.completed", "orders/7", false), 399 * DAY, "keep"),
        (("tool.completed", "orders/7", true), 400 * DAY, "orders"),
        // A rule with two parts matches where both agree.
        (("tool.failed", "orders/7", false), 399 * DAY, "calls"),
        (("tool.completed", "order/7", false), 399 * DAY, "calls"),
        // A star crosses every character of a stream.
        (("tool.completed", "orders/7/lines/1", false), 399 * DAY, "keep"),
        // By subject alone.
        (("x.note", "a", true), 30 * DAY, "personal"),
        (("x.note", "a", false), 179 * DAY, "keep"),
        (("x.note", "a", false), 180 * DAY, "anonymous-notes"),
        // No rule matches: for ever.
        (("x.other", "a", false), 999 * DAY, "keep"),
        // Some types stay whatever rules say.
        (("tool.registered", "a", false), 999 * DAY, "keep"),
        (("subject.erased", "a", true), 999 * DAY, "keep"),
    ] {
        assert_eq!(judge(&policy, event, age), expected, "{event:?} after {age}");
    }
}

#[test]
fn a_policy_without_rules_keeps_everything_and_a_rule_without_parts_matches_everything() {
    let nothing = compiled(json!([])).unwrap();
    assert!(nothing.keeps_everything());
    assert_eq!(judge(&nothing, ("x.note", "a", true), 999 * DAY), "keep");
    let all =
        compiled(json!([{"rule": "all", "keep_days": 500}, {"rule": "too", "keep_days": 500}])).unwrap();
    assert!(!all.keeps_everything());
    assert_eq!(judge(&all, ("x.note", "a", true), 499 * DAY), "keep");
    assert_eq!(judge(&all, ("x.note", "a", true), 500 * DAY), "all");
    assert_eq!(judge(&all, ("policy.activated", "a", true), 999 * DAY), "keep");
}

#[test]
fn the_age_of_an_event_neither_wraps_nor_is_negative() {
    let policy = compiled(json!([{"rule": "all", "keep_days": 36_500}])).unwrap();
    let event = |time| RetainedEvent { kind: "x.note", stream: "a", names_subject: false, time };
    for (time, now) in [(u64::MAX - 1, u64::MAX - 1), (NOW, 0), (u64::MAX - 1, 7)] {
        assert_eq!(policy.verdict(&event(Micros(time)), Micros(now)), RetentionVerdict::Keep);
    }
}

#[test]
fn rules_that_say_nothing_clear_are_refused() {
    let rule = |name: &str, days: u32| json!({"rule": name, "keep_days": days});
    let with = |member: &str, value: Value| {
        let mut rule = rule("a", 200);
        rule[member] = value;
        rule
    };
    for (given, said) in [
        (json!([rule("a", 179)]), "rule `a` keeps events for 179 days; fewer than 180 take a reason"),
        (json!([rule("a", 200), rule("b", 200), rule("a", 300)]), "two rules are named `a`"),
        (json!([rule("a`b", 1)]), "rule `a'b` keeps"),
        (
            json!([with("types", json!(["tool.{a,b}"]))]),
            "rule `a`: glob `tool.{a,b}`: `{` and `}` are no alt",
        ),
        (json!([with("streams", json!(["a", "***"]))]), "rule `a`: glob `***`: more than two `*`"),
    ] {
        let error = compiled(given).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    assert!(compiled(json!([rule("a", 180), with("rule", json!("b"))])).is_ok());
    for (member, value) in [
        ("keep_days", json!(0)),
        ("keep_days", json!(36_501)),
        ("keep_days", json!("200")),
        ("types", json!([])),
        ("types", json!("tool.*")),
        ("streams", json!(vec!["a"; 33])),
        ("subject", json!(true)),
        ("shorter_because", json!("")),
    ] {
        let given = json!([with(member, value)]);
        assert!(serde_json::from_value::<RetentionRules>(given.clone()).is_err(), "{given}");
    }
    let many: Vec<_> = (0..65).map(|number| rule(&format!("r{number}"), 200)).collect();
    assert!(serde_json::from_value::<RetentionRules>(json!(many)).is_err());
    assert!(compiled(json!(many[1..])).is_ok());
}

#[test]
fn the_end_of_something_stays_as_long_as_its_beginning() {
    let policy = compiled(json!([
        {"rule": "ends", "keep_days": 200, "types": ["tool.completed", "session.ended", "approval.resolved"]},
        {"rule": "requests", "keep_days": 400, "types": ["tool.requested", "decision.made", "approval.requested"]},
        {"rule": "of-orders", "keep_days": 300, "streams": ["orders/*"]},
    ]))
    .unwrap();
    for (event, age, expected) in [
        // Its request stays for 400 days.
        (("tool.completed", "a", false), 399 * DAY, "keep"),
        (("tool.completed", "a", false), 400 * DAY, "ends"),
        (("approval.resolved", "a", false), 399 * DAY, "keep"),
        (("approval.resolved", "a", false), 400 * DAY, "ends"),
        // No rule lets the beginning go.
        (("session.ended", "a", false), 999 * DAY, "keep"),
        (("session.ended", "orders/7", false), 299 * DAY, "keep"),
        (("session.ended", "orders/7", false), 300 * DAY, "of-orders"),
        // A beginning goes by itself.
        (("tool.requested", "a", false), 400 * DAY, "requests"),
    ] {
        assert_eq!(judge(&policy, event, age), expected, "{event:?} after {age}");
    }
    // Also where the beginning names a data subject, and the end does not.
    let policy = compiled(json!([
        {"rule": "ends", "keep_days": 200, "subjects": false},
        {"rule": "personal", "keep_days": 900, "subjects": true},
    ]))
    .unwrap();
    assert_eq!(judge(&policy, ("tool.failed", "a", false), 899 * DAY), "keep");
    assert_eq!(judge(&policy, ("tool.failed", "a", false), 900 * DAY), "ends");
}

#[test]
fn the_end_of_something_stays_as_long_as_a_beginning_in_another_stream() {
    let ends = json!({"rule": "ends", "keep_days": 200, "types": ["tool.*", "approval.*", "decision.made", "session.*"]});
    let agents = json!({"rule": "agents", "keep_days": 400, "streams": ["agent/*"]});
    let policy = compiled(json!([ends, agents])).unwrap();
    for (event, age, expected) in [
        // The request may be in the stream of an agent.
        (("tool.completed", "calls", false), 399 * DAY, "keep"),
        (("tool.completed", "calls", false), 400 * DAY, "ends"),
        (("approval.resolved", "governance/approvals", true), 399 * DAY, "keep"),
        (("approval.resolved", "governance/approvals", true), 400 * DAY, "ends"),
        (("session.ended", "sessions", false), 399 * DAY, "keep"),
        // A beginning goes by its own stream.
        (("tool.requested", "calls", false), 200 * DAY, "ends"),
        (("tool.requested", "agent/a", false), 399 * DAY, "keep"),
    ] {
        assert_eq!(judge(&policy, event, age), expected, "{event:?} after {age}");
    }
    // A rule by streams alone lets no beginning go that may be in another one.
    let policy =
        compiled(json!([{"rule": "outcomes", "keep_days": 200, "streams": ["calls", "s/*"]}])).unwrap();
    for (event, expected) in [
        (("tool.failed", "calls", false), "keep"),
        (("approval.consumed", "s/1", false), "keep"),
        (("decision.made", "s/1", false), "outcomes"),
        (("session.ended", "s/1", false), "outcomes"),
        (("tool.requested", "s/1", false), "outcomes"),
    ] {
        assert_eq!(judge(&policy, event, 999 * DAY), expected, "{event:?}");
    }
}

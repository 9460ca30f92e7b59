use serde_json::{Value, json};

use super::*;

/// Returns a decision that says all that one can.
fn whole_decision() -> Value {
    json!({
        "call": "c1", "verdict": "deny", "mode": "enforce", "reason_code": "policy-deny", "reason": "no \"way\"",
        "rule": "r", "ladder": ["panic", "registry", {"step": "policy", "verdict": "deny", "code": "policy-deny"}, "rate"],
        "inputs": {
            "dimension": {"tool": "t", "context": "a/b", "model": "m", "task_type": "-"},
            "approvals": 1, "rejections": 2, "failures": 3, "recent_failures": 4, "streak": 5, "last_updated": 6,
            "score": 7_000, "breaker": "half_open", "policy_version": 8, "registry_revision": 9,
            "reactor_version": 1, "action_digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "role": "agent", "idempotency_key": "k", "server": "s", "destinations": ["a", "b"], "imported": true,
        },
        "approval": "a1", "grant": "g", "expires": 10, "deadline": 11,
        "obligations": {"timeout_ms": 12, "max_retries": 13, "backoff_ms": 14},
        "earlier_outcome": 15, "retry_after_ms": 16, "examined": {"call": "c1"}, "unheard": [1],
    })
}

/// Checks two readings of a text against each other: the fold's, and the full one with the members that change nothing.
fn agree(text: &str) -> bool {
    let whole = serde_json::from_str::<DecisionMade>(text);
    let folded = serde_json::from_str::<RecordedDecision<'_>>(text);
    match (&whole, &folded) {
        (Ok(whole), Ok(folded)) => assert_eq!(RecordedDecision::from(whole), *folded, "{text}"),
        (Err(_), Err(_)) => {}
        (Err(_), Ok(folded)) => {
            let whole: DecisionMade = serde_json::from_value(whole_decision()).unwrap();
            assert_eq!(RecordedDecision::from(&whole), *folded, "{text}");
        }
        _ => panic!("{:?} is not {:?}: {text}", whole.err(), folded.err()),
    }
    folded.is_ok()
}

fn pointers(of: &Value, at: &str, found: &mut Vec<String>) {
    let steps: Vec<_> = match of {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(entries) => {
            entries.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in steps {
        let at = format!("{at}/{step}");
        found.push(at.clone());
        pointers(value, &at, found);
    }
}

#[test]
fn a_fold_reads_what_a_decision_changes_as_everybody_does() {
    assert!(agree(&whole_decision().to_string()));
    let mut places = vec![String::new()];
    pointers(&whole_decision(), "", &mut places);
    let others = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(10_001),
        json!(true),
        json!(""),
        json!("x"),
        json!("allow"),
        json!("rate"),
        json!("*"),
        json!("a\u{7}b"),
        json!("tab\tand\u{e9}"),
        json!("x".repeat(300)),
        json!("x".repeat(3_000)),
        json!([]),
        json!(["rate", "registry"]),
        json!([1]),
        json!({}),
        json!({"step": "rate", "verdict": "review"}),
        json!({"a": "x".repeat(70_000)}),
    ];
    let (mut taken, mut refused) = (0, 0);
    let mut count = |is_taken: bool| if is_taken { taken += 1 } else { refused += 1 };
    for place in &places {
        for other in &others {
            let mut changed = whole_decision();
            *changed.pointer_mut(place).unwrap() = other.clone();
            count(agree(&changed.to_string()));
        }
        let (parent, name) = place.rsplit_once('/').unwrap_or_default();
        let mut lacking = whole_decision();
        if let Some(Value::Object(members)) = lacking.pointer_mut(parent) {
            members.remove(name);
            count(agree(&lacking.to_string()));
        }
        let mut listed = whole_decision();
        let value = listed.pointer_mut(place).unwrap();
        if let Value::Object(members) = &*value {
            *value = members.values().cloned().collect();
            count(agree(&listed.to_string()));
        }
        if let Some(value) = whole_decision().get(name).filter(|_| parent.is_empty()) {
            let twice = format!(r#"{{"{name}":{value},{}"#, &whole_decision().to_string()[1..]);
            count(agree(&twice));
        }
    }
    assert!(taken > 150 && refused > 400, "{taken} taken, {refused} refused");
}

#[test]
fn a_token_is_gone_where_the_tool_is_known_and_its_rates_let_the_call_pass() {
    let takes = |ladder: Value| {
        let mut decision = whole_decision();
        decision["ladder"] = ladder;
        let text = decision.to_string();
        agree(&text);
        serde_json::from_str::<RecordedDecision<'_>>(&text).unwrap().took_token
    };
    assert!(takes(json!(["registry", "rate"])));
    assert!(takes(json!([{"step": "registry", "verdict": "allow"}, {"step": "rate", "verdict": "allow"}])));
    assert!(!takes(json!(["registry"])) && !takes(json!(["rate"])) && !takes(json!([])));
    assert!(!takes(json!(["registry", {"step": "rate", "verdict": "deny", "code": "rate-limited"}])));
}

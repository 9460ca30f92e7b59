use super::*;

const FULL: &str = r#"{
  "id": "edit-src",
  "match": {
    "tool": ["fs.write", "fs.edit*"], "server": "files", "context": "src/**",
    "destination": "/srv/build/*/src/**", "cwd": "/srv/build/*",
    "arguments": [
      {"pointer": "/path", "glob": "src/*"},
      {"pointer": "/mode", "equals": [null, true, 420, "0644", ""]},
      {"pointer": "/force", "absent": true}
    ],
    "model": "small-*", "agent": "ci/*", "role": "agent", "task_type": ["fix", "test"], "risk": ["read", "write"],
    "time_window": {"days": ["monday", "friday"], "from": "22:00", "to": "24:00"}
  },
  "action": "allow", "reason": "sources are edited freely", "comment": "asked for by the team",
  "min_trust_score": 9000, "never_auto_approve": true, "trust": "ignore"
}"#;

fn value() -> serde_json::Value {
    serde_json::from_str(FULL).unwrap()
}

#[test]
fn a_rule_is_written_as_it_was_read() {
    let rule: Rule = serde_json::from_str(FULL).unwrap();
    assert_eq!(serde_json::to_value(&rule).unwrap(), value());
    let least = r#"{"id":"a","match":{},"action":"deny","reason":"no"}"#;
    let rule: Rule = serde_json::from_str(least).unwrap();
    assert_eq!(serde_json::to_string(&rule).unwrap(), least);
}

#[test]
fn a_list_of_one_is_its_value() {
    let listed = FULL.replace(r#": "src/**""#, r#": ["src/**"]"#);
    let rule: Rule = serde_json::from_str(&listed).unwrap();
    assert_eq!(rule, serde_json::from_str(FULL).unwrap());
    assert_eq!(serde_json::to_value(&rule).unwrap(), value());
}

#[test]
fn a_misspelt_member_is_refused_wherever_it_stands() {
    for pointer in ["", "/match", "/match/arguments/0", "/match/time_window"] {
        let mut rule = value();
        rule.pointer_mut(pointer).unwrap()["tols"] = "x".into();
        let problem = serde_json::from_value::<Rule>(rule).unwrap_err().to_string();
        assert!(problem.contains("tols"), "{pointer}: {problem}");
    }
}

#[test]
fn null_is_not_the_same_as_a_member_left_out() {
    let matches =
        value()["match"].as_object().unwrap().keys().map(|key| format!("/match/{key}")).collect::<Vec<_>>();
    let others = ["/comment", "/min_trust_score", "/never_auto_approve", "/trust", "/match/time_window/days"];
    for pointer in matches.iter().map(String::as_str).chain(others) {
        let mut rule = value();
        *rule.pointer_mut(pointer).unwrap() = serde_json::Value::Null;
        assert!(serde_json::from_value::<Rule>(rule).is_err(), "{pointer}");
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    let bad = [
        ("/match/tool", "[]"),
        ("/match/tool", "\"\""),
        ("/match/tool", "7"),
        ("/match/arguments", "[]"),
        ("/match/arguments/1/equals", "1.5"),
        ("/match/arguments/1/equals", "[]"),
        ("/match/arguments/1/equals", "9007199254740993"),
        ("/match/arguments/1/equals", "{}"),
        ("/match/risk", "\"harmless\""),
        ("/match/time_window/days", "[\"funday\"]"),
        ("/match/time_window/from", "\"24:01\""),
        ("/match/time_window/from", "\"7:00\""),
        ("/match/time_window/from", "\"12:60\""),
        ("/match/time_window/from", "\"+1:00\""),
        ("/action", "\"perhaps\""),
        ("/trust", "\"sometimes\""),
        ("/min_trust_score", "10001"),
        ("/min_trust_score", "0.9"),
    ];
    for (pointer, text) in bad {
        let mut rule = value();
        *rule.pointer_mut(pointer).unwrap() = serde_json::from_str(text).unwrap();
        assert!(serde_json::from_value::<Rule>(rule).is_err(), "{pointer} {text}");
    }
}

#[test]
fn the_schema_refuses_unknown_members_and_null_too() {
    let schema = serde_json::to_value(schemars::schema_for!(Rule)).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["id", "match", "action", "reason"]));
    assert_eq!(schema["properties"]["min_trust_score"]["type"], "integer");
    let matches = &schema["$defs"]["RuleMatch"];
    assert_eq!(matches["additionalProperties"], false);
    assert!(matches.get("required").is_none());
    assert_eq!(matches["properties"]["tool"]["anyOf"][1]["maxItems"], MAX_RULE_ALTERNATIVES);
}

use super::*;

fn refused(kind: &str, data: &str) -> EventDataError {
    check_data(kind, Some(data.as_bytes())).unwrap_err()
}

#[test]
fn types_stand_in_order_each_once_and_are_found() {
    assert!(EVENT_TYPES.is_sorted_by(|before, after| before.kind < after.kind));
    for listed in EVENT_TYPES {
        assert_eq!(event_type(listed.kind).unwrap().kind, listed.kind);
        assert!(!listed.kind.starts_with(FREE_PREFIX), "{}", listed.kind);
        // The events of principals, which admins write, are the one family that is not the service's alone.
        let is_own = is_service_kind(listed.kind) && !listed.kind.starts_with("principal.");
        assert_eq!(is_own, listed.writer == EventWriter::Service, "{}", listed.kind);
    }
    assert!(event_type("").is_none() && event_type("tool").is_none() && event_type("zzz").is_none());
}

#[test]
fn every_example_fits_its_type() {
    for listed in EVENT_TYPES {
        let fit = check_data(listed.kind, Some(listed.example.as_bytes()));
        assert_eq!(fit, Ok(SchemaMatch::Listed), "{}", listed.kind);
        assert!(bitacora_formats::check_json(listed.example.as_bytes()).is_ok(), "{}", listed.kind);
    }
}

#[test]
fn what_the_vocabulary_does_not_have_is_free_by_its_prefix_or_for_the_caller_to_look_up() {
    assert_eq!(check_data("x.anything", None), Ok(SchemaMatch::Free));
    assert_eq!(check_data("x.anything", Some(b"[7]")), Ok(SchemaMatch::Free));
    assert_eq!(check_data("ticket.opened", Some(b"{}")), Ok(SchemaMatch::Unlisted));
    assert_eq!(check_data("x", None), Ok(SchemaMatch::Unlisted));
}

#[test]
fn members_that_are_not_known_are_passed_over() {
    let data = br#"{"harness":"h","branch":[{"deep":{}}],"version":null,"assurance":"imported"}"#;
    assert_eq!(check_data("session.started", Some(data)), Ok(SchemaMatch::Listed));
}

#[test]
fn the_value_at_fault_is_named() {
    for (kind, data, pointer, problem) in [
        ("session.started", "{}", "", "missing field `harness`"),
        ("session.started", r#"{"harness":7}"#, "/harness", "invalid type: integer `7`, expected a string"),
        ("session.started", r#"{"harness":""}"#, "/harness", "empty"),
        ("session.started", r#"{"harness":"h","cwd":"a\u001bb"}"#, "/cwd", "control character"),
        ("session.started", "[]", "", "expected an object"),
        ("session.started", r#"["h"]"#, "", "expected an object"),
        ("session.started", "7", "", "expected an object"),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":{"in":-1},"status":"ok"}"#,
            "/tokens/in",
            "-1",
        ),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":[1,2],"status":"ok"}"#,
            "/tokens",
            "an object",
        ),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":{},"status":"fine"}"#,
            "/status",
            "unknown variant `fine`",
        ),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":{},"status":{"ok":null}}"#,
            "/status",
            "a word",
        ),
        ("model.called", r#"{"model":"m","provider":"p","tokens":{}}"#, "", "missing field `status`"),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":{},"status":"ok","cost_micro_usd":1000000000001}"#,
            "/cost_micro_usd",
            "is past 1000000000000",
        ),
        (
            "model.called",
            r#"{"model":"m","provider":"p","tokens":{},"status":"ok","cost_micro_usd":0.5}"#,
            "/cost_micro_usd",
            "0.5",
        ),
        ("annotation.added", r#"{"on":{"position":"0"},"text":"t"}"#, "/on/position", "not a decimal number"),
        ("annotation.added", r#"{"on":{"call":"c","position":"1"},"text":"t"}"#, "/on", "one member"),
        ("annotation.added", r#"{"on":{},"text":"t"}"#, "/on", "one member"),
        ("annotation.added", r#"{"on":"call","text":"t"}"#, "/on", "expected newtype variant"),
        (
            "annotation.added",
            r#"{"on":{"dimension":{"tool":7}},"text":"t"}"#,
            "/on/dimension/tool",
            "expected a string",
        ),
        (
            "suggestion.made",
            r#"{"suggestion":"s","evidence":["1","x"],"rule":{},"reason":"r"}"#,
            "/evidence/1",
            "not a decimal",
        ),
        (
            "contract.checked",
            r#"{"run":"r","node":"n","phase":"pre","checks":[{"type":"t","passed":true},{"type":"t"}]}"#,
            "/checks/1",
            "missing field `passed`",
        ),
        (
            "checkpoint.saved",
            r#"{"thread":"t","checkpoint":"c","step":-2,"source":"loop"}"#,
            "/step",
            "-2 is no step",
        ),
        (
            "checkpoint.saved",
            r#"{"thread":"t","checkpoint":"c","step":1,"source":"loop","channel_versions":{"a/b~c":[]}}"#,
            "/channel_versions/a~1b~0c",
            "did not match",
        ),
        (
            "checkpoint.saved",
            r#"{"thread":"t","checkpoint":"c","step":1,"source":"loop","parent":"b","writes":[{"task":"a","writes":[{"channel":"n","bytes":-1}]}]}"#,
            "/writes/0/writes/0/bytes",
            "invalid value",
        ),
        (
            "checkpoint.saved",
            r#"{"thread":"t","checkpoint":"c","step":1,"source":"loop","parent":"b","writes":[]}"#,
            "/writes",
            "between 1 and 1024",
        ),
    ] {
        let error = refused(kind, data);
        assert_eq!(error.pointer, pointer, "{data}: {error}");
        assert!(error.problem.contains(problem), "{data}: {error}");
        assert!(!error.problem.contains(" at line ") && !error.problem.contains('\n'), "{error}");
    }
    assert_eq!(check_data("session.started", None).unwrap_err().pointer, "");
}

#[test]
fn what_is_said_to_be_wrong_is_short_whatever_was_sent() {
    let long = "€".repeat(5_000);
    let error = refused("turn.started", &format!(r#"{{"prompt":7,"source":"{long}"}}"#));
    assert_eq!(error.pointer, "/prompt");
    let error = refused("turn.started", &format!(r#"{{"source":"{long}"}}"#));
    assert_eq!(error.pointer, "/source");
    assert!(error.problem.len() <= MAX_PROBLEM_BYTES + '…'.len_utf8(), "{}", error.problem.len());
}

#[test]
fn pieces_of_checkpoints_are_bytes() {
    assert_eq!(check_data(CHECKPOINT_BLOB, None), Ok(SchemaMatch::Free));
    for data in ["{}", "null", r#"{"content":"AAAA"}"#] {
        assert_eq!(refused(CHECKPOINT_BLOB, data).problem, "has to be binary data for this type");
    }
    assert!(event_type(CHECKPOINT_BLOB).is_none() && !is_service_kind(CHECKPOINT_BLOB));
}

/// The data of an example with one more member in the object at this place.
fn with_member(listed: &EventType, pointer: &str, name: &str) -> String {
    let mut data: Value = serde_json::from_str(listed.example).unwrap();
    let object = data.pointer_mut(pointer).and_then(Value::as_object_mut);
    object
        .unwrap_or_else(|| panic!("{} has no object at `{pointer}`", listed.kind))
        .insert(name.to_owned(), 7.into());
    data.to_string()
}

#[test]
fn a_type_that_governs_refuses_members_that_it_does_not_know() {
    let mut governing = 0;
    for listed in EVENT_TYPES {
        assert_eq!(check_members(listed.kind, listed.example.as_bytes()), Ok(()), "{}", listed.kind);
        let data = with_member(listed, "", "something_else");
        // Recorded ones are read all the same.
        assert_eq!(
            check_data(listed.kind, Some(data.as_bytes())),
            Ok(SchemaMatch::Listed),
            "{}",
            listed.kind
        );
        let found = check_members(listed.kind, data.as_bytes());
        if !listed.governs || listed.example.contains("assurance") {
            assert_eq!(found, Ok(()), "{}", listed.kind);
            continue;
        }
        governing += 1;
        let error = found.unwrap_err();
        assert_eq!(error.pointer, "/something_else", "{}", listed.kind);
        assert!(error.problem.starts_with("`something_else` is no member of this type;"), "{error}");
        // Events recorded elsewhere may have more members; those that only operators write were not recorded elsewhere.
        let brought = format!(r#"{{"assurance":"imported",{}"#, &data[1..]);
        let is_evidence = matches!(listed.writer, EventWriter::Anyone | EventWriter::Reactor);
        assert_eq!(check_members(listed.kind, brought.as_bytes()).is_ok(), is_evidence, "{}", listed.kind);
    }
    assert!(governing > 40, "{governing}");
}

#[test]
fn members_are_looked_at_at_every_depth_and_what_is_free_stays_free() {
    for (kind, pointer, name, nearest) in [
        ("grant.given", "/scope", "agnet", Some("agent")),
        ("grant.given", "", "expire", Some("expires")),
        ("budget.configured", "/scope", "taskType", Some("task_type")),
        ("budget.configured", "/limits", "cost_microusd", Some("cost_micro_usd")),
        ("breaker.configured", "", "cooldown", Some("cooldown_s")),
        ("breaker.configured", "/dimension", "model_", Some("model")),
        ("mode.configured", "", "scopes", Some("scope")),
        ("policy.published", "/trust", "auto_aprove_score", None),
        ("policy.published", "/rules/0", "never_autoapprove", Some("never_auto_approve")),
        ("policy.published", "/rules/0/match", "tols", Some("tool")),
        ("tool.registered", "", "requiresReview", Some("requires_review")),
        ("tool.registered", "/retry", "maximum", None),
        ("tool.registered", "/context_from", "normalizer", Some("normaliser")),
        ("tool.requested", "", "aproval", Some("approval")),
        ("tool.completed", "", "post_check_pased", Some("post_check_passed")),
        ("trust.set", "/counts", "approval", Some("approvals")),
        ("contract.defined", "/pre/0", "parms", Some("params")),
    ] {
        let data = with_member(event_type(kind).unwrap(), pointer, name);
        let error = check_members(kind, data.as_bytes()).unwrap_err();
        assert_eq!(error.pointer, format!("{pointer}/{name}"), "{kind}: {error}");
        if let Some(nearest) = nearest {
            assert!(error.problem.contains(&format!("use `{nearest}`")), "{kind}: {error}");
        }
    }
    for (kind, pointer) in [
        ("tool.requested", "/args"),
        ("contract.defined", "/pre/0/params"),
        ("tool.registered", "/input_schema"),
        ("session.started", ""),
        ("model.called", ""),
        ("run.started", "/budget"),
        ("annotation.added", ""),
    ] {
        let data = with_member(event_type(kind).unwrap(), pointer, "anything");
        assert_eq!(check_members(kind, data.as_bytes()), Ok(()), "{kind} {pointer}");
    }
    let long = format!(r#"{{"agent":"a","reason":"r","{}":1}}"#, "€".repeat(100_000));
    let error = check_members("agent.suspended", long.as_bytes()).unwrap_err();
    assert!(error.problem.len() <= MAX_PROBLEM_BYTES, "{}", error.problem.len());
}

#[test]
fn what_does_not_fit_for_another_reason_is_said_elsewhere() {
    for data in ["{}", "[]", "7", r#"{"agent":7,"else":1}"#] {
        assert_eq!(check_members("agent.suspended", data.as_bytes()), Ok(()), "{data}");
        assert!(check_data("agent.suspended", Some(data.as_bytes())).is_err(), "{data}");
    }
}

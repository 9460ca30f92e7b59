//! Schemas of the data of events, and the callers that may write each type.

use serde_json::{Value, json};

use crate::service::TestService;

fn event(id: u64, kind: &str, data: &Value) -> String {
    json!({"specversion": "1.0", "id": id.to_string(), "source": "/tests", "type": kind, "subject": "s", "data": data})
        .to_string()
}

fn called() -> Value {
    json!({"model": "m", "provider": "p", "tokens": {"in": 1}, "status": "ok", "something": {"else": [1]}})
}

#[test]
fn data_that_does_not_fit_its_type_is_refused_and_nothing_is_kept() {
    let service = TestService::start();
    service.append(event(1, "model.called", &called())).expect(201);
    let tip = service.tip();
    for (kind, data, pointer, what) in [
        ("tool.completed", json!({"tool": "t", "status": "ok"}), "/0/data", "missing field `call`"),
        ("tool.completed", json!({"call": "c", "status": "approved"}), "/0/data/status", "unknown variant"),
        ("tool.completed", json!(["c", "ok"]), "/0/data", "an object"),
        ("tool.completed", json!("c"), "/0/data", "an object"),
        (
            "model.called",
            json!({"model": "m", "provider": "p", "tokens": {"in": -1}, "status": "ok"}),
            "/0/data/tokens/in",
            "-1",
        ),
        ("tool.finished", called(), "/0/type", "begin it with `x.`"),
        ("note", called(), "/0/type", "register a schema"),
    ] {
        let problem = service.append(event(2, kind, &data)).expect_problem(422, "schema");
        assert_eq!((&problem["sideEffects"], &problem["retryable"]), (&json!("none"), &json!(false)));
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        assert!(problem["errors"][0]["detail"].as_str().unwrap().contains(what), "{problem}");
    }
    for (kind, data, pointer, what) in [
        (
            "agent.suspended",
            json!({"agnet": "coder", "agent": "a", "reason": "r"}),
            "/0/data/agnet",
            "use `agent`",
        ),
        (
            "grant.given",
            json!({"grant": "g", "scope": {"tool": "t", "conext": "src"}, "expires": 1}),
            "/0/data/scope/conext",
            "`context`",
        ),
        ("grant.revoked", json!({"grant": "g", "somewhat": 1}), "/0/data/somewhat", "leave it out"),
    ] {
        let problem = service.append(event(2, kind, &data)).expect_problem(422, "schema");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        assert!(problem["errors"][0]["detail"].as_str().unwrap().contains(what), "{problem}");
    }
    let without = r#"{"specversion":"1.0","id":"3","source":"/tests","type":"tool.completed","subject":"s"}"#;
    service.append(without).expect_problem(422, "schema");
    let bytes = without.replace(r#""subject""#, r#""data_base64":"e30=","subject""#);
    service.append(bytes).expect_problem(422, "schema");
    let two = format!("[{},{}]", event(4, "model.called", &called()), event(5, "tool.completed", &json!({})));
    let problem = service.append(two).expect_problem(422, "schema");
    assert_eq!(problem["errors"][0]["pointer"], "/1/data");
    assert_eq!(service.tip(), tip, "nothing was appended");
    service.append(event(6, "x.anything", &json!([1, "two"]))).expect(201);
}

#[test]
fn what_follows_from_events_is_written_by_nobody_else() {
    let service = TestService::start();
    let tip = service.tip();
    let dimension = json!({"tool": "t", "context": "-", "model": "-", "task_type": "-"});
    let mut observed = json!({"dimension": dimension, "outcome": "approved"});
    for (kind, data) in [
        ("ledger.created", json!({})),
        ("ledger.anything", json!({})),
        ("decision.made", json!({})),
        ("approval.consumed", json!({"approval": "a", "call": "c"})),
        ("breaker.closed", json!({"dimension": dimension})),
        ("breaker.closed", json!({"dimension": dimension, "by": "operator:o"})),
        ("budget.exceeded", json!({})),
        ("loop.detected", json!({})),
        ("suggestion.made", json!({})),
        ("trust.observed", observed.clone()),
        ("trust.observed", json!({"assurance": "imported"})),
    ] {
        service.append(event(1, kind, &data)).expect_problem(403, "reserved-type");
    }
    assert_eq!(service.tip(), tip, "nothing was appended");
    observed["assurance"] = json!("imported");
    service.append(event(2, "trust.observed", &observed)).expect(201);
    service
        .append(event(
            3,
            "breaker.configured",
            &json!({"dimension": dimension, "window": 20,
        "failure_threshold": 5, "recovery_probes": 3, "cooldown_s": 300}),
        ))
        .expect(201);
}

#[test]
fn a_registered_type_is_held_to_its_newest_schema_and_a_retry_is_not() {
    let service = TestService::start();
    let schema =
        json!({"type": "object", "required": ["commit"], "properties": {"commit": {"type": "string"}}});
    let registered =
        |version: u64, schema: &Value| json!({"type": "build.done", "version": version, "schema": schema});
    let (first, wrong) = (json!({"commit": "c1", "more": 1}), json!({"commit": 7}));

    let problem = service.append(event(1, "build.done", &first)).expect_problem(422, "schema");
    assert_eq!(problem["errors"][0]["pointer"], "/0/type", "{problem}");
    for schema in [json!({"type": "strin"}), json!({"$ref": "https://example.com/schema"})] {
        service.append(event(2, "schema.registered", &registered(1, &schema))).expect_problem(422, "schema");
    }
    let both = format!(
        "[{},{}]",
        event(2, "schema.registered", &registered(1, &schema)),
        event(3, "build.done", &first)
    );
    service.append(both).expect_problem(422, "schema");

    service.append(event(2, "schema.registered", &registered(1, &schema))).expect(201);
    service.append(event(3, "schema.registered", &registered(1, &schema))).expect_problem(422, "schema");
    service.append(event(4, "build.done", &first)).expect(201);
    let problem = service.append(event(5, "build.done", &wrong)).expect_problem(422, "schema");
    assert_eq!(problem["errors"][0]["pointer"], "/0/data/commit", "{problem}");
    assert_eq!(problem["errors"][0]["detail"], "does not fit `type` in version 1 of `build.done`");
    let without = r#"{"specversion":"1.0","id":"5","source":"/tests","type":"build.done","subject":"s"}"#;
    service.append(without).expect_problem(422, "schema");

    service.append(event(6, "schema.registered", &registered(2, &json!({"maxProperties": 1})))).expect(201);
    service.append(event(7, "build.done", &wrong)).expect(201);
    service.append(event(8, "build.done", &first)).expect_problem(422, "schema");
    service.append(event(4, "build.done", &first)).expect(200);
}

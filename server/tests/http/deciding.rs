//! Decisions before every call: made from the record, and recorded before they are given.

use serde_json::{Value, json};

use crate::governed::{approve, ask, decision, decisions, earn, governed, post, write};
use crate::service::TestService;

#[test]
fn a_call_is_reviewed_then_approved_then_allowed_once() {
    let service = governed("allow");
    let first = ask(&service, json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}}));
    assert_eq!((&first["verdict"], &first["reasonCode"]), (&json!("review"), &json!("trust-require-review")));
    assert_eq!(
        (&first["mode"], &first["breaker"], &first["rule"]),
        (&json!("enforce"), &json!("closed"), &json!("all"))
    );
    assert_eq!(
        (&first["trust"]["score"], &first["trust"]["standing"]),
        (&json!("0.0"), &json!("require_review"))
    );
    assert_eq!(first["policyVersion"], "1");
    assert!(first.get("ladder").is_none() && first.get("obligations").is_none(), "{first}");
    let approval = first["approval"]["id"].as_str().unwrap().to_owned();
    assert!(first["approval"]["expires"].as_str().unwrap().ends_with('Z'));

    let pending = service.get("/v1/ledgers/main/approvals").expect(200).json();
    assert_eq!(pending["approvals"][0]["id"], json!(approval));
    assert_eq!((&pending["approvals"][0]["status"], pending.get("next")), (&json!("pending"), None));
    let approved = approve(&service, &approval).expect(200).json();
    assert_eq!(
        (&approved["status"], &approved["resolution"]["by"]),
        (&json!("approved"), &json!("admin:local"))
    );

    let request =
        json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}, "approval": approval});
    let second = ask(&service, request.clone());
    assert_eq!((&second["verdict"], &second["reasonCode"]), (&json!("allow"), &json!("approved")));
    assert_eq!(second["approval"], json!({"id": approval}));
    assert_eq!(second["obligations"], json!({"timeoutMs": 60_000, "retry": {"max": 0, "backoffMs": 0}}));
    assert_eq!(ask(&service, request), second, "repeated, the answer is the one that was given");

    let outcome = post(
        &service,
        "outcome",
        &json!({"call": "c1", "status": "ok", "durationMs": 40, "costUsd": "0.0023"}),
    );
    let outcome = outcome.expect(200).json();
    assert_eq!(
        (&outcome["type"], &outcome["trust"]["outcome"]),
        (&json!("tool.completed"), &json!("approved"))
    );
    assert_eq!((&outcome["trust"]["score"], &outcome["breaker"]), (&json!("0.51"), &json!("closed")));
    let recorded = service.get(&format!("/v1/ledgers/main/events/{}", outcome["position"].as_str().unwrap()));
    assert_eq!(recorded.expect(200).json()["event"]["data"]["cost_micro_usd"], 2_300);

    let third = ask(
        &service,
        json!({"call": "c2", "tool": "fs.write", "args": {"path": "src/a.rs"}, "approval": approval}),
    );
    assert_eq!((&third["verdict"], &third["reasonCode"]), (&json!("review"), &json!("approval-used")));
    let consumed = service.get(&format!("/v1/ledgers/main/approvals/{approval}")).expect(200).json();
    assert_eq!((&consumed["status"], &consumed["consumed"]["call"]), (&json!("consumed"), &json!("c1")));
}

#[test]
fn a_decision_is_recorded_with_its_request_in_the_stream_of_its_call() {
    let service = governed("allow");
    let answer = ask(
        &service,
        json!({"call": "c1", "tool": "fs.write", "args": {"path" :  "src/a.rs", "n": 1.50}, "session": "s/1", "run": "r1",
               "agent": "coder", "model": "m", "task_type": "edit", "cwd": "/w", "idempotencyKey": "k", "interactive": true,
               "deadlineMs": 9_000, "estimate": "0.25", "blastRadius": "medium"}),
    );
    let page = service.get("/v1/ledgers/main/events?call=c1").expect(200).json();
    let kinds: Vec<_> =
        page["events"].as_array().unwrap().iter().map(|event| event["event"]["type"].clone()).collect();
    assert_eq!(kinds, ["tool.requested", "decision.made", "approval.requested"]);
    assert_eq!(page["events"][1]["position"], answer["position"]);
    let request = &page["events"][0]["event"];
    assert_eq!(
        (&request["subject"], &request["agent"], &request["run"]),
        (&json!("session/s/1"), &json!("coder"), &json!("r1"))
    );
    assert_eq!(
        (&request["id"], &request["source"], &request["actor"]),
        (&json!("c1#requested"), &json!("urn:bitacora:decide"), &json!("agent:local"))
    );
    assert_eq!(
        (&request["data"]["task_type"], &request["data"]["estimated_cost_micro_usd"]),
        (&json!("edit"), &json!(250_000))
    );
    assert_eq!(
        (&request["data"]["deadline_ms"], &request["data"]["blast_radius"]),
        (&json!(9_000), &json!("medium"))
    );
    for (call, body, stream) in [
        ("c2", json!({"run": "r", "agent": "a"}), "run/r"),
        ("c3", json!({"agent": "a"}), "agent/a"),
        ("c4", json!({}), "calls"),
    ] {
        let mut body = body;
        body["call"] = json!(call);
        body["tool"] = json!("fs.write");
        body["args"] = json!({"path": "x"});
        ask(&service, body);
        let page = service
            .get(&format!("/v1/ledgers/main/events?call={call}&type=tool.requested"))
            .expect(200)
            .json();
        assert_eq!(page["events"][0]["event"]["subject"], stream);
    }
}

#[test]
fn arguments_are_kept_as_they_came() {
    let service = governed("allow");
    let args = r#"{ "path" : "src/a.rs",  "n": 1.50, "big": "123456789012345678901234567890" }"#;
    let body = format!(r#"{{"call":"c1","tool":"fs.write","args":{args}}}"#);
    service.post("/v1/ledgers/main/decide", "application/json", body).expect(200);
    let page = service.get("/v1/ledgers/main/events?call=c1&type=tool.requested").expect(200);
    assert!(page.text().contains(args), "{}", page.text());
}

#[test]
fn what_is_denied_is_an_answer_and_says_why() {
    let service = governed("deny");
    let denied = ask(&service, json!({"call": "c1", "tool": "fs.write", "args": {"path": "a"}}));
    assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&json!("deny"), &json!("policy-deny")));
    assert!(denied.get("approval").is_none() && denied.get("expires").is_none(), "{denied}");
    let answer = service.post(
        "/v1/ledgers/main/decide?explain=true",
        "application/json",
        r#"{"call":"c2","tool":"unheard.of","args":{}}"#,
    );
    let explained = decision(&answer.expect(200));
    assert_eq!((&explained["verdict"], &explained["reasonCode"]), (&json!("deny"), &json!("tool-unknown")));
    let steps: Vec<_> =
        explained["ladder"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    assert!(steps.contains(&json!("registry")) && steps.contains(&json!("policy")), "{steps:?}");
    assert_eq!(explained["ladder"][0], json!({"step": "panic", "verdict": "allow"}));
    assert_eq!(explained["dimension"]["tool"], "unheard.of");
}

#[test]
fn a_trusted_call_is_allowed_and_failures_open_the_breaker() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let ask_and_fail = |n: u32| {
        let call = format!("c{n}");
        let answer = ask(&service, json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}}));
        let failed = post(&service, "outcome", &json!({"call": call, "status": "error", "errorType": "io"}));
        (answer, failed.expect(200).json())
    };
    let (first, outcome) = ask_and_fail(1);
    assert_eq!((&first["verdict"], &first["trust"]["standing"]), (&json!("allow"), &json!("auto_approve")));
    assert_eq!(outcome["trust"]["dimension"]["context"], "src");
    let mut last = Value::Null;
    for n in 2..=5 {
        last = ask_and_fail(n).1;
    }
    assert_eq!((&last["breaker"], &last["transition"]["type"]), (&json!("open"), &json!("breaker.opened")));
    let request = |call: &str, radius: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "blastRadius": radius});
    for (call, radius, verdict) in [("c6", "low", "review"), ("c7", "critical", "deny")] {
        let stopped = ask(&service, request(call, radius));
        assert_eq!(
            (&stopped["verdict"], &stopped["reasonCode"], &stopped["breaker"]),
            (&json!(verdict), &json!("breaker-open"), &json!("open"))
        );
    }
}

#[test]
fn a_call_that_was_decided_has_its_outcome_after_a_restart() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let request = json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}});
    let before = ask(&service, request.clone());
    assert_eq!(before["verdict"], "allow");
    let service = service.restarted();
    assert_eq!(ask(&service, request), before, "the answer is the one that was recorded");
    let body = json!({"call": "c1", "status": "ok"});
    let outcome = post(&service, "outcome", &body).expect(200).json();
    assert_eq!(outcome["trust"]["outcome"], "auto_approved");
    let service = service.restarted();
    let again = post(&service, "outcome", &body).expect(200).json();
    assert_eq!((&again["position"], &again["trust"]), (&outcome["position"], &outcome["trust"]));
    post(&service, "outcome", &json!({"call": "c1", "status": "error"})).expect_problem(409, "id-reused");
    post(&service, "outcome", &json!({"call": "c9", "status": "ok"})).expect_problem(404, "no-such-call");
}

#[test]
fn what_is_malformed_is_refused_at_its_member_and_nothing_is_recorded() {
    let service = governed("allow");
    let tip = service.tip();
    let good = json!({"call": "c1", "tool": "fs.write", "args": {"path": "a"}});
    let long = "a".repeat(600);
    let bad = [
        ("call", Value::Null),
        ("call", json!("")),
        ("call", json!(7)),
        ("call", json!("a".repeat(250))),
        ("tool", Value::Null),
        ("tool", json!("a\u{1}b")),
        ("args", Value::Null),
        ("argsDigest", json!("0".repeat(64))),
        ("server", json!("")),
        ("model", json!(1)),
        ("task_type", json!([])),
        ("run", json!(long)),
        ("session", json!(long)),
        ("agent", json!(long)),
        ("cwd", json!("")),
        ("idempotencyKey", json!(1)),
        ("approval", json!("")),
        ("interactive", json!("yes")),
        ("deadlineMs", json!(-1)),
        ("deadlineMs", json!(1.5)),
        ("deadlineMs", json!(99_999_999_999_u64)),
        ("estimate", json!(0.5)),
        ("estimate", json!("-1")),
        ("estimate", json!("0.0000001")),
        ("blastRadius", json!("huge")),
        ("taskType", json!("x")),
    ];
    for (member, value) in bad {
        let mut body = good.clone();
        body[member] = value;
        let problem = post(&service, "decide", &body).expect_problem(400, "bad-body");
        let pointer = problem["errors"][0]["pointer"].as_str().unwrap().to_owned();
        let expected = if member == "argsDigest" { "/args".to_owned() } else { format!("/{member}") };
        assert_eq!(pointer, expected, "{body}");
    }
    let outcome = json!({"call": "c1", "status": "ok"});
    let bad = [
        ("status", Value::Null),
        ("status", json!("fine")),
        ("exitCode", json!("1")),
        ("durationMs", json!(-1)),
        ("costUsd", json!(0.1)),
        ("costUsd", json!("1e3")),
        ("costUsd", json!("0.0000001")),
        ("costUsd", json!("-1")),
        ("costUsd", json!("99999999")),
        ("artifacts", json!([])),
        ("artifacts", json!([{"path": "a", "kind": "file"}])),
        ("postCheckPassed", json!(1)),
        ("errorType", json!("")),
        ("cost_usd", json!("1")),
        ("tokens", json!(5)),
        ("output", json!("text")),
    ];
    for (member, value) in bad {
        let mut body = outcome.clone();
        body[member] = value;
        let problem = post(&service, "outcome", &body).expect_problem(400, "bad-body");
        assert_eq!(problem["errors"][0]["pointer"], json!(format!("/{member}")), "{body}");
    }
    for (member, inner) in
        [("tokens", json!({"in": -1})), ("output", json!({"digest": "x"})), ("input", json!({"later": 1}))]
    {
        let mut body = outcome.clone();
        body[member] = inner.clone();
        let problem = post(&service, "outcome", &body).expect_problem(400, "bad-body");
        let name = inner.as_object().unwrap().keys().next().unwrap().clone();
        assert_eq!(problem["errors"][0]["pointer"], json!(format!("/{member}/{name}")));
    }
    let decide = |body: &str| service.post("/v1/ledgers/main/decide", "application/json", body);
    decide("[]").expect_problem(400, "bad-body");
    decide(r#"{"call":"c","call":"c","tool":"t","args":{}}"#).expect_problem(400, "bad-body");
    let twice = decide(r#"{"call":"c","tool":"fs.write","args":{"path":"a","path":"b"}}"#);
    twice.expect_problem(400, "duplicate-key");
    service.post("/v1/ledgers/main/decide", "text/plain", "{}").expect_problem(415, "unsupported-media-type");
    service
        .post("/v1/ledgers/main/decide?explain=1", "application/json", "{}")
        .expect_problem(400, "bad-query");
    service.post("/v1/ledgers/none/decide", "application/json", "{}").expect_problem(404, "ledger-not-found");
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_call_is_asked_for_once_and_a_key_stands_for_one_action() {
    let service = governed("allow");
    ask(&service, json!({"call": "c1", "tool": "fs.write", "args": {"path": "a"}, "idempotencyKey": "k"}));
    post(&service, "decide", &json!({"call": "c1", "tool": "fs.write", "args": {"path": "b"}}))
        .expect_problem(409, "id-reused");
    let body = json!({"call": "c2", "tool": "fs.write", "args": {"path": "b"}, "idempotencyKey": "k"});
    post(&service, "decide", &body).expect_problem(409, "key-reused");
}

#[test]
fn sixty_four_callers_with_one_approval_are_allowed_once() {
    let service = governed("allow");
    let approval = waiting(&service);
    approve(&service, &approval).expect(200);
    let verdicts: Vec<Value> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..64)
            .map(|n| {
                let (service, approval) = (&service, &approval);
                scope.spawn(move || {
                    let call = format!("many{n}");
                    ask(service, json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "approval": approval}))["verdict"].clone()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "allow").count(), 1, "{verdicts:?}");
    // The others wait for a word of their own, until the same call has come too often.
    assert!(verdicts.iter().all(|verdict| ["allow", "review", "deny"].iter().any(|known| verdict == known)));
}

/// A call that waits for a person: its approval.
fn waiting(service: &TestService) -> String {
    let answer = ask(service, json!({"call": "c0", "tool": "fs.write", "args": {"path": "src/a.rs"}}));
    answer["approval"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_batch_is_decided_in_order_and_no_refusal_stops_it() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let good = |call: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    let other = json!({"call": "b1", "tool": "fs.write", "args": {"path": "src/b.rs"}});
    let requests = [
        good("b1"),
        json!({"call": "b2", "tool": "unknown", "args": {}}),
        json!({"call": "b3", "args": {}}),
        json!(7),
        other,
        good("b4"),
    ];
    let batch = decisions(&post(&service, "decide:batch", &json!({"requests": requests})).expect(200));
    let answers = batch["answers"].as_array().unwrap();
    let verdicts: Vec<_> = answers.iter().map(|answer| answer["verdict"].as_str()).collect();
    assert_eq!(verdicts, [Some("allow"), Some("deny"), None, None, None, Some("allow")]);
    let problem = |index: usize| &answers[index]["problem"];
    assert_eq!(
        (&problem(2)["code"], &problem(2)["errors"][0]["pointer"]),
        (&json!("bad-body"), &json!("/requests/2/tool"))
    );
    assert_eq!(
        (&problem(3)["code"], &problem(3)["errors"][0]["pointer"]),
        (&json!("bad-body"), &json!("/requests/3"))
    );
    assert_eq!((&problem(4)["code"], &problem(4)["status"]), (&json!("id-reused"), &json!(409)));
    assert_eq!(ask(&service, good("b1")), answers[0], "as it would be answered alone");
    let position = |index: usize| answers[index]["position"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(position(0) < position(1) && position(1) < position(5), "{batch}");

    let explained = json!({"requests": [good("b5")]});
    let explained = decisions(&post(&service, "decide:batch?explain=true", &explained).expect(200));
    assert!(explained["answers"][0]["ladder"].is_array(), "{explained}");
    let many: Vec<_> = (0..101).map(|call| good(&format!("m{call}"))).collect();
    for body in
        [json!({"requests": []}), json!({"requests": many}), json!({}), json!({"requests": [], "mode": 1})]
    {
        post(&service, "decide:batch", &body).expect_problem(400, "bad-body");
    }
}

#[test]
fn an_allow_that_was_heard_once_is_none_after_the_call_ended_or_was_stopped() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let asked = |call: &str| ask(&service, write(call));
    assert_eq!(asked("c1")["verdict"], "allow");
    assert_eq!(asked("c1")["verdict"], "allow", "an answer that was lost is given again");
    post(&service, "outcome", &json!({"call": "c1", "status": "ok"})).expect(200);
    let again = asked("c1");
    assert_eq!((&again["verdict"], &again["reasonCode"]), (&json!("deny"), &json!("repeated")));

    assert_eq!(asked("c2")["verdict"], "allow");
    post(&service, "panic", &json!({"reason": "a drill"})).expect(200);
    assert_eq!(asked("c2")["verdict"], "deny");
}

#[test]
fn nobody_takes_the_identities_of_the_services_own_events() {
    let service = governed("allow");
    for source in
        ["urn:bitacora:reactor", "urn:bitacora:act", "urn:bitacora:scheduler", "urn:bitacora:decide"]
    {
        let event =
            json!({"specversion": "1.0", "id": "9.0", "source": source, "type": "x.note", "subject": "s"});
        service.append(event.to_string()).expect_problem(403, "forbidden");
    }
}

#[test]
fn an_outcomes_tail_is_cut_to_its_end() {
    let service = TestService::start();
    let long = format!("{}é the end", "x".repeat(3_000));
    let ask = |path: &str, body: &Value| {
        service.post(&format!("/v1/ledgers/main/{path}"), "application/json", body.to_string())
    };
    ask("decide", &json!({"call": "c1", "tool": "t", "args": {}})).expect(200);
    ask("outcome", &json!({"call": "c1", "status": "blocked", "output": {"tail": long}})).expect(200);
    let read = service.get("/v1/ledgers/main/events?type=tool.blocked").expect(200).json();
    let summary = read["events"][0]["event"]["data"]["summary"].as_str().unwrap();
    assert_eq!((summary.len(), summary.ends_with("xé the end")), (256, true), "{summary}");
}

//! Input that is as large, strict or absurd as it can be: an answer or a refusal to each.
//! Nothing is recorded that was refused.

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, govern, governed, post, put, write};
use crate::service::TestService;

/// Governed, and as large as services are in use.
fn roomy() -> TestService {
    let service = TestService::roomy();
    govern(&service, "allow");
    service
}

/// A call whose arguments take this many bytes and some more.
fn large(call: &str, bytes: usize) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs", "content": "x".repeat(bytes)}})
}

#[test]
fn arguments_of_every_size_are_answered_or_refused() {
    let service = roomy();
    earn(&service, "fs.write", "src");
    assert_eq!(ask(&service, large("c1", 100_000))["verdict"], "allow");
    let tip = service.tip();
    for (number, bytes) in [4_000_000, 4 << 20, 5_000_000, 13_000_000].into_iter().enumerate() {
        let answer = post(&service, "decide", &large(&format!("m{number}"), bytes));
        if bytes < 4 << 20 {
            // Taken as a whole: then it is decided, and recorded.
            assert!([200, 413].contains(&answer.status), "{bytes}: {}", answer.text());
        } else {
            assert_eq!(answer.status, 413, "{bytes}: {}", answer.text());
            assert!(service.tip() <= tip + 2, "{bytes}");
        }
    }
    assert_eq!(ask(&service, write("c2"))["verdict"], "allow", "the service goes on");
}

#[test]
fn who_publishes_a_policy_that_denies_them_can_still_publish_activate_and_resolve() {
    let service = governed("review");
    let waiting = ask(&service, write("c1"))["approval"]["id"].as_str().unwrap().to_owned();
    let everybody = json!([{"id": "nobody", "match": {"role": ["agent", "operator", "admin"]}, "action": "deny",
                            "reason": "for a test"}]);
    put(&service, "policy", &json!({"rules": everybody})).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let denied = ask(&service, write("c2"));
    assert_eq!((&denied["verdict"], &denied["rule"]), (&json!("deny"), &json!("nobody")));
    approve(&service, &waiting).expect(200);
    let mut stale = write("c1");
    stale["approval"] = json!(waiting);
    assert_eq!(ask(&service, stale)["verdict"], "deny", "a person's word lifts no deny");
    let rules = json!([{"id": "all", "match": {}, "action": "review", "reason": "for a test"}]);
    put(&service, "policy", &json!({"rules": rules})).expect(201);
    post(&service, "policy/3:activate", &json!({})).expect(200);
    assert_eq!(ask(&service, write("c3"))["verdict"], "review");
}

#[test]
fn as_many_rules_as_there_may_be_are_published_and_judged_by() {
    let service = roomy();
    earn(&service, "fs.write", "src");
    let rule = |number: usize, path: &str, action: &str| json!({"id": format!("r{number}"), "match": {"context": path}, "action": action, "reason": "for a test"});
    let mut rules: Vec<_> =
        (0..9_998).map(|number| rule(number, &format!("elsewhere/{number}"), "deny")).collect();
    rules.push(rule(9_998, "src/secret", "deny"));
    rules.push(rule(9_999, "src*", "allow"));
    put(&service, "policy", &json!({"rules": rules})).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let allowed = ask(&service, write("c1"));
    assert_eq!((&allowed["verdict"], &allowed["rule"]), (&json!("allow"), &json!("r9999")));
    let args = json!({"path": "src/secret/key"});
    let denied = ask(&service, json!({"call": "c2", "tool": "fs.write", "args": args}));
    assert_eq!((&denied["verdict"], &denied["rule"]), (&json!("deny"), &json!("r9998")));

    rules.push(rule(10_000, "one/too/many", "allow"));
    let tip = service.tip();
    let refused = put(&service, "policy", &json!({"rules": rules}));
    assert!([400, 413, 422].contains(&refused.status), "{}", refused.text());
    assert_eq!(service.tip(), tip);
}

#[test]
fn absurd_costs_in_an_outcome_that_is_appended_are_refused_and_the_call_still_has_one() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    let tip = service.tip();
    let outcome = |cost: &str| {
        format!(
            r#"{{"specversion":"1.0","id":"o{cost}","source":"urn:test","type":"tool.completed","subject":"calls",
                "call":"c1","data":{{"call":"c1","status":"ok","cost_micro_usd":{cost}}}}}"#
        )
    };
    for cost in
        ["-1", "0.5", "1e300", "18446744073709551615", "18446744073709551616", "99999999999999999999999"]
    {
        let answer = service.append(outcome(cost));
        assert!([400, 422].contains(&answer.status), "{cost}: {}", answer.text());
    }
    assert_eq!(service.tip(), tip);
    service.append(outcome("1000000")).expect(201);
}

#[test]
fn a_time_that_has_not_come_tells_nothing_and_is_no_reason_to_refuse() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let times =
        ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "2300-01-01T00:00:00Z", "0000-01-01T00:00:00Z"];
    for (number, time) in times.into_iter().enumerate() {
        for is_imported in [false, true] {
            let call = format!("c{number}{is_imported}");
            let requested = write(&call);
            for (kind, mut data) in
                [("tool.requested", requested), ("tool.completed", json!({"call": call, "status": "ok"}))]
            {
                if is_imported {
                    data["assurance"] = json!("imported");
                }
                let event = json!({"specversion": "1.0", "id": format!("{call}{kind}"), "source": "urn:test",
                    "type": kind, "subject": "calls", "call": call, "time": time, "data": data});
                let answer = service.append(event.to_string());
                assert_eq!(answer.status, 201, "{kind} at {time}: {}", answer.text());
            }
        }
    }
    assert_eq!(ask(&service, write("after"))["verdict"], "allow");
}

#[test]
fn a_grant_until_a_time_that_no_number_holds_is_refused_for_that() {
    let service = governed("allow");
    let give = |id: &str, expires: &str| {
        post(
            &service,
            "grants",
            &json!({"grant": id, "scope": {"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "-"}, "expires": expires}),
        )
    };
    for expires in ["9999-12-31T23:59:59Z", "2255-06-05T23:47:34.740993Z"] {
        let problem = give("g1", expires).expect_problem(400, "bad-body");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`expires`") && detail.contains("2255"), "{problem}");
    }
    give("g1", "2255-06-05T23:47:34.740991Z").expect(201);
}

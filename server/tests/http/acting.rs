//! Acts of operators: tools, policies, trust, breakers, modes, grants, stops; each is an event.

use serde_json::{Value, json};

use crate::governed::{ask, delete, earn, governed, post, put, write};
use crate::service::TestService;

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

#[test]
fn a_tool_is_registered_changed_and_revoked() {
    let service = governed("allow");
    let listed = get(&service, "tools");
    assert_eq!(
        (&listed["revision"], &listed["tools"][0]["document"]["tool"]),
        (&json!("1"), &json!("fs.write"))
    );
    let mut document = listed["tools"][0]["document"].clone();
    document["requires_review"] = json!(true);
    put(&service, "tools/fs.write", &document).expect(200);
    earn(&service, "fs.write", "src");
    let reviewed = ask(&service, write("c1"));
    assert_eq!(
        (&reviewed["verdict"], &reviewed["reasonCode"]),
        (&json!("review"), &json!("tool-requires-review"))
    );
    put(&service, "tools/fs.read", &document).expect_problem(400, "bad-body");
    document["risk"] = json!("some");
    put(&service, "tools/fs.write", &document).expect_problem(400, "bad-body");
    document["risk"] = json!("write");
    document["input_schema"] = json!({"type": "no such type"});
    put(&service, "tools/fs.write", &document).expect_problem(422, "schema");
    delete(&service, "tools/fs.read").expect_problem(404, "no-such-thing");
    delete(&service, "tools/fs.write?server=s").expect_problem(404, "no-such-thing");
    delete(&service, "tools/fs.write").expect(200);
    assert_eq!(ask(&service, write("c2"))["reasonCode"], "tool-unknown");
    assert_eq!(get(&service, "tools")["tools"], json!([]));
}

#[test]
fn a_policy_is_published_on_what_its_author_saw() {
    let service = governed("allow");
    let policy = |parent: &str, action: &str| {
        json!({"parent": parent, "note": "stricter",
               "rules": [{"id": "r", "match": {"tool": "fs.*"}, "action": action, "reason": "no"}]})
    };
    put(&service, "policy", &policy("7", "deny")).expect_problem(412, "condition-failed");
    let published = put(&service, "policy", &policy("1", "deny")).expect(201).json();
    assert_eq!((&published["version"], published["digest"].as_str().unwrap().len()), (&json!("2"), 64));
    put(&service, "policy", &policy("1", "review")).expect_problem(412, "condition-failed");
    assert_ne!(ask(&service, write("c1"))["verdict"], "deny", "it is not active yet");
    post(&service, "policy/2:activate", &json!({"note": "now"})).expect(200);
    let denied = ask(&service, write("c2"));
    assert_eq!((&denied["rule"], &denied["policyVersion"]), (&json!("r"), &json!("2")));
    post(&service, "policy/2:retire", &json!({})).expect_problem(422, "schema");
    post(&service, "policy/1:retire", &json!({})).expect(200);
    post(&service, "policy/1:activate", &json!({})).expect_problem(404, "no-such-policy");
    post(&service, "policy/3:activate", &json!({})).expect_problem(404, "no-such-policy");
    post(&service, "policy/2:admire", &json!({})).expect_problem(404, "no-such-resource");
    let shown = get(&service, "policy");
    assert_eq!((&shown["active"], &shown["document"]["digest"]), (&json!("2"), &published["digest"]));
    let retired: Vec<_> =
        shown["versions"].as_array().unwrap().iter().map(|v| v["retired"].clone()).collect();
    assert_eq!(retired, [json!(true), json!(false)]);
    assert_eq!(get(&service, "policy?version=1")["document"]["version"], 1);
    service.get("/v1/ledgers/main/policy?version=9").expect_problem(404, "no-such-policy");
    let bad = [
        json!({}),
        json!({"rules": [{"id": "r"}]}),
        json!({"rules": [], "rule": []}),
        json!({"rules": [], "parent": 1}),
        json!({"rules": [], "parent": "+1"}),
    ];
    for body in bad {
        put(&service, "policy", &body).expect_problem(400, "bad-body");
    }
    put(&service, "policy", &json!({"rules": [], "digest": "0"})).expect_problem(422, "schema");
}

#[test]
fn versions_of_a_policy_are_shown_and_compared() {
    let service = governed("allow");
    let read = || service.get("/v1/ledgers/main/policy").expect(200);
    let tag = read().header("etag").unwrap().to_owned();
    let body = json!({"rules": [{"id": "r", "match": {"tool": "fs.*"}, "action": "deny", "reason": "no"},
        {"id": "all", "match": {}, "action": "review", "reason": "for a test"}]});
    let publish = |tag: &str| {
        let headers = [("Content-Type", "application/json"), ("If-Match", tag)];
        service.request("PUT", "/v1/ledgers/main/policy", &headers, body.to_string().as_bytes())
    };
    publish("\"p0.0.0\"").expect_problem(412, "condition-failed");
    publish(&tag).expect(201);
    publish(&tag).expect_problem(412, "condition-failed");
    let published = read().header("etag").unwrap().to_owned();
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let activated = read().header("etag").unwrap().to_owned();
    post(&service, "policy/1:retire", &json!({})).expect(200);
    let retired = read().header("etag").unwrap().to_owned();
    assert!(published != tag && activated != published && retired != activated);

    let first = get(&service, "policy/1");
    assert_eq!(
        (&first["active"], &first["retired"], &first["rules"]),
        (&json!(false), &json!(true), &json!(1))
    );
    assert_eq!(first["document"]["rules"][0]["id"], "all");
    assert_eq!(get(&service, "policy/2")["active"], true);
    let diff = get(&service, "policy/2/diff");
    assert_eq!(
        diff,
        json!({"from": "1", "to": "2", "added": ["r"], "removed": [], "changed": ["all"], "moved": [], "trustChanged": false,
            "keyLifeChanged": false, "boundsChanged": false, "timesChanged": false, "exitCodesChanged": false,
            "unregisteredChanged": false, "filesChanged": false, "workspacesChanged": false})
    );
    assert_eq!(get(&service, "policy/1/diff?from=2")["removed"], json!(["r"]));
    for target in
        ["policy/3", "policy/two", "policy/+1", "policy/1/diff", "policy/3/diff", "policy/2/diff?from=9"]
    {
        service.get(&format!("/v1/ledgers/main/{target}")).expect_problem(404, "no-such-policy");
    }
    service.get("/v1/ledgers/main/policy/2/diff?from=x").expect_problem(400, "bad-query");
    service.get("/v1/ledgers/main/policy/2/diff?to=1").expect_problem(400, "bad-query");
}

#[test]
fn rates_are_set_used_up_and_taken_away() {
    let service = governed("allow");
    let empty = get(&service, "rates");
    assert_eq!((&empty["limits"], &empty["buckets"], empty.get("next")), (&json!([]), &json!([]), None));
    let limit = json!({"burst": 2, "refill": 1, "period_ms": 3_600_000});
    let each = json!({"scope": {"by": "tool"}, "limit": limit});
    put(&service, "rates", &each).expect(200);
    put(&service, "rates", &json!({"scope": {"by": "agent", "name": "ci"}, "limit": limit})).expect(200);
    assert_eq!(get(&service, "rates")["limits"][0], each);
    ask(&service, write("c1"));
    let left = get(&service, "rates");
    let bucket = &left["buckets"][0];
    assert_eq!(bucket["scope"], json!({"by": "tool", "name": "fs.write"}));
    assert_eq!((&bucket["left"], &bucket["burst"], bucket.get("retryAfterMs")), (&json!(1), &json!(2), None));
    assert!(bucket["fullAt"].as_str() > left["evaluatedAt"].as_str(), "{left}");
    ask(&service, write("c2"));
    assert_eq!(ask(&service, write("c3"))["reasonCode"], "rate-limited");
    let used = get(&service, "rates?by=tool&name=fs.write");
    assert_eq!((&used["buckets"][0]["left"], &used["limits"]), (&json!(0), &json!([])));
    assert!(used["buckets"][0]["retryAfterMs"].as_u64().unwrap() > 3_000_000, "{used}");
    assert_eq!(get(&service, "rates?by=agent")["buckets"], json!([]));
    assert_eq!(get(&service, "rates?by=agent")["limits"][0]["scope"]["name"], "ci");
    put(&service, "rates", &json!({"scope": {"by": "tool"}})).expect(200);
    assert_ne!(ask(&service, write("c4"))["reasonCode"], "rate-limited");
    assert_eq!(get(&service, "rates")["limits"].as_array().unwrap().len(), 1);
    for body in [
        json!({}),
        json!({"scope": {"by": "model"}, "limit": limit}),
        json!({"scope": {"by": "tool", "of": "x"}, "limit": limit}),
        json!({"scope": {"by": "tool"}, "limits": limit}),
        json!({"scope": {"by": "tool"}, "limit": {"burst": 1, "refill": 1}}),
    ] {
        put(&service, "rates", &body).expect_problem(400, "bad-body");
    }
    let never = json!({"scope": {"by": "tool"}, "limit": {"burst": 2, "refill": 1, "period_ms": 0}});
    put(&service, "rates", &never).expect_problem(422, "schema");
    for target in ["rates?by=model", "rates?name=ci", "rates?tool=x"] {
        service.get(&format!("/v1/ledgers/main/{target}")).expect_problem(400, "bad-query");
    }
}

#[test]
fn trust_is_set_listed_and_asked_for() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let record = get(&service, "trust/record?tool=fs.write&context=src&workspace=-");
    assert_eq!((&record["score"], &record["standing"]), (&json!("1.0"), &json!("auto_approve")));
    assert_eq!((&record["approvals"], &record["dimension"]["model"]), (&json!(20), &json!("-")));
    assert_eq!(get(&service, "trust/record?tool=fs.write")["approvals"], 0);
    assert_eq!(get(&service, "trust?tool=fs.write&order=bottom")["dimensions"].as_array().unwrap().len(), 1);
    assert_eq!(get(&service, "trust?tool=other")["dimensions"], json!([]));
    assert_eq!(record["breaker"]["state"], "closed");
    earn(&service, "fs.write", "docs");
    let sum = get(&service, "trust/record?tool=fs.write&context=*&workspace=*");
    let counts = ["dimensions", "approvals", "rejections", "failures", "breakersNotClosed"];
    assert_eq!(counts.map(|count| sum[count].as_u64()), [2, 40, 0, 0, 0].map(Some));
    assert_eq!(
        sum["dimension"],
        json!({"tool": "fs.write", "context": "*", "model": "-", "task_type": "-", "workspace": "*"})
    );
    for own in ["score", "standing", "streak", "breaker"] {
        assert_eq!(sum.get(own), None, "{own} is a dimension's own");
    }
    assert_eq!(get(&service, "trust/record?tool=*&context=docs&workspace=-")["approvals"], 20);
    assert_eq!(get(&service, "trust/record?tool=*")["dimensions"], 0, "what is left out is not known");
    for target in [
        "trust?order=up",
        "trust?limit=0",
        "trust/record",
        "trust/record?context=*",
        "trust/record?tool=*&at=1",
        "trust/record?tool=*&taskType=x",
        "trust?taskType=x",
    ] {
        service.get(&format!("/v1/ledgers/main/{target}")).expect_problem(400, "bad-query");
    }
    let dimension = json!({"tool": "t"});
    let counts = json!({"approvals": 1, "rejections": 0, "failures": 0, "streak": 0});
    for body in [
        json!({"dimension": dimension, "counts": counts}),
        json!({"counts": counts, "reason": "r"}),
        json!({"dimension": dimension, "counts": {"approvals": 1}, "reason": "r"}),
        json!({"dimension": {"tool": "*"}, "counts": counts, "reason": "r"}),
    ] {
        post(&service, "trust:set", &body).expect_problem(400, "bad-body");
    }
}

#[test]
fn a_breaker_is_set_seen_and_closed() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let settings = json!({"dimension": dimension, "window": 4, "failureThreshold": 1, "recoveryProbes": 1, "cooldownS": 600});
    post(&service, "breakers:configure", &settings).expect(200);
    assert_eq!(ask(&service, write("c1"))["verdict"], "allow");
    let failed = post(&service, "outcome", &json!({"call": "c1", "status": "timeout"})).expect(200).json();
    assert_eq!(failed["breaker"], "open");
    let open = get(&service, "breakers?state=open");
    assert_eq!((&open["breakers"][0]["dimension"], &open["breakers"][0]["bad"]), (&dimension, &json!(1)));
    assert!(open["breakers"][0]["cooldownUntil"].is_string());
    assert_eq!(ask(&service, write("c2"))["reasonCode"], "breaker-open");
    post(&service, "breakers:close", &json!({"dimension": dimension, "reason": "mended"})).expect(200);
    assert_eq!(get(&service, "breakers?state=open")["breakers"], json!([]));
    assert_ne!(ask(&service, write("c3"))["reasonCode"], "breaker-open");
    post(&service, "breakers:configure", &json!({"dimension": dimension})).expect_problem(400, "bad-body");
    service.get("/v1/ledgers/main/breakers?state=ajar").expect_problem(400, "bad-query");
}

#[test]
fn to_observe_is_to_allow_and_to_say_what_would_have_been() {
    let service = governed("deny");
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    let observed = ask(&service, write("c1"));
    assert_eq!(
        (&observed["verdict"], &observed["wouldBe"], &observed["mode"]),
        (&json!("allow"), &json!("deny"), &json!("observe"))
    );
    assert_eq!(observed["reasonCode"], "policy-deny");
    put(&service, "mode", &json!({"mode": "enforce", "scope": {"tool": "fs.write"}})).expect(200);
    let enforced = ask(&service, write("c2"));
    assert_eq!((&enforced["verdict"], enforced.get("wouldBe")), (&json!("deny"), None));
    let shown = get(&service, "mode");
    assert_eq!((&shown["mode"], &shown["scopes"][0]["mode"]), (&json!("observe"), &json!("enforce")));
    for body in [json!({}), json!({"mode": "dream"}), json!({"mode": "observe", "scope": {"tol": "x"}})] {
        put(&service, "mode", &body).expect_problem(400, "bad-body");
    }
}

#[test]
fn a_grant_stands_until_it_is_revoked() {
    let service = governed("allow");
    let by_coder = |call: &str| {
        let mut call = write(call);
        call["agent"] = json!("coder");
        call
    };
    let scope = json!({"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "-"});
    let body = json!({"scope": scope, "expires": "2099-01-01T00:00:00Z", "note": "today"});
    let given = post(&service, "grants", &body).expect(201).json();
    let grant = given["grant"].as_str().unwrap();
    let allowed = ask(&service, by_coder("c1"));
    assert_eq!((&allowed["verdict"], &allowed["grant"]), (&json!("allow"), &json!(grant)));
    assert_eq!(get(&service, "grants")["grants"][0]["expires"], "2099-01-01T00:00:00.000000Z");
    delete(&service, &format!("grants/{grant}")).expect(200);
    delete(&service, &format!("grants/{grant}")).expect_problem(404, "no-such-thing");
    assert_eq!(ask(&service, by_coder("c2"))["verdict"], "review");
    for body in [
        json!({}),
        json!({"scope": {"tool": "t"}, "expires": "soon"}),
        json!({"scope": {}, "expires": "2099-01-01T00:00:00Z"}),
    ] {
        post(&service, "grants", &body).expect_problem(400, "bad-body");
    }
}

#[test]
fn everything_or_one_agent_is_stopped_in_every_mode() {
    let service = governed("allow");
    put(&service, "mode", &json!({"mode": "observe"})).expect(200);
    post(&service, "panic", &json!({"reason": "something is wrong"})).expect(200);
    let stopped = ask(&service, write("c1"));
    assert_eq!((&stopped["verdict"], &stopped["reasonCode"]), (&json!("deny"), &json!("panic")));
    assert_eq!(get(&service, "panic")["reason"], "something is wrong");
    let body = json!({"reason": "found it"}).to_string();
    let headers = [("Content-Type", "application/json")];
    service.request("DELETE", "/v1/ledgers/main/panic", &headers, body.as_bytes()).expect(200);
    assert_eq!(ask(&service, write("c2"))["verdict"], "allow");
    post(&service, "agents/coder:suspend", &json!({"reason": "it loops"})).expect(200);
    let mut request = write("c3");
    request["agent"] = json!("coder");
    assert_eq!(ask(&service, request.clone())["reasonCode"], "agent-suspended");
    assert_eq!(get(&service, "panic")["suspended"][0]["agent"], "coder");
    post(&service, "agents/coder:resume", &json!({"reason": "mended"})).expect(200);
    request["call"] = json!("c4");
    assert_eq!(ask(&service, request)["verdict"], "allow");
    post(&service, "agents/coder:promote", &json!({"reason": "r"})).expect_problem(404, "no-such-resource");
    post(&service, "panic", &json!({})).expect_problem(400, "bad-body");
}

#[test]
fn a_decision_is_shown_again_with_all_its_steps() {
    let service = governed("allow");
    let answer = ask(&service, write("c1"));
    let position = answer["position"].as_str().unwrap();
    let shown = get(&service, &format!("decisions/{position}"));
    for (member, value) in answer.as_object().unwrap() {
        assert_eq!(&shown[member], value, "{member}");
    }
    assert!(shown["ladder"].as_array().unwrap().len() > 5);
    service.get("/v1/ledgers/main/decisions/1").expect_problem(404, "not-found");
    service.get("/v1/ledgers/main/decisions/9999").expect_problem(404, "not-found");
}

#[test]
fn what_would_mean_something_else_than_it_says_is_refused_at_its_place() {
    let service = governed("allow");
    let tip = service.tip();
    let at = |answer: crate::service::ServiceAnswer, status: u16, pointer: &str| {
        let problem = answer.expect_problem(status, "bad-body");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    };
    // A star stands for every name in rules and questions; in a scope it would be the name of something that is never called.
    at(put(&service, "mode", &json!({"mode": "enforce", "scope": {"tool": "*"}})), 400, "/scope");
    at(put(&service, "mode", &json!({"mode": "observe", "scope": {"agnet": "a"}})), 400, "/scope");
    let grant = |scope: Value| json!({"scope": scope, "expires": "2126-11-20T12:00:00Z"});
    at(post(&service, "grants", &grant(json!({"tool": "*"}))), 400, "/scope");
    at(post(&service, "grants", &grant(json!({"tool": "fs.write", "agent": "*"}))), 400, "/scope");
    at(post(&service, "grants", &grant(json!({"tool": "fs.write", "path": "src"}))), 400, "/scope");
    let limit = json!({"burst": 1, "refill": 1, "period_ms": 1_000});
    at(put(&service, "rates", &json!({"scope": {"by": "tool", "name": "*"}, "limit": limit})), 400, "/scope");
    let mut document = get(&service, "tools")["tools"][0]["document"].clone();
    document["destination"] = json!(["src/**"]);
    at(put(&service, "tools/fs.write", &document), 400, "/destination");
    document.as_object_mut().unwrap().remove("destination");
    document["tool"] = json!("*");
    at(put(&service, "tools/*", &document), 400, "/tool");
    let dimension = json!({"tool": "fs.wrote", "context": "src"});
    post(&service, "breakers:close", &json!({"dimension": dimension})).expect_problem(404, "no-such-thing");
    let counts = json!({"approvals": 1, "rejections": 0, "failures": 0, "streak": 1});
    let dimension = json!({"tool": "fs.write", "contexts": "src"});
    let set = json!({"dimension": dimension, "counts": counts, "reason": "a drill"});
    at(post(&service, "trust:set", &set), 400, "/dimension/contexts");
    assert_eq!(service.tip(), tip, "nothing was recorded");
}

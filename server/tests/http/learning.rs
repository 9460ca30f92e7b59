//! Suggestions that the history speaks for, a person's answers to them, and notes beside the record.

use serde_json::{Value, json};

use crate::governed::{ask, earn, governed, post, put};
use crate::modelled::get;
use crate::service::TestService;

fn dimension() -> Value {
    json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"})
}

fn set(service: &TestService, approvals: u64, failures: u64) {
    let counts = json!({"approvals": approvals, "rejections": 0, "failures": failures, "streak": 0});
    let body = json!({"dimension": dimension(), "counts": counts, "reason": "for a test"});
    post(service, "trust:set", &body).expect(200);
}

/// Makes what is new; the ids.
fn refresh(service: &TestService) -> Vec<String> {
    let made =
        service.post("/v1/ledgers/main/suggestions:refresh", "application/json", "{}").expect(200).json();
    assert_eq!(made["more"], false);
    made["made"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn only(service: &TestService, state: &str) -> Value {
    let list = get(service, &format!("suggestions?state={state}"));
    let all = list["suggestions"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{list}");
    all[0].clone()
}

fn none(service: &TestService, state: &str) {
    assert_eq!(get(service, &format!("suggestions?state={state}"))["suggestions"], json!([]), "{state}");
}

#[test]
fn a_suggestion_is_made_once_and_taking_it_publishes_a_policy_with_its_rule() {
    let service = governed("review");
    none(&service, "candidate");
    earn(&service, "fs.write", "src");
    let candidate = only(&service, "candidate");
    assert_eq!(
        (&candidate["kind"], &candidate["dimension"], &candidate["observations"]),
        (&json!("promote"), &dimension(), &json!("20"))
    );
    let evidence = candidate["evidence"][0].as_str().unwrap();
    assert_eq!(get(&service, &format!("events/{evidence}"))["event"]["type"], "trust.set");

    let made = refresh(&service);
    assert_eq!(made, [candidate["suggestion"].as_str().unwrap()]);
    assert_eq!(refresh(&service), Vec::<String>::new(), "it is made once");
    none(&service, "candidate");
    let open = only(&service, "open");
    assert_eq!((&open["rule"], &open["evidence"]), (&candidate["rule"], &candidate["evidence"]));
    let event = get(&service, &format!("events/{}", open["made"].as_str().unwrap()))["event"].clone();
    assert_eq!((&event["type"], &event["actor"]), (&json!("suggestion.made"), &json!("service:scheduler")));

    let id = &made[0];
    let taken =
        post(&service, &format!("suggestions/{id}:accept"), &json!({"note": "it earned that", "cwd": "**"}));
    let taken = taken.expect(200).json();
    assert_eq!(taken["version"], "2");
    let policies = get(&service, "policy?version=2");
    assert_eq!(policies["active"], "1", "nothing is judged by it yet");
    let document = &policies["document"];
    assert_eq!((&document["rules"][0], &document["parent"]), (&candidate["rule"], &json!(1)));
    assert_eq!((&document["rules"][1]["id"], &document["digest"]), (&json!("all"), &taken["digest"]));
    let at: u64 = taken["position"].as_str().unwrap().parse().unwrap();
    let kinds = [at, at + 1].map(|at| get(&service, &format!("events/{at}"))["event"]["type"].clone());
    assert_eq!(kinds, ["suggestion.accepted", "policy.published"]);
    let accepted = only(&service, "accepted");
    assert_eq!(
        (&accepted["answer"]["by"], &accepted["answer"]["note"], &accepted["answer"]["position"]),
        (&json!("admin:local"), &json!("it earned that"), &taken["position"])
    );
    for verb in ["accept", "reject"] {
        let again = post(&service, &format!("suggestions/{id}:{verb}"), &json!({}));
        again.expect_problem(409, "suggestion-answered");
    }
    assert_eq!(refresh(&service), Vec::<String>::new());
    assert_eq!(get(&service, "policy")["versions"].as_array().unwrap().len(), 2);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    let service = service.restarted();
    assert_eq!(only(&service, "accepted"), accepted);
}

#[test]
fn what_the_active_policy_allows_is_not_proposed_until_it_does_no_more() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    none(&service, "candidate");
    assert_eq!(refresh(&service), Vec::<String>::new());
    put(&service, "policy", &json!({"rules": []})).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    assert_eq!(only(&service, "candidate")["kind"], "promote");
    assert_eq!(refresh(&service).len(), 1);
}

#[test]
fn what_is_accepted_overrules_nothing_that_was_forbidden_and_loses_nothing_that_was_accepted() {
    let service = governed("review");
    let rule = |id: &str, matches: Value, action: &str| json!({"id": id, "match": matches, "action": action, "reason": "why"});
    let keys = json!({"arguments": [{"pointer": "/path", "glob": "*.pem"}]});
    let rules = json!([
        rule("other", json!({"tool": "sh"}), "deny"),
        rule("keys", keys, "deny"),
        rule("intern", json!({"agent": "intern"}), "review"),
        rule("all", json!({}), "review"),
    ]);
    put(&service, "policy", &json!({"rules": rules})).expect(201);
    post(&service, "policy/2:activate", &json!({})).expect(200);
    earn(&service, "fs.write", "src");
    earn(&service, "fs.write", "docs");
    let made = refresh(&service);
    let accept = |id: &str| {
        let accept = format!("suggestions/{id}:accept");
        let refused = post(&service, &accept, &json!({})).expect_problem(422, "schema");
        assert_eq!(refused["errors"][0]["pointer"], "/cwd", "{refused}");
        let taken = post(&service, &accept, &json!({"cwd": ["/work/**"]})).expect(200).json();
        assert_eq!((&taken["behind"], &taken["decidedBefore"]), (&json!("intern"), &json!([])));
        (taken["version"].clone(), taken["parent"].clone(), taken["place"].clone(), taken["rules"].clone())
    };
    assert_eq!(accept(&made[0]), (json!("3"), json!("2"), json!(4), json!(5)));
    assert_eq!(accept(&made[1]), (json!("4"), json!("3"), json!(4), json!(6)));
    post(&service, "policy/4:activate", &json!({})).expect(200);
    // The calls work in another workspace than those that the suggestions came of: its own trust counts.
    for context in ["src", "docs"] {
        let mut within = dimension();
        (within["context"], within["workspace"]) = (json!(context), json!("/work/a"));
        let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
        let body = json!({"dimension": within, "counts": counts, "reason": "for a test"});
        post(&service, "trust:set", &body).expect(200);
    }
    let verdict = |call: &str, path: &str, agent: &str, cwd: &str| {
        let args = json!({"path": path});
        let asked = json!({"call": call, "tool": "fs.write", "args": args, "agent": agent, "cwd": cwd});
        ask(&service, asked)["verdict"].clone()
    };
    assert_eq!(verdict("c1", "src/a.rs", "coder", "/work/a"), "allow");
    assert_eq!(verdict("c2", "docs/a.md", "coder", "/work/a"), "allow");
    assert_eq!(verdict("c3", "src/a.pem", "coder", "/work/a"), "deny");
    assert_eq!(verdict("c4", "src/a.rs", "intern", "/work/a"), "review");
    assert_eq!(verdict("c5", "src/a.rs", "coder", "/etc"), "review");
}

#[test]
fn who_answers_a_suggestion_answers_it_where_its_policy_is_made() {
    let service = governed("review");
    for kind in ["accepted", "rejected"] {
        let forged = json!({"specversion": "1.0", "id": kind, "source": "urn:me", "type": format!("suggestion.{kind}"),
            "subject": "s", "data": {"suggestion": "s"}});
        service.append(forged.to_string()).expect_problem(403, "reserved-type");
    }
}

#[test]
fn a_suggestion_that_holds_no_more_is_not_taken_and_no_policy_comes_of_it() {
    let service = governed("review");
    earn(&service, "fs.write", "src");
    let id = refresh(&service).remove(0);
    set(&service, 20, 2);
    post(&service, &format!("suggestions/{id}:accept"), &json!({})).expect_problem(409, "suggestion-stale");
    assert_eq!(only(&service, "open")["suggestion"], json!(id));
    assert_eq!(get(&service, "policy")["versions"].as_array().unwrap().len(), 1);
    post(&service, &format!("suggestions/{id}:reject"), &json!({})).expect(200);
    only(&service, "rejected");
}

#[test]
fn one_that_was_rejected_is_made_again_once_twice_as_much_speaks_for_it() {
    let service = governed("review");
    set(&service, 20, 0);
    let id = refresh(&service).remove(0);
    post(&service, &format!("suggestions/{id}:reject"), &json!({"note": "too early"})).expect(200);
    set(&service, 39, 0);
    assert_eq!(refresh(&service), Vec::<String>::new());
    none(&service, "candidate");
    set(&service, 40, 0);
    only(&service, "candidate");
    assert_eq!(refresh(&service), [id.as_str()]);
    let again = only(&service, "open");
    assert_eq!((&again["observations"], again.get("answer")), (&json!("40"), None));
    none(&service, "rejected");
    post(&service, &format!("suggestions/{id}:reject"), &json!({})).expect(200);
    set(&service, 79, 0);
    none(&service, "candidate");
}

#[test]
fn what_is_asked_wrongly_of_suggestions_is_refused() {
    let service = governed("review");
    let rule = json!({"id": "r", "match": {}, "action": "allow", "reason": "why"});
    let forged = json!({"specversion": "1.0", "id": "s#0", "source": "urn:bitacora:scheduler", "type": "suggestion.made",
        "subject": "s", "data": {"suggestion": "s", "evidence": ["1"], "rule": rule, "reason": "why"}});
    service.append(forged.to_string()).expect_problem(403, "reserved-type");
    for (path, status, code) in [
        ("suggestions/none:accept", 404, "no-such-thing"),
        ("suggestions/none:reject", 404, "no-such-thing"),
        ("suggestions/none:keep", 404, "no-such-resource"),
        ("suggestions/none", 404, "no-such-resource"),
        ("suggestions:refresh?deep=yes", 400, "bad-query"),
    ] {
        post(&service, path, &json!({})).expect_problem(status, code);
    }
    let unknown = post(&service, "suggestions/none:accept", &json!({"why": "x"}));
    assert_eq!(unknown.status, 400);
    for wrong in [
        "suggestions?state=new",
        "suggestions?after=x",
        "annotations?call=a&position=1",
        "annotations?model=m",
    ] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn notes_are_found_by_what_they_are_on_and_their_tags_are_the_dimensions() {
    let service = governed("review");
    let note = |on: Value, text: &str, tags: Value| {
        post(&service, "annotations", &json!({"on": on, "text": text, "tags": tags})).expect(201);
    };
    let other =
        json!({"tool": "fs.write", "context": "tests", "model": "-", "task_type": "-", "workspace": "-"});
    note(json!({"dimension": dimension()}), "sources", json!(["core", "slow"]));
    note(json!({"dimension": dimension()}), "again", json!(["core", "core"]));
    note(json!({"dimension": other}), "tests", json!(["flaky"]));
    ask(&service, json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}}));
    note(json!({"call": "c1"}), "odd", json!([]));
    note(json!({"position": "1"}), "where it began", json!(["first"]));
    let texts = |resource: &str| {
        let list = get(&service, resource);
        let all = list["annotations"].as_array().unwrap().clone();
        all.iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts("annotations"), ["where it began", "odd", "tests", "again", "sources"]);
    assert_eq!(texts("annotations?position=1"), ["where it began"]);
    assert_eq!(texts("annotations?call=c1"), ["odd"]);
    assert_eq!(texts("annotations?tool=fs.write&context=src&workspace=-"), ["again", "sources"]);
    assert_eq!(texts("annotations?tool=fs.write"), Vec::<String>::new());
    let tags = get(&service, "annotations?tool=fs.write&context=src&workspace=-")["tags"].clone();
    let tags: Vec<_> = tags.as_array().unwrap().iter().map(|tag| (&tag["tag"], &tag["count"])).collect();
    assert_eq!(tags, [(&json!("core"), &json!("2")), (&json!("slow"), &json!("1"))]);
    let first = get(&service, "annotations?limit=2");
    let next = first["next"].as_str().unwrap();
    assert_eq!(texts(&format!("annotations?limit=9&after={next}")), ["tests", "again", "sources"]);
    earn(&service, "fs.write", "src");
    assert_eq!(only(&service, "candidate")["tags"], json!(["core", "slow"]));

    for (body, status) in [
        (json!({"on": {"position": "99999"}, "text": "t"}), 404),
        (json!({"on": {"call": "never-was"}, "text": "t"}), 404),
        (json!({"on": {"position": "0"}, "text": "t"}), 400),
        (json!({"on": {"call": "c", "position": "1"}, "text": "t"}), 400),
        (json!({"on": {}, "text": "t"}), 400),
        (json!({"on": {"call": "c"}, "text": ""}), 400),
        (json!({"on": {"call": "c"}}), 400),
        (json!({"on": {"call": "c"}, "text": "t", "tag": "x"}), 400),
        (json!({"on": {"call": "c"}, "text": "t", "tags": vec!["x"; 17]}), 400),
    ] {
        assert_eq!(post(&service, "annotations", &body).status, status, "{body}");
    }
    assert_eq!(texts("annotations").len(), 5, "what was refused left nothing");
}

#[test]
fn a_note_on_a_call_needs_a_call_that_was() {
    let service = governed("allow");
    let note = |call: &str| post(&service, "annotations", &json!({"on": {"call": call}, "text": "odd"}));
    note("c1").expect_problem(404, "no-such-call");
    ask(&service, json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}}));
    note("c1").expect(201);
    // A note is no call, and one that was recorded elsewhere is.
    note("c2").expect_problem(404, "no-such-call");
    let data = json!({"call": "i1", "tool": "Bash", "assurance": "imported", "status": "ok"});
    let elsewhere = json!({"specversion": "1.0", "id": "i1", "source": "import/x", "type": "tool.completed",
        "subject": "session/1", "call": "i1", "data": data});
    service.append(elsewhere.to_string()).expect(201);
    note("i1").expect(201);
}

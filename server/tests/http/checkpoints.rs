//! Checkpoints of threads: saved, found again with all that belongs to them, copied, forked, deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::governed::{delete, post};
use crate::service::{ServiceAnswer, TestService};

/// Bytes without pattern, the same each time.
pub(crate) fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56).to_le_bytes()[0]
    };
    (0..bytes).map(|_| next()).collect()
}

pub(crate) fn packed(bytes: &[u8]) -> Value {
    json!({"encoding": "msgpack", "base64": STANDARD.encode(bytes)})
}

/// A service whose read models answer: while they are folded nobody is told what was there before.
pub(crate) fn settled(service: TestService) -> TestService {
    shown(&service, "");
    service
}

pub(crate) fn get(service: &TestService, resource: &str) -> ServiceAnswer {
    service.get(&format!("/v1/ledgers/main/checkpoints{resource}"))
}

pub(crate) fn shown(service: &TestService, resource: &str) -> Value {
    get(service, resource).expect(200).json()
}

pub(crate) fn act(service: &TestService, what: &str, body: &Value) -> ServiceAnswer {
    post(service, &format!("checkpoints/{what}"), body)
}

/// A checkpoint of a thread whose one channel holds a number.
pub(crate) fn save(
    service: &TestService,
    thread: &str,
    id: &str,
    parent: Option<&str>,
    body: &Value,
) -> Value {
    let mut request = json!({"checkpoint": id, "parent": parent, "step": 1, "source": "loop",
        "channelVersions": {"n": 1}, "values": {"n": {"json": 7}}});
    request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    act(service, &format!("{thread}:save"), &request).expect(200).json()
}

pub(crate) fn ids(list: &Value) -> Vec<&str> {
    list["checkpoints"].as_array().unwrap().iter().map(|one| one["checkpoint"].as_str().unwrap()).collect()
}

#[test]
fn what_is_saved_is_found_at_once_with_all_that_belongs_to_it() {
    let service = settled(TestService::roomy());
    let large = noise(300_000, 1);
    let first = json!({"checkpoint": "c1", "namespace": "", "step": -1, "source": "input",
        "metadata": {"source": "input", "step": -1, "parents": {}, "run_id": "r9", "score": 0.5},
        "document": {"v": 4, "ts": "2026-11-23T00:00:00Z", "versions_seen": {"a": {"n": 1}}},
        "channelVersions": {"n": 1, "large": "0002.0.7", "empty": 3}, "agent": "coder", "run": "r1",
        "values": {"n": {"json": {"deep": [1, null]}}, "large": packed(&large)}});
    let saved = act(&service, "t:1:save", &first).expect(200).json();
    assert_eq!((&saved["repeated"], saved.get("found")), (&json!(false), None));
    let found = shown(&service, "/t:1");
    assert_eq!(
        (&found["thread"], &found["checkpoint"], &found["namespace"], &found["step"], &found["source"]),
        (&json!("t:1"), &json!("c1"), &json!(""), &json!(-1), &json!("input"))
    );
    assert_eq!((&found["metadata"], &found["document"]), (&first["metadata"], &first["document"]));
    assert_eq!(found["channelVersions"], first["channelVersions"]);
    assert_eq!(
        (&found["position"], &found["agent"], &found["run"]),
        (&saved["position"], &json!("coder"), &json!("r1"))
    );
    assert_eq!(found["values"]["n"], json!({"json": {"deep": [1, null]}}));
    assert_eq!(
        found["values"]["large"],
        json!({"encoding": "msgpack", "bytes": 300_000, "base64": STANDARD.encode(&large)})
    );
    assert_eq!(found["values"].get("empty"), None);
    assert_eq!((found.get("parentFound"), &found["writes"]), (None, &json!([])));

    // The next one brings what changed alone; the rest is its parent's.
    let second = json!({"checkpoint": "c2", "parent": "c1", "metadata": {"source": "loop", "step": 0},
        "channelVersions": {"n": 2, "large": "0002.0.7"}, "values": {"n": {"json": 8}}});
    let saved = act(&service, "t:1:save", &second).expect(200).json();
    assert_eq!(saved["found"], true);
    let newest = shown(&service, "/t:1");
    assert_eq!(
        (&newest["checkpoint"], &newest["step"], &newest["parentFound"]),
        (&json!("c2"), &json!(0), &json!(true))
    );
    assert_eq!(
        (&newest["values"]["n"], &newest["values"]["large"]),
        (&json!({"json": 8}), &found["values"]["large"])
    );
    assert_eq!(shown(&service, "/t:1?checkpoint=c1")["values"], found["values"]);
    let service = service.restarted();
    assert_eq!(shown(&service, "/t:1"), newest);
}

#[test]
fn the_same_once_more_is_a_repetition_and_something_else_takes_its_place() {
    let service = settled(TestService::start());
    let first = save(&service, "t", "c1", None, &json!({}));
    let tip = service.tip();
    let again = save(&service, "t", "c1", None, &json!({}));
    assert_eq!((&again["position"], &again["repeated"]), (&first["position"], &json!(true)));
    assert_eq!(service.tip(), tip, "nothing was recorded");
    let other = save(&service, "t", "c1", None, &json!({"values": {"n": {"json": 9}}}));
    assert_eq!(other["repeated"], false);
    assert_eq!(shown(&service, "/t")["values"]["n"]["json"], 9);
    assert_eq!(ids(&shown(&service, "?thread=t")), ["c1"]);
}

#[test]
fn writes_stay_or_take_the_place_of_others_and_may_come_before_their_checkpoint() {
    let service = settled(TestService::start());
    let write = |task: &str, path: &str, replace: bool, writes: Value| {
        let body =
            json!({"checkpoint": "c1", "task": task, "path": path, "replace": replace, "writes": writes});
        act(&service, "t:writes", &body).expect(200).json()
    };
    let first = write(
        "b",
        "",
        false,
        json!([{"channel": "x", "value": {"json": 1}}, {"channel": "y", "value": {"json": 2}}]),
    );
    assert_eq!((&first["found"], &first["repeated"]), (&json!(false), &json!(false)));
    get(&service, "/t").expect_problem(404, "no-such-checkpoint");
    save(&service, "t", "c1", None, &json!({}));
    write(
        "b",
        "",
        false,
        json!([{"channel": "x", "value": {"json": "late"}}, {"channel": "z", "index": 5, "value": {"json": 3}}]),
    );
    write("a", "~p", false, json!([{"channel": "x", "value": {"json": 4}}]));
    write("b", "", true, json!([{"channel": "__error__", "index": -1, "value": {"json": "e1"}}]));
    assert_eq!(
        write("b", "", true, json!([{"channel": "__error__", "index": -1, "value": {"json": "e2"}}]))["found"],
        true
    );
    let writes = shown(&service, "/t")["writes"].clone();
    let told: Vec<_> = writes
        .as_array()
        .unwrap()
        .iter()
        .map(|write| {
            (
                write["task"].as_str().unwrap(),
                write["index"].as_i64().unwrap(),
                write["channel"].as_str().unwrap(),
                write["value"]["json"].clone(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("b", -1, "__error__", json!("e2")),
            ("b", 0, "x", json!(1)),
            ("b", 1, "y", json!(2)),
            ("b", 5, "z", json!(3)),
            ("a", 0, "x", json!(4)),
        ]
    );
    assert_eq!((&writes[1]["position"], &writes[4]["path"]), (&first["position"], &json!("~p")));
    for bad in [
        json!({"checkpoint": "c1", "task": "a", "writes": [{"channel": "x", "index": 5000, "value": {"json": 1}}]}),
        json!({"checkpoint": "c1", "task": "a", "writes": [{"channel": "", "value": {"json": 1}}]}),
        json!({"checkpoint": "c1", "task": "a", "writes": [{"channel": "x", "value": {"json": 1}, "colour": 1}]}),
        json!({"checkpoint": "c1", "writes": []}),
    ] {
        act(&service, "t:writes", &bad).expect_problem(400, "bad-body");
    }
}

#[test]
fn what_tasks_wrote_is_told_with_the_checkpoint_that_came_of_it() {
    let service = settled(TestService::start());
    save(&service, "t", "c1", None, &json!({}));
    let tip = service.tip();
    let long = noise(200, 3);
    let next = json!({"checkpoint": "c2", "parent": "c1", "step": 2, "source": "loop", "channelVersions": {"n": 2},
        "values": {"n": {"json": 8}}, "writes": [
            {"task": "b", "writes": [{"channel": "n", "value": packed(&long)}, {"channel": "m", "value": {"json": 2}}]},
            {"task": "a", "path": "~p", "writes": [{"channel": "n", "index": -1, "value": {"json": 3}}]},
            {"task": "c", "writes": []}]});
    let saved = act(&service, "t:save", &next).expect(200).json();
    assert_eq!(service.tip(), tip + 1, "one event tells all of it");
    let (one, newest) = (shown(&service, "/t?checkpoint=c1"), shown(&service, "/t"));
    let told: Vec<_> = one["writes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|write| {
            assert_eq!(write["position"], saved["position"]);
            (write["task"].as_str().unwrap(), write["index"].as_i64().unwrap(), write["value"].clone())
        })
        .collect();
    let held = json!({"encoding": "msgpack", "bytes": 200, "base64": STANDARD.encode(&long)});
    assert_eq!(told, [("b", 0, held), ("b", 1, json!({"json": 2})), ("a", -1, json!({"json": 3}))]);
    assert_eq!((&newest["writes"], &newest["values"]["n"]), (&json!([]), &json!({"json": 8})));
    assert_eq!(act(&service, "t:save", &next).expect(200).json()["repeated"], true);
    // Earlier writes stay, unless the request replaces them.
    for (id, replace, expected) in [("c3", false, 3), ("c4", true, 4)] {
        let again = json!({"checkpoint": id, "parent": "c1", "step": 2, "source": "loop", "writes": [
            {"task": "a", "replace": replace, "writes": [{"channel": "n", "index": -1, "value": {"json": 4}}]}]});
        act(&service, "t:save", &again).expect(200);
        assert_eq!(shown(&service, "/t?checkpoint=c1")["writes"][2]["value"]["json"], expected);
    }
    let tip = service.tip();
    let with = |writes: Value| json!({"checkpoint": "c5", "parent": "c1", "step": 2, "source": "loop", "writes": writes});
    let mut orphan = with(json!([{"task": "a", "writes": []}]));
    orphan["parent"] = Value::Null;
    for bad in [
        orphan,
        with(json!([{"writes": []}])),
        with(json!([{"task": "", "writes": []}])),
        with(json!([{"task": "a"}])),
        with(json!([{"task": "a", "writes": [], "colour": 1}])),
        with(json!([{"task": "a", "writes": [{"channel": "n"}]}])),
        with(json!([{"task": "a", "writes": [{"channel": "n", "index": 5000, "value": {"json": 1}}]}])),
        with(json!({})),
    ] {
        act(&service, "t:save", &bad).expect_problem(400, "bad-body");
    }
    let problem = act(
        &service,
        "t:save",
        &with(json!([{"task": "a", "writes": []}, {"task": "b", "writes": [{"channel": "n", "value": {"base64": "A"}}]}])),
    )
    .expect_problem(400, "bad-body");
    assert_eq!(problem["errors"][0]["pointer"], "/writes/1/writes/0/value", "{problem}");
    delete(&service, "checkpoints/t").expect(200);
    act(&service, "t:save", &with(json!([{"task": "a", "writes": []}])))
        .expect_problem(404, "no-such-checkpoint");
    assert_eq!(service.tip(), tip + 1, "nothing but the deletion was recorded");
}

#[test]
fn a_request_that_is_sent_again_under_its_id_is_done_once() {
    let service = settled(TestService::start());
    save(&service, "t", "c1", None, &json!({}));
    let write = json!({"id": "w1", "checkpoint": "c1", "task": "a", "writes": [{"channel": "n", "value": packed(&noise(5_000, 6))}]});
    let requests = [
        ("t:writes", write),
        ("t:copy", json!({"id": "c1", "to": "u"})),
        ("t:fork", json!({"id": "f1", "as": "c2"})),
        ("t:save", json!({"id": "s1", "checkpoint": "c3", "step": 1, "source": "loop"})),
    ];
    for (what, request) in &requests {
        let first = act(&service, what, request).expect(200).json();
        assert_eq!(first["repeated"], false, "{what}");
        let tip = service.tip();
        let again = act(&service, what, request).expect(200).json();
        assert_eq!((&again["position"], &again["repeated"]), (&first["position"], &json!(true)), "{what}");
        assert_eq!((&first["id"], &again["id"]), (&request["id"], &request["id"]), "{what}");
        assert_eq!(service.tip(), tip, "{what}");
    }
    // The same checkpoint in another request has that one's id.
    let mut same = requests[3].1.clone();
    same["id"] = json!("s2");
    let same = act(&service, "t:save", &same).expect(200).json();
    assert_eq!((&same["repeated"], &same["id"]), (&json!(true), &json!("s2")));
    let first = delete(&service, "checkpoints/u?id=d1").expect(200).json();
    let service = service.restarted();
    let again = delete(&service, "checkpoints/u?id=d1").expect(200).json();
    assert_eq!((&again["position"], &again["repeated"]), (&first["position"], &json!(true)));
    assert_eq!((&first["id"], &again["id"]), (&json!("d1"), &json!("d1")));
    delete(&service, "checkpoints/u?id=d2").expect_problem(404, "no-such-checkpoint");
    for unknown in ["u?checkpoint=c1", "never?checkpoint=c1", "t?checkpoint=none", "t?checkpoint=c"] {
        delete(&service, &format!("checkpoints/{unknown}")).expect_problem(404, "no-such-checkpoint");
    }
    // Of another content it is not the same request.
    let other = json!({"id": "s1", "checkpoint": "c4", "step": 1, "source": "loop"});
    act(&service, "t:save", &other).expect_problem(409, "id-reused");
    let long = json!({"id": "x".repeat(129), "checkpoint": "c4", "step": 1, "source": "loop"});
    act(&service, "t:save", &long).expect_problem(400, "bad-body");
    delete(&service, &format!("checkpoints/t?id={}", "x".repeat(129))).expect(400);
    delete(&service, "checkpoints/t?id=").expect(400);
}

#[test]
fn lists_are_of_a_thread_or_of_all_and_filtered_by_metadata() {
    let service = settled(TestService::start());
    for (thread, namespace, id, source, step) in [
        ("t", "", "c1", "input", 0),
        ("t", "", "c3", "loop", 2),
        ("u", "", "c9", "loop", 1),
        ("t", "sub:1", "c2", "loop", 1),
        ("t", "", "c2", "loop", 1),
    ] {
        let metadata = json!({"source": source, "step": step, "run_id": format!("r{step}"), "odd": null});
        save(
            &service,
            thread,
            id,
            None,
            &json!({"namespace": namespace, "step": step, "source": source, "metadata": metadata}),
        );
    }
    let of = |query: &str| {
        let list = shown(&service, query);
        list["checkpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                format!(
                    "{}{}{}",
                    one["thread"].as_str().unwrap(),
                    one["namespace"].as_str().unwrap(),
                    one["checkpoint"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(of("?thread=t"), "tc3 tsub:1c2 tc2 tc1");
    assert_eq!(of("?thread=t&namespace="), "tc3 tc2 tc1");
    assert_eq!(of("?thread=t&namespace=sub:1"), "tsub:1c2");
    assert_eq!(of(""), "tc2 tsub:1c2 uc9 tc3 tc1");
    assert_eq!(of("?namespace=&before=c3"), "tc2 tc1");
    assert_eq!(of("?thread=t&before=c3"), "tsub:1c2 tc2 tc1");
    assert_eq!(of("?thread=t&before=c2"), "tc1");
    let filter = |filter: Value| of(&format!("?thread=t&filter={}", percent(&filter.to_string())));
    assert_eq!(filter(json!({"source": "input"})), "tc1");
    assert_eq!(filter(json!({"step": 1})), "tsub:1c2 tc2");
    assert_eq!(filter(json!({"step": 2, "run_id": "r2"})), "tc3");
    assert_eq!(filter(json!({"step": 2, "run_id": "r1"})), "");
    assert_eq!(filter(json!({"nothing": null, "odd": null, "step": 0})), "tc1");
    for first in ["?thread=t&limit=1", "?limit=2"] {
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let page = shown(&service, &format!("{first}{next}"));
            found.extend(ids(&page).iter().map(ToString::to_string));
            let Some(more) = page["next"].as_str() else { break };
            next = format!("&after={more}");
        }
        let whole = shown(&service, first.split('&').next().unwrap().split("?limit").next().unwrap());
        assert_eq!(found, ids(&whole));
    }
    for bad in ["?filter=1", "?filter=x", "?colour=red", "?limit=0", "?after=x", "/t?colour=red"] {
        assert_eq!(get(&service, bad).status, 400, "{bad}");
    }
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn a_thread_is_copied_forked_and_deleted() {
    let service = settled(TestService::start());
    save(
        &service,
        "t",
        "c1",
        None,
        &json!({"values": {"n": packed(&noise(5_000, 2))}, "document": {"v": 4}}),
    );
    save(&service, "t", "c2", Some("c1"), &json!({"values": {}, "metadata": {"a": 1}}));
    save(&service, "t", "c9", Some("gone"), &json!({"namespace": "sub"}));
    act(
        &service,
        "t:writes",
        &json!({"checkpoint": "c2", "task": "a", "writes": [{"channel": "n", "value": {"json": 1}}]}),
    )
    .expect(200);
    act(&service, "t:copy", &json!({"to": "u"})).expect(200);
    for query in ["", "?checkpoint=c1", "?namespace=sub"] {
        let (mut one, mut other) =
            (shown(&service, &format!("/t{query}")), shown(&service, &format!("/u{query}")));
        for (which, name) in [(&mut one, "t"), (&mut other, "u")] {
            assert_eq!(which["thread"], name);
            which.as_object_mut().unwrap().retain(|member, _| member != "thread" && member != "position");
        }
        assert_eq!(one, other, "{query}");
    }
    assert_eq!(shown(&service, "/u?namespace=sub")["parentFound"], false);
    act(&service, "t:copy", &json!({"to": "u"})).expect_problem(409, "thread-taken");
    act(&service, "t:copy", &json!({"to": "t"})).expect_problem(409, "thread-taken");
    act(&service, "none:copy", &json!({"to": "v"})).expect_problem(404, "no-such-checkpoint");
    act(&service, "t:copy", &json!({"to": "v", "checkpoint": "c8"}))
        .expect_problem(404, "no-such-checkpoint");
    act(&service, "t:copy", &json!({"to": "v", "checkpoint": "c2"})).expect(200);
    assert_eq!(ids(&shown(&service, "?thread=v")), ["c2", "c1"]);

    act(&service, "t:fork", &json!({"checkpoint": "c1", "as": "c3"})).expect(200);
    let (fork, base) = (shown(&service, "/t"), shown(&service, "/t?checkpoint=c1"));
    assert_eq!(
        (&fork["checkpoint"], &fork["parent"], &fork["source"], &fork["step"]),
        (&json!("c3"), &json!("c1"), &json!("fork"), &json!(2))
    );
    assert_eq!(
        (&fork["values"], &fork["document"], &fork["channelVersions"]),
        (&base["values"], &json!({"v": 4}), &base["channelVersions"])
    );
    act(&service, "t:fork", &json!({"checkpoint": "c8", "as": "c4"}))
        .expect_problem(404, "no-such-checkpoint");
    act(&service, "t:fork", &json!({"as": "c3"})).expect_problem(400, "bad-body");
    act(&service, "t:forks", &json!({"as": "c3"})).expect_problem(404, "no-such-resource");

    delete(&service, "checkpoints/t?checkpoint=c3&namespace=").expect(200);
    assert_eq!(shown(&service, "/t")["checkpoint"], "c2");
    delete(&service, "checkpoints/t?checkpoint=c3&namespace=").expect_problem(404, "no-such-checkpoint");
    delete(&service, "checkpoints/t?keep=oldest").expect(400);
    delete(&service, "checkpoints/t?keep=newest").expect(200);
    assert_eq!(ids(&shown(&service, "?thread=t")), ["c9", "c2"]);
    assert_eq!(shown(&service, "/t")["values"], base["values"], "what its parent had");
    delete(&service, "checkpoints/t").expect(200);
    get(&service, "/t").expect_problem(404, "no-such-checkpoint");
    delete(&service, "checkpoints/t").expect_problem(404, "no-such-checkpoint");
    assert_eq!(ids(&shown(&service, "?thread=u")), ["c9", "c2", "c1"]);
    // A late write does not bring it back; a new checkpoint does.
    let late = json!({"checkpoint": "c2", "task": "a", "writes": [{"channel": "n", "value": {"json": 1}}]});
    act(&service, "t:writes", &late).expect_problem(404, "no-such-checkpoint");
    save(&service, "t", "d1", Some("c2"), &json!({}));
    let again = shown(&service, "/t");
    assert_eq!(
        (&again["checkpoint"], &again["parentFound"], &again["writes"]),
        (&json!("d1"), &json!(false), &json!([]))
    );
}

#[test]
fn what_cannot_be_saved_changes_nothing() {
    let service = settled(TestService::start());
    save(&service, "t", "c1", None, &json!({}));
    let tip = service.tip();
    let good = json!({"checkpoint": "c2", "step": 1, "source": "loop", "values": {"n": {"json": 1}}});
    let with = |member: &str, value: Value| {
        let mut request = good.clone();
        request[member] = value;
        request
    };
    for bad in [
        with("checkpoint", json!("")),
        with("checkpoint", json!(null)),
        with("step", json!(-2)),
        with("source", json!("sky")),
        with("colour", json!("red")),
        with("metadata", json!([])),
        with("document", json!(7)),
        with("values", json!([])),
        with("channelVersions", json!({"n": -1})),
        with("parent", json!("x".repeat(257))),
        with("datasubject", json!("")),
        with("namespace", json!("x".repeat(1025))),
        json!({"checkpoint": "c2", "source": "loop"}),
    ] {
        act(&service, "t:save", &bad).expect_problem(400, "bad-body");
    }
    act(&service, ":save", &good).expect_problem(404, "no-such-checkpoint");
    act(&service, "t", &good).expect_problem(404, "no-such-resource");
    act(&service, "t:save", &with("metadata", json!({"big": "9007199254740993"}))).expect(200);
    let numbers = r#"{"checkpoint":"c3","step":1,"source":"loop","metadata":{"n":9007199254740993}}"#;
    service
        .post("/v1/ledgers/main/checkpoints/t:save", "application/json", numbers)
        .expect_problem(400, "number-range");
    assert_eq!(service.tip(), tip + 1);
}

#[test]
fn an_agents_token_saves_for_that_agent_alone() {
    let service = settled(TestService::start());
    crate::identities::guard(&service);
    let agent = crate::identities::token("agent");
    let ask = |method: &str, what: &str, body: &str| {
        crate::identities::ask(
            &service,
            method,
            &format!("/v1/ledgers/main/checkpoints{what}"),
            Some(&agent),
            body,
        )
    };
    let body = json!({"checkpoint": "c1", "step": 1, "source": "loop", "values": {"n": {"json": 1}}});
    ask("POST", "/t:save", &body.to_string()).expect(200);
    let found = ask("GET", "/t", "").expect(200).json();
    assert!(found["agent"].is_string() && found["values"]["n"]["json"] == 1, "{found}");
    let mut other = body;
    other["agent"] = json!("somebody-else");
    ask("POST", "/t:save", &other.to_string()).expect_problem(403, "forbidden");
    let auditor = crate::identities::token("auditor");
    crate::identities::ask(&service, "POST", "/v1/ledgers/main/checkpoints/t:save", Some(&auditor), "{}")
        .expect_problem(403, "forbidden");
}

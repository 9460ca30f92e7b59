//! Histories, as read models answer them: who asked for what, what was said, what it cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, governed, post, write};
use crate::service::Service;

fn get(service: &Service, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

fn ids(page: &Value) -> Vec<&str> {
    page["calls"].as_array().unwrap().iter().map(|call| call["call"].as_str().unwrap()).collect()
}

#[test]
fn a_call_is_followed_from_its_request_to_its_end() {
    let service = governed("allow");
    let request = json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}, "agent": "coder",
        "session": "s1", "run": "r1", "model": "m", "task_type": "edit"});
    let first = ask(&service, request.clone());
    let approval = first["approval"]["id"].as_str().unwrap();
    let call = get(&service, "calls/c1");
    assert_eq!(
        (&call["tool"], &call["agent"], &call["session"], &call["run"], &call["model"], &call["taskType"]),
        (&json!("fs.write"), &json!("coder"), &json!("s1"), &json!("r1"), &json!("m"), &json!("edit"))
    );
    assert_eq!(
        (&call["decision"]["verdict"], &call["decision"]["reasonCode"], &call["decision"]["position"]),
        (&json!("review"), &json!("trust-require-review"), &first["position"])
    );
    assert_eq!((&call["decision"]["rule"], &call["decision"]["policyVersion"]), (&json!("all"), &json!("1")));
    assert_eq!((&call["approval"]["id"], call["approval"].get("resolution")), (&json!(approval), None));
    assert_eq!((&call["asked"], call.get("outcome"), &call["late"]), (&json!(1), None, &json!(false)));

    approve(&service, approval).expect(200);
    let mut with_it = request;
    with_it["approval"] = json!(approval);
    assert_eq!(ask(&service, with_it)["verdict"], "allow");
    let end = json!({"call": "c1", "status": "ok", "durationMs": 40, "costUsd": "0.0023", "exitCode": 0});
    let end = post(&service, "outcome", &end).expect(200).json();
    let call = get(&service, "calls/c1");
    assert_eq!((&call["asked"], &call["decision"]["verdict"]), (&json!(2), &json!("allow")));
    assert_eq!(
        (&call["approval"]["resolution"], &call["approval"]["by"]),
        (&json!("approved"), &json!("admin:local"))
    );
    assert!(call["approval"]["waitedMs"].is_u64(), "{call}");
    let told = &call["outcome"];
    assert_eq!(
        (&told["status"], &told["durationMs"], &told["costUsd"], &told["position"], &told["exitCode"]),
        (&json!("ok"), &json!(40), &json!("0.0023"), &end["position"], &json!(0))
    );
    assert_eq!(get(&service, "calls?verdict=allow&outcome=ok")["calls"], json!([call]));
    let months = get(&service, "trust/months?tool=fs.write&context=src&model=m&task_type=edit");
    let month = &months["months"][0];
    assert_eq!(
        (&month["approved"], &month["rejected"], &month["costUsd"], &month["durationMs"]),
        (&json!(1), &json!(0), &json!("0.0023"), &json!("40"))
    );
    assert_eq!(month["month"].as_str(), call["time"].as_str().map(|time| &time[..7]));
    assert_eq!(get(&service, "trust/months?tool=none")["months"], json!([]));
    assert_eq!(service.get("/v1/ledgers/main/trust/months").status, 400);
    assert_eq!(service.get("/v1/ledgers/main/calls/c2").expect(404).json()["code"], "not-found");
}

#[test]
fn calls_are_found_by_what_they_are_and_when_they_were() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    for number in 0..7 {
        let mut request = write(&format!("c{number}"));
        request["agent"] = json!(format!("a{}", number % 2));
        assert_eq!(ask(&service, request)["verdict"], "allow");
        if number < 3 {
            let end =
                json!({"call": format!("c{number}"), "status": if number == 1 { "error" } else { "ok" }});
            post(&service, "outcome", &end).expect(200);
        }
    }
    assert_eq!(ids(&get(&service, "calls")), ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]);
    assert_eq!(ids(&get(&service, "calls?agent=a1")), ["c5", "c3", "c1"]);
    assert_eq!(ids(&get(&service, "calls?agent=a1&outcome=error")), ["c1"]);
    assert_eq!(ids(&get(&service, "calls?outcome=open&agent=a0")), ["c6", "c4"]);
    assert_eq!(ids(&get(&service, "calls?tool=none")), Vec::<&str>::new());
    let (mut found, mut next) = (Vec::new(), String::new());
    loop {
        let page = get(&service, &format!("calls?limit=3{next}"));
        found.extend(ids(&page).iter().map(ToString::to_string));
        let Some(more) = page["next"].as_str() else { break };
        next = format!("&after={more}");
    }
    assert_eq!(found, ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]);
    let since = get(&service, "calls/c4")["time"].as_str().unwrap().to_owned();
    assert_eq!(ids(&get(&service, &format!("calls?since={since}"))), ["c6", "c5", "c4"]);
    assert_eq!(ids(&get(&service, &format!("calls?before={since}"))), ["c3", "c2", "c1", "c0"]);
    assert_eq!(ids(&get(&service, "calls?since=2100-01-01T00:00:00Z")), Vec::<&str>::new());
    assert_eq!(ids(&get(&service, "calls?before=1970-01-02T00:00:00Z")), Vec::<&str>::new());
    for wrong in [
        "calls?since=today",
        "calls?limit=0",
        "calls?after=x",
        "calls?colour=red",
        "costs?by=moon",
        "costs?since=1",
        "gaps?limit=x",
    ] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{wrong}")).status, 400, "{wrong}");
    }
    let service = service.restarted();
    assert_eq!(ids(&get(&service, "calls")), found);
}

#[test]
fn costs_are_summed_up_by_what_is_asked() {
    let service = Service::start();
    let spend = |number: u64, agent: &str, model: &str, cost: Value| {
        let data = json!({"model": model, "provider": "p", "tokens": {"in": 10, "out": 2}, "cost_micro_usd": cost, "status": "ok"});
        let event = json!({"specversion": "1.0", "id": format!("m{number}"), "source": "test", "type": "model.called",
            "subject": "s", "agent": agent, "data": data});
        service.post("/v1/ledgers/main/events", "application/json", event.to_string()).expect(201);
    };
    spend(1, "a", "m1", json!(1_500_000));
    spend(2, "b", "m1", json!(20));
    spend(3, "a", "m2", Value::Null);
    let by_model = get(&service, "costs");
    assert_eq!(by_model["costs"][0]["model"], "m1");
    assert_eq!(
        (&by_model["costs"][0]["costUsd"], &by_model["costs"][0]["modelCalls"]),
        (&json!("1.50002"), &json!(2))
    );
    assert_eq!(
        (&by_model["costs"][1]["costUsd"], &by_model["costs"][1]["withoutCost"]),
        (&json!("0"), &json!(1))
    );
    assert_eq!(
        (&by_model["total"]["tokensIn"], &by_model["total"]["tokensOut"]),
        (&json!("30"), &json!("6"))
    );
    let tokens = json!({"tokensIn": "10", "tokensOut": "2", "cacheRead": "0", "cacheWrite": "0"});
    assert_eq!(
        (&by_model["costs"][0]["unpricedTokens"], &by_model["costs"][1]["unpricedTokens"]),
        (&Value::Null, &tokens)
    );
    assert_eq!(by_model["total"]["unpricedTokens"], tokens);
    let of_a = get(&service, "costs?by=day,agent&agent=a");
    assert_eq!(of_a["costs"].as_array().unwrap().len(), 1);
    let day = of_a["costs"][0]["day"].as_str().unwrap();
    assert_eq!(
        (day.len(), &of_a["costs"][0]["agent"], &of_a["total"]["costUsd"]),
        (10, &json!("a"), &json!("1.5"))
    );
    let first = of_a["total"]["first"].as_str().unwrap();
    let told = get(&service, &format!("events/{first}"));
    assert_eq!(told["event"]["id"], "m1", "each sum leads back to the log");
    assert_eq!(get(&service, &format!("costs?since={day}"))["total"], by_model["total"]);
    assert_eq!(get(&service, &format!("costs?before={day}"))["total"]["modelCalls"], 0);
}

#[test]
fn what_people_answered_is_kept_with_who_they_are_and_how_long_it_took() {
    let service = governed("review");
    for (number, word) in ["approve", "reject", "approve"].iter().enumerate() {
        let asked = ask(&service, write(&format!("c{number}")));
        let id = asked["approval"]["id"].as_str().unwrap().to_owned();
        let said = json!({"note": format!("note {number}")});
        post(&service, &format!("approvals/{id}:{word}"), &said).expect(200);
    }
    ask(&service, write("c9"));
    let all = get(&service, "resolutions");
    let told: Vec<_> = all["resolutions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["call"].as_str().unwrap(),
                one["resolution"].as_str().unwrap(),
                one["note"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [("c2", "approved", "note 2"), ("c1", "rejected", "note 1"), ("c0", "approved", "note 0")]
    );
    let first = &all["resolutions"][2];
    assert!(first["waitedMs"].is_u64() && first["tool"] == "fs.write", "{first}");
    let asked = get(&service, &format!("events/{}", first["askedAt"].as_str().unwrap()));
    assert_eq!(asked["event"]["type"], "approval.requested", "each answer leads back to its question");
    assert_eq!(get(&service, "resolutions?resolution=rejected")["resolutions"][0]["call"], "c1");
    let by = first["by"].as_str().unwrap().to_owned();
    let page = get(&service, &format!("resolutions?limit=2&by={by}"));
    assert_eq!(page["resolutions"].as_array().unwrap().len(), 2);
    let rest = get(&service, &format!("resolutions?by={by}&after={}", page["next"].as_str().unwrap()));
    assert_eq!(rest["resolutions"], json!([first]));
    assert_eq!(get(&service, "resolutions?by=nobody")["resolutions"], json!([]));
    let people = get(&service, "answerers")["answerers"].clone();
    assert_eq!(
        (&people[0]["by"], &people[0]["approved"], &people[0]["rejected"]),
        (&json!(by), &json!(2), &json!(1))
    );
    assert!(people[0]["halfWithinS"].is_u64() && people.as_array().unwrap().len() == 1, "{people}");
    for wrong in ["resolutions?resolution=maybe", "resolutions?limit=0", "answerers?by=x"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn a_read_model_is_shown_folded_again_and_waited_for() {
    let service = governed("allow");
    ask(&service, write("c1"));
    let head = get(&service, "head")["position"].as_str().unwrap().to_owned();
    let min = [("Ledger-Min-Position", head.as_str())];
    let answer = service.request("GET", "/v1/ledgers/main/calls", &min, b"").expect(200);
    assert_eq!(answer.header("ledger-position").unwrap(), head);
    let models = |service: &Service| {
        let shown = service.get("/v1/projections").expect(200).json();
        let named = shown["projections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned());
        (named.collect::<Vec<_>>(), shown["projections"][1].clone())
    };
    assert_eq!(
        models(&service).0,
        [
            "index",
            "calls",
            "checkpoints",
            "contracts",
            "costs",
            "gaps",
            "learned",
            "resolutions",
            "runs",
            "sessions",
            "trust"
        ]
    );
    let begun = Instant::now();
    let before = loop {
        let (_, calls) = models(&service);
        if calls["state"] == "ok" && calls["position"] == json!(head) {
            break calls;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{calls}");
    };
    for line in [
        r#"bitacora_model_ok{ledger="main",model="calls"} 1"#,
        r#"bitacora_model_lag{ledger="main",model="gaps"} 0"#,
        r#"bitacora_model_stopped{ledger="main",model="costs"} 0"#,
    ] {
        // Each model comes to the head at its own pace.
        while !service.get("/metrics").expect(200).text().contains(line) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{line}");
        }
    }
    assert_eq!(
        service.post("/v1/ledgers/main/projections/calls:rebuild", "application/json", "").status,
        202
    );
    assert_eq!(ids(&get(&service, "calls")), ["c1"], "it answers all the while");
    for wrong in ["calls", "none:rebuild", "index:rebuild"] {
        let path = format!("/v1/ledgers/main/projections/{wrong}");
        assert_eq!(
            service.post(&path, "application/json", "").expect(404).json()["code"],
            "no-such-resource",
            "{wrong}"
        );
    }
    while models(&service).1["digest"] != before["digest"] {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn runs_are_shown_with_their_steps() {
    let service = Service::start();
    let tell = |id: &str, kind: &str, data: Value| {
        let event = json!({"specversion": "1.0", "id": id, "source": "test", "type": kind, "subject": "run/r/1",
            "agent": "coder", "data": data});
        service.post("/v1/ledgers/main/events", "application/json", event.to_string()).expect(201);
    };
    tell("1", "run.started", json!({"run": "r/1", "kind": "graph", "graph": "support"}));
    tell(
        "2",
        "run.step",
        json!({"run": "r/1", "node": "act", "node_type": "agent", "status": "error", "attempt": 1, "cost_micro_usd": 5}),
    );
    tell(
        "3",
        "run.step",
        json!({"run": "r/1", "node": "act", "node_type": "agent", "status": "ok", "attempt": 2, "duration_ms": 7}),
    );
    tell(
        "4",
        "run.completed",
        json!({"run": "r/1", "status": "success", "duration_ms": 61_000, "cost_micro_usd": 310_000}),
    );
    tell("5", "run.started", json!({"run": "r/2", "kind": "graph"}));
    let run = get(&service, "runs/r%2F1");
    assert_eq!(
        (&run["state"], &run["why"], &run["steps"], &run["failedSteps"], &run["costUsd"], &run["durationMs"]),
        (&json!("completed"), &json!("success"), &json!(2), &json!(1), &json!("0.31"), &json!(61_000))
    );
    let steps = get(&service, "runs/r%2F1/steps?limit=1");
    assert_eq!((&steps["steps"][0]["attempt"], &steps["steps"][0]["status"]), (&json!(2), &json!("ok")));
    let rest = get(&service, &format!("runs/r%2F1/steps?after={}", steps["next"].as_str().unwrap()));
    assert_eq!((&rest["steps"][0]["costUsd"], rest.get("next")), (&json!("0.000005"), None));
    assert_eq!(get(&service, "runs?state=completed")["runs"], json!([run]));
    assert_eq!(get(&service, "runs?agent=coder")["runs"].as_array().unwrap().len(), 2);
    assert_eq!(get(&service, "runs?limit=1")["runs"][0]["run"], "r/2");
    assert_eq!(service.get("/v1/ledgers/main/runs?state=lost").status, 400);
    for unknown in ["runs/none", "runs/none/steps"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{unknown}")).status, 404, "{unknown}");
    }
}

#[test]
fn a_session_is_shown_with_what_was_asked_for_in_it_and_what_came_of_that() {
    let service = governed("allow");
    let tell = |id: &str, session: &str, kind: &str, data: Value| {
        let event = json!({"specversion": "1.0", "id": id, "source": "test", "type": kind,
            "subject": format!("session/{session}"), "session": session, "agent": "coder", "data": data});
        service.post("/v1/ledgers/main/events", "application/json", event.to_string()).expect(201);
    };
    let began = json!({"harness": "coder-cli", "version": "2.1", "model": "m1", "cwd": "/work"});
    tell("1", "s/1", "session.started", began);
    let asked = |call: &str| {
        let mut request = write(call);
        request["session"] = json!("s/1");
        request["run"] = json!("r1");
        ask(&service, request)
    };
    let first = asked("c1");
    let approval = first["approval"]["id"].as_str().unwrap().to_owned();
    let shown = get(&service, "sessions/s%2F1");
    assert_eq!((&shown["calls"]["reviewed"], &shown["approvals"]["waiting"]), (&json!(1), &json!(1)));
    approve(&service, &approval).expect(200);
    let mut again = write("c1");
    (again["session"], again["run"], again["approval"]) = (json!("s/1"), json!("r1"), json!(approval));
    assert_eq!(ask(&service, again)["verdict"], "allow");
    // The outcome names no session.
    let end = post(&service, "outcome", &json!({"call": "c1", "status": "ok", "costUsd": "0.25"}));
    let end = end.expect(200).json();
    asked("c2");
    tell("2", "s/1", "session.ended", json!({"reason": "exit", "totals": {"turns": 1, "calls": 2}}));
    tell("3", "s/2", "x.noted", json!({}));

    let shown = get(&service, "sessions/s%2F1");
    assert_eq!(
        (
            &shown["state"],
            &shown["harness"],
            &shown["version"],
            &shown["model"],
            &shown["cwd"],
            &shown["agent"]
        ),
        (&json!("ended"), &json!("coder-cli"), &json!("2.1"), &json!("m1"), &json!("/work"), &json!("coder"))
    );
    let calls = &shown["calls"];
    assert_eq!(
        (
            &calls["all"],
            &calls["allowed"],
            &calls["reviewed"],
            &calls["denied"],
            &calls["ok"],
            &calls["open"]
        ),
        (&json!(2), &json!(1), &json!(1), &json!(0), &json!(1), &json!(1)),
        "each call counts by what was said of it last"
    );
    let approvals = &shown["approvals"];
    assert_eq!(
        (&approvals["asked"], &approvals["given"], &approvals["waiting"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!((&shown["spending"]["costUsd"], &shown["runs"]), (&json!("0.25"), &json!(1)));
    assert_eq!(shown["spending"]["first"], end["position"], "each sum leads back to the log");
    assert_eq!((&shown["ended"]["reason"], &shown["ended"]["totals"]["calls"]), (&json!("exit"), &json!(2)));
    assert_eq!(shown["newestRuns"][0]["run"], "r1");
    let begun = get(&service, &format!("events/{}", shown["started"].as_str().unwrap()));
    assert_eq!(begun["event"]["type"], "session.started");
    let last = get(&service, &format!("events/{}", shown["last"].as_str().unwrap()));
    assert_eq!(last["event"]["id"], "2");

    let ids = |page: &str| -> Vec<String> {
        let page = get(&service, page);
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions.map(|one| one["session"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("sessions"), ["s/2", "s/1"]);
    assert_eq!(ids("sessions?state=open"), ["s/2"], "one that never says that it ends is open");
    assert_eq!(ids("sessions?state=ended&agent=coder&harness=coder-cli"), ["s/1"]);
    let second = get(&service, "sessions/s%2F2");
    assert_eq!((second.get("started"), second.get("ended"), &second["events"]), (None, None, &json!(1)));
    let page = get(&service, "sessions?limit=1");
    assert_eq!(ids(&format!("sessions?limit=1&after={}", page["next"].as_str().unwrap())), ["s/1"]);
    let since = second["time"].as_str().unwrap();
    assert_eq!(ids(&format!("sessions?since={since}")), ["s/2"]);
    assert_eq!(ids(&format!("sessions?before={since}")), ["s/1"]);
    for wrong in ["sessions?state=lost", "sessions?since=now", "sessions?limit=0", "sessions?actor=x"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(service.get("/v1/ledgers/main/sessions/none").status, 404);
}

#[test]
fn what_is_said_of_a_call_counts_in_its_session_also_where_it_was_told_with_its_end() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let event = |id: &str, kind: &str, data: Value| {
        json!({"specversion": "1.0", "id": id, "source": "test", "type": kind, "subject": "session/s", "session": "s",
            "agent": "coder", "call": data["call"], "data": data})
        .to_string()
    };
    let request = |call: &str| {
        let args = json!({"path": "src/a.rs"});
        event(&format!("{call}-r"), "tool.requested", json!({"call": call, "tool": "fs.write", "args": args}))
    };
    let end = |call: &str, id: &str| event(id, "tool.completed", json!({"call": call, "status": "ok"}));
    let send = |lines: &[String]| {
        service.post("/v1/ledgers/main/events", "application/x-ndjson", lines.join("\n")).expect(201);
    };
    send(&[request("c1"), end("c1", "c1-e"), request("c2"), end("c2", "c2-e"), request("c3")]);
    send(&[end("c3", "c3-e")]);
    let counts = get(&service, "sessions/s")["calls"].clone();
    assert_eq!(
        (&counts["all"], &counts["allowed"], &counts["ok"], &counts["open"]),
        (&json!(3), &json!(3), &json!(3), &json!(0)),
        "{counts}"
    );
}

#[test]
fn an_imported_session_begins_when_its_first_event_says() {
    let service = Service::start();
    let line = |id: &str, kind: &str, time: &str, data: Value| {
        let mut line = json!({"specversion": "1.0", "id": id, "source": "test", "type": kind, "subject": "session/s",
            "session": "s", "time": time, "data": data});
        if let Some(call) = line["data"].get("call").cloned() {
            line["call"] = call;
        }
        line.to_string()
    };
    let requested = json!({"call": "c1", "tool": "t", "assurance": "imported"});
    let lines = [
        line("1", "session.started", "2026-01-02T03:04:05Z", json!({"harness": "h"})),
        line("2", "tool.requested", "2026-01-02T03:05:00Z", requested),
    ];
    service.post("/v1/ledgers/main/events", "application/x-ndjson", lines.join("\n")).expect(201);
    let shown = get(&service, "sessions/s");
    assert_eq!(
        (shown["time"].as_str(), shown["lastTime"].as_str()),
        (Some("2026-01-02T03:04:05.000000Z"), Some("2026-01-02T03:05:00.000000Z")),
        "{shown}"
    );
}

#[test]
fn a_session_that_goes_on_keeps_who_it_began_with_and_counts_how_each_call_ended() {
    let service = governed("allow");
    let mut told = 0;
    let mut tell = |agent: &str, kind: &str, run: Option<&str>, data: Value| {
        told += 1;
        let mut event = json!({"specversion": "1.0", "id": told.to_string(), "source": "test", "type": kind,
            "subject": "session/s", "session": "s", "agent": agent, "data": data});
        if let Some(run) = run {
            event["run"] = json!(run);
        }
        service.post("/v1/ledgers/main/events", "application/json", event.to_string()).expect(201);
    };
    let began = json!({"harness": "first", "cwd": "/first"});
    tell("coder", "session.started", None, began);
    tell("coder", "session.ended", None, json!({"reason": "exit"}));
    assert_eq!(get(&service, "sessions/s")["state"], "ended");
    // It is gone on with elsewhere, by another one.
    tell("tester", "session.started", None, json!({"harness": "second", "cwd": "/second"}));
    for run in ["r1", "r2", "r1"] {
        tell("tester", "x.noted", Some(run), json!({}));
    }
    let asked = |call: &str, path: &str, model: Option<&str>| {
        let mut request = json!({"call": call, "tool": "fs.write", "args": {"path": path}, "session": "s"});
        if let Some(model) = model {
            request["model"] = json!(model);
        }
        ask(&service, request)["approval"]["id"].as_str().map(str::to_owned)
    };
    let (refused, edited) =
        (asked("c1", "a/a", Some("m7")).unwrap(), asked("c2", "b/b", Some("m8")).unwrap());
    post(&service, &format!("approvals/{refused}:reject"), &json!({})).expect(200);
    let other = json!({"args": {"path": "b/c"}});
    post(&service, &format!("approvals/{edited}:edit"), &other).expect(200);
    earn(&service, "fs.write", "src");
    for (call, status) in [("c3", "interrupted"), ("c4", "blocked"), ("c5", "ok")] {
        assert_eq!(asked(call, "src/a.rs", None), None, "it is allowed");
        post(&service, "outcome", &json!({"call": call, "status": status})).expect(200);
    }
    let shown = get(&service, "sessions/s");
    let of = |members: [&str; 5]| members.map(|member| shown[member].as_str().unwrap_or("-").to_owned());
    let kept = ["open", "coder", "first", "/first", "m7"];
    assert_eq!(of(["state", "agent", "harness", "cwd", "model"]), kept, "{shown}");
    assert_eq!((shown.get("ended"), &shown["runs"]), (None, &json!(2)), "each run once");
    let (calls, approvals) = (&shown["calls"], &shown["approvals"]);
    let came = ["all", "interrupted", "blocked", "ok", "open"].map(|member| calls[member].as_u64().unwrap());
    assert_eq!(came, [5, 1, 1, 1, 2], "{calls}");
    let said = ["asked", "refused", "given", "waiting"].map(|member| approvals[member].as_u64().unwrap());
    assert_eq!(said, [2, 1, 1, 0], "{approvals}");
}

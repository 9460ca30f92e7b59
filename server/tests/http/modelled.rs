//! Histories from read models: requests, their senders, decisions and costs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::checkpoints::{save, settled, shown};
use crate::governed::{approve, ask, earn, governed, post, write};
use crate::service::TestService;

/// Reads a resource once its read model has every event that is there now.
pub(crate) fn get(service: &TestService, resource: &str) -> Value {
    let head = service.get("/v1/ledgers/main/head").expect(200).json()["position"].clone();
    let min = [("Ledger-Min-Position", head.as_str().unwrap())];
    service.request("GET", &format!("/v1/ledgers/main/{resource}"), &min, b"").expect(200).json()
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
        (&call["tool"], &call["agent"], &call["session"], &call["run"], &call["model"], &call["task_type"]),
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
    let reason = call["decision"]["reasonCode"].as_str().unwrap();
    assert_eq!(get(&service, &format!("calls?reason={reason}"))["calls"], json!([call]));
    assert_eq!(get(&service, "calls?reason=panic")["calls"], json!([]));
    let months = get(&service, "trust/months?tool=fs.write&context=src&workspace=-&model=m&task_type=edit");
    let month = &months["months"][0];
    assert_eq!(
        (&month["approved"], &month["rejected"], &month["costUsd"], &month["durationMs"]),
        (&json!(1), &json!(0), &json!("0.0023"), &json!("40"))
    );
    assert_eq!(month["month"].as_str(), call["time"].as_str().map(|time| &time[..7]));
    assert_eq!(get(&service, "trust/months?tool=none")["months"], json!([]));
    assert_eq!(service.get("/v1/ledgers/main/trust/months").status, 400);
    for (unknown, code, named) in [
        ("calls/c%60.%202", "no-such-call", "`c'. 2`"),
        ("runs/r2", "no-such-run", "`r2`"),
        ("runs/r2/steps", "no-such-run", "`r2`"),
        ("sessions/s2", "no-such-session", "`s2`"),
        ("contracts/none", "no-such-contract", "`none`"),
    ] {
        let problem = service.get(&format!("/v1/ledgers/main/{unknown}")).expect_problem(404, code);
        assert!(problem["detail"].as_str().unwrap().contains(named), "{problem}");
    }
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
    let service = TestService::start();
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
        let mut call = write(&format!("c{number}"));
        call["args"]["path"] = json!(format!("src/{number}.rs"));
        let id = ask(&service, call)["approval"]["id"].as_str().unwrap().to_owned();
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
    let models = |service: &TestService| {
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
            "tools",
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
    let meanwhile = service.get("/v1/ledgers/main/calls").expect(200).json();
    assert_eq!(ids(&meanwhile), ["c1"], "it answers all the while");
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
    let service = TestService::start();
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
        json!({"run": "r/1", "node": "act", "node_type": "agent", "status": "started", "attempt": 2, "iteration": 4,
            "action": "edit_file", "model": "m", "input": {"bytes": 52}, "input_summary": "src/a.rs"}),
    );
    tell(
        "3b",
        "run.step",
        json!({"run": "r/1", "node": "act", "node_type": "agent", "status": "ok", "attempt": 2, "duration_ms": 7,
            "output": {"bytes": 17}}),
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
    let told =
        ["iteration", "action", "model", "input", "output"].map(|member| steps["steps"][0][member].clone());
    let (input, output) = (json!({"bytes": 52, "summary": "src/a.rs"}), json!({"bytes": 17}));
    assert_eq!(told, [json!(4), json!("edit_file"), json!("m"), input, output]);
    let rest = get(&service, &format!("runs/r%2F1/steps?after={}", steps["next"].as_str().unwrap()));
    assert_eq!((&rest["steps"][0]["costUsd"], rest.get("next")), (&json!("0.000005"), None));
    assert_eq!(get(&service, "runs?state=completed")["runs"], json!([run]));
    assert_eq!(get(&service, "runs?agent=coder")["runs"].as_array().unwrap().len(), 2);
    assert_eq!(get(&service, "runs?limit=1")["runs"][0]["run"], "r/2");
    let began = |run: &str| get(&service, &format!("runs/{run}"))["time"].as_str().unwrap().to_owned();
    let (first, second) = (began("r%2F1"), began("r%2F2"));
    let between = format!("runs?since={first}&before={second}");
    assert_eq!(get(&service, &between)["runs"], json!([run]), "the first time is in it, the second is not");
    assert_eq!(get(&service, &format!("runs?since={second}"))["runs"][0]["run"], "r/2");
    assert_eq!(get(&service, "runs?since=2100-01-01T00:00:00Z")["runs"], json!([]));
    for bad in ["state=lost", "since=yesterday", &format!("since={second}&before={first}")] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/runs?{bad}")).status, 400, "{bad}");
    }
    for unknown in ["runs/none", "runs/none/steps"] {
        assert_eq!(service.get(&format!("/v1/ledgers/main/{unknown}")).status, 404, "{unknown}");
    }
}

#[test]
fn the_newest_checkpoint_is_answered_at_once_after_a_start() {
    let mut service = settled(TestService::start());
    for round in 0..3 {
        for number in 0..200 {
            let (id, parent) = (format!("c{round}{number:03}"), format!("c{round}{:03}", number - 1));
            save(&service, "t", &id, (number > 0).then_some(parent.as_str()), &json!({}));
        }
        service = service.restarted();
        let newest = format!("c{round}199");
        assert_eq!(shown(&service, "?thread=t&limit=1")["checkpoints"][0]["checkpoint"], newest.as_str());
        assert_eq!(shown(&service, "/t")["checkpoint"], newest.as_str());
    }
}

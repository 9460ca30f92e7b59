//! Sessions over the interface: their agents, the decisions about their calls, and their starts.

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, governed, post, write};
use crate::modelled::get;
use crate::service::TestService;

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
    assert_eq!((&shown["calls"]["reviewed"], &shown["approvals"]["pending"]), (&json!(1), &json!(1)));
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
            &calls["pending"]
        ),
        (&json!(2), &json!(1), &json!(1), &json!(0), &json!(1), &json!(1)),
        "each call counts by what was said of it last"
    );
    let approvals = &shown["approvals"];
    assert_eq!(
        (&approvals["asked"], &approvals["given"], &approvals["pending"]),
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
        let args = json!({"path": format!("src/{call}.rs")});
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
    let service = TestService::start();
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
    // Until its import is accepted it began when it was recorded.
    let waiting = get(&service, "sessions/s");
    assert_eq!(waiting["time"], waiting["recorded"]);
    let digest = "a".repeat(64);
    let counts = json!({"files": 1, "lines": 1, "bytes": 1, "events": 2, "unmapped": 0, "passed_over": 0,
        "without_outcome": 0, "types": {}});
    let batch = json!({"digest": digest, "mapping": "m", "counts": counts, "sources": []});
    let batch = json!({"specversion": "1.0", "id": "3", "source": "test", "type": "import.batch", "subject": "imports",
        "data": batch});
    service.append(batch.to_string()).expect(201);
    post(&service, &format!("imports/{digest}:accept"), &json!({})).expect(200);
    let shown = get(&service, "sessions/s");
    assert_eq!(shown["recorded"], waiting["recorded"]);
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
    let members = ["all", "interrupted", "blocked", "ok", "rejected", "open"];
    let came = members.map(|member| calls[member].as_u64().unwrap());
    assert_eq!(came, [5, 1, 1, 1, 1, 1], "{calls}");
    let said = ["asked", "refused", "given", "pending"].map(|member| approvals[member].as_u64().unwrap());
    assert_eq!(said, [2, 1, 1, 0], "{approvals}");
}

//! Usage of tools, summed up by the dimensions that people ask for.

use serde_json::{Value, json};

use crate::governed::{approve, ask, earn, governed, post, write};
use crate::modelled::get;

/// A call of its own, so that no guard takes it for a loop.
fn asked(call: &str, number: u64) -> Value {
    let mut request = write(call);
    request["args"] = json!({"path": format!("src/{number}.rs")});
    (request["agent"], request["session"], request["run"]) = (json!("coder"), json!("s1"), json!("r1"));
    request
}

#[test]
fn calls_are_summed_up_by_what_was_said_of_them_how_they_ended_and_how_long_they_took() {
    let service = governed("allow");
    // One is put before a person, and allowed then: it counts as both.
    let first = ask(&service, asked("reviewed", 0));
    approve(&service, first["approval"]["id"].as_str().unwrap()).expect(200);
    let mut with_it = asked("reviewed", 0);
    with_it["approval"] = first["approval"]["id"].clone();
    assert_eq!(ask(&service, with_it)["verdict"], "allow");
    post(&service, "outcome", &json!({"call": "reviewed", "status": "ok", "durationMs": 10})).expect(200);
    earn(&service, "fs.write", "src");
    for number in 2..=20 {
        let call = format!("c{number}");
        assert_eq!(ask(&service, asked(&call, number))["verdict"], "allow", "{call}");
        let status = if number == 20 { "error" } else { "ok" };
        let mut end = json!({"call": call, "status": status, "durationMs": number * 10});
        if number == 20 {
            end["errorType"] = json!("exit_code");
        }
        post(&service, "outcome", &end).expect(200);
    }
    let mut outside = asked("denied", 0);
    outside["args"] = json!({"path": "../outside"});
    assert_eq!(ask(&service, outside)["verdict"], "deny");

    let usage = get(&service, "tool-usage?by=tool,agent");
    let row = &usage["usage"][0];
    assert_eq!((&row["tool"], &row["agent"]), (&json!("fs.write"), &json!("coder")), "{usage}");
    for (name, expected) in [
        ("calls", json!(21)),
        ("allowed", json!(20)),
        ("reviewed", json!(1)),
        ("denied", json!(1)),
        ("ok", json!(19)),
        ("error", json!(1)),
        ("timed", json!(20)),
        ("reviewRate", json!(0.0476)),
        ("denyRate", json!(0.0476)),
        // Of 10, 20, … 200 the tenth and the nineteenth, each as the longest of its bucket.
        ("p50Ms", json!(101)),
        ("p95Ms", json!(191)),
    ] {
        assert_eq!(row[name], expected, "{name}: {row}");
    }
    assert_eq!(usage["total"]["calls"], 21);
    let by = |query: &str| get(&service, &format!("tool-usage?{query}"));
    let contexts = by("by=context,role,day");
    let of = |row: &Value| (row["context"].as_str().unwrap().to_owned(), row["calls"].as_u64().unwrap());
    let contexts: Vec<_> = contexts["usage"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(contexts.iter().map(|(_, calls)| calls).sum::<u64>(), 21);
    assert!(contexts.contains(&("src".to_owned(), 20)), "{contexts:?}");
    assert_eq!(by("context=src&by=tool")["total"]["calls"], 20);
    assert_eq!(by("tool=none")["usage"], json!([]));
    let other_days = by("before=2021-01-01");
    assert_eq!((&other_days["usage"], &other_days["outside"]), (&json!([]), &json!(21)));
    for wrong in ["by=nothing", "since=yesterday", "since=2021-01-02&before=2021-01-02", "model=m"] {
        service.get(&format!("/v1/ledgers/main/tool-usage?{wrong}")).expect_problem(400, "bad-query");
    }
}

#[test]
fn decisions_are_counted_by_minute_however_many_there_are() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    let sum = |page: &Value| -> [u64; 3] {
        let of = |verdict: &str| {
            page["minutes"].as_array().unwrap().iter().map(|minute| minute[verdict].as_u64().unwrap()).sum()
        };
        ["allow", "review", "deny"].map(of)
    };
    let [allowed, reviewed, denied] = sum(&get(&service, "decisions"));
    for number in 1..=7 {
        assert_eq!(ask(&service, asked(&format!("c{number}"), number))["verdict"], "allow");
    }
    for call in ["denied", "denied-too"] {
        let mut outside = asked(call, 0);
        outside["args"] = json!({"path": "../outside"});
        assert_eq!(ask(&service, outside)["verdict"], "deny");
    }
    let page = get(&service, "decisions");
    let events = get(&service, "events?type=decision.made&limit=1000");
    assert_eq!(sum(&page).iter().sum::<u64>(), events["events"].as_array().unwrap().len() as u64);
    assert_eq!(sum(&page), [allowed + 7, reviewed, denied + 2], "{page}");
    let newest = page["minutes"][0]["minute"].as_str().unwrap();
    assert!(newest.ends_with(":00.000000Z"), "{newest}");
    assert_eq!(get(&service, &format!("decisions?since={newest}"))["minutes"][0], page["minutes"][0]);
    assert_eq!(get(&service, "decisions?before=2021-01-01T00:00:00Z")["minutes"], json!([]));
    assert_eq!(get(&service, "decisions?since=2999-01-01T00:00:00Z")["minutes"], json!([]));
    let wrong = [
        "since=yesterday",
        "since=2021-01-02T00:00:00Z&before=2021-01-02T00:00:00Z",
        "limit=0",
        "after=x",
        "tool=x",
    ];
    for wrong in wrong {
        service.get(&format!("/v1/ledgers/main/decisions?{wrong}")).expect_problem(400, "bad-query");
    }
}

#[test]
fn costs_are_summed_up_by_tool_role_run_session_and_case() {
    let service = governed("allow");
    earn(&service, "fs.write", "src");
    for (run, case) in [("r1", "7"), ("r2", "8")] {
        let event = json!({"specversion": "1.0", "id": run, "source": "test", "type": "run.started",
            "subject": format!("run/{run}"), "data": {"run": run, "kind": "graph", "case": case}});
        service.append(event.to_string()).expect(201);
    }
    for (number, run) in [(1, "r1"), (2, "r1"), (3, "r2")] {
        let call = format!("c{number}");
        let mut request = asked(&call, number);
        request["run"] = json!(run);
        assert_eq!(ask(&service, request)["verdict"], "allow");
        let mut end = json!({"call": call, "status": "ok", "costUsd": "0.25", "artifacts": [format!("src/{number}.rs")]});
        if number == 3 {
            let described = json!({"path": "report.html", "type": "text/html", "digest": "sha256:9f86d081"});
            end["artifacts"].as_array_mut().unwrap().insert(0, described);
        }
        post(&service, "outcome", &end).expect(200);
    }
    let costs = get(&service, "costs?by=tool,role,run,session,case");
    let rows = costs["costs"].as_array().unwrap();
    let of = |row: &Value| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        [text("tool"), text("run"), text("session"), text("case"), text("costUsd")]
    };
    assert_eq!(
        rows.iter().map(of).collect::<Vec<_>>(),
        [["fs.write", "r1", "s1", "7", "0.5"], ["fs.write", "r2", "s1", "8", "0.25"]]
            .map(|row| row.map(str::to_owned)),
        "{costs}"
    );
    assert!(rows.iter().all(|row| row["role"].as_str().is_some_and(|role| role != "-")), "{costs}");
    assert_eq!(get(&service, "costs?case=7&by=model")["total"]["costUsd"], "0.5");
    assert_eq!(get(&service, "costs?by=tool")["total"], get(&service, "costs?by=case")["total"]);
    assert_eq!(get(&service, "costs?by=tool&before=2021-01-01")["outside"], 3);

    let runs = |query: &str| -> Vec<String> {
        let page = get(&service, &format!("runs?{query}"));
        page["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((runs("case=7"), runs("case=9")), (vec!["r1".to_owned()], vec![]));
    assert_eq!(runs("case=8&state=running"), ["r2"]);
    assert_eq!(runs("case=8&state=failed"), [""; 0]);
    assert_eq!(get(&service, "calls/c2")["outcome"]["artifacts"], json!([{"path": "src/2.rs"}]));
    let described = json!({"path": "report.html", "type": "text/html", "digest": "sha256:9f86d081"});
    assert_eq!(get(&service, "calls/c3")["outcome"]["artifacts"], json!([described, {"path": "src/3.rs"}]));
}

//! Tests of `calls`, `costs`, `gaps`, `projections`: people's questions about recorded events.

use std::fs;

use serde_json::{Value, json};

use crate::proving::answering;
use crate::sample::{Sample, code, command, told, why};

fn action(call: u64) -> String {
    json!({"at": format!("2026-01-0{}T15:02:06.978Z", 1 + call / 10), "session": format!("s{}", call % 3),
        "call": format!("c{call}"), "tool": if call.is_multiple_of(2) { "Bash" } else { "Read" }, "model": format!("m{}", call % 2),
        "input": {"command": "ls"}, "request": format!("r{}", call / 2), "tokens_in": 10, "tokens_out": 3,
        "outcome": if call == 4 { "error" } else { "ok" }, "ended_at": "2026-01-09T15:02:07Z"})
    .to_string()
}

#[test]
fn what_was_imported_can_be_asked_for() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    fs::write(&file, (0..20).map(|call| action(call) + "\n").collect::<String>()).unwrap();
    assert_eq!(code(&sample.run(&["import", "--accept", file.to_str().unwrap()])), 0);

    let costs = told(&sample.run(&["costs", "--by", "day,model", "--json"]));
    let of_day: Vec<_> = costs["costs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cost| (&cost["day"], &cost["model"], &cost["tokensIn"]))
        .collect();
    // Two calls of one answer are counted once.
    assert_eq!(
        of_day,
        [
            (&json!("2026-01-01"), &json!("m0"), &json!("50")),
            (&json!("2026-01-02"), &json!("m0"), &json!("50"))
        ]
    );
    assert_eq!((&costs["total"]["modelCalls"], &costs["total"]["withoutCost"]), (&json!(10), &json!(10)));
    let prices = sample.folder.path().join("prices.json");
    fs::write(
        &prices,
        r#"[{"model": "m0", "in": "3", "out": "15"}, {"model": "x*", "in": "1", "out": "1"}]"#,
    )
    .unwrap();
    let prices = prices.to_str().unwrap();
    let by_day = told(&sample.run(&["costs", "--by", "day", "--prices", prices, "--json"]));
    assert_eq!(
        (&by_day["costs"][1]["day"], &by_day["costs"][1]["estimatedUsd"], &by_day["total"]["estimatedUsd"]),
        (&json!("2026-01-02"), &json!("0.000375"), &json!("0.00075")),
        "50 tokens read and 15 written a day"
    );
    assert_eq!((&by_day["total"]["unpriced"], &by_day["total"]["calls"]), (&json!(0), &json!(10)));
    let table = String::from_utf8(sample.run(&["costs", "--prices", prices]).stdout).unwrap();
    assert!(table.starts_with("model  USD  estimated"), "{table}");
    let report = String::from_utf8(sample.run(&["report", "learned", "--prices", prices]).stdout).unwrap();
    assert!(report.contains("0 USD as told, 0.00075 USD as estimated by prices"), "{report}");
    assert_eq!(code(&sample.run(&["costs", "--prices", "none.json"])), 1);

    let shown = sample.run(&["calls", "--tool", "Bash", "--outcome", "error"]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.lines().count() == 2 && text.contains("c4"), "{text}");
    let call: Value = told(&sample.run(&["calls", "c4", "--json"]));
    assert_eq!((&call["outcome"]["status"], &call["imported"]), (&json!("error"), &json!(true)));
    let one = String::from_utf8(sample.run(&["calls", "c4"]).stdout).unwrap();
    assert!(one.lines().any(|line| line.starts_with("outcome") && line.contains("error")), "{one}");
    assert_eq!(code(&sample.run(&["calls", "c99"])), 1);
    let pages = sample.run(&["calls", "--limit", "7", "--json"]);
    assert_eq!(told(&pages)["calls"].as_array().unwrap().len(), 7);

    let months = ["trust", "history", "--months", "--tool", "Read", "--context", "ls", "--model", "m1"];
    let months = String::from_utf8(sample.run(&months).stdout).unwrap();
    assert!(months.lines().count() == 2 && months.contains("2026-01"), "{months}");
    let said = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    assert_eq!(said(&["gaps"]).trim_end(), "of every call that is known, both halves are recorded");
    assert_eq!(said(&["gaps", "--session", "s9"]).trim_end(), "no gap was recorded of this session");
    for (filter, words) in [
        (["--verdict", "maybe"], "`verdict` is none of `none`, `allow`, `review`, `deny`"),
        (["--outcome", "nonsense"], "`outcome` is none of `open`, `pending`, `ok`, `error`"),
    ] {
        let refused = sample.run(&[&["calls"][..], &filter].concat());
        assert_eq!(code(&refused), 3, "{filter:?}");
        assert!(why(&refused).contains(words), "{}", why(&refused));
    }
    assert_eq!(code(&sample.run(&["calls", "--limit", "0"])), 2);
    assert_eq!(code(&sample.run(&["calls", "--since", "someday"])), 2);
    let listed = told(&sample.run(&["projections", "--json"]));
    let models = listed["projections"].as_array().unwrap();
    assert!(
        models[1..].iter().all(|model| model["state"] == "ok" && model["digest"].is_string()),
        "{listed}"
    );
    let text = String::from_utf8(sample.run(&["projections"]).stdout).unwrap();
    assert_eq!(text.lines().count(), 1 + models.len(), "{text}");
    assert_eq!(code(&sample.run(&["projections", "rebuild", "calls"])), 0);
    assert_eq!(code(&sample.run(&["projections", "rebuild", "none"])), 1);
}

#[test]
fn runs_are_shown_one_by_one_and_step_by_step() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("events.ndjson");
    let event = |id: u64, kind: &str, data: Value| {
        json!({"specversion": "1.0", "id": id.to_string(), "source": "test", "type": kind, "subject": "run/1", "agent": "coder", "data": data}).to_string() + "\n"
    };
    let step = json!({"run": "1", "node": "act", "node_type": "agent", "status": "timeout", "attempt": 1, "cost_micro_usd": 12});
    let events = [
        event(1, "run.started", json!({"run": "1", "kind": "graph", "case": "7"})),
        event(2, "run.step", step),
        event(3, "run.failed", json!({"run": "1", "error_type": "timeout"})),
    ];
    fs::write(&file, events.concat()).unwrap();
    assert_eq!(code(&sample.run(&["append", file.to_str().unwrap()])), 0);
    let list = String::from_utf8(sample.run(&["runs", "--state", "failed"]).stdout).unwrap();
    assert!(list.lines().count() == 2 && list.contains("coder"), "{list}");
    let one = String::from_utf8(sample.run(&["runs", "1"]).stdout).unwrap();
    for part in ["failed: timeout", "case", "0.000012", "act"] {
        assert!(one.contains(part), "{part} in {one}");
    }
    assert_eq!(code(&sample.run(&["runs", "2"])), 1);
    let none = String::from_utf8(sample.run(&["runs", "--state", "paused"]).stdout).unwrap();
    assert_eq!(none.trim_end(), "there is no such run");
}

#[test]
fn sessions_are_listed_and_shown() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    fs::write(&file, (0..20).map(|call| action(call) + "\n").collect::<String>()).unwrap();
    assert_eq!(code(&sample.run(&["import", "--accept", file.to_str().unwrap()])), 0);
    let list = String::from_utf8(sample.run(&["sessions"]).stdout).unwrap();
    assert_eq!(list.lines().count(), 4, "{list}");
    assert!(list.lines().skip(1).all(|line| line.starts_with("2026-01-01")), "as it happened: {list}");
    let lines = |filter: &[&str]| {
        let arguments = [&["sessions", "list"], filter].concat();
        String::from_utf8(sample.run(&arguments).stdout).unwrap().lines().count()
    };
    for filter in [
        ["--state", "ended"],
        ["--agent", "nobody"],
        ["--harness", "another"],
        ["--since", "2100-01-01T00:00:00Z"],
        ["--before", "2001-01-01T00:00:00Z"],
    ] {
        assert_eq!(lines(&filter), 1, "{filter:?}: there is no such session");
    }
    let all = ["--state", "open", "--harness", "claude-code", "--since", "2001-01-01T00:00:00Z"];
    assert_eq!(lines(&all), 4);
    let shown = told(&sample.run(&["sessions", "show", "s1", "--json"]));
    assert_eq!((&shown["calls"]["all"], &shown["calls"]["error"]), (&json!(7), &json!(1)));
    let shown = String::from_utf8(sample.run(&["sessions", "show", "s1"]).stdout).unwrap();
    for part in ["not as far as is recorded", "claude-code", "elsewhere"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let one = told(&sample.run(&["sessions", "--limit", "1", "--json"]));
    assert_eq!(one["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(code(&sample.run(&["sessions", "show", "none"])), 1);
}

#[test]
fn contracts_are_shown_with_their_checks_and_rollbacks() {
    let sample = Sample::new(0);
    let shown = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    assert_eq!(shown(&["contracts"]).trim_end(), "no contract is defined");
    assert_eq!(shown(&["contracts", "rollbacks"]).trim_end(), "there is no such rollback");
    let file = sample.folder.path().join("events.ndjson");
    let event = |id: u64, kind: &str, data: Value| {
        json!({"specversion": "1.0", "id": id.to_string(), "source": "test", "type": kind, "subject": "steps", "data": data}).to_string() + "\n"
    };
    let lint = json!({"type": "lint", "passed": false});
    let events = [
        event(
            1,
            "contract.defined",
            json!({"contract": "edit", "pre": [{"type": "tree_clean"}], "post": [], "rollback": [{"type": "git_reset"}], "blast_radius": "high"}),
        ),
        event(
            2,
            "contract.checked",
            json!({"contract": "edit", "run": "r", "node": "n", "phase": "pre", "checks": [lint]}),
        ),
        event(
            3,
            "rollback.executed",
            json!({"contract": "edit", "call": "c1", "run": "r", "node": "n", "status": "error", "steps": [lint]}),
        ),
        event(
            4,
            "contract.checked",
            json!({"contract": "edit", "run": "r", "node": "held", "phase": "pre", "checks": [{"type": "tree_clean", "passed": true}]}),
        ),
        event(
            5,
            "rollback.executed",
            json!({"contract": "other", "call": "c2", "run": "r", "node": "n", "status": "ok", "steps": []}),
        )
        .replace(r#""source""#, r#""agent":"tester","source""#),
    ];
    fs::write(&file, events.concat()).unwrap();
    assert_eq!(code(&sample.run(&["append", file.to_str().unwrap()])), 0);
    for (arguments, parts) in [
        (&["contracts", "list"][..], &["edit", "high"][..]),
        (&["contracts", "show", "edit"], &["did not hold", "tree_clean", "git_reset"]),
        (&["contracts", "checks", "edit", "--failed"], &["lint, tree_clean not made"]),
        (
            &["contracts", "rollbacks", "--contract", "edit"],
            &["error of 1 steps", "without lint", "executed"],
        ),
    ] {
        let text = shown(arguments);
        assert!(parts.iter().all(|part| text.contains(part)), "{arguments:?}: {text}");
    }
    let listed = |arguments: &[&str], list: &str| {
        let all = [&["contracts"], arguments, &["--json"]].concat();
        told(&sample.run(&all))[list].as_array().unwrap().len()
    };
    assert_eq!(listed(&["checks", "edit"], "checks"), 2);
    assert_eq!(listed(&["checks", "edit", "--failed"], "checks"), 1);
    for (filter, found) in [
        (&[][..], 2),
        (&["--contract", "edit"], 1),
        (&["--agent", "tester"], 1),
        (&["--agent", "coder"], 0),
        (&["--state", "executed"], 2),
        (&["--state", "pending"], 0),
    ] {
        assert_eq!(listed(&[&["rollbacks"], filter].concat(), "rollbacks"), found, "{filter:?}");
    }
    // The newest first: what held, and what did not.
    let checks = shown(&["contracts", "checks", "edit"]);
    let holds: Vec<_> = checks.lines().skip(1).map(|line| line.split_whitespace().nth(3).unwrap()).collect();
    assert_eq!(holds, ["yes", "no"], "{checks}");
    assert_eq!(code(&sample.run(&["contracts", "show", "none"])), 1);
}

#[test]
fn a_service_cannot_require_a_model_that_there_is_not() {
    let sample = Sample::new(0);
    let refused = sample.run(&["serve", "--listen", "127.0.0.1:0", "--require-models", "calls,call"]);
    assert_eq!(code(&refused), 2);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("`call` is no read model") && told.contains("checkpoints"), "{told}");
}

#[test]
fn a_bound_of_warm_data_is_a_time_of_at_least_thirty_days() {
    let sample = Sample::new(0);
    for (bound, why) in [("1y", "write days, weeks or months"), ("29d", "30 to 36500 days")] {
        let refused = sample.run(&["serve", "--listen", "127.0.0.1:0", "--warm-for", bound]);
        let told = String::from_utf8(refused.stderr.clone()).unwrap();
        assert!(code(&refused) == 2 && told.contains(why), "{told}");
    }
}

#[test]
fn checkpoints_are_saved_shown_forked_copied_and_deleted() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("checkpoint.json");
    let path = file.to_str().unwrap();
    let shown = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    let saved = json!({"checkpoint": "c1", "step": 0, "source": "loop", "metadata": {"run_id": "r1"},
        "channelVersions": {"plan": 1}, "values": {"plan": {"json": ["read", "write"]}}});
    fs::write(&file, saved.to_string()).unwrap();
    let said = shown(&["checkpoints", "save", "t1", path]);
    assert!(said.starts_with("recorded at position "), "{said}");
    let again = shown(&["checkpoints", "save", "t1", path]);
    assert_eq!(again, said.replace("recorded", "was recorded before"));
    let writes =
        json!({"checkpoint": "c1", "task": "act", "writes": [{"channel": "plan", "value": {"json": 7}}]});
    fs::write(&file, writes.to_string()).unwrap();
    assert_eq!(code(&sample.run(&["checkpoints", "write", "t1", path])), 0);
    assert_eq!(code(&sample.run(&["checkpoints", "fork", "t1", "--as", "c2"])), 0);
    let list = shown(&["checkpoints", "list", "--thread", "t1", "--filter", r#"{"run_id":"r1"}"#]);
    assert!(list.lines().count() == 3 && list.lines().nth(1).unwrap().ends_with("c2"), "{list}");
    let one = shown(&["checkpoints", "show", "t1", "--checkpoint", "c1"]);
    for part in ["0, loop", r#"["read","write"]"#, r#"{"run_id":"r1"}"#, "act   0      plan     7"] {
        assert!(one.contains(part), "{part} in {one}");
    }
    let fork = told(&sample.run(&["checkpoints", "show", "t1", "--json"]));
    assert_eq!((&fork["parent"], &fork["values"]["plan"]["json"]), (&json!("c1"), &json!(["read", "write"])));
    assert_eq!(code(&sample.run(&["checkpoints", "copy", "t1", "t2"])), 0);
    assert_eq!(code(&sample.run(&["checkpoints", "copy", "t1", "t2"])), 3);
    assert_eq!(code(&sample.run(&["checkpoints", "delete", "t1", "--keep-newest"])), 0);
    assert_eq!(code(&sample.run(&["checkpoints", "delete", "t2"])), 0);
    assert_eq!(code(&sample.run(&["checkpoints", "show", "t2"])), 1);
    assert_eq!(shown(&["checkpoints"]).lines().count(), 2);
    fs::write(&file, "{").unwrap();
    assert_eq!(code(&sample.run(&["checkpoints", "save", "t1", path])), 1);
}

#[test]
fn projections_that_fail_are_told_by_the_exit_code_too() {
    let sample = Sample::new(1);
    assert_eq!(code(&sample.run(&["projections"])), 0);
    // The store cannot be opened, and is put aside.
    let version = sample.ledger().join("projections/models/version");
    for more in [&[][..], &["--json"]] {
        fs::write(&version, "of something else").unwrap();
        let listed = sample.run(&[&["projections"], more].concat());
        let text = String::from_utf8(listed.stdout.clone()).unwrap();
        assert_eq!(code(&listed), 50, "{text}");
        assert!(text.contains("degraded"), "{text}");
        // The store that takes its place is whole.
        assert_eq!(code(&sample.run(&["projections"])), 0);
    }
}

#[test]
fn projections_of_all_pages_are_shown() {
    let one = |ledger: &str, next: Option<&str>| {
        let index = json!({"ledger": ledger, "name": "index", "version": 1, "state": "ok", "position": "1", "lag": 0});
        json!({"projections": [index], "next": next}).to_string()
    };
    let answers = || vec!["{}".to_owned(), one("first", Some("first")), one("second", None)];
    let shown = command(&["projections", "--url", &answering(answers())]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("first") && text.contains("second"), "{text}");
    let listed = told(&command(&["projections", "--json", "--url", &answering(answers())]).output().unwrap());
    assert_eq!(listed["projections"].as_array().unwrap().len(), 2, "{listed}");
}

#[test]
fn a_call_that_was_denied_is_not_one_whose_end_is_still_to_come() {
    let sample = Sample::new(0);
    let said = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    let asked = ["decide", "--call", "c1", "--tool", "none", "--args", "{}", "--session", "s"];
    assert!(said(&asked).starts_with("deny  tool-unknown"));
    let row = said(&["calls", "--outcome", "denied"]);
    let row = row.lines().nth(1).unwrap_or_default().to_owned();
    assert!(row.split_whitespace().any(|cell| cell == "denied") && row.ends_with("c1"), "{row}");
    assert_eq!(said(&["calls", "--outcome", "open"]).trim_end(), "there is no such call");
    assert!(said(&["calls", "c1"]).lines().any(|line| line.split_whitespace().eq(["outcome", "denied"])));
    let session = said(&["sessions", "show", "s"]);
    assert!(session.contains("1 stopped, 0 lapsed, 0 pending, 0 open"), "{session}");
    assert_eq!(said(&["gaps"]).trim_end(), "of every call that is known, both halves are recorded");
    let told = ["outcome", "--call", "c1", "--status", "ok"];
    assert_eq!(code(&sample.run(&told)), 0);
    let shown = said(&["calls", "c1"]);
    assert!(shown.contains("ok, though it was not allowed"), "{shown}");
    assert!(said(&["gaps"]).contains("it ran although it was not allowed"));
}

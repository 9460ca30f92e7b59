//! Tests of command answers: one document for programs, names for people, success without need.

use std::fs;

use serde_json::{Value, json};

use crate::governing::LedgerAccess;
use crate::sample::{Sample, code, command, told, why};

/// More calls than one page of any answer has.
const CALLS: usize = 1_003;

#[test]
fn a_list_is_one_json_document_however_long_it_is() {
    let sample = Sample::new(0);
    let call = |number: usize| {
        json!({"at": "2026-01-05T15:02:06.978Z", "session": format!("s{number}"), "call": format!("c{number}"), "tool": "Bash",
            "model": "m", "input": {"command": "ls"}, "outcome": "ok", "ended_at": "2026-01-05T15:02:07Z"})
    };
    let lines: String = (0..CALLS).map(|number| call(number).to_string() + "\n").collect();
    let file = sample.folder.path().join("actions.ndjson");
    fs::write(&file, lines).unwrap();
    assert_eq!(code(&sample.run(&["import", file.to_str().unwrap(), "--accept"])), 0);
    for list in ["calls", "sessions"] {
        let whole = told(&sample.run(&[list, "--limit", "2000", "--json"]));
        assert_eq!((whole[list].as_array().unwrap().len(), whole.get("next")), (CALLS, None), "{list}");
        let part = told(&sample.run(&[list, "--limit", "1001", "--json"]));
        assert_eq!(part[list].as_array().unwrap().len(), 1_001);
        assert!(part["next"].is_string(), "there is more of {list}");
    }
    let said = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    for list in ["calls", "sessions"] {
        assert!(said(&[list]).lines().last().unwrap().starts_with("and more: "), "{list}");
        assert_eq!(said(&[list, "--limit", "2000"]).lines().count(), CALLS + 1, "{list}");
    }
    let elsewhere = said(&["trust", "history", "--tool", "Bash", "--context", "ls"]);
    assert!(elsewhere.contains("see `bitacora trust top --tool Bash` for others"), "{elsewhere}");
    let made = told(&sample.run(&["trust", "suggest", "--make", "--json"]));
    let (ids, suggestions) = (&made["made"], &made["suggestions"]);
    assert_eq!((ids.as_array().unwrap().len(), &ids[0]), (1, &suggestions[0]["suggestion"]), "{made}");
    let policy = sample.folder.path().join("policy.json");
    fs::write(&policy, r#"{"rules":[]}"#).unwrap();
    let published =
        told(&sample.run(&["policy", "publish", policy.to_str().unwrap(), "--activate", "--json"]));
    assert_eq!(published["version"], "1");
    assert!(published["activated"]["position"].is_string(), "{published}");
}

#[test]
fn an_empty_ledger_says_that_it_is_empty_and_not_that_something_is_missing() {
    let sample = Sample::new(0);
    for (list, words) in [
        ("calls", "no call is recorded"),
        ("runs", "no run is recorded"),
        ("sessions", "no session is recorded"),
        ("checkpoints", "no checkpoint is saved"),
    ] {
        let shown = sample.run(&[list]);
        assert_eq!((code(&shown), String::from_utf8(shown.stdout).unwrap().trim_end()), (0, words), "{list}");
    }
}

#[test]
fn what_nobody_told_the_cost_of_is_not_said_to_be_free() {
    let sample = crate::learning::imported();
    let said = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    let sessions = said(&["sessions"]);
    let row: Vec<_> = sessions.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(row[6], "-", "{sessions}");
    assert!(said(&["sessions", "show", "s1"]).contains("cost, USD        -\n"));
    assert!(said(&["costs"]).ends_with("--prices FILE estimates it from the tokens\n"));
    let twice = said(&["costs", "--by", "day,day,model"]);
    assert!(twice.split_whitespace().take(3).eq(["day", "model", "USD"]), "{twice}");
}

#[test]
fn a_run_is_one_json_document_with_its_steps() {
    let sample = Sample::new(0);
    let event = |id: u64, kind: &str, data: Value| {
        json!({"specversion": "1.0", "id": id.to_string(), "source": "test", "type": kind, "subject": "run/1", "data": data}).to_string() + "\n"
    };
    let step =
        |node: &str| json!({"run": "1", "node": node, "node_type": "agent", "status": "ok", "attempt": 1});
    let events = [
        event(1, "run.started", json!({"run": "1", "kind": "graph"})),
        event(2, "run.step", step("plan")),
        event(3, "run.step", step("act")),
    ];
    let file = sample.folder.path().join("events.ndjson");
    fs::write(&file, events.concat()).unwrap();
    assert_eq!(code(&sample.run(&["append", file.to_str().unwrap()])), 0);
    let shown = told(&sample.run(&["runs", "1", "--json"]));
    let nodes: Vec<_> = shown["steps"].as_array().unwrap().iter().map(|step| &step["node"]).collect();
    assert_eq!((&shown["run"]["state"], nodes.len()), (&json!("running"), 2));
    assert!(nodes.contains(&&json!("plan")) && nodes.contains(&&json!("act")), "{shown}");
}

#[test]
fn an_approval_whose_call_has_ended_waits_for_nobody() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let (approval, args) = waiting(&way);
        let outcome = |agent: &str| {
            way.run(&["outcome", "--call", "c1", "--status", "error", "--agent", agent]);
        };
        outcome("another");
        assert!(way.does(&["approvals"]).contains(&approval), "what others tell ends no call");
        outcome("coder");
        let list = way.does(&["approvals"]);
        assert!(list.starts_with("no approval is pending\n1 more of calls that have ended"), "{list}");
        assert!(way.does(&["approvals", "list", "--all"]).contains(&args));
        assert_eq!(way.json(0, &["approvals"])["approvals"][0]["callEnded"], true);
        let shown = way.does(&["approvals", "show", &approval]);
        assert!(shown.contains("call       c1, which has ended meanwhile\n"), "{shown}");
        assert!(way.does(&["report", "learned"]).contains("no approval is pending"));
    }
}

/// A call that waits for a person: its approval and its arguments.
fn waiting(way: &LedgerAccess) -> (String, String) {
    let args = r#"{"file_path":"src/a.rs","content":"x"}"#.to_owned();
    let decide = ["decide", "--call", "c1", "--tool", "Write", "--cwd", "/home/ana/project"];
    let asked = way.json(3, &[&decide[..], &["--agent", "coder", "--args", &args]].concat());
    (asked["approval"]["id"].as_str().unwrap().to_owned(), args)
}

#[test]
fn an_act_that_finds_nothing_to_act_on_records_nothing_and_ends_with_one() {
    for way in LedgerAccess::both() {
        let head = || told(&way.run(&["panic", "show", "--json"]));
        let of_one = ["rates", "clear", "--by", "agent", "--name", "coder"];
        let refused = |idle: &[&str]| {
            let output = way.run(idle);
            assert_eq!(code(&output), 1, "{idle:?}");
            assert!(output.stdout.is_empty(), "{idle:?}");
            why(&output)
        };
        for (idle, says) in [
            (&["panic", "release", "--reason", "x"][..], "no panic is engaged; nothing was recorded"),
            (&of_one, "; nothing was recorded"),
            (&["agents", "resume", "nobody", "--reason", "x"], "no-such-thing"),
            (&["grants", "revoke", "none"], "no-such-thing"),
            (&["breakers", "close", "--tool", "none"], "no-such-thing"),
        ] {
            assert!(refused(idle).contains(says), "{idle:?}: {}", refused(idle));
        }
        way.does(&["rates", "set", "--by", "agent", "--burst", "1", "--refill", "1"]);
        let named = refused(&of_one);
        assert!(named.contains("no such limit"), "that of each agent is not that of one: {named}");
        assert!(way.does(&["rates", "clear", "--by", "agent"]).starts_with("recorded at position "));
        way.does(&["panic", "engage", "--reason", "x"]);
        assert_eq!(head()["panic"], true);
        assert!(way.does(&["panic", "release", "--reason", "x"]).starts_with("recorded at position "));
        assert_eq!(head()["panic"], false);
    }
}

#[test]
fn what_is_no_version_of_a_policy_is_said_to_be_none() {
    let sample = Sample::new(0);
    for wrong in [&["activate", "abc"][..], &["retire", "0"], &["show", "first"], &["diff", "1", "x"]] {
        let refused = sample.run(&[&["policy"][..], wrong].concat());
        assert_eq!(code(&refused), 2, "{wrong:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("a version is a number, as `bitacora policy` lists them"), "{said}");
    }
    assert_eq!(code(&sample.run(&["policy", "activate", "v7"])), 1, "there is none");
}

#[test]
fn what_is_asked_for_wrongly_is_said_in_words() {
    let sample = Sample::new(0);
    for list in ["calls", "sessions"] {
        let refused = sample.run(&[list, "--limit", "0"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(code(&refused) == 2 && said.contains("not a number from 1 on"), "{said}");
    }
    let none = sample.run(&["projections", "rebuild", "none"]);
    assert!(why(&none).contains("there is no read model `none`; there are calls, "), "{}", why(&none));
}

#[test]
fn whoever_answers_is_named_and_whoever_has_no_token_is_told_where_it_goes() {
    let way = LedgerAccess::service().governed();
    let token = |arguments: &[&str]| way.does(&[&["token", "create"][..], arguments].concat());
    let (approval, _) = waiting(&way);
    let admin = token(&["--role", "admin", "--name", "ana"]);
    let LedgerAccess::Service { service, .. } = &way else { panic!("it is a service") };
    let url = format!("http://{}", service.address);
    let with_token = |arguments: &[&str]| {
        let run =
            command(arguments).args(["--url", &url]).env("BITACORA_TOKEN", admin.trim()).output().unwrap();
        assert_eq!(code(&run), 0, "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    let approved = with_token(&["approvals", "approve", &approval]);
    let said = approved.lines().find(|line| line.starts_with("said ")).unwrap();
    assert!(said.contains("approved by admin:") && said.contains(" (ana), "), "{approved}");
    // The names are known after the tokens are revoked, too.
    let bob = with_token(&["token", "create", "--role", "admin", "--name", "bob", "--json"]);
    let bob: Value = serde_json::from_str(&bob).unwrap();
    let principals: Value = serde_json::from_str(&with_token(&["token", "list", "--json"])).unwrap();
    let ana = principals["principals"].as_array().unwrap().iter().find(|one| one["name"] == "ana").unwrap();
    let revoke = ["token", "revoke", ana["principal"].as_str().unwrap(), "--url", &url];
    let bob = bob["token"].as_str().unwrap();
    let revoked = command(&revoke).env("BITACORA_TOKEN", bob).output().unwrap();
    assert!(String::from_utf8(revoked.stdout).unwrap().starts_with("recorded at position "));
    for shown in [&["approvals", "people"][..], &["approvals", "answered"], &["report", "learned"]] {
        let shown = command(shown).args(["--url", &url]).env("BITACORA_TOKEN", bob).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains(" (ana)"), "{shown}");
    }

    let event = r#"{"specversion":"1.0","id":"1","source":"s","type":"x.noted","subject":"s"}"#;
    let file = way.file("events.ndjson", event);
    for arguments in [
        &["read"][..],
        &["tail"],
        &["token", "list"],
        &["append", &file],
        &["import", &file],
        &["prove", "1", "--receipt"],
        &["calls"],
    ] {
        let refused = command(arguments).args(["--url", &url]).output().unwrap();
        assert_eq!(code(&refused), 3, "{arguments:?}: {}", why(&refused));
        assert!(
            why(&refused).contains("--token-file or in BITACORA_TOKEN"),
            "{arguments:?}: {}",
            why(&refused)
        );
    }
}

#[test]
fn a_usage_error_shows_no_argument_as_it_is() {
    for arguments in [
        &["read", "--since", "\u{1b}]0;x\u{7}"][..],
        &["\u{202e}\u{1b}[2J"],
        &["read", "--ledger", "\u{1b}[2J"],
    ] {
        let output = command(arguments).output().unwrap();
        assert_eq!(code(&output), 2, "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(command(&["--help"]).stdout(full).status().unwrap().code(), Some(1));
}

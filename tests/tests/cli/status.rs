//! Tests of what every command has: status, help by group, the options it uses, times, and errors as documents.

use serde_json::Value;

use crate::governing::LedgerAccess;
use crate::sample::{code, command};

/// The last line on stderr.
fn last_line(output: &std::process::Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn status_names_the_ledger_and_what_is_pending() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        way.does(&["agents", "suspend", "coder", "--reason", "a drill"]);
        let told = way.json(0, &["status"]);
        assert_eq!(
            (&told["ledger"], &told["mode"], &told["panic"]),
            (&"main".into(), &"enforce".into(), &false.into())
        );
        assert_eq!((&told["pendingApprovals"], &told["suspendedAgents"]), (&0.into(), &1.into()), "{told}");
        let state = if matches!(way, LedgerAccess::Folder(_)) { Value::Null } else { "ready".into() };
        assert_eq!((&told["state"], told["id"].is_string()), (&state, true), "{told}");
        let shown = way.does(&["status"]);
        for line in ["agents     1 suspended\n", "approvals  0 pending\n", "panic      no\n"] {
            assert!(shown.contains(line), "{shown}");
        }
    }
}

#[test]
fn status_says_what_to_do_where_nothing_answers() {
    let output = command(&["status", "--url", "http://127.0.0.1:1"]).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(last_line(&output).contains("start it with `bitacora serve`"), "{}", last_line(&output));
}

#[test]
fn an_error_with_json_is_a_problem_document() {
    let way = LedgerAccess::service();
    let problem = |arguments: &[&str], expected: i32| -> Value {
        let output = way.run(arguments);
        assert_eq!((code(&output), output.stdout.is_empty()), (expected, true), "{arguments:?}");
        serde_json::from_str(&last_line(&output)).unwrap()
    };
    let refused = problem(&["approvals", "show", "a1", "--json"], 1);
    assert_eq!(
        (&refused["status"], &refused["code"]),
        (&404.into(), &"no-such-approval".into()),
        "{refused}"
    );
    assert!(refused["type"].is_string() && refused["title"].is_string(), "{refused}");
    let local = problem(&["panic", "release", "--reason", "over", "--json"], 1);
    assert_eq!((&local["code"], &local["exit"]), (&"command-failed".into(), &1.into()), "{local}");
    let usage = problem(&["calls", "--since", "someday", "--json"], 2);
    assert_eq!(usage["code"], "command-line");
}

#[test]
fn a_command_takes_the_options_and_times_that_it_uses() {
    let way = LedgerAccess::service();
    let unused = command(&["completions", "bash", "--anchor", "none"]).output().unwrap();
    assert_eq!(code(&unused), 2);
    for time in ["24h", "7d", "yesterday", "today", "2026-11-20", "2026-11-20T13:00:00Z"] {
        for what in ["calls", "sessions", "read", "costs"] {
            way.does(&[what, "--since", time]);
        }
    }
}

#[test]
fn help_lists_commands_in_groups_and_explains_one() {
    let help = |arguments: &[&str]| String::from_utf8(command(arguments).output().unwrap().stdout).unwrap();
    let all = help(&["--help"]);
    for group in ["Ledger:", "Govern:", "Ask:", "Prove:", "Operate:", "Global options:"] {
        assert!(all.lines().any(|line| line == group), "{group}: {all}");
    }
    assert_eq!(help(&["help"]), all);
    let one = help(&["help", "trust"]);
    assert!(one.contains("Examples:\n  bitacora trust\n"), "{one}");
}

//! Tests of operators' commands besides deciding: consent, limits, policy trials, grounds of trust.

use serde_json::json;

use crate::governing::LedgerAccess;
use crate::sample::{code, why};

/// Asks for a call of `Write`; its verdict and code.
/// A folder that the starter's rules mean.
const PROJECT: &str = "/home/ana/project";

fn ask(way: &LedgerAccess, call: &str, path: &str) -> String {
    let args = json!({"file_path": path, "content": "x"}).to_string();
    let whose = ["--cwd", PROJECT, "--agent", "coder"];
    let asked =
        way.run(&[&["decide", "--call", call, "--tool", "Write", "--args", &args], &whose[..]].concat());
    String::from_utf8(asked.stdout).unwrap().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn consent_is_given_seen_used_and_taken_back() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert_eq!(way.does(&["grants"]), "nobody has consented to calls beforehand\n");
        assert_eq!(ask(&way, "c1", "src/a.rs"), "review  score-too-low");
        let give = [
            "grants",
            "give",
            "--tool",
            "Write",
            "--context",
            "src",
            "--agent",
            "coder",
            "--workspace",
            PROJECT,
            "--for",
            "12h",
        ];
        let given = way.does(&[&give[..], &["--id", "g1", "--note", "for the release"]].concat());
        assert!(
            given.starts_with("grant g1 holds until 20") && given.contains("recorded at position "),
            "{given}"
        );
        let list = way.does(&["grants", "list"]);
        let row = list.lines().nth(1).unwrap();
        assert!(
            row.starts_with("g1     20")
                && row.ends_with("of Write on src, agent coder, in /home/ana/project  for the release"),
            "{list}"
        );
        assert_eq!(way.json(0, &["grants"])["grants"][0]["scope"]["context"], "src");
        assert_eq!(ask(&way, "c2", "src/a.rs"), "allow  granted");
        assert_eq!(ask(&way, "c3", "other/a.rs"), "review  score-too-low");
        let made = way.json(0, &give);
        assert!(made["grant"].as_str().unwrap().starts_with('g'), "{made}");
        let same = way.run(&[&give[..], &["--id", "g1"]].concat());
        assert!(code(&same) == 3 && why(&same).contains("use a new id"), "{}", why(&same));

        let revoked = way.does(&["grants", "revoke", "g1", "--note", "released"]);
        assert!(revoked.starts_with("recorded at position "), "{revoked}");
        way.does(&["grants", "revoke", made["grant"].as_str().unwrap()]);
        assert_eq!(ask(&way, "c4", "src/a.rs"), "review  score-too-low");
        let gone = way.run(&["grants", "revoke", "g1"]);
        assert!(code(&gone) == 1 && why(&gone).contains("there is no grant `g1`"), "{}", why(&gone));
    }
}

#[test]
fn limits_are_set_used_up_seen_and_taken_away() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert_eq!(way.does(&["rates"]), "no limit is set: calls are taken as they come\n");
        let set = ["rates", "set", "--by", "agent", "--name", "coder", "--burst", "2", "--refill", "1"];
        way.does(&[&set[..], &["--period-ms", "3600000"]].concat());
        way.does(&["rates", "set", "--by", "tool", "--burst", "9", "--refill", "9"]);
        for call in ["c1", "c2"] {
            assert_eq!(ask(&way, call, "src/a.rs"), "review  score-too-low");
        }
        assert_eq!(ask(&way, "c3", "src/a.rs"), "deny  rate-limited");
        let list = way.does(&["rates", "list", "--by", "agent"]);
        assert!(list.contains("2      1       3600000   of agent coder\n"), "{list}");
        let left = list.lines().last().unwrap();
        assert!(left.starts_with("0     2   3") && left.ends_with("of agent coder"), "{list}");
        assert!(!list.contains("tool"), "{list}");
        assert!(way.does(&["rates"]).contains("of each tool\n"));
        assert_eq!(way.json(0, &["rates"])["limits"].as_array().unwrap().len(), 2);
        way.does(&["rates", "clear", "--by", "agent", "--name", "coder"]);
        assert_eq!(ask(&way, "c4", "src/a.rs"), "review  score-too-low");
        assert_eq!(code(&way.run(&["rates", "list", "--name", "coder"])), 2);
        assert_eq!(
            code(&way.run(&["rates", "set", "--by", "agent", "--burst", "0", "--refill", "2000000000"])),
            3
        );
    }
}

#[test]
fn budgets_are_set_spent_seen_and_lifted() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert_eq!(way.does(&["budgets"]), "no budget is set: calls may spend what they like\n");
        let set = [
            "budgets",
            "set",
            "coders",
            "--agent",
            "coder",
            "--period",
            "thirty-days",
            "--on-exceed",
            "deny",
        ];
        let done = way.does(&[&set[..], &["--cost-usd", "0.5", "--calls", "1"]].concat());
        assert!(done.starts_with("recorded at position ") && done.lines().count() == 1, "{done}");
        way.does(&["budgets", "set", "all", "--period", "session", "--on-exceed", "pause", "--tokens", "9"]);
        assert_eq!(ask(&way, "c1", "src/a.rs"), "review  score-too-low", "what does not run spends nothing");
        way.does(&["mode", "observe"]);
        ask(&way, "c2", "src/a.rs");
        way.does(&["mode", "enforce"]);
        assert_eq!(ask(&way, "c3", "src/a.rs"), "deny  budget-spent");
        let list = way.does(&["budgets", "list", "--agent", "coder"]);
        assert!(list.contains("coders  0.5 USD, 0 calls  0.5 USD, 1 calls  thirty_days  -"), "{list}");
        assert!(!list.contains("everything"), "in a session alone: {list}");
        let other = way.does(&["budgets", "list", "--agent", "nobody", "--tool", "fs.read"]);
        assert_eq!(other, "none that this call counts in; 2 are set\n");
        let gaps = way.does(&["gaps"]);
        assert_eq!(gaps, "no gap was recorded; 2 calls have no outcome yet\n", "what is denied gets none");
        let shown = way.does(&["budgets", "show", "coders"]);
        assert!(
            shown.contains("reserved  1 calls\n") && shown.contains("of what   agent coder\n"),
            "{shown}"
        );
        assert_eq!(way.json(0, &["budgets"])["budgets"].as_array().unwrap().len(), 2);
        let below = way.does(&[&set[..], &["--calls", "0"]].concat());
        assert!(below.ends_with("nothing is left of it: the next call meets the limit\n"), "{below}");
        way.does(&["budgets", "clear", "coders"]);
        assert_eq!(ask(&way, "c4", "src/a.rs"), "review  score-too-low");
        for more in [&[][..], &["--json"]] {
            assert_eq!(
                code(&way.run(&[&["budgets", "show", "coders"], more].concat())),
                1,
                "it is not there"
            );
        }
        assert_eq!(code(&way.run(&["budgets", "clear", "coders"])), 3);
        assert_eq!(code(&way.run(&["budgets", "set", "x", "--period", "day", "--on-exceed", "deny"])), 2);
        assert_eq!(code(&way.run(&[&set[..], &["--cost-usd", "1e9"]].concat())), 3);
        let much = way.run(&[&set[..], &["--cost-usd", "99999999999999999999"]].concat());
        assert!(why(&much).contains("more than any amount that is counted"), "{}", why(&much));
    }
}

#[test]
fn another_policy_is_tried_before_it_is_published_and_after() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert!(
            way.does(&["policy", "what-if", "1"])
                .starts_with("no call is recorded that it could be tried on\n")
        );
        ask(&way, "c1", "src/a.rs");
        ask(&way, "c2", "src/a.rs");
        let same = way.does(&["policy", "dry-run", "--starter"]);
        assert!(same.starts_with("nothing would be said otherwise of the last 2 calls\n"), "{same}");
        let rules = json!([{"id": "no", "match": {"tool": "Write"}, "action": "deny", "reason": "because"}]);
        let file = way.file("policy", &json!({"rules": rules}).to_string());
        let tried = way.does(&["policy", "dry-run", &file]);
        assert!(tried.starts_with("of the last 2 calls 2 would be judged otherwise\n"), "{tried}");
        assert!(tried.lines().any(|line| line.split_whitespace().eq(["2", "review", "deny"])), "{tried}");
        let row = tried.lines().find(|line| line.contains("  c2  ")).unwrap();
        assert!(row.contains("review score-too-low") && row.ends_with("deny policy-deny by no"), "{tried}");
        let last = way.json(0, &["policy", "dry-run", &file, "--limit", "1"]);
        assert_eq!(
            (&last["calls"], &last["changed"], &last["complete"]),
            (&json!(1), &json!(1), &json!(false))
        );
        assert_eq!(way.json(0, &["policy", "dry-run", &file, "--tool", "Read"])["calls"], 0);
        assert_eq!(
            way.json(0, &["policy"])["versions"].as_array().unwrap().len(),
            1,
            "nothing was published"
        );

        way.does(&["policy", "publish", &file]);
        let what_if = way.does(&["policy", "what-if", "2"]);
        assert!(
            what_if.contains("version   2\n") && what_if.contains("2 would be judged otherwise"),
            "{what_if}"
        );
        assert_eq!(way.json(0, &["policy", "what-if", "2", "--limit", "2"])["version"], "2");
        let missing = way.run(&["policy", "what-if", "7"]);
        assert!(code(&missing) == 1 && why(&missing).contains("there is no version 7"), "{}", why(&missing));
        assert_eq!(code(&way.run(&["policy", "what-if", "2", "--limit", "5001"])), 3);
    }
}

#[test]
fn the_best_and_the_worst_are_shown_and_what_one_rests_on() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        for (context, approvals, failures) in [("src", "40", "0"), ("docs", "2", "2"), ("tests", "9", "1")] {
            let set = ["trust", "set", "--tool", "Write", "--context", context, "--approvals", approvals];
            way.does(
                &[&set[..], &["--failures", failures, "--reason", "a drill", "--workspace", PROJECT]]
                    .concat(),
            );
        }
        let order = |which: &str| -> Vec<String> {
            let list = way.does(&["trust", which]);
            let context =
                |line: &str| line.split_once(" on ").unwrap().1.split(',').next().unwrap().to_owned();
            list.lines().skip(1).map(context).collect()
        };
        assert_eq!(order("top"), ["src", "tests", "docs"]);
        assert_eq!(order("bottom"), ["docs", "tests", "src"]);
        let worst = way.does(&["trust", "bottom", "--limit", "1"]);
        assert!(
            worst.contains("Write on docs, in /home/ana/project\n")
                && worst.ends_with("with --tool or --context\n"),
            "{worst}"
        );
        ask(&way, "c1", "src/a.rs");
        way.does(&["outcome", "--call", "c1", "--status", "error", "--agent", "coder"]);

        let src = ["trust", "history", "--tool", "Write", "--context", "src", "--workspace", PROJECT];
        let history = way.does(&src);
        let rows: Vec<Vec<&str>> = history
            .lines()
            .skip(1)
            .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), 2, "{history}");
        assert_eq!(rows[0][3..], ["error", "-", "call c1"], "{history}");
        assert_eq!(rows[1][3..], ["set to 40, 0, 0, streak 0", "admin:local", "a drill"], "{history}");
        let newest = way.does(&[&src[..], &["--limit", "1"]].concat());
        let older = newest.lines().last().unwrap().strip_prefix("older ones: --until ").unwrap();
        let rest = way.does(&[&src[..], &["--until", older]].concat());
        assert!(rest.contains("set to 40") && !rest.contains("error"), "{rest}");
        assert_eq!(way.json(0, &src)["outcomes"].as_array().unwrap().len(), 2);
        let nothing = way.does(&["trust", "history", "--tool", "Write", "--context", "elsewhere"]);
        assert!(nothing.starts_with("nothing was recorded of it up to there"), "{nothing}");
    }
}

#[test]
fn a_list_that_is_longer_than_a_page_is_shown_whole() {
    let way = LedgerAccess::folder();
    let tools: Vec<_> = (0..101)
        .map(|number| {
            json!({
                "tool": format!("tool-{number:03}"), "version": "1", "description": "a tool", "input_schema": {},
                "risk": "read", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
                "timeout_ms": 1_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": []
            })
        })
        .collect();
    let file = way.file("tools", &json!(tools).to_string());
    way.does(&["tools", "register", &file]);
    let list = way.does(&["tools", "list"]);
    assert_eq!(list.lines().count(), 102, "{list}");
    assert!(list.lines().last().unwrap().starts_with("tool-100  "), "{list}");
    assert_eq!(way.json(0, &["tools", "list"])["tools"].as_array().unwrap().len(), 101);
    assert!(way.does(&["tools", "register", &file]).lines().all(|line| line.ends_with("  unchanged")));
}

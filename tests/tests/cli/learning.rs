//! Tests of `trust suggest`, `annotate` and `report learned`: from an imported history to a policy.

use std::fs;

use serde_json::json;

use crate::sample::{Sample, code, told};

fn text(sample: &Sample, arguments: &[&str]) -> String {
    let output = sample.run(arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Twenty-five calls that went well, five that failed, and one whose end is not known.
pub(crate) fn imported() -> Sample {
    let sample = Sample::new(0);
    let call = |number: u64, tool: &str, outcome: &str| {
        let mut line = json!({"at": "2026-01-05T15:02:06.978Z", "session": "s1", "call": format!("c{number}"),
            "tool": tool, "model": "m", "input": {"command": "ls"}, "request": format!("r{number}"), "tokens_in": 10, "tokens_out": 3});
        line["outcome"] = json!(outcome);
        if outcome != "none" {
            line["ended_at"] = json!("2026-01-05T15:02:07Z");
        }
        line.to_string() + "\n"
    };
    let good = (0..25).map(|number| call(number, "Bash", "ok"));
    let bad = (25..30).map(|number| call(number, "Fetch", "error"));
    let lines: String = good.chain(bad).chain([call(30, "Bash", "none")]).collect();
    let file = sample.folder.path().join("actions.ndjson");
    fs::write(&file, lines).unwrap();
    text(&sample, &["import", file.to_str().unwrap()]);
    sample
}

#[test]
fn an_imported_history_becomes_suggestions_once_it_counts_and_one_becomes_a_policy() {
    let sample = imported();
    let before = text(&sample, &["report", "learned"]);
    let waits = before.split_once("imported, not accepted").unwrap().1.split("\n\n").next().unwrap();
    assert!(waits.contains("would be blocked") && waits.contains("would be promoted"), "{before}");
    assert!(before.contains("0 without a decision, 1 without an outcome"), "{before}");
    let gaps = text(&sample, &["gaps"]);
    let gap: Vec<_> = gaps.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(
        gap[1].starts_with("2026-01-05T15:02:06") && gap[2] > gap[1],
        "when it was, and when it was told: {gaps}"
    );
    let history = text(&sample, &["trust", "history", "--tool", "Bash", "--context", "ls", "--model", "m"]);
    let first: Vec<_> = history.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(first[1].starts_with("2026-01-05T15:02:07") && first[2] > first[1], "{history}");
    let none = text(&sample, &["trust", "suggest"]);
    assert!(none.starts_with("what was observed speaks for no rule; imports that do not count"), "{none}");
    assert!(text(&sample, &["trust", "top"]).contains("an import waits"));

    let digest =
        told(&sample.run(&["imports", "--json"]))["imports"][0]["digest"].as_str().unwrap().to_owned();
    assert!(before.contains(&digest[..12]), "{before}");
    assert_eq!(code(&sample.run(&["imports", "accept", &digest[..7]])), 1);
    assert!(text(&sample, &["imports", "show", &digest[..8]]).contains(&digest));
    text(&sample, &["imports", "accept", &digest[..12]]);
    let accepted = text(&sample, &["report", "learned"]);
    assert!(!accepted.contains("imported, not accepted"), "{accepted}");
    text(
        &sample,
        &[
            "annotate",
            "the one in the cage",
            "--tool",
            "Bash",
            "--context",
            "ls",
            "--model",
            "m",
            "--tag",
            "safe",
        ],
    );
    let shown = text(&sample, &["trust", "suggest", "--make"]);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!((lines[0], lines.len()), ("2 made", 4), "{shown}");
    assert!(lines[2].starts_with("block-") && lines[3].starts_with("promote-"), "{shown}");
    let promoted = lines.iter().find(|line| line.starts_with("promote-")).unwrap();
    assert!(promoted.contains("Bash on ls, by m [safe]") && promoted.contains("(25)"), "{promoted}");
    let position = told(&sample.run(&["trust", "suggest", "--state", "open", "--json"]));
    let all = position["suggestions"].as_array().unwrap();
    let blocked = all.iter().find(|one| one["kind"] == "block").unwrap();
    let evidence: u64 = blocked["evidence"][0].as_str().unwrap().parse().unwrap();
    let event =
        told(&sample.run(&["read", "--after", &(evidence - 1).to_string(), "--limit", "1", "--json"]));
    assert_eq!(
        (&event["event"]["type"], &event["event"]["data"]["outcome"]),
        (&json!("trust.observed"), &json!("error"))
    );

    let id = promoted.split_whitespace().next().unwrap();
    let taken = text(&sample, &["trust", "accept", id, "--note", "it is safe"]);
    assert!(taken.contains("version 1 of the policy") && taken.contains("policy activate 1"), "{taken}");
    assert!(text(&sample, &["policy", "show", "1"]).contains(id));
    assert_eq!(code(&sample.run(&["trust", "reject", id])), 3);
    let rejected = blocked["suggestion"].as_str().unwrap();
    text(&sample, &["trust", "reject", rejected, "--note", "it was the network"]);
    assert_eq!(
        text(&sample, &["trust", "suggest", "--make"]).trim_end(),
        "what was observed speaks for no rule"
    );

    let page = text(&sample, &["report", "learned", "--wide"]);
    assert!(page.contains("it was the network") && page.contains(id), "{page}");
    let whole = told(&sample.run(&["report", "learned", "--json"]));
    assert_eq!(whole["suggestions"]["accepted"]["suggestions"][0]["suggestion"], json!(id));
    assert_eq!(whole["costs"]["byModel"]["total"]["tokensIn"], "310");
    assert_eq!(whole["gaps"]["gaps"][0]["call"], "c30");
}

#[test]
fn a_note_on_nothing_is_refused() {
    let sample = Sample::new(0);
    assert!(text(&sample, &["annotate"]).contains("nobody noted anything there"));
    assert_eq!(code(&sample.run(&["annotate", "x", "--call", "c", "--position", "1"])), 2);
    let on_nothing = sample.run(&["annotate", "x"]);
    assert_eq!(code(&on_nothing), 2);
    let said = String::from_utf8_lossy(&on_nothing.stderr).into_owned();
    assert!(said.contains("name --position, --call or --tool"), "{said}");
}

#[test]
fn what_would_change_nothing_is_not_proposed() {
    let sample = imported();
    let policy = sample.folder.path().join("policy.json");
    let rules = r#"{"rules":[{"id":"shell","match":{"tool":"Bash","cwd":"/home/**"},"action":"allow","reason":"it works"}]}"#;
    fs::write(&policy, rules).unwrap();
    let proposed = || {
        let of = |state: &str| {
            let found = told(&sample.run(&["trust", "suggest", "--state", state, "--json"]));
            let kinds = found["suggestions"].as_array().unwrap().iter().map(|one| one["kind"].clone());
            kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        [of("imported"), of("candidate")]
    };
    let both = ["block", "promote"].map(str::to_owned).to_vec();
    let block = vec!["block".to_owned()];
    assert_eq!(proposed(), [both.clone(), vec![]]);
    // Nor is what a rule that comes first denies: neither to allow it nor to deny it once more.
    let denied = r#"{"rules":[{"id":"no","match":{"tool":["Bash","Fetch"]},"action":"deny","reason":"no"}]}"#;
    let denying = sample.folder.path().join("denying.json");
    fs::write(&denying, denied).unwrap();
    text(&sample, &["policy", "publish", denying.to_str().unwrap(), "--activate"]);
    assert_eq!(proposed(), [Vec::<String>::new(), vec![]]);
    text(&sample, &["policy", "publish", policy.to_str().unwrap(), "--activate"]);
    assert_eq!(proposed(), [block.clone(), vec![]]);
    let imports = told(&sample.run(&["imports", "--json"]));
    text(&sample, &["imports", "accept", imports["imports"][0]["digest"].as_str().unwrap()]);
    assert_eq!(proposed(), [vec![], block]);
    let made = told(&sample.run(&["trust", "suggest", "--make", "--json"]));
    assert_eq!(made["made"].as_array().unwrap().len(), 1, "{made}");
    fs::write(&policy, r#"{"rules":[]}"#).unwrap();
    text(&sample, &["policy", "publish", policy.to_str().unwrap(), "--activate"]);
    assert_eq!(proposed()[1], ["promote"]);
}

//! `replay`: the state that decides made again, here of a ledger with some decisions, and how it ends.

use std::ops::ControlFlow;

use bitacora_formats::{After, Position};
use bitacora_governance::{ObservedEvent, REACTOR_VERSION, ReactorState, State};
use bitacora_ledger::Fold;
use serde_json::Value;

use crate::sample::{Sample, code, told, why};

/// A ledger that is governed, has allowed one call and reviewed another; and where that began to be so.
fn governed() -> (Sample, u64) {
    let sample = Sample::new(0);
    for arguments in [
        &["tools", "register", "--starter"][..],
        &["policy", "publish", "--starter", "--activate"],
        &[
            "decide",
            "--call",
            "c1",
            "--tool",
            "Read",
            "--args",
            r#"{"file_path":"src/a.rs"}"#,
            "--cwd",
            "/home/ana/project",
        ],
        &["outcome", "--call", "c1", "--status", "error"],
    ] {
        let output = sample.run(arguments);
        assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    }
    let reviewed = [
        "decide",
        "--call",
        "c2",
        "--tool",
        "Write",
        "--args",
        r#"{"file_path":"src/a.rs","content":"x"}"#,
        "--json",
    ];
    let reviewed = sample.run(&reviewed);
    assert_eq!(code(&reviewed), 3);
    let decided = told(&reviewed)["position"].as_str().unwrap().parse().unwrap();
    (sample, decided)
}

fn done(sample: &Sample, arguments: &[&str]) -> String {
    let output = sample.run(arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(value: &Value, member: &str) -> u64 {
    let value = &value[member];
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{member}: {value}"))
}

#[test]
fn the_state_is_made_again_as_it_was_after_any_event() {
    let (sample, decided) = governed();
    let now: Value = serde_json::from_str(&done(&sample, &["replay", "--json"])).unwrap();
    assert!(number(&now, "position") >= decided);
    assert_eq!((number(&now, "approvalsPending"), number(&now, "dimensions")), (1, 1));
    assert_eq!((&now["policyVersion"], number(&now, "policies")), (&"1".into(), 1));

    let before = (decided - 2).to_string();
    let earlier: Value =
        serde_json::from_str(&done(&sample, &["replay", "--to", &before, "--json"])).unwrap();
    assert_eq!((number(&earlier, "position"), number(&earlier, "approvalsPending")), (decided - 2, 0));
    assert_ne!(earlier["digest"], now["digest"]);
    let words = done(&sample, &["replay", "--to", &before]);
    assert!(words.contains(&format!("position   {before}\n")), "{words}");
    assert!(words.contains(&format!("digest     {}\n", earlier["digest"].as_str().unwrap())), "{words}");
    assert!(words.contains("policy     version 1, of 1\n") && words.contains("0 pending\n"), "{words}");
}

#[test]
fn a_digest_is_the_same_however_often_and_from_wherever_it_is_made() {
    let (sample, decided) = governed();
    let to = decided.to_string();
    let digest = done(&sample, &["replay", "--digest", "--to", &to]);
    let words: Vec<&str> = digest.split_whitespace().collect();
    let [position, hash] = words[..] else { panic!("{digest}") };
    assert_eq!((position, hash.len()), (to.as_str(), 64));
    // An opening more changes nothing of what was.
    sample.open().close().unwrap();
    assert_eq!(done(&sample, &["replay", "--digest", "--to", &to]), digest);
    let as_json: Value =
        serde_json::from_str(&done(&sample, &["replay", "--digest", "--to", &to, "--json"])).unwrap();
    assert_eq!((as_json["digest"].as_str(), as_json.get("tools")), (Some(hash), None));
    assert!(as_json["parts"].as_object().unwrap().len() > 5);
}

#[test]
fn a_time_means_the_last_event_that_was_recorded_before_it() {
    let (sample, _) = governed();
    let early = sample.run(&["replay", "--at", "2001-01-01T00:00:00Z"]);
    assert_eq!(code(&early), 1);
    assert!(why(&early).contains("nothing was recorded before that time"));
    let late = done(&sample, &["replay", "--digest", "--at", "2999-01-01T00:00:00Z"]);
    assert_eq!(late, done(&sample, &["replay", "--digest"]));
    // The time of an event of a frame of its own: everything before it, and not itself.
    let events = done(&sample, &["read", "--json", "--type", "policy.activated"]);
    let activated: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    let at = activated["recordedAt"].as_str().unwrap();
    let before: Value = serde_json::from_str(&done(&sample, &["replay", "--json", "--at", at])).unwrap();
    assert_eq!(number(&before, "position"), number(&activated, "position") - 1);
    assert_eq!((&before["policyVersion"], number(&before, "policies")), (&Value::Null, 1));
}

#[test]
fn what_differs_between_two_states_is_shown_and_ends_otherwise() {
    let (sample, decided) = governed();
    let (to, before) = (decided.to_string(), (decided - 2).to_string());
    let same = sample.run(&["replay", "--to", &to, "--diff", &to]);
    assert_eq!(code(&same), 0);
    assert_eq!(String::from_utf8(same.stdout).unwrap().lines().count(), 2);
    let differing = ["replay", "--to", &to, "--diff", &before];
    let output = sample.run(&differing);
    assert_eq!(code(&output), 1);
    let shown = String::from_utf8(output.stdout).unwrap();
    let mut lines = shown.lines();
    // The earlier one first, whichever is asked for first.
    assert!(lines.next().unwrap().starts_with(&format!("{before} ")), "{shown}");
    assert!(lines.next().unwrap().starts_with(&format!("{to} ")), "{shown}");
    assert!(lines.any(|line| line == "calls by_id c2"), "{shown}");
    assert!(lines.any(|line| line.starts_with("  + ")), "{shown}");
    let turned = sample.run(&["replay", "--to", &before, "--diff", &to]);
    assert_eq!(String::from_utf8(turned.stdout).unwrap(), shown);
    let as_json = told(&sample.run(&[&differing[..], &["--json"]].concat()));
    assert_eq!(as_json["same"], false);
    assert_eq!(number(&as_json, "found"), as_json["differences"].as_array().unwrap().len() as u64);
}

#[test]
fn decisions_are_made_again_and_none_to_make_is_never_said_to_agree() {
    let (sample, decided) = governed();
    let again = told(&sample.run(&["replay", "--re-judge", "--json"]));
    assert_eq!((number(&again, "decisions"), number(&again, "otherwise")), (2, 0));
    assert_eq!(number(&again, "uncheckedDecisions"), 0);
    // With the approval that the last decision asked for.
    let words = done(&sample, &["replay", "--re-judge", "--to", &(decided + 1).to_string()]);
    assert!(words.contains("decisions  2 made again, 0 cannot be\n"), "{words}");
    assert!(words.contains("otherwise  0\n"), "{words}");
    // The replay may end anywhere in a request.
    for to in 2..=decided + 1 {
        let part = told(&sample.run(&["replay", "--re-judge", "--json", "--to", &to.to_string()]));
        assert_eq!(number(&part, "otherwise"), 0, "{to}: {part}");
    }
    let none = sample.run(&["replay", "--re-judge", "--to", "1"]);
    assert_eq!(code(&none), 50);
    assert!(String::from_utf8(none.stdout).unwrap().contains("decisions  0 made again"));
}

#[test]
fn the_gap_beside_an_outcome_that_was_not_allowed_is_derived_again() {
    let (sample, _) = governed();
    done(&sample, &["outcome", "--call", "c2", "--status", "ok"]);
    let gaps = told(&sample.run(&["read", "--type", "coverage.gap", "--json"]));
    assert_eq!(gaps["event"]["call"], "c2");
    let again = told(&sample.run(&["replay", "--re-judge", "--json"]));
    assert_eq!((number(&again, "decisions"), number(&again, "otherwise")), (2, 0), "{again}");
}

#[test]
fn what_makes_no_sense_together_is_a_usage_error() {
    let sample = Sample::new(0);
    for arguments in [
        &["--re-judge", "--digest"][..],
        &["--re-judge", "--diff", "1"],
        &["--to", "1", "--at", "2026-01-01T00:00:00Z"],
        &["--to", "0"],
        &["--at", "someday"],
    ] {
        let output = sample.run(&[&["replay"][..], arguments].concat());
        assert_eq!(code(&output), 2, "{arguments:?}");
    }
    let past = sample.run(&["replay", "--to", "1000000"]);
    assert_eq!(code(&past), 1, "{}", why(&past));
}

#[test]
fn an_interrupted_replay_goes_on_where_it_was_left_and_comes_to_the_same() {
    let (sample, decided) = governed();
    let file = sample.folder.path().join("progress");
    let progress = file.to_str().unwrap();
    let whole: Value =
        serde_json::from_str(&done(&sample, &["replay", "--json", "--progress", progress])).unwrap();
    assert_eq!(whole["resumedAfter"], Value::Null);
    assert!(!file.exists(), "what came to its end leaves nothing");

    // As an interruption after that frame leaves it.
    let to = Position::new(decided + 1).unwrap();
    let ledger = sample.open();
    let mut folding = StateFold(State::default());
    ledger.fold(After::START, to, &mut folding).unwrap();
    let state = folding.0.save().unwrap().unwrap();
    let within = Position::new(decided).unwrap();
    assert!(ledger.save_replay(&file, REACTOR_VERSION, within, &state).is_err());
    ledger.save_replay(&file, REACTOR_VERSION + 1, to, &state).unwrap();
    let other = ledger.saved_replay(&file, REACTOR_VERSION).unwrap_err().to_string();
    assert!(other.contains("by other rules"), "{other}");
    ledger.save_replay(&file, REACTOR_VERSION, to, &state).unwrap();
    ledger.close().unwrap();
    let kept = std::fs::read(&file).unwrap();

    // Not for what lies before it.
    let before = done(&sample, &["replay", "--digest", "--to", "2"]);
    assert_eq!(done(&sample, &["replay", "--digest", "--to", "2", "--progress", progress]), before);
    assert_eq!(std::fs::read(&file).unwrap(), kept);
    let resumed: Value =
        serde_json::from_str(&done(&sample, &["replay", "--json", "--progress", progress])).unwrap();
    assert_eq!(number(&resumed, "resumedAfter"), to.get());
    let now: Value = serde_json::from_str(&done(&sample, &["replay", "--json"])).unwrap();
    assert_eq!(resumed["digest"], now["digest"]);
    assert!(!file.exists());

    let mut broken = kept;
    *broken.last_mut().unwrap() ^= 1;
    std::fs::write(&file, &broken).unwrap();
    let refused = sample.run(&["replay", "--progress", progress]);
    assert_eq!(code(&refused), 1);
    assert!(why(&refused).contains("remove it"), "{}", why(&refused));
}

struct StateFold(State);

impl Fold for StateFold {
    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.0.fold(frame);
    }

    fn reached(&mut self, _: Position) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn another_policy_is_tried_on_every_call_and_shown_in_words_as_json_and_as_a_page() {
    let (sample, decided) = governed();
    let strict =
        r#"{"rules":[{"id":"<none>","match":{"tool":"Read"},"action":"deny","reason":"nobody reads"}]}"#;
    let policy = sample.data().with_file_name("strict.json");
    std::fs::write(&policy, strict).unwrap();
    let policy = policy.to_str().unwrap();
    let tried = |more: &[&str]| {
        let mut all = vec!["replay", "--json", "--what-if", "--policy", policy];
        all.extend(more);
        serde_json::from_str::<Value>(&done(&sample, &all)).unwrap()
    };
    let found = tried(&[]);
    assert_eq!((number(&found, "calls"), number(&found, "changed"), number(&found, "unjudged")), (2, 1, 0));
    // The call that would have been denied is the one that failed.
    assert_eq!(
        (number(&found["ends"]["stricter"], "failed"), number(&found["ends"]["stricter"], "ok")),
        (1, 0)
    );
    let reads = found["tools"].as_array().unwrap().iter().find(|line| line["name"] == "Read").unwrap();
    assert_eq!((number(reads, "calls"), number(reads, "stricter"), number(reads, "milder")), (1, 1, 0));
    assert_eq!(reads["examples"][0], found["examples"][0]["position"]);
    assert_eq!(
        (&found["examples"][0]["call"], &found["examples"][0]["after"]["rule"]),
        (&"c1".into(), &"<none>".into())
    );

    let words = done(&sample, &["replay", "--what-if", "--policy", policy]);
    assert!(words.starts_with("of 2 calls 1 would be judged otherwise"), "{words}");
    assert!(words.contains("0 ended well, 1 failed"), "{words}");
    // By the policy of then nothing is otherwise; and what came before is left out.
    let same: Value =
        serde_json::from_str(&done(&sample, &["replay", "--json", "--what-if", "--policy", "v1"])).unwrap();
    assert_eq!((number(&same, "calls"), number(&same, "changed")), (2, 0));
    assert_eq!(number(&tried(&["--since", &(decided - 1).to_string()]), "calls"), 1);
    assert_eq!(number(&tried(&["--since", "2100-01-01T00:00:00Z"]), "calls"), 0);

    for (arguments, expected, says) in [
        (&["--what-if"][..], 2, "--policy"),
        (&["--policy", "v1"], 2, "--what-if"),
        (&["--what-if", "--policy", "v7"], 1, "no version 7"),
        (&["--what-if", "--policy", "missing.json"], 1, "missing.json"),
        (&["--what-if", "--policy", policy, "--since", "soon"], 2, "soon"),
    ] {
        let mut all = vec!["replay"];
        all.extend(arguments);
        let output = sample.run(&all);
        assert_eq!(code(&output), expected, "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{arguments:?}: {}", why(&output));
    }
    std::fs::write(policy, strict.replace("rules", "rulez")).unwrap();
    let refused = sample.run(&["replay", "--what-if", "--policy", policy]);
    assert!(code(&refused) == 1 && why(&refused).contains("rulez"), "{}", why(&refused));
}

#[test]
fn what_people_rejected_and_another_policy_would_stop_by_itself_is_counted() {
    let (sample, decided) = governed();
    let waiting: Value = serde_json::from_str(&done(&sample, &["approvals", "--json"])).unwrap();
    let approval = waiting["approvals"][0]["id"].as_str().unwrap().to_owned();
    done(&sample, &["approvals", "reject", &approval]);
    for (action, would) in [("deny", [1, 0, 0]), ("review", [0, 1, 0])] {
        let rules = format!(
            r#"{{"rules":[{{"id":"w","match":{{"tool":"Write"}},"action":"{action}","reason":"nobody writes"}}]}}"#
        );
        let policy = sample.data().with_file_name(action);
        std::fs::write(&policy, rules).unwrap();
        let tried = ["replay", "--what-if", "--policy", policy.to_str().unwrap()];
        let found = done(&sample, &[&tried[..], &["--json"]].concat());
        let rejected = serde_json::from_str::<Value>(&found).unwrap()["rejected"].clone();
        let counted = ["deny", "review", "allow"].map(|verdict| number(&rejected[verdict], "calls"));
        assert_eq!(counted, would, "{rejected}");
        assert_eq!(rejected[action]["examples"], serde_json::json!([decided.to_string()]));
        let [denied, reviewed, _] = would;
        let words = done(&sample, &tried);
        let says = format!("1 by people: this policy would deny {denied}, review {reviewed}, allow 0");
        assert!(words.contains(&says), "{words}");
        // The asker tells that it was rejected: it is the same call.
        sample.run(&["outcome", "--call", "c2", "--status", "rejected"]);
    }
}

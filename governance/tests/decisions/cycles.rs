//! Cycles of several calls, calls without a session, arguments that do not matter, and calls that wait.

use bitacora_vocabulary::DecisionMade;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, decision, kinds, tool};
use crate::real_actions::starter;
use crate::rounds::{CallScope, RUN, SESSION, ask, bound, caused, is_loop, request, told, trusted};

const ALONE: CallScope = CallScope(None, None);

/// Makes calls for these files, one after another: which of them are loops.
fn loops(desk: &mut TestGovernance, place: CallScope, files: &str) -> String {
    let made = files.chars().map(|file| {
        let number = desk.log.len();
        let made = ask(desk, place, &format!("n{number}"), &format!("src/{file}.rs"));
        if is_loop(&made) { '!' } else { '.' }
    });
    made.collect()
}

#[test]
fn a_few_calls_that_are_gone_through_again_are_a_loop() {
    for (files, expected) in [
        ("aaa", "..!"),
        ("abab", "...!"),
        ("abcabc", ".....!"),
        // Longer than is looked for.
        ("abcdabcdabcd", "............"),
        // Another call stands in between.
        ("abacabad", "........"),
        ("ababcab", "...!..."),
        // Any next call of the cycle goes on with it.
        ("ababab", "...!!!"),
        ("ababba", "...!.."),
        ("aabaab", ".....!"),
    ] {
        for place in [SESSION, RUN, ALONE] {
            let mut desk = trusted();
            bound(&mut desk, &json!({"repeats_without_session": 2}));
            assert_eq!(loops(&mut desk, place, files), expected, "{files}");
            assert!(desk.is_in_step());
        }
    }
}

#[test]
fn a_cycle_is_told_once_with_its_length() {
    let mut desk = trusted();
    loops(&mut desk, SESSION, "aba");
    let fourth = caused(&mut desk, SESSION, &request("x", "src/b.rs"));
    assert_eq!(kinds(&fourth), ["decision.made", "loop.detected"]);
    let found: Value = data(&fourth[1]);
    let expected = json!({"call": "x", "kind": "repeated_cycle", "tool": "fs.write", "count": 2, "cycle": 2, "session": "s1"});
    assert_eq!(found, expected);
    let reason = decision(&fourth).reason.to_string();
    assert!(reason.contains("the same 2 calls") && reason.contains("number 2"), "{reason}");
    assert_eq!(kinds(&caused(&mut desk, SESSION, &request("y", "src/a.rs"))), ["decision.made"]);
    assert_eq!(loops(&mut desk, SESSION, "cd"), "..");
    let again = caused(&mut desk, SESSION, &request("z", "src/c.rs"));
    assert_eq!(kinds(&again), ["decision.made"]);
    assert!(kinds(&caused(&mut desk, SESSION, &request("w", "src/d.rs"))).contains(&"loop.detected"));
}

#[test]
fn a_policy_says_which_cycles_are_loops() {
    for (bounds, files, expected) in [
        (json!({"cycle_calls": 1}), "ababab", "......"),
        (json!({"cycle_repeats": 3}), "ababab", ".....!"),
        // Identical calls are counted as these alone.
        (json!({"identical_calls": 9}), "aaaaaaaab", "........."),
        (json!({"cycle_calls": 4, "cycle_repeats": 4}), "abababab", ".......!"),
        (json!({"cycle_calls": 4}), "abcdabcd", ".......!"),
    ] {
        let mut desk = trusted();
        bound(&mut desk, &bounds);
        assert_eq!(loops(&mut desk, SESSION, files), expected, "{bounds}");
    }
}

#[test]
fn calls_without_a_session_are_a_loop_when_they_go_on_for_longer() {
    let mut desk = trusted();
    assert_eq!(loops(&mut desk, ALONE, &"a".repeat(11)), ".........!!");
    assert_eq!(loops(&mut desk, ALONE, &"bc".repeat(11)), "...................!!!");
    assert_eq!(loops(&mut desk, ALONE, &"d".repeat(9)), ".".repeat(9));
    desk.pass(599);
    assert_eq!(loops(&mut desk, ALONE, "d"), "!");
    desk.pass(600);
    assert_eq!(loops(&mut desk, ALONE, &"d".repeat(9)), ".".repeat(9), "what is done from time to time");
    let mut other = desk.event("tool.requested", "agent:111111111111", &request("o", "src/d.rs"));
    other.agent = Some("other".into());
    assert!(!is_loop(&decision(&desk.append(vec![other]).unwrap())));
    assert_eq!(loops(&mut desk, ALONE, "d"), "!", "each agent has its own");
    assert!(desk.is_in_step());
}

#[test]
fn arguments_that_do_not_bind_make_no_call_another_one() {
    let mut desk = trusted();
    let mut document = tool("fs.read");
    document["input_schema"] = json!({"type": "object"});
    document["binding_fields"] = json!(["/path"]);
    desk.act("tool.changed", document).unwrap();
    let mut read = |number: u64, path: &str| {
        let args = json!({"path": path, "description": format!("look {number}")});
        let body = json!({"call": format!("c{number}"), "tool": "fs.read", "args": args});
        caused(&mut desk, SESSION, &body)
    };
    let said = [1, 2, 3].map(|number| read(number, "src/a.rs"));
    assert_eq!(said.each_ref().map(|caused| is_loop(&decision(caused))), [false, false, true]);
    let told: Value = data(&said[2][1]);
    assert_eq!(told["args_digest"], json!(decision(&said[2]).inputs.action_digest));
    assert!(!is_loop(&decision(&read(4, "src/b.rs"))));
}

/// A checkpoint is its agent's word: without an end to the new counts, one behind each call would hide any loop.
#[test]
fn checkpoints_begin_anew_but_hide_no_loop_for_ever() {
    let saved = |number: usize| json!({"thread": "t", "checkpoint": format!("k{number}"), "step": number, "source": "loop"});
    for (files, most) in [("a", 30), ("ab", 40)] {
        let mut desk = trusted();
        let mut passed = 0;
        for number in 0..60 {
            if loops(&mut desk, SESSION, files).contains('!') {
                break;
            }
            passed += files.len();
            told(&mut desk, "checkpoint.saved", SESSION, &saved(number));
        }
        assert!(passed > 9 && passed < most, "{files}: {passed}");
        assert_eq!(loops(&mut desk, SESSION, "cd"), "..", "anything else goes on");
        assert_eq!(loops(&mut desk, SESSION, files), ".".repeat(files.len()));
    }
}

#[test]
fn what_waits_for_a_person_is_no_part_of_what_was_done_since() {
    let mut desk = trusted();
    let first = ask(&mut desk, SESSION, "d1", "docs/a.rs");
    let second = ask(&mut desk, SESSION, "d2", "docs/b.rs");
    for (call, made, path) in [("d1", &first, "docs/a.rs"), ("d2", &second, "docs/b.rs")] {
        let approval = made.approval.clone().unwrap();
        let said = json!({"approval": approval, "resolution": "approved", "by": "operator:0"});
        desk.act("approval.resolved", said).unwrap();
        let mut body = request(call, path);
        body["approval"] = json!(approval);
        let again = decision(&caused(&mut desk, SESSION, &body));
        assert_eq!(again.reason_code.as_str(), "approved", "{path}");
    }
    // A loop of other calls does not stop it either.
    let third = ask(&mut desk, SESSION, "d3", "docs/c.rs");
    assert_eq!(loops(&mut desk, SESSION, "aaa"), "..!");
    let approval = third.approval.clone().unwrap();
    let said = json!({"approval": approval, "resolution": "approved", "by": "operator:0"});
    desk.act("approval.resolved", said).unwrap();
    let mut body = request("d3", "docs/c.rs");
    body["approval"] = json!(approval);
    assert_eq!(decision(&caused(&mut desk, SESSION, &body)).reason_code.as_str(), "approved");
    assert!(desk.is_in_step());
}

fn poll(desk: &mut TestGovernance, number: usize, tool: &str, args: &Value) -> DecisionMade {
    let call = format!("p{number}");
    let body = json!({"call": call, "tool": tool, "args": args, "cwd": "/home/ana/work"});
    decision(&caused(desk, SESSION, &body))
}

#[test]
fn a_poll_passes_a_hundred_times_and_neither_counts_nor_begins_anew() {
    let mut desk = starter();
    for (tool, args) in [
        ("BashOutput", json!({"bash_id": "b1"})),
        ("TaskOutput", json!({"task_id": "t1", "block": true})),
        ("Bash", json!({"command": "gh run view 7"})),
        ("Bash", json!({"command": "sleep 60 && gh run view 7"})),
    ] {
        let first = desk.log.len();
        for number in 0..10 {
            let made = poll(&mut desk, first + number, tool, &args);
            assert!(made.inputs.poll && !is_loop(&made), "{tool} {args}");
        }
    }
    for (tool, args) in [
        ("Bash", json!({"command": "sleep 60 && git status"})),
        ("Bash", json!({"command": "gh run view 7 > seen"})),
        ("Bash", json!({"command": "gh run view $(cat id)"})),
        ("Grep", json!({"pattern": "x"})),
    ] {
        let number = 9_000 + desk.log.len();
        assert!(!poll(&mut desk, number, tool, &args).inputs.poll, "{args}");
    }
    let mut desk = starter();
    let output = json!({"bash_id": "b1"});
    let grep = |desk: &mut TestGovernance, number: usize| {
        is_loop(&poll(desk, number, "Grep", &json!({"pattern": "x"})))
    };
    let said = [1, 3, 5].map(|number| {
        assert!(!is_loop(&poll(&mut desk, number + 1, "BashOutput", &output)));
        grep(&mut desk, number)
    });
    assert_eq!(said, [false, false, true], "a poll in between hides nothing");
    let passed =
        (0..200).take_while(|number| !is_loop(&poll(&mut desk, 100 + number, "BashOutput", &output)));
    assert_eq!(passed.count(), 98, "with the two before");
    let last = poll(&mut desk, 500, "BashOutput", &output);
    assert!(last.reason.to_string().contains("polled"), "{}", last.reason);
    assert!(!is_loop(&poll(&mut desk, 501, "Grep", &json!({"pattern": "y"}))));
    assert!(!is_loop(&poll(&mut desk, 502, "BashOutput", &output)));
    assert!(desk.is_in_step());
}

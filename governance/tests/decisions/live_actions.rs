//! The calls of real agents, asked for one by one under the starter.
//! The people in it answer as they answered then.

use std::collections::BTreeMap;

use bitacora_formats::parse_time;
use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::desk::{START, TestGovernance, decision};
use crate::real_actions::{Matrix, ending, recorded, request, starter};

/// The most of a thousand calls that may be denied.
const MOST_DENIED: usize = 15;
/// The most of a thousand calls with a good outcome that may be denied.
const MOST_OK_DENIED: usize = 5;
/// The most of a thousand calls that a person rejected that may be allowed.
const MOST_REJECTED_ALLOWED: usize = 186;
/// The most of a thousand calls that may be reviewed.
const MOST_REVIEWED: usize = 270;
/// Causes that are printed.
const SHOWN_CAUSES: usize = 45;

/// Asks for a call as its agent did, and answers as its user did: the first verdict, and how it was answered in the end.
fn live(desk: &mut TestGovernance, number: usize, since: u64, action: &Value) -> DecisionMade {
    desk.time = desk.time.max(START + time_of(action) - since);
    let call = format!("real-{number}");
    let mut body = request(action);
    body["call"] = json!(call);
    let session = action["session"].as_str().unwrap().to_owned();
    let asked = |desk: &mut TestGovernance, body: &Value| {
        let mut event = desk.event("tool.requested", "agent:111111111111", body);
        event.agent = Some(agent_of(action).into());
        event.session = Some(session.clone().into());
        event.call = Some(call.clone().into());
        decision(&desk.append(vec![event]).unwrap())
    };
    let first = asked(desk, &body);
    let (row, kind, mut end) = ending(action);
    let mut last = first.clone();
    if let (Verdict::Review, Some(approval)) = (first.verdict, &first.approval) {
        let resolution = if row == "rejected" { "rejected" } else { "approved" };
        desk.act(
            "approval.resolved",
            json!({"approval": approval, "resolution": resolution, "by": "operator:000000000000"}),
        )
        .unwrap();
        if row != "rejected" {
            body["approval"] = json!(approval);
            last = asked(desk, &body);
            assert_eq!(last.verdict, Verdict::Allow, "{last:?}");
        }
    }
    if last.verdict == Verdict::Allow && row != "gap" {
        end["call"] = json!(call);
        if action["outcome"] == "exit_code" {
            end["exit_code"] = json!(1);
        }
        let mut event = desk.event(kind, "agent:111111111111", &end);
        event.agent = Some(agent_of(action).into());
        event.call = Some(call.into());
        desk.append(vec![event]).unwrap();
    }
    first
}

fn time_of(action: &Value) -> u64 {
    parse_time(action["at"].as_str().unwrap()).unwrap().0
}

/// One agent for each home.
fn agent_of(action: &Value) -> String {
    let cwd = action["cwd"].as_str().unwrap_or_default();
    cwd.split('/').nth(2).unwrap_or("nobody").to_owned()
}

/// The verdict on a call, its reason and its rule.
fn said(made: &DecisionMade) -> String {
    let rule = made.rule.as_ref().map_or("-", |rule| rule.as_str());
    format!("{:?} {} by {rule}", made.verdict, made.reason_code.as_str())
}

/// Does the same with the call's dimension, and with the unreadable part of its command.
fn cause(made: &DecisionMade, action: &Value) -> String {
    let dimension = &made.inputs.dimension;
    let mut cause = format!("{}: {} {}", said(made), dimension.tool(), dimension.context());
    if dimension.context() == "opaque"
        && let bitacora_shell::ShellReading::Unreadable(why, _) =
            bitacora_shell::read(action["input"]["command"].as_str().unwrap_or_default())
    {
        cause.push_str(&format!(" ({})", why.construct));
    }
    cause.truncate(cause.floor_char_boundary(150));
    cause
}

#[expect(clippy::print_stdout, reason = "it is printed for who asks for it")]
fn print_most(counts: BTreeMap<String, usize>) {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    for (what, calls) in counts.iter().take(SHOWN_CAUSES) {
        println!("{calls:6}  {what}");
    }
}

/// Prints the matrix of verdicts, and the reviewed and denied calls by cause, with `--nocapture`.
#[test]
fn real_calls_are_seldom_denied_and_not_too_often_reviewed() {
    let Some(actions) = recorded() else { return };
    let mut desk = starter();
    desk.act("mode.configured", json!({"mode": "enforce"})).unwrap();
    let since = actions.iter().map(time_of).min().unwrap();
    let (mut matrix, mut rules, mut causes) = (Matrix::default(), BTreeMap::new(), BTreeMap::new());
    let [mut all, mut reviewed, mut denied] = [0; 3];
    for (number, action) in actions.iter().enumerate() {
        let made = live(&mut desk, number, since, action);
        let (row, ..) = ending(action);
        matrix.count(row, made.verdict);
        all += 1;
        reviewed += usize::from(made.verdict == Verdict::Review);
        denied += usize::from(made.verdict == Verdict::Deny);
        if made.verdict != Verdict::Allow {
            *rules.entry(said(&made)).or_insert(0) += 1;
            *causes.entry(cause(&made, action)).or_insert(0) += 1;
        }
    }
    matrix.print("all sessions, live");
    println!("  of {all} calls {reviewed} reviewed, {denied} denied");
    println!("  by reason and rule:");
    print_most(rules);
    println!("  by dimension too:");
    print_most(causes);
    assert!(denied * 1_000 <= all * MOST_DENIED, "{denied} of {all} denied");
    assert!(reviewed * 1_000 <= all * MOST_REVIEWED, "{reviewed} of {all} reviewed");
    matrix.check_live(MOST_OK_DENIED, MOST_REJECTED_ALLOWED);
}

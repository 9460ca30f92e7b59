//! A log by the rules that it was recorded under: every disagreement is told, and nothing else is.

use bitacora_formats::{Data, Json, Position};
use bitacora_governance::{REACTOR_VERSION, Reevaluation, ReevaluationReport};
use serde_json::{Value, json};

use crate::desk::{LocatedEvent, TestGovernance, data, governed};
use crate::golden::rejudged;

fn found(log: &[Vec<LocatedEvent>]) -> ReevaluationReport {
    rejudged(log).1
}

fn trusted() -> TestGovernance {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk
}

#[test]
fn an_outcome_that_nobody_waited_for_is_no_disagreement_and_one_without_its_consequence_is() {
    let mut desk = trusted();
    for (call, assurance) in [("none", None), ("other", Some("imported"))] {
        let mut outcome = json!({"call": call, "status": "ok"});
        assurance.into_iter().for_each(|assurance| outcome["assurance"] = json!(assurance));
        let ended = desk.event("tool.completed", "agent:111111111111", &outcome);
        desk.record(ended);
    }
    let before = found(&desk.log);
    assert_eq!((before.ungoverned, before.disagreements), (2, vec![]));
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    desk.ok("c1");
    let mut log = desk.log.clone();
    log.last_mut().unwrap().retain(|placed| placed.event.kind != "trust.observed");
    let found = found(&log);
    assert_eq!((found.ungoverned, found.disagreeing), (2, 1));
    let [told] = &found.disagreements[..] else { panic!("{:?}", found.disagreements) };
    assert_eq!((told.position, told.recorded.as_ref()), (None, None));
    let again = told.again.as_deref().unwrap();
    assert!(again.starts_with("trust.observed {") && again.contains("auto_approved"), "{again}");
}

#[test]
fn events_are_judged_up_to_the_one_that_is_asked_for() {
    let mut desk = trusted();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let until = desk.log.last().unwrap()[0].position;
    desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    let (all, mut some) = (found(&desk.log), Reevaluation::until(until));
    for frame in &desk.log {
        some.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
    }
    let (state, judged) = some.end();
    assert_eq!((all.decisions, judged.decisions), (2, 1));
    assert_eq!((judged.disagreements, state.open_calls()), (vec![], 1), "with what it caused");
}

#[test]
fn an_event_is_judged_by_what_the_one_before_it_caused_though_that_stands_behind_both() {
    let mut desk = trusted();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let mut frame = desk.log.pop().unwrap();
    desk.ok("c1");
    frame.extend(desk.log.pop().unwrap());
    // As one request: what is sent has its positions first, each followed by what it caused when it is folded.
    let first = frame[0].position.get();
    let sent = frame.iter().filter(|placed| !placed.derived).count() as u64;
    let (mut next_sent, mut next_derived) = (first, first + sent);
    let places: Vec<_> = frame
        .iter()
        .map(|placed| {
            let next = if placed.derived { &mut next_derived } else { &mut next_sent };
            *next += 1;
            *next - 1
        })
        .collect();
    let mut cause = 0;
    for (placed, place) in frame.iter_mut().zip(places) {
        placed.position = Position::new(place).unwrap();
        if placed.derived {
            let number = placed.event.id.split_once('.').unwrap().1.to_owned();
            placed.event.id = format!("{cause}.{number}").into();
        } else {
            cause = place;
        }
    }
    let mut judging = Reevaluation::until(Position::new(first + 1).unwrap());
    for frame in desk.log.iter().chain([&frame]) {
        judging.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
    }
    let (_, judged) = judging.end();
    assert_eq!((judged.decisions, judged.disagreements), (1, vec![]));
}

#[test]
fn outcomes_that_are_sealed_are_counted_and_not_judged() {
    let mut desk = trusted();
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    let mut ended =
        desk.event("tool.completed", "agent:111111111111", &json!({"call": "c1", "status": "ok"}));
    ended.datasubject = Some("person/1".into());
    desk.append(vec![ended]).unwrap();
    let found = found(&desk.log);
    assert_eq!((found.sealed_outcomes, found.disagreeing), (1, 0));
}

#[test]
fn decisions_by_rules_that_are_not_known_are_counted_and_the_first_is_told() {
    let mut desk = trusted();
    for call in ["c1", "c2"] {
        desk.ask(call, "fs.write", json!({"path": "src/a.rs"}));
    }
    let mut log = desk.log.clone();
    let decided = log.iter_mut().flatten().filter(|placed| placed.event.kind == "decision.made");
    let mut first = None;
    for placed in decided {
        let mut made: Value = data(&placed.event);
        made["inputs"]["reactor_version"] = json!(REACTOR_VERSION + 1);
        placed.event.data = Data::Json(Json::check(serde_json::to_vec(&made).unwrap()).unwrap());
        first.get_or_insert(placed.position);
    }
    let found = found(&log);
    assert_eq!((found.unchecked_decisions, found.decisions, found.disagreeing), (2, 0, 0));
    assert_eq!(found.unknown_rules, Some((first.unwrap(), REACTOR_VERSION + 1)));
}

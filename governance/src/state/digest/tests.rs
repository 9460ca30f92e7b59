use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use serde_json::json;

use super::*;
use crate::reactor::{ObservedEvent, ReactorState};

const PAGE: &str = include_str!("../../../../docs/formats/state_digest.md");

fn block<'p>(language: &str, number: usize) -> &'p str {
    let open = format!("```{language}\n");
    let block = PAGE.split(open.as_str()).nth(number + 1).unwrap();
    block.split("\n```").next().unwrap()
}

fn folded(state: &mut State, kind: &'static str, data: &serde_json::Value) {
    let mut event = Event::new("e1", "urn:test", kind, "acts");
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    let observed = ObservedEvent {
        position: Position::new(2).unwrap(),
        stream_version: StreamVersion::FIRST,
        time: Micros(1_795_305_600_000_000),
        derived: false,
        event: &event,
        examination: None,
    };
    state.fold(&[observed]);
}

/// Returns the state of the worked example.
fn example() -> State {
    let mut state = State::default();
    let dimension = json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-"});
    let counts = json!({"approvals": 20, "rejections": 1, "failures": 0, "streak": 3});
    folded(&mut state, "trust.set", &json!({"dimension": dimension, "counts": counts, "reason": "known"}));
    state
}

#[test]
fn the_worked_example() {
    let state = example();
    assert_eq!(serde_json::to_string(&state.trust).unwrap(), block("text", 0));
    assert_eq!(serde_json::to_string(&state.time).unwrap(), block("text", 1));
    let digests = state.digests().unwrap();
    let found: Vec<_> =
        digests.parts.iter().map(|(part, digest)| format!("{digest}  # {}", part.name)).collect();
    let expected = [found.as_slice(), &[format!("{}  # the state", digests.state)]].concat().join("\n");
    assert_eq!(expected, block("hex", 0));
}

#[test]
fn every_part_has_the_number_and_the_name_that_its_page_says() {
    struct Rows(Vec<String>);
    impl PartVisitor for Rows {
        type Error = ();
        fn part<T: Serialize + Default + PartialEq>(&mut self, part: StatePart, _: &T) -> Result<(), ()> {
            self.0.push(format!("| {} | `{}` |", part.number, part.name));
            Ok(())
        }
    }
    let mut rows = Rows(Vec::new());
    State::default().each_part(&mut rows).unwrap();
    let listed: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| ") && line.contains("| `")).collect();
    assert_eq!(listed.len(), rows.0.len());
    for (row, line) in rows.0.iter().zip(listed) {
        assert!(line.starts_with(row.as_str()), "found {line}, expected {row}");
    }
}

#[test]
fn an_empty_state_has_no_part_and_another_one_another_digest() {
    let (empty, example) = (State::default().digests().unwrap(), example().digests().unwrap());
    assert_eq!(empty.parts, []);
    assert_ne!(empty.state, example.state);
}

#[test]
fn what_differs_is_named_by_part_and_key() {
    let (one, mut other) = (example(), example());
    assert_eq!(one.differences(&other, 10).unwrap(), Default::default());
    folded(&mut other, "mode.configured", &json!({"mode": "observe"}));
    let set = json!({"dimension": {"tool": "fs.write", "context": "src", "model": "-", "task_type": "-"},
        "counts": {"approvals": 0, "rejections": 9, "failures": 0, "streak": 0}, "reason": "no more"});
    folded(&mut other, "trust.set", &set);
    let found = one.differences(&other, 10).unwrap();
    let named: Vec<_> = found.shown.iter().map(|one| (one.part, one.key.as_str())).collect();
    let dimension = r#"{"context":"src","model":"-","task_type":"-","tool":"fs.write"}"#;
    assert_eq!(named, [("trust", dimension), ("modes", "all")]);
    assert_eq!(found.shown[1].one, Some(serde_json::Value::Null));
    assert_eq!(found.shown[1].other, Some("observe".into()));
    let few = one.differences(&other, 1).unwrap();
    assert_eq!((few.shown.len(), few.found), (1, 2));
}

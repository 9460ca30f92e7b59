//! What `replay` makes of a log: the state that the service had, its digest, and what differs between two places.

use bitacora_formats::{Data, Event, Json, Position};
use bitacora_governance::State;
use bitacora_ledger::{AppendRequest, Governing, Options};
use serde_json::{Value, json};

use crate::sample::{Sample, code, told, why};

/// A ledger that was governed, each position that was published, and the state there.
fn governed() -> (Sample, Vec<(Position, State)>) {
    let sample = Sample::new(1);
    let options = Options { governing: Governing::Governance, ..Options::small() };
    let ledger = sample.open_with(&options);
    let mut seen = Vec::new();
    for number in 0..20 {
        let counts = json!({"approvals": number, "rejections": 0, "failures": 0, "streak": 0});
        let dimension =
            json!({"tool": format!("t{}", number % 3), "context": "-", "model": "-", "task_type": "-"});
        let data = json!({"dimension": dimension, "counts": counts, "reason": "for a test"});
        let mut set = Event::new(format!("set{number}"), "urn:test", "trust.set", "acts");
        set.actor = Some("operator:000000000000".into());
        set.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
        let noted = Event::new(format!("noted{number}"), "urn:test", "x.noted", "notes");
        let appended = ledger.append(AppendRequest::of(vec![set, noted])).unwrap().wait().unwrap();
        let last = appended.results.last().unwrap().position;
        seen.push((last, ledger.governance().unwrap().read(Clone::clone)));
    }
    ledger.close().unwrap();
    (sample, seen)
}

fn replay(sample: &Sample, arguments: &[&str]) -> (i32, Value) {
    let output = sample.run(&[&["replay", "--json"], arguments].concat());
    assert!(code(&output) < 2, "{}", why(&output));
    (code(&output), told(&output))
}

#[test]
fn the_state_at_every_position_is_the_one_that_was_published_there() {
    let (sample, seen) = governed();
    for (position, state) in &seen {
        let (code, told) = replay(&sample, &["--to", &position.to_string(), "--digest"]);
        let digest = state.digests().unwrap().state.to_string();
        assert_eq!((code, &told["digest"]), (0, &Value::from(digest)), "at {position}");
        assert_eq!(told["position"], position.to_string());
    }
    let (_, told) = replay(&sample, &[]);
    assert_eq!(told["governing"], "20");
    assert_eq!(told["dimensions"], 3);
}

#[test]
fn what_differs_between_two_places_is_shown_and_ends_in_1() {
    let (sample, seen) = governed();
    let (early, late) = (seen[10].0.to_string(), seen[11].0.to_string());
    let (code, told) = replay(&sample, &["--to", &late, "--diff", &early]);
    assert_eq!((code, &told["same"]), (1, &Value::from(false)));
    assert_eq!(told["states"][0]["position"], early);
    let parts: Vec<_> =
        told["differences"].as_array().unwrap().iter().map(|one| one["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["trust", "time"]);
    // Between two events that do not govern nothing differs.
    let (code, told) = replay(&sample, &["--to", &late, "--diff", &late]);
    assert_eq!((code, &told["same"]), (0, &Value::from(true)));
}

#[test]
fn a_place_that_is_not_there_is_no_state() {
    let (sample, _) = governed();
    for arguments in [["--to", "100000"], ["--diff", "100000"], ["--at", "2001-01-01T00:00:00Z"]] {
        let output = sample.run(&[&["replay"], arguments.as_slice()].concat());
        assert_eq!(code(&output), 1, "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

//! No fold stops at an event that a ledger takes: unknown members may be anything, optional ones null.
//! Unknown members stand in events that do not govern.

use std::collections::BTreeSet;

use bitacora_ledger::AppendRequest;
use bitacora_projector::ModelState;
use bitacora_vocabulary::{EVENT_TYPES, EventWriter, check_data, check_members, is_binary_kind};
use serde_json::{Map, Value, json};

use super::{ReadModelsBench, event, settled};

/// Members that folds look for and no example has.
const MEMBERS: [&str; 1] = ["request"];

#[test]
fn no_fold_stops_at_what_the_vocabulary_takes() {
    let bench = ReadModelsBench::new();
    let ledger = bench.open();
    let examples: Vec<(&str, Map<String, Value>)> = (EVENT_TYPES.iter())
        .filter(|listed| {
            !is_binary_kind(listed.kind)
                && !matches!(listed.writer, EventWriter::Reactor | EventWriter::Service)
        })
        .filter_map(|listed| Some((listed.kind, serde_json::from_str(listed.example).ok()?)))
        .collect();
    let members: BTreeSet<&str> =
        examples.iter().flat_map(|(_, data)| data.keys().map(String::as_str)).chain(MEMBERS).collect();
    let mut number = 0;
    for value in [json!(5), json!(-1.5), json!("x"), Value::Null, json!({"in": null, "run": [5]}), json!([5])]
    {
        let events = examples.iter().map(|(kind, example)| {
            number += 1;
            event(kind, 1, number, Value::from(changed(kind, example, &members, &value)).to_string())
        });
        for events in events.collect::<Vec<_>>().chunks(4) {
            ledger.append(AppendRequest::of(events.to_vec())).unwrap().wait().unwrap();
        }
    }
    for status in settled(&ledger) {
        assert_eq!(status.state, ModelState::Ok, "{}", status.name);
    }
}

/// An example with as many members as its type lets be this value.
fn changed(
    kind: &str,
    example: &Map<String, Value>,
    members: &BTreeSet<&str>,
    value: &Value,
) -> Map<String, Value> {
    let mut data = example.clone();
    for member in members {
        let before = data.insert((*member).to_owned(), value.clone());
        let json = Value::from(data.clone()).to_string();
        // A ledger takes no unknown members of events that govern.
        if check_data(kind, Some(json.as_bytes())).is_err() || check_members(kind, json.as_bytes()).is_err() {
            match before {
                Some(before) => data.insert((*member).to_owned(), before),
                None => data.remove(*member),
            };
        }
    }
    data
}

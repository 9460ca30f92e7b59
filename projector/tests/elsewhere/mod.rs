//! Recordings made elsewhere: their ids are no ids of here, and they tell of an answer more than once.

use bitacora_formats::Event;
use bitacora_ledger::AppendRequest;
use bitacora_projector::{CallQuery, CostQuery, CostsBy, IndexedLedger};
use serde_json::{Value, json};

use crate::{ReadModelsBench, settled};

fn recorded(run: &str, number: u64, kind: &str, data: &Value) -> Event<'static> {
    let mut event =
        Event::new(format!("{run}-{number}"), "urn:elsewhere", kind.to_owned(), format!("run/{run}"));
    event.run = Some(run.to_owned().into());
    event.data =
        bitacora_formats::Data::Json(bitacora_formats::Json::check(data.to_string().into_bytes()).unwrap());
    event
}

fn append(ledger: &IndexedLedger, events: Vec<Event<'static>>) {
    ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
    settled(ledger);
}

#[test]
fn a_call_of_one_recording_is_not_that_of_another_which_has_its_id() {
    let bench = ReadModelsBench::new();
    let ledger = bench.open();
    let assurance = "imported";
    let runs = ["a", "b"];
    let asked = |tool: &str| json!({"call": "c1", "tool": tool, "args": {}, "assurance": assurance});
    let requested = runs.map(|run| recorded(run, 1, "tool.requested", &asked(run)));
    let ended = |run: &str| {
        let status = if run == "a" { "ok" } else { "error" };
        let kind = if run == "a" { "tool.completed" } else { "tool.failed" };
        recorded(run, 3, kind, &json!({"call": "c1", "status": status, "assurance": assurance}))
    };
    append(&ledger, requested.into());
    append(&ledger, runs.map(ended).into());
    let models = ledger.read_models().unwrap();
    let query = CallQuery { call: Some("c1".into()), limit: 9, ..CallQuery::default() };
    let found = models.calls(&query).unwrap().calls;
    let seen: Vec<_> = found
        .iter()
        .map(|call| {
            (&*call.tool, call.outcome.as_ref().map(|outcome| &*outcome.status), call.earlier.is_some())
        })
        .collect();
    assert_eq!(seen, [("b", Some("error"), true), ("a", Some("ok"), false)]);
    let first = CallQuery { limit: 1, ..query.clone() };
    let page = models.calls(&first).unwrap();
    let rest = models.calls(&CallQuery { before: page.next, ..query }).unwrap();
    assert_eq!([page.calls, rest.calls].concat(), found);
    ledger.close().unwrap();
}

#[test]
fn of_an_answer_that_is_told_more_than_once_the_most_counts_and_once() {
    let bench = ReadModelsBench::new();
    let ledger = bench.open();
    let asked = |number: u64, tokens: Value| {
        let data = json!({"call": format!("c{number}"), "tool": "t", "args": {}, "model": "m", "request": "r1", "tokens": tokens, "assurance": "imported"});
        recorded("a", number, "tool.requested", &data)
    };
    let answered = json!({"model": "m", "provider": "p", "request": "r1", "tokens": {"in": 10, "out": 60}, "status": "ok", "assurance": "imported"});
    append(&ledger, vec![asked(1, json!({"in": 10, "out": 4})), asked(2, json!({"in": 10, "out": 50}))]);
    append(
        &ledger,
        vec![asked(3, json!({"in": 10, "out": 50})), recorded("b", 4, "model.called", &answered)],
    );
    let by = vec![CostsBy::Model];
    let found = ledger.read_models().unwrap().costs(&CostQuery { by, ..CostQuery::default() }).unwrap();
    let total = found.total;
    assert_eq!((total.model_calls, total.without_cost), (1, 1));
    assert_eq!((total.tokens.read, total.tokens.written), (10, 60));
    assert_eq!(total.unpriced, total.tokens);
    ledger.close().unwrap();
}

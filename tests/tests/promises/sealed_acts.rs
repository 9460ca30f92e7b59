//! Sealed events tell neither their run nor their import: they stay while any of these goes on.

use bitacora_formats::{Event, EventDraft, Micros, Position, Record, Seal};
use bitacora_ledger::ExpiryRules;
use serde_json::{Value, json};

use crate::counted_time::{OPERATOR, append, half_a_year, open, rules};
use crate::p8_no_allow_without_a_record::event;

/// Returns `true` if an old, sealed note of this run has expired.
fn is_over(rules: &ExpiryRules, run: Option<&'static str>) -> bool {
    let mut event = Event::new("e", "urn:test", "x.noted", "notes");
    event.datasubject = Some("ada".into());
    event.run = run.map(Into::into);
    let EventDraft::Sensitive { record, .. } = Record::draft(event, 0) else { panic!("it names somebody") };
    let record = record.seal(Seal { subject_key: [1; 16], seal: [2; 32] });
    rules.clone().trusting_the_clock().expires(Position::new(3).unwrap(), Micros(1), &record)
}

#[test]
fn a_sealed_event_stays_while_a_run_or_an_import_goes_on() {
    let (machine, _) = half_a_year(47);
    let ledger = open(&machine);
    let tell = |kind: &'static str, id: &str, data: Value| {
        append(&ledger, event(kind, id.to_owned(), OPERATOR, &data));
        rules(&ledger)
    };
    let quiet = rules(&ledger);
    assert!(is_over(&quiet, None) && is_over(&quiet, Some("r2")));
    let running = tell("run.started", "begun", json!({"run": "r1", "kind": "graph"}));
    assert!(!is_over(&running, None), "it may be of the run");
    assert!(!is_over(&running, Some("r1")) && is_over(&running, Some("r2")));
    let ended = tell("run.completed", "ended", json!({"run": "r1", "status": "success"}));
    assert!(is_over(&ended, None) && is_over(&ended, Some("r1")));

    let mut asked = event(
        "tool.requested",
        "asked".to_owned(),
        OPERATOR,
        &json!({"call": "i1", "tool": "fs.read", "args": {}, "assurance": "imported"}),
    );
    asked.time = Some("2020-01-01T00:00:00Z".into());
    append(&ledger, asked);
    let importing = rules(&ledger);
    assert!(!is_over(&importing, None) && !is_over(&importing, Some("r1")), "it may be of the import");
    ledger.close().unwrap();
}

//! Ages of events are counted by time that the ledger has seen pass: no clock that is ahead at an opening lets content expire, however often
//! the ledger is opened again.

use std::path::Path;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, EventDraft, Json, Micros, Position, Record};
use bitacora_ledger::{
    AppendRequest, ExpiryRules, Ledger, Options, ReactorChoice, ReadOnlyReason, WriterState,
};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::RetentionChanged;
use serde_json::json;

use crate::p8_no_allow_without_a_record::{event, state};
use crate::workload::{FOLDER, keyring, machine_with_ledger, options};

pub(crate) const OPERATOR: &str = "operator:0";
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MICROS_OF_DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// A governed ledger whose policy keeps notes for half a year, and the time of its last event.
pub(crate) fn half_a_year(seed: u64) -> (Simulation, Micros) {
    let machine = machine_with_ledger(seed);
    let ledger = open(&machine);
    let rule = json!({"rule": "notes", "keep_days": 180, "types": ["x.*"]});
    let policy = json!({"rules": [rule], "reason": "a test"});
    let policy: RetentionChanged = serde_json::from_value(policy).unwrap();
    ledger.change_retention(&policy, Some(OPERATOR)).unwrap();
    machine.clock.advance(DAY);
    note(&ledger, "first");
    let last = ledger.head().time;
    ledger.close().unwrap();
    (machine, last)
}

pub(crate) fn open(machine: &Simulation) -> Ledger {
    let options = Options { governing: ReactorChoice::Governance, ..options() };
    Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap()
}

fn note(ledger: &Ledger, id: &str) {
    append(ledger, event("x.noted", id.to_owned(), OPERATOR, &json!({"n": 1})));
}

pub(crate) fn append(ledger: &Ledger, event: Event<'static>) {
    ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
}

pub(crate) fn rules(ledger: &Ledger) -> ExpiryRules {
    let history = ledger.retention_history(|query| ledger.read(query)).unwrap();
    ledger.expiry_rules(history).unwrap().unwrap()
}

/// Returns `true` if a note of this time has expired.
fn is_over(rules: &ExpiryRules, time: Micros) -> bool {
    let mut event = Event::new("e", "urn:test", "x.noted", "notes");
    event.data = Data::Json(Json::check(b"{}".to_vec()).unwrap());
    let EventDraft::Clear(record) = Record::draft(event, 0) else { panic!("it names nobody") };
    rules.expires(Position::new(3).unwrap(), time, &record)
}

#[test]
fn no_restart_lets_ages_be_counted_over_a_standstill() {
    let (machine, last) = half_a_year(41);
    // Twice, as of a clock that is ahead by more at each start.
    for jump in 0..2 {
        machine.clock.set(Micros(machine.environment().clock.now().0 + 300 * MICROS_OF_DAY));
        for restart in 0..4 {
            let ledger = open(&machine);
            machine.clock.advance(MINUTE);
            note(&ledger, &format!("{jump}-{restart}"));
            let rules = rules(&ledger);
            assert_eq!(rules.standstill(), Some(last), "jump {jump}, restart {restart}");
            assert!(!is_over(&rules, last) && is_over(&rules.trusting_the_clock(), last));
            ledger.close().unwrap();
        }
    }
    // The time that it runs counts, and the clock is right.
    let ledger = open(&machine);
    machine.clock.advance(DAY);
    note(&ledger, "a day later");
    assert!(rules(&ledger).standstill().is_none() && is_over(&rules(&ledger), last));
    ledger.close().unwrap();
    let ledger = open(&machine);
    assert_eq!(rules(&ledger).standstill(), None, "it ran for a day before");
    ledger.close().unwrap();
}

/// Opens on a full disk, so that the log cannot say it, and makes room then.
fn open_unrecorded(machine: &Simulation) -> Ledger {
    machine.disk.set_capacity(Some(machine.disk.used_bytes() + 1_024));
    let ledger = open(machine);
    assert_eq!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::DiskFull));
    machine.disk.set_capacity(None);
    let waited = Instant::now();
    while !ledger.status().writer.is_ready() {
        assert!(waited.elapsed() < Duration::from_secs(30), "it does not recover");
        std::thread::sleep(Duration::from_millis(10));
    }
    ledger
}

#[test]
fn an_opening_that_the_log_does_not_record_is_doubted_too() {
    let (machine, last) = half_a_year(44);
    machine.clock.set(Micros(machine.environment().clock.now().0 + 300 * MICROS_OF_DAY));
    let ledger = open_unrecorded(&machine);
    machine.clock.advance(MINUTE);
    note(&ledger, "ahead");
    assert_eq!(rules(&ledger).standstill(), Some(last));
    assert!(!is_over(&rules(&ledger), last));
    machine.clock.advance(DAY);
    note(&ledger, "a day later");
    assert!(rules(&ledger).standstill().is_none() && is_over(&rules(&ledger), last));
    ledger.close().unwrap();
    // No later opening, recorded or not, takes the time between the two for time that the ledger ran.
    let ledger = open_unrecorded(&machine);
    assert!(!is_over(&rules(&ledger), last));
    ledger.close().unwrap();
    let ledger = open(&machine);
    machine.clock.advance(MINUTE);
    note(&ledger, "recorded");
    assert!(rules(&ledger).standstill().is_some() && !is_over(&rules(&ledger), last));
    machine.clock.advance(DAY);
    note(&ledger, "another day later");
    assert!(rules(&ledger).standstill().is_none() && is_over(&rules(&ledger), last));
    ledger.close().unwrap();
}

#[test]
fn an_operators_acceptance_lets_ages_be_counted() {
    let (machine, last) = half_a_year(42);
    machine.clock.advance(300 * DAY);
    let ledger = open(&machine);
    note(&ledger, "ahead");
    assert_eq!(rules(&ledger).standstill(), Some(last));
    // The clock jumps by an hour more, and somebody looks at it.
    machine.clock.set(Micros(machine.environment().clock.now().0 + 60 * 60 * 1_000_000));
    note(&ledger, "jumped");
    assert!(state(&ledger).clock_trust().jump().is_some());
    append(&ledger, event("clock.accepted", "accepted".to_owned(), OPERATOR, &json!({"reason": "looked"})));
    assert!(rules(&ledger).standstill().is_none() && is_over(&rules(&ledger), last));
    ledger.close().unwrap();
}

#[test]
fn a_clock_that_was_ahead_and_is_set_back_removes_nothing_early() {
    let (machine, last) = half_a_year(43);
    let right = machine.environment().clock.now();
    machine.clock.set(Micros(right.0 + 300 * MICROS_OF_DAY));
    let ledger = open(&machine);
    note(&ledger, "ahead");
    machine.clock.set(Micros(right.0 + MICROS_OF_DAY));
    note(&ledger, "set back");
    assert!(state(&ledger).clock_trust().jump().is_some());
    append(&ledger, event("clock.accepted", "accepted".to_owned(), OPERATOR, &json!({"reason": "looked"})));
    assert!(state(&ledger).clock_trust().offset() > 0);
    note(&ledger, "corrected");
    let corrected = ledger.head().time;
    for _ in 0..2 {
        machine.clock.advance(DAY);
        note(&ledger, &format!("{:?}", machine.environment().clock.now()));
        assert!(!is_over(&rules(&ledger), last), "it is four days old");
    }
    machine.clock.advance(180 * DAY);
    note(&ledger, "half a year later");
    assert!(is_over(&rules(&ledger), last) && is_over(&rules(&ledger), corrected));
    ledger.close().unwrap();
}

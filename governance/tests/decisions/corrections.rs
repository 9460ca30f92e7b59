//! An accepted correction of the clock.
//! Governed time goes on at the pace of the clock, and no expired item is valid again.

use bitacora_governance::{REACTOR_SOURCE, State};
use bitacora_testkit::SeededRng;
use bitacora_vocabulary::{ClockCorrected, Verdict};
use serde_json::{Value, json};

use crate::desk::{SECOND, START, TestGovernance, data, governed, kinds, tool, verdict};
use crate::golden::rejudged;

const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Steps of each random history.
const STEPS: usize = 60;

/// A desk whose frames take their time from a clock that is set now and then.
struct ClockedGovernance {
    desk: TestGovernance,
    clock: u64,
}

impl ClockedGovernance {
    fn new(desk: TestGovernance) -> Self {
        Self { desk, clock: START }
    }

    /// The clock goes on.
    fn pass(&mut self, micros: u64) {
        self.clock += micros;
        self.desk.clock_shows(self.clock);
    }

    /// The clock is set, and the ledger notices.
    fn set(&mut self, clock: u64) {
        let direction = if clock > self.clock { "forward" } else { "back" };
        let jump = json!({"from": self.clock, "to": clock, "direction": direction});
        self.clock = clock;
        // A jump that is noticed and not recorded yet voids the offset.
        self.desk.time = self.desk.time.max(clock);
        assert_eq!(self.desk.act("ledger.clock-jumped", jump).unwrap(), []);
        self.desk.clock_shows(self.clock);
    }

    /// An operator accepts the clock's time; returns by how much governed time is ahead of it from here on.
    fn accept(&mut self) -> u64 {
        let caused = self.desk.act("clock.accepted", json!({"reason": "looked at"})).unwrap();
        assert_eq!((kinds(&caused), &*caused[0].source), (vec!["clock.corrected"], REACTOR_SOURCE));
        self.desk.clock_shows(self.clock);
        data::<ClockCorrected>(&caused[0]).offset_us.get()
    }

    /// The clock was a day ahead for a minute, and is right again.
    fn correct_by_a_day(&mut self) {
        self.set(self.clock + DAY);
        assert_eq!(self.accept(), 0, "a clock that is ahead of every frame needs no offset");
        self.pass(MINUTE);
        self.set(self.clock - DAY);
    }

    fn ask(&mut self, call: &str) -> (Verdict, String) {
        verdict(&self.desk.ask(call, "fs.write", json!({"path": "src/a.rs"})))
    }

    fn state<T>(&self, ask: impl FnOnce(&State) -> T) -> T {
        self.desk.governance.read(ask)
    }
}

fn trusted() -> ClockedGovernance {
    let mut machine = ClockedGovernance::new(governed());
    machine.desk.earn("fs.write", "src");
    machine
}

#[test]
fn time_goes_on_from_the_latest_one_at_the_pace_of_the_corrected_clock() {
    let mut machine = trusted();
    machine.correct_by_a_day();
    let before = machine.desk.time;
    machine.pass(HOUR);
    assert_eq!(machine.desk.time, before, "a clock that is not accepted moves nothing");
    assert_eq!(machine.accept(), DAY);
    assert_eq!(machine.desk.time, before + HOUR, "what passed until then has passed");
    machine.pass(7 * SECOND);
    assert_eq!(machine.desk.time, before + HOUR + 7 * SECOND);
    assert_eq!(machine.state(|state| state.time_by(machine_clock(&machine.clock)).0), machine.desk.time);
    // A restart forgets nothing of it.
    machine.desk.restart();
    machine.pass(5 * SECOND);
    assert_eq!(machine.desk.time, before + HOUR + 12 * SECOND);
    assert!(machine.desk.is_in_step());
    let (state, found) = rejudged(&machine.desk.log);
    assert_eq!(found.disagreements, []);
    assert!(machine.state(|published| *published == state));
}

const fn machine_clock(clock: &u64) -> bitacora_formats::Micros {
    bitacora_formats::Micros(*clock)
}

#[test]
fn rates_refill_and_breakers_cool_down_after_a_correction_backwards() {
    let mut machine = trusted();
    machine.desk.act("tool.registered", tool("fs.read")).unwrap();
    machine.desk.earn("fs.read", "src");
    machine.set(machine.clock + DAY);
    machine.accept();
    for call in ["f1", "f2", "f3", "f4", "f5"] {
        machine.ask(call);
        machine.desk.fail(call);
    }
    let limit = json!({"scope": {"by": "tool", "name": "fs.read"},
                       "limit": {"burst": 1, "refill": 1, "period_ms": 60_000}});
    machine.desk.act("rate.configured", limit).unwrap();
    let read = |machine: &mut ClockedGovernance, call: &str| {
        verdict(&machine.desk.ask(call, "fs.read", json!({"path": "src/a.rs"})))
    };
    assert_eq!(read(&mut machine, "r1").0, Verdict::Allow);
    machine.set(machine.clock - DAY);
    machine.accept();
    assert_eq!(read(&mut machine, "r2"), (Verdict::Deny, "rate-limited".into()));
    machine.pass(MINUTE);
    assert_eq!(read(&mut machine, "r3").0, Verdict::Allow);
    assert_eq!(machine.ask("b1"), (Verdict::Review, "breaker-open".into()));
    machine.pass(4 * MINUTE);
    let probed = machine.desk.ask("b2", "fs.write", json!({"path": "src/a.rs"}));
    let steps = serde_json::to_value(&probed.ladder).unwrap();
    assert!(steps.to_string().contains("breaker-probe"), "{steps}");
    assert!(machine.desk.is_in_step());
}

#[test]
fn approvals_and_deadlines_end_after_a_correction_backwards() {
    let mut machine = trusted();
    machine.set(machine.clock + DAY);
    machine.accept();
    let waits = machine.desk.ask("w1", "fs.write", json!({"path": "docs/a.rs"}));
    machine.ask("c1");
    machine.set(machine.clock - DAY);
    machine.accept();
    let over = |machine: &ClockedGovernance| {
        let at = machine.state(|state| state.time_by(machine_clock(&machine.clock)));
        machine.state(|state| (state.overdue_calls(at).len(), state.expired_approvals(at).len()))
    };
    assert_eq!(over(&machine), (0, 0));
    machine.pass(HOUR);
    assert_eq!(over(&machine), (1, 0), "the call had minutes");
    machine.pass(23 * HOUR);
    assert_eq!(over(&machine), (1, 1), "the approval had a day");
    let late = json!({"approval": waits.approval, "resolution": "approved", "by": "operator:0"});
    assert_eq!(machine.desk.act("approval.resolved", late).unwrap_err().code.as_str(), "already-resolved");
}

#[test]
fn a_correction_forwards_shortens_the_offset_and_revives_nothing() {
    let mut machine = trusted();
    // The right clock is set back a day, and that is accepted; then it is put right.
    machine.set(machine.clock - DAY);
    assert_eq!(machine.accept(), DAY);
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let until = machine.desk.time + HOUR;
    let probed = json!({"dimension": dimension, "expires": until, "reason": "for a test"});
    machine.desk.act("trust.probed", probed.clone()).unwrap();
    machine.pass(HOUR);
    let before = machine.desk.time;
    assert_eq!(before, START + HOUR);
    machine.set(machine.clock + DAY);
    assert_eq!(machine.desk.time, before, "it was right all the time");
    assert_eq!(machine.accept(), 0);
    machine.pass(SECOND);
    assert_eq!(machine.desk.time, before + SECOND);
    assert_eq!(machine.desk.act("trust.probed", probed).unwrap_err().code.as_str(), "schema", "it is over");
    assert_eq!(
        serde_json::to_value(machine.state(|state| *state.clock_trust())).unwrap(),
        json!({"jump": null})
    );
}

#[test]
fn what_was_recorded_before_time_went_on_so_stands_still_as_it_did() {
    let mut machine = trusted();
    machine.desk.record_rules(5);
    machine.set(machine.clock + DAY);
    let caused = machine.desk.act("clock.accepted", json!({"reason": "x"})).unwrap();
    assert_eq!(caused, [], "version 5 records no offset");
    machine.set(machine.clock - DAY);
    let latest = machine.desk.time;
    machine.desk.record_rules(6);
    assert_eq!(machine.accept(), DAY, "a jump of before that is accepted now counts from the latest time");
    machine.pass(SECOND);
    assert_eq!(machine.desk.time, latest + SECOND);
}

#[test]
fn hours_of_rules_are_those_of_the_clock_that_was_accepted() {
    let mut machine = ClockedGovernance::new(governed());
    machine.desk.earn("fs.write", "src");
    let rules = json!([
        {"id": "night", "match": {"time_window": {"from": "00:00", "to": "06:00"}}, "action": "deny", "reason": "at night"},
        {"id": "all", "match": {}, "action": "allow", "reason": "for a test"},
    ]);
    machine.desk.publish_rules(2, rules);
    machine.pass(12 * HOUR);
    assert_eq!(machine.ask("c1").0, Verdict::Allow);
    machine.set(machine.clock + 14 * HOUR);
    machine.accept();
    assert_eq!(machine.ask("c2"), (Verdict::Deny, "policy-deny".into()), "it shows two in the morning");
    machine.set(machine.clock - 14 * HOUR);
    assert_eq!(machine.accept(), 14 * HOUR);
    let made = machine.desk.ask("c3", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(made.verdict, Verdict::Allow, "it is noon, whatever governed time says");
    assert_eq!(made.inputs.clock_offset_us.map(bitacora_vocabulary::ClockOffset::get), Some(14 * HOUR));
    let (_, found) = rejudged(&machine.desk.log);
    assert_eq!(found.disagreements, []);
}

/// A UUIDv7 that was made at this time.
fn key_of(micros: u64) -> String {
    let milliseconds = format!("{:012x}", micros / 1_000);
    let (high, low) = milliseconds.split_at(8);
    format!("{high}-{low}-7cc3-98c4-dc0c0c07398f")
}

#[test]
fn new_keys_are_taken_after_a_correction_and_old_ones_stay_expired() {
    let mut machine = trusted();
    let mut keyed = tool("fs.write");
    keyed["idempotency"] = json!("keyed");
    machine.desk.act("tool.changed", keyed).unwrap();
    let old = key_of(machine.clock);
    machine.set(machine.clock + 2 * DAY);
    machine.accept();
    let ask = |machine: &mut ClockedGovernance, call: &str, key: &str| {
        let request =
            json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "idempotency_key": key});
        verdict(&machine.desk.ask_with(request).unwrap()).1
    };
    assert_eq!(ask(&mut machine, "c1", &old), "key-expired");
    machine.set(machine.clock - 2 * DAY);
    machine.accept();
    machine.pass(MINUTE);
    assert_eq!(ask(&mut machine, "c2", &old), "key-expired");
    let fresh = key_of(machine.clock);
    assert_ne!(ask(&mut machine, "c3", &fresh), "key-expired");
    machine.pass(DAY);
    assert_eq!(ask(&mut machine, "c4", &fresh), "key-expired");
}

#[test]
fn whatever_the_clock_does_time_never_goes_back_and_only_waits_for_an_acceptance() {
    for seed in 0..200 {
        let (mut dice, mut machine) = (SeededRng::new(seed), trusted());
        machine.clock += 400 * DAY;
        machine.desk.clock_shows(machine.clock);
        let mut is_accepted = true;
        let (mut held, mut over): (Vec<(String, u64)>, Vec<String>) = (Vec::new(), Vec::new());
        for step in 0..STEPS {
            let (before, clock) = (machine.desk.time, machine.clock);
            match dice.below(5) {
                0 => {
                    let by = 11 * MINUTE + dice.below(30 * DAY);
                    let is_ahead = dice.below(2) == 0;
                    machine.set(if is_ahead { clock + by } else { clock - by });
                    is_accepted = false;
                    // Ahead of all frames it moves them; otherwise they wait.
                    assert_eq!(machine.desk.time, before.max(machine.clock), "seed {seed} step {step}");
                }
                1 if !is_accepted => {
                    machine.accept();
                    is_accepted = true;
                }
                2 if is_accepted => {
                    let id = format!("w{step}");
                    let made = machine.desk.ask(&id, "fs.write", json!({"path": format!("docs/{step}.rs")}));
                    held.extend(made.approval.map(|approval| (approval.to_string(), made.expires.unwrap())));
                }
                _ => {
                    let passed = dice.below(8 * HOUR);
                    machine.pass(passed);
                    if is_accepted {
                        assert_eq!(machine.desk.time, before + passed, "seed {seed} step {step}");
                    }
                }
            }
            assert!(machine.desk.time >= before, "seed {seed} step {step}");
            if is_accepted {
                let now = machine.state(|state| state.time_by(machine_clock(&machine.clock)));
                assert_eq!(now.0, machine.desk.time, "readers and frames have one time");
                let waiting: Vec<String> = machine.state(|state| {
                    let waiting = state.pending_approvals(now, 0);
                    waiting.iter().map(|approval| approval.request.approval.to_string()).collect()
                });
                over.extend(held.iter().filter(|(_, until)| *until <= now.0).map(|(id, _)| id.clone()));
                assert!(!waiting.iter().any(|id| over.contains(id)), "seed {seed} step {step}");
            }
        }
        assert!(machine.desk.is_in_step());
        let (_, found) = rejudged(&machine.desk.log);
        assert_eq!(found.disagreements, [], "seed {seed}");
    }
}

#[test]
fn nobody_but_the_reactor_says_how_far_ahead_time_is() {
    let mut desk = governed();
    let told: Value = json!({"offset_us": 1});
    assert_eq!(desk.act("clock.corrected", told).unwrap_err().code.as_str(), "reserved-type");
}

//! P8: a clock that jumped allows nothing, and the log says the same of that after every restart.

use std::time::Duration;

use bitacora_formats::{After, Micros};
use bitacora_ledger::{AppendRequest, Clock, Filter, Ledger, ReadFrom, ReadQuery};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::Verdict;
use serde_json::json;

use crate::p8_no_allow_without_a_record::{RecordingClient, decision_at, event, open, remove_index, state};
use crate::workload::machine_with_ledger;

const MINUTE: u64 = 60_000_000;
const IN_2100: Micros = Micros(4_102_444_800_000_000);

fn ask(ledger: &Ledger, call: &str) -> (Verdict, String) {
    let data = json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}});
    let asked = event("tool.requested", format!("{call}#asked"), "agent:1", &data);
    let answer = ledger.append(AppendRequest::of(vec![asked])).unwrap().wait().unwrap();
    let made = answer.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
    let decision = decision_at(ledger, made.position);
    (decision.verdict, decision.reason_code.as_str())
}

fn accept(ledger: &Ledger, id: &str) {
    let word = event("clock.accepted", id.to_owned(), "operator:0", &json!({"reason": "looked at"}));
    ledger.append(AppendRequest::of(vec![word])).unwrap().wait().unwrap();
}

fn jumps(ledger: &Ledger) -> usize {
    let filter = Filter { kinds: vec!["ledger.clock-jumped".to_owned()], ..Filter::default() };
    let query = ReadQuery { from: ReadFrom::After(After::new(0)), until: None, limit: 100, filter };
    ledger.read(&query).unwrap().events.len()
}

/// The time to which a clock that shows this one is set.
type Setting = fn(u64) -> Micros;

fn governed(seed: u64) -> Simulation {
    let machine = machine_with_ledger(seed);
    let ledger = open(&machine);
    RecordingClient::new(seed).set_up(&machine, &ledger);
    ledger.close().unwrap();
    machine
}

#[test]
fn a_jump_denies_until_it_is_accepted_and_a_restart_forgets_nothing() {
    let here = |machine: &Simulation| machine.clock.now().0;
    let set: [(&str, Setting); 4] = [
        ("forward", |now| Micros(now + 11 * MINUTE)),
        ("back", |now| Micros(now - 11 * MINUTE)),
        ("1970", |_| Micros(0)),
        ("2100", |_| IN_2100),
    ];
    for (seed, (what, set)) in (860..).zip(set) {
        let machine = governed(seed);
        let ledger = open(&machine);
        assert_eq!(ask(&ledger, "c1").0, Verdict::Allow, "{what}");
        machine.clock.advance(Duration::from_secs(3 * 3_600));
        machine.clock.set(Micros(here(&machine) + 9 * MINUTE));
        assert_eq!(ask(&ledger, "c2").0, Verdict::Allow, "{what}: nine minutes are none");
        let governed = state(&ledger).governed_time();
        machine.clock.set(set(here(&machine) - 9 * MINUTE));
        let denied = (Verdict::Deny, "clock-untrusted".to_owned());
        assert_eq!(ask(&ledger, "c3"), denied, "{what}");
        assert_eq!(jumps(&ledger), 1, "{what}");
        assert!(state(&ledger).governed_time() >= governed, "{what}");
        let before = state(&ledger);
        ledger.close().unwrap();

        let ledger = open(&machine);
        assert!(state(&ledger).clock_trust().jump().is_some(), "{what}");
        let is_behind = machine.clock.now().0 + 10 * MINUTE < before.governed_time().0;
        assert_eq!(ask(&ledger, "c4"), denied, "{what}");
        assert_eq!(jumps(&ledger), 1 + usize::from(is_behind), "{what}");
        accept(&ledger, "a1");
        assert_eq!(ask(&ledger, "c5").0, Verdict::Allow, "{what}");
        let before = state(&ledger);
        ledger.close().unwrap();

        // From the log alone: what was accepted goes on.
        remove_index(&machine);
        let ledger = open(&machine);
        assert!(state(&ledger) == before, "{what}");
        assert_eq!(ask(&ledger, "c6").0, Verdict::Allow, "{what}");
        ledger.close().unwrap();
    }
}

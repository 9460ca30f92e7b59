//! The stops of agents, in every mode.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Mode, Verdict};
use serde_json::json;

use crate::desk::{SECOND, governed, verdict};

#[test]
fn panic_and_suspension_hold_in_every_mode_until_they_are_taken_back() {
    for mode in ["enforce", "observe"] {
        let mut desk = governed();
        desk.earn("fs.write", "src");
        desk.act("mode.configured", json!({"mode": mode})).unwrap();
        for (stop, release, data, code) in [
            ("panic.engaged", "panic.released", json!({"reason": "a drill"}), "panic"),
            (
                "agent.suspended",
                "agent.resumed",
                json!({"agent": "coder", "reason": "a drill"}),
                "agent-suspended",
            ),
        ] {
            desk.act(stop, data.clone()).unwrap();
            let decision = desk.ask(&format!("{mode}-{code}"), "fs.write", json!({"path": "src/a.rs"}));
            assert_eq!(verdict(&decision), (Verdict::Deny, code.into()));
            assert_eq!(decision.mode, Mode::Enforce);
            assert!(decision.reason.contains("a drill"), "{}", decision.reason);
            desk.act(release, data).unwrap();
            let decision = desk.ask(&format!("{mode}-{code}-after"), "fs.write", json!({"path": "src/a.rs"}));
            assert_eq!(verdict(&decision), (Verdict::Allow, "allowed".into()));
        }
    }
}

#[test]
fn observing_says_what_would_have_been_said_and_asks_nobody() {
    let mut desk = governed();
    desk.act("mode.configured", json!({"mode": "observe"})).unwrap();
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((decision.mode, decision.verdict, decision.approval), (Mode::Observe, Verdict::Review, None));
    assert!(desk.ok("c1").is_empty(), "good without a person counts nothing while observing");
    desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(desk.fail("c2").len(), 1, "errors count");
}

#[test]
fn an_allow_may_begin_within_its_time_and_while_nothing_stops_it() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&decision), (Verdict::Allow, "allowed".into()));
    let placed = desk.log.last().unwrap().iter().find(|placed| placed.event.kind == "decision.made").unwrap();
    let (position, heard) = (placed.position, desk.time);
    let may = |desk: &crate::desk::TestGovernance, position, seconds: u64| {
        let at = Micros(heard + seconds * SECOND);
        desk.governance.read(|state| state.may_still_begin(&decision, position, at))
    };
    assert!(may(&desk, position, 0) && may(&desk, position, 299));
    assert!(!may(&desk, position, 300), "five minutes to begin in");
    assert!(!may(&desk, position.next().unwrap(), 0), "of another decision");
    for (stop, release, data) in [
        ("panic.engaged", "panic.released", json!({"reason": "a drill"})),
        ("agent.suspended", "agent.resumed", json!({"agent": "coder", "reason": "a drill"})),
    ] {
        desk.act(stop, data.clone()).unwrap();
        assert!(!may(&desk, position, 0), "{stop}");
        desk.act(release, data).unwrap();
        assert!(may(&desk, position, 0), "{release}");
    }
    desk.pass(301);
    desk.act("panic.released", json!({"reason": "time passes"})).unwrap();
    assert!(!may(&desk, position, 0), "a clock that went back does not begin it again");
    desk.ok("c1");
    assert!(!may(&desk, position, 0), "it has its outcome");
}

#[test]
fn an_allow_does_not_begin_at_its_deadline_however_short_that_is() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let asked =
        json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/a.rs"}, "deadline_ms": 60_000});
    let decision = desk.ask_with(asked).unwrap();
    let placed = desk.log.last().unwrap().iter().find(|placed| placed.event.kind == "decision.made").unwrap();
    let may = |seconds: u64| {
        let at = Micros(desk.time + seconds * SECOND);
        desk.governance.read(|state| state.may_still_begin(&decision, placed.position, at))
    };
    assert!(may(59) && !may(60));
}

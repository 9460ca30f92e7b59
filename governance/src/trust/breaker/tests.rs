use bitacora_vocabulary::BoundedNumber;

use super::*;

mod model;

const NOW: Micros = Micros(1_700_000_000_000_000);
/// The end of the default cooldown that begins now.
const COOLED: Micros = Micros(NOW.0 + 300_000_000);

pub(super) fn settings(
    window: u32,
    failure_threshold: u32,
    recovery_probes: u32,
    cooldown_s: u32,
) -> BreakerSettings {
    BreakerSettings {
        window: BoundedNumber::clamped(window),
        failure_threshold: BoundedNumber::clamped(failure_threshold),
        recovery_probes: BoundedNumber::clamped(recovery_probes),
        cooldown_s: BoundedNumber::clamped(cooldown_s),
    }
}

/// Handles an outcome as a reactor does: asks for the transition that is due, applies the outcome, applies the transition.
fn outcome(breaker: &mut Breaker, bad: bool, was_probe: bool, time: Micros) -> Option<Transition> {
    let due = breaker.due_after(bad, was_probe, time);
    breaker.apply_outcome(bad, was_probe);
    if let Some(transition) = &due {
        breaker.apply_transition(transition);
    }
    due
}

fn request(breaker: &mut Breaker, time: Micros) -> Option<Transition> {
    let due = breaker.due_on_request(time);
    if let Some(transition) = &due {
        breaker.apply_transition(transition);
    }
    due
}

fn open() -> Breaker {
    let mut breaker = Breaker::default();
    for _ in 0..5 {
        outcome(&mut breaker, true, false, NOW);
    }
    assert_eq!(breaker.condition(), BreakerCondition::Open);
    breaker
}

fn half_open() -> Breaker {
    let mut breaker = open();
    assert_eq!(request(&mut breaker, COOLED), Some(Transition::HalfOpen));
    breaker
}

#[test]
fn it_starts_closed_with_the_documented_settings() {
    let breaker = Breaker::default();
    assert_eq!((breaker.condition(), breaker.verdict()), (BreakerCondition::Closed, Verdict::Allow));
    assert_eq!(*breaker.settings(), settings(20, 5, 3, 300));
    assert_eq!((breaker.window(), breaker.trial()), (WindowCounts::default(), None));
}

#[test]
fn it_opens_with_the_bad_outcome_that_reaches_the_threshold() {
    let mut breaker = Breaker::default();
    for _ in 0..4 {
        assert_eq!(outcome(&mut breaker, true, false, NOW), None);
        assert_eq!(outcome(&mut breaker, false, false, NOW), None);
    }
    let window = WindowCounts { outcomes: 9, bad: 5 };
    let opened = Transition::Open { window, cooldown_until: COOLED };
    assert_eq!(outcome(&mut breaker, true, false, NOW), Some(opened));
    assert_eq!((breaker.condition(), breaker.verdict()), (BreakerCondition::Open, Verdict::Deny));
    assert_eq!(breaker.cooldown_until(), Some(COOLED));
}

#[test]
fn bad_outcomes_that_left_the_window_do_not_count() {
    let mut breaker = Breaker::default();
    for _ in 0..4 {
        outcome(&mut breaker, true, false, NOW);
    }
    for _ in 0..17 {
        assert_eq!(outcome(&mut breaker, false, false, NOW), None);
    }
    assert_eq!(breaker.window(), WindowCounts { outcomes: 20, bad: 3 });
    assert_eq!(outcome(&mut breaker, true, false, NOW), None);
}

#[test]
fn asking_changes_nothing() {
    for breaker in [Breaker::default(), open(), half_open()] {
        let before = breaker;
        for time in [NOW, COOLED, Micros(u64::MAX)] {
            let _ = (breaker.due_on_request(time), breaker.due_after(true, true, time));
            let _ = (
                breaker.verdict(),
                breaker.trial(),
                breaker.due_after_configured(&settings(1, 1, 1, 0), time),
            );
        }
        assert_eq!(breaker, before);
    }
    assert_eq!(open().condition(), BreakerCondition::Open, "also once the cooldown is over");
}

#[test]
fn the_first_request_at_the_end_of_the_cooldown_half_opens_it() {
    let mut breaker = open();
    assert_eq!(request(&mut breaker, Micros(COOLED.0 - 1)), None);
    assert_eq!(breaker.verdict(), Verdict::Deny);
    assert_eq!(request(&mut breaker, COOLED), Some(Transition::HalfOpen));
    assert_eq!((breaker.condition(), breaker.verdict()), (BreakerCondition::HalfOpen, Verdict::Review));
    assert_eq!(request(&mut breaker, Micros(u64::MAX)), None, "it is half-open already");
    assert_eq!(Breaker::default().due_on_request(Micros(u64::MAX)), None, "closed");
}

#[test]
fn enough_good_probes_close_it_and_clear_its_window() {
    let mut breaker = half_open();
    for good in 1..=2 {
        assert_eq!(outcome(&mut breaker, false, true, COOLED), None);
        assert_eq!(breaker.good_probes(), Some(good));
    }
    assert_eq!(outcome(&mut breaker, false, true, COOLED), Some(Transition::Close));
    assert_eq!((breaker.condition(), breaker.verdict()), (BreakerCondition::Closed, Verdict::Allow));
    assert_eq!(breaker.window(), WindowCounts::default());
    for _ in 0..4 {
        assert_eq!(outcome(&mut breaker, true, false, COOLED), None, "what was before does not count");
    }
}

#[test]
fn one_bad_probe_opens_it_again_with_a_new_time() {
    let mut breaker = half_open();
    outcome(&mut breaker, false, true, COOLED);
    outcome(&mut breaker, false, true, COOLED);
    let later = Micros(COOLED.0 + 5);
    let window = WindowCounts { outcomes: 8, bad: 6 };
    let opened = Transition::Open { window, cooldown_until: Micros(later.0 + 300_000_000) };
    assert_eq!(outcome(&mut breaker, true, true, later), Some(opened));
    assert_eq!(breaker.condition(), BreakerCondition::Open);
    assert_eq!(request(&mut breaker, Micros(later.0 + 300_000_000)), Some(Transition::HalfOpen));
    assert_eq!(breaker.good_probes(), Some(0), "probes of an earlier time are forgotten");
}

#[test]
fn a_bad_probe_is_no_good_one_even_before_it_opens_the_breaker() {
    let mut breaker = half_open();
    breaker.apply_outcome(true, true);
    assert_eq!(breaker.good_probes(), Some(0));
}

#[test]
fn calls_that_were_under_way_neither_close_nor_open_it() {
    let mut breaker = half_open();
    for _ in 0..10 {
        assert_eq!(outcome(&mut breaker, false, false, COOLED), None);
        assert_eq!(outcome(&mut breaker, true, false, COOLED), None);
    }
    assert_eq!((breaker.condition(), breaker.good_probes()), (BreakerCondition::HalfOpen, Some(0)));
    let mut breaker = open();
    for bad in [false, true, false, true] {
        assert_eq!(outcome(&mut breaker, bad, false, COOLED), None);
        assert_eq!(outcome(&mut breaker, bad, true, COOLED), None);
    }
    assert_eq!((breaker.condition(), breaker.cooldown_until()), (BreakerCondition::Open, Some(COOLED)));
}

#[test]
fn a_probe_is_known_by_the_time_it_was_decided_in() {
    let mut breaker = half_open();
    let first = breaker.trial();
    assert!(first.is_some() && breaker.is_probe(first) && !breaker.is_probe(None));
    assert!(!Breaker::default().is_probe(None) && !open().is_probe(None), "nothing is probed");
    outcome(&mut breaker, true, true, COOLED);
    assert!(!breaker.is_probe(first), "it is open");
    request(&mut breaker, Micros(u64::MAX));
    assert!(!breaker.is_probe(first), "half-open anew");
    assert!(breaker.is_probe(breaker.trial()) && breaker.trial() != first);
    breaker.apply_transition(&Transition::Close);
    assert_eq!((breaker.trial(), breaker.is_probe(first)), (None, false));
}

#[test]
fn an_operator_closes_it_from_anywhere_and_clears_its_window() {
    let mut failing = Breaker::default();
    failing.apply_outcome(true, false);
    let dimension = Dimension::default();
    let event = BreakerClosed { dimension, by: None, reason: None };
    for mut breaker in [failing, open(), half_open()] {
        breaker.apply_transition(&Transition::from(&event));
        assert_eq!(
            (breaker.condition(), breaker.window()),
            (BreakerCondition::Closed, WindowCounts::default())
        );
        assert_eq!(outcome(&mut breaker, true, false, NOW), None);
    }
}

#[test]
fn a_shorter_window_keeps_the_newest_outcomes() {
    let mut breaker = Breaker::default();
    for bad in [true, true, true, false, true, false] {
        breaker.apply_outcome(bad, false);
    }
    breaker.apply_configured(&settings(4, 4, 3, 300));
    assert_eq!(breaker.window(), WindowCounts { outcomes: 4, bad: 2 });
    breaker.apply_configured(&settings(128, 128, 3, 300));
    assert_eq!(breaker.window(), WindowCounts { outcomes: 4, bad: 2 }, "what left does not come back");
    for _ in 0..200 {
        breaker.apply_outcome(true, false);
    }
    assert_eq!(breaker.window(), WindowCounts { outcomes: 128, bad: 128 });
    breaker.apply_outcome(false, false);
    assert_eq!(breaker.window(), WindowCounts { outcomes: 128, bad: 127 });
}

#[test]
fn settings_open_a_window_that_holds_too_many_for_them_and_close_what_was_probed_enough() {
    let mut breaker = Breaker::default();
    for _ in 0..4 {
        breaker.apply_outcome(true, false);
    }
    assert_eq!(breaker.due_after_configured(&settings(20, 5, 3, 300), NOW), None);
    let window = WindowCounts { outcomes: 4, bad: 4 };
    let opened = Transition::Open { window, cooldown_until: Micros(NOW.0 + 60_000_000) };
    assert_eq!(breaker.due_after_configured(&settings(20, 4, 3, 60), NOW), Some(opened));

    let mut probed = half_open();
    outcome(&mut probed, false, true, COOLED);
    assert_eq!(probed.due_after_configured(&settings(20, 5, 2, 300), NOW), None);
    assert_eq!(probed.due_after_configured(&settings(20, 5, 1, 300), NOW), Some(Transition::Close));

    let mut cooling = open();
    let soon = settings(20, 5, 3, 0);
    assert_eq!(cooling.due_after_configured(&soon, NOW), None);
    cooling.apply_configured(&soon);
    assert_eq!(cooling.cooldown_until(), Some(COOLED), "a cooldown under way ends when it would have");
}

#[test]
fn a_threshold_past_the_window_is_a_window_full_of_bad_ones() {
    let mut breaker = Breaker::default();
    breaker.apply_configured(&settings(3, 100, 1, 0));
    assert_eq!(outcome(&mut breaker, true, false, NOW), None);
    assert_eq!(outcome(&mut breaker, true, false, NOW), None);
    assert!(outcome(&mut breaker, true, false, NOW).is_some());
    assert_eq!(request(&mut breaker, NOW), Some(Transition::HalfOpen), "without a cooldown at once");
}

#[test]
fn a_cooldown_past_the_end_of_time_ends_there() {
    let mut breaker = Breaker::default();
    breaker.apply_configured(&settings(1, 1, 1, u32::MAX));
    outcome(&mut breaker, true, false, Micros(u64::MAX - 1));
    assert_eq!(breaker.cooldown_until(), Some(Micros(u64::MAX)));
}

#[test]
fn bad_is_what_failed_and_a_rejection_says_nothing() {
    use TrustOutcome::{Approved, AutoApproved, Error, Rejected, Timeout};
    for check in [None, Some(true), Some(false)] {
        assert_eq!(bad_outcome(Rejected, check), None);
        assert_eq!((bad_outcome(Error, check), bad_outcome(Timeout, check)), (Some(true), Some(true)));
        for approved in [Approved, AutoApproved] {
            assert_eq!(bad_outcome(approved, check), Some(check == Some(false)));
        }
    }
}

#[test]
fn a_transition_is_what_its_event_says() {
    let dimension = Dimension::new("fs.write", "src/a", "-", "-").unwrap();
    let window = WindowCounts { outcomes: 9, bad: 5 };
    for transition in
        [Transition::Open { window, cooldown_until: COOLED }, Transition::HalfOpen, Transition::Close]
    {
        let read = match transition.event(dimension.clone()) {
            BreakerEvent::Opened(event) => {
                assert_eq!((event.outcomes, event.bad, event.cooldown_until), (9, 5, COOLED.0));
                assert_eq!(event.dimension, dimension);
                Transition::from(&event)
            }
            BreakerEvent::HalfOpened(event) => Transition::from(&event),
            BreakerEvent::Closed(event) => Transition::from(&event),
        };
        assert_eq!(read, transition);
    }
}

#[test]
fn a_breaker_is_kept_as_it_always_was() {
    let rest = r#""window":{"newer":31,"older":0,"len":5},"#;
    let settings = r#"{"settings":{"window":20,"failure_threshold":5,"recovery_probes":3,"cooldown_s":300},"#;
    let kept = [
        (
            Breaker::default(),
            r#""condition":"closed","window":{"newer":0,"older":0,"len":0},"trial":0}"#.to_owned(),
        ),
        (open(), format!(r#""condition":{{"open":{{"cooldown_until":{}}}}},{rest}"trial":0}}"#, COOLED.0)),
        (half_open(), format!(r#""condition":{{"half_open":{{"good_probes":0}}}},{rest}"trial":1}}"#)),
    ];
    for (breaker, end) in kept {
        let text = format!("{settings}{end}");
        assert_eq!(serde_json::to_string(&breaker).unwrap(), text);
        assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), breaker);
    }
}

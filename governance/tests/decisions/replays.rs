//! The state as a fold of recorded events, the same at every position of any history.
//! Live, published, folded again from nothing, and restarted from a saved one are the same state.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_formats::{Event, Micros, Position};
use bitacora_governance::{Reactor, ReactorRefusal, ReactorState, State};
use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::Value;

use crate::desk::{TestGovernance, data, draw};
use crate::golden::{line, rejudged};
use crate::random_acts::RandomRequests;

const STEPS: u64 = 300;

/// The events that a request caused, or the reason of its refusal.
type RequestResult = Result<Vec<Event<'static>>, ReactorRefusal>;

/// The first seed: from here on, twelve histories hold every reason, derived event and refusal.
const FIRST_SEED: u64 = 200;

/// Twelve seeds, or as many as are asked for.
fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("BITACORA_HISTORIES").ok().and_then(|count| count.parse().ok());
    FIRST_SEED..FIRST_SEED + asked.unwrap_or(12)
}

/// Runs one history after another; `each` sees the desk and the result of each request.
fn run(
    seed: u64,
    mut each: impl FnMut(&TestGovernance, &[Event<'static>], &RequestResult),
) -> TestGovernance {
    let (mut desk, mut acts) = (TestGovernance::new(), RandomRequests::new(seed));
    let mut append = |desk: &mut TestGovernance, events: Vec<Event<'static>>| {
        let became = desk.append(events.clone());
        each(desk, &events, &became);
    };
    for event in acts.first() {
        append(&mut desk, vec![event]);
    }
    for _ in 0..STEPS {
        let request = desk.governance.read(|state| acts.next(state, Micros(desk.time)));
        desk.pass(request.seconds);
        append(&mut desk, request.events);
    }
    desk
}

/// Each entry is counted as its agent's, once.
fn shares_add_up(state: &State) {
    let state = serde_json::to_value(state).unwrap();
    for (part, map) in [("calls", "by_id"), ("approvals", "by_id"), ("keys", "used"), ("rounds", "by_name")] {
        let shares = state[part]["shares"]["by_agent"].as_array().unwrap();
        let counted: u64 = shares.iter().map(|pair| pair[1].as_u64().unwrap()).sum();
        assert_eq!(counted, state[part][map].as_array().unwrap().len() as u64, "{part}");
    }
}

#[test]
fn at_every_position_live_folded_and_restarted_are_the_same() {
    let mut came = ReplayCoverage::default();
    for seed in seeds() {
        // Folded event by event; and saved and restored behind every frame, so that a snapshot is taken at each position.
        let (mut folded, mut saved) = (State::default(), State::default());
        // The same requests to a ledger that is opened anew before each fifth of them.
        let (mut restarted, mut step) = (TestGovernance::new(), 0);
        for begun in restarted.log.iter().flatten() {
            folded.fold(&[begun.observed(None)]);
            saved.fold(&[begun.observed(None)]);
        }
        let desk = run(seed, |desk, events, became| {
            step += 1;
            restarted.time = desk.time;
            if step % 5 == 0 {
                restarted.restart();
            }
            assert_eq!(restarted.append(events.to_vec()), *became, "seed {seed}, step {step}");
            came.upon(became);
            assert!(desk.is_in_step(), "seed {seed}, step {step}: the staged state is not the published one");
            if became.is_err() {
                return;
            }
            let frame = desk.log.last().unwrap();
            frame.iter().for_each(|placed| folded.fold(&[placed.observed(None)]));
            saved.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
            let bytes = saved.save().unwrap().unwrap();
            saved = State::default();
            saved.restore(Position::FIRST, &bytes).unwrap();
            let live = desk.governance.read(|state| {
                assert!(*state == folded, "seed {seed}, step {step}: folded");
                if step % 20 == 0 {
                    shares_add_up(state);
                    reservations_add_up(state);
                }
                assert!(*state == saved, "seed {seed}, step {step}: restored");
                state.save().unwrap().unwrap()
            });
            assert_eq!(live, bytes, "seed {seed}, step {step}: the bytes of a snapshot");
        });
        assert!(desk.is_in_step() && restarted.is_in_step(), "seed {seed}");
        let (again, found) = rejudged(&desk.log);
        assert_eq!(found.disagreements, [], "seed {seed}: judged again");
        assert!(desk.staged_is(&again), "seed {seed}: judged again");
        let whole: Vec<_> = desk.log.iter().flatten().map(|placed| placed.observed(None)).collect();
        let mut at_once = State::default();
        at_once.fold(&whole);
        assert_eq!(at_once.digests().unwrap(), again.digests().unwrap(), "seed {seed}: folded at once");
    }
    if seeds().end >= 12 {
        came.assert_everything();
    }
}

/// Checks that the reserved amounts are the sums of the reservations, window by window.
fn reservations_add_up(state: &State) {
    let state = serde_json::to_value(state).unwrap();
    let (mut meters, mut parts) = (BTreeMap::new(), BTreeMap::new());
    let add = |sums: &mut BTreeMap<String, [u64; 2]>, key: &Value, amounts: &Value| {
        let sum = sums.entry(key.to_string()).or_default();
        for (sum, unit) in sum.iter_mut().zip(["cost_micro_usd", "calls"]) {
            *sum += amounts[unit].as_u64().unwrap();
        }
    };
    for pair in state["budgets"]["meters"].as_array().unwrap() {
        add(&mut meters, &pair[0], &pair[1]["reserved"]);
    }
    let reservations = state["budgets"]["reservations"].as_array().unwrap();
    assert_eq!(reservations.len(), state["budgets"]["ending"].as_array().unwrap().len());
    for part in reservations.iter().flat_map(|pair| pair[1]["parts"].as_array().unwrap()) {
        if part["is_released"] == false {
            add(&mut parts, &part["key"], &part["amounts"]);
        }
    }
    meters.retain(|_, sum| *sum != [0, 0]);
    assert_eq!(meters, parts);
}

/// The state is that of a service that has just opened: it was folded, and reacts from there on.
#[test]
fn what_is_refused_behind_a_folded_history_changes_nothing() {
    for seed in 0..3 {
        let (mut folded, mut changed) = (State::default(), 0);
        run(seed, |desk, _, became| {
            if became.is_err() {
                return;
            }
            let (frame, mut staged) = (desk.log.last().unwrap(), folded.clone());
            for placed in frame {
                let mut found = desk.governance.examine(&placed.event).ok().flatten();
                found.iter_mut().for_each(|found| draw(found, placed.position.get()));
                drop(staged.react(&placed.observed(found.as_deref())));
            }
            changed += u32::from(staged != folded);
            staged.discard();
            assert!(staged == folded, "seed {seed}, {:?}", frame.first().map(|placed| &placed.event.kind));
            folded.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
        });
        assert!(changed > 100, "{changed} requests changed anything");
    }
}

#[test]
fn two_runs_of_a_seed_are_the_same_byte_for_byte() {
    let bytes = |seed| {
        let desk = run(seed, |_, _, _| ());
        let frames: Vec<_> = desk.log.iter().map(|frame| line(frame)).collect();
        (frames.join("\n"), desk.governance.read(|state| serde_json::to_vec(state).unwrap()))
    };
    assert_eq!(bytes(7), bytes(7));
    assert_ne!(bytes(7), bytes(8));
}

/// The reasons, events and refusals that histories came upon.
#[derive(Default)]
struct ReplayCoverage {
    reasons: BTreeSet<String>,
    derived: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl ReplayCoverage {
    fn upon(&mut self, became: &RequestResult) {
        let caused = match became {
            Ok(caused) => caused,
            Err(refusal) => {
                self.refused.insert(refusal.code.as_str().to_owned());
                return;
            }
        };
        for event in caused {
            self.derived.insert(event.kind.to_string());
            if event.kind == "decision.made" {
                let decision: DecisionMade = data(event);
                self.reasons.insert(decision.reason_code.as_str());
                // The verdict is never milder than the strictest step, except by a person's word on a review.
                let strictest = decision.ladder.iter().map(|step| step.verdict).max().unwrap();
                let word = ["approved", "granted"].contains(&decision.reason_code.as_str().as_str());
                let lifted = word && strictest == Verdict::Review && decision.verdict == Verdict::Allow;
                assert!(decision.verdict == strictest || lifted, "{decision:?}");
            }
        }
    }

    /// Histories that left something out would prove nothing of it.
    fn assert_everything(&self) {
        for (found, wanted) in [(&self.reasons, REASONS), (&self.derived, DERIVED), (&self.refused, REFUSED)]
        {
            let missing: Vec<_> = wanted.split_whitespace().filter(|one| !found.contains(*one)).collect();
            assert!(
                missing.is_empty(),
                "never {missing:?} among {found:?}: change what `RandomRequests` rolls"
            );
        }
    }
}

// Only what comes often: a change of the rules changes what random histories come upon.
const REASONS: &str = "allowed approved granted panic agent-suspended tool-unknown path-outside rate-limited repeated \
    breaker-open budget-spent loop-detected policy-deny policy-review trust-require-review blast-radius approval-unknown approval-stale";
const DERIVED: &str = "decision.made trust.observed breaker.opened breaker.half_opened approval.requested \
    approval.consumed coverage.gap budget.charged budget.exceeded loop.detected";
const REFUSED: &str = "schema no-such-call call-reused already-resolved reserved-type";

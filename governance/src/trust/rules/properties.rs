//! Properties of every record under all rules.

use bitacora_vocabulary::{BoundedNumber, Count, FailuresCounted};

use super::*;
use bitacora_testkit::SeededRng;

const ROUNDS: u32 = 20_000;

/// Mostly small numbers, near which the rules decide, and now and then one without measure.
fn number(rng: &mut SeededRng) -> u64 {
    match rng.below(10) {
        0 => u64::MAX - rng.below(3),
        1 => rng.below(Count::MAX.get()),
        2 | 3 => rng.below(1_000),
        _ => rng.below(30),
    }
}

fn inputs(rng: &mut SeededRng) -> TrustInputs {
    TrustInputs {
        approvals: number(rng),
        rejections: number(rng),
        failures: number(rng),
        recent_failures: rng.below(51),
        streak: number(rng),
        last_updated: rng.percent(90).then(|| Micros(1_000_000_000_000 + rng.below(1_000_000_000_000))),
    }
}

fn rules(rng: &mut SeededRng) -> TrustRules {
    let plain = if rng.percent(50) { TrustRules::v1() } else { TrustRules::v2() };
    let half_life_s = rng.percent(70).then(|| BoundedNumber::clamped(1 + rng.small(2_000_000)));
    if rng.percent(50) {
        return TrustRules { half_life_s, ..plain };
    }
    let mut score = || Score::clamped(rng.below(10_001));
    let scores = [score(), score(), score(), score()];
    TrustRules {
        auto_approve_score: scores[0],
        review_score: scores[1],
        streak_bonus: scores[2],
        max_streak_bonus: scores[3],
        auto_approve_approvals: BoundedNumber::clamped(rng.small(40)),
        blocking_failures: BoundedNumber::clamped(rng.small(60)),
        min_observations: BoundedNumber::clamped(rng.small(60)),
        failures_counted: rng.one_of(&[FailuresCounted::All, FailuresCounted::Recent]),
        half_life_s,
        ..plain
    }
}

fn time(rng: &mut SeededRng) -> Micros {
    match rng.below(10) {
        0 => Micros(0),
        1 => Micros(u64::MAX),
        _ => Micros(rng.below(8_000_000_000_000)),
    }
}

/// Calls `check` with a judgement of each of many records.
fn for_many(seed: u64, mut check: impl FnMut(&mut SeededRng, TrustInputs, TrustRules, Micros, Assessment)) {
    let mut rng = SeededRng::new(seed);
    for _ in 0..ROUNDS {
        let (inputs, rules, at) = (inputs(&mut rng), rules(&mut rng), time(&mut rng));
        check(&mut rng, inputs, rules, at, judge(&inputs, &rules, at));
    }
}

#[test]
fn a_score_lies_between_nothing_and_one() {
    let mut seen = [false; 3];
    for_many(1, |_, inputs, rules, _, found| {
        assert!((Score::ZERO..=Score::ONE).contains(&found.score), "{inputs:?}");
        assert!(
            !found.may_be_probed || (found.standing == TrustStanding::Blocked && rules.blocked_may_be_probed)
        );
        seen[found.standing as usize] = true;
    });
    assert_eq!(seen, [true; 3], "every standing is met");
}

#[test]
fn more_failures_never_help() {
    for_many(2, |_, inputs, rules, at, before| {
        if inputs.observations() == 0 {
            return;
        }
        let failures = inputs.failures.saturating_add(1);
        let recent_failures = inputs.recent_failures + 1;
        let after = judge(&TrustInputs { failures, recent_failures, ..inputs }, &rules, at);
        assert!(after.score <= before.score && after.standing >= before.standing, "{inputs:?} {rules:?}");
    });
}

#[test]
fn more_rejections_never_help() {
    for_many(3, |_, inputs, rules, at, before| {
        if inputs.observations() == 0 {
            return;
        }
        let rejections = inputs.rejections.saturating_add(1);
        let after = judge(&TrustInputs { rejections, ..inputs }, &rules, at);
        assert!(after.score <= before.score && after.standing >= before.standing, "{inputs:?} {rules:?}");
    });
}

#[test]
fn an_approval_never_costs_score() {
    for_many(4, |_, inputs, rules, at, before| {
        let (approvals, streak) = (inputs.approvals.saturating_add(1), inputs.streak.saturating_add(1));
        let after = judge(&TrustInputs { approvals, streak, ..inputs }, &rules, at);
        assert!(after.score >= before.score, "{inputs:?} {rules:?}");
    });
}

#[test]
fn time_alone_never_helps_and_never_blocks() {
    for_many(5, |rng, inputs, rules, at, before| {
        let later = Micros(at.0.saturating_add(rng.below(4_000_000_000_000)));
        let after = judge(&inputs, &rules, later);
        assert!(after.score <= before.score && after.standing >= before.standing, "{inputs:?} {rules:?}");
        if before.standing != TrustStanding::Blocked {
            assert_ne!(after.standing, TrustStanding::Blocked, "{inputs:?} {rules:?}");
        }
    });
}

#[test]
fn an_update_in_the_future_has_no_age() {
    for_many(6, |_, inputs, rules, at, found| {
        if inputs.last_updated.is_some_and(|updated| updated >= at) {
            assert_eq!(found, judge(&inputs, &TrustRules { half_life_s: None, ..rules }, at));
        }
    });
}

#[test]
fn few_observations_and_none_block_nothing() {
    for_many(7, |_, inputs, rules, _, found| {
        let few = inputs.observations() < u64::from(rules.min_observations.get());
        if few || inputs.observations() == 0 {
            assert_ne!(found.standing, TrustStanding::Blocked, "{inputs:?} {rules:?}");
        }
    });
}

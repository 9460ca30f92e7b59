//! Properties of every record under all rules.

use bitacora_formats::vocabulary::{BoundedNumber, Count, FailuresCounted};

use super::*;
use crate::seeded::Seeded;

const ROUNDS: u32 = 20_000;

/// Mostly small numbers, near which the rules decide, and now and then one without measure.
fn number(seeded: &mut Seeded) -> u64 {
    match seeded.below(10) {
        0 => u64::MAX - seeded.below(3),
        1 => seeded.below(Count::MAX.get()),
        2 | 3 => seeded.below(1_000),
        _ => seeded.below(30),
    }
}

fn inputs(seeded: &mut Seeded) -> TrustInputs {
    TrustInputs {
        approvals: number(seeded),
        rejections: number(seeded),
        failures: number(seeded),
        recent_failures: seeded.below(51),
        streak: number(seeded),
        last_updated: seeded.percent(90).then(|| Micros(1_000_000_000_000 + seeded.below(1_000_000_000_000))),
    }
}

fn rules(seeded: &mut Seeded) -> TrustRules {
    let plain = if seeded.percent(50) { TrustRules::v1() } else { TrustRules::v2() };
    let half_life_s = seeded.percent(70).then(|| BoundedNumber::clamped(1 + seeded.small(2_000_000)));
    if seeded.percent(50) {
        return TrustRules { half_life_s, ..plain };
    }
    let mut score = || Score::clamped(seeded.below(10_001));
    let scores = [score(), score(), score(), score()];
    TrustRules {
        auto_approve_score: scores[0],
        review_score: scores[1],
        streak_bonus: scores[2],
        max_streak_bonus: scores[3],
        auto_approve_approvals: BoundedNumber::clamped(seeded.small(40)),
        blocking_failures: BoundedNumber::clamped(seeded.small(60)),
        min_observations: BoundedNumber::clamped(seeded.small(60)),
        failures_counted: seeded.one_of(&[FailuresCounted::All, FailuresCounted::Recent]),
        half_life_s,
        ..plain
    }
}

fn time(seeded: &mut Seeded) -> Micros {
    match seeded.below(10) {
        0 => Micros(0),
        1 => Micros(u64::MAX),
        _ => Micros(seeded.below(8_000_000_000_000)),
    }
}

/// Calls `check` with a judgement of each of many records.
fn for_many(seed: u64, mut check: impl FnMut(&mut Seeded, TrustInputs, TrustRules, Micros, Assessment)) {
    let mut seeded = Seeded(seed);
    for _ in 0..ROUNDS {
        let (inputs, rules, at) = (inputs(&mut seeded), rules(&mut seeded), time(&mut seeded));
        check(&mut seeded, inputs, rules, at, judge(&inputs, &rules, at));
    }
}

#[test]
fn a_score_lies_between_nothing_and_one() {
    let mut seen = [false; 3];
    for_many(1, |_, inputs, rules, _, found| {
        assert!((Score::ZERO..=Score::ONE).contains(&found.score), "{inputs:?}");
        assert!(!found.may_be_probed || (found.standing == Standing::Blocked && rules.blocked_may_be_probed));
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
    for_many(5, |seeded, inputs, rules, at, before| {
        let later = Micros(at.0.saturating_add(seeded.below(4_000_000_000_000)));
        let after = judge(&inputs, &rules, later);
        assert!(after.score <= before.score && after.standing >= before.standing, "{inputs:?} {rules:?}");
        if before.standing != Standing::Blocked {
            assert_ne!(after.standing, Standing::Blocked, "{inputs:?} {rules:?}");
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
            assert_ne!(found.standing, Standing::Blocked, "{inputs:?} {rules:?}");
        }
    });
}

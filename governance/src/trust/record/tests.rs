use std::collections::VecDeque;

use bitacora_formats::Micros;
use bitacora_vocabulary::{BoundedText, Count, Dimension, TrustCounts, TrustOutcome, TrustSet};

use super::*;
use crate::trust::rules::tests::observed;
use bitacora_testkit::SeededRng;

use TrustOutcome::{Approved, AutoApproved, Error, Rejected, Timeout};

const OUTCOMES: [TrustOutcome; 5] = [Approved, Rejected, Error, Timeout, AutoApproved];
const CHECKS: [Option<bool>; 3] = [None, Some(true), Some(false)];

fn set(approvals: u64, rejections: u64, failures: u64, streak: u64) -> TrustSet {
    let count = |number| Count::new(number).unwrap();
    TrustSet {
        dimension: Dimension::default(),
        counts: TrustCounts {
            approvals: count(approvals),
            rejections: count(rejections),
            failures: count(failures),
            streak: count(streak),
        },
        by: None,
        reason: BoundedText::new("counted by hand").unwrap(),
    }
}

/// Approvals, rejections, failures, automatic approvals, streak.
fn counts(record: &TrustRecord) -> [u64; 5] {
    [record.approvals, record.rejections, record.failures, record.auto_approvals, record.streak]
}

#[test]
fn every_outcome_counts_as_it_should() {
    let passed = [None, Some(true)];
    let table = [
        (Approved, &passed[..], [1, 0, 0, 0, 1], 0),
        (Approved, &[Some(false)], [1, 0, 1, 0, 0], 1),
        (AutoApproved, &passed, [1, 0, 0, 1, 1], 0),
        (AutoApproved, &[Some(false)], [1, 0, 1, 1, 0], 1),
        (Rejected, &CHECKS, [0, 1, 0, 0, 0], 0),
        (Error, &CHECKS, [0, 0, 1, 0, 0], 1),
        (Timeout, &CHECKS, [0, 0, 1, 0, 0], 1),
    ];
    for (outcome, checks, expected, recent_failures) in table {
        for check in checks {
            let mut record = TrustRecord::default();
            record.apply_observed(&observed(outcome, *check), Micros(7));
            assert_eq!(counts(&record), expected, "{outcome:?}, {check:?}");
            assert_eq!((record.recent.len(), record.recent.failures()), (1, recent_failures), "{outcome:?}");
            assert_eq!(record.last_updated, Some(Micros(7)));
        }
    }
}

#[test]
fn a_streak_ends_with_what_is_no_approval_and_begins_anew() {
    for (outcome, check) in [(Rejected, None), (Error, None), (Timeout, None), (Approved, Some(false))] {
        let mut record = TrustRecord::default();
        for _ in 0..3 {
            record.apply_observed(&observed(Approved, None), Micros(1));
        }
        record.apply_observed(&observed(outcome, check), Micros(2));
        assert_eq!(record.streak, 0, "{outcome:?}");
        record.apply_observed(&observed(AutoApproved, None), Micros(3));
        assert_eq!(record.streak, 1, "{outcome:?}");
    }
}

#[test]
fn counts_stop_at_the_greatest() {
    let most = Count::MAX.get();
    let mut record = TrustRecord::default();
    record.apply_set(&set(most, most, most, most), Micros(1));
    record.auto_approvals = most;
    for outcome in [AutoApproved, Rejected, Error] {
        record.apply_observed(&observed(outcome, None), Micros(2));
    }
    assert_eq!(counts(&record), [most, most, most, most, 0]);
    record.streak = most;
    record.apply_observed(&observed(Approved, None), Micros(3));
    assert_eq!(record.streak, most);
}

#[test]
fn what_happened_before_counts_as_if_it_had_been_observed_first() {
    let mut rng = SeededRng::new(51);
    for _ in 0..2_000 {
        let [mut before, mut own, mut both] = [TrustRecord::default(); 3];
        // Few enough for streaks that go on, and more than are stored one by one.
        let (first, all) = (rng.below(60), rng.below(120));
        let likely = rng.one_of(&[1, 4, 100]);
        for step in 0..all {
            let outcome = if rng.below(likely) == 0 { rng.one_of(&OUTCOMES) } else { Approved };
            let observed = observed(outcome, if outcome == Approved { None } else { rng.one_of(&CHECKS) });
            let part = if step < first { &mut before } else { &mut own };
            part.apply_observed(&observed, Micros(step));
            both.apply_observed(&observed, Micros(step));
        }
        own.apply_earlier(&before);
        assert_eq!(own, both);
    }
}

#[test]
fn the_last_fifty_outcomes_are_those_of_a_plain_list() {
    let mut rng = SeededRng::new(50);
    let mut record = TrustRecord::default();
    let mut failed = VecDeque::new();
    let mut totals = [0; 3];
    for step in 0..5_000 {
        let (outcome, check) = (rng.one_of(&OUTCOMES), rng.one_of(&CHECKS));
        record.apply_observed(&observed(outcome, check), Micros(step));
        let is_failure = matches!(outcome, Error | Timeout) || (outcome != Rejected && check == Some(false));
        failed.push_back(is_failure);
        if failed.len() > 50 {
            failed.pop_front();
        }
        totals[0] += u64::from(matches!(outcome, Approved | AutoApproved));
        totals[1] += u64::from(outcome == Rejected);
        totals[2] += u64::from(is_failure);
        let failures = failed.iter().filter(|failed| **failed).count();
        assert_eq!(
            (record.recent.len() as usize, record.recent.failures() as usize),
            (failed.len(), failures)
        );
        assert_eq!([record.approvals, record.rejections, record.failures], totals);
    }
}

#[test]
fn each_kind_of_outcome_is_stored_apart() {
    let mut kinds = Vec::new();
    for outcome in OUTCOMES {
        for check in [None, Some(false)] {
            let mut record = TrustRecord::default();
            record.apply_observed(&observed(outcome, check), Micros(1));
            assert!(!record.recent.is_empty());
            if !kinds.contains(&record.recent) {
                kinds.push(record.recent);
            }
        }
    }
    // A check changes nothing about what was rejected, failed or took too long.
    assert_eq!(kinds.len(), 7);
}

#[test]
fn what_an_operator_sets_takes_the_place_of_what_was_seen() {
    let mut record = TrustRecord::default();
    for outcome in [AutoApproved, AutoApproved, AutoApproved, Error, Rejected] {
        record.apply_observed(&observed(outcome, None), Micros(1));
    }
    record.apply_set(&set(2, 4, 6, 1), Micros(9));
    assert_eq!(counts(&record), [2, 4, 6, 2, 1]);
    assert_eq!((record.recent.len(), record.recent.failures()), (6, 6), "they stand in for outcomes");
    assert_eq!(record.last_updated, Some(Micros(9)));

    record.apply_set(&set(3, 0, 0, 8), Micros(10));
    assert_eq!(
        (record.streak, record.recent.is_empty()),
        (3, true),
        "no streak is longer than the approvals"
    );
    record.apply_set(&set(0, 0, Count::MAX.get(), 0), Micros(11));
    assert_eq!((record.recent.len(), record.recent.failures()), (50, 50));
}

#[test]
fn failures_that_were_set_leave_with_the_outcomes_that_follow() {
    let mut record = TrustRecord::default();
    record.apply_set(&set(0, 0, 5, 0), Micros(1));
    for _ in 0..45 {
        record.apply_observed(&observed(Approved, None), Micros(2));
    }
    assert_eq!(record.recent.failures(), 5);
    record.apply_observed(&observed(Approved, None), Micros(3));
    assert_eq!(record.recent.failures(), 4);
}

#[test]
fn the_time_of_a_record_never_goes_back() {
    let mut record = TrustRecord::default();
    record.apply_observed(&observed(Approved, None), Micros(9));
    record.apply_observed(&observed(Approved, None), Micros(4));
    assert_eq!(record.last_updated, Some(Micros(9)));
    record.apply_set(&set(1, 0, 0, 0), Micros(5));
    assert_eq!(record.last_updated, Some(Micros(9)));
}

#[test]
fn a_record_is_kept_as_it_always_was() {
    let mut record = TrustRecord::default();
    for (outcome, check) in [(Approved, None), (AutoApproved, None), (Rejected, None), (Timeout, None)] {
        record.apply_observed(&observed(outcome, check), Micros(1_700_000_000_000_000));
    }
    record.apply_observed(&observed(AutoApproved, Some(false)), Micros(1_700_000_000_000_001));
    let kept = concat!(
        r#"{"approvals":3,"rejections":1,"failures":2,"auto_approvals":2,"streak":0,"#,
        r#""recent":{"low":23,"middle":13,"failures":3},"last_updated":1700000000000001}"#
    );
    assert_eq!(serde_json::to_string(&record).unwrap(), kept);
    assert_eq!(serde_json::from_str::<TrustRecord>(kept).unwrap(), record);
}

use bitacora_vocabulary::{BoundedNumber, Dimension, TrustObserved, TrustOutcome};

use super::*;

/// The end of every history here.
const NOW: Micros = Micros(1_700_000_000_000_000);

/// So many outcomes of a kind, one after the other; `true` where the check after the call failed.
type OutcomeRun = (usize, TrustOutcome, bool);

use TrustOutcome::{Approved, AutoApproved, Error, Rejected, Timeout};

fn record(runs: &[OutcomeRun]) -> TrustRecord {
    let mut record = TrustRecord::default();
    for &(count, outcome, check_failed) in runs {
        for _ in 0..count {
            record.apply_observed(&observed(outcome, check_failed.then_some(false)), NOW);
        }
    }
    record
}

pub(crate) fn observed(outcome: TrustOutcome, post_check_passed: Option<bool>) -> TrustObserved {
    TrustObserved {
        dimension: Dimension::default(),
        outcome,
        post_check_passed,
        duration_ms: None,
        tokens: None,
        cost_micro_usd: None,
        call: None,
        trial: None,
        assurance: None,
        unreported: false,
    }
}

/// Asserts counts (A, R, F, streak), score, standing and reason of a history.
fn assert_row(
    runs: &[OutcomeRun],
    rules: &TrustRules,
    at: Micros,
    counts: [u64; 4],
    (score, standing, reason): (&str, TrustStanding, StandingReason),
) {
    let record = record(runs);
    assert_eq!([record.approvals, record.rejections, record.failures, record.streak], counts);
    let found = assess(&record, rules, at);
    assert_eq!((found.score.to_string().as_str(), found.standing, found.reason), (score, standing, reason));
}

const V1: TrustRules = TrustRules::v1();
const V2: TrustRules = TrustRules::v2();

mod under_v1 {
    use super::StandingReason::*;
    use super::TrustStanding::{AutoApprove, Blocked, RequireReview};
    use super::*;

    #[test]
    fn none() {
        assert_row(&[], &V1, NOW, [0, 0, 0, 0], ("0.0", RequireReview, NoObservations));
    }

    #[test]
    fn forty_seven_approved_then_two_rejected() {
        let runs = [(47, Approved, false), (2, Rejected, false)];
        assert_row(&runs, &V1, NOW, [47, 2, 0, 0], ("0.94", AutoApprove, HighScore));
    }

    #[test]
    fn two_rejected_then_forty_seven_approved() {
        let runs = [(2, Rejected, false), (47, Approved, false)];
        assert_row(&runs, &V1, NOW, [47, 2, 0, 47], ("1.0", AutoApprove, HighScore));
    }

    #[test]
    fn eight_approved_two_rejected_two_approved() {
        let runs = [(8, Approved, false), (2, Rejected, false), (2, Approved, false)];
        assert_row(&runs, &V1, NOW, [10, 2, 0, 2], ("0.7892", RequireReview, MiddleScore));
    }

    #[test]
    fn one_approved() {
        assert_row(&[(1, Approved, false)], &V1, NOW, [1, 0, 0, 1], ("0.51", RequireReview, MiddleScore));
    }

    #[test]
    fn nineteen_approved() {
        assert_row(&[(19, Approved, false)], &V1, NOW, [19, 0, 0, 19], ("1.0", RequireReview, FewApprovals));
    }

    #[test]
    fn twenty_approved() {
        assert_row(&[(20, Approved, false)], &V1, NOW, [20, 0, 0, 20], ("1.0", AutoApprove, HighScore));
    }

    #[test]
    fn twenty_auto_approved() {
        let runs = [(20, AutoApproved, false)];
        assert_row(&runs, &V1, NOW, [20, 0, 0, 20], ("1.0", AutoApprove, HighScore));
        assert_eq!(record(&runs).auto_approvals, 20);
    }

    #[test]
    fn one_approved_whose_check_failed() {
        assert_row(&[(1, Approved, true)], &V1, NOW, [1, 0, 1, 0], ("0.3333", Blocked, LowScore));
    }

    #[test]
    fn one_error_whose_check_failed() {
        assert_row(&[(1, Error, true)], &V1, NOW, [0, 0, 1, 0], ("0.0", Blocked, LowScore));
    }

    #[test]
    fn five_errors_then_five_hundred_approved() {
        let runs = [(5, Error, false), (500, Approved, false)];
        assert_row(&runs, &V1, NOW, [500, 0, 5, 500], ("1.0", Blocked, Failures));
    }

    #[test]
    fn five_rejected() {
        assert_row(&[(5, Rejected, false)], &V1, NOW, [0, 5, 0, 0], ("0.0", Blocked, LowScore));
    }

    #[test]
    fn fifty_approved_one_half_life_later() {
        let rules = with_half_life(V1, 86_400);
        let later = Micros(NOW.0 + 86_400_000_000);
        assert_row(
            &[(50, Approved, false)],
            &rules,
            later,
            [50, 0, 0, 50],
            ("0.5902", RequireReview, Decayed),
        );
    }
}

mod under_v2 {
    use super::StandingReason::*;
    use super::TrustStanding::{AutoApprove, Blocked, RequireReview};
    use super::*;

    #[test]
    fn none() {
        assert_row(&[], &V2, NOW, [0, 0, 0, 0], ("0.0", RequireReview, NoObservations));
    }

    #[test]
    fn five_errors_then_five_hundred_approved() {
        let runs = [(5, Error, false), (500, Approved, false)];
        assert_row(&runs, &V2, NOW, [500, 0, 5, 500], ("1.0", AutoApprove, HighScore));
    }

    #[test]
    fn a_failure_is_forgotten_by_the_fiftieth_outcome_after_it() {
        let runs = |approved| [(5, Error, false), (approved, Approved, false)];
        assert_row(&runs(45), &V2, NOW, [45, 0, 5, 45], ("0.9824", Blocked, Failures));
        assert_row(&runs(46), &V2, NOW, [46, 0, 5, 46], ("0.9846", AutoApprove, HighScore));
    }

    #[test]
    fn one_approved_whose_check_failed() {
        assert_row(
            &[(1, Approved, true)],
            &V2,
            NOW,
            [1, 0, 1, 0],
            ("0.3333", RequireReview, FewObservations),
        );
    }

    #[test]
    fn four_rejected_then_one_more() {
        let runs = |rejected| [(rejected, Rejected, false)];
        assert_row(&runs(4), &V2, NOW, [0, 4, 0, 0], ("0.0", RequireReview, FewObservations));
        assert_row(&runs(5), &V2, NOW, [0, 5, 0, 0], ("0.0", Blocked, LowScore));
    }

    #[test]
    fn four_timeouts_then_one_more() {
        let runs = |timeouts| [(timeouts, Timeout, false)];
        assert_row(&runs(4), &V2, NOW, [0, 0, 4, 0], ("0.0", RequireReview, FewObservations));
        assert_row(&runs(5), &V2, NOW, [0, 0, 5, 0], ("0.0", Blocked, Failures));
    }

    #[test]
    fn only_what_is_blocked_may_be_probed_and_only_where_the_rules_say_so() {
        let blocked = record(&[(5, Error, false)]);
        assert!(assess(&blocked, &V2, NOW).may_be_probed);
        assert!(!assess(&blocked, &V1, NOW).may_be_probed);
        assert!(!assess(&record(&[(4, Error, false)]), &V2, NOW).may_be_probed);
    }
}

fn with_half_life(rules: TrustRules, half_life_s: u32) -> TrustRules {
    TrustRules { half_life_s: Some(BoundedNumber::clamped(half_life_s)), ..rules }
}

#[test]
fn a_judgement_is_made_again_from_what_a_decision_recorded() {
    let record =
        record(&[(9, Approved, false), (1, Timeout, false), (2, Rejected, false), (4, AutoApproved, true)]);
    let recorded = TrustInputs::from(&record);
    let counts = [recorded.approvals, recorded.rejections, recorded.failures, recorded.recent_failures];
    assert_eq!((counts, recorded.streak, recorded.last_updated), ([13, 2, 5, 5], 0, Some(NOW)));
    for rules in [V1, V2, with_half_life(V1, 60)] {
        let later = Micros(NOW.0 + 3_600_000_000);
        assert_eq!(judge(&recorded, &rules, later), assess(&record, &rules, later));
    }
}

#[test]
fn age_alone_takes_back_what_was_earned_and_no_more() {
    use TrustStanding::{AutoApprove, Blocked, RequireReview};
    let rules = with_half_life(V1, 60);
    let after = |runs: &[OutcomeRun], half_lives: u64| {
        let found = assess(&record(runs), &rules, Micros(NOW.0 + half_lives * 60_000_000));
        (found.score.to_string(), found.standing, found.reason)
    };
    let good = [(50, Approved, false)];
    assert_eq!(after(&good, 0), ("1.0".into(), AutoApprove, StandingReason::HighScore));
    assert_eq!(after(&good, 2), ("0.3451".into(), RequireReview, StandingReason::Decayed));
    assert_eq!(after(&good, 1_000), ("0.1".into(), RequireReview, StandingReason::Decayed));
    let bad = [(1, Approved, false), (3, Rejected, false)];
    assert_eq!(after(&bad, 0), ("0.2".into(), Blocked, StandingReason::LowScore));
    assert_eq!(after(&bad, 1_000), ("0.0".into(), Blocked, StandingReason::LowScore));
    let before_it = assess(&record(&good), &rules, Micros(0));
    assert_eq!(before_it.standing, AutoApprove, "an update in the future has no age");
}

#[test]
fn the_longest_half_life_is_kept_to_the_microsecond() {
    let rules = with_half_life(V1, u32::MAX);
    let half_life_s = u64::from(rules.half_life_s.unwrap().get());
    let at =
        |age: u64| assess(&record(&[(50, Approved, false)]), &rules, Micros(NOW.0 + age)).score.to_string();
    assert_eq!(at(half_life_s * 1_000_000), "0.5902");
}

#[test]
fn each_limit_is_taken_in() {
    let rules = TrustRules { review_score: "0.51".parse().unwrap(), ..V1 };
    let one = [(1, Approved, false)];
    assert_eq!(assess(&record(&one), &rules, NOW).standing, TrustStanding::RequireReview);
    let rules = TrustRules { review_score: "0.5101".parse().unwrap(), ..V1 };
    assert_eq!(assess(&record(&one), &rules, NOW).standing, TrustStanding::Blocked);
    let rules = TrustRules { auto_approve_score: "0.94".parse().unwrap(), ..V1 };
    let mixed = [(47, Approved, false), (2, Rejected, false)];
    assert_eq!(assess(&record(&mixed), &rules, NOW).standing, TrustStanding::AutoApprove);
    let rules = TrustRules { auto_approve_score: "0.9401".parse().unwrap(), ..V1 };
    assert_eq!(assess(&record(&mixed), &rules, NOW).standing, TrustStanding::RequireReview);
    let four = [(200, Approved, false), (4, Error, false)];
    assert_eq!(assess(&record(&four), &V1, NOW).standing, TrustStanding::AutoApprove);
}

#[test]
fn what_a_dimension_may_do_reads_as_a_verdict() {
    let read = [TrustStanding::AutoApprove, TrustStanding::RequireReview, TrustStanding::Blocked]
        .map(TrustStanding::verdict);
    assert_eq!(read, [Verdict::Allow, Verdict::Review, Verdict::Deny]);
    for standing in [TrustStanding::AutoApprove, TrustStanding::RequireReview, TrustStanding::Blocked] {
        assert_eq!(serde_json::to_value(standing).unwrap(), standing.as_str());
    }
    let reasons = [
        StandingReason::NoObservations,
        StandingReason::Failures,
        StandingReason::HighScore,
        StandingReason::FewApprovals,
        StandingReason::MiddleScore,
        StandingReason::LowScore,
        StandingReason::FewObservations,
        StandingReason::Decayed,
    ];
    for reason in reasons {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
    }
}

#[test]
fn a_streak_of_any_length_adds_no_more_than_all_may() {
    for streak in [10, 11, u64::MAX / 100 + 1, 1 << 62, u64::MAX] {
        let inputs = TrustInputs { approvals: 1, failures: 1, streak, ..TrustInputs::default() };
        assert_eq!(judge(&inputs, &V1, NOW).score.to_string(), "0.4333", "{streak}");
    }
}

use bitacora_formats::Micros;
use bitacora_vocabulary::TrustOutcome;

use super::*;

use SuggestionKind::{BetterModel, Block, CheaperModel, Promote, Review};
use TrustOutcome::{Approved, AutoApproved, Error, Rejected};

/// A dimension after these outcomes, each so often, in order; the positions count from 1.
fn shown(model: &str, outcomes: &[(TrustOutcome, u64)]) -> DimensionRecord {
    let dimension = Dimension::new("bash", "deploy", model, "-").unwrap();
    let mut shown = DimensionRecord { dimension, ..DimensionRecord::default() };
    for (outcome, times) in outcomes {
        for _ in 0..*times {
            shown.calls += 1;
            shown.record.apply_outcome(*outcome, None, Micros(0));
            if matches!(outcome, Approved | AutoApproved) {
                shown.good += 1;
                shown.last_good.push(shown.calls);
            } else if *outcome == Rejected {
                shown.last_rejected.push(shown.calls);
            } else {
                shown.last_bad.push(shown.calls);
            }
        }
    }
    shown
}

fn kinds(outcomes: &[(TrustOutcome, u64)]) -> Vec<SuggestionKind> {
    let made = of(&[shown("-", outcomes)], &TrustRules::v2());
    made.iter().filter_map(|made| made.kind).collect()
}

#[test]
fn calls_are_promoted_from_twenty_approvals_on_with_one_failure_at_most() {
    assert_eq!(kinds(&[(Approved, 20)]), [Promote]);
    assert_eq!(kinds(&[(AutoApproved, 19)]), []);
    assert_eq!(kinds(&[(Error, 1), (Approved, 30)]), [Promote]);
    assert_eq!(kinds(&[(Error, 2), (Approved, 300)]), []);
    // 20 of 20 + 1 + 2 is 0.8696; with the streak of the last two that is 0.8896, with that of three 0.9005 of 24.
    assert_eq!(kinds(&[(Approved, 18), (Rejected, 2), (Approved, 2)]), []);
    assert_eq!(kinds(&[(Approved, 18), (Rejected, 2), (Approved, 3)]), [Promote]);
}

#[test]
fn whatever_speaks_for_a_rule_is_looked_at() {
    let mut seed = 7_u64;
    let mut below = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let mut spoke = 0;
    for _ in 0..2_000 {
        let outcomes: Vec<_> = (0..1 + below(4))
            .map(|_| {
                ([Approved, AutoApproved, Error, Rejected][usize::try_from(below(4)).unwrap()], below(40))
            })
            .collect();
        let mut both = [shown("m", &outcomes), shown("n", &outcomes)];
        for (one, cost) in both.iter_mut().zip([7, 3]) {
            (one.priced, one.cost_micro_usd) = (one.calls, u128::from(one.calls) * cost);
        }
        let looked_at: Vec<DimensionRecord> =
            both.iter().filter(|shown| shown.may_speak()).cloned().collect();
        let found = of(&both, &TrustRules::v2());
        spoke += found.len();
        assert_eq!(of(&looked_at, &TrustRules::v2()), found, "{outcomes:?}");
    }
    assert!(spoke > 500, "{spoke}");
}

#[test]
fn commands_that_cannot_be_read_are_never_promoted() {
    let opaque = |outcomes: &[_]| {
        let dimension = Dimension::new("bash", "opaque", "m", "-").unwrap();
        of(&[DimensionRecord { dimension, ..shown("m", outcomes) }], &TrustRules::v2())
    };
    assert_eq!(opaque(&[(Approved, 300)]), []);
    assert_eq!(opaque(&[(Error, 5)]).remove(0).kind, Some(Block));
}

#[test]
fn calls_are_blocked_for_five_failures_among_the_last_fifty_outcomes() {
    assert_eq!(kinds(&[(Error, 5), (Approved, 45)]), [Block]);
    assert_eq!(kinds(&[(Error, 5), (Approved, 46)]), []);
    assert_eq!(kinds(&[(Error, 4)]), []);
    let failed = shown("-", &[(Error, 2), (Approved, 45), (Rejected, 1), (Error, 5)]);
    let made = of(&[failed], &TrustRules::v2()).remove(0);
    let evidence: Vec<_> = made.evidence.iter().map(|position| position.get().get()).collect();
    assert_eq!(evidence, [49, 50, 51, 52, 53], "those of the last fifty, and none that was rejected");
    assert_eq!((made.rule.action, made.rule.min_trust_score), (Verdict::Deny, None));
    assert_eq!(made.observations.map(Count::get), Some(53));
}

#[test]
fn what_people_always_rejected_is_blocked() {
    assert_eq!(kinds(&[(Rejected, 5)]), [Block]);
    assert_eq!(kinds(&[(Rejected, 4)]), [], "four are too few");
    assert_eq!(kinds(&[(Rejected, 50), (Approved, 1)]), [], "one of them was wanted");
    assert_eq!(kinds(&[(Error, 1), (Rejected, 5)]), [Block], "it ran once, and failed");
    let made = of(&[shown("-", &[(Error, 1), (Rejected, 6)])], &TrustRules::v2()).remove(0);
    let evidence: Vec<_> = made.evidence.iter().map(|position| position.get().get()).collect();
    assert_eq!((evidence, made.rule.action), (vec![2, 3, 4, 5, 6, 7], Verdict::Deny));
    assert_eq!(made.reason.as_str(), "a person rejected 6 of them, and none went well");
    for (context, found) in [("opaque", 0), ("cd", 0), ("go", 1)] {
        let dimension = Dimension::new("bash", context, "-", "-").unwrap();
        let rejected = DimensionRecord { dimension, ..shown("-", &[(Rejected, 5)]) };
        assert_eq!(of(&[rejected], &TrustRules::v2()).len(), found, "{context}");
    }
}

#[test]
fn what_fails_often_is_reviewed_and_a_better_model_is_named_where_there_is_one() {
    let found = |shown: &[DimensionRecord]| -> Vec<(String, SuggestionKind)> {
        let made = of(shown, &TrustRules::v2()).into_iter();
        made.map(|made| (made.dimension.unwrap().model().to_owned(), made.kind.unwrap())).collect()
    };
    let small = || shown("small", &[(Error, 4), (Approved, 6)]);
    let named = |kinds: &[SuggestionKind]| -> Vec<_> {
        kinds.iter().map(|kind| ("small".to_owned(), *kind)).collect()
    };
    assert_eq!(found(&[small()]), named(&[Review]));
    assert_eq!(
        found(&[small(), shown("large", &[(Error, 2), (Approved, 8)])]),
        named(&[Review, BetterModel]),
        "half as often"
    );
    assert_eq!(found(&[small(), shown("large", &[(Error, 3), (Approved, 8)])]), named(&[Review]));
    assert_eq!(found(&[small(), shown("large", &[(Approved, 9)])]), named(&[Review]), "nine are too few");
    assert_eq!(found(&[small(), shown("-", &[(Approved, 10)])]), named(&[Review]), "no model is known");
    let blocked = shown("small", &[(Error, 5), (Approved, 6)]);
    assert_eq!(found(&[blocked.clone(), shown("large", &[(Approved, 10)])]), named(&[Block, BetterModel]));
    let mut elsewhere = shown("large", &[(Approved, 10)]);
    elsewhere.dimension = Dimension::new("bash", "deploy", "large", "review").unwrap();
    assert_eq!(found(&[blocked, elsewhere]), named(&[Block]), "another type of task");
    let made = of(
        &[small(), shown("large", &[(Error, 1), (Approved, 9)]), shown("best", &[(Approved, 12)])],
        &TrustRules::v2(),
    );
    let better = made.iter().find(|made| made.kind == Some(BetterModel)).unwrap();
    assert_eq!(
        better.reason.as_str(),
        "best seldom fails at this: 0 of 12 observations are failures, here 4 of 10"
    );
    assert_eq!((better.rule.action, better.observations.map(Count::get)), (Verdict::Review, Some(22)));
    // A failure of a program that is run to find faults is a failure of neither model.
    let mut both = [small(), shown("large", &[(Approved, 12)])];
    for shown in &mut both {
        shown.dimension = Dimension::new("bash", "go", shown.dimension.model(), "-").unwrap();
    }
    assert_eq!(found(&both), []);
}

#[test]
fn what_is_run_to_find_faults_is_stopped_for_none_that_it_finds() {
    let of_context = |context: &str, outcomes| {
        let mut shown = shown("-", outcomes);
        shown.dimension = Dimension::new("bash", context, "-", "-").unwrap();
        let made = of(&[shown], &TrustRules::v2());
        made.iter().filter_map(|made| made.kind).collect::<Vec<_>>()
    };
    for context in ["go", "several:cd,go", "/usr/bin/grep", "cd"] {
        assert_eq!(of_context(context, &[(Approved, 20), (Error, 20)]), [], "{context}");
        assert_eq!(of_context(context, &[(Error, 30), (Approved, 50)]), [], "{context}");
    }
    assert_eq!(of_context("go", &[(Approved, 20)]), [Promote]);
    assert_eq!(of_context("cd", &[(Approved, 20)]), [], "what stood behind it went well");
    assert_eq!(of_context("several:cd,git", &[(Approved, 20), (Error, 20)]), [Block]);
}

#[test]
fn calls_are_reviewed_where_more_than_three_of_ten_fail() {
    assert_eq!(kinds(&[(Error, 4), (Approved, 6)]), [Review]);
    assert_eq!(kinds(&[(Error, 3), (Approved, 7)]), []);
    assert_eq!(kinds(&[(Error, 4), (Approved, 5)]), [], "nine are too few");
    assert_eq!(kinds(&[(Error, 30), (Approved, 50)]), [Review], "they failed, but not lately");
}

fn priced(model: &str, good: u64, bad: u64, cost_of_each: u128) -> DimensionRecord {
    let mut shown = shown(model, &[(Error, bad), (Approved, good)]);
    shown.priced = shown.calls;
    shown.cost_micro_usd = u128::from(shown.calls) * cost_of_each;
    shown
}

fn cheaper(shown: &[DimensionRecord]) -> Vec<String> {
    let made = cheaper_models(shown);
    made.into_iter().map(|made| format!("{}: {}", made.dimension.unwrap().model(), made.reason)).collect()
}

#[test]
fn a_cheaper_model_is_proposed_from_thirty_calls_on_that_go_as_well() {
    let dear = || priced("large", 100, 0, 900);
    let found = cheaper(&[dear(), priced("small", 95, 5, 300), priced("tiny", 28, 4, 100)]);
    let reason = "large: small does this as well for less: 95 of 100 calls went well for 300 micro-USD each, here 100 of 100 for 900";
    assert_eq!(found, [reason]);
    assert_eq!(
        cheaper(&[dear(), priced("small", 94, 6, 300)]),
        Vec::<String>::new(),
        "94 of 100 are too few"
    );
    assert_eq!(cheaper(&[dear(), priced("small", 29, 0, 300)]), Vec::<String>::new(), "29 calls are too few");
    assert_eq!(cheaper(&[dear(), priced("small", 30, 0, 900)]), Vec::<String>::new(), "it costs the same");
    assert_eq!(
        cheaper(&[dear(), priced("-", 100, 0, 1)]),
        Vec::<String>::new(),
        "it is not known which it is"
    );
    let mut untold = priced("small", 100, 0, 1);
    untold.priced = 29;
    assert_eq!(cheaper(&[dear(), untold]), Vec::<String>::new(), "29 told what they cost");
    let mut elsewhere = priced("small", 100, 0, 1);
    elsewhere.dimension = Dimension::new("bash", "npm", "small", "-").unwrap();
    assert_eq!(cheaper(&[dear(), elsewhere]), Vec::<String>::new(), "it did other work");
    assert_eq!(cheaper(&[dear(), priced("small", 98, 2, 300), priced("tiny", 96, 4, 100)]).len(), 2);
    let never = cheaper(&[priced("large", 0, 40, 900), priced("small", 0, 40, 300)]);
    assert_eq!(never, Vec::<String>::new(), "neither ever did it");
}

#[test]
fn a_rule_names_what_it_is_about_and_nothing_else() {
    let mut odd = shown("m*", &[(Approved, 20)]);
    odd.dimension = Dimension::new("srv/a[b]", "{x}?\\", "m*", "-").unwrap();
    let made = of(&[odd.clone()], &TrustRules::v2()).remove(0);
    let matches = serde_json::to_value(&made.rule.matches).unwrap();
    let expected = serde_json::json!({"tool": "a\\[b\\]", "server": "srv", "context": "\\{x\\}\\?\\\\", "model": "m\\*"});
    assert_eq!(matches, expected);
    assert_eq!(made.rule.id, made.suggestion);
    assert_eq!(made.rule.min_trust_score, Some(PROMOTE_SCORE));
    odd.dimension = Dimension::new("-", "src", "m", "-").unwrap();
    assert_eq!(of(&[odd.clone()], &TrustRules::v2()), [], "no tool, no rule");
    odd.dimension = Dimension::new("t", "?".repeat(300), "m", "-").unwrap();
    assert_eq!(of(&[odd], &TrustRules::v2()), [], "no glob is that long");
}

#[test]
fn what_is_urgent_comes_first_and_ids_stay_while_numbers_grow() {
    let history =
        [shown("a", &[(Approved, 20)]), shown("b", &[(Error, 4), (Approved, 6)]), shown("c", &[(Error, 5)])];
    let made = of(&history, &TrustRules::v2());
    let order: Vec<_> = made.iter().filter_map(|made| made.kind).collect();
    assert_eq!(order, [Block, Review, BetterModel, Promote]);
    let later = of(&[shown("a", &[(Approved, 200)])], &TrustRules::v2()).remove(0);
    assert_eq!(later.suggestion, made.last().unwrap().suggestion);
    assert_ne!(later.reason, made.last().unwrap().reason);
}

#[test]
fn evidence_is_bounded_whatever_was_remembered() {
    let mut long = priced("large", 200, 0, 9);
    long.set_at = Some(1);
    let made = of(&[long.clone(), priced("small", 200, 0, 1)], &TrustRules::v2());
    assert_eq!(
        made.iter().filter_map(|made| made.kind).collect::<Vec<_>>(),
        [CheaperModel, Promote, Promote]
    );
    assert!(made.iter().all(|made| made.evidence.len() <= MAX_SUGGESTION_EVIDENCE));
}

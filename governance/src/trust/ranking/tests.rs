use std::collections::BTreeMap;

use bitacora_vocabulary::TrustOutcome;

use super::*;
use crate::trust::rules::tests::observed;
use bitacora_testkit::SeededRng;

const NOW: Micros = Micros(1_700_000_000_000_000);

/// Dimensions with so many approvals and errors each.
fn records(counts: &[(&str, u64, u64)]) -> BTreeMap<Dimension, TrustRecord> {
    let mut records = BTreeMap::new();
    for &(tool, approvals, errors) in counts {
        let mut record = TrustRecord::default();
        for _ in 0..errors {
            record.apply_observed(&observed(TrustOutcome::Error, None), NOW);
        }
        for _ in 0..approvals {
            record.apply_observed(&observed(TrustOutcome::Approved, None), NOW);
        }
        records.insert(Dimension::new(tool, "-", "-", "-").unwrap(), record);
    }
    records
}

fn ranked<'a>(
    records: impl IntoIterator<Item = (&'a Dimension, &'a TrustRecord)>,
    rules: &TrustRules,
    at: Micros,
    from: RankedFrom,
    limit: usize,
) -> Vec<RankedDimension<'a>> {
    TrustRanking { rules, at, from }.first(records, None, limit)
}

fn tools(ranked: &[RankedDimension<'_>]) -> Vec<String> {
    ranked.iter().map(|one| one.dimension.tool().to_owned()).collect()
}

#[test]
fn top_and_bottom_are_by_score_and_then_by_dimension() {
    let records = records(&[("d", 1, 1), ("a", 30, 0), ("c", 1, 1), ("b", 30, 0), ("e", 0, 3)]);
    let rank = |from, limit| tools(&ranked(&records, &TrustRules::v2(), NOW, from, limit));
    assert_eq!(rank(RankedFrom::Top, 3), ["a", "b", "c"]);
    assert_eq!(rank(RankedFrom::Top, 99), ["a", "b", "c", "d", "e"]);
    assert_eq!(rank(RankedFrom::Bottom, 2), ["e", "c"]);
    assert_eq!(rank(RankedFrom::Bottom, 99), ["e", "c", "d", "a", "b"]);
    assert!(rank(RankedFrom::Top, 0).is_empty());
}

#[test]
fn a_ranking_is_the_head_of_the_whole_sorted_list_in_whatever_order_records_come() {
    let mut rng = SeededRng::new(3);
    let names: Vec<String> = (0..200).map(|number| format!("t{number}")).collect();
    let counts: Vec<(&str, u64, u64)> =
        names.iter().map(|name| (name.as_str(), rng.below(5), rng.below(3))).collect();
    let records = records(&counts);
    let mut sorted: Vec<(&Dimension, &TrustRecord)> = records.iter().collect();
    let rules = TrustRules::v1();
    sorted.sort_by_key(|(dimension, record)| (assess(record, &rules, NOW).score, *dimension));
    let expected: Vec<&Dimension> = sorted.iter().map(|(dimension, _)| *dimension).take(17).collect();
    let found = |pairs: Vec<(&'_ Dimension, &'_ TrustRecord)>| -> Vec<String> {
        tools(&ranked(pairs, &rules, NOW, RankedFrom::Bottom, 17))
    };
    let expected: Vec<String> = expected.iter().map(|dimension| dimension.tool().to_owned()).collect();
    assert_eq!(found(records.iter().collect()), expected);
    assert_eq!(found(records.iter().rev().collect()), expected);
}

#[test]
fn a_ranking_goes_on_behind_any_place_in_it() {
    let records = records(&[("d", 1, 1), ("a", 30, 0), ("c", 1, 1), ("b", 30, 0), ("e", 0, 3)]);
    let rules = TrustRules::v2();
    for from in [RankedFrom::Top, RankedFrom::Bottom] {
        let ranking = TrustRanking { rules: &rules, at: NOW, from };
        let whole = ranking.first(&records, None, 99);
        for (index, last) in whole.iter().enumerate() {
            let rest = ranking.first(&records, Some((last.assessment.score, last.dimension)), 2);
            let expected: Vec<_> = whole.iter().skip(index + 1).take(2).copied().collect();
            assert_eq!(rest, expected, "{from:?} behind {}", last.dimension.tool());
        }
    }
}

#[test]
fn no_ranking_is_longer_than_its_limit() {
    let names: Vec<String> = (0..MAX_RANKED + 5).map(|number| format!("t{number}")).collect();
    let counts: Vec<(&str, u64, u64)> = names.iter().map(|name| (name.as_str(), 1, 0)).collect();
    let records = records(&counts);
    assert_eq!(ranked(&records, &TrustRules::v1(), NOW, RankedFrom::Top, usize::MAX).len(), MAX_RANKED);
}

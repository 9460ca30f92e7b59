//! The cost of one call's trust and circuit breaker, from memory: `cargo bench -p bitacora-governance`.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]

use std::collections::BTreeMap;
use std::hint::black_box;

use bitacora_formats::Micros;
use bitacora_governance::{Breaker, Dimension, RankedFrom, TrustRanking, TrustRecord, TrustRules, assess};
use bitacora_vocabulary::{BoundedNumber, TrustObserved, TrustOutcome};
use criterion::{Criterion, criterion_group, criterion_main};

/// Dimensions in memory.
const DIMENSIONS: u64 = 10_000;
/// An hour after the last outcome.
const AT: Micros = Micros(1_700_003_600_000_000);

fn observed(outcome: TrustOutcome) -> TrustObserved {
    TrustObserved {
        dimension: Dimension::default(),
        outcome,
        post_check_passed: None,
        duration_ms: None,
        tokens: None,
        cost_micro_usd: None,
        call: None,
        trial: None,
        assurance: None,
        unreported: false,
    }
}

fn record(approved: u64, failed: u64) -> TrustRecord {
    let mut record = TrustRecord::default();
    for _ in 0..failed {
        record.apply_observed(&observed(TrustOutcome::Error), Micros(AT.0 - 3_600_000_000));
    }
    for _ in 0..approved {
        record.apply_observed(&observed(TrustOutcome::Approved), Micros(AT.0 - 3_600_000_000));
    }
    record
}

fn dimension(number: u64) -> Dimension {
    let context = format!("src/part-{}/file-{number}.rs", number % 97);
    Dimension::new(format!("fs.write-{}", number % 31), context, "model-7", "refactor").unwrap()
}

fn judging(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judging");
    let rules = TrustRules::v2();
    let aging = TrustRules { half_life_s: Some(BoundedNumber::clamped(30 * 86_400)), ..rules };
    let one = record(137, 3);
    let breaker = Breaker::default();

    group.bench_function("assess", |bench| {
        bench.iter(|| assess(black_box(&one), black_box(&rules), black_box(AT)));
    });
    group.bench_function("assess, with a half-life", |bench| {
        bench.iter(|| assess(black_box(&one), black_box(&aging), black_box(AT)));
    });
    group.bench_function("check a breaker", |bench| {
        bench.iter(|| (black_box(&breaker).due_on_request(black_box(AT)), black_box(&breaker).verdict()));
    });
    group.bench_function("what an outcome makes of a breaker", |bench| {
        bench.iter(|| black_box(&breaker).due_after(black_box(true), false, black_box(AT)));
    });

    let records: BTreeMap<Dimension, (TrustRecord, Breaker)> = (0..DIMENSIONS)
        .map(|number| (dimension(number), (record(number % 150, number % 7), Breaker::default())))
        .collect();
    let asked = dimension(DIMENSIONS / 2);
    group.bench_function("find, assess and check one of 10,000", |bench| {
        bench.iter(|| {
            let (record, breaker) = records.get(black_box(&asked)).unwrap();
            (assess(record, &aging, black_box(AT)), breaker.due_on_request(AT), breaker.verdict())
        });
    });
    group.bench_function("the top 20 of 10,000", |bench| {
        bench.iter(|| {
            let records = records.iter().map(|(dimension, (record, _))| (dimension, record));
            let ranking = TrustRanking { rules: &aging, at: black_box(AT), from: RankedFrom::Top };
            ranking.first(records, None, 20).len()
        });
    });
    group.finish();
}

criterion_group!(benches, judging);
criterion_main!(benches);

//! A benchmark of the check of an event's data.
//!
//! `cargo bench -p bitacora-vocabulary` runs it.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]

use std::hint::black_box;

use bitacora_vocabulary::{check_data, event_type};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check data");
    for kind in ["model.called", "tool.completed", "tool.requested", "checkpoint.saved"] {
        let listed = event_type(kind).unwrap();
        group.throughput(Throughput::Bytes(listed.example.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(kind), |bench| {
            bench.iter(|| check_data(black_box(kind), Some(black_box(listed.example.as_bytes()))).unwrap());
        });
    }
}

criterion_group!(benches, check);
criterion_main!(benches);

//! Benchmarks of the inner pieces of an append, a read and a verification, without a disk.
//!
//! `cargo bench -p bitacora-formats` runs them.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]

mod events;
mod segments;

use std::hint::black_box;
use std::time::Duration;

use bitacora_formats::{
    BodyForm, Codec, Compressor, DICTIONARY_BODY_BYTES, Decompressor, EventDraft, Frontier, Json, LedgerKeys,
    Micros, Position, Record, SegmentWalk, Step, decode_body, decode_record, encode_record, leaf_hash,
    parse_events, write_event,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use crate::events::{body_of, event, keyring, ledger};
use crate::segments::segment_of;

/// Events of a body that the dictionary compresses, and of one that has enough of its own.
const BODY_EVENTS: [u64; 3] = [1, 16, 512];
/// Bytes of frames before they are sealed.
const FRAME_BYTES: [usize; 3] = [512, 16 * 1024, 256 * 1024];

fn clear(draft: EventDraft<'_>) -> Record<'_> {
    match draft {
        EventDraft::Clear(record) => record,
        EventDraft::Sensitive { .. } => unreachable!("no event here is about a data subject"),
    }
}

fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event");
    let event = event(7);
    let mut text = Vec::new();
    write_event(&event, &mut text);
    let data = br#"{"tool":"Bash","args":["cargo","test","-p","crate-7"],"n":12345,"nested":{"a":[1,2,3]}}"#;

    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse a CloudEvent", |bench| {
        bench.iter(|| parse_events(black_box(&text), BodyForm::Structured, None).unwrap().len());
    });
    group.throughput(Throughput::Bytes(data.len() as u64));
    group.bench_function("check JSON", |bench| {
        bench.iter(|| Json::check(black_box(&data[..])).unwrap().len());
    });

    let record = clear(Record::draft(event.clone(), 0));
    let encoded = encode_record(&record).unwrap();
    group.throughput(Throughput::Bytes(encoded.len() as u64));
    group
        .bench_function("encode a record", |bench| bench.iter(|| encode_record(black_box(&record)).unwrap()));
    group.bench_function("decode a record", |bench| {
        bench.iter(|| decode_record(black_box(&encoded)).unwrap().id.len());
    });

    let keys = LedgerKeys::new(&keyring(), ledger());
    group.bench_function("commit to a record", |bench| {
        bench.iter(|| keys.commitment(black_box(&record.source), &record.id, &encoded));
    });
    group.bench_function("name an event and its stream", |bench| {
        bench.iter(|| {
            (keys.event_key(black_box(&record.source), &record.id), keys.stream_key(&record.stream))
        });
    });
    group.finish();
}

fn compression(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compression");
    for count in BODY_EVENTS {
        let body = body_of(count);
        let kind = if body.len() < DICTIONARY_BODY_BYTES { "with the dictionary" } else { "without it" };
        let mut compressor = Compressor::new(1).unwrap();
        let (codec, compressed) = compressor.compress(&body);
        let (codec, compressed) = (codec, compressed.to_vec());
        let mut decompressor = Decompressor::new().unwrap();
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(BenchmarkId::new(format!("compress, {kind}"), count), |bench| {
            bench.iter(|| compressor.compress(black_box(&body)).1.len());
        });
        group.bench_function(BenchmarkId::new(format!("decompress, {kind}"), count), |bench| {
            bench.iter(|| decompressor.decompress(codec, black_box(&compressed), body.len()).unwrap());
        });
        let entries = u32::try_from(count).unwrap();
        group.bench_function(BenchmarkId::new("decode a body", count), |bench| {
            bench.iter(|| decode_body(black_box(&body), entries).unwrap().requests.len());
        });
    }
    group.finish();
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    for bytes in FRAME_BYTES {
        let mut segment = segment_of(&[]);
        let body = vec![0x5a; bytes];
        let mut stored = Vec::with_capacity(bytes + 1024);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::new("seal", bytes), |bench| {
            bench.iter(|| {
                stored.clear();
                segment.frame(Codec::Stored, black_box(&body), &mut stored);
            });
        });

        let segment = segment_of(&[bytes]);
        let opener = segment.opener();
        let mut walk = SegmentWalk::start(&segment.bytes, None).unwrap().0;
        let Step::Frame(frame) = walk.next_step() else { unreachable!("a frame was put there") };
        group.bench_function(BenchmarkId::new("open", bytes), |bench| {
            bench.iter(|| opener.open(black_box(&frame.stored)).unwrap());
        });
    }
    group.finish();
}

fn tree(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree");
    let keys = LedgerKeys::new(&keyring(), ledger());
    let commitment = keys.commitment("s", "i", b"record");
    let leaf = leaf_hash(Position::FIRST, Micros(1), &commitment);
    group.bench_function("hash a leaf", |bench| {
        bench.iter(|| leaf_hash(black_box(Position::FIRST), Micros(1), &commitment));
    });
    let mut frontier = Frontier::new();
    group.bench_function("push a leaf", |bench| bench.iter(|| frontier.push(black_box(leaf))));
    let mut million = Frontier::new();
    (0..1_000_003).for_each(|_| million.push(leaf));
    group.bench_function("root of a million", |bench| bench.iter(|| black_box(&million).root()));
    group.finish();
}

fn walks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("walk");
    for bytes in FRAME_BYTES {
        let frames = (8 * 1024 * 1024 / bytes).min(2_000);
        let segment = segment_of(&vec![bytes; frames]);
        group.throughput(Throughput::Bytes(segment.bytes.len() as u64));
        group.bench_function(BenchmarkId::new("chain over frames", bytes), |bench| {
            bench.iter(|| {
                let mut walk = SegmentWalk::start(black_box(&segment.bytes), None).unwrap().0;
                let mut found = 0;
                while let Step::Frame(_) = walk.next_step() {
                    found += 1;
                }
                assert_eq!(found, frames);
            });
        });
    }
    group.finish();
}

/// A minute for all of them.
fn brief() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = pieces;
    config = brief();
    targets = events, compression, frames, tree, walks
}
criterion_main!(pieces);

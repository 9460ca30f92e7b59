//! A measurement of an archive of real events: its size, and the speed of its check.
//!
//! `cargo run --release -p bitacora-formats --example archive -- FILE [COPIES]` makes an event of each line of FILE.
//! It archives these events COPIES times. It prints the archive's bytes, and the speed of the check without keys
//! beside that of plain BLAKE3 over the same bytes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool that is run by hand and stops where it fails"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bitacora_archive_format::ColumnRow;
use bitacora_archive_format::{
    ARCHIVE_TRAILER_BYTES, ArchiveKey, ArchiveLayout, ArchivePlan, ArchiveRange, ArchiveSecrets,
    ArchiveTrailer, ArchiveWriter, ChainLink, ContentCheck, Facts, GROUP_LEAVES, GroupCollector, PartEntry,
    PartKind, Revision, SegmentLink, check_roots, open_group, open_part, seal_group,
};
use bitacora_formats::{
    ChainHash, Compressor, Data, Decompressor, Epoch, Event, EventDraft, Frontier, Generation, Json, Keyring,
    LedgerId, LedgerKeys, LedgerOrigin, Micros, Position, Record, SegmentNumber, StreamVersion,
    encode_record, leaf_hash,
};

/// Bytes hashed at a time, as a verifier reads them.
const PIECE_BYTES: usize = 256 * 1024;
/// Events of one frame.
const FRAME_EVENTS: u64 = 50;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: archive FILE [COPIES]");
    let copies: u64 = arguments.next().map_or(1, |copies| copies.parse().expect("a number of copies"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let events = lines.len() as u64 * copies / GROUP_LEAVES * GROUP_LEAVES;
    let origin =
        LedgerOrigin { name: "main".parse().unwrap(), ledger: LedgerId([7; 16]), generation: Generation(1) };
    let keyring = Keyring::generate(&mut counting());
    let records: Vec<Vec<u8>> =
        (0..events).map(|number| record(number, lines[index(number, &lines)])).collect();

    let began = Instant::now();
    let (archive, index_bytes) = pack(&origin, &keyring, &records);
    let packing = began.elapsed();
    let raw = text.len() as u64 * copies;
    println!(
        "{events} events of {raw} bytes, {} bytes of records",
        records.iter().map(Vec::len).sum::<usize>()
    );
    println!(
        "archive {} bytes, {:.2} x smaller than the lines; its index {index_bytes} bytes",
        archive.len(),
        raw as f64 / archive.len() as f64
    );
    println!(
        "packed, with commitments and tree, in {packing:.2?}: {:.0} events/s",
        per_second(events, packing)
    );
    measure_keyless(&archive);
    let began = Instant::now();
    open(&archive, &keyring);
    let opening = began.elapsed();
    println!("checked with keys in {opening:.2?}: {:.0} events/s", per_second(events, opening));
}

fn index(number: u64, lines: &[&str]) -> usize {
    usize::try_from(number).unwrap() % lines.len()
}

fn per_second(events: u64, time: Duration) -> f64 {
    events as f64 / time.as_secs_f64()
}

fn counting() -> impl FnMut(&mut [u8]) {
    let mut next = 0_u8;
    move |bytes| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    }
}

fn record(number: u64, line: &str) -> Vec<u8> {
    let mut event = Event::new(format!("e-{number}"), "urn:example", "x.recorded", "recorded");
    event.data = Data::Json(Json::check(line.as_bytes().to_vec()).expect("a line of JSON"));
    let EventDraft::Clear(record) = Record::draft(event, 0) else { unreachable!("no data subject") };
    encode_record(&record).unwrap()
}

fn pack(origin: &LedgerOrigin, keyring: &Keyring, records: &[Vec<u8>]) -> (Vec<u8>, u64) {
    let keys = LedgerKeys::new(keyring, origin.ledger);
    let range = ArchiveRange::new(1, records.len() as u64).unwrap();
    let secrets = ArchiveSecrets::generate(&mut counting());
    let plan = ArchivePlan { origin: origin.clone(), range, revision: Revision::FIRST };
    let (mut writer, header) = ArchiveWriter::new(plan, secrets);
    let (mut bytes, mut roots, mut tree) = (header.to_vec(), Vec::new(), Frontier::new());
    let mut collector = GroupCollector::new(range.first());
    let mut add = |writer: &mut ArchiveWriter, group| {
        let sealed = seal_group(writer.key(), &group, 3).unwrap();
        bytes.extend(writer.add(sealed).unwrap());
    };
    for (number, record) in (1..).zip(records) {
        let time = Micros(1_800_000_000_000_000 + number / FRAME_EVENTS * 1_000);
        let commitment = keys.commitment("urn:example", &format!("e-{}", number - 1), record);
        roots.extend(tree.push_grouping(leaf_hash(Position::new(number).unwrap(), time, &commitment)));
        let begins = number == 1 || number.is_multiple_of(FRAME_EVENTS);
        let row = ColumnRow {
            time,
            begins_frame: begins,
            begins_request: begins,
            derived: false,
            stream_version: StreamVersion::new(number).unwrap(),
            record,
            part: None,
        };
        if let Some(group) = collector.push(row) {
            add(&mut writer, group);
        }
    }
    if let Some(group) = collector.take() {
        add(&mut writer, group);
    }
    let mut compressor = Compressor::new(19).unwrap();
    let finished = writer.finish(facts(range, roots), keyring, &mut compressor).unwrap();
    bytes.extend(finished.pieces.concat());
    (bytes, finished.index_bytes)
}

fn facts(range: ArchiveRange, group_roots: Vec<bitacora_formats::TreeHash>) -> Facts {
    let link = |position| ChainLink { position, hash: ChainHash([9; 32]) };
    let first = SegmentLink {
        number: SegmentNumber(1),
        first: Position::FIRST,
        epoch: Epoch(1),
        generation: Generation(1),
        hash: ChainHash([0; 32]),
    };
    Facts {
        made: Micros(1_900_000_000_000_000),
        reactor: 1,
        chain_before: link(range.first()),
        chain_after: link(range.last().next().unwrap()),
        segments: vec![first],
        tree_before: Frontier::new(),
        group_roots,
        tree_head: None,
        state: None,
    }
}

fn layout(archive: &[u8]) -> ArchiveLayout {
    let length = archive.len() as u64;
    let trailer = ArchiveTrailer::parse(&archive[archive.len() - ARCHIVE_TRAILER_BYTES..], length).unwrap();
    let tail = &archive[usize::try_from(trailer.table().start).unwrap()..];
    ArchiveLayout::parse(archive, tail, length, None).unwrap()
}

fn part<'a>(archive: &'a [u8], entry: &PartEntry) -> &'a [u8] {
    let range = entry.range();
    &archive[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
}

/// The better of a few rounds of each.
fn measure_keyless(archive: &[u8]) {
    const ROUNDS: usize = 5;
    let fastest = |work: &dyn Fn()| {
        let times = (0..ROUNDS).map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        });
        times.min().unwrap()
    };
    let hashing = fastest(&|| {
        let mut hasher = blake3::Hasher::new();
        for piece in archive.chunks(PIECE_BYTES) {
            hasher.update(piece);
        }
        std::hint::black_box(hasher.finalize());
    });
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checking = [1, threads].map(|threads| fastest(&|| check_parts(archive, threads)));
    let speed = |time: Duration| archive.len() as f64 / time.as_secs_f64() / 1e6;
    for (threads, checking) in [1, threads].into_iter().zip(checking) {
        println!(
            "checked without keys on {threads} threads at {:.0} MB/s, {:.0} % of BLAKE3's {:.0} MB/s",
            speed(checking),
            100.0 * hashing.as_secs_f64() / checking.as_secs_f64(),
            speed(hashing)
        );
    }
}

/// Checks everything that is checked without keys, so many parts at a time. The roots come first, as the others are hashed
/// meanwhile.
fn check_parts(archive: &[u8], threads: usize) {
    let layout = layout(archive);
    let roots = layout.table().roots().unwrap();
    let others = layout.table().entries().iter().filter(|entry| entry.kind != PartKind::Roots);
    let order: Vec<&PartEntry> = std::iter::once(roots).chain(others).collect();
    let next = AtomicUsize::new(0);
    let check = || {
        while let Some(entry) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut check = entry.checked();
            part(archive, entry).chunks(PIECE_BYTES).for_each(|piece| check.take(piece));
            check.finish().unwrap();
            if entry.kind == PartKind::Roots {
                check_roots(layout.manifest().manifest(), part(archive, entry)).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(check)));
        check();
    });
}

fn open(archive: &[u8], keyring: &Keyring) {
    let layout = layout(archive);
    let manifest = layout.manifest().manifest();
    let key = ArchiveKey::unwrap(manifest, keyring).unwrap();
    let keys = LedgerKeys::new(keyring, manifest.origin.ledger);
    let roots = check_roots(manifest, part(archive, layout.table().roots().unwrap())).unwrap();
    let mut decompressor = Decompressor::new().unwrap();
    let mut check = ContentCheck::new(&layout, roots, &key, &keys);
    for entry in layout.table().groups() {
        check.take(&open_group(&key, entry, part(archive, entry), &mut decompressor).unwrap()).unwrap();
    }
    let opened = check.finish(|entry| {
        open_part(&key, entry, part(archive, entry), &mut decompressor).map(|plain| plain.to_vec())
    });
    opened.unwrap();
}

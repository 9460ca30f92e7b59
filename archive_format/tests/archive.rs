//! The worked example in docs/formats/archive.md: an archive that agrees with its page.
//!
//! Set `BITACORA_WRITE_ARCHIVE` to anything, and the example is made again and written into the page.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on must fail"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bitacora_archive_format::ColumnRow;
use bitacora_archive_format::{
    ARCHIVE_TRAILER_BYTES, ArchiveHeader, ArchiveKey, ArchiveLabel, ArchiveLayout, ArchivePlan, ArchiveRange,
    ArchiveSecrets, ArchiveTrailer, ArchiveWriter, ArchivedState, ChainLink, ContentCheck, Facts,
    GroupCollector, GroupTimes, IndexShard, PartEntry, PartKind, Revision, SegmentLink, TreeHeadProof,
    check_roots, open_group, open_part, seal_group,
};
use bitacora_formats::{
    ChainHash, Compressor, Data, Decompressor, Epoch, Event, EventDraft, Frontier, Generation, Json, Keyring,
    LedgerId, LedgerKeys, LedgerOrigin, Micros, Position, Record, SegmentNumber, StreamVersion, TreeHead,
    encode_record, leaf_hash,
};

/// 2027-01-15T08:00:00Z.
const TIME: Micros = Micros(1_800_000_000_000_000);
const EVENTS: u64 = 256;
/// The heading before the example in the page.
const HEADING: &str = "## Worked example\n";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats/archive.md")
}

fn keyring() -> Keyring {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats/keyring.md");
    let page = fs::read_to_string(page).unwrap();
    Keyring::parse(block(&page, "text", 0)).unwrap()
}

fn origin() -> LedgerOrigin {
    let ledger = LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()));
    LedgerOrigin { name: "main".parse().unwrap(), ledger, generation: Generation(1) }
}

fn block<'a>(page: &'a str, language: &str, number: usize) -> &'a str {
    let fence = format!("```{language}\n");
    let block = page.split(&fence).nth(number + 1).and_then(|rest| rest.split("```").next());
    block.unwrap_or_else(|| panic!("block {number} of {language}"))
}

fn bytes_of(block: &str) -> Vec<u8> {
    let digits: String = block.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
    hex::decode(digits.replace(' ', "")).unwrap()
}

/// The record of the event at a position of the example.
fn record(position: u64) -> Vec<u8> {
    let mut event = Event::new(format!("e-{position}"), "agent/7", "x.noted", "run/42");
    event.data = Data::Json(Json::check(br#"{"text":"some words"}"#.to_vec()).unwrap());
    let EventDraft::Clear(record) = Record::draft(event, 0) else { panic!("no data subject") };
    encode_record(&record).unwrap()
}

fn row(position: u64, record: &[u8]) -> ColumnRow<'_> {
    ColumnRow {
        time: TIME,
        begins_frame: position == 1,
        begins_request: position == 1,
        derived: false,
        stream_version: StreamVersion::new(position).unwrap(),
        record,
        part: None,
    }
}

/// The example as it is made.
fn make() -> Vec<u8> {
    let (keyring, origin) = (keyring(), origin());
    let keys = LedgerKeys::new(&keyring, origin.ledger);
    let range = ArchiveRange::new(1, EVENTS).unwrap();
    let mut next = 0_u8;
    let secrets = ArchiveSecrets::generate(&mut |bytes| {
        for byte in bytes {
            *byte = next;
            next += 1;
        }
    });
    let plan = ArchivePlan { origin: origin.clone(), range, revision: Revision::FIRST };
    let (mut writer, header) = ArchiveWriter::new(plan, secrets);
    let (mut collector, mut tree) = (GroupCollector::new(range.first()), Frontier::new());
    let mut group_roots = Vec::new();
    for position in 1..=EVENTS {
        let record = record(position);
        let commitment = keys.commitment("agent/7", &format!("e-{position}"), &record);
        let leaf = leaf_hash(Position::new(position).unwrap(), TIME, &commitment);
        group_roots.extend(tree.push_grouping(leaf));
        assert!(collector.push(row(position, &record)).is_none());
    }
    let group = seal_group(writer.key(), &collector.take().unwrap(), 19).unwrap();
    let mut bytes = header.to_vec();
    bytes.extend(writer.add(group).unwrap());
    let head = TreeHead { origin, size: EVENTS, root: tree.root() };
    let facts = Facts {
        made: Micros(TIME.0 + 1),
        reactor: 1,
        chain_before: ChainLink { position: Position::FIRST, hash: ChainHash([0xc1; 32]) },
        chain_after: ChainLink { position: Position::new(EVENTS + 1).unwrap(), hash: ChainHash([0xc2; 32]) },
        segments: vec![SegmentLink {
            number: SegmentNumber(1),
            first: Position::FIRST,
            epoch: Epoch(1),
            generation: Generation(1),
            hash: ChainHash([0; 32]),
        }],
        tree_before: Frontier::new(),
        group_roots,
        tree_head: Some(TreeHeadProof { note: head.sign(&keyring), consistency: Vec::new() }),
        state: Some(ArchivedState { position: range.last(), bytes: br#"{"example":true}"#.to_vec() }),
    };
    let finished = writer.finish(facts, &keyring, &mut Compressor::new(19).unwrap()).unwrap();
    bytes.extend(finished.pieces.concat());
    bytes
}

fn layout(archive: &[u8]) -> ArchiveLayout {
    let length = archive.len() as u64;
    let trailer = ArchiveTrailer::parse(&archive[archive.len() - ARCHIVE_TRAILER_BYTES..], length).unwrap();
    let tail = &archive[usize::try_from(trailer.table().start).unwrap()..];
    ArchiveLayout::parse(archive, tail, length, Some(keyring().signing_chain())).unwrap()
}

fn part<'a>(archive: &'a [u8], entry: &PartEntry) -> &'a [u8] {
    let range = entry.range();
    &archive[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
}

/// The archive that the page shows: its bytes up to the manifest, the manifest as text, the trailer.
fn shown() -> Vec<u8> {
    let page = fs::read_to_string(page()).unwrap();
    let (_, example) = page.split_once(HEADING).unwrap();
    let before = bytes_of(block(example, "hex", 0));
    let trailer = bytes_of(block(example, "hex", 1));
    [&before, block(example, "text", 0).as_bytes(), &trailer].concat()
}

#[test]
fn the_archive_in_the_page_holds_and_opens() {
    if std::env::var_os("BITACORA_WRITE_ARCHIVE").is_some() {
        write(&make());
    }
    let archive = shown();
    let layout = layout(&archive);
    let manifest = layout.manifest().manifest();
    assert_eq!((&manifest.origin, manifest.range), (&origin(), ArchiveRange::new(1, EVENTS).unwrap()));
    assert_eq!(ArchiveHeader::of(manifest).encode(), archive[..40]);
    for entry in layout.table().entries() {
        entry.check(part(&archive, entry)).unwrap();
    }
    let roots = check_roots(manifest, part(&archive, layout.table().roots().unwrap())).unwrap();

    let (keyring, mut decompressor) = (keyring(), Decompressor::new().unwrap());
    let key = ArchiveKey::unwrap(manifest, &keyring).unwrap();
    let keys = LedgerKeys::new(&keyring, manifest.origin.ledger);
    let mut check = ContentCheck::new(&layout, roots, &key, &keys);
    let mut position = 0;
    for entry in layout.table().groups() {
        let rows = open_group(&key, entry, part(&archive, entry), &mut decompressor).unwrap();
        check.take(&rows).unwrap();
        for found in rows.iter() {
            position += 1;
            assert_eq!(found, row(position, &record(position)));
        }
    }
    assert_eq!(position, EVENTS);
    let mut open = |entry: &PartEntry| {
        open_part(&key, entry, part(&archive, entry), &mut decompressor).map(|plain| plain.to_vec())
    };
    check.finish(&mut open).unwrap();
    let state: Vec<u8> = layout.table().state().flat_map(|entry| open(entry).unwrap()).collect();
    assert_eq!(state, br#"{"example":true}"#);

    // The pieces of the index that the page shows opened.
    let text = fs::read_to_string(page()).unwrap();
    let (_, example) = text.split_once(HEADING).unwrap();
    let times = bytes_of(block(example, "hex", 2));
    assert_eq!(open(layout.table().times().unwrap()).unwrap(), times);
    assert_eq!(GroupTimes::parse(&times, 1).unwrap().all(), [(TIME, TIME)]);
    let kinds = bytes_of(block(example, "hex", 3));
    let [shard] = layout.table().shards(ArchiveLabel::Kind) else { panic!("one piece of the types") };
    assert_eq!(open(shard).unwrap(), kinds);
    let shard = IndexShard::parse(&kinds, 1, 1).unwrap();
    let term = |kind| key.terms().term(ArchiveLabel::Kind, kind);
    assert_eq!(shard.groups_with(term("x.noted")), Ok(vec![0]));
    assert_eq!(shard.groups_with(term("x.other")), Ok(Vec::new()));
}

/// Writes an archive into the page.
fn write(archive: &[u8]) {
    let old = fs::read_to_string(page()).unwrap();
    let (before, _) = old.split_once(HEADING).unwrap();
    let layout = layout(archive);
    let trailer =
        ArchiveTrailer::parse(&archive[archive.len() - ARCHIVE_TRAILER_BYTES..], archive.len() as u64);
    let trailer = trailer.unwrap();
    let mut text = format!(
        "{before}{HEADING}\nThe archive of 256 events that a ledger begins with, all in one frame of time 1,800,000,000,000,000 µs: type `x.noted`, source `agent/7`, stream `run/42`, ids `e-1` to `e-256`, and the data\n\
`{{\"text\":\"some words\"}}`. The ledger's id is `a0` to `af`, its keyring that of the page on [keyrings](keyring.md), the data key `00` to `1f`, the wrap salt `20` to `2f`; the links of the chain and the state are made up. Up to the manifest:\n\n```hex\n"
    );
    line(&mut text, &archive[..40], "header");
    for entry in layout.table().entries() {
        let what = match (entry.kind, entry.count) {
            (PartKind::Events, _) => "events".to_owned(),
            (PartKind::Roots, _) => "roots".to_owned(),
            (PartKind::Index, 0) => "index: times".to_owned(),
            (PartKind::Index, label) => format!("index: label {label}"),
            (PartKind::State, _) => "state".to_owned(),
        };
        line(&mut text, part(archive, entry), &what);
    }
    for entry in layout.table().entries() {
        let start = usize::try_from(trailer.table().start).unwrap() + 56 * entry.number as usize;
        line(&mut text, &archive[start..start + 24], &format!("table: part {}", entry.number));
        line(&mut text, &archive[start + 24..start + 56], "digest");
    }
    let manifest = trailer.manifest();
    let manifest = usize::try_from(manifest.start).unwrap()..usize::try_from(manifest.end).unwrap();
    let note = String::from_utf8(archive[manifest.clone()].to_vec()).unwrap();
    let _ = write!(text, "```\n\nThe manifest:\n\n```text\n{note}```\n\nThe trailer:\n\n```hex\n");
    line(&mut text, &archive[manifest.end..manifest.end + 8], "where the table begins");
    line(&mut text, &archive[manifest.end + 8..manifest.end + 16], "bytes of table and manifest");
    line(&mut text, &archive[manifest.end + 16..], "format, reserved, magic");
    text.push_str("```\n\nThe times of the index, opened: one group, the first event's time, and nothing from there to the last one's.\n\n```hex\n");
    let (keyring, mut decompressor) = (keyring(), Decompressor::new().unwrap());
    let key = ArchiveKey::unwrap(layout.manifest().manifest(), &keyring).unwrap();
    let mut open =
        |entry: &PartEntry| open_part(&key, entry, part(archive, entry), &mut decompressor).unwrap().to_vec();
    let times = open(layout.table().times().unwrap());
    line(&mut text, &times[..4], "groups");
    line(&mut text, &times[4..], "times");
    text.push_str("```\n\nThe types, opened: one value of 9 bits, in one group.\n\n```hex\n");
    let kinds = open(&layout.table().shards(ArchiveLabel::Kind)[0]);
    line(&mut text, &kinds[..6], "values, width, bits of a gap that are written");
    line(&mut text, &kinds[6..], "bits");
    text.push_str("```\n");
    fs::write(page(), text).unwrap();
}

/// Bytes with what they are, 32 a line.
fn line(text: &mut String, bytes: &[u8], what: &str) {
    for (number, chunk) in bytes.chunks(32).enumerate() {
        let comment = if number == 0 { format!("  # {what}") } else { String::new() };
        let _ = writeln!(text, "{}{comment}", hex::encode(chunk));
    }
}

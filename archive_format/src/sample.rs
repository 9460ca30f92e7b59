//! Archives for tests: of a made-up ledger whose events have something in every label.

use std::borrow::Cow;

use super::{
    ARCHIVE_HEADER_BYTES, ArchivePlan, ArchiveRange, ArchiveSecrets, ArchiveWriter, ArchivedState, ChainLink,
    Facts, GroupCollector, Revision, SealedGroup, SegmentLink, TreeHeadProof, seal_group,
};
use crate::ColumnRow;
use bitacora_formats::prove_consistency;
use bitacora_formats::{
    ChainHash, Compressor, Data, Epoch, Event, EventDraft, Expired, Generation, Json, Keyring, LedgerId,
    LedgerKeys, Levels, Micros, Position, Record, SegmentNumber, StreamVersion, TreeHash, decode_record,
    encode_record,
};
use bitacora_formats::{Frontier, leaf_hash};
use bitacora_formats::{LedgerOrigin, TreeHead};
use bitacora_testkit::text_block;

/// Events of one frame.
const FRAME_EVENTS: u64 = 100;
/// Events of one segment.
const SEGMENT_EVENTS: u64 = 300;

/// A ledger's events, as an archive needs them.
pub(super) struct Sample {
    pub(super) origin: LedgerOrigin,
    pub(super) keyring: Keyring,
    pub(super) records: Vec<Vec<u8>>,
    /// The tree after every 256 events, the empty one first.
    pub(super) frontiers: Vec<Frontier>,
    pub(super) groups: Vec<TreeHash>,
    pub(super) revision: Revision,
}

/// An archive's bytes.
pub(super) struct PackedArchive {
    pub(super) bytes: Vec<u8>,
}

pub(super) fn keyring() -> Keyring {
    Keyring::parse(text_block(include_str!("../../docs/formats/keyring.md"), 0)).unwrap()
}

pub(super) fn origin() -> LedgerOrigin {
    let ledger = LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()));
    LedgerOrigin { name: "main".parse().unwrap(), ledger, generation: Generation(1) }
}

pub(super) fn time_of(position: u64) -> Micros {
    Micros(1_800_000_000_000_000 + (position - 1) / FRAME_EVENTS * 1_000_000)
}

fn record(position: u64) -> Vec<u8> {
    let observed = position.is_multiple_of(3);
    let data = if observed {
        format!(r#"{{"dimension":{{"tool":"shell","context":"dir/{}"}},"outcome":"approved"}}"#, position % 7)
    } else {
        format!(r#"{{"tool":"shell","arguments":{{"command":"ls {position}"}}}}"#)
    };
    let text = |text: String| Some(Cow::Owned(text));
    let event = Event {
        id: format!("e-{position}").into(),
        source: "agent/7".into(),
        kind: if observed { "trust.observed" } else { "tool.requested" }.into(),
        stream: format!("run/{}", position / 50).into(),
        time: text("2026-11-20T13:00:00Z".to_owned()),
        datacontenttype: text("application/json".to_owned()),
        dataschema: None,
        actor: text("ana".to_owned()).filter(|_| position.is_multiple_of(5)),
        agent: text("coder".to_owned()),
        session: text(format!("s-{}", position / 200)),
        run: text(format!("run-{}", position / 50)),
        call: text(format!("c-{position}")),
        correlationid: None,
        causationid: None,
        traceparent: None,
        datasubject: None,
        tags: if position == 77 { vec!["rare".into()] } else { Vec::new() },
        extensions: Vec::new(),
        data: Data::Json(Json::check(data.into_bytes()).unwrap()),
    };
    let EventDraft::Clear(record) = Record::draft(event, 0) else { panic!("no data subject") };
    encode_record(&record).unwrap()
}

impl Sample {
    /// A ledger of so many events.
    pub(super) fn new(events: u64) -> Self {
        let (keyring, origin) = (keyring(), origin());
        let keys = LedgerKeys::new(&keyring, origin.ledger);
        let records: Vec<Vec<u8>> = (1..=events).map(record).collect();
        let (mut tree, mut frontiers, mut groups) = (Frontier::new(), vec![Frontier::new()], Vec::new());
        for (position, record) in (1..).zip(&records) {
            let commitment = keys.commitment("agent/7", &format!("e-{position}"), record);
            let leaf = leaf_hash(Position::new(position).unwrap(), time_of(position), &commitment);
            if let Some(group) = tree.push_grouping(leaf) {
                groups.push(group);
                frontiers.push(tree.clone());
            }
        }
        Self { origin, keyring, records, frontiers, groups, revision: Revision::FIRST }
    }

    /// The same ledger after the events at these positions expired, in its archives' next revision.
    pub(super) fn expire(&mut self, positions: impl IntoIterator<Item = u64>) {
        let keys = LedgerKeys::new(&self.keyring, self.origin.ledger);
        self.revision = self.revision.next().unwrap();
        for position in positions {
            let bytes = &mut self.records[usize::try_from(position - 1).unwrap()];
            let record = decode_record(bytes).unwrap();
            let (policy, commitment) = (Position::new(9).unwrap(), keys.commitment_of(&record, bytes));
            *bytes = encode_record(&record.expire(Expired { policy, commitment })).unwrap();
        }
    }

    pub(super) fn row(&self, position: u64) -> ColumnRow<'_> {
        let index = usize::try_from(position - 1).unwrap();
        ColumnRow {
            time: time_of(position),
            begins_frame: (position - 1).is_multiple_of(FRAME_EVENTS),
            begins_request: (position - 1).is_multiple_of(4),
            derived: (position - 1) % 4 == 3,
            stream_version: StreamVersion::new(position % 50 + 1).unwrap(),
            record: &self.records[index],
            part: None,
        }
    }

    /// Returns the ledger's facts around the events of a range, with a head over as many events as `head` says.
    pub(super) fn facts(&self, range: ArchiveRange, head: Option<u64>) -> Facts {
        let group = |position: u64| usize::try_from(position / 256).unwrap();
        let (first, last) = (range.first().get(), range.last().get());
        let segments = (0..).map(|number| (number, u64::from(number) * SEGMENT_EVENTS + 1));
        let segments = segments.take_while(|(_, start)| *start <= last).filter(|(_, start)| *start >= first);
        Facts {
            made: Micros(1_800_009_000_000_000),
            reactor: 4,
            chain_before: link(first),
            chain_after: link(last + 1),
            segments: segments.map(|(number, start)| segment(number + 1, start)).collect(),
            tree_before: self.frontiers[group(first - 1)].clone(),
            group_roots: self.groups[group(first - 1)..group(last)].to_vec(),
            tree_head: head.map(|size| self.head(range, size)),
            state: Some(ArchivedState { position: range.last(), bytes: br#"{"example":true}"#.to_vec() }),
        }
    }

    fn head(&self, range: ArchiveRange, size: u64) -> TreeHeadProof {
        let levels = Levels::of_groups(self.groups.iter().copied());
        let subtree = |first, height| levels.subtree(first, height).ok_or(());
        let root = self.frontiers[usize::try_from(size / 256).unwrap()].root();
        let head = TreeHead { origin: self.origin.clone(), size, root };
        let consistency = prove_consistency(range.last().get(), size, subtree).unwrap().unwrap();
        TreeHeadProof { note: head.sign(&self.keyring), consistency }
    }

    /// An archive that was begun, and its first group.
    pub(super) fn begun(&self) -> (ArchiveWriter, SealedGroup) {
        let range = ArchiveRange::new(1, 256).unwrap();
        let (writer, _) = self.writer(range);
        let mut collector = GroupCollector::new(range.first());
        let full = (1..=256).find_map(|position| collector.push(self.row(position)));
        let group = full.or(collector.take()).unwrap();
        let sealed = seal_group(writer.key(), &group, 3).unwrap();
        (writer, sealed)
    }

    fn writer(&self, range: ArchiveRange) -> (ArchiveWriter, [u8; ARCHIVE_HEADER_BYTES]) {
        let plan = ArchivePlan { origin: self.origin.clone(), range, revision: self.revision };
        let mut draw = 0_u8;
        let secrets = ArchiveSecrets::generate(&mut |bytes| {
            bytes.iter_mut().for_each(|byte| {
                *byte = draw;
                draw = draw.wrapping_add(1);
            });
        });
        ArchiveWriter::new(plan, secrets)
    }

    pub(super) fn pack(&self, range: ArchiveRange, facts: Facts) -> PackedArchive {
        let (mut writer, header) = self.writer(range);
        let mut bytes = header.to_vec();
        let mut collector = GroupCollector::new(range.first());
        let mut groups = Vec::new();
        for position in range.first().get()..=range.last().get() {
            groups.extend(collector.push(self.row(position)));
            if position.is_multiple_of(200) {
                groups.extend(collector.take());
            }
        }
        groups.extend(collector.take());
        for group in groups {
            let sealed = seal_group(writer.key(), &group, 3).unwrap();
            bytes.extend(writer.add(sealed).unwrap());
        }
        let mut compressor = Compressor::new(3).unwrap();
        let finished = writer.finish(facts, &self.keyring, &mut compressor).unwrap();
        bytes.extend(finished.pieces.concat());
        assert_eq!(finished.archive_bytes, bytes.len() as u64);
        PackedArchive { bytes }
    }

    /// An archive of a range, with a head at its end.
    pub(super) fn archive(&self, first: u64, last: u64) -> PackedArchive {
        let range = ArchiveRange::new(first, last).unwrap();
        self.pack(range, self.facts(range, Some(last)))
    }
}

fn link(position: u64) -> ChainLink {
    let first = (position - 1) / FRAME_EVENTS * FRAME_EVENTS + 1;
    ChainLink { position: Position::new(first).unwrap(), hash: hash("frame", first) }
}

fn segment(number: u32, first: u64) -> SegmentLink {
    SegmentLink {
        number: SegmentNumber(number),
        first: Position::new(first).unwrap(),
        epoch: Epoch(1),
        generation: Generation(1),
        hash: if number == 1 { ChainHash([0; 32]) } else { hash("segment", first) },
    }
}

fn hash(what: &str, position: u64) -> ChainHash {
    ChainHash(*blake3::hash(format!("{what} {position}").as_bytes()).as_bytes())
}

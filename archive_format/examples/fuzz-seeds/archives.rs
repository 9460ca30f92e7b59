//! Seeds that are archives: whole ones, and the pieces of their indexes once they are opened.

use bitacora_archive_format::ColumnRow;
use bitacora_archive_format::{
    ArchiveLabel, ArchivePlan, ArchiveRange, ArchiveSecrets, ArchiveWriter, ChainLink, Facts, GroupCollector,
    PartKind, Revision, SegmentLink, open_part, seal_group,
};
use bitacora_formats::{
    ChainHash, Compressor, Data, Decompressor, Epoch, Event, EventDraft, Frontier, Generation, Json,
    LedgerKeys, Micros, Position, Record, SegmentNumber, StreamVersion, encode_record, leaf_hash,
};

use crate::notes::{keyring, origin};
use crate::{Seeds, counting_from};

const TIME: Micros = Micros(1_800_000_000_000_000);
/// Events of an archive: one group of leaves.
const EVENTS: u64 = 256;
/// Events of one group in an archive.
const GROUP_EVENTS: u64 = 100;

pub(crate) fn all() -> Vec<Seeds> {
    let (archive, pieces) = archive();
    vec![
        Seeds { target: "archive", inputs: vec![archive] },
        Seeds { target: "archive_index", inputs: pieces },
    ]
}

fn record(number: u64) -> Vec<u8> {
    let mut event = Event::new(format!("e{number}"), "urn:test", "x.noted", format!("s/{}", number % 3));
    event.data = Data::Json(Json::check(format!(r#"{{"n":{number}}}"#).into_bytes()).unwrap());
    event.call = Some(format!("c{number}").into());
    let EventDraft::Clear(record) = Record::draft(event, 0) else { unreachable!("no data subject") };
    encode_record(&record).unwrap()
}

/// An archive, and what its index holds.
fn archive() -> (Vec<u8>, Vec<Vec<u8>>) {
    let (keyring, origin) = (keyring(), origin());
    let keys = LedgerKeys::new(&keyring, origin.ledger);
    let range = ArchiveRange::new(1, EVENTS).unwrap();
    let secrets = ArchiveSecrets::generate(&mut counting_from(3));
    let plan = ArchivePlan { origin: origin.clone(), range, revision: Revision::FIRST };
    let (mut writer, header) = ArchiveWriter::new(plan, secrets);
    let (mut bytes, mut roots, mut tree) = (header.to_vec(), Vec::new(), Frontier::new());
    let mut collector = GroupCollector::new(range.first());
    for number in 1..=EVENTS {
        let record = record(number);
        let commitment = keys.commitment("urn:test", &format!("e{number}"), &record);
        roots.extend(tree.push_grouping(leaf_hash(Position::new(number).unwrap(), TIME, &commitment)));
        collector.push(ColumnRow {
            time: TIME,
            begins_frame: number == 1,
            begins_request: true,
            derived: false,
            stream_version: StreamVersion::new(number.div_ceil(3)).unwrap(),
            record: &record,
            part: None,
        });
        if number.is_multiple_of(GROUP_EVENTS) || number == EVENTS {
            let sealed = seal_group(writer.key(), &collector.take().unwrap(), 3).unwrap();
            bytes.extend(writer.add(sealed).unwrap());
        }
    }
    let link = |position| ChainLink { position: Position::new(position).unwrap(), hash: ChainHash([9; 32]) };
    let first_segment = SegmentLink {
        number: SegmentNumber(1),
        first: Position::FIRST,
        epoch: Epoch(1),
        generation: Generation(1),
        hash: ChainHash([0; 32]),
    };
    let facts = Facts {
        made: TIME,
        reactor: 1,
        chain_before: link(1),
        chain_after: link(EVENTS + 1),
        segments: vec![first_segment],
        tree_before: Frontier::new(),
        group_roots: roots,
        tree_head: None,
        state: None,
    };
    let mut compressor = Compressor::new(3).unwrap();
    let finished = writer.finish(facts, &keyring, &mut compressor).unwrap();
    bytes.extend(finished.pieces.concat());
    let pieces = index_pieces(&bytes);
    (bytes, pieces)
}

/// Returns the opened contents of the parts of the index.
fn index_pieces(archive: &[u8]) -> Vec<Vec<u8>> {
    use bitacora_archive_format::{ARCHIVE_TRAILER_BYTES, ArchiveKey, ArchiveLayout, ArchiveTrailer};
    let length = archive.len() as u64;
    let trailer = ArchiveTrailer::parse(&archive[archive.len() - ARCHIVE_TRAILER_BYTES..], length).unwrap();
    let tail = &archive[usize::try_from(trailer.table().start).unwrap()..];
    let layout = ArchiveLayout::parse(archive, tail, length, None).unwrap();
    let key = ArchiveKey::unwrap(layout.manifest().manifest(), &keyring()).unwrap();
    let mut decompressor = Decompressor::new().unwrap();
    let parts = layout.table().entries().iter();
    let wanted = [0, ArchiveLabel::Kind.number().into(), ArchiveLabel::Call.number().into()];
    let wanted = parts.filter(|entry| entry.kind == PartKind::Index && wanted.contains(&entry.count));
    let open = |entry: &bitacora_archive_format::PartEntry| {
        let range = entry.range();
        let stored = &archive[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
        open_part(&key, entry, stored, &mut decompressor).unwrap().to_vec()
    };
    wanted.map(open).collect()
}

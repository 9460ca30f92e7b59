//! Seeds that are derived state: tables of identities and of stream tips, blocks of the index.

use bitacora_formats::{
    ChainHash, ChainTip, Epoch, EventKey, Frontier, Generation, IdBlocks, IdEntry, IdFilter, IdTableBinding,
    IdTableCheck, IdTableHeader, IndexExtent, IndexField, IndexHeader, IndexTerms, LedgerId, Micros,
    Position, Secret, SegmentEnd, SegmentNumber, Signature, StateSnapshotHeader, StreamKey, TipTableHeader,
    TreeHash,
};

use crate::Seeds;

pub(crate) fn all() -> Vec<Seeds> {
    vec![
        Seeds { target: "id_table", inputs: vec![id_table(0), id_table(2), id_table(130)] },
        Seeds { target: "tip_table", inputs: vec![tip_table(0), tip_table(2), tip_table(300)] },
        Seeds { target: "index_block", inputs: vec![index_block(1), index_block(9)] },
        Seeds { target: "state_snapshot", inputs: vec![state_snapshot(""), state_snapshot(STATE)] },
    ]
}

const LEDGER: LedgerId = LedgerId([0xA0; 16]);

/// The key that the targets open with.
fn key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

/// A whole table, sealed.
fn id_table(entries: u64) -> Vec<u8> {
    let (first, last) = (SegmentNumber(3), SegmentNumber(5));
    let binding = IdTableBinding {
        ledger: LEDGER,
        generation: Generation(1),
        first,
        last,
        hash: ChainHash([0x77; 32]),
    };
    let header = IdTableHeader { binding, entries };
    let entry = |number: u64| IdEntry {
        key: EventKey((u128::from(number + 1) << 64).to_be_bytes()),
        position: position(number + 1),
        content: [1; 8],
    };
    let entries: Vec<IdEntry> = (0..entries).map(entry).collect();
    let (blocks, mut filter) = (IdBlocks::new(&key(), header), IdFilter::for_identities(header.entries));
    let mut table = header.encode().to_vec();
    for (number, entries) in (0..).zip(entries.chunks(bitacora_formats::ID_BLOCK_ENTRIES)) {
        table.extend_from_slice(&blocks.seal(number, entries).unwrap());
        entries.iter().for_each(|entry| filter.insert(&entry.key));
    }
    table.extend_from_slice(filter.as_bytes());
    let mut check = IdTableCheck::new(&key());
    check.update(&table);
    table.extend_from_slice(&check.finish());
    table
}

/// A header, and in clear what its first chunk holds.
fn tip_table(entries: u64) -> Vec<u8> {
    let mut frontier = Frontier::new();
    (0..=entries).for_each(|_| frontier.push(TreeHash([9; 32])));
    let end = SegmentEnd {
        ledger: LEDGER,
        generation: Generation(1),
        epoch: Epoch(4),
        number: SegmentNumber(5),
        next_position: position(frontier.size() + 1),
        time: Micros(300),
        tree_size: frontier.size(),
        tree_root: frontier.root(),
        tip: ChainTip { hash: ChainHash([0x77; 32]), signature: Signature([0x88; 64]) },
    };
    let mut bytes = TipTableHeader { first: SegmentNumber(3), end, frontier, entries }.encode();
    for number in 1..=entries {
        bytes.extend_from_slice(&StreamKey((u128::from(number) << 64).to_be_bytes()).0);
        bytes.extend_from_slice(&1_u64.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// A state of governance, begun.
const STATE: &str =
    r#"{"trust":[],"imported":[],"breakers":[],"calls":{"by_id":[]},"time":1795305600000000}"#;

/// A header, and in clear the state behind it.
fn state_snapshot(state: &str) -> Vec<u8> {
    let header = StateSnapshotHeader {
        reactor: 1,
        ledger: LEDGER,
        position: position(918_275),
        state_bytes: state.len() as u64,
        hash: ChainHash([0x77; 32]),
        segment: SegmentNumber(5),
    };
    [header.encode().as_slice(), state.as_bytes()].concat()
}

/// A header, and in clear the directory and the one page of a block of so many events of two labels each.
fn index_block(events: u64) -> Vec<u8> {
    let terms = IndexTerms::new(&key());
    let (stream, call) = (terms.term(IndexField::Stream, "run/42"), terms.term(IndexField::Call, "toolu_1"));
    let mut entries: Vec<u64> =
        (0..events).flat_map(|offset| [stream.entry(offset), call.entry(offset)]).collect();
    entries.sort_unstable();
    let extent = IndexExtent {
        ledger: LEDGER,
        first: position(262_145),
        last: position(262_144 + events),
        previous: ChainHash([0xB1; 32]),
        tree_root: TreeHash([0xC2; 32]),
    };
    let mut bytes = IndexHeader { extent, pages: 1, digest: [7; 32] }.encode().to_vec();
    bytes.extend_from_slice(&entries[0].to_le_bytes());
    bytes.extend_from_slice(&u16::try_from(entries.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(&entries[0].to_le_bytes());
    for pair in entries.windows(2) {
        let mut difference = pair[1] - pair[0];
        while difference >= 0x80 {
            bytes.push(u8::try_from(difference & 0x7F).unwrap() | 0x80);
            difference >>= 7;
        }
        bytes.push(u8::try_from(difference).unwrap());
    }
    bytes
}

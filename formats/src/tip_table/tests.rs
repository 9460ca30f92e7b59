use super::*;
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/tip_table.md");

fn index_key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

fn header(entries: u64, events: u64) -> TipTableHeader {
    let mut frontier = Frontier::new();
    (0..events).for_each(|leaf| frontier.push(TreeHash([u8::try_from(leaf % 256).unwrap(); 32])));
    let end = SegmentEnd {
        ledger: LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap())),
        generation: Generation(1),
        epoch: Epoch(4),
        number: SegmentNumber(5),
        next_position: Position::new(events + 1).unwrap(),
        time: Micros(1_800_000_000_000_000),
        tree_size: events,
        tree_root: frontier.root(),
        tip: ChainTip { hash: ChainHash([0x77; 32]), signature: Signature([0x88; 64]) },
    };
    TipTableHeader { first: SegmentNumber(3), end, frontier, entries }
}

fn entries(count: u64) -> Vec<TipEntry> {
    let entry = |number: u64| TipEntry {
        stream: StreamKey((u128::from(number + 1) << 64).to_be_bytes()),
        version: StreamVersion::new(number + 1).unwrap(),
        position: Position::new(number + 2).unwrap(),
    };
    (0..count).map(entry).collect()
}

fn worked_entries() -> Vec<TipEntry> {
    let entry = |stream, version, position| TipEntry {
        stream: StreamKey([stream; 16]),
        version: StreamVersion::new(version).unwrap(),
        position: Position::new(position).unwrap(),
    };
    vec![entry(0x22, 1, 2), entry(0xc4, 2, 3)]
}

#[test]
fn the_worked_example_is_read_and_written_to_the_same_bytes() {
    let header = header(2, 3);
    let chunks = TipChunks::new(index_key(), header.clone());
    let sealed = chunks.seal(0, &worked_entries()).unwrap();
    assert_eq!(hex::encode(header.encode()), hex::encode(hex_block(DOCUMENT, 0)));
    assert_eq!(hex::encode(&sealed), hex::encode(hex_block(DOCUMENT, 1)));

    let parsed = TipTableHeader::parse(&hex_block(DOCUMENT, 0)).unwrap();
    assert_eq!(parsed, header);
    assert_eq!(parsed.table_bytes(), (header.encode().len() + sealed.len()) as u64);
    let opened = TipChunks::new(index_key(), parsed).open(0, &hex_block(DOCUMENT, 1)).unwrap();
    assert_eq!(opened, worked_entries());
}

#[test]
fn every_changed_byte_of_header_and_chunk_is_found() {
    let header = header(2, 3);
    let sealed = TipChunks::new(index_key(), header.clone()).seal(0, &worked_entries()).unwrap();
    let bytes = header.encode();
    for offset in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[offset] ^= 1;
        let opened = TipTableHeader::parse(&changed)
            .and_then(|header| TipChunks::new(index_key(), header).open(0, &sealed).map(|_| ()));
        assert!(opened.is_err(), "byte {offset}");
    }
    let chunks = TipChunks::new(index_key(), header);
    for offset in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[offset] ^= 1;
        assert_eq!(chunks.open(0, &changed), Err(TipTableError::NotAuthentic { chunk: 0 }), "byte {offset}");
        assert!(chunks.open(0, &sealed[..offset]).is_err(), "cut at {offset}");
    }
    assert_eq!(chunks.open(1, &sealed), Err(TipTableError::NotAuthentic { chunk: 1 }));
    let other = TipChunks::new(Secret::take(&mut [0x12; 32]), chunks.header().clone());
    assert_eq!(other.open(0, &sealed), Err(TipTableError::NotAuthentic { chunk: 0 }));
}

#[test]
fn a_header_cut_anywhere_is_refused() {
    let bytes = header(2, 3).encode();
    for length in 0..bytes.len() {
        assert!(TipTableHeader::parse(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let refused = |change: fn(&mut TipTableHeader)| {
        let mut header = header(2, 3);
        change(&mut header);
        TipTableHeader::parse(&header.encode())
    };
    assert!(refused(|_| {}).is_ok());
    let changes: [fn(&mut TipTableHeader); 6] = [
        |header| header.first = SegmentNumber(0),
        |header| header.first = SegmentNumber(6),
        |header| header.end.next_position = Position::new(5).unwrap(),
        |header| header.end.tree_root = TreeHash([1; 32]),
        |header| header.entries = 4,
        |header| header.entries = MAX_TIP_TABLE_ENTRIES + 1,
    ];
    for change in changes {
        assert_eq!(refused(change), Err(TipTableError::Impossible));
    }
    let mut bytes = header(2, 3).encode();
    bytes[7] = b'Q';
    assert!(matches!(TipTableHeader::parse(&bytes), Err(TipTableError::Magic { .. })));
    bytes[7] = b'P';
    bytes[8] = 2;
    assert_eq!(TipTableHeader::parse(&bytes), Err(TipTableError::Format { found: 2 }));
}

#[test]
fn chunks_hold_what_the_header_says() {
    for (count, chunks) in [(0, 1), (1, 1), (2_048, 1), (2_049, 2)] {
        let header = header(count, 2_049);
        assert_eq!(header.chunks(), chunks);
        let all = entries(count);
        let sealer = TipChunks::new(index_key(), header.clone());
        let (mut bytes, mut opened) = (header.stored_bytes() as u64, Vec::new());
        for chunk in 0..chunks {
            let from = usize::try_from(chunk).unwrap() * TIP_CHUNK_ENTRIES;
            let part = &all[from..all.len().min(from + TIP_CHUNK_ENTRIES)];
            let sealed = sealer.seal(chunk, part).unwrap();
            assert_eq!(sealed.len(), header.chunk_bytes(chunk));
            bytes += sealed.len() as u64;
            opened.extend(sealer.open(chunk, &sealed).unwrap());
        }
        assert_eq!((opened, bytes), (all, header.table_bytes()));
    }
    let sealer = TipChunks::new(index_key(), header(2, 3));
    let mut two = worked_entries();
    assert_eq!(sealer.seal(0, &two[..1]), Err(TipTableError::Chunk { chunk: 0 }));
    two.reverse();
    assert_eq!(sealer.seal(0, &two), Err(TipTableError::Chunk { chunk: 0 }));
}

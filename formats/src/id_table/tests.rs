use super::*;
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/id_table.md");

fn index_key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

fn header(entries: u64) -> IdTableHeader {
    let ledger = LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()));
    let (first, last, hash) = (SegmentNumber(3), SegmentNumber(5), ChainHash([0x77; 32]));
    IdTableHeader {
        binding: IdTableBinding { ledger, generation: Generation(1), first, last, hash },
        entries,
    }
}

fn entry(key: [u8; 16], position: u64, content: u8) -> IdEntry {
    IdEntry { key: EventKey(key), position: Position::new(position).unwrap(), content: [content; 8] }
}

/// Entries with rising keys.
fn entries(count: u64) -> Vec<IdEntry> {
    (0..count).map(|number| entry((u128::from(number) << 64).to_be_bytes(), number + 1, 1)).collect()
}

fn with_zeros(start: &[u8], end: &[u8]) -> [u8; ID_BLOCK_BYTES] {
    let mut block = [0; ID_BLOCK_BYTES];
    block[..start.len()].copy_from_slice(start);
    block[ID_BLOCK_BYTES - end.len()..].copy_from_slice(end);
    block
}

#[test]
fn the_worked_example_is_read_and_written_to_the_same_bytes() {
    let written = [entry([0x22; 16], 9, 0x33), entry([0xc4; 16], 10, 0x55)];
    let header = header(2);
    let blocks = IdBlocks::new(&index_key(), header);
    let block = blocks.seal(0, &written).unwrap();
    let mut filter = IdFilter::for_identities(2);
    written.iter().for_each(|entry| filter.insert(&entry.key));
    let mut check = IdTableCheck::new(&index_key());
    [&header.encode()[..], &block, filter.as_bytes()].iter().for_each(|part| check.update(part));

    let shown = [hex_block(DOCUMENT, 0), hex_block(DOCUMENT, 1), hex_block(DOCUMENT, 2)].map(hex::encode);
    let made = [
        hex::encode(&header.encode()[..80]),
        hex::encode([&block[..64], &block[ID_BLOCK_BYTES - 32..]].concat()),
        hex::encode([filter.as_bytes(), &check.finish()].concat()),
    ];
    assert_eq!(made, shown);

    let shown = hex_block(DOCUMENT, 1);
    let shown_block = with_zeros(&shown[..64], &shown[64..]);
    assert_eq!(IdTableHeader::parse(&with_zeros(&hex_block(DOCUMENT, 0), &[])), Ok(header));
    let opened = blocks.open(0, &shown_block).unwrap();
    assert_eq!(opened.entries().collect::<Result<Vec<_>, _>>().unwrap(), written);
    assert_eq!(check.verify(hex_block(DOCUMENT, 2).last_chunk().unwrap()), Ok(()));
    assert_eq!(header.table_bytes(), 2 * 4096 + 64 + 32);
}

#[test]
fn sizes_follow_from_the_number_of_entries() {
    for (count, blocks, filter) in [(0, 0, 1), (1, 1, 1), (127, 1, 4), (128, 2, 4), (1_000, 8, 24)] {
        let header = header(count);
        assert_eq!((header.blocks(), header.filter_bytes()), (blocks, filter * 64), "{count}");
        assert_eq!(header.table_bytes(), 4096 + blocks * 4096 + filter * 64 + 32, "{count}");
    }
    assert_eq!(ID_BLOCK_ENTRIES, 127);
}

#[test]
fn a_full_block_gives_back_each_entry_and_no_other() {
    let entries = entries(127 + 5);
    let blocks = IdBlocks::new(&index_key(), header(132));
    let sealed = [blocks.seal(0, &entries[..127]).unwrap(), blocks.seal(1, &entries[127..]).unwrap()];
    for (number, sealed) in (0..).zip(&sealed) {
        let block = blocks.open(number, sealed).unwrap();
        for entry in &entries {
            let here = (entry.position.get() <= 127) == (number == 0);
            assert_eq!(block.find(&entry.key).unwrap(), here.then_some(*entry));
        }
        assert_eq!(block.find(&EventKey([0xff; 16])).unwrap(), None);
    }
}

#[test]
fn a_block_is_sealed_only_in_order_and_in_full() {
    let entries = entries(130);
    let blocks = IdBlocks::new(&index_key(), header(130));
    let refused = |block, entries: &[IdEntry]| {
        blocks.seal(block, entries).map(|_| ()) == Err(IdTableError::Block { block })
    };
    assert!(refused(0, &entries[..126]), "too few");
    assert!(refused(0, &entries[..128]), "too many");
    assert!(refused(2, &entries[..1]), "past the end");
    let swapped = [entries[128], entries[127], entries[129]];
    assert!(refused(1, &swapped), "out of order");
    let twice = [entries[127], entries[128], entries[128]];
    assert!(refused(1, &twice), "the same key twice");
    assert!(!refused(1, &entries[127..]));
}

#[test]
fn a_block_opens_in_its_place_and_unchanged_or_not_at_all() {
    let entries = entries(254);
    let blocks = IdBlocks::new(&index_key(), header(254));
    let sealed = blocks.seal(1, &entries[127..]).unwrap();
    assert!(blocks.open(1, &sealed).is_ok());
    for at in 0..ID_BLOCK_BYTES {
        let mut changed = sealed;
        changed[at] ^= 1 << (at % 8);
        assert_eq!(
            blocks.open(1, &changed).unwrap_err(),
            IdTableError::BlockNotAuthentic { block: 1 },
            "byte {at}"
        );
    }
    assert_eq!(blocks.open(0, &sealed).unwrap_err(), IdTableError::BlockNotAuthentic { block: 0 });
    let mut other = header(254);
    other.binding.hash = ChainHash([0x78; 32]);
    assert!(IdBlocks::new(&index_key(), other).open(1, &sealed).is_err(), "of a table bound to other bytes");
    assert!(
        IdBlocks::new(&Secret::take(&mut [0; 32]), header(254)).open(1, &sealed).is_err(),
        "another keyring"
    );
}

#[test]
fn a_header_that_is_wrong_is_told_by_what_is_wrong() {
    let broken = |at: usize, byte: u8| {
        let mut bytes = header(2).encode();
        bytes[at] = byte;
        IdTableHeader::parse(&bytes).unwrap_err()
    };
    assert_eq!(broken(7, b'X'), IdTableError::Magic { found: *b"BITACIDX" });
    assert_eq!(broken(8, 1), IdTableError::Format { found: 1 });
    assert_eq!(broken(10, 1), IdTableError::Reserved);
    assert_eq!(broken(80, 1), IdTableError::Reserved);
    assert_eq!(broken(4_095, 1), IdTableError::Reserved);
    assert_eq!(broken(32, 6), IdTableError::Impossible { first: 6, last: 5, entries: 2 });
    assert_eq!(broken(32, 0), IdTableError::Impossible { first: 0, last: 5, entries: 2 });
    let entries = 2 | 1 << 40;
    assert_eq!(broken(77, 1), IdTableError::Impossible { first: 3, last: 5, entries });
}

#[test]
fn the_check_is_over_every_byte_and_the_key() {
    let mut check = IdTableCheck::new(&index_key());
    check.update(b"ab");
    let mut again = IdTableCheck::new(&index_key());
    again.update(b"a");
    again.update(b"b");
    assert_eq!(check.verify(&again.finish()), Ok(()));
    again.update(b"c");
    assert_eq!(check.verify(&again.finish()), Err(IdTableError::NotAuthentic));
    let mut other = IdTableCheck::new(&Secret::take(&mut [0; 32]));
    other.update(b"ab");
    assert_eq!(check.verify(&other.finish()), Err(IdTableError::NotAuthentic));
}

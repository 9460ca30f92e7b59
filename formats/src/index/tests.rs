use super::*;
use bitacora_testkit::hex_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/index.md");

fn key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

fn extent() -> IndexExtent {
    IndexExtent {
        ledger: LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap())),
        first: Position::new(262_145).unwrap(),
        last: Position::new(262_147).unwrap(),
        previous: ChainHash([0xb1; 32]),
        tree_root: TreeHash([0xc2; 32]),
    }
}

/// Of three events: all of one stream, the first and the last of one call.
fn worked_entries() -> Vec<u64> {
    let terms = IndexTerms::new(&key());
    let stream = terms.term(IndexField::Stream, "run/42");
    let call = terms.term(IndexField::Call, "toolu_1");
    let mut entries = vec![stream.entry(0), stream.entry(1), stream.entry(2), call.entry(0), call.entry(2)];
    entries.sort_unstable();
    entries
}

/// Opens a whole block and gives all its entries.
fn open(key: &Secret, bytes: &[u8]) -> Result<Vec<u64>, IndexError> {
    let header = IndexHeader::parse(bytes)?;
    let (at, length) = header.directory_place();
    let at = usize::try_from(at).unwrap();
    let directory = bytes.get(at..at + length).unwrap_or_default();
    let block = IndexBlock::open(key, header, directory, bytes.len() as u64)?;
    let mut entries = Vec::new();
    for number in 0..header.pages {
        let (at, length) = block.page_place(number).unwrap();
        let at = usize::try_from(at).unwrap();
        let page = block.open_page(number, &bytes[at..at + length])?;
        page.find(&(0..=u64::MAX), |entry| entries.push(entry))?;
    }
    assert!(block.page_place(header.pages).is_none());
    Ok(entries)
}

#[test]
fn the_worked_block_in_the_document_is_what_is_written() {
    let (header, block) = seal_index_block(&key(), &extent(), &worked_entries()).unwrap();
    assert_eq!(hex::encode(&block), hex::encode(hex_block(DOCUMENT, 0)));
    assert_eq!(IndexHeader::parse(&block), Ok(header));
    assert_eq!(open(&key(), &hex_block(DOCUMENT, 0)), Ok(worked_entries()));
}

#[test]
fn the_worked_page_in_the_document_is_what_is_sealed() {
    let pages = page::write_pages(&worked_entries()).unwrap();
    assert_eq!(hex::encode(&pages.contents), hex::encode(hex_block(DOCUMENT, 1)));
    assert_eq!(pages.firsts, [worked_entries()[0]]);
    let page = IndexPage::parse(hex_block(DOCUMENT, 1)).unwrap();
    let mut found = Vec::new();
    page.find(&(0..=u64::MAX), |entry| found.push(entry)).unwrap();
    assert_eq!(found, worked_entries());
}

#[test]
fn the_digest_of_an_index_is_that_of_its_blocks_in_order() {
    let (header, _) = seal_index_block(&key(), &extent(), &worked_entries()).unwrap();
    let (other, _) = seal_index_block(&key(), &extent(), &[1]).unwrap();
    let digest = |blocks: &[&IndexHeader]| index_state_digest(blocks.iter().copied());
    let expected = blake3::derive_key("bitacora v1 index state", &[header.digest, other.digest].concat());
    assert_eq!(digest(&[&header, &other]), expected);
    assert_ne!(digest(&[&other, &header]), expected);
}

/// Many entries of steps that take one byte to ten, over several pages.
fn many() -> Vec<u64> {
    let mut entries = Vec::new();
    let mut entry = 0_u64;
    for number in 0..60_000_u64 {
        entry += 1 + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (20 + number % 44)).min(1 << 47);
        entries.push(entry);
    }
    entries.extend([u64::MAX - 1, u64::MAX]);
    entries
}

#[test]
fn every_entry_is_found_in_the_pages_that_are_named() {
    let entries = many();
    let (header, bytes) = seal_index_block(&key(), &extent(), &entries).unwrap();
    assert!(header.pages > 20, "{} pages", header.pages);
    assert_eq!(open(&key(), &bytes), Ok(entries.clone()));
    let (at, length) = header.directory_place();
    let at = usize::try_from(at).unwrap();
    let block = IndexBlock::open(&key(), header, &bytes[at..at + length], bytes.len() as u64).unwrap();
    for begin in (0..entries.len()).step_by(997) {
        let range = entries[begin]..=entries[(begin + begin % 5_000).min(entries.len() - 1)];
        let mut found = Vec::new();
        for number in block.pages_with(&range) {
            let (at, length) = block.page_place(number).unwrap();
            let at = usize::try_from(at).unwrap();
            let page = block.open_page(number, &bytes[at..at + length]).unwrap();
            page.find(&range, |entry| found.push(entry)).unwrap();
        }
        let expected: Vec<u64> = entries.iter().copied().filter(|entry| range.contains(entry)).collect();
        assert_eq!(found, expected);
    }
    assert!(block.pages_with(&(0..=0)).is_empty(), "nothing lies before the first entry");
}

#[test]
fn no_byte_of_a_block_can_change() {
    let (_, bytes) = seal_index_block(&key(), &extent(), &worked_entries()).unwrap();
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(open(&key(), &changed).is_err(), "byte {place}");
    }
    for length in 0..bytes.len() {
        assert!(open(&key(), &bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(open(&key(), &[&bytes[..], &[0]].concat()).is_err());
    assert!(open(&Secret::take(&mut [0x12; 32]), &bytes).is_err(), "another key");
}

#[test]
fn pages_do_not_change_places() {
    let (header, bytes) = seal_index_block(&key(), &extent(), &many()).unwrap();
    let (at, length) = header.directory_place();
    let at = usize::try_from(at).unwrap();
    let block = IndexBlock::open(&key(), header, &bytes[at..at + length], bytes.len() as u64).unwrap();
    let (at, length) = block.page_place(1).unwrap();
    let at = usize::try_from(at).unwrap();
    let sealed = &bytes[at..at + length];
    assert!(block.open_page(1, sealed).is_ok());
    assert_eq!(block.open_page(2, sealed).unwrap_err(), IndexError::NotAuthentic { part: 3 });
    assert_eq!(
        block.open_page(header.pages, sealed).unwrap_err(),
        IndexError::NotAuthentic { part: header.pages + 1 }
    );
    let (_, other) = seal_index_block(&key(), &extent(), &many()[1..]).unwrap();
    assert_eq!(
        block.open_page(1, &other[at..at + length]).unwrap_err(),
        IndexError::NotAuthentic { part: 2 }
    );
}

#[test]
fn a_header_outside_of_its_limits_is_refused() {
    let (_, bytes) = seal_index_block(&key(), &extent(), &worked_entries()).unwrap();
    let refused = |place: usize, value: &[u8]| {
        let mut changed = bytes.clone();
        changed[place..place + value.len()].copy_from_slice(value);
        IndexHeader::parse(&changed).unwrap_err()
    };
    assert_eq!(refused(7, b"x"), IndexError::Magic { found: *b"BITACIDx" });
    assert_eq!(refused(8, &[2]), IndexError::Format { found: 2 });
    assert_eq!(refused(10, &[1]), IndexError::OutOfRange { field: "reserved bytes", found: 1 });
    assert_eq!(refused(12, &[0]), IndexError::OutOfRange { field: "pages", found: 0 });
    assert_eq!(refused(12, &[0xff; 4]), IndexError::OutOfRange { field: "pages", found: u32::MAX.into() });
    assert_eq!(refused(32, &[0; 16]), IndexError::OutOfRange { field: "first position", found: 0 });
    assert_eq!(refused(40, &[0; 8]), IndexError::OutOfRange { field: "last position", found: 0 });
    let far = 262_145 + MAX_INDEX_BLOCK_EVENTS;
    assert_eq!(
        refused(40, &far.to_le_bytes()),
        IndexError::OutOfRange { field: "last position", found: far }
    );
}

#[test]
fn entries_that_do_not_ascend_are_not_sealed() {
    for entries in [&[][..], &[5, 5], &[5, 4]] {
        assert_eq!(seal_index_block(&key(), &extent(), entries).unwrap_err(), IndexError::Malformed);
    }
    let wide = IndexExtent { last: Position::new(262_145 + MAX_INDEX_BLOCK_EVENTS).unwrap(), ..extent() };
    assert!(matches!(seal_index_block(&key(), &wide, &[1]), Err(IndexError::OutOfRange { .. })));
}

#[test]
fn a_page_that_is_never_written_is_refused() {
    let find = |content: &[u8]| {
        let page = IndexPage::parse(content.to_vec())?;
        page.find(&(0..=u64::MAX), |_| {})
    };
    let page = |count: u16, first: u64, differences: &[u8]| {
        [&count.to_le_bytes()[..], &first.to_le_bytes(), differences].concat()
    };
    assert_eq!(find(&page(2, 7, &[1])), Ok(()));
    for bad in [
        vec![],
        vec![1; 9],
        page(0, 7, &[]),
        page(2, 7, &[]),
        page(2, 7, &[0]),
        page(2, 7, &[0x80]),
        page(2, u64::MAX, &[1]),
        page(2, 7, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
        page(2, 7, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
        page(1, 7, &[0; MAX_INDEX_PAGE_CONTENT_BYTES]),
    ] {
        assert_eq!(find(&bad), Err(IndexError::Malformed), "{}", hex::encode(&bad[..bad.len().min(24)]));
    }
}

#[test]
fn a_term_is_of_its_label_and_key() {
    let (terms, others) = (IndexTerms::new(&key()), IndexTerms::new(&Secret::take(&mut [0x12; 32])));
    let mut seen = std::collections::BTreeSet::new();
    for field in IndexField::ALL {
        assert!(seen.insert(terms.term(field, "same")), "{field:?}");
        assert!(seen.insert(others.term(field, "same")), "{field:?} under another key");
        assert!(seen.insert(terms.term(field, "sam")), "{field:?} of another value");
    }
    let term = terms.term(IndexField::Tag, "same");
    assert_eq!(IndexTerm::offset_of(term.entry(262_143)), 262_143);
    assert_eq!(term.entries(0, 262_143).end() - term.entries(0, 262_143).start(), 262_143);
}

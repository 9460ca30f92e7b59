//! Any bytes begin with the header of an index block or give a typed error; a header has one encoding.
//!
//! Nothing opens that was not sealed for its place. A directory and pages that were sealed give entries or a typed
//! error, whatever they hold. Entries that ascend come out of a block as they went in.
//!
//! An input is a header and, behind it, the directory and the pages before they are sealed.
#![no_main]

use bitacora_formats::{
    INDEX_HEADER_BYTES, INDEX_PAGE_BYTES, IndexBlock, IndexError, IndexHeader, MAX_INDEX_BLOCK_PAGES,
    MAX_INDEX_PAGE_CONTENT_BYTES, seal_index_block,
};
use bitacora_formats_fuzz::{assert_one_line, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let header = match IndexHeader::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    assert_eq!(header.encode(), bytes[..INDEX_HEADER_BYTES]);
    assert!((1..=MAX_INDEX_BLOCK_PAGES).contains(&(header.pages as usize)));
    let rest = &bytes[INDEX_HEADER_BYTES..];
    entries_come_back(&header, rest);

    let Some((directory, contents)) = rest.split_at_checked(header.pages as usize * 8) else { return };
    let sealed_directory = sealed::index_part(&header, 0, directory);
    let pages = contents.chunks(MAX_INDEX_PAGE_CONTENT_BYTES).map(<[u8]>::len);
    let block_bytes = bytes.len() + sealed::TAG_BYTES * (1 + pages.len());
    let opened = IndexBlock::open(&sealed::key(), header, &sealed_directory, block_bytes as u64);
    let block = match opened {
        Err(error) => return assert_one_line(&error),
        Ok(block) => block,
    };
    let mut changed = sealed_directory;
    changed[0] ^= 1;
    let refused = IndexBlock::open(&sealed::key(), header, &changed, block_bytes as u64).err();
    assert_eq!(refused, Some(IndexError::NotAuthentic { part: 0 }));

    for (number, content) in (0..).zip(contents.chunks(MAX_INDEX_PAGE_CONTENT_BYTES)) {
        let (_, length) = block.page_place(number).unwrap();
        assert!(length <= INDEX_PAGE_BYTES);
        let mut sealed = sealed::index_part(&header, number + 1, content);
        assert_eq!(sealed.len(), length);
        match block.open_page(number, &sealed) {
            Err(error) => assert_one_line(&error),
            Ok(page) => {
                let mut found = Vec::new();
                match page.find(&(0..=u64::MAX), |entry| found.push(entry)) {
                    Err(error) => assert_one_line(&error),
                    Ok(()) => assert!(found.is_sorted_by(|one, next| one < next)),
                }
                assert_eq!(found.first(), Some(&page.first()));
                assert!(block.pages_with(&(page.first()..=page.first())).contains(&number));
            }
        }
        sealed[0] ^= 1;
        let refused = IndexError::NotAuthentic { part: number + 1 };
        assert_eq!(block.open_page(number, &sealed).err(), Some(refused));
    }
    assert!(block.page_place(header.pages).is_none());
});

/// Seals the bytes as entries, if they ascend, and opens them again.
fn entries_come_back(header: &IndexHeader, bytes: &[u8]) {
    let entries: Vec<u64> = bytes.as_chunks().0.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
    let (header, block) = match seal_index_block(&sealed::key(), &header.extent, &entries) {
        Err(error) => return assert_one_line(&error),
        Ok(sealed) => sealed,
    };
    assert_eq!(IndexHeader::parse(&block), Ok(header));
    let (at, length) = header.directory_place();
    let at = usize::try_from(at).unwrap();
    let opened = IndexBlock::open(&sealed::key(), header, &block[at..at + length], block.len() as u64);
    let opened = opened.unwrap();
    let mut found = Vec::new();
    for number in 0..header.pages {
        let (at, length) = opened.page_place(number).unwrap();
        let at = usize::try_from(at).unwrap();
        let page = opened.open_page(number, &block[at..at + length]).unwrap();
        page.find(&(0..=u64::MAX), |entry| found.push(entry)).unwrap();
    }
    assert_eq!(found, entries);
}

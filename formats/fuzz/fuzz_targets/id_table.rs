//! Any bytes begin with the header of an id table or give a typed error; a header has one encoding.
//!
//! A block opens only if it was sealed for its place. Such a block gives entries or a typed error, whatever it holds.
//!
//! An input is a table: its header, blocks of entries as if they had been sealed, and what else a table has.
#![no_main]

use bitacora_formats::{
    EventKey, ID_BLOCK_BYTES, ID_TABLE_CHECK_BYTES, IdBlocks, IdEntry, IdFilter, IdTableCheck, IdTableError,
    IdTableHeader,
};
use bitacora_formats_fuzz::{assert_one_line, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (blocks, _) = bytes.as_chunks::<ID_BLOCK_BYTES>();
    let Some((first, blocks)) = blocks.split_first() else { return };
    let header = match IdTableHeader::parse(first) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    assert_eq!(header.encode(), *first);
    assert_eq!(
        IdTableHeader::block_offset(header.blocks()) + header.filter_bytes() + 32,
        header.table_bytes()
    );
    let opener = IdBlocks::new(&sealed::key(), header);
    for (number, block) in (0_u64..).zip(blocks).take(usize::try_from(header.blocks()).unwrap()) {
        open(&opener, number, block);
        let mut block = *block;
        sealed::id_block(&header, number, &mut block);
        open(&opener, number, &block);
        assert_eq!(
            opener.open(number + 1, &block).err(),
            Some(IdTableError::BlockNotAuthentic { block: number + 1 }),
            "in another place"
        );
    }
    if header.table_bytes() == bytes.len() as u64 {
        whole(&header, bytes);
    }
});

/// Opens a block. Its contents are sealed to the same bytes, unless its keys do not rise or zeros are missing behind them.
fn open(blocks: &IdBlocks, number: u64, bytes: &[u8; ID_BLOCK_BYTES]) {
    let block = match blocks.open(number, bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(block) => block,
    };
    let entries: Vec<IdEntry> = match block.entries().collect() {
        Err(error) => return assert_eq!(error, IdTableError::Block { block: number }),
        Ok(entries) => entries,
    };
    if let Ok(resealed) = blocks.seal(number, &entries) {
        assert_eq!(blocks.open(number, &resealed).unwrap().entries().count(), entries.len());
        for entry in entries {
            assert_eq!(block.find(&entry.key), Ok(Some(entry)));
        }
    } else {
        assert!(!entries.is_sorted_by(|one, next| one.key < next.key));
        for entry in entries {
            let _ = block.find(&entry.key);
        }
    }
}

/// A table of the length that its header says: its filter, and the check at its end.
fn whole(header: &IdTableHeader, bytes: &[u8]) {
    let (covered, stored) = bytes.split_last_chunk::<ID_TABLE_CHECK_BYTES>().unwrap();
    let mut check = IdTableCheck::new(&sealed::key());
    check.update(covered);
    assert_eq!(check.verify(stored).is_ok(), check.finish() == *stored);
    let mut filter = IdFilter::for_identities(header.entries);
    let at = usize::try_from(IdTableHeader::block_offset(header.blocks())).unwrap();
    filter.as_bytes_mut().copy_from_slice(&covered[at..]);
    let key = EventKey(*bytes.last_chunk().unwrap());
    let _ = filter.may_contain(&key);
    filter.insert(&key);
    assert!(filter.may_contain(&key));
}

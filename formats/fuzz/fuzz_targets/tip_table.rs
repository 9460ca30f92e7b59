//! Any bytes begin with the header of a tip table or give a typed error; a header has one encoding.
//!
//! A chunk opens only if it was sealed for its place. Such a chunk gives entries or a typed error, whatever it holds.
//!
//! An input is a header and, behind it, the contents of a chunk before it is sealed.
#![no_main]

use bitacora_formats::{MAX_TIP_TABLE_HEADER_BYTES, TipChunks, TipTableError, TipTableHeader};
use bitacora_formats_fuzz::{assert_one_line, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let header = match TipTableHeader::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(header) => header,
    };
    let stored = header.stored_bytes();
    assert!(stored <= MAX_TIP_TABLE_HEADER_BYTES && header.chunks() > 0);
    assert_eq!(header.encode(), bytes[..stored]);
    let rest = &bytes[stored..];
    let (last, chunks) = (header.chunks() - 1, TipChunks::new(sealed::key(), header));
    assert!(chunks.header().table_bytes() >= (stored + chunks.header().chunk_bytes(last)) as u64);
    for chunk in [0, last] {
        assert_eq!(chunks.open(chunk, rest).unwrap_err(), TipTableError::NotAuthentic { chunk });
        let sealed = sealed::tip_chunk(chunks.header(), chunk, rest);
        match chunks.open(chunk, &sealed) {
            Err(error) => {
                assert_eq!(error, TipTableError::Chunk { chunk });
                assert_one_line(&error);
            }
            Ok(entries) => {
                assert_eq!(sealed.len(), chunks.header().chunk_bytes(chunk));
                match chunks.seal(chunk, &entries) {
                    Ok(again) => assert_eq!(again, sealed),
                    Err(_) => assert!(!entries.is_sorted_by(|one, next| one.stream < next.stream)),
                }
            }
        }
        if chunk != u64::MAX {
            let elsewhere = TipTableError::NotAuthentic { chunk: chunk + 1 };
            assert_eq!(chunks.open(chunk + 1, &sealed).unwrap_err(), elsewhere);
        }
    }
});
